#!/usr/bin/env python3
"""Runs files that are exported for open sizes in ONNX Runtime. Each model is exported once, must pass the full check of
the onnx package, and must compute at SIZES drawn sizes (the ends of small ranges, 0 and 1 where the range allows, primes
and others) the outputs of `tg run` at these sizes, within the tolerance of export_test.py.

    tests/oracle/open_export_test.py [--tg build/tg] [--sizes 8] [--opset 18,..] [--seed 1] [PART...]

Models are those of tests/oracle/open, one for each kind of operator with shapes as attributes, and networks of
examples/ whose batch and sequence get a range. PART selects models whose name contains it. Without the packages onnx,
onnxruntime and numpy the test is skipped (`./dev test --oracle` installs them).
"""
import argparse
import random
import re
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    import onnx
    import onnxruntime  # noqa: F401
except ImportError as missing:
    print(f"[SKIP] {missing.name} is not installed")
    sys.exit(77)

sys.path.insert(0, str(Path(__file__).parent))
from export_test import ROOT, Failure, difference, load, tg  # noqa: E402

# Networks of examples/ with small settings.
NETWORKS = {
    "transformer": ["D=48", "heads=4", "layers=2"],
    "bert_base": ["layers=2"],
    "gpt2": ["layers=2", "width=96", "heads=4"],
    "llama_block": ["D=64", "heads=4", "kv_heads=2"],
    "vit_base": ["layers=2"],
    "mlp": [],
    "squeezenet": [],
    "mobilenetv2": [],
    "resnet50": [],
}
RANGES = {"N": "1..", "S": "1..200"}
PRIMES = [2, 3, 5, 7, 11, 13, 17, 23, 31, 37, 41, 53]
SIZE = re.compile(r"\b(\w+): int in (\d+)\.\.(\d*) = (\d+)")


class Model:
    """A model with open sizes in a file."""

    def __init__(self, path, name, settings=(), large=False):
        self.path, self.name, self.settings, self.large = path, name, list(settings), large
        text = re.split(r"^model ", path.read_text(), flags=re.M)
        head = next((part for part in text[1:] if re.match(name + r"\b", part)), text[-1])
        self.sizes = {m[1]: (int(m[2]), int(m[3]) if m[3] else None) for m in SIZE.finditer(head)}

    def draw(self, rng):
        """Returns a size for each open one."""
        point = {}
        for name, (least, most) in self.sizes.items():
            above = 4 if self.large and name == "N" else 60
            n = rng.choice([least, 1, rng.choice(PRIMES), least + rng.randrange(above), most or 29])
            n = n % 5 if self.large and name == "N" else n
            point[name] = max(min(n, most or 150, 150), least)
        return point


def models(parts, folder):
    path = ROOT / "tests/oracle/open/operators.tg"
    for name in re.findall(r"^model (\w+)", path.read_text(), re.M):
        yield Model(path, name)
    for name, settings in NETWORKS.items():
        if parts and not any(part in name for part in parts):
            continue
        text = (ROOT / f"examples/{name}.tg").read_text()
        for size, range_ in RANGES.items():
            text = re.sub(rf"\b{size}: int = ", f"{size}: int in {range_} = ", text)
        copy = folder / f"{name}.tg"
        copy.write_text(text)
        yield Model(copy, "", settings, large=True)


def inputs_of(file, rng, point, folder, model, options):
    """Returns random inputs with the shapes of the model at these sizes."""
    sets = [word for item in [*model.settings, *(f"{k}={v}" for k, v in point.items())] for word in ("--set", item)]
    fixed = folder / "fixed.onnx"
    given = ["--model", model.name] if model.name else []
    tg(["export", model.path, *given, *sets, "-o", fixed, "--quiet"], tg=options.tg)
    inputs = {}
    for value in onnx.load(fixed).graph.input:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
        whole = np.issubdtype(dtype, np.integer)
        inputs[value.name] = (rng.integers(0, 2, shape) if whole else rng.standard_normal(shape)).astype(dtype)
    return inputs, sets, given


def check(model, options, opset):
    """Returns the number of sizes at which the file was run and the largest difference."""
    rng, numbers = random.Random(options.seed), np.random.default_rng(options.seed)
    worst, points = 0.0, []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        fixed = [word for item in model.settings for word in ("--set", item)]
        given = ["--model", model.name] if model.name else []
        path = folder / "open.onnx"
        tg(["weights", model.path, *given, *fixed, "-o", folder / "w.safetensors", "--quiet"], tg=options.tg)
        weights = ["--weights", folder / "w.safetensors"] if "param " in model.path.read_text() or model.large else []
        tg(["export", model.path, *given, *fixed, *weights, "-o", path, "--opset", opset, "--quiet"], tg=options.tg)
        onnx.checker.check_model(str(path), full_check=True)
        session = load(str(path))
        names = [output.name for output in session.get_outputs()]
        while len(points) < options.sizes:
            point = model.draw(rng)
            inputs, sets, _ = inputs_of(path, numbers, point, folder, model, options)
            np.savez(folder / "in.npz", **inputs)
            backend = "cpu" if model.large else "ref"
            tg(["run", model.path, *given, *sets, *weights, "--input", folder / "in.npz", "--backend", backend,
                "--runs", 1, "--quiet", "--output", folder / "out.npz"], tg=options.tg)
            want = dict(np.load(folder / "out.npz"))
            for name, got in zip(names, session.run(names, inputs)):
                off = difference(got, want[name]) if want[name].size else float(got.shape != want[name].shape) * 2
                if off > 1:
                    raise Failure(f"output {name} at {point} is {off:.3g} times further off than allowed: "
                                  f"{got.shape} and {want[name].shape}")
                worst = max(worst, off)
            points.append(point)
    return len(points), worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tg", default=str(ROOT / "build/tg"))
    parser.add_argument("--sizes", type=int, default=8)
    parser.add_argument("--opset", default="13,18,24")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("parts", nargs="*")
    options = parser.parse_args()
    failures = count = 0
    with tempfile.TemporaryDirectory() as folder:
        for model in models(options.parts, Path(folder)):
            name = model.name or model.path.stem
            if options.parts and not any(part in name for part in options.parts):
                continue
            for opset in [18] if model.large else [int(n) for n in options.opset.split(",")]:
                count += 1
                try:
                    points, worst = check(model, options, opset)
                    print(f"ok   {name}, opset {opset}: {points} sizes, {worst:.2g}", flush=True)
                except Exception as error:  # noqa: BLE001: any error is the result
                    if "requires opset" in str(error):
                        continue  # rejected as expected
                    failures += 1
                    print(f"FAIL {name}, opset {opset}: {str(error).strip()[:400]}", flush=True)
    print(f"{count} files, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
