#!/usr/bin/env python3
"""Compares random Resize and Upsample nodes (all modes, coordinate transformations, operator sets and forms of sizes)
with ONNX Runtime, or with the onnx package's reference if ONNX Runtime has no kernel. Compared are `tg run` on both
backends and the file of `tg export`, which ONNX Runtime runs.

    tests/oracle/resize_test.py [--tg build/tg] [--files 12] [--seed 1]

    |a - b| <= 1e-4 |b| + 2e-5 max |b|
"""
import argparse
import random
import sys
import tempfile
from pathlib import Path

from export_test import ROOT, tg  # also skips this test if packages are missing

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, reference

NODES = 24  # per file
COORDINATES = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize", "half_pixel_symmetric"]
ROUNDINGS = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]


def tensor(name, kind, values):
    return helper.make_tensor(name, kind, [len(values)], values)


def node_of(draw, opset, shape, number):
    """Returns a random node with its initializers."""
    mode = draw.choice(["nearest", "linear"] + ["cubic"] * (opset >= 11))
    scales = [1.0, 1.0] + [draw.choice([0.5, 0.6, 0.75, 1.5, 2.0, 2.5, 3.0]) for _ in shape[2:]]
    name = f"y{number}"
    if opset < 11:
        if opset < 10:
            scales = [max(scale, 1.0) for scale in scales]
        operands, given = ["x", f"s{number}"], [tensor(f"s{number}", TensorProto.FLOAT, scales)]
        return helper.make_node("Upsample" if opset < 10 else "Resize", operands, [name], mode=mode), given
    extra = {"coordinate_transformation_mode": draw.choice(COORDINATES if opset >= 19 else COORDINATES[:5])}
    crops = extra["coordinate_transformation_mode"] == "tf_crop_and_resize"
    if mode == "nearest":
        extra["nearest_mode"] = draw.choice(ROUNDINGS)
    else:
        extra["exclude_outside"] = draw.randrange(2) if mode == "cubic" else 0
        if mode == "cubic":
            extra["cubic_coeff_a"] = draw.choice([-0.75, -0.5])
        if opset >= 18 and not crops and draw.randrange(3) == 0:
            extra["antialias"] = 1
    sizes = [*shape[:2], *(draw.randrange(1, 17) for _ in shape[2:])]
    operands, given = ["x", f"r{number}" if opset < 13 or crops else "", "", f"z{number}"], []
    region = [0.0] * 4 + [1.0] * 4
    if crops:
        # ONNX Runtime does not crop an axis whose size does not change.
        sizes[2:] = [size + (size == before) for size, before in zip(sizes[2:], shape[2:])]
        region[2:4] = [draw.choice([0.0, 0.25, -0.125]) for _ in range(2)]
        region[6:8] = [draw.choice([1.0, 0.75, 1.25]) for _ in range(2)]
        extra["extrapolation_value"] = draw.choice([0.0, 10.0])
    if operands[1]:
        given.append(tensor(operands[1], TensorProto.FLOAT, region if crops else []))
    by_scales = not crops and extra["coordinate_transformation_mode"] != "align_corners" and draw.randrange(2)
    if by_scales:
        operands = [*operands[:2], f"s{number}"]
        given.append(tensor(f"s{number}", TensorProto.FLOAT, scales))
    else:
        given.append(tensor(f"z{number}", TensorProto.INT64, sizes))
        if opset < 13:
            operands[2] = f"s{number}"
            given.append(tensor(f"s{number}", TensorProto.FLOAT, []))
    return helper.make_node("Resize", operands, [name], mode=mode, **extra), given


def model_of(draw, opset):
    shape = [1, 2, draw.randrange(2, 12), draw.randrange(2, 12)]
    nodes, initializers = [], []
    for number in range(NODES):
        node, given = node_of(draw, opset, shape, number)
        nodes.append(node)
        initializers += given
    graph = helper.make_graph(nodes, "resizes", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info(node.output[0], TensorProto.FLOAT, None) for node in nodes],
                              initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), shape


def one(model, node):
    """Returns a model with only this node."""
    graph = helper.make_graph([node], "one", model.graph.input, [v for v in model.graph.output if v.name == node.output[0]],
                              [t for t in model.graph.initializer if t.name in node.input])
    return helper.make_model(graph, opset_imports=model.opset_import, ir_version=8)


def expected(model, node, x):
    """Returns the output and its source: ONNX Runtime, or the reference if ONNX Runtime has no kernel."""
    try:
        session = ort.InferenceSession(one(model, node).SerializeToString(), providers=["CPUExecutionProvider"])
        return session.run(None, {"x": x})[0], "ONNX Runtime"
    except Exception:  # noqa: BLE001  use the reference after any error
        return reference.ReferenceEvaluator(one(model, node)).run(None, {"x": x})[0], "the reference"


def is_away(got, want):
    return got.shape != want.shape or \
        np.any(np.abs(got - want) > 1e-4 * np.abs(want) + 2e-5 * np.abs(want).max(initial=0))


def check(draw, opset, folder, options):
    """Returns the wrong outputs, the number of checked outputs, and the number of Resize nodes in the exported file."""
    wrong, checked = [], 0
    model, shape = model_of(draw, opset)
    x = np.random.default_rng(draw.randrange(1 << 30)).standard_normal(shape).astype("float32")
    path, written, array = folder / "m.onnx", folder / "written.onnx", folder / "x.npy"
    onnx.save(model, path)
    np.save(array, x)
    runs = {}
    for backend in ("ref", "cpu"):
        tg(["run", path, "--backend", backend, "--input", f"x={array}", "--output", folder / f"{backend}.npz", "--quiet"], tg=options.tg)
        runs[backend] = np.load(folder / f"{backend}.npz")
    tg(["export", path, "-o", written, "--opset", 19], tg=options.tg)
    again = onnx.load(written)
    session = ort.InferenceSession(str(written), providers=["CPUExecutionProvider"])
    runs["exported"] = dict(zip([v.name for v in session.get_outputs()], session.run(None, {"x": x})))
    resizes = sum(node.op_type == "Resize" for node in again.graph.node)
    for node in model.graph.node:
        want, by = expected(model, node, x)
        for way, outputs in runs.items():
            checked += 1
            if is_away(outputs[node.output[0]], want):
                attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
                wrong.append(f"{way} is {np.abs(outputs[node.output[0]] - want).max() if outputs[node.output[0]].shape == want.shape else 'another shape'} "
                             f"away from {by}: opset {opset}, {shape} to {list(want.shape)}, {list(node.input)}, {attributes}")
    return wrong, checked, resizes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tg", default=str(ROOT / "build/tg"))
    parser.add_argument("--files", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    options, _ = parser.parse_known_args()
    draw, wrong, checked, resizes = random.Random(options.seed), [], 0, 0
    ort.set_default_logger_severity(4)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.files):
            opset = [9, 10, 11, 13, 18, 19][number % 6]
            found, count, kept = check(draw, opset, Path(folder), options)
            wrong, checked, resizes = wrong + found, checked + count, resizes + kept
    for line in wrong:
        print(line)
    print(f"{checked} outputs, {len(wrong)} wrong; {resizes} Resize written for {options.files * NODES} nodes")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
