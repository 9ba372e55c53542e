#!/usr/bin/env python3
"""Runs ONNX's node tests. For each, the onnx package generates a model of one operator (or of its expansion), inputs
and expected outputs. `tg run` must compute the outputs, or reject the model with a diagnostic that names the operator,
the node or the value that is not supported:

    |a - b| <= 1e-4 |b| + 1e-5 max |b|      for floats; integers and bools are equal; NaN matches only NaN

    tests/oracle/import_nodes_test.py [--tg build/tg] [--backend ref] [--jobs N] [--table F.md]
                                      [--keep FOLDER] [--as-generated] [NAME...]

In the generated models, shapes, axes, pads and similar operands are inputs. In networks they are constants, so that
this test makes them constants (SHAPE_OPERANDS), unless --as-generated is given. NAME selects tests whose name contains
it. With --keep the models and arrays of failed tests are written to a folder.

The test fails if an output is wrong, if `tg` crashes, hangs or rejects a model without a name, or if less than 99% of
the float32 inference tests or 75% of all tests are right.
"""
import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from export_test import ROOT, difference  # also skips this test if packages are missing

import numpy as np
import onnx
from onnx import numpy_helper

LIMIT_S = 120
RIGHT, REFUSED, WRONG, CRASH = "right", "refused", "wrong", "crash"
SHARES = {"inference": 0.99, "all": 0.75}

