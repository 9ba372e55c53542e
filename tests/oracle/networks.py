"""Networks as ONNX files, for import_networks_test.py and bench/onnx_networks.py.

There are three kinds. Each network is written once into a cache folder:

    light    the nine light models of the onnx package, with random instead of constant weights
    torch    networks of torchvision, transformers and this file with random weights, from both of
             PyTorch's exporters: NAME-script (opset 17) and NAME-dynamo (the exporter's default
             opset, weights in a second file), some also NAME-dynamo23 (opset 23: Attention)
    trained  the trained models that the packages rapidocr-onnxruntime and silero-vad contain

The folder also has NAME.npz, the inputs by name, and NAME.f64.npz, the outputs in double precision in the order of the
model's outputs: PyTorch's, or those of the onnx package's reference evaluator, which is slow and therefore runs only
when they are needed.
"""
import importlib.util
import os
import re
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tangram/oracle/networks"
SCRIPT_ALONE = {"ssdlite"}  # the other exporter requires a known number of detections
OPSET_23 = {"vit", "bert", "whisper_encoder", "llama_step", "qwen2_step"}
TORCH_NETWORKS = {}
BATCH, SEQUENCE, PAST = 2, 7, 5


class Missing(Exception):
    """A package that a network needs is not installed."""


class Network:
    """A module, its inputs by name, and the names of its outputs."""

    def __init__(self, module, inputs, outputs=("output",), dynamic=()):
        self.module, self.inputs, self.outputs = module.eval(), inputs, list(outputs)
        self.dynamic = dict(dynamic)  # {input: {axis: name of the dimension}}


def network(build):
    """Registers a builder under its function name. It is called if the file of the network is missing."""
    TORCH_NETWORKS[build.__name__] = build
    return build


# --- weights --------------------------------------------------------------------------------------


def randomise(module, images):
    """Sets scales and shifts that are not neutral, and statistics of batch norms from `images`."""
    import torch
    with torch.no_grad():
        for value in module.parameters():
            if value.dim() == 1 or not value.any():
                value.add_(torch.randn_like(value) * 0.1)
        norms = [m for m in module.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]
        for norm in norms:
            norm.momentum = None
        if norms:
            module.train()
            module(images)
    return module.eval()


