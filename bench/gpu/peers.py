#!/usr/bin/env python3
"""Times one network in PyTorch or JAX, with Tangram's weights, in the same way as `tg run`.

    bench/gpu/peers.py NETWORK [--peer eager|graph|compile|max-autotune|frozen|jax] [--batch 1]
                       [--dtype f32|tf32|f16|bf16] [--device cuda|cpu] [--tg PROGRAM] [--turns FOLDER]

Prints one JSON object: `median_us p10_us p90_us runs max_rel_diff build_s versions`, or
`{"skipped": why}` if the peer is not installed.

The module comes from torchvision or transformers (tests/oracle/compare_torch.py, which pairs
weights), for nasrnn it is our own; `versions` has the versions. Its random weights are written as
safetensors, and `tg run --weights --backend ref` runs on the same inputs. The peer's outputs must
agree within the bound of its dtype before timing, and after it, when graphs have been recorded.
The outputs of `ref` are cached for other peers and dtypes. The timed region is that of `tg run`:
inputs from pinned memory to the device, the network, outputs to pinned memory, and the wait for
them. Inputs and outputs are f32 in every dtype, as in `tg run --dtype`: the network converts on the
device.

    eager         torch.inference_mode, operator by operator
    graph         eager, captured once in a CUDA graph and replayed (cuda only)
    compile       torch.compile, default mode
    max-autotune  torch.compile(mode="max-autotune"), which also captures CUDA graphs
    frozen        max-autotune with weights as constants: batch norms are folded into convolutions
    jax           the exported graph, operator by operator, under jax.jit (jax_from_torch.py)

Requires `pip install torch torchvision transformers safetensors numpy`, and jax for that peer.
"""
import argparse
import hashlib
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from commands import exit_by_signals, join, turn
from common import HERE, PEERS, ROOT, built_program, count, program, seconds

for folder in (ROOT / "tests" / "oracle", HERE / "oracle"):
    sys.path.insert(0, str(folder))

try:
    import numpy as np
    import torch
    import compare_torch as oracle
except ModuleNotFoundError as missing:
    print(json.dumps({"skipped": f"{missing.name} is not installed"}))
    sys.exit(0)


class Skipped(Exception):
    """The reason why a peer is not available."""


