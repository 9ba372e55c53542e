#!/usr/bin/env python3
"""Tests files with integers of types that Tangram does not have (uint8, int8, uint16, int16, uint32, uint64, int4,
uint4), and files in which data selects the number of rows, of results or of operands. Each file has one operator or a
few, with random data, and is compared with NumPy:

  - `tg run` computes the result on both backends, with the narrow arrays as inputs;
  - the file of `tg export` has the inputs and outputs of its source and at most as many operators. ONNX Runtime
    computes the same, if it has the operators. The file can be read again, and `tg verify` reports that it is equal.

    tests/oracle/narrow_test.py [--tg build/tg] [--jobs N] [--rounds 1] [NAME...]

NAME selects cases whose name contains it; --rounds draws more cases of each kind.
"""
import argparse
import collections
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from export_test import ROOT, load, tg  # also skips this test if packages are missing
from import_nodes_test import trimmed
from restored_test import check_interface, nodes_of

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

NARROW = ["uint8", "int8", "uint16", "int16", "uint32", "uint64"]
UNSIGNED = [t for t in NARROW if t[0] == "u"]
ORDERED = [t for t in NARROW if t != "uint64"]
WIDE = ["int32", "int64", "float32", "float64", "float16", "bool"]
Case = collections.namedtuple("Case", "name nodes inputs outputs initializers opset", defaults=[{}, 21])


def kind(dtype):
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def drawn(rng, dtype, shape):
    """Draws values of the type; half of the integers are its limits."""
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if np.dtype(dtype).kind == "f":
        return (rng.standard_normal(shape) * 9).astype(dtype)
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    ends = rng.integers(0, 4, shape)
    return np.where(ends == 0, info.min, np.where(ends == 1, info.max, x)).astype(dtype)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


# --- integers in wider types ------------------------------------------------------------------------


def casts(rng):
    for a in NARROW + WIDE:
        for b in NARROW + WIDE:
            if a not in NARROW and b not in NARROW:
                continue
            x = drawn(rng, a, (3, 5))
            if np.dtype(a).kind == "f":  # ONNX does not define casts of values out of range
                info = np.iinfo(b)
                x = np.clip(x, max(info.min, -60000), min(info.max, 60000)).astype(a)
            with np.errstate(over="ignore"):
                yield Case(f"cast_{a}_{b}", [node("Cast", "x", "y", to=kind(b))], {"x": x}, {"y": x.astype(b)})


def images(rng):
    """Yields networks that first cast their input."""
    for a in ORDERED:
        x = drawn(rng, a, (1, 4, 6, 3))
        moved = x.transpose(0, 3, 1, 2).astype(np.float32)
        head = [node("Transpose", "x", "t", perm=[0, 3, 1, 2]), node("Cast", "t", "f", to=TensorProto.FLOAT)]
        yield Case(f"image_{a}", [*head, node("Div", "f s", "d"), node("Relu", "d", "y")], {"x": x},
                   {"y": np.maximum(moved / np.float32(255), 0)}, {"s": np.float32(255)})
        yield Case(f"image_twice_{a}", [*head, node("Cast", "x", "i", to=TensorProto.INT32), node("Relu", "f", "y")],
                   {"x": x}, {"y": np.maximum(moved, 0), "i": x.astype(np.int32)})


def shifts(rng):
    for a in UNSIGNED:
        bits = np.iinfo(a).bits
        for direction in ("LEFT", "RIGHT"):
            for shapes in (((3, 4), (3, 4)), ((2, 3, 4), (4,)), ((5,), ())):
                x = drawn(rng, a, shapes[0])
                k = rng.integers(0, bits, shapes[1]).astype(a)
                want = (np.left_shift if direction == "LEFT" else np.right_shift)(x, k)
                given = [node("BitShift", "x k", "y", direction=direction)]
                yield Case(f"shift_{a}_{direction}_{len(shapes[1])}", given, {"x": x, "k": k}, {"y": want})
                yield Case(f"shift_{a}_{direction}_{len(shapes[1])}_known", given, {"x": x}, {"y": want}, {"k": k})


