#!/usr/bin/env python3
"""Compares one resize of an image with PyTorch's eager operator and ONNX Runtime, for 20 shapes of segmentation, depth,
pose, detection and generative networks.

    bench/resize.py [--threads N] [--rounds R] [--md FILE]     requires the installed package (python/README.md)

All write into existing memory: our runtime times its own runs, PyTorch's operators have out= forms, and ONNX Runtime
binds its output. They run interleaved, several times per round; the smallest time of a turn counts, because other load
disturbs it least. Prints the smallest time of all, and the median over rounds of the others' time divided by ours, with
quartiles. Results are compared first. Requires torch, onnx and onnxruntime. With DNNL_MAX_CPU_ISA=AVX2 and
ATEN_CPU_CAPABILITY=avx2 our kernels and PyTorch's use AVX2; ONNX Runtime has no such switch.
"""
import argparse
import datetime
import os
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper

import tangram

#: (origin, shape, new height and width, mode).
CASES = [
    ("U-Net, a decoder's step", (1, 64, 64, 64), (128, 128), "bilinear"),
    ("U-Net, a deep step", (1, 256, 32, 32), (64, 64), "bilinear"),
    ("depth, a decoder's step", (1, 128, 48, 64), (96, 128), "bilinear"),
    ("pose, heatmaps of a stage", (1, 48, 64, 48), (256, 192), "bilinear"),
    ("SegFormer, logits", (1, 19, 128, 128), (512, 512), "bilinear"),
    ("DeepLab, logits", (1, 21, 65, 65), (513, 513), "bilinear"),
    ("Depth-Anything, a fusion", (1, 64, 74, 74), (148, 148), "bilinear, align_corners"),
    ("Depth-Anything, the last", (1, 32, 296, 296), (518, 518), "bilinear, align_corners"),
    ("to another grid", (1, 96, 56, 56), (100, 75), "bilinear"),
    ("half of each side", (1, 64, 128, 128), (64, 64), "bilinear"),
    ("a photograph to 224", (1, 3, 1080, 1920), (224, 224), "bilinear"),
    ("U-Net, a decoder's step", (1, 64, 64, 64), (128, 128), "nearest"),
    ("YOLO, a pyramid's step", (1, 256, 20, 20), (40, 40), "nearest"),
    ("YOLO, the next", (1, 128, 40, 40), (80, 80), "nearest"),
    ("diffusion, decoder's step", (1, 512, 64, 64), (128, 128), "nearest"),
    ("U-Net, a decoder's step", (1, 64, 64, 64), (128, 128), "bicubic"),
    ("DINOv2, positions", (1, 384, 37, 37), (32, 45), "bicubic"),
    ("super-resolution, the skip", (1, 3, 128, 128), (512, 512), "bicubic"),
    ("a photograph to 224", (1, 3, 1080, 1920), (224, 224), "bilinear, antialias"),
    ("CLIP's preprocessing", (1, 3, 640, 480), (224, 224), "bicubic, antialias"),
]