#: Largest permitted difference of an output from f32, over its largest value, as in runtime/tensor.h.
BOUNDS = {"f32": 1e-4, "tf32": 1e-2, "f16": 2e-2, "bf16": 1e-1}
DTYPES = {"f32": torch.float32, "tf32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


# --- networks -----------------------------------------------------------------------------------


class Network:
    """A module with positional inputs that returns a tuple, and the names of both in our file."""

    def __init__(self, file, module, inputs, outputs, weights=None, order=None, settings=()):
        self.file = ROOT / "examples" / file
        self.module, self.inputs, self.outputs = module.eval(), inputs, outputs
        # compare_torch pairs our weights with the module without our wrapper.
        self.weights = oracle.Case(weights or module, inputs, None, order, settings)


class Probabilities(torch.nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, image):
        return (torch.softmax(self.body(image), -1),)


def vision(name, torchvision_name, order=None):
    def build(batch):
        import torchvision
        body = getattr(torchvision.models, torchvision_name)(weights=None)
        oracle.randomise(body)
        image = torch.randn(batch, 3, 224, 224)
        with torch.no_grad():
            oracle.tame(body, image)
        return Network(f"{name}.tg", Probabilities(body), {"image": image}, ["probabilities"], body,
                       order, ["--set", f"N={batch}"])
    return build


class Bert(torch.nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, ids, types, mask):
        out = self.body(ids, attention_mask=mask, token_type_ids=types)
        return out.last_hidden_state, out.pooler_output


def bert_base(batch):
    from transformers import BertConfig, BertModel
    body = BertModel(BertConfig())  # scaled_dot_product_attention, its fastest attention
    oracle.randomise(body)
    inputs = {"ids": torch.randint(0, 30522, (batch, 128)),
              "types": (torch.arange(128) >= 60).long().repeat(batch, 1),
              "mask": (torch.arange(128) < 100).float().repeat(batch, 1)}
    return Network("bert_base.tg", Bert(body), inputs, ["tokens", "pooled"], body,
                   settings=["--set", f"N={batch}"])


class NasRnn(torch.nn.Module):
    """The network of examples/paper/nasrnn.tg: five steps, each with its own weights."""

    def __init__(self, width=512, steps=5):
        super().__init__()
        draw = lambda scale, *shape: torch.nn.Parameter(torch.randn(*shape) * scale)
        self.start = draw(1.0, 1, width)
        self.w = torch.nn.ParameterList(
            [draw(0.05, width, width) for _ in range(steps * 16)])

    def forward(self, x0, x1, x2, x3, x4):
        relu, sigmoid, tanh = torch.relu, torch.sigmoid, torch.tanh
        h = self.start
        for step, x in enumerate((x0, x1, x2, x3, x4)):
            first = 16 * step
            u = [x @ self.w[first + 2 * i] + h @ self.w[first + 2 * i + 1] for i in range(8)]
            a = relu(u[0]) + sigmoid(u[1])
            b = sigmoid(u[2]) + tanh(u[3])
            c = sigmoid(u[4]) * tanh(u[5])
            d = sigmoid(u[6]) * relu(u[7])
            h = tanh(tanh(sigmoid(b) + tanh(c)) * tanh(tanh(a) * tanh(d)))
        return (h,)


def nasrnn(batch):
    if batch != 1:
        raise Skipped("nasrnn is a network of batch 1")
    inputs = {f"x{i}": torch.randn(1, 512) for i in range(5)}
    return Network("paper/nasrnn.tg", NasRnn(), inputs, ["state"])


NETWORKS = {
    "resnet50": vision("resnet50", "resnet50"),
    "bert_base": bert_base,
    "vit_base": vision("vit_base", "vit_b_16", oracle.class_token_later),
    "mobilenetv2": vision("mobilenetv2", "mobilenet_v2"),
    "squeezenet": vision("squeezenet", "squeezenet1_1"),
    "nasrnn": nasrnn,
}


# --- agreement ----------------------------------------------------------------------------------


def digest(tg, network):
    """Returns a digest of the program and of all inputs of `ref`."""
    hashed = hashlib.sha256()
    for file in (tg, network.file):
        hashed.update(Path(file).read_bytes())
    for name, tensor in [*network.module.state_dict().items(), *network.inputs.items()]:
        hashed.update(name.encode())
        hashed.update(memoryview(tensor.contiguous().numpy()).cast("B"))
    return hashed.hexdigest()


def read_outputs(file, network):
    found = np.load(file)
    return [found[name] for name in network.outputs]


def by_tangram(tg, network):
    """Returns the outputs of `ref` for the network's weights and inputs, computed once for all peers."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "tangram", "peers")
    cache.mkdir(parents=True, exist_ok=True)
    kept = cache / f"{digest(tg, network)}.npz"
    try:
        return read_outputs(kept, network)
    except Exception:  # NumPy raises many types for a damaged file, which is replaced like a missing one
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            weights, inputs, outputs = (Path(folder, f)
                                        for f in ("w.safetensors", "in.npz", "out.npz"))
            oracle.write_weights(tg, network.file, network.weights, weights)
            np.savez(inputs, **{k: v.numpy() for k, v in network.inputs.items()})
            oracle.tool(tg, "run", network.file, *network.weights.settings, "--backend", "ref",
                        "--weights", weights, "--input", inputs, "--output", outputs, "--quiet")
            os.replace(outputs, kept)
    return read_outputs(kept, network)


def worst_difference(outputs, expected):
    return max(oracle.difference(a.float().cpu().numpy() if torch.is_tensor(a) else a, b)
               for a, b in zip(outputs, expected))


# --- peers --------------------------------------------------------------------------------------


class InDtype(torch.nn.Module):
    """A network that computes in another dtype. The caller's inputs and outputs are f32, as in `tg run
    --dtype`, so the conversions are part of the timed region."""

    def __init__(self, body, dtype, channels_last):
        super().__init__()
        memory = torch.channels_last if channels_last else torch.preserve_format
        self.body = body.to(dtype=dtype, memory_format=memory)
        self.dtype, self.memory = dtype, memory

    def narrow(self, x):
        if not x.is_floating_point():
            return x
        return x.to(self.dtype, memory_format=self.memory if x.dim() == 4 else torch.preserve_format)

    def forward(self, *inputs):
        return tuple(x.float() for x in self.body(*map(self.narrow, inputs)))


class Runner:
    """step() is one run as timed by `tg run`; outputs() returns the outputs of the last one."""

    def __init__(self, network, options):
        self.device = torch.device(options.device)
        images = options.channels_last and network.outputs == ["probabilities"]
        self.module = InDtype(network.module.to(self.device), DTYPES[options.dtype], images)
        self.host = [self.pinned(x) for x in network.inputs.values()]
        self.inputs = [x.to(self.device) for x in self.host]
        self.call = self.module
        self.replay = None
        self.made = None
        self.out = None

    def pinned(self, tensor):
        return tensor.pin_memory() if self.device.type == "cuda" else tensor

    def compile(self, mode):
        self.call = torch.compile(self.module, mode=mode, fullgraph=False)

    def capture(self):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.call(*self.inputs)
        torch.cuda.current_stream().wait_stream(stream)
        self.replay = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.replay):
            self.made = self.call(*self.inputs)

    def step(self):
        for to, source in zip(self.inputs, self.host):
            to.copy_(source, non_blocking=True)
        if self.replay:
            self.replay.replay()
        else:
            self.made = self.call(*self.inputs)
        if self.out is None:
            self.out = [self.pinned(torch.empty(x.shape, dtype=x.dtype)) for x in self.made]
        for to, source in zip(self.out, self.made):
            to.copy_(source, non_blocking=True)
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def outputs(self):
        return [x.clone() for x in self.out]


def torch_runner(network, options):
    torch.backends.cuda.matmul.allow_tf32 = options.dtype == "tf32"
    torch.backends.cudnn.allow_tf32 = options.dtype == "tf32"
    torch.backends.cudnn.benchmark = True  # selects algorithms by measurement, as we do
    runner = Runner(network, options)
    if options.peer == "frozen":
        from torch._inductor import config
        config.freezing = True  # required to fold batch norms into convolutions
    if options.peer in ("compile", "max-autotune", "frozen"):
        runner.compile("default" if options.peer == "compile" else "max-autotune")
    if options.peer == "graph":
        runner.capture()
    return runner


def jax_runner(network, options):
    import jax_from_torch
    return jax_from_torch.Runner(network, DTYPES[options.dtype], options.dtype == "tf32",
                                 options.device)


def measure(step, seconds, least=20, most=2000):
    """Returns the microseconds of each run, after a warm-up of a tenth of the time."""
    end = time.perf_counter() + seconds / 10
    step()
    while time.perf_counter() < end:
        step()
    samples, end = [], time.perf_counter() + seconds
    while len(samples) < least or (len(samples) < most and time.perf_counter() < end):
        start = time.perf_counter()
        step()
        samples.append((time.perf_counter() - start) * 1e6)
    deciles = statistics.quantiles(samples, n=10)
    return {"median_us": statistics.median(samples), "p10_us": deciles[0], "p90_us": deciles[-1],
            "runs": len(samples)}


def versions(network, options):
    library = "torchvision" if network.outputs == ["probabilities"] else "transformers"
    found = {"torch": torch.__version__}
    if library in sys.modules:
        found[library] = sys.modules[library].__version__
    if options.peer == "jax":
        import jax
        found["jax"] = jax.__version__
    if options.device == "cuda":
        found |= {"gpu": torch.cuda.get_device_name(), "cuda": torch.version.cuda,
                  "cudnn": str(torch.backends.cudnn.version())}
    return found


def run(options):
    if options.device == "cuda" and not torch.cuda.is_available():
        raise Skipped("PyTorch sees no GPU")
    if options.peer == "graph" and options.device != "cuda":
        raise Skipped("CUDA graphs need a GPU")
    if options.peer == "jax":
        import jax  # fails early if it is not installed
    torch.manual_seed(1)
    network = NETWORKS[options.network](options.batch)
    expected = by_tangram(options.tg, network)
    # Inductor does not freeze parameters made in inference mode.
    with torch.no_grad() if options.peer == "frozen" else torch.inference_mode():
        start = time.perf_counter()
        runner = (jax_runner if options.peer == "jax" else torch_runner)(network, options)
        runner.step()
        build_s = time.perf_counter() - start
        worst = worst_difference(runner.outputs(), expected)
        if worst <= BOUNDS[options.dtype]:
            with turn(options.turns):
                found = measure(runner.step, options.seconds)
            worst = worst_difference(runner.outputs(), expected)  # graphs are recorded by now
    if not worst <= BOUNDS[options.dtype]:
        return {"error": f"outputs differ by {worst:.1e}, over {BOUNDS[options.dtype]:.0e}"}
    return found | {"max_rel_diff": worst, "build_s": build_s, "versions": versions(network, options)}


def main():
    parser = argparse.ArgumentParser(description="one network in PyTorch or JAX")
    parser.add_argument("network", choices=NETWORKS)
    parser.add_argument("--peer", choices=PEERS, default="eager")
    parser.add_argument("--batch", type=count, default=1)
    parser.add_argument("--dtype", choices=BOUNDS, default="f32")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--channels-last", action="store_true",
                        help="images in NHWC (PyTorch's choice on tensor cores)")
    parser.add_argument("--seconds", type=seconds, default=2)
    parser.add_argument("--tg", type=program, default=built_program())
    parser.add_argument("--turns", help="folder that makes processes measure one at a time")
    options = parser.parse_args()
    exit_by_signals()  # run.py ends a slow command by a signal
    if options.turns:
        join(options.turns)
    try:
        found = run(options)
    except Skipped as why:
        found = {"skipped": str(why)}
    except ModuleNotFoundError as missing:
        found = {"skipped": f"{missing.name} is not installed"}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