# Indices of operands that determine shapes or the behaviour of an operator.
SHAPE_OPERANDS = {
    "AffineGrid": {1}, "CenterCropPad": {1}, "Col2Im": {1, 2}, "ConstantOfShape": {0}, "CumProd": {1}, "CumSum": {1},
    "DFT": {1, 2}, "Dropout": {1, 2}, "Expand": {1}, "If": {0}, "Loop": {0, 1}, "MaxUnpool": {2}, "OneHot": {1},
    "Pad": {1, 3}, "Range": {0, 1, 2}, "Reshape": {1}, "Resize": {1, 2, 3}, "Slice": {1, 2, 3, 4}, "Split": {1},
    "SplitToSequence": {1}, "Squeeze": {1}, "STFT": {1, 3}, "Tile": {1}, "TopK": {1}, "Trilu": {1}, "Unsqueeze": {1},
    "Upsample": {1}, "BlackmanWindow": {0}, "HammingWindow": {0}, "HannWindow": {0}, "MelWeightMatrix": {0, 1, 2, 3, 4},
    "NonMaxSuppression": {2, 3, 4}, "SequenceAt": {1}, "SequenceErase": {1}, "SequenceInsert": {2},
} | {f"Reduce{kind}": {1} for kind in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")}

# Tests whose expected outputs are written with four digits.
FOUR_DIGITS = {"test_averagepool_2d_ceil_last_window_starts_on_pad", "test_roialign_aligned_false",
               "test_roialign_aligned_true"}
BF16_SCALE = 200  # times the tolerance: 2e-2 and 2e-3, as for f16

# Operators that inference networks use, with the number of their float32 tests.
INFERENCE = {
    # those of the light models: 120
    "AveragePool": 20, "MaxPool": 18, "Concat": 12, "Gemm": 11, "Reshape": 10, "Softmax": 7, "Transpose": 7,
    "Unsqueeze": 7, "Conv": 6, "Dropout": 6, "Mul": 3, "Sum": 3, "Add": 2, "BatchNormalization": 2,
    "GlobalAveragePool": 2, "LRN": 2, "Relu": 1, "ConstantOfShape": 1,
    # others: 448
    "Attention": 62, "Resize": 39, "LayerNormalization": 19, "RMSNormalization": 19, "ArgMax": 16, "Split": 16,
    "ReduceSum": 12, "ConvTranspose": 11, "Shape": 11, "Clip": 9, "Flatten": 9, "ReduceL1": 9, "ReduceL2": 9,
    "ReduceMax": 9, "ReduceMin": 9, "ReduceProd": 9, "ReduceSumSquare": 9, "LpPool": 8, "ReduceMean": 8,
    "RotaryEmbedding": 8, "Slice": 8, "MatMul": 7, "LogSoftmax": 7, "Pow": 6, "LpNormalization": 6, "ReduceLogSum": 5,
    "Gather": 4, "Gelu": 4, "Max": 4, "Min": 4, "Sub": 3, "Div": 3, "Elu": 3, "Selu": 3, "Pad": 3, "HardSigmoid": 3,
    "LeakyRelu": 3, "ThresholdedRelu": 3, "GatherElements": 3, "TopK": 3, "Mean": 3, "Sqrt": 2, "Exp": 2, "Log": 2,
    "Tanh": 2, "Sigmoid": 2, "PRelu": 2, "Squeeze": 2, "Expand": 2, "Tile": 2, "InstanceNormalization": 2,
    "GroupNormalization": 2, "Softplus": 2, "Softsign": 2, "Neg": 2, "Reciprocal": 2, "Ceil": 2, "Floor": 2, "Cos": 2,
    "Sin": 2, "GlobalMaxPool": 2, "DepthToSpace": 2, "Size": 2, "Erf": 1, "Identity": 1, "Where": 1, "Abs": 1, "Sign": 1,
    "Round": 1, "HardSwish": 1, "Mish": 1, "Swish": 1, "Celu": 1, "Range": 1, "GatherND": 1, "ReduceLogSumExp": 1,
    "MeanVarianceNormalization": 1, "IsNaN": 1,
}
# Types in which integers of types that Tangram does not have are written.
CARRIERS = {"uint8": "int32", "int8": "int32", "uint16": "int32", "int16": "int32", "uint32": "int64", "uint64": "int64"}
INTEGER_RESULTS = {"ArgMax", "Shape", "Size", "IsNaN"}


class Case:
    """A generated test: a model, and arrays by the names of its inputs and outputs."""

    def __init__(self, test, base):
        self.name, self.model = test.name, onnx.ModelProto()
        self.model.CopyFrom(test.model)
        given, expected = test.data_sets[0]
        graph = self.model.graph
        self.inputs = {v.name: array_of(x) for v, x in zip(graph.input, given)}
        self.outputs = {v.name: array_of(x) for v, x in zip(graph.output, expected)}
        self.node = base.model.graph.node[0]
        self.expanded = "_expanded" in self.name
        domain = self.node.domain if self.node.domain not in ("", "ai.onnx") else ""
        self.kind = f"{domain}.{self.node.op_type}" if domain else self.node.op_type

    def fix_operands(self):
        """Makes constants of operands that determine shapes, and of those whose type NumPy does not have."""
        places = SHAPE_OPERANDS.get(self.kind, ())
        fixed = {name for place, name in enumerate(self.node.input) if place in places}
        fixed |= {name for name, x in self.inputs.items() if str(getattr(x, "dtype", "")) == "bfloat16"}
        graph = self.model.graph
        for value in [v for v in graph.input if v.name in fixed and isinstance(self.inputs[v.name], np.ndarray)]:
            graph.initializer.append(numpy_helper.from_array(self.inputs.pop(value.name), value.name))
            graph.input.remove(value)

    def is_inference(self):
        """Returns true if INFERENCE counts this test."""
        arrays = [*self.inputs.values(), *self.outputs.values()]
        if self.kind not in INFERENCE or self.expanded or not all(isinstance(x, np.ndarray) for x in arrays):
            return False
        kinds, first = {str(x.dtype) for x in arrays}, str(next(iter(self.outputs.values())).dtype)
        if "float32" not in kinds | {first} or not kinds <= {"float32", "int32", "int64", "bool"}:
            return False
        if first != "float32" and self.kind not in INTEGER_RESULTS or "training" in self.name:
            return False
        if self.kind == "BatchNormalization":
            return len(self.outputs) == 1
        if self.kind == "Attention":
            return re.match("test_attention_[34]d", self.name) and "window" not in self.name and "int64" not in kinds
        return True

    def is_named_in(self, text):
        """Returns true if a diagnostic names an operator, a node or a value of the model."""
        nodes = self.model.graph.node
        names = {n.op_type for n in nodes} | {n.name for n in nodes} | {o for n in nodes for o in n.output}
        names |= set(self.inputs) | set(self.outputs)
        return any(name and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in names)


def array_of(value):
    """Returns a tensor as a NumPy array; lists, None and other values are not changed."""
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    return np.asarray(value) if isinstance(value, (np.ndarray, np.generic)) else value


def collect(options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases
        tests = collect_testcases()
    by_name = {t.name: t for t in tests}
    cases = [Case(t, by_name[t.name.split("_expanded")[0]]) for t in tests]
    for case in cases:
        case.inference = bool(case.is_inference())
        if not options.as_generated:
            case.fix_operands()
    return cases


# --- one test -------------------------------------------------------------------------------------


def trimmed(found, count, shape):
    """Returns the `count` valid rows of an output that is padded to the largest possible size."""
    axis = next((i for i, (a, b) in enumerate(zip(found.shape, shape)) if a != b), None)
    return found if axis is None else np.take(found, range(count), axis)


def judge(case, path):
    """Returns the fault of the outputs in the file, or an empty string."""
    got = dict(np.load(path))
    for name in [n for n in got if f"{n}_count" in got and f"{n}_count" not in case.outputs]:
        got[name] = trimmed(got[name], got.pop(f"{name}_count").item(), case.outputs[name].shape)
    if set(got) != set(case.outputs):
        return f"outputs {sorted(got)}, expected {sorted(case.outputs)}"
    for name, want in case.outputs.items():
        found, scale = got[name], 1
        if want.dtype.name in CARRIERS and found.dtype == CARRIERS[want.dtype.name]:
            if not np.array_equal(found.astype(want.dtype), want):
                return f"{name} is {found.flatten()[:8]}, expected {want.flatten()[:8]}"
            continue
        if str(want.dtype) == "bfloat16":  # NumPy has no bf16: the file has f32
            want, scale = want.astype(np.float32), BF16_SCALE
        if found.dtype != want.dtype or found.shape != want.shape:
            return f"{name} is {found.dtype}{list(found.shape)}, expected {want.dtype}{list(want.shape)}"
        if case.name in FOUR_DIGITS and np.allclose(found, want, rtol=0, atol=1e-4):
            continue
        off = difference(found, want) / scale if want.size else 0
        if off > 1:
            return f"{name} is {off:.3g} times further off than allowed"
    return ""


def refusal(case, done):
    """Returns the class and the first message of a run with exit code 1."""
    text = done.stderr.strip()
    first = next((line for line in text.splitlines() if line.startswith("error")), text[:200])
    if case.is_named_in(text):
        return REFUSED, first
    return CRASH, f"refused without a name: {first}"


def run(case, options, folder):
    """Returns (class, message)."""
    model, given, out = folder / "m.onnx", folder / "in.npz", folder / "out.npz"
    model.write_bytes(case.model.SerializeToString())
    command = [options.tg, "run", model, "--backend", options.backend, "--runs", "1", "--quiet", "--output", out]
    if all(isinstance(x, np.ndarray) for x in case.inputs.values()):
        np.savez(given, **case.inputs)
        command += ["--input", given] if case.inputs else []
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return CRASH, f"no end after {LIMIT_S} s"
    if done.returncode == 1:
        return refusal(case, done)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        return CRASH, f"exit code {done.returncode}: {last[:200]}"
    if not all(isinstance(x, np.ndarray) for x in [*case.inputs.values(), *case.outputs.values()]):
        return WRONG, "ran without inputs or outputs that it cannot have"
    wrong = judge(case, out)
    return (WRONG, wrong) if wrong else (RIGHT, "")


def run_and_keep(case, options):
    with tempfile.TemporaryDirectory() as scratch:
        try:
            result = run(case, options, Path(scratch))
        except Exception as error:  # noqa: BLE001 continue with the other tests
            result = CRASH, f"{type(error).__name__}: {error}"
        if options.keep and result[0] in (WRONG, CRASH):
            keep(case, Path(options.keep) / case.name, result[1])
        return result


def keep(case, folder, why):
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(case.model, folder / "m.onnx")
    for stem, arrays in (("in", case.inputs), ("want", case.outputs)):
        np.savez(folder / f"{stem}.npz", **{n: x for n, x in arrays.items() if isinstance(x, np.ndarray)})
    (folder / "why.txt").write_text(f"{why}\n\n{onnx.printer.to_text(case.model)}\n", encoding="utf-8")


# --- output ---------------------------------------------------------------------------------------


def print_selection(cases):
    """Prints differences between the number of inference tests and INFERENCE."""
    found = collections.Counter(c.kind for c in cases if c.inference)
    for kind, count in INFERENCE.items():
        if found[kind] != count:
            print(f"this onnx package has {found[kind]} inference tests of {kind}, expected {count}")
    print(f"{len(cases)} tests, {sum(found.values())} of float32 inference (expected {sum(INFERENCE.values())})")


def print_kinds(cases, results):
    counts = collections.defaultdict(collections.Counter)
    for case in cases:
        counts[case.kind][results[case.name][0]] += 1
    print(f"\n{'operator':<44}{RIGHT:>8}{REFUSED:>9}{WRONG:>7}{CRASH:>7}")
    for kind, row in sorted(counts.items()):
        print(f"{kind:<44}" + "".join(f"{row[c] or '-':>{w}}" for c, w in ((RIGHT, 8), (REFUSED, 9), (WRONG, 7), (CRASH, 7))))


def reasons(cases, results):
    """Returns {(operator of the test, reason): cases}. Names of files and nodes are removed from reasons."""
    found = collections.defaultdict(list)
    for case in cases:
        kind, why = results[case.name]
        if kind == REFUSED:
            why = re.sub(r"^error(\[\w+\])?: (`[^`]*m\.onnx`: )?", "", why)
            why = re.sub(r"`[^`]*in.npz:(\w+)`", r"`\1`", why)
            found[case.kind, re.sub(r"node `[^`]*` \(([\w.]+)\)", r"\1", why)].append(case)
    return dict(sorted(found.items()))


def write_table(path, cases, results):
    count = collections.Counter(results[c.name][0] for c in cases)
    lines = [f"# ONNX's node tests (onnx {onnx.__version__})", "",
             f"{len(cases)} tests: " + ", ".join(f"{count[c]} {c}" for c in (RIGHT, REFUSED, WRONG, CRASH)) + ".", "",
             "| operator | tests refused | of inference | why | for example |", "|---|---|---|---|---|"]
    for (kind, why), found in reasons(cases, results).items():
        inference = sum(c.inference for c in found) or ""
        lines.append(f"| {kind} | {len(found)} | {inference} | {why.replace('|', chr(92) + '|')} | `{found[0].name}` |")
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def print_refusals(cases, results):
    print("\nrefused, how many of inference in brackets:")
    for (kind, why), found in reasons(cases, results).items():
        print(f"  {len(found):>3} ({sum(c.inference for c in found)}) {kind}: {why}")
    print()


def print_failures(cases, results):
    for case in cases:
        kind, why = results[case.name]
        if kind in (WRONG, CRASH):
            print(f"{kind:<6} {case.name} ({case.kind}): {why}")


def share(name, cases, results):
    """Prints the share of right tests, and returns true if it is large enough."""
    right = sum(results[c.name][0] == RIGHT for c in cases)
    part = right / max(1, len(cases))
    print(f"{name}: {right} of {len(cases)} right, {part:.1%} (at least {SHARES[name]:.0%})")
    return part >= SHARES[name]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tg", default=str(ROOT / "build/tg"))
    parser.add_argument("--backend", default="ref", choices=["ref", "cpu"])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--table", help="write a Markdown table of the refused tests with their reasons")
    parser.add_argument("--keep", help="a folder for the tests that fail")
    parser.add_argument("--as-generated", action="store_true", help="shapes and axes stay inputs of the model")
    parser.add_argument("--inference", action="store_true", help="only the float32 inference tests")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    every = collect(options)
    print_selection(every)
    cases = [c for c in every if not options.names or any(n in c.name for n in options.names)]
    cases = [c for c in cases if c.inference or not options.inference]
    with ThreadPoolExecutor(options.jobs) as pool:
        results = dict(zip([c.name for c in cases], pool.map(lambda c: run_and_keep(c, options), cases)))
    print_kinds(cases, results)
    print_refusals(cases, results)
    print_failures(cases, results)
    if options.table:
        write_table(options.table, cases, results)
    failed = sum(results[c.name][0] in (WRONG, CRASH) for c in cases)
    print(f"{len(cases)} tests, {failed} wrong or crashed")
    enough = [share("all", cases, results), share("inference", [c for c in cases if c.inference], results)]
    return 1 if failed or not (all(enough) or options.names) else 0


if __name__ == "__main__":
    sys.exit(main())
