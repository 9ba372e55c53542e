#!/usr/bin/env python3
"""Checks that integers are exact on all paths through the program. ONNX operators on integers near the limits of floats
with 24 and 53 bits, of i32 and of i64 are compared with arithmetic on Python's integers with wrap-around. The paths:

    run on ref and on cpu, with the integers as inputs or as constants of the file (which the importer folds);
    as text: `tg import -o f.tg`, formatted, run;
    optimised and written as ONNX: run again by `tg`, and by ONNX Runtime if its own result for the source is right (it
    computes powers and means in doubles, and cannot divide the smallest integer by -1).

    tests/oracle/integers_test.py [--tg build/tg] [--keep FOLDER] [NAME...]

NAME selects cases whose name contains it. With --keep the files are written to a folder.
"""
import argparse
import itertools
import subprocess
import sys
import tempfile
from pathlib import Path

from export_test import ROOT  # also skips this test if packages are missing

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

OPSET = 21
SMALL = [0, 1, -1, 2, -2, 3, 5, -7, 2**24 - 1, 2**24 + 1, -(2**24) - 1, 46341, 2**31 - 1, -(2**31)]
LARGE = [2**31, 2**31 + 1, -(2**31) - 1, 2**53 - 1, 2**53 + 1, -(2**53) - 1, 2**62, -(2**62), 2**63 - 1, -(2**63)]
VALUES = {"int32": SMALL, "int64": SMALL + LARGE}


