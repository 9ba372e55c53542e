#!/usr/bin/env python3
"""Compares exported models with ONNX Runtime. Files of `tg export` must pass the full check of the onnx package. ONNX
Runtime must load them with strict type and shape inference, and compute the outputs of `tg run --backend ref` on the
same inputs and weights:

    |a - b| <= 1e-4 |b| + 1e-5 max |b|      for f32; 1e-12 and 1e-13 for f64; integers and bools are
                                            equal; NaN matches only NaN

    tests/oracle/export_test.py [--tg build/tg] [--opset 18,..] [--opt] [--folder F] [--table] [PART...]

Models are those of examples/, tests/models, the golden tests of single operators (tests/golden/run), and
tests/oracle/export, which has the remaining operators: every operator of `tg ops` must occur. PART selects files whose
path contains it. With --opt each model is optimised before the export. Without the packages onnx, onnxruntime and numpy
the test is skipped (`./dev test --oracle` installs them).
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
except ImportError as missing:
    print(f"[SKIP] {missing.name} is not installed")
    sys.exit(77)

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ["tests/oracle/export", "tests/golden/run", "tests/models", "examples", "examples/paper"]
OPSETS = list(range(13, 25))
# The reference backend would take hours for these, so that the cpu backend is used.
LARGE = re.compile(r"examples/(paper/|bert_base|gpt2|vit_base|resnet50|inceptionv3)")
# Files without a model, or with models that ONNX cannot express or ONNX Runtime does not support (erf of f64, products
# of i64 that wrap). Their comments describe them.
NOT_EXPORTED = {f"tests/golden/run/{name}.tg" for name in
                ("weights", "examples", "archives", "scatter_outside", "wraps", "f64")}
TOLERANCE = {"float16": (2e-2, 2e-3), "float64": (1e-12, 1e-13)}
LIMIT_S = 600


def tg(arguments, **options):
    done = subprocess.run([options.pop("tg"), *map(str, arguments)], capture_output=True, text=True,
                          check=False, timeout=LIMIT_S)
    if done.returncode != 0:
        raise Failure(f"tg {arguments[0]}: " + (done.stderr.strip().splitlines() or ["failed"])[0])
    return done.stdout


class Failure(Exception):
    """An exported model is wrong."""


def index_limits(model):
    """Returns {name of an index tensor of gathers and scatters: number of rows that it may index}."""
    shapes = {v.name: v.type.tensor_type.shape for v in [*model.graph.input, *model.graph.value_info]}
    limits = {}
    inits = {t.name: t.dims for t in model.graph.initializer}
    made_by = {name: node for node in model.graph.node for name in node.output}
    for node in model.graph.node:
        if node.op_type not in ("Gather", "ScatterElements"):
            continue
        axis = next((a.i for a in node.attribute if a.name == "axis"), 0)
        data, indices = node.input[:2]
        while indices in made_by and made_by[indices].op_type in ("Reshape", "Expand"):
            indices = made_by[indices].input[0]
        if data in inits:
            size = inits[data][axis]
        elif data in shapes:
            size = shapes[data].dim[axis].dim_value
        else:
            continue
        limits[indices] = min(size, limits.get(indices, size))
    return limits


def random_inputs(model, seed=1):
    rng = np.random.default_rng(seed)
    limits = index_limits(model)
    inputs = {}
    for value in model.graph.input:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
        if dtype == np.bool_:
            x = rng.integers(0, 2, shape).astype(bool)
        elif np.issubdtype(dtype, np.integer):
            low, high = (0, limits[value.name]) if value.name in limits else (-9, 10)
            x = rng.integers(low, high, shape).astype(dtype)
        elif dtype in (np.float64, np.float32, np.float16):
            x = rng.standard_normal(shape).astype(dtype)
        else:
            return None  # NumPy has no bf16
        inputs[value.name] = x
    return inputs


def difference(got, want):
    """Returns the difference of `got` and `want`, divided by the tolerance, or inf if they cannot be compared."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return float("inf")
    if got.dtype.kind in "bi":
        return 0.0 if np.array_equal(got, want) else float("inf")
    relative, absolute = TOLERANCE.get(str(want.dtype), (1e-4, 1e-5))
    a, b = got.astype(np.float64), want.astype(np.float64)
    odd = ~np.isfinite(b)
    if not np.array_equal(a[odd], b[odd], equal_nan=True) or not np.isfinite(a[~odd]).all():
        return float("inf")
    if odd.all():
        return 0.0
    allowed = relative * np.abs(b[~odd]) + absolute * np.abs(b[~odd]).max()
    return float((np.abs(a[~odd] - b[~odd]) / np.maximum(allowed, 1e-300)).max())


def load(path):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.add_session_config_entry("session.strict_shape_type_inference", "1")
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


