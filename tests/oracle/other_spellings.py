"""Networks of Keras, Flax and scikit-learn as ONNX files, for spellings.py.

Each converter has its own virtual environment in the cache folder, because their packages conflict:

    python3 tests/oracle/other_spellings.py --install [tf2onnx jax2onnx skl2onnx]     make the environments
    ENVIRONMENT/bin/python tests/oracle/other_spellings.py --write FAMILY             write the files of a family

The second command writes what spellings.py describes; it imports nothing of this project.
"""
import argparse
import collections
import json
import os
import subprocess
import sys
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tangram/oracle"
FOLDER = CACHE / "spellings"
PACKAGES = {"tf2onnx": ["tensorflow-cpu", "tf2onnx"], "jax2onnx": ["jax2onnx", "flax"],
            "skl2onnx": ["scikit-learn", "skl2onnx"]}
#: {family: (converter, operator sets)}.
FAMILIES = {"Keras encoder": ("tf2onnx", (13, 15, 17, 18)), "Keras decoder": ("tf2onnx", (13, 15, 17, 18)),
            "Keras CNN": ("tf2onnx", (13, 15, 17, 18)),
            "Flax encoder": ("jax2onnx", (21, 22, 23, 24)), "Flax decoder": ("jax2onnx", (21, 22, 23, 24)),
            "Flax CNN": ("jax2onnx", (21, 22, 23, 24)),
            "scikit-learn MLP": ("skl2onnx", (13, 15, 17, 18))}
#: Changes of the second operator set, as spellings.py makes them.
CHANGES = ("onnxsim", "onnxslim", "session", "f16", "casts")
WIDTH, HEADS, LENGTH, WORDS = 64, 4, 12, 128


def forms(family):
    converter, opsets = FAMILIES[family]
    changed = [f"{converter}{opset}+{change}" for opset in opsets[1:3] for change in CHANGES]
    return [f"{converter}{opset}" for opset in opsets] + changed


def folder_of(family):
    return FOLDER / family.replace(" ", "-")


def interpreter(converter):
    return CACHE / "exporters" / converter / "bin/python"


def is_installed(family):
    return interpreter(FAMILIES[family][0]).exists()


def install(converter):
    """Makes the environment of a converter."""
    python = interpreter(converter)
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(python.parents[1])], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PACKAGES[converter]], check=True)


def write_family(family):
    """Writes the unchanged forms, the inputs and the composites of a family, if they are missing."""
    folder, python = folder_of(family), interpreter(FAMILIES[family][0])
    if (folder / "composites.json").exists():
        return
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([str(python), __file__, "--write", family], capture_output=True, text=True, check=False,
                          env=environment)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["failed"])[-1])


# --- Keras ----------------------------------------------------------------------------------------


