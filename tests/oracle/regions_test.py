#!/usr/bin/env python3
"""Compares RoiAlign with ONNX Runtime when the regions are inputs: with fixed numbers of samples, and with
`sampling_ratio` 0, where the number of samples in a bin depends on the size of its region.

    tests/oracle/regions_test.py [--tg build/tg] [--jobs N] [--rounds N]
"""
import argparse
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from export_test import ROOT, load  # also skips this test if packages are missing

import numpy as np
import onnx
from onnx import TensorProto, helper

TOLERANCE = 2e-5
REFUSED = "with mode `max` and `sampling_ratio` 0"


def cases(rounds):
    """Yields (attributes, opset, image, regions): inside, across borders, outside, tiny, huge, empty and flipped."""
    for seed in range(rounds):
        rng = np.random.default_rng(seed)
        for rows, columns in ((7, 7), (16, 9), (1, 5)):
            x = rng.standard_normal((2, 3, rows, columns)).astype(np.float32)
            size = np.array([columns, rows, columns, rows], np.float32)
            first, last = rng.random((2, 6, 2)), rng.random((2, 6, 2))
            inside = np.concatenate([np.minimum(first, last), np.maximum(first, last)], 2).reshape(-1, 4) * size
            wide = np.array([[-0.5, -0.4, 0.6, 1.5], [-3, -3, 4, 4], [1.2, 1.1, 2, 3], [0.5, 0.5, 0.5, 0.5], [0.2, 0.2, 0.201, 0.203],
                             [0.9, 0.8, 0.1, 0.2], [0, 0, 1, 1]], np.float32) * size
            regions = np.concatenate([inside, wide]).astype(np.float32)
            for height, width in ((1, 1), (2, 3), (7, 7)):
                for ratio in (0, 2):
                    for mode in ("avg", "max"):
                        for opset, how in ((10, None), (16, "half_pixel"), (16, "output_half_pixel")):
                            attributes = {"output_height": height, "output_width": width, "sampling_ratio": ratio, "mode": mode,
                                          "spatial_scale": 1.0 if seed % 2 == 0 else 0.5}
                            if how:
                                attributes["coordinate_transformation_mode"] = how
                            yield attributes, opset, x, regions


def check(options, number, attributes, opset, x, regions):
    """Returns the fault, or an empty string."""
    images = (np.arange(len(regions)) % 2).astype(np.int64)
    given = {"x": x, "regions": regions, "images": images}
    infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in given.items()]
    shape = [len(regions), x.shape[1], attributes["output_height"], attributes["output_width"]]
    graph = helper.make_graph([helper.make_node("RoiAlign", list(given), ["y"], **attributes)], "regions", infos,
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)])
    with tempfile.TemporaryDirectory() as scratch:
        model, inputs, out = (Path(scratch) / n for n in ("m.onnx", "in.npz", "out.npz"))
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), model)
        np.savez(inputs, **given)
        want = load(model).run(None, given)[0]
        backend = ("ref", "cpu")[number % 2]
        done = subprocess.run([options.tg, "run", model, "--backend", backend, "--runs", "1", "--quiet", "--input", inputs, "--output", out],
                              capture_output=True, text=True, check=False)
        if attributes["mode"] == "max" and attributes["sampling_ratio"] == 0:
            return "" if done.returncode == 1 and REFUSED in done.stderr else f"not refused: {done.stderr[:200]}"
        if done.returncode:
            return f"exit code {done.returncode}: {done.stderr[:300]}"
        got = np.load(out)["y"]
    off = np.abs(got - want).max() / max(np.abs(want).max(), 1)
    return "" if off <= TOLERANCE else f"off by {off:.3g} at {np.unravel_index(np.abs(got - want).argmax(), want.shape)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tg", default=str(ROOT / "build/tg"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=2 if not os.environ.get("TANGRAM_FULL_TESTS") else 20)
    options = parser.parse_args()
    todo = list(enumerate(cases(options.rounds)))
    with ThreadPoolExecutor(options.jobs) as pool:
        faults = list(pool.map(lambda item: check(options, item[0], *item[1]), todo))
    for (_, (attributes, opset, x, _)), fault in zip(todo, faults):
        if fault:
            print(f"[FAIL] opset {opset}, {list(x.shape)}, {attributes}: {fault}")
    print(f"{len(todo)} files, {sum(map(bool, faults))} wrong")
    sys.exit(1 if any(faults) else 0)


if __name__ == "__main__":
    main()