def file_of(shape, sizes, how):
    """Returns the resize as an ONNX file."""
    mode = {"nearest": "nearest", "bilinear": "linear", "bicubic": "cubic"}[how.split(",")[0]]
    coordinates = "align_corners" if "align" in how else "asymmetric" if mode == "nearest" else "half_pixel"
    extra = {"nearest_mode": "floor"} if mode == "nearest" else {}
    if "antialias" in how:
        extra = {"antialias": 1, "exclude_outside": 1}
    if mode == "cubic":
        extra["cubic_coeff_a"] = -0.5 if "antialias" in how else -0.75
    result = [*shape[:2], *sizes]
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode=mode,
                            coordinate_transformation_mode=coordinates, **extra)
    graph = helper.make_graph(
        [node], "resize", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, result)],
        [helper.make_tensor("sizes", TensorProto.INT64, [4], result)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def eager(tensor, sizes, how):
    options = {"align_corners": "align" in how} if "nearest" not in how else {}
    if "antialias" in how:
        options["antialias"] = True
    return torch.nn.functional.interpolate(tensor, sizes, mode=how.split(",")[0], **options)


def into(how):
    """Returns PyTorch's operator that writes into a given tensor."""
    aten, aligned = torch.ops.aten, "align" in how
    if "nearest" in how:
        return lambda x, sizes, out: aten.upsample_nearest2d.out(x, sizes, out=out)
    name = f"_upsample_{how.split(',')[0]}2d_aa" if "antialias" in how else f"upsample_{how.split(',')[0]}2d"
    return lambda x, sizes, out: getattr(aten, name).out(x, sizes, aligned, out=out)


def three(shape, sizes, how, threads, folder):
    """Returns for each runtime its result, and a function from a number of runs into existing memory to the
    microseconds of one."""
    path = Path(folder) / "resize.onnx"
    onnx.save(file_of(shape, sizes, how), path)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    program = tangram.load(path).compile(threads=threads)
    x = np.random.default_rng(0).standard_normal(shape, dtype="float32")
    tensor, out, binding = torch.from_numpy(x), torch.empty(*shape[:2], *sizes), session.io_binding()
    given, made = (onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in (x, out.numpy()))
    binding.bind_ortvalue_input("x", given)
    binding.bind_ortvalue_output("y", made)
    operator = into(how)
    return {
        "ours": (program(x), lambda count: program.time(x, runs=count).min_us),
        "PyTorch": (eager(tensor, sizes, how).numpy(), repeated(lambda: operator(tensor, sizes, out))),
        "ONNX Runtime": (session.run(None, {"x": x})[0], repeated(lambda: session.run_with_iobinding(binding)))}


def repeated(call):
    def least(count):
        times = []
        for _ in range(count):
            start = time.perf_counter_ns()
            call()
            times.append((time.perf_counter_ns() - start) / 1000)
        return min(times)
    return least


def measure(case, threads, rounds, folder):
    _, shape, sizes, how = case
    runs = three(shape, sizes, how, threads, folder)
    away = float(np.abs(runs["ours"][0] - runs["PyTorch"][0]).max())
    count = max(3, int(3000 / max(of(3) for _, of in runs.values())))  # a turn of the slowest takes about 3 ms
    times = {name: [] for name in runs}
    for _ in range(rounds):
        for name, (_, of) in runs.items():
            times[name].append(of(count))
    ratios = {name: statistics.quantiles([a / b for a, b in zip(times[name], times["ours"])], n=4)
              for name in runs if name != "ours"}
    return times, ratios, away


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--md", help="a file to which the table is appended")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.set_grad_enabled(False)
    lines = [f"## {options.threads} thread{'s' * (options.threads > 1)}"
             f"{', AVX2' if os.environ.get('DNNL_MAX_CPU_ISA') == 'AVX2' else ''}", "",
             f"{datetime.date.today()}, load {os.getloadavg()[0]:.1f} at the start, {options.rounds} rounds.", "",
             "| of | from, to | how | ours, us | PyTorch, us | ONNX Runtime, us | PyTorch / ours | ONNX Runtime / ours |",
             "|---|---|---|---|---|---|---|---|"]
    behind = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            times, ratios, away = measure(case, options.threads, options.rounds, folder)
            if away > 2e-3:  # PyTorch computes positions in float
                raise SystemExit(f"{case}: {away} away from PyTorch")
            cells = [f"{ratio[1]:.2f} ({ratio[0]:.2f} to {ratio[2]:.2f})" for ratio in ratios.values()]
            behind += any(ratio[1] < 1 for ratio in ratios.values())
            what, shape, sizes, how = case
            least = [f"{min(of):.0f}" for of in times.values()]
            lines.append(f"| {what} | {list(shape)}, {list(sizes)} | {how} | " + " | ".join(least + cells) + " |")
            print(lines[-1], flush=True)
    lines += ["", f"Behind one of the two in {behind} of {len(CASES)}."]
    print(lines[-1])
    if options.md:
        with open(options.md, "a", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n\n")


if __name__ == "__main__":
    main()
