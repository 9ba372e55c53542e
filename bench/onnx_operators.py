#!/usr/bin/env python3
"""Compares ONNX files of one operator, as written by `tg export`, with their sources in ONNX Runtime: medians on one
thread, interleaved. A ratio below 1 means that the written file is slower.

    bench/onnx_operators.py [--tg build/tg] [--rounds 30] [PART...]
"""
import argparse
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

ROOT = Path(__file__).resolve().parent.parent
F, I = "f", "i"
IMAGE = (1, 32, 64, 64)
# name: (operator, opset, inputs by (type, sizes) or fixed arrays, results, attributes); integers are indices below the bound.
CASES = {
    "Cast to i64": ("Cast", 17, [(F, (1024, 1024))], 1, {"to": 7}),
    "Div of i64": ("Div", 17, [(I, (512, 512), 9), (I, (512, 512), 9)], 1, {}),
    "DFT": ("DFT", 17, [(F, (8, 256, 1))], 1, {"axis": 1}),
    "Einsum": ("Einsum", 17, [(F, (8, 64, 64)), (F, (8, 64, 64))], 1, {"equation": "bij,bjk->bki"}),
    "GatherElements": ("GatherElements", 17, [(F, (512, 512)), (I, (512, 512), 512)], 1, {"axis": 1}),
    "GatherND": ("GatherND", 17, [(F, (64, 64, 32)), (I, (4096, 2), 64)], 1, {}),
    "GridSample": ("GridSample", 17, [(F, IMAGE), (F, (1, 64, 64, 2))], 1, {}),
    "InstanceNormalization": ("InstanceNormalization", 17, [(F, IMAGE), (F, (32,)), (F, (32,))], 1, {}),
    "LRN": ("LRN", 17, [(F, IMAGE)], 1, {"size": 5}),
    "MaxPool with indices": ("MaxPool", 17, [(F, IMAGE)], 2, {"kernel_shape": [2, 2], "strides": [2, 2]}),
    "OneHot": ("OneHot", 17, [(I, (4096,), 64), np.int64(64), np.array([0, 1], np.float32)], 1, {}),
    "ReduceL2": ("ReduceL2", 17, [(F, (256, 4096))], 1, {"axes": [1]}),
    "ReduceLogSumExp": ("ReduceLogSumExp", 17, [(F, (256, 4096))], 1, {"axes": [1]}),
    "RoiAlign": ("RoiAlign", 17, [(F, IMAGE), (F, (32, 4)), (I, (32,), 1)], 1,
                 {"output_height": 7, "output_width": 7, "sampling_ratio": 2}),
    "ScatterElements": ("ScatterElements", 17, [(F, (512, 512)), (I, (512, 512), 512), (F, (512, 512))], 1, {"axis": 1}),
    "ScatterND": ("ScatterND", 17, [(F, (64, 64, 32)), (I, (2048, 2), 64), (F, (2048, 32))], 1, {}),
    "Split": ("Split", 17, [(F, (64, 128, 192)), np.array([64, 64, 64])], 3, {"axis": 2}),
    "Trilu": ("Trilu", 17, [(F, (1024, 1024))], 1, {}),
    "Tile": ("Tile", 17, [(F, (64, 64, 8)), np.array([1, 4, 4])], 1, {}),
    "PRelu": ("PRelu", 17, [(F, IMAGE), (F, (32, 1, 1))], 1, {}),
    "DepthToSpace": ("DepthToSpace", 17, [(F, IMAGE)], 1, {"blocksize": 2}),
}


def model(case):
    op, opset, operands, results, attributes = case
    inputs, weights, feeds, rng = [], [], {}, np.random.default_rng(0)
    for i, operand in enumerate(operands):
        name = f"x{i}"
        if isinstance(operand, (np.ndarray, np.generic)):
            weights.append(numpy_helper.from_array(np.asarray(operand), name))
            continue
        kind, sizes = operand[:2]
        feeds[name] = (rng.random(sizes) * 2 - 1).astype(np.float32) if kind == F else rng.integers(operand[2] == 9, operand[2], sizes)
        inputs.append(helper.make_tensor_value_info(name, 1 if kind == F else 7, sizes))
    outputs = [f"y{i}" for i in range(results)]
    node = helper.make_node(op, [f"x{i}" for i in range(len(operands))], outputs, **attributes)
    graph = helper.make_graph([node], op, inputs, [], weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    made.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in outputs)
    made = onnx.shape_inference.infer_shapes(made)
    for output in made.graph.output:
        output.type.tensor_type.elem_type = output.type.tensor_type.elem_type or 1
    return made, feeds


def session(path):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def microseconds(runs, feeds):
    begin = time.perf_counter()
    runs.run(None, feeds)
    return (time.perf_counter() - begin) * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tg", default=str(ROOT / "build/tg"))
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("parts", nargs="*")
    options = parser.parse_args()
    print("| operator | nodes | source us | written us | ratio |\n|---|---|---|---|---|")
    for name, case in CASES.items():
        if options.parts and not any(part in name for part in options.parts):
            continue
        with tempfile.TemporaryDirectory() as folder:
            source, written = Path(folder, "m.onnx"), Path(folder, "w.onnx")
            made, feeds = model(case)
            onnx.save(made, source)
            done = subprocess.run([options.tg, "export", source, "-o", written], capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"| {name} | refused | | | |")
                continue
            pair = [session(source), session(written)]
            times = [[], []]
            for _ in range(options.rounds):
                for i in (0, 1):
                    times[i].append(microseconds(pair[i], feeds))
            a, b = map(statistics.median, times)
            nodes = len(onnx.load(written).graph.node)
            print(f"| {name} | {nodes} | {a:.0f} | {b:.0f} | {a / b:.2f} |", flush=True)


if __name__ == "__main__":
    main()