class Case:
    """A model in a file."""

    def __init__(self, path, model, options):
        self.path, self.model, self.options = path, model, options
        self.name = f"{os.path.relpath(path, ROOT)}:{model}"

    def tg(self, command, *arguments):
        return tg([command, self.path, "--model", self.model, *arguments], tg=self.options.tg)

    def export(self, folder, opset):
        weights, out = folder / "w.safetensors", folder / "m.onnx"
        given = ["--weights", weights] if weights.exists() else []
        if self.options.opt:
            self.tg("opt", "-o", out, "--opset", opset, "--cost", "analytic:cpu", "--quiet", *given)
        else:
            self.tg("export", "-o", out, "--opset", opset, "--quiet", *given)
        return out

    def expected(self, folder, inputs):
        np.savez(folder / "in.npz", **inputs)
        given = ["--weights", folder / "w.safetensors"] if (folder / "w.safetensors").exists() else []
        given += ["--input", folder / "in.npz"] if inputs else []
        backend = "cpu" if LARGE.search(self.name) else "ref"
        self.tg("run", "--backend", backend, "--runs", 1, "--quiet", "--output", folder / "out.npz", *given)
        return dict(np.load(folder / "out.npz"))

    def check(self, folder, opset):
        """Returns the largest difference, divided by the tolerance, or None if only loading was checked."""
        path = str(self.export(folder, opset))
        onnx.checker.check_model(path, full_check=True)
        session, model = load(path), onnx.load(path)
        domains = {node.domain for node in model.graph.node}
        if domains != {""} and domains:
            raise Failure(f"operators of other domains: {domains}")
        inputs = random_inputs(model)
        bf16 = any(v.type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16 for v in model.graph.output)
        if inputs is None or bf16:
            return None
        if not hasattr(self, "want"):
            self.want = self.expected(folder, inputs)
        names = [o.name for o in session.get_outputs()]
        if set(names) != set(self.want):
            raise Failure(f"outputs {names}, expected {sorted(self.want)}")
        worst = 0.0
        for name, got in zip(names, session.run(names, inputs)):
            off = difference(got, self.want[name])
            if off > 1:
                raise Failure(f"output {name} is {off:.3g} times further off than allowed")
            worst = max(worst, off)
        return worst


def cases(options):
    for folder in [options.folder] if options.folder else FOLDERS:
        for path in sorted((ROOT / folder).glob("*.tg")):
            relative = os.path.relpath(path, ROOT)
            if relative in NOT_EXPORTED or (options.parts and not any(p in relative for p in options.parts)):
                continue
            for model in re.findall(r"^model (\w+)", path.read_text(), re.M):
                yield Case(path, model, options)


def opsets_of(case, options):
    if options.opset:
        return [int(n) for n in options.opset.split(",")]
    return [18] if "examples/" in case.name or "models/" in case.name else OPSETS


def uncovered(options):
    """Returns the operators that do not occur in any model here."""
    rows = json.loads(tg(["ops", "--json"], tg=options.tg))["operators"]
    text = "".join(p.read_text() for f in FOLDERS for p in (ROOT / f).glob("*.tg"))
    spelled = {"add": "+", "sub": "-", "mul": "*", "div": "/", "less": "<", "constant": "", "none": "", "input": "",
               "weight": "param", "neg": "-"}
    spelled |= {"less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!=",
                "logical_and": " and ", "logical_or": " or ", "logical_not": "not ", "mod": "%", "extern": ""}
    return [r["name"] for r in rows if f"{r['name']}(" not in text and spelled.get(r["name"]) is None]


def run(case, options):
    rows, failed = [], 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if case.path.read_text().find("param ") >= 0 or "examples/" in case.name or "models/" in case.name:
            case.tg("weights", "-o", folder / "w.safetensors", "--quiet")
        for opset in opsets_of(case, options):
            try:
                off = case.check(folder, opset)
                rows.append((opset, "loads" if off is None else f"{off:.2g}"))
            except Exception as error:  # noqa: BLE001: any error is the result
                needs = re.search(r"requires opset (\d+) or later", str(error))
                if needs and opset < int(needs[1]):
                    continue  # rejected as expected
                failed += 1
                rows.append((opset, "FAIL " + str(error).strip().splitlines()[0][:160]))
    return rows, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tg", default=str(ROOT / "build/tg"))
    parser.add_argument("--opset", default="", help="N,...; default: all for operators, 18 for networks")
    parser.add_argument("--opt", action="store_true", help="export through `tg opt`")
    parser.add_argument("--folder", help="only the models of this folder")
    parser.add_argument("--table", action="store_true", help="print a Markdown table")
    parser.add_argument("parts", nargs="*")
    options = parser.parse_args()
    failures, count = 0, 0
    missing = [] if options.parts or options.folder else uncovered(options)
    if missing:
        print("no model has: " + ", ".join(missing))
    for case in cases(options):
        try:
            rows, failed = run(case, options)
        except Failure as error:
            rows, failed = [(0, f"FAIL {error}")], 1
        count, failures = count + 1, failures + failed
        good = [r for r in rows if not r[1].startswith("FAIL")]
        worst = max((r[1] for r in good if r[1] != "loads"), key=float, default="loads")
        if options.table:
            print(f"| `{case.name}` | {', '.join(str(r[0]) for r in good)} | {worst} |", flush=True)
        else:
            print(f"{'ok  ' if not failed else 'FAIL'} {case.name}: {len(good)} of {len(rows)} opsets, {worst}", flush=True)
        for text in sorted({text for _, text in rows if text.startswith("FAIL")}):
            opsets = ", ".join(str(opset) for opset, other in rows if other == text)
            print(f"     opset {opsets}: {text}", flush=True)
    print(f"{count} models, {failures} failures")
    return 1 if failures or missing else 0


if __name__ == "__main__":
    sys.exit(main())