def wrap(n, dtype):
    if dtype == "bool":
        return bool(n)
    bits = 32 if dtype == "int32" else 64
    return (n + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


def exact(values, dtype):
    """Returns Python's integers as an array of the dtype, with wrap-around."""
    values = np.asarray(values, dtype=object)
    return np.array([wrap(int(v), dtype) for v in values.flat], dtype=object).astype(dtype).reshape(values.shape)


def cut(a, b):
    """Returns the quotient, rounded towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def power(a, b):
    if b >= 0:
        return pow(a, b, 2**64)
    return {1: 1, -1: 1 if b % 2 == 0 else -1}.get(a, 0)


def root(n):
    """Returns the square root, rounded down."""
    low, high = 0, 2**32
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle * middle <= n else (low, middle - 1)
    return low


class Cases:
    """The cases of a dtype: nodes of one model, with operands and expected results."""

    def __init__(self, dtype):
        self.dtype, self.values, self.cases = dtype, VALUES[dtype], []
        self.column = np.array(self.values, dtype=object).reshape(-1, 1)
        self.row = self.column.reshape(1, -1)
        others = [n for n in self.values if n != 0]
        self.divisors = np.array(others, dtype=object).reshape(1, -1)
        self.table = np.array(list(itertools.islice(itertools.cycle(self.values), 40)), dtype=object).reshape(5, 8)
        self.add_all()

    def add(self, name, op, operands, expected, dtype=None, fixed=(), outputs=1, take=0, **attributes):
        """Adds a case. `expected`: Python's integers. `fixed`: indices of operands that are constants of the file."""
        self.cases.append((name, op, operands, exact(expected, dtype or self.dtype), set(fixed), outputs, take, attributes))

    def i(self, values):
        return np.asarray(values, dtype=object), self.dtype

    @staticmethod
    def l(values):
        return np.asarray(values, dtype=object), "int64"

    def pairs(self, name, op, f, y=None, dtype=None, **attributes):
        y = self.row if y is None else y
        expected = np.frompyfunc(f, 2, 1)(self.column, y)
        self.add(name, op, [self.i(self.column), self.i(y)], expected, dtype, **attributes)

    def each(self, name, op, f, dtype=None, **attributes):
        self.add(name, op, [self.i(self.column)], np.frompyfunc(f, 1, 1)(self.column), dtype, **attributes)

    def add_all(self):
        self.pointwise()
        self.powers()
        self.reductions()
        self.moves()
        self.made()

    def pointwise(self):
        for op, f in (("Add", lambda a, b: a + b), ("Sub", lambda a, b: a - b), ("Mul", lambda a, b: a * b),
                      ("Max", max), ("Min", min)):
            self.pairs(op, op, f)
        for op, f in (("Equal", lambda a, b: a == b), ("Less", lambda a, b: a < b), ("Greater", lambda a, b: a > b),
                      ("LessOrEqual", lambda a, b: a <= b), ("GreaterOrEqual", lambda a, b: a >= b)):
            self.pairs(op, op, f, dtype="bool")
        self.pairs("Div", "Div", cut, self.divisors)
        self.pairs("Mod", "Mod", lambda a, b: a % b, self.divisors)
        self.pairs("Mod_fmod", "Mod", lambda a, b: a - b * cut(a, b), self.divisors, fmod=1)
        self.each("Neg", "Neg", lambda a: -a)
        self.each("Abs", "Abs", abs)
        self.each("Sign", "Sign", lambda a: (a > 0) - (a < 0))
        self.each("Relu", "Relu", lambda a: max(a, 0))
        self.each("Identity", "Identity", lambda a: a)
        for to, name in (("int64", onnx.TensorProto.INT64), ("int32", onnx.TensorProto.INT32), ("bool", onnx.TensorProto.BOOL)):
            self.each("Cast_" + to, "Cast", lambda a: a, to, to=name)
        low, high = sorted(self.values)[1], sorted(self.values)[-2]
        for fixed in ((), (1, 2)):
            self.add(f"Clip{len(fixed)}", "Clip", [self.i(self.column), self.i(low), self.i(high)],
                     [[min(max(a, low), high)] for a in self.values], fixed=fixed)
        odd = np.array([[a % 2 == 1] for a in self.values], dtype=object)
        self.add("Where", "Where", [(odd, "bool"), self.i(self.column), self.i(self.row)],
                 np.where(odd.astype(bool), self.column, self.row))
        self.add("Sum", "Sum", [self.i(self.column), self.i(self.row), self.i(self.column)], 2 * self.column + self.row)

    def powers(self):
        exponents = [0, 1, 2, 3, 5, 11, 13, 31, 40, 62, 63, 64, 1000, 2**24 + 1, -1, -2, -3]
        bases = np.array([a for a in self.values if a != 0] + [11, 13], dtype=object).reshape(-1, 1)
        table = np.frompyfunc(power, 2, 1)(bases, np.array(exponents, dtype=object))
        self.add("Pow", "Pow", [self.i(bases), self.i(exponents)], table)
        self.add("Pow_i64", "Pow", [self.i(bases), self.l(exponents)], table)
        for e in (0, 3, 11, 40):
            self.add(f"Pow_{e}", "Pow", [self.i(bases), self.i(e)], [[power(a, e)] for a in bases.flat], fixed=[1])
            real = np.array(float(e), dtype=object), "float32"
            self.add(f"Pow_f32_{e}", "Pow", [self.i(bases), real], [[power(a, e)] for a in bases.flat], fixed=[1])
        whole = [[5, 11], [-3, 13], [7, 2], [3, 0]]
        self.add("Pow_f32", "Pow", [self.i([a for a, _ in whole]), ([float(e) for _, e in whole], "float32")],
                 [a**e for a, e in whole])
        self.add("Pow_root", "Pow", [self.i([3, 8, 15, 17]), ([0.5] * 4, "float32")], [1, 2, 3, 4])

    def reductions(self):
        for axes in ([0], [1], [0, 1]):
            def along(f):
                return np.array([f(list(c)) for c in self.table.T] if axes == [0] else [f(list(r)) for r in self.table]
                                if axes == [1] else f(list(self.table.flat)), dtype=object)
            for op, f in (("ReduceSum", sum), ("ReduceMax", max), ("ReduceMin", min),
                          ("ReduceMean", lambda v: cut(sum(v), len(v))), ("ReduceProd", lambda v: int(np.prod(np.array(v, dtype=object)))),
                          ("ReduceL1", lambda v: sum(wrap(abs(a), self.dtype) for a in v)), ("ReduceSumSquare", lambda v: sum(a * a for a in v))):
                self.add(f"{op}_{axes}", op, [self.i(self.table), self.l(axes)], along(f), fixed=[1], keepdims=0)
        few = [[3, 4], [46340, 5], [2**15, 2**15 - 1], [1, 1]] + ([[2**31 - 1, 3], [2**31, 2**20]] if self.dtype == "int64" else [])
        self.add("ReduceL2", "ReduceL2", [self.i(few), self.l([1])], [root(a * a + b * b) for a, b in few], fixed=[1], keepdims=0)
        ends = [2**31 - 1, 2**31 - 1, 2**31 - 2] if self.dtype == "int32" else [2**63 - 1, 2**63 - 1, 2**63 - 2]
        low = [-n - 1 for n in ends]
        self.add("ReduceMean_ends", "ReduceMean", [self.i([ends, low]), self.l([1])], [cut(sum(ends), 3), cut(sum(low), 3)], fixed=[1], keepdims=0)
        for name, f in (("ArgMax", max), ("ArgMin", min)):
            self.add(name, name, [self.i(self.table)], [list(r).index(f(r)) for r in self.table], "int64", axis=1, keepdims=0)
        self.add("TopK", "TopK", [self.i(self.table), self.l([3])], [sorted(r, reverse=True)[:3] for r in self.table], fixed=[1], outputs=2)
        sums = np.cumsum(self.table, axis=1)
        self.add("CumSum", "CumSum", [self.i(self.table), self.l(1)], sums, fixed=[1])
        self.add("CumSum_exclusive", "CumSum", [self.i(self.table), self.l(1)], sums - self.table, fixed=[1], exclusive=1)
        other = self.table.T[:, :3]
        self.add("MatMul", "MatMul", [self.i(self.table), self.i(other)], self.table.dot(other))
        self.add("Einsum", "Einsum", [self.i(self.table), self.i(other)], self.table.dot(other), equation="ij,jk->ik")

    def moves(self):
        t, first = self.table, self.values[-1]
        for value in self.values:
            for fixed in ([1, 2], [1]):
                padded = np.full((7, 11), value, dtype=object)
                padded[1:6, 2:10] = t
                self.add(f"Pad_{value}_{len(fixed)}", "Pad", [self.i(t), self.l([1, 2, 1, 1]), self.i(value)], padded, fixed=fixed)
        self.add("Concat", "Concat", [self.i(t), self.i(t + 1)], np.concatenate([t, [[wrap(a + 1, self.dtype) for a in r] for r in t]], 1), axis=1)
        self.add("Slice", "Slice", [self.i(t), self.l([1]), self.l([7]), self.l([1]), self.l([2])], t[:, 1:7:2], fixed=[1, 2, 3, 4])
        self.add("Transpose", "Transpose", [self.i(t)], t.T)
        self.add("Reshape", "Reshape", [self.i(t), self.l([8, 5])], t.reshape(8, 5), fixed=[1])
        self.add("Expand", "Expand", [self.i(self.column), self.l([len(self.values), 3])], np.repeat(self.column, 3, 1), fixed=[1])
        self.add("Tile", "Tile", [self.i(t), self.l([2, 1])], np.concatenate([t, t]), fixed=[1])
        self.add("Gather", "Gather", [self.i(t), self.l([4, 0, 3])], t[:, [4, 0, 3]], axis=1)
        self.add("GatherElements", "GatherElements", [self.i(t), self.l([[7], [1], [2], [0], [5]])],
                 np.array([[r[i]] for r, i in zip(t, [7, 1, 2, 0, 5])], dtype=object), axis=1)
        self.add("GatherND", "GatherND", [self.i(t), self.l([[1, 7], [4, 2]])], [t[1, 7], t[4, 2]])
        where, to = np.array([[1, 3, 1]] * 5, dtype=object), t[:, :3]
        for reduction, f in (("none", lambda a, b: b), ("add", lambda a, b: a + b), ("mul", lambda a, b: a * b), ("max", max), ("min", min)):
            done = t.copy()
            for r in range(5):
                for k in range(2 if reduction == "none" else 3):
                    done[r, where[r, k]] = wrap(f(done[r, where[r, k]], to[r, k]), self.dtype)
            count = 2 if reduction == "none" else 3
            self.add("ScatterElements_" + reduction, "ScatterElements", [self.i(t), self.l(where[:, :count]), self.i(to[:, :count])], done,
                     axis=1, reduction=reduction)
        done = t.copy()
        done[[0, 3]] = t[[4, 1]]
        self.add("ScatterND", "ScatterND", [self.i(t), self.l([[0], [3]]), self.i(t[[4, 1]])], done)
        rows, columns = np.indices(t.shape)
        self.add("Trilu", "Trilu", [self.i(t)], np.where(columns >= rows, t, 0))
        self.add("OneHot", "OneHot", [self.l([0, 2, 1]), self.l(3), self.i([first, self.values[-2]])],
                 [[self.values[-2] if a == b else first for b in range(3)] for a in (0, 2, 1)], fixed=[1, 2])

    def made(self):
        for value in self.values:
            tensor = numpy_helper.from_array(np.array([value], dtype=self.dtype))
            self.add(f"ConstantOfShape_{value}", "ConstantOfShape", [self.l([2, 3])], [[value] * 3] * 2, fixed=[0], value=tensor)
        last = 2**31 - 1 if self.dtype == "int32" else 2**63 - 1
        for name, start, limit, delta in (("small", -3, 11, 4), ("high", last - 6, last, 1), ("low", -last - 1, -last + 8, 3),
                                          ("whole", -last - 1, last, last // 2 + 1), ("down", last, last - 9, -2)):
            self.add("Range_" + name, "Range", [self.i(start), self.i(limit), self.i(delta)], list(range(start, limit, delta)), fixed=[0, 1, 2])
        if self.dtype == "int64":
            self.add("Range_beyond", "Range", [self.i(2**53 - 2), self.i(2**53 + 5), self.i(1)], list(range(2**53 - 2, 2**53 + 5)), fixed=[0, 1, 2])
            start = 2**53 + 1
            self.add("Range_long", "Range", [self.i(start), self.i(start + 15000), self.i(3)], list(range(start, start + 15000, 3)), fixed=[0, 1, 2])


def model_of(dtype, cases, constant):
    """Returns one model of all cases and its inputs. If `constant` is true, all operands are constants."""
    nodes, inputs, initializers, outputs, given = [], [], [], [], {}
    for k, (name, op, operands, expected, fixed, count, take, attributes) in enumerate(cases):
        names = []
        for place, (values, of) in enumerate(operands):
            operand = f"{'c' if constant or place in fixed else 'x'}{k}_{place}"
            array = exact(values, of) if of.startswith('int') else np.asarray(values, dtype=object).astype(of)
            names.append(operand)
            if constant or place in fixed:
                initializers.append(numpy_helper.from_array(array, operand))
            else:
                inputs.append(helper.make_tensor_value_info(operand, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape))
                given[operand] = array
        results = [f"y{k}" if i == take else f"unused{k}_{i}" for i in range(count)]
        nodes.append(helper.make_node(op, names, results, name=name, **attributes))
        outputs.append(helper.make_tensor_value_info(f"y{k}", helper.np_dtype_to_tensor_dtype(expected.dtype), expected.shape))
    graph = helper.make_graph(nodes, "integers_" + dtype, inputs, outputs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10), given


class Sweep:
    def __init__(self, tg, folder):
        self.tg, self.folder, self.tried, self.wrong = tg, folder, 0, []

    def call(self, *arguments):
        return subprocess.run([self.tg, *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False)

    def judge(self, way, cases, results):
        for (name, _, _, expected, *_), result in zip(cases, results):
            self.tried += expected.size
            if result is None or result.dtype != expected.dtype or result.shape != expected.shape:
                self.wrong.append((way, name, expected.size, "no result"))
            elif (bad := result != expected).any():
                at = tuple(int(i[0]) for i in np.nonzero(bad)) if bad.ndim else ()
                self.wrong.append((way, name, int(bad.sum()), f"at {at} {result[at]}, not {expected[at]}"))

    def run(self, way, model, cases, given, *options):
        arrays = self.folder / "given.npz"
        np.savez(arrays, **given)
        output = self.folder / f"{way.replace(' ', '_')}.npz"
        inputs = ["--input", arrays] if given else []
        done = self.call("run", model, *inputs, "--output", output, "--quiet", *options)
        if done.returncode != 0:
            self.wrong.append((way, "all", len(cases), done.stderr.strip()[:500]))
            return
        results = np.load(output)
        self.judge(way, cases, [results.get(f"y{k}") for k in range(len(cases))])

    def runtime(self, dtype, cases):
        """Optimises the cases that ONNX Runtime computes right, and runs the result in ONNX Runtime."""
        def answer(path, given):
            options = onnxruntime.SessionOptions()
            options.log_severity_level = 4
            return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(None, given)

        kept, source, written = [], self.folder / f"{dtype}_runtime.onnx", self.folder / f"{dtype}_runtime_opt.onnx"
        for case in cases:
            _, op, operands, expected, *_ = case
            traps = op in ("Div", "Mod") and np.iinfo(dtype).min in operands[0][0] and -1 in operands[1][0]
            if traps or op == "ReduceL2":  # written as ReduceSum of i64, which ONNX Runtime adds in doubles
                continue
            model, given = model_of(dtype, [case], constant=False)
            onnx.save(model, source)
            try:
                if np.array_equal(answer(source, given)[0], expected):
                    kept.append(case)
            except Exception:  # pylint: disable=broad-except  # ONNX Runtime has no kernel for the type
                pass
        model, given = model_of(dtype, kept, constant=False)
        onnx.save(model, source)
        done = self.call("opt", source, "-o", written, "--cost", "analytic:cpu", "--time-limit", "20", "--quiet")
        if done.returncode != 0:
            self.wrong.append((dtype + " onnxruntime", "all", len(kept), done.stderr.strip()[:500]))
        else:
            self.judge(dtype + " onnxruntime", kept, answer(written, given))

    def all_ways(self, dtype, cases):
        for constant in (False, True):
            label = f"{dtype} {'constants' if constant else 'inputs'}"
            model, given = model_of(dtype, cases, constant)
            path = self.folder / f"{label.replace(' ', '_')}.onnx"
            onnx.save(model, path)
            for backend in ("ref", "cpu"):
                self.run(f"{label} {backend}", path, cases, given, "--backend", backend)
            text, weights = path.with_suffix(".tg"), path.with_suffix(".safetensors")
            made = [self.call("import", path, "-o", text, "--weights-out", weights), self.call("fmt", text)]
            if any(m.returncode for m in made):
                self.wrong.append((label + " text", "all", len(cases), made[0].stderr + made[1].stderr))
            else:
                self.run(f"{label} text", text, cases, given, "--backend", "ref", "--weights", weights)
            written = path.with_name(path.stem + "_opt.onnx")
            done = self.call("opt", path, "-o", written, "--cost", "analytic:cpu", "--time-limit", "20", "--quiet")
            if done.returncode != 0:
                self.wrong.append((label + " opt", "all", len(cases), done.stderr.strip()[:500]))
                continue
            self.run(f"{label} written", written, cases, given, "--backend", "cpu")
        self.runtime(dtype, cases)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tg", default=str(ROOT / "build/tg"))
    parser.add_argument("--keep", type=Path)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        sweep = Sweep(options.tg, folder)
        for dtype in VALUES:
            cases = [c for c in Cases(dtype).cases if not options.names or any(n in c[0] for n in options.names)]
            if cases:
                sweep.all_ways(dtype, cases)
        for way, name, count, what in sweep.wrong:
            print(f"wrong: {way}: {name}: {count}: {what}")
        print(f"{sweep.tried} results, {len(sweep.wrong)} cases wrong")
        return 1 if sweep.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
