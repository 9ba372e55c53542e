#!/usr/bin/env python3
"""Tests operators that are kept (LSTM, GRU, RNN, Attention, RotaryEmbedding, GridSample, RoiAlign). The files that
`tg import` and `tg opt` write for a model have as many of them as the model, pass the onnx package's checker, and
compute the same outputs in ONNX Runtime:

    |a - b| <= 1e-4 |b| + 1e-5 max |b|

    tests/oracle/kept_test.py [--tg build/tg] [PART...]

PART selects models whose name contains it. Without the packages onnx, onnxruntime and numpy the test is
skipped (`./dev test --oracle` installs them).
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    print(f"[SKIP] {missing.name} is not installed")
    sys.exit(77)

ROOT = Path(__file__).resolve().parents[2]
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
KEPT = {*GATES, "Attention", "GridSample", "RoiAlign", "RotaryEmbedding"}
STEPS, BATCH, WIDTH, HIDDEN = 6, 3, 4, 5
MODELS = {}


class Builder:
    """Builds a model in which other nodes compute the inputs of a kept node and read its outputs."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.weights, self.inputs, self.outputs = [], [], [], []

    def weight(self, name, *shape, dtype=np.float32, values=None):
        values = self.rng.standard_normal(shape) / 2 if values is None else values
        self.weights.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def input(self, name, *shape):
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return name

    def output(self, name, *shape):
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    def node(self, op, inputs, outputs, **attributes):
        outputs = [outputs] if isinstance(outputs, str) else outputs
        self.nodes.append(helper.make_node(op, inputs, outputs, **attributes))
        return outputs[0]

    def model(self, opset):
        graph = helper.make_graph(self.nodes, "m", self.inputs, self.outputs, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def recurrent(op, opset=17, lengths=False, states=False, **attributes):
    b = Builder(len(MODELS))
    both = attributes.get("direction") == "bidirectional"
    ways, gates = 1 + both, GATES[op]
    x = b.node("MatMul", [b.input("x", STEPS, BATCH, WIDTH), b.weight("in", WIDTH, WIDTH)], "projected")
    w = b.node("Transpose", [b.weight("turned", ways, WIDTH, gates * HIDDEN)], "w", perm=[0, 2, 1])
    inputs = [x, w, b.weight("r", ways, gates * HIDDEN, HIDDEN), b.weight("b", ways, 2 * gates * HIDDEN)]
    inputs.append(b.weight("lengths", dtype=np.int32, values=[STEPS, 2, 4]) if lengths else "")
    if states:
        inputs.append(b.node("Tanh", [b.input("h", ways, BATCH, HIDDEN)], "first"))
        if op == "LSTM":
            inputs += [b.input("c", ways, BATCH, HIDDEN), b.weight("peepholes", ways, 3 * HIDDEN)]
    results = ["all", "last"] + (["cell"] if op == "LSTM" else [])
    b.node(op, inputs, results, hidden_size=HIDDEN, **attributes)
    b.node("Relu", ["all"], "y")
    b.output("y", STEPS, ways, BATCH, HIDDEN)
    for name in results[1:]:
        b.output(name, ways, BATCH, HIDDEN)
    return b.model(opset)


def stack():
    """Returns stacked recurrent layers, as PyTorch's exporters write them."""
    b = Builder(7)
    x, axes = b.input("x", STEPS, BATCH, WIDTH), b.weight("axes", dtype=np.int64, values=[1])
    for i, (op, gates) in enumerate(GATES.items()):
        width = WIDTH if i == 0 else HIDDEN
        y = b.node(op, [x, b.weight(f"w{i}", 1, gates * HIDDEN, width), b.weight(f"r{i}", 1, gates * HIDDEN, HIDDEN)],
                   [f"all{i}", f"last{i}"], hidden_size=HIDDEN)
        x = b.node("Squeeze", [y, axes], f"steps{i}")
        b.output(f"last{i}", 1, BATCH, HIDDEN)
    b.node("MatMul", [x, b.weight("head", HIDDEN, 2)], "y")
    b.output("y", STEPS, BATCH, 2)
    return b.model(17)


def attention(past=False, mask=False, packed=True, opset=23, **attributes):
    heads, places, width = 2, 5, 8
    b = Builder(len(MODELS))
    x = b.input("x", BATCH, places, heads * width)
    operands = []
    for part in "qkv":
        made = b.node("MatMul", [x, b.weight(part, heads * width, heads * width)], part + "_made")
        if not packed:
            shape = b.weight(part + "_shape", dtype=np.int64, values=[BATCH, places, heads, width])
            made = b.node("Transpose", [b.node("Reshape", [made, shape], part + "_split")], part + "_heads",
                          perm=[0, 2, 1, 3])
        operands.append(made)
    before = 4 if past else 0
    operands.append(b.input("mask", places, places + before) if mask else "")
    if past:
        operands += [b.input(name, BATCH, heads, before, width) for name in ("past_k", "past_v")]
        for name in ("present_k", "present_v"):
            b.output(name, BATCH, heads, before + places, width)
    if packed:
        attributes |= {"q_num_heads": heads, "kv_num_heads": heads}
    while not operands[-1]:
        operands.pop()
    b.node("Attention", operands, ["made"] + (["present_k", "present_v"] if past else []), **attributes)
    b.node("Relu", ["made"], "y")
    b.output("y", *((BATCH, places, heads * width) if packed else (BATCH, heads, places, width)))
    return b.model(opset)


def rotary(packed=False, positions=False, **attributes):
    heads, places, width, longest = 2, 5, 8, 7
    b = Builder(len(MODELS))
    shape = (BATCH, places, heads * width) if packed else (BATCH, heads, places, width)
    operands = [b.node("Neg", [b.input("x", *shape)], "minus")]
    angles = (longest, width // 2) if positions else (BATCH, places, width // 2)
    operands += [b.node(op, [b.weight(f"angle_{op}", *angles)], f"made_{op}") for op in ("Cos", "Sin")]
    if positions:
        given = b.rng.integers(0, longest, (BATCH, places))
        operands.append(b.weight("positions", dtype=np.int64, values=given))
    if packed:
        attributes["num_heads"] = heads
    b.node("RotaryEmbedding", operands, "made", **attributes)
    b.node("Relu", ["made"], "y")
    b.output("y", *shape)
    return b.model(23)


def sampled(opset, **attributes):
    """Returns a model that samples an image at computed positions."""
    b = Builder(len(MODELS))
    grid = b.node("Tanh", [b.input("places", 1, 6, 7, 2)], "grid")
    b.node("GridSample", [b.node("Relu", [b.input("x", 1, 3, 8, 9)], "image"), grid], "made", **attributes)
    b.node("Neg", ["made"], "y")
    b.output("y", 1, 3, 6, 7)
    return b.model(opset)


def regions(opset, **attributes):
    """Returns a model with regions of an image. If sampling_ratio is 0, the kernel chooses the number of samples."""
    b = Builder(len(MODELS))
    rois = b.node("Abs", [b.input("corners", 5, 4)], "rois")
    images = b.weight("images", dtype=np.int64, values=[0, 1, 1, 0, 1])
    b.node("RoiAlign", [b.node("Relu", [b.input("x", 2, 3, 8, 9)], "image"), rois, images], "made", output_height=3,
           output_width=2, **attributes)
    b.node("Neg", ["made"], "y")
    b.output("y", 5, 3, 3, 2)
    return b.model(opset)


for kind in GATES:
    for way in ("forward", "reverse", "bidirectional"):
        MODELS[f"{kind.lower()}_{way}"] = recurrent(kind, direction=way)
        MODELS[f"{kind.lower()}_{way}_lengths_states"] = recurrent(kind, direction=way, lengths=True, states=True)
    MODELS[f"{kind.lower()}_opset7"] = recurrent(kind, opset=7, states=True)
    MODELS[f"{kind.lower()}_opset22"] = recurrent(kind, opset=22, states=True)
MODELS["gru_reset_after"] = recurrent("GRU", linear_before_reset=1, states=True)
MODELS["lstm_coupled"] = recurrent("LSTM", input_forget=1, states=True)
MODELS["rnn_relu"] = recurrent("RNN", activations=["Relu"])
MODELS["stack"] = stack()
MODELS["attention"] = attention()
MODELS["attention_heads"] = attention(packed=False)
MODELS["attention_causal_past"] = attention(past=True, is_causal=1)
MODELS["attention_mask_scale"] = attention(mask=True, scale=0.25)
MODELS["attention_opset24"] = attention(past=True, is_causal=1, opset=24)
MODELS["attention_mask_past"] = attention(mask=True, past=True)
MODELS["grid_sample_16"] = sampled(16, mode="bilinear", padding_mode="border")
MODELS["grid_sample_20"] = sampled(20, mode="cubic", align_corners=1)
MODELS["roi_align_10"] = regions(10, sampling_ratio=2)
MODELS["roi_align_16"] = regions(16, sampling_ratio=0)
MODELS["rotary"] = rotary()
MODELS["rotary_packed"] = rotary(packed=True)
MODELS["rotary_positions"] = rotary(positions=True)
MODELS["rotary_neighbours"] = rotary(positions=True, interleaved=1)


class Failure(Exception):
    """A written file is wrong."""


def kept(model):
    return sorted(node.op_type for node in model.graph.node if node.op_type in KEPT)


def run(path, inputs):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs)))


