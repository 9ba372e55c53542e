#!/usr/bin/env python3
"""Tests that `tg opt` of its own result changes nothing: `tg opt M.tg -o a.onnx` and `tg opt a.onnx -o b.onnx` write
the same bytes, and `tg verify` reports that a.onnx equals M.tg.

    optimise_again_test.py TG [NAME...]

The models are small networks, one for each way in which a written file is read with other operators than the graph
that was found: kernels are written as several nodes, sequences as matrices, and computed weights as weights. Random
networks, the models of `examples` and `tests/models`, files of `tests/golden/import` and, with group prices, the small
networks follow. With TANGRAM_FULL_TESTS, there are more random networks, and the models whose search is long. NAME
selects models whose name contains it.
"""
import filecmp
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FULL = bool(os.environ.get("TANGRAM_FULL_TESTS"))
RANDOM = 200 if FULL else 24
#: Models whose search takes several seconds.
LONG = {"bert_base", "gpt2", "llama_block", "vit_base", "bigru_mask", "convnext", "llama_decode", "inceptionv3",
        "mobilenetv2", "resnet50", "diffusion_block", "mlp_mixer"}
#: Files with nodes that are kept, so that the graph is cut around them.
KEPT = ["kept", "kept_attention", "kept_batch_first"]
GROUPS = ["--groups", "on", "--cost", "analytic:a100"]
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
    # Constants that the written file reshapes, and that are read as reshaped constants.
    "written_rows": """
model written_rows(x: f32[8, 32], y: f32[2, 32]) {
  param w: f32[32, 32]
  let z = scatter(x @ w, [1, 6], tanh(y @ w), axis = 0)
  scatter(relu(z), [2, 5], y, axis = 0)
}""",
    # Kernels of convolutions, with an activation and a residual.
    "convolutions": """
use std.nn: conv_bn
model convolutions(x: f32[1, 16, 14, 14]) {
  relu(x + (conv_bn(relu(conv_bn(x, 16, kernel = 3, pad = 1) as a), 16, kernel = 3, pad = 1) as b))
}""",
}




def random_network(seed):
    """Returns a network of products, norms, activations and layout over sequences of 8 rows."""
    draw = random.Random(seed)
    body, values, weights = [], [("x", 32), ("y", 32)], []

    def weight(*shape):
        weights.append(f"  param w{len(weights)}: f32[{', '.join(map(str, shape))}]")
        return f"w{len(weights) - 1}"

    def add(text, width):
        body.append(f"  let t{len(body)} = {text}")
        values.append((f"t{len(body) - 1}", width))

    for _ in range(draw.randint(4, 12)):
        (a, n), (b, m) = draw.choice(values[-4:]), draw.choice(values)
        kind = draw.randrange(9)
        if kind <= 2:
            out = draw.choice([16, 32, 64])
            add(f"{a} @ {weight(n, out)}" + draw.choice(["", f" + {weight(out)}"]), out)
        elif kind == 3 and n == m:
            add(f"{a} + {b}", n)
        elif kind == 4 and n == m:
            add(f"{a} * {b}", n)
        elif kind == 5:
            add(f"{draw.choice(['relu', 'gelu', 'tanh', 'sigmoid'])}({a})", n)
        elif kind == 6:
            add(f"layer_norm({a}, {weight(n)}, {weight(n)})", n)
        elif kind == 7:
            add(f"reshape(reshape({a}, [2, 4, {n}]), [1, 8, {n}]) * {weight(n)}", n)
        else:
            add(f"slice(concat([{a}, {b}], axis = 2), axis = 2, start = {m // 2}, stop = {m // 2 + n})", n)
    return "\n".join(["model m(x: f32[1, 8, 32], y: f32[1, 8, 32]) {", *weights, *body, "  " + values[-1][0], "}"])


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
        given = options if "--cost" in options else ["--cost", "analytic:cpu", *options]
        tg(program, "opt", source, "-o", result, "--time-limit", "60", "--quiet", *given)
    tg(program, "verify", model, first)
    if not filecmp.cmp(first, second, shallow=False):
        raise Failure("the second `tg opt` changed the file")


def cases():
    """Yields each model as (name, path or text, options)."""
    for name, text in MODELS.items():
        yield name, text, []
    for folder in ("examples", "tests/models"):
        for model in sorted((ROOT / folder).glob("*.tg")):
            if FULL or model.stem not in LONG:
                yield model.stem, model, []
    for name in KEPT:
        yield name, ROOT / "tests/golden/import" / f"{name}.onnx", []
    for search in SEARCHES:
        for name, text in MODELS.items():
            yield name, text, ["--search", search]
    for name, text in MODELS.items():
        yield name, text, GROUPS
    for seed in range(RANDOM):
        yield f"random{seed}", random_network(seed), []


def main():
    program, names = sys.argv[1], sys.argv[2:]
    count = failed = 0
    for name, model, options in cases():
        if names and not any(part in name for part in names):
            continue
        count += 1
        with tempfile.TemporaryDirectory() as folder:
            if isinstance(model, str):
                path = Path(folder) / f"{name}.tg"
                path.write_text(model, encoding="utf-8")
                model = path
            try:
                check(program, model, Path(folder), *options)
            except Failure as failure:
                failed += 1
                print(f"[FAIL] {name} {' '.join(options)}: {failure}")
    print(f"{count} cases, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