def bits(rng):
    for a in NARROW:
        x, y = drawn(rng, a, (3, 4)), drawn(rng, a, (4,))
        for op, of in (("And", np.bitwise_and), ("Or", np.bitwise_or), ("Xor", np.bitwise_xor)):
            yield Case(f"bitwise_{op}_{a}", [node(f"Bitwise{op}", "x z", "y")], {"x": x, "z": y}, {"y": of(x, y)})
        yield Case(f"bitwise_not_{a}", [node("BitwiseNot", "x", "y")], {"x": x}, {"y": np.invert(x)})


def quotient(x, z):
    """Returns the quotient, rounded towards zero. Cases do not divide by zero."""
    return np.where(z == 0, 1, np.fix(x.astype(np.float64) / np.where(z == 0, 1, z))).astype(np.int64).astype(x.dtype)


def arithmetic(rng):
    for a in ORDERED:
        x, some = drawn(rng, a, (3, 4)), drawn(rng, a, (3, 4))
        with np.errstate(over="ignore"):
            for op, of in (("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Max", np.maximum),
                           ("Min", np.minimum), ("Less", np.less), ("Equal", np.equal), ("Div", quotient), ("GreaterOrEqual", np.greater_equal)):
                z = np.where(some == 0, 1, some).astype(a) if op == "Div" else some
                yield Case(f"{op}_{a}", [node(op, "x z", "y")], {"x": x, "z": z}, {"y": of(x, z)})


def moves(rng):
    for a in ORDERED:
        x, z = drawn(rng, a, (2, 3, 4)), drawn(rng, a, (2, 3, 4))
        yield Case(f"concat_{a}", [node("Concat", "x z", "y", axis=1)], {"x": x, "z": z}, {"y": np.concatenate([x, z], 1)})
        yield Case(f"reshape_{a}", [node("Reshape", "x r", "y")], {"x": x}, {"y": x.reshape(6, 4)},
                   {"r": np.array([6, 4])})
        i = rng.integers(0, 3, (2,))
        yield Case(f"gather_{a}", [node("Gather", "x i", "y", axis=1)], {"x": x, "i": i}, {"y": x[:, i]})
        c = drawn(rng, "bool", (2, 3, 4))
        yield Case(f"where_{a}", [node("Where", "c x z", "y")], {"c": c, "x": x, "z": z}, {"y": np.where(c, x, z)})
        yield Case(f"through_{a}", [node("Identity", "x", "y")], {"x": x}, {"y": x})


# --- quantised weights ------------------------------------------------------------------------------


def spread(values, x, axis, block):
    if values.ndim == 0 or values.size == 1 and not block:
        return values.reshape(())
    if not block:
        return values.reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    return np.repeat(values, block, axis=axis).take(range(x.shape[axis]), axis=axis)


def packed(name, x, dtype):
    if dtype in ("int4", "uint4"):
        return helper.make_tensor(name, getattr(TensorProto, dtype.upper()), x.shape, x.flatten().tolist())
    return numpy_helper.from_array(x.astype(dtype), name)