def keras_encoder():
    """Two layers of BERT with gelu by tanh: tf2onnx writes the other gelu with Erfc, which ONNX does not have."""
    import keras
    from keras import layers

    def gelu_tanh(x):
        return keras.activations.gelu(x, approximate=True)

    class Positions(layers.Layer):
        def build(self, shape):
            self.table = self.add_weight(shape=shape[1:], initializer="uniform", name="table")

        def call(self, x):
            return x + self.table

    ids = keras.Input((LENGTH,), dtype="int32", name="ids")
    x = Positions()(layers.Embedding(WORDS, WIDTH)(ids))
    x = layers.LayerNormalization(epsilon=1e-12)(x)
    for _ in range(2):
        y = layers.MultiHeadAttention(HEADS, WIDTH // HEADS)(x, x)
        x = layers.LayerNormalization(epsilon=1e-12)(x + y)
        y = layers.Dense(WIDTH)(layers.Activation(gelu_tanh)(layers.Dense(2 * WIDTH)(x)))
        x = layers.LayerNormalization(epsilon=1e-12)(x + y)
    return keras.Model(ids, x), {"embedding_sum": 1}


def keras_decoder():
    """Two layers with a causal mask, heads in groups, RMS norms and a gated SiLU."""
    import keras
    from keras import layers
    ids = keras.Input((LENGTH,), dtype="int32", name="ids")
    x = layers.Embedding(WORDS, WIDTH)(ids)
    for _ in range(2):
        y = layers.RMSNormalization()(x)
        x = x + layers.GroupQueryAttention(WIDTH // HEADS, HEADS, HEADS // 2)(y, y, use_causal_mask=True)
        y = layers.RMSNormalization()(x)
        gate = layers.Activation("silu")(layers.Dense(2 * WIDTH, use_bias=False)(y))
        x = x + layers.Dense(WIDTH, use_bias=False)(gate * layers.Dense(2 * WIDTH, use_bias=False)(y))
    return keras.Model(ids, layers.Dense(WORDS)(layers.RMSNormalization()(x))), {}


def keras_cnn():
    """Convolutions with batch norms, one in groups, and squeeze-and-excite."""
    import keras
    from keras import layers
    image = keras.Input((32, 32, 3), name="image")
    x = layers.Activation("silu")(layers.BatchNormalization()(layers.Conv2D(16, 3, 2, "same", use_bias=False)(image)))
    x = layers.Activation("hard_swish")(layers.BatchNormalization()(layers.DepthwiseConv2D(3, padding="same")(x)))
    gate = layers.Conv2D(4, 1, activation="relu")(layers.GlobalAveragePooling2D(keepdims=True)(x))
    x = x * layers.Conv2D(16, 1, activation="sigmoid")(gate)
    y = layers.BatchNormalization()(layers.Conv2D(16, 3, 1, "same")(x))
    x = layers.GlobalAveragePooling2D()(layers.ReLU()(x + y))
    return keras.Model(image, layers.Dense(10, activation="softmax")(x)), {"squeeze_excite": 1}


KERAS_LAYERS = {"MultiHeadAttention": "attention", "GroupedQueryAttention": "attention", "RMSNormalization": "rms_norm",
                "LayerNormalization": "layer_norm", "BatchNormalization": "batch_norm"}


def write_keras(family):
    import keras
    import numpy as np
    import tensorflow as tf
    import tf2onnx
    keras.utils.set_random_seed(1)
    model, counts = {"Keras encoder": keras_encoder, "Keras decoder": keras_decoder, "Keras CNN": keras_cnn}[family]()
    counts = collections.Counter(counts)
    rng = np.random.default_rng(1)
    for variable in model.weights:  # scales and shifts that are not neutral, variances that are positive
        if len(variable.shape) == 1:
            noise = rng.standard_normal(variable.shape) * 0.1
            variable.assign(np.abs(variable + noise) + 0.1 if "variance" in variable.path else variable + noise)
    for layer in model._flatten_layers():
        counts[KERAS_LAYERS.get(type(layer).__name__, "")] += 1
        counts[getattr(getattr(layer, "activation", None), "__name__", "")] += 1
    given = model.inputs[0]
    shape = (2, *given.shape[1:])
    value = rng.integers(0, WORDS, shape).astype("int32") if given.dtype == "int32" else rng.random(shape, "float32")
    names = {"hard_silu": "hardswish", "gelu_tanh": "gelu_tanh", "silu": "silu", "softmax": "softmax"}
    known = {*names, *KERAS_LAYERS.values(), "embedding_sum", "squeeze_excite"}
    composites = {names.get(n, n): c for n, c in counts.items() if n in known}

    @tf.function(input_signature=[tf.TensorSpec(shape, given.dtype, name=given.name)])
    def program(x):
        return model(x, training=False)

    def export(opset, path):
        tf2onnx.convert.from_function(program, program.input_signature, opset=opset, output_path=str(path))

    return {given.name: value}, composites, export


# --- Flax -----------------------------------------------------------------------------------------


def flax_encoder(nnx, jnp, rngs):
    class Layer(nnx.Module):
        def __init__(self):
            self.attention = nnx.MultiHeadAttention(HEADS, WIDTH, decode=False, rngs=rngs)
            self.norms = nnx.List([nnx.LayerNorm(WIDTH, epsilon=1e-12, rngs=rngs) for _ in range(2)])
            self.up, self.down = nnx.Linear(WIDTH, 2 * WIDTH, rngs=rngs), nnx.Linear(2 * WIDTH, WIDTH, rngs=rngs)

        def __call__(self, x):
            x = self.norms[0](x + self.attention(x))
            return self.norms[1](x + self.down(nnx.gelu(self.up(x), approximate=False)))

    class Encoder(nnx.Module):
        def __init__(self):
            self.words = nnx.Embed(WORDS, WIDTH, rngs=rngs)
            self.positions = nnx.Param(nnx.initializers.normal()(rngs.params(), (LENGTH, WIDTH)))
            self.layers = nnx.List([Layer(), Layer()])

        def __call__(self, ids):
            x = self.words(ids) + self.positions[...]
            for layer in self.layers:
                x = layer(x)
            return x

    return Encoder(), {"attention": 2, "layer_norm": 4, "gelu": 2, "embedding_sum": 1}


def flax_decoder(nnx, jnp, rngs):
    class Layer(nnx.Module):
        def __init__(self):
            self.attention = nnx.MultiHeadAttention(HEADS, WIDTH, decode=False, rngs=rngs)
            self.norms = nnx.List([nnx.RMSNorm(WIDTH, rngs=rngs) for _ in range(2)])
            self.gate, self.up = [nnx.Linear(WIDTH, 2 * WIDTH, use_bias=False, rngs=rngs) for _ in range(2)]
            self.down = nnx.Linear(2 * WIDTH, WIDTH, use_bias=False, rngs=rngs)

        def __call__(self, x):
            causal = jnp.tril(jnp.ones((1, 1, LENGTH, LENGTH), bool))
            x = x + self.attention(self.norms[0](x), mask=causal)
            y = self.norms[1](x)
            return x + self.down(nnx.silu(self.gate(y)) * self.up(y))

    class Decoder(nnx.Module):
        def __init__(self):
            self.words, self.layers = nnx.Embed(WORDS, WIDTH, rngs=rngs), nnx.List([Layer(), Layer()])

        def __call__(self, ids):
            x = self.words(ids)
            for layer in self.layers:
                x = layer(x)
            return x

    return Decoder(), {"attention": 2, "rms_norm": 4, "silu": 2}


def flax_cnn(nnx, jnp, rngs):
    class CNN(nnx.Module):
        def __init__(self):
            self.convs = nnx.List([nnx.Conv(*widths, (3, 3), rngs=rngs) for widths in ((3, 16), (16, 16), (16, 32))])
            self.norms = nnx.List([nnx.BatchNorm(width, use_running_average=True, rngs=rngs) for width in (16, 16, 32)])
            self.squeeze, self.excite = nnx.Linear(16, 4, rngs=rngs), nnx.Linear(4, 16, rngs=rngs)
            self.head = nnx.Linear(32, 10, rngs=rngs)

        def __call__(self, image):
            x = nnx.silu(self.norms[0](self.convs[0](image)))
            x = nnx.hard_swish(self.norms[1](self.convs[1](x)))
            gate = nnx.relu(self.squeeze(jnp.mean(x, axis=(1, 2), keepdims=True)))
            x = nnx.relu(self.norms[2](self.convs[2](x * nnx.sigmoid(self.excite(gate)))))
            return nnx.softmax(self.head(jnp.mean(x, axis=(1, 2))))

    return CNN(), {"batch_norm": 3, "silu": 1, "hardswish": 1, "squeeze_excite": 1, "softmax": 1}


def write_flax(family):
    import jax
    import jax.numpy as jnp
    import jax2onnx
    import numpy as np
    from flax import nnx
    build = {"Flax encoder": flax_encoder, "Flax decoder": flax_decoder, "Flax CNN": flax_cnn}[family]
    model, composites = build(nnx, jnp, nnx.Rngs(1))
    rng = np.random.default_rng(1)

    def other(value):  # scales, shifts and variances that are not neutral
        return jnp.asarray(np.abs(value + 0.1 * rng.standard_normal(value.shape)).astype("float32")) \
            if value.ndim == 1 and value.dtype == jnp.float32 else value

    nnx.update(model, jax.tree.map(other, nnx.state(model, (nnx.Param, nnx.BatchStat))))
    model.eval()
    if family == "Flax CNN":
        name, value, kind = "image", rng.random((2, 32, 32, 3), "float32"), jnp.float32
    else:
        name, value, kind = "ids", rng.integers(0, WORDS, (2, LENGTH)).astype("int32"), jnp.int32

    def export(opset, path):
        jax2onnx.to_onnx(model, [jax.ShapeDtypeStruct(value.shape, kind)], opset=opset, return_mode="file",
                         output_path=str(path))

    return {name: value}, composites, export


# --- scikit-learn ---------------------------------------------------------------------------------


def write_sklearn(_):
    import numpy as np
    import onnx
    import skl2onnx
    from sklearn.neural_network import MLPRegressor
    rng = np.random.default_rng(1)
    x = rng.standard_normal((200, 16)).astype("float32")
    net = MLPRegressor(hidden_layer_sizes=(64, 32), activation="tanh", max_iter=20, random_state=1)
    net.fit(x, x[:, :3] ** 2)

    def export(opset, path):
        kind = skl2onnx.common.data_types.FloatTensorType([8, 16])
        opsets = {"": opset, "ai.onnx.ml": 3}
        onnx.save(skl2onnx.to_onnx(net, initial_types=[("X", kind)], target_opset=opsets), str(path))

    return {"X": x[:8]}, {"dense": 3}, export


WRITERS = {"tf2onnx": write_keras, "jax2onnx": write_flax, "skl2onnx": write_sklearn}


def write(family):
    import numpy as np
    import onnx
    converter, opsets = FAMILIES[family]
    folder = folder_of(family)
    folder.mkdir(parents=True, exist_ok=True)
    inputs, composites, export = WRITERS[converter](family)
    names = inputs
    for opset in opsets:
        form = f"{converter}{opset}"
        try:
            export(opset, folder / f"unfinished-{form}.onnx")
            names = [value.name for value in onnx.load(folder / f"unfinished-{form}.onnx").graph.input]
            (folder / f"unfinished-{form}.onnx").rename(folder / f"{form}.onnx")
        except Exception as error:  # noqa: BLE001: programs of others fail in all ways
            reason = f"{type(error).__name__}: {str(error).strip().splitlines()[0][:200]}"
            (folder / f"{form}.failed").write_text(reason)
    np.savez(folder / "inputs.npz", **dict(zip(names, inputs.values())))
    (folder / "composites.json").write_text(json.dumps(composites))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--install", nargs="*", metavar="CONVERTER",
                        help="make the environments of all or these converters")
    parser.add_argument("--write", metavar="FAMILY", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        write(options.write)
    for converter in (options.install or PACKAGES) if options.install is not None else ():
        install(converter)


if __name__ == "__main__":
    main()