def written(tg, source, out, *command):
    done = subprocess.run([tg, *command, source, "-o", out, "--quiet"], capture_output=True, text=True,
                          check=False, timeout=600)
    if done.returncode != 0:
        raise Failure(f"tg {command[0]}: " + (done.stderr.strip().splitlines() or ["failed"])[0])
    onnx.checker.check_model(str(out), full_check=True)
    return onnx.load(out)


def check(tg, name, model, folder):
    source, out = folder / f"{name}.onnx", folder / "out.onnx"
    onnx.save(model, source)
    rng = np.random.default_rng(1)
    inputs = {value.name: rng.standard_normal([d.dim_value for d in value.type.tensor_type.shape.dim]).astype("f")
              for value in model.graph.input}
    want = run(source, inputs)
    for command in (["import"], ["opt", "--cost", "analytic:cpu", "--verify"]):
        made = written(tg, source, out, *command)
        if kept(made) != kept(model):
            raise Failure(f"tg {command[0]}: {kept(made)} are kept of {kept(model)}")
        if [v.name for v in made.graph.input] != [v.name for v in model.graph.input]:
            raise Failure(f"tg {command[0]}: other inputs")
        got = run(out, inputs)
        if list(got) != list(want):
            raise Failure(f"tg {command[0]}: outputs {list(got)}, expected {list(want)}")
        for output, b in want.items():
            if not np.allclose(got[output], b, rtol=1e-4, atol=1e-5 * np.abs(b).max()):
                raise Failure(f"tg {command[0]}: {output} is off by {np.abs(got[output] - b).max():.3g}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tg", default=str(ROOT / "build/tg"))
    parser.add_argument("parts", nargs="*", metavar="PART")
    options = parser.parse_args()
    failed = ran = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, model in MODELS.items():
            if options.parts and not any(part in name for part in options.parts):
                continue
            ran += 1
            try:
                check(options.tg, name, model, Path(folder))
            except Failure as failure:
                failed += 1
                print(f"[FAIL] {name}: {failure}")
    print(f"{ran - failed} of {ran} models")
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