def dequantized(rng):
    for a in ("int8", "uint8", "int4", "uint4", "int16", "uint16", "int32"):
        bits_of = int(a.strip("uint"))
        low, high = (0, 2 ** bits_of - 1) if a[0] == "u" else (-(2 ** (bits_of - 1)), 2 ** (bits_of - 1) - 1)
        for form in ("tensor", "axis", "blocked"):
            for scale_type in ("float32", "float16"):
                for rows in (6, 96):
                    x = rng.integers(low, high, (rows, 64), endpoint=True)
                    axis, block = {"tensor": (1, 0), "axis": (int(rng.integers(0, 2)), 0), "blocked": (0, 4)}[form]
                    if form == "blocked" and rows == 6:
                        block = 3
                    shape = {"tensor": (), "axis": (x.shape[axis],), "blocked": (-(-rows // max(block, 1)), 64)}[form]
                    scale = ((rng.random(shape) * 0.1 + 0.01) * 2.0 ** (8 - max(bits_of, 8))).astype(scale_type)
                    zero = rng.integers(low, high, shape, endpoint=True)
                    has_zero = a != "int32" and rng.integers(0, 2)
                    # Like ONNX's reference, with differences and products in f32.
                    minus = x - spread(zero, x, axis, block) if has_zero else x
                    want = (minus.astype(np.float32) * spread(scale, x, axis, block).astype(np.float32)).astype(scale_type)
                    attributes = {"axis": axis} if form != "tensor" else {}
                    if block:
                        attributes["block_size"] = block
                    given = {"q": packed("q", x, a), "s": np.asarray(scale)}
                    if has_zero:
                        given["z"] = packed("z", np.asarray(zero), a)
                    data = rng.standard_normal((2, rows)).astype(scale_type)
                    nodes = [node("DequantizeLinear", "q s z" if has_zero else "q s", "w", **attributes)]
                    total = (data.astype(np.float64) @ want.astype(np.float64)).astype(scale_type)
                    yield Case(f"dequantize_{a}_{form}_{scale_type}_{rows}", [*nodes, node("MatMul", "x w", "y")], {"x": data},
                               {"y": total}, given)
                    if a in ORDERED and rows == 6:
                        source = {"q": x.astype(a)}
                        yield Case(f"dequantize_data_{a}_{form}_{scale_type}", [helper.make_node(
                            "DequantizeLinear", list(nodes[0].input), ["y"], **attributes)], source, {"y": want},
                            {n: t for n, t in given.items() if n != "q"})


# --- sizes that depend on data ----------------------------------------------------------------------

SELECTED = ["float32", "int32", "int64", "bool", "float64", "uint8", "int8"]


def few(rng, dtype, shape):
    """Draws a few repeated values, including zero."""
    low = 0 if np.dtype(dtype).kind in "ub" else -2
    return rng.integers(low, 3 if dtype != "bool" else 2, shape).astype(dtype)


def selections(rng):
    for a in SELECTED:
        for shape in ((7,), (1,), (3, 4), (2, 3, 4)):
            x = few(rng, a, shape)
            yield Case(f"nonzero_{a}_{len(shape)}", [node("NonZero", "x", "y")], {"x": x}, {"y": np.array(np.nonzero(x))})
            for axis in [None, *range(-len(shape), len(shape))]:
                n = x.size if axis is None else x.shape[axis]
                c = drawn(rng, "bool", (n - int(rng.integers(0, 2)) or 1,))
                attributes = {} if axis is None else {"axis": axis}
                yield Case(f"compress_{a}_{len(shape)}_{axis}", [node("Compress", "x c", "y", **attributes)],
                           {"x": x, "c": c}, {"y": np.compress(c, x, axis)})
                yield from uniques(rng, f"unique_{a}_{len(shape)}_{axis}", x, axis)


def uniques(rng, name, x, axis):
    for is_sorted in (0, 1):
        values, first, inverse, counts = np.unique(x, True, True, True, axis=axis)
        inverse = inverse.reshape(-1)
        if not is_sorted:
            order = np.argsort(first, kind="stable")
            values, first, counts = np.take(values, order, axis or 0), first[order], counts[order]
            inverse = np.argsort(order)[inverse]
        wanted = {"y": values, "i": first, "r": inverse, "n": counts}
        names = ["y"] + [n if rng.integers(0, 2) else "" for n in "irn"]
        while not names[-1]:
            names.pop()
        attributes = {"sorted": is_sorted} | ({} if axis is None else {"axis": axis})
        yield Case(f"{name}_{is_sorted}", [helper.make_node("Unique", ["x"], names, **attributes)], {"x": x},
                   {n: wanted[n].astype(np.int64) if n != "y" else values for n in names if n})


def sums(kept, head, last):
    """Returns (nodes, outputs) that reduce the rows to one result, so that its size does not depend on data."""
    return [*head, node("ReduceSum", f"{last} zero", "y", keepdims=0)], {"y": kept.sum(0)}


def readers(rng):
    """Yields nodes that read rows selected by data. In `open_` cases the output has such rows."""
    zero = {"zero": np.array([0])}
    for shape in ((9,), (4, 5), (2, 3, 4)):
        for share in (0.0, 0.4, 1.0):
            name = f"{len(shape)}_{share}"
            x, v = (rng.standard_normal(shape).astype(np.float32) for _ in "xv")
            m = rng.random(shape) < share
            picked = [node("NonZero", "m", "p"), node("Transpose", "p", "t"), node("GatherND", "x t", "r")]
            yield Case(f"open_gather_nd_{name}", [*picked, node("Relu", "r", "y")], {"x": x, "m": m},
                       {"y": np.maximum(x[m], 0)})
            scaled = [*picked, node("Mul", "r two", "d"), node("Add", "d one", "e")]
            nodes, outputs = sums(2 * x[m] + 1, scaled, "e")
            yield Case(f"read_gather_nd_{name}", nodes, {"x": x, "m": m}, outputs,
                       {"two": np.float32(2), "one": np.float32([1])} | zero)
            yield Case(f"read_scatter_nd_{name}", [*picked, node("GatherND", "v t", "u"), node("Add", "r u", "s"),
                                                    node("ScatterND", "x t s", "y")], {"x": x, "m": m, "v": v},
                       {"y": np.where(m, x + v, x)})
            count = [node("NonZero", "m", "p"), node("Shape", "p", "s"), node("Gather", "s at", "y")]
            yield Case(f"read_shape_{name}", count, {"m": m}, {"y": np.array(m.sum())}, {"at": np.array(1)})
            yield Case(f"read_size_{name}", [node("NonZero", "m", "p"), node("Size", "p", "y")], {"m": m},
                       {"y": np.array(m.sum() * m.ndim)})
            first = [node("NonZero", "m", "p"), node("Gather", "p zero0", "f", axis=0), node("Cast", "f", "c", to=kind("float32")),
                     node("Unsqueeze", "c one", "n"), node("Squeeze", "n one", "q"), node("Reshape", "q flat", "h")]
            lines = np.nonzero(m)[0].astype(np.float32)
            yield Case(f"open_line_{name}", [*first, node("Sqrt", "h", "y")], {"m": m}, {"y": np.sqrt(lines)},
                       {"zero0": np.array(0), "one": np.array([1]), "flat": np.array([-1])})
    for share in (0.0, 0.5, 1.0):
        x, w, b = (rng.standard_normal(s).astype(np.float32) for s in ((6, 4), (4, 3), (3,)))
        c = rng.random(6) < share
        rows = [node("Compress", "x c", "k", axis=0)]
        weights = {"w": w, "b": b}
        for op, product in (("MatMul", x[c] @ w), ("Gemm", x[c] @ w + b)):
            head = [*rows, node(op, "k w" + (" b" if op == "Gemm" else ""), "h"), node("Tanh", "h", "g")]
            own = weights if op == "Gemm" else {"w": w}
            yield Case(f"open_{op}_{share}", [*head, node("Neg", "g", "y")], {"x": x, "c": c}, {"y": -np.tanh(product)}, own)
            nodes, outputs = sums(np.tanh(product), head, "g")
            yield Case(f"read_{op}_{share}", nodes, {"x": x, "c": c}, outputs, own | zero)
        joined = np.concatenate([x[c], 2 * x[c]], 1)
        yield Case(f"open_concat_{share}", [*rows, node("Add", "k k", "d"), node("Concat", "k d", "j", axis=1), node("Abs", "j", "y")],
                   {"x": x, "c": c}, {"y": np.abs(joined)})
    ids = rng.integers(0, 5, 9)
    yield Case("read_unique", [node("Unique", "i", "u"), node("Gather", "x u", "r"),
                               node("ReduceMax", "r", "y", axes=[0], keepdims=0)],
               {"i": ids, "x": (x := rng.standard_normal((5, 3)).astype(np.float32))}, {"y": x[np.unique(ids)].max(0)}, {}, 17)


KINDS = [casts, images, shifts, bits, arithmetic, moves, dequantized, selections, readers]


# --- one case ---------------------------------------------------------------------------------------


def model_of(case):
    def infos(arrays, is_open):
        return [helper.make_tensor_value_info(n, kind(x.dtype), [None] * x.ndim if is_open else x.shape)
                for n, x in arrays.items()]
    is_open = case.nodes[0].op_type in ("Unique", "NonZero", "Compress") and not case.name.startswith("read_")
    tensors = [x if isinstance(x, TensorProto) else numpy_helper.from_array(np.asarray(x), n)
               for n, x in case.initializers.items()]
    graph = helper.make_graph(case.nodes, "g", infos(case.inputs, False), infos(case.outputs, is_open), tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", case.opset)], ir_version=10)
    onnx.checker.check_model(model)
    return model


def compare(got, want, how):
    for name, expected in want.items():
        found = got[name]
        if f"{name}_count" in got:
            found = trimmed(found, int(got[f"{name}_count"]), expected.shape)
        if found.shape != expected.shape:
            raise AssertionError(f"{how}: {name} has shape {found.shape}, expected {expected.shape}")
        if expected.dtype.kind in "iu":
            same = np.array_equal(found.astype(expected.dtype), expected)
        elif expected.dtype == np.float16:
            same = np.allclose(found.astype(np.float32), expected.astype(np.float32), rtol=1e-2, atol=2e-2, equal_nan=True)
        else:
            same = np.allclose(found, expected, rtol=1e-4, atol=1e-4, equal_nan=True)
        if not same:
            raise AssertionError(f"{how}: {name} is {found.flatten()[:6]}, expected {expected.flatten()[:6]}")


def outputs_of(path, inputs):
    """Returns the outputs of ONNX Runtime, or None if it has no kernel."""
    try:
        session = load(path)
    except Exception as error:  # noqa: BLE001 its exceptions have no common class
        if "NOT_IMPLEMENTED" in str(error):
            return None
        raise
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, inputs)))


def check(case, options):
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        source, written, given, out = (folder / n for n in ("m.onnx", "w.onnx", "in.npz", "out.npz"))
        model = model_of(case)
        onnx.save(model, source)
        np.savez(given, **case.inputs)
        for backend in ("ref", "cpu"):
            tg(["run", source, "--backend", backend, "--runs", 1, "--quiet", "--input", given, "--output", out], tg=options.tg)
            compare(dict(np.load(out)), case.outputs, backend)
        tg(["export", source, "-o", written], tg=options.tg)
        again = onnx.load(written)
        onnx.checker.check_model(again)
        check_interface(model, again)
        if len(nodes_of(again)) > len(nodes_of(model)) and not case.name.startswith(("read_", "open_")):
            raise AssertionError(f"written as {nodes_of(again)}")
        there = outputs_of(source, case.inputs) is not None
        got = outputs_of(written, case.inputs)
        if there and got is None:
            raise AssertionError("ONNX Runtime has no kernel for the written file")
        if got is not None:
            compare(got, case.outputs, "written")
        tg(["verify", source, written], tg=options.tg)
        if case.name.startswith("open_"):
            check_optimised(source, case, folder, options)


def check_optimised(source, case, folder, options):
    """Optimises a file whose output has a size that depends on data. The result must compute the same, and must not
    change when it is optimised again."""
    fast, same = folder / "fast.onnx", folder / "same.onnx"
    for given, made in ((source, fast), (fast, same)):
        tg(["opt", given, "-o", made, "--cost", "analytic:cpu", "--quiet"], tg=options.tg)
        tg(["verify", given, made], tg=options.tg)
    onnx.checker.check_model(onnx.load(fast))
    compare(outputs_of(fast, case.inputs), case.outputs, "optimised")
    if fast.read_bytes() != same.read_bytes():
        raise AssertionError(f"optimised again, {nodes_of(onnx.load(fast))} became {nodes_of(onnx.load(same))}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tg", default=str(ROOT / "build/tg"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    cases = [case for seed in range(options.rounds) for make in KINDS for case in make(np.random.default_rng(seed))
             if not options.names or any(name in case.name for name in options.names)]

    def fault(case):
        try:
            check(case, options)
        except Exception as error:  # noqa: BLE001 continue with the other cases
            return f"{type(error).__name__}: {str(error)[:240]}"
        return ""

    with ThreadPoolExecutor(options.jobs) as pool:
        faults = list(pool.map(fault, cases))
    for case, what in zip(cases, faults):
        if what:
            print(f"{case.name}: {what}")
    print(f"{len(cases)} files, {sum(map(bool, faults))} wrong")
    return 1 if any(faults) else 0


if __name__ == "__main__":
    sys.exit(main())