def image(size, batch=1):
    """Returns noise of several scales. White noise would average out, and batch norms would amplify the remainder."""
    import torch
    layers = []
    for scale in (1, 4, 16, 64):
        noise = torch.randn(batch, 3, -(-size // scale), -(-size // scale))
        layers.append(torch.nn.functional.interpolate(noise, (size, size), mode="bilinear") if scale > 1 else noise)
    return sum(layers) / len(layers) ** 0.5


def vision(name, size=224, **options):
    """Returns a network of torchvision."""
    import torchvision
    module = getattr(torchvision.models, name)(weights=None, **options)
    return Network(randomise(module, image(size, 4)), {"image": image(size)}, ["logits"],
                   {"image": {0: "batch"}})


# --- torchvision ----------------------------------------------------------------------------------


@network
def resnet18():
    return vision("resnet18")


@network
def mobilenet_v2():
    return vision("mobilenet_v2")


@network
def mobilenet_v3_small():
    return vision("mobilenet_v3_small")


@network
def efficientnet_b0():
    return vision("efficientnet_b0")


@network
def convnext_tiny():
    return vision("convnext_tiny")


@network
def swin_t():
    return vision("swin_t")


@network
def densenet121():
    return vision("densenet121")


@network
def shufflenet_v2():
    return vision("shufflenet_v2_x1_0")


@network
def regnet_y_400mf():
    return vision("regnet_y_400mf")


@network
def squeezenet1_1():
    return vision("squeezenet1_1")


@network
def inception_v3():
    return vision("inception_v3", 299, aux_logits=False, init_weights=False)


@network
def googlenet():
    return vision("googlenet", aux_logits=False, init_weights=False)


@network
def mnasnet0_5():
    return vision("mnasnet0_5")


@network
def vgg11():
    """Returns VGG-11 with a small classifier: the published one has 124 million weights."""
    import torch
    import torchvision
    module = torchvision.models.vgg11(weights=None, num_classes=10)
    module.classifier = torch.nn.Sequential(
        torch.nn.Linear(512 * 7 * 7, 64), torch.nn.ReLU(), torch.nn.Dropout(), torch.nn.Linear(64, 10))
    return Network(randomise(module, None), {"image": image(224)}, ["logits"])


@network
def vit():
    """Returns torchvision's ViT with patches of 32, smaller than published."""
    import torchvision
    module = torchvision.models.VisionTransformer(
        image_size=224, patch_size=32, num_layers=4, num_heads=4, hidden_dim=256, mlp_dim=1024)
    return Network(randomise(module, None), {"image": image(224)}, ["logits"])


# --- transformers ---------------------------------------------------------------------------------


def tokens(batch=BATCH, length=SEQUENCE, limit=500):
    import torch
    return torch.randint(1, limit, (batch, length))


def mask_with_padding(length=SEQUENCE):
    """Returns a mask with padding at the end of the first row."""
    import torch
    mask = torch.ones(BATCH, length, dtype=torch.int64)
    mask[0, -2:] = 0
    return mask


def text_model(module, outputs=("hidden",)):
    """Returns an encoder of token ids with a mask."""
    import torch

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = module

        def forward(self, input_ids, attention_mask):
            return self.inner(input_ids=input_ids, attention_mask=attention_mask)[0]

    axes = {0: "batch", 1: "sequence"}
    return Network(randomise(Encoder(), None), {"input_ids": tokens(), "attention_mask": mask_with_padding()},
                   outputs, {"input_ids": axes, "attention_mask": axes})


@network
def bert():
    import transformers
    config = transformers.BertConfig(vocab_size=512, hidden_size=128, num_hidden_layers=3, num_attention_heads=4,
                                     intermediate_size=512, max_position_embeddings=64)
    return text_model(transformers.BertModel(config))


@network
def distilbert():
    import transformers
    config = transformers.DistilBertConfig(vocab_size=512, dim=128, n_layers=3, n_heads=4, hidden_dim=512,
                                           max_position_embeddings=64)
    return text_model(transformers.DistilBertModel(config))


@network
def gpt2():
    import transformers
    config = transformers.GPT2Config(vocab_size=512, n_positions=64, n_embd=128, n_layer=3, n_head=4, use_cache=False)
    return text_model(transformers.GPT2LMHeadModel(config), ["logits"])


def t5_config():
    import transformers
    return transformers.T5Config(vocab_size=512, d_model=128, d_kv=32, d_ff=512, num_layers=3, num_heads=4,
                                 decoder_start_token_id=0)


@network
def t5_encoder():
    import transformers
    return text_model(transformers.T5EncoderModel(t5_config()))


def past_inputs(names, heads, width, length=PAST):
    """Returns random past keys and values, and their dynamic axes."""
    import torch
    inputs = {name: torch.randn(BATCH, heads, length, width) for name in names}
    return inputs, {name: {0: "batch", 2: "past"} for name in names}


def pairs_of(values):
    return list(zip(values[::2], values[1::2]))


def cache_names(stem, layers, parts=("key", "value")):
    return [f"{stem}.{layer}.{part}" for layer in range(layers) for part in parts]


@network
def t5_decoder_step():
    """Returns a decoder step of one token after PAST others, with an encoded text and keys and values of both
    attentions as inputs."""
    import torch
    import transformers
    from transformers.cache_utils import DynamicCache, EncoderDecoderCache
    config = t5_config()
    model = transformers.T5ForConditionalGeneration(config)

    class Step(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, input_ids, encoder_attention_mask, encoder_hidden_states, *past):
            count = len(past) // 2
            cache = EncoderDecoderCache(DynamicCache(pairs_of(past[:count])), DynamicCache(pairs_of(past[count:])))
            out = self.model(decoder_input_ids=input_ids, attention_mask=encoder_attention_mask,
                             encoder_outputs=(encoder_hidden_states,), past_key_values=cache)
            layers = out.past_key_values.self_attention_cache.layers
            return (out.logits, *[t for layer in layers for t in (layer.keys, layer.values)])

    layers = config.num_layers
    own, own_axes = past_inputs(cache_names("past.decoder", layers), 4, 32)
    cross, cross_axes = past_inputs(cache_names("past.encoder", layers), 4, 32, SEQUENCE)
    cross_axes = {name: {0: "batch", 2: "encoded"} for name in cross_axes}
    inputs = {"input_ids": tokens(length=1), "encoder_attention_mask": mask_with_padding(),
              "encoder_hidden_states": torch.randn(BATCH, SEQUENCE, config.d_model), **own, **cross}
    dynamic = {"input_ids": {0: "batch"}, "encoder_attention_mask": {0: "batch", 1: "encoded"},
               "encoder_hidden_states": {0: "batch", 1: "encoded"}, **own_axes, **cross_axes}
    return Network(randomise(Step(), None), inputs, ["logits", *cache_names("present.decoder", layers)], dynamic)


@network
def whisper_encoder():
    import torch
    import transformers
    config = transformers.WhisperConfig(vocab_size=512, d_model=128, encoder_layers=3, encoder_attention_heads=4,
                                        encoder_ffn_dim=512, max_source_positions=100, num_mel_bins=80,
                                        pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)
    module = transformers.models.whisper.modeling_whisper.WhisperEncoder(config)

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = module

        def forward(self, input_features):
            return self.inner(input_features)[0]

    return Network(randomise(Encoder(), None), {"input_features": torch.randn(1, 80, 200)}, ["hidden"])


def decoder_step(model, heads, width, layers):
    """Returns a causal decoder step of two tokens after PAST others, whose keys and values are inputs."""
    import torch
    from transformers.cache_utils import DynamicCache

    class Step(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, input_ids, attention_mask, position_ids, *past):
            out = self.model(input_ids=input_ids, attention_mask=attention_mask, position_ids=position_ids,
                             past_key_values=DynamicCache(pairs_of(past)), use_cache=True)
            return (out.logits, *[t for layer in out.past_key_values.layers for t in (layer.keys, layer.values)])

    names = cache_names("past_key_values", layers)
    past, past_axes = past_inputs(names, heads, width)
    mask = torch.ones(BATCH, PAST + 2, dtype=torch.int64)
    mask[0, :2] = 0
    positions = torch.arange(PAST, PAST + 2).repeat(BATCH, 1)
    inputs = {"input_ids": tokens(length=2), "attention_mask": mask, "position_ids": positions, **past}
    axes = {0: "batch", 1: "sequence"}
    dynamic = {"input_ids": axes, "attention_mask": {0: "batch", 1: "total"}, "position_ids": axes, **past_axes}
    return Network(randomise(Step(), None), inputs, ["logits", *cache_names("present", layers)], dynamic)


@network
def qwen2_step():
    import transformers
    config = transformers.Qwen2Config(vocab_size=512, hidden_size=128, intermediate_size=384, num_hidden_layers=3,
                                      num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128)
    return decoder_step(transformers.Qwen2ForCausalLM(config), 2, 32, 3)


@network
def llama_step():
    import transformers
    config = transformers.LlamaConfig(vocab_size=512, hidden_size=128, intermediate_size=384, num_hidden_layers=3,
                                      num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=128)
    return decoder_step(transformers.LlamaForCausalLM(config), 4, 32, 3)


@network
def gpt2_step():
    import transformers
    config = transformers.GPT2Config(vocab_size=512, n_positions=64, n_embd=128, n_layer=3, n_head=4)
    return decoder_step(transformers.GPT2LMHeadModel(config), 4, 32, 3)


# --- networks of this file ------------------------------------------------------------------------


@network
def unet():
    """Returns an encoder and decoder of three levels, with transposed convolutions."""
    import torch
    from torch import nn

    def double(c_in, c_out):
        return nn.Sequential(nn.Conv2d(c_in, c_out, 3, padding=1), nn.BatchNorm2d(c_out), nn.ReLU(),
                             nn.Conv2d(c_out, c_out, 3, padding=1), nn.BatchNorm2d(c_out), nn.ReLU())

    class UNet(nn.Module):
        def __init__(self, widths=(16, 32, 64, 128)):
            super().__init__()
            steps = list(zip((3, *widths), widths))
            self.down = nn.ModuleList(double(a, b) for a, b in steps)
            self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in steps[:0:-1])
            self.join = nn.ModuleList(double(2 * a, a) for a, b in steps[:0:-1])
            self.head = nn.Conv2d(widths[0], 2, 1)

        def forward(self, x):
            kept = []
            for i, block in enumerate(self.down):
                x = block(x if i == 0 else nn.functional.max_pool2d(x, 2))
                kept.append(x)
            for up, join, skip in zip(self.up, self.join, kept[-2::-1]):
                x = join(torch.cat([skip, up(x)], 1))
            return self.head(x)

    return Network(randomise(UNet(), image(96, 4)), {"image": image(96)}, ["mask"],
                   {"image": {0: "batch"}})


@network
def diffusion_unet():
    """Returns a network like those of diffusion models: group norms, a time embedding, attention over pixels."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, c_in, c_out):
            super().__init__()
            self.norm1, self.norm2 = nn.GroupNorm(8, c_in), nn.GroupNorm(8, c_out)
            self.conv1, self.conv2 = nn.Conv2d(c_in, c_out, 3, padding=1), nn.Conv2d(c_out, c_out, 3, padding=1)
            self.time = nn.Linear(64, c_out)
            self.skip = nn.Conv2d(c_in, c_out, 1) if c_in != c_out else nn.Identity()

        def forward(self, x, time):
            h = self.conv1(nn.functional.silu(self.norm1(x))) + self.time(time)[:, :, None, None]
            return self.skip(x) + self.conv2(nn.functional.silu(self.norm2(h)))

    class Attention(nn.Module):
        def __init__(self, width, heads=4):
            super().__init__()
            self.heads, self.norm = heads, nn.GroupNorm(8, width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

        def forward(self, x):
            n, c, h, w = x.shape
            tokens = self.norm(x).flatten(2).transpose(1, 2)
            parts = self.qkv(tokens).reshape(n, h * w, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
            y = nn.functional.scaled_dot_product_attention(*parts.unbind(0))
            return x + self.out(y.transpose(1, 2).reshape(n, h * w, c)).transpose(1, 2).reshape(n, c, h, w)

    class UNet(nn.Module):
        def __init__(self, widths=(32, 64)):
            super().__init__()
            a, b = widths
            self.time = nn.Sequential(nn.Linear(16, 64), nn.SiLU(), nn.Linear(64, 64))
            self.stem, self.head = nn.Conv2d(3, a, 3, padding=1), nn.Conv2d(a, 3, 3, padding=1)
            self.down, self.up = Block(a, a), Block(2 * a, a)
            self.shrink, self.grow = nn.Conv2d(a, b, 3, 2, 1), nn.ConvTranspose2d(b, a, 2, stride=2)
            self.middle = nn.ModuleList([Block(b, b), Block(b, b)])
            self.attention, self.norm = Attention(b), nn.GroupNorm(8, a)

        def forward(self, x, time):
            time = nn.functional.silu(self.time(time))
            kept = self.down(self.stem(x), time)
            x = self.middle[0](self.shrink(kept), time)
            x = self.grow(self.middle[1](self.attention(x), time))
            x = self.up(torch.cat([x, kept], 1), time)
            return self.head(nn.functional.silu(self.norm(x)))

    return Network(randomise(UNet(), None), {"image": image(32), "time": torch.randn(1, 16)}, ["noise"])


@network
def detector():
    """Returns a detector like YOLO, without suppression: a pyramid with resizes, and boxes decoded on grids."""
    import torch
    from torch import nn

    def block(c_in, c_out, stride=1):
        return nn.Sequential(nn.Conv2d(c_in, c_out, 3, stride, 1, bias=False), nn.BatchNorm2d(c_out), nn.SiLU())

    class Detector(nn.Module):
        def __init__(self, classes=5):
            super().__init__()
            self.stem = nn.Sequential(block(3, 16, 2), block(16, 32, 2), block(32, 64, 2))
            self.deep = block(64, 128, 2)
            self.reduce = nn.Conv2d(128, 32, 1)
            self.mix = nn.Conv2d(32 * 4, 64, 1)
            self.heads = nn.ModuleList([nn.Conv2d(128, 4 + classes, 1), nn.Conv2d(64, 4 + classes, 1)])

        def forward(self, x):
            fine = self.stem(x)
            coarse = self.deep(fine)
            pooled = [self.reduce(coarse)]
            for _ in range(3):
                pooled.append(nn.functional.max_pool2d(pooled[-1], 5, 1, 2))
            up = nn.functional.interpolate(self.mix(torch.cat(pooled, 1)), scale_factor=2, mode="nearest")
            maps = [self.heads[0](torch.cat([fine, up], 1)), self.heads[1](up[:, :, ::2, ::2])]
            boxes, scores = zip(*(self.decode(m, x.shape[2] // m.shape[2]) for m in maps))
            return torch.cat(boxes, 1), torch.cat(scores, 1)

        @staticmethod
        def decode(y, stride):
            h, w = y.shape[2:]
            grid = torch.stack(torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij"), -1)
            y = y.permute(0, 2, 3, 1).flatten(1, 2)
            center = (y[..., :2].sigmoid() * 2 - 0.5 + grid.flip(-1).reshape(1, -1, 2)) * stride
            size = y[..., 2:4].clamp(max=4).exp() * stride
            return torch.cat([center - size / 2, center + size / 2], -1), y[..., 4:].sigmoid()

    return Network(randomise(Detector(), image(96, 4)), {"image": image(96)}, ["boxes", "scores"])


@network
def ssdlite():
    """Returns torchvision's detector with suppression, which selects rows by their values."""
    import torch
    import torchvision
    module = torchvision.models.detection.ssdlite320_mobilenet_v3_large(
        weights=None, weights_backbone=None, num_classes=5, detections_per_img=20)

    class Detect(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = module

        def forward(self, x):
            found = self.inner([x])[0]
            return found["boxes"], found["scores"], found["labels"]

    return Network(Detect(), {"image": torch.rand(3, 160, 160)}, ["boxes", "scores", "labels"])


def tagger(kind):
    """Returns a classifier of tokens with two bidirectional recurrent layers."""
    from torch import nn

    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(500, 48)
            self.recur = getattr(nn, kind)(48, 32, num_layers=2, bidirectional=True, batch_first=True)
            self.head = nn.Linear(64, 12)

        def forward(self, input_ids):
            return self.head(self.recur(self.embed(input_ids))[0])

    return Network(randomise(Tagger(), None), {"input_ids": tokens()}, ["tags"])


@network
def lstm_tagger():
    return tagger("LSTM")


@network
def gru_tagger():
    return tagger("GRU")


# --- PyTorch's exporters --------------------------------------------------------------------------


def exporters_of(name):
    more = [] if name in SCRIPT_ALONE else ["dynamo"]
    return ["script", *more, *(["dynamo23"] if name in OPSET_23 else [])]


def export(net, path, exporter):
    import torch
    names, values = list(net.inputs), tuple(net.inputs.values())
    common = {"input_names": names, "output_names": net.outputs, "verbose": False}
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if exporter == "script":
            torch.onnx.export(net.module, values, str(path), dynamo=False, opset_version=17,
                              dynamic_axes=net.dynamic, **common)
        else:
            opset = 23 if exporter == "dynamo23" else None
            torch.onnx.export(net.module, values, str(path), dynamo=True, external_data=True, opset_version=opset,
                              dynamic_shapes=dynamic_shapes(net), **common)


def dynamic_shapes(net):
    """Returns dynamic shapes for torch.export: one entry per argument, and a tuple of entries for *past."""
    import inspect
    import torch
    if not net.dynamic:
        return None
    dims = {axis_name: torch.export.Dim.DYNAMIC for axes in net.dynamic.values() for axis_name in axes.values()}
    entries = [{axis: dims[name] for axis, name in net.dynamic.get(i, {}).items()} for i in net.inputs]
    parameters = list(inspect.signature(net.module.forward).parameters.values())
    plain = [p for p in parameters if p.kind is not p.VAR_POSITIONAL]
    return tuple(entries) if len(plain) == len(parameters) else (*entries[:len(plain)], tuple(entries[len(plain):]))


def torch_in_double(net):
    """Returns the outputs in double precision, or None if the precision of the network is fixed."""
    import torch
    inputs = [x.double() if x.is_floating_point() else x for x in net.inputs.values()]
    try:
        with torch.no_grad():
            out = net.module.double()(*inputs)
    except RuntimeError:
        return None
    return [t.numpy() for t in (out if isinstance(out, tuple) else (out,))]


def write_torch(name, exporter, path):
    for package in ("torch", "torchvision", "transformers", "onnxscript"):
        if importlib.util.find_spec(package) is None:
            raise Missing(package)
    import torch
    torch.set_num_threads(1)
    torch.backends.mha.set_fastpath_enabled(False)  # its operator is not supported by exporters
    torch.manual_seed(1)
    net = TORCH_NETWORKS[name]()
    export(net, path, exporter)
    kept = [i.name for i in onnx.load(path, load_external_data=False).graph.input]
    inputs = {n: net.inputs[n].numpy() for n in kept}
    outputs = torch_in_double(net)
    if outputs is not None:
        np.savez(path.with_suffix(".f64.npz"), *outputs)
    np.savez(path.with_suffix(".npz"), **inputs)


# --- the light models -----------------------------------------------------------------------------

LIGHT_FOLDER = Path(onnx.__file__).parent / "backend/test/data/light"
LIGHT = sorted(p.stem for p in LIGHT_FOLDER.glob("*.onnx"))


def role_of(name, readers):
    """Returns (operator, operand) in which a weight is used, possibly through reshapes."""
    node, operand = readers[name][0]
    if node.op_type in ("Unsqueeze", "Reshape"):
        return role_of(node.output[0], readers)
    return node.op_type, operand


def random_weight(role, shape, rng):
    """Returns a random weight whose magnitude keeps activations near one."""
    if role in (("Conv", 1), ("Gemm", 1)):
        fan_in = shape[1] if len(shape) == 2 else int(np.prod(shape[1:]))
        return rng.standard_normal(shape) * (2 / fan_in) ** 0.5
    if role in (("BatchNormalization", 1), ("BatchNormalization", 4), ("Mul", 0), ("Mul", 1)):
        return rng.uniform(0.5, 1.5, shape)
    return rng.standard_normal(shape) * 0.1


def spread_logits(model, inputs):
    """Scales the last weights so that a final softmax is neither flat nor concentrated on one class."""
    import onnxruntime
    graph = model.graph
    if graph.node[-1].op_type != "Softmax":
        return
    logits = graph.node[-1].input[0]
    graph.output.append(onnx.ValueInfoProto(name=logits))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # no warnings about unused initialisers of the models
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    factor = 2 / session.run([logits], inputs)[0].std()
    del graph.output[-1]
    last = [n for n in graph.node if n.op_type in ("Conv", "Gemm")][-1]
    for tensor in graph.initializer:
        if tensor.name in last.input[1:]:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) * factor, tensor.name))


