#!/usr/bin/env python3
"""Tests that `tg opt` of its own result changes nothing: `tg opt M.tg -o a.onnx` and `tg opt a.onnx -o b.onnx` write
the same bytes, and `tg verify` reports that a.onnx equals M.tg.

    optimise_again_test.py TG [NAME...]

The models are small networks, one for each way in which a written file is read with other operators than the graph
that was found: kernels are written as several nodes, sequences as matrices, and computed weights as weights. The
examples of the folder `examples` are used as well. NAME selects models whose name contains it.
"""
import filecmp
import subprocess
import sys
import tempfile
from pathlib import Path

EXAMPLES = ["mlp", "residual", "transformer", "llama_block", "squeezenet"]
SEARCHES = ["greedy", "saturate", "taso"]

MODELS = {
    # A product of rows, a residual, a norm and an activation: written as matrices between reshapes.
    "rows": """
model rows(x: f32[1, 14, 14, 32]) {
  param w: f32[32, 32]
  param b: f32[32]
  param scale: f32[32]
  param shift: f32[32]
  param v: f32[32, 64]
  let t = reshape(x, [1, 196, 32])
  gelu(layer_norm(t + (t @ w + b), scale, shift) @ v)
}""",
    # Sums of vectors of weights: one bias.
    "biases": """
model biases(x: f32[2, 12, 32]) {
  param w: f32[32, 32]
  param b: f32[32]
  param c: f32[32]
  param v: f32[32, 64]
  let y = x @ w + b + c
  relu(y @ v) @ transpose(v) + y
}""",
    # A chain of products with weights, of which the first is used twice.
    "chain": """
model chain(x: f32[2, 16, 64]) {
  param w: f32[64, 64]
  param b: f32[64]
  param v: f32[64, 64]
  param c: f32[64]
  let y = x @ w + b
  concat([y, tanh(y @ v + c)], axis = 2)
}""",
    # A scale and a shift of matrices that are made of the rows of a sequence.
    "norm_of_rows": """
model norm_of_rows(x: f32[1, 16, 32]) {
  param w: f32[32, 64]
  param scale: f32[64]
  param shift: f32[64]
  param mean: f32[64]
  param v: f32[64, 32]
  let y = reshape(x @ w, [16, 64])
  x + reshape((y - mean) * scale + shift, [1, 16, 64]) @ v
}""",
    # Kernels of convolutions, with an activation and a residual.
    "convolutions": """
use std.nn: conv_bn
model convolutions(x: f32[1, 16, 14, 14]) {
  relu(x + (conv_bn(relu(conv_bn(x, 16, kernel = 3, pad = 1) as a), 16, kernel = 3, pad = 1) as b))
}""",
}


class Failure(Exception):
    pass


def tg(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise Failure(f"tg {' '.join(map(str, arguments))}: exit code {done.returncode}: {done.stdout}{done.stderr}")


def check(program, model, folder, *options):
    """Optimises a model twice. Raises Failure if a file is not equal to its source, or changes."""
    first, second = folder / "first.onnx", folder / "second.onnx"
    for source, result in ((model, first), (first, second)):
        tg(program, "opt", source, "-o", result, "--cost", "analytic:cpu", "--time-limit", "60", "--quiet", *options)
    tg(program, "verify", model, first)
    if not filecmp.cmp(first, second, shallow=False):
        raise Failure("the second `tg opt` changed the file")


def main():
    program, names = sys.argv[1], sys.argv[2:]
    examples = Path(__file__).resolve().parent.parent / "examples"
    cases = [(name, text, []) for name, text in MODELS.items()]
    cases += [(name, (examples / f"{name}.tg").read_text(encoding="utf-8"), []) for name in EXAMPLES]
    cases += [(name, text, ["--search", search]) for search in SEARCHES for name, text in MODELS.items()]
    failed = 0
    for name, text, options in cases:
        if names and not any(part in name for part in names):
            continue
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder) / f"{name}.tg"
            model.write_text(text, encoding="utf-8")
            try:
                check(program, model, Path(folder), *options)
            except Failure as failure:
                failed += 1
                print(f"[FAIL] {name} {' '.join(options)}: {failure}")
    print(f"{len(cases)} cases, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