def write_light(name, path):
    """Writes the model with random float weights, instead of those of ConstantOfShape and initialisers.

    IR version 3 requires weights to be inputs, too.
    """
    model = onnx.load(LIGHT_FOLDER / f"{name}.onnx")
    graph, rng = model.graph, np.random.default_rng(1)
    readers = {}
    for node in graph.node:
        for operand, value in enumerate(node.input):
            readers.setdefault(value, []).append((node, operand))
    given = {t.name: t for t in graph.initializer}
    for node in [n for n in graph.node if n.op_type == "ConstantOfShape"]:
        shape = numpy_helper.to_array(given[node.input[0]]).tolist()
        weight = random_weight(role_of(node.output[0], readers), shape, rng).astype(np.float32)
        graph.initializer.append(numpy_helper.from_array(weight, node.output[0]))
        graph.input.append(onnx.helper.make_tensor_value_info(node.output[0], onnx.TensorProto.FLOAT, shape))
        graph.node.remove(node)
    for tensor in given.values():
        if tensor.data_type == onnx.TensorProto.FLOAT and tensor.name in readers:
            weight = random_weight(role_of(tensor.name, readers), list(tensor.dims), rng).astype(np.float32)
            tensor.CopyFrom(numpy_helper.from_array(weight, tensor.name))
    data = next(i for i in graph.input if i.name not in given)
    shape = [d.dim_value for d in data.type.tensor_type.shape.dim]
    inputs = {data.name: rng.standard_normal(shape).astype(np.float32)}
    spread_logits(model, inputs)
    onnx.save(model, path)
    np.savez(path.with_suffix(".npz"), **inputs)


# --- trained models of packages -------------------------------------------------------------------


LETTERS = {"H": "101101111101101", "E": "111100110100111", "L": "100100100100111", "T": "111010010010010",
           "O": "111101101101111", "N": "110101101101101", "I": "111010010010111"}


def ocr_image(height, width, text="HELLO NOTE"):
    """Returns a line of dark letters on a light page, normalised as for the recogniser."""
    page = np.full((height, width), 0.9, np.float32)
    dot = max(1, min(width // (4 * len(text) + 4), height // 7))
    top = (height - 5 * dot) // 2
    for place, letter in enumerate(text):
        for i, bit in enumerate(LETTERS.get(letter, "")):
            y, x = top + i // 3 * dot, (4 * place + 3 + i % 3) * dot
            page[y:y + dot, x:x + dot] = -0.8 if bit == "1" else 0.9
    noise = np.random.default_rng(1).normal(0, 0.02, (1, 3, height, width))
    return page + noise.astype(np.float32)


def speech(windows, size):
    """Returns frames of a voiced sound with a changing pitch."""
    t = np.arange(windows * size) / 16000
    wave = 0.3 * np.sin(2 * np.pi * 140 * t + 3 * np.sin(2 * np.pi * 3 * t)) * (1 + np.sin(2 * np.pi * 4 * t)) / 2
    return (wave + np.random.default_rng(1).normal(0, 0.01, t.size)).astype(np.float32).reshape(windows, size)


def vad_inputs():
    return {"input": speech(1, 512), "state": np.zeros((2, 1, 128), np.float32), "sr": np.array(16000, np.int64)}


RAPIDOCR, SILERO = "rapidocr_onnxruntime/models", "silero_vad/data"
TRAINED = {
    "ocr_det": (RAPIDOCR, "ch_PP-OCRv4_det_infer.onnx", lambda: {"x": ocr_image(160, 224)}),
    "ocr_rec": (RAPIDOCR, "ch_PP-OCRv4_rec_infer.onnx", lambda: {"x": ocr_image(48, 160)}),
    "ocr_cls": (RAPIDOCR, "ch_ppocr_mobile_v2.0_cls_infer.onnx", lambda: {"x": ocr_image(48, 192)}),
    "vad_sequence": (SILERO, "silero_vad_16k_sequence.onnx",
                     lambda: {"input": speech(6, 576), "h": np.zeros((1, 1, 128), np.float32),
                              "c": np.zeros((1, 1, 128), np.float32)}),
    "vad": (SILERO, "silero_vad.onnx", vad_inputs),
    "vad_op15": (SILERO, "silero_vad_16k_op15.onnx", vad_inputs),
    "vad_half": (SILERO, "silero_vad_half.onnx", vad_inputs),
    "vad_ifless": (SILERO, "silero_vad_op18_ifless.onnx", vad_inputs),
}


# Inputs whose values select a branch: they become weights.
DECIDING = {"vad": "sr", "vad_ifless": "sr"}


def write_trained(name, path):
    folder, file, inputs = TRAINED[name]
    package = importlib.util.find_spec(folder.split("/")[0])
    if package is None:
        raise Missing(folder.split("/")[0].replace("_", "-"))
    model, given = onnx.load(Path(package.submodule_search_locations[0]).parent / folder / file), inputs()
    graph = model.graph
    for value in [v for v in graph.input if v.name == DECIDING.get(name)]:
        graph.initializer.append(numpy_helper.from_array(given[value.name], value.name))
        graph.input.remove(value)
    onnx.save(model, path)
    np.savez(path.with_suffix(".npz"), **{v.name: given[v.name] for v in graph.input})


# --- all ------------------------------------------------------------------------------------------


def names():
    exported = [f"{name}-{exporter}" for name in TORCH_NETWORKS for exporter in exporters_of(name)]
    return [*LIGHT, *exported, *TRAINED]


def prepare(name, folder=CACHE):
    """Returns the path of the network's file, and writes it if it is missing. NAME.npz is written last and marks
    the file as complete."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.onnx"
    if path.exists() and path.with_suffix(".npz").exists():
        return path
    if name in LIGHT:
        write_light(name, path)
    elif name in TRAINED:
        write_trained(name, path)
    else:
        write_torch(*name.rsplit("-", 1), path)
    return path


# --- arguments for `tg` ---------------------------------------------------------------------------


def inputs_of(path):
    """Returns the inputs of a prepared network by name."""
    return dict(np.load(path.with_suffix(".npz")))


def shape_options(path, inputs):
    """Returns --shape options for inputs with dynamic sizes."""
    values = [v for v in onnx.load(path, load_external_data=False).graph.input if v.name in inputs]
    return [f"--shape={v.name}={','.join(map(str, inputs[v.name].shape))}" for v in values
            if any(not d.HasField("dim_value") for d in v.type.tensor_type.shape.dim)]


def by_names_in(text, inputs):
    """Returns the inputs by their names in a .tg model, which has them in the same order."""
    header = re.search(r"^model \w+\((.*?)\) ", text, re.M | re.S)
    names = re.findall(r"(\w+):", header.group(1))
    if len(names) != len(inputs):
        raise ValueError(f"the model has inputs {names}, expected {list(inputs)}")
    return dict(zip(names, inputs.values()))
