#!/usr/bin/env python3
"""Composite operators in files, however they are spelled: `tg opt` has to recover each, without a false one.

    spelled   graphs of one composite in operators of ONNX, as exporters, libraries and people write them, and pieces
              that only look like one; the outputs are compared with ONNX Runtime's
    files     networks that the installed exporters write (spellings.py); needs PyTorch. A piece that is not recovered
              is printed as a graph small enough to become a rule
    counts    small optimised graphs, in which bench/structures.py has to find a structure, or not

    tests/oracle/fusion_test.py [--tg build/tg] [--all] [NAME...]

NAMEs select spellings, families or forms; --all tries all forms of all families (half an hour).
"""
import argparse
import importlib.util
import re
import sys
import tempfile
from pathlib import Path

from export_test import ROOT  # skips this test too where packages are missing

import numpy as np
import onnx

sys.path.insert(0, str(ROOT / "bench"))
import fusion  # noqa: E402
import spellings  # noqa: E402

#: The forms that are tried by default: the files that most people have.
FORMS = ["script17-sdpa", "dynamo18-eager", "dynamo18-sdpa", "dynamo23-sdpa", "dynamo18-eager+casts", "export-sdpa",
         "compile-eager", "script17", "dynamo18", "dynamo23", "dynamo18+casts", "export", "compile"]

# --- graphs in operators of ONNX ------------------------------------------------------------------


class Graph:
    """A graph of ONNX that is built by calls of its operators: `g.Add(x, 1.0)`."""

    def __init__(self, half=False):
        self.nodes, self.tensors, self.inputs = [], [], {}
        self.dtype = np.float16 if half else np.float32

    def input(self, name, *shape):
        self.inputs[name] = shape
        return name

    def weight(self, values, dtype=None):
        name = f"w{len(self.tensors)}"
        self.tensors.append(onnx.numpy_helper.from_array(np.asarray(values, dtype or self.dtype), name))
        return name

    def __getattr__(self, op):
        def call(*operands, **attributes):
            names = [value if isinstance(value, str) else self.weight(value) for value in operands]
            out = f"v{len(self.nodes)}"
            self.nodes.append(onnx.helper.make_node(op, names, [out], **attributes))
            return out
        return call

    def ints(self, *values):
        return self.weight(values, np.int64)

    def mean(self, x, axis=-1):
        return self.ReduceMean(x, self.ints(axis), keepdims=1)

    def save(self, output, path):
        kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype))
        info = onnx.helper.make_tensor_value_info
        graph = onnx.helper.make_graph(self.nodes, "spelled", [info(n, kind, s) for n, s in self.inputs.items()],
                                       [onnx.ValueInfoProto(name=output)], self.tensors)
        graph.output[0].type.tensor_type.elem_type = kind
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=9)
        onnx.save(onnx.shape_inference.infer_shapes(model), path)


SCALE, SHIFT = np.linspace(0.5, 1.5, 32), np.linspace(-1, 1, 32)
ROOT_2, ROOT_2_PI = 2 ** 0.5, (2 / np.pi) ** 0.5


def deviation(g, x):
    d = g.Sub(x, g.mean(x))
    return d, g.mean(g.Mul(d, d))


def row(g):
    return g.input("x", 4, 64, 32)


def gelu_erf(g, order):
    x = row(g)
    erf = g.Add(g.Erf(g.Div(x, ROOT_2)), 1.0)
    return {"halved last": lambda: g.Mul(g.Mul(x, erf), 0.5), "halved first": lambda: g.Mul(g.Mul(x, 0.5), erf),
            "halved erf": lambda: g.Mul(x, g.Mul(0.5, erf)), "halved product": lambda: g.Mul(0.5, g.Mul(x, erf)),
            "by complement": lambda: g.Mul(g.Mul(0.5, x), g.Sub(1.0, g.Erf(g.Mul(g.Neg(x), 0.5 ** 0.5)))),
            "halved complement": lambda: g.Mul(x, g.Mul(0.5, g.Sub(1.0, g.Erf(g.Mul(g.Neg(x), 0.5 ** 0.5))))),  # JAX
            "divided last": lambda: g.Div(g.Mul(x, erf), 2.0), "divided first": lambda: g.Mul(g.Div(x, 2.0), erf),
            "divided erf": lambda: g.Mul(x, g.Div(erf, 2.0)),
            "half added last": lambda: g.Mul(x, g.Add(g.Mul(g.Erf(g.Div(x, ROOT_2)), 0.5), 0.5)),
            "eight digits": lambda: g.Mul(g.Mul(0.5, x), g.Add(1.0, g.Erf(g.Div(x, 1.4142135)))),
            "times eight digits": lambda: g.Mul(g.Mul(0.5, x), g.Add(1.0, g.Erf(g.Mul(x, 0.70710678))))}[order]()


def gelu_tanh(g, order):
    x = row(g)
    cubes = {"pow": lambda: g.Pow(x, 3.0), "product": lambda: g.Mul(x, g.Mul(x, x)),
             "sigmoid": lambda: g.Pow(x, 3.0), "eight digits": lambda: g.Mul(g.Mul(x, x), x)}
    cube = cubes[order]() if order in cubes else None
    if order == "sigmoid":  # TensorFlow Lite, XLA
        return g.Mul(x, g.Sigmoid(g.Mul(g.Add(x, g.Mul(cube, 0.044715)), 2 * ROOT_2_PI)))
    if order == "eight digits":
        inner = g.Mul(0.79788456, g.Add(x, g.Mul(0.044715, cube)))
    elif order == "cube from the factor":  # 0.044715 * x * x * x
        inner = g.Mul(g.Add(x, g.Mul(g.Mul(g.Mul(0.044715, x), x), x)), ROOT_2_PI)
    elif cube is None:
        inner = g.Mul(g.Mul(x, ROOT_2_PI), g.Add(g.Mul(g.Mul(x, 0.044715), x), 1.0))
    else:
        inner = g.Mul(g.Add(x, g.Mul(cube, 0.044715)), ROOT_2_PI)
    return g.Mul(g.Mul(x, 0.5), g.Add(g.Tanh(inner), 1.0))


def silu(g, order):
    x = row(g)
    return {"quotient": lambda: g.Div(x, g.Add(g.Exp(g.Neg(x)), 1.0)), "product": lambda: g.Mul(g.Sigmoid(x), x),
            "reciprocal": lambda: g.Mul(x, g.Reciprocal(g.Add(1.0, g.Exp(g.Neg(x))))),
            "tanh": lambda: g.Mul(g.Mul(x, 0.5), g.Add(g.Tanh(g.Mul(x, 0.5)), 1.0))}[order]()


def gelu_sigmoid(g, order):
    x = row(g)
    if order == "quotient":
        return g.Div(x, g.Add(1.0, g.Exp(g.Mul(-1.702, x))))
    return g.Mul(x, g.Sigmoid(g.Mul(x, 1.702)))


def hardswish(g, order):
    x = row(g)
    six = g.Clip(g.Add(x, 3.0), 0.0, 6.0)
    return {"divided": lambda: g.Mul(x, g.Div(six, 6.0)), "divided last": lambda: g.Div(g.Mul(x, six), 6.0),
            "hard sigmoid": lambda: g.Mul(x, g.HardSigmoid(x, alpha=1 / 6, beta=0.5)),
            "bounds": lambda: g.Mul(x, g.Div(g.Min(g.Max(g.Add(x, 3.0), 0.0), 6.0), 6.0)),  # tf2onnx
            "multiplied": lambda: g.Mul(x, g.Mul(six, 1 / 6))}[order]()


def softmax(g, order):
    x = row(g)
    if order == "logarithm":
        return g.Exp(g.LogSoftmax(x, axis=-1))
    e = g.Exp(g.Sub(x, g.ReduceMax(x, g.ints(-1), keepdims=1)))
    total = g.ReduceSum(e, g.ints(-1), keepdims=1)
    return g.Mul(e, g.Reciprocal(total)) if order == "reciprocal" else g.Div(e, total)


def layer_norm(g, order):
    x = row(g)
    d, variance = deviation(g, x)
    root = g.Sqrt(g.Add(variance, 1e-5))
    if order == "quotient":
        return g.Add(g.Mul(g.Div(d, root), SCALE), SHIFT)
    if order == "power":
        return g.Add(g.Mul(g.Div(d, g.Pow(g.Add(variance, 1e-5), 0.5)), SCALE), SHIFT)
    if order == "without shift":
        return g.Mul(g.Div(d, root), SCALE)
    if order == "without affine":
        return g.Div(d, root)
    if order == "scaled first":
        return g.Add(g.Mul(d, g.Mul(g.Reciprocal(root), SCALE)), SHIFT)
    if order == "scale of three axes":
        return g.Add(g.Mul(g.Div(d, root), SCALE.reshape(1, 1, 32)), SHIFT.reshape(1, 1, 32))
    if order == "sums":  # JAX
        mean = g.Div(g.ReduceSum(x, g.ints(-1), keepdims=1), 32.0)
        d = g.Sub(x, mean)
        variance = g.Div(g.ReduceSum(g.Mul(d, d), g.ints(-1), keepdims=1), 32.0)
        return g.Add(g.Mul(g.Div(d, g.Sqrt(g.Add(variance, 1e-5))), SCALE), SHIFT)
    if order == "mean of squares":  # Flax
        mean = g.mean(x)
        variance = g.Max(0.0, g.Sub(g.mean(g.Mul(x, x)), g.Mul(mean, mean)))
        factor = g.Mul(g.Reciprocal(g.Sqrt(g.Add(variance, 1e-5))), SCALE)
        return g.Add(g.Mul(g.Sub(x, mean), factor), SHIFT)
    if order == "Keras":
        factor = g.Mul(g.Reciprocal(root), SCALE.reshape(1, 1, 32))
        return g.Add(g.Mul(x, factor), g.Add(g.Mul(g.Neg(g.mean(x)), factor), SHIFT.reshape(1, 1, 32)))
    factor = g.Mul(g.Reciprocal(root), SCALE)  # TensorFlow
    return g.Add(g.Mul(x, factor), g.Sub(SHIFT, g.Mul(g.mean(x), factor)))


def rms_norm(g, order):
    x = row(g)
    mean = g.mean(g.Pow(x, 2.0) if order == "power" else g.Mul(x, x))
    if order == "sum":
        mean = g.Mul(g.ReduceSum(g.Mul(x, x), g.ints(-1), keepdims=1), 1 / 32)
    squares = g.Add(mean, 1e-6)
    if order == "quotient":
        return g.Mul(g.Div(x, g.Sqrt(squares)), SCALE)
    if order == "power":
        return g.Mul(SCALE, g.Mul(x, g.Pow(squares, -0.5)))
    if order == "scaled first":
        return g.Mul(x, g.Mul(g.Reciprocal(g.Sqrt(squares)), SCALE))
    return g.Mul(g.Mul(x, g.Reciprocal(g.Sqrt(squares))), SCALE)


def attention(g, order):
    heads, keys = (2, 4, 64, 32), (2, 4, 32, 64)
    if order == "heads in the batch":
        q, k, v = g.input("q", 8, 64, 32), g.input("k", 8, 32, 64), g.input("v", 8, 64, 32)
        scores = g.Reshape(g.MatMul(q, k), g.ints(2, 4, 64, 64))
        fit = g.Softmax(g.Add(scores, np.triu(np.full((64, 64), -1e4), 1)), axis=-1)
        return g.MatMul(g.Reshape(fit, g.ints(8, 64, 64)), v)
    q, k, v = g.input("q", *heads), g.input("k", *keys), g.input("v", *heads)
    mask, scores = np.triu(np.full((64, 64), -1e4), 1), g.MatMul(q, k)
    if order == "broadcast to itself":
        fit = g.Softmax(g.MatMul(g.Expand(q, g.ints(*heads)), k), axis=-1)
        return g.MatMul(g.Expand(fit, g.ints(2, 4, 64, 64)), v)
    if order == "mask of zeros":
        return g.MatMul(g.Softmax(g.Add(scores, np.zeros((2, 1, 64, 64))), axis=-1), v)
    if order == "zeros for NaN with a mask of weights":
        fit = g.Softmax(g.Add(scores, np.stack([mask, mask])[:, None]), axis=-1)
        return g.MatMul(g.Where(g.IsNaN(fit), 0.0, fit), v)
    if order == "values first":  # Stable Diffusion's autoencoder
        fit = g.Transpose(g.Softmax(g.Mul(scores, 0.25), axis=-1), perm=[0, 1, 3, 2])
        return g.MatMul(g.input("w", 2, 4, 32, 64), fit)
    if order == "exponentials":
        e = g.Exp(g.Sub(scores, g.ReduceMax(scores, g.ints(-1), keepdims=1)))
        return g.MatMul(g.Div(e, g.ReduceSum(e, g.ints(-1), keepdims=1)), v)
    if order == "half of the scale at each side":
        return g.MatMul(g.Softmax(g.MatMul(g.Mul(q, 0.42), g.Mul(k, 0.42)), axis=-1), v)
    if order == "divided scores":
        return g.MatMul(g.Softmax(g.Add(g.Div(scores, 5.656), mask), axis=-1), v)
    if order == "zeros for NaN":
        fit = g.Softmax(g.Add(scores, np.triu(np.full((64, 64), -np.inf), 1)), axis=-1)
        return g.MatMul(g.Where(g.IsNaN(fit), 0.0, fit), v)
    if order == "zeros for NaN without a mask":
        fit = g.Softmax(scores, axis=-1)
        return g.MatMul(g.Where(g.IsNaN(fit), 0.0, fit), v)
    if order == "selected":
        seen = g.weight(np.tri(64) > 0, bool)
        return g.MatMul(g.Softmax(g.Where(seen, scores, -1e9), axis=-1), v)
    if order == "selected with a bias":
        seen = g.weight(np.tri(64) > 0, bool)
        bias = g.input("bias", 1, 4, 64, 64)
        return g.MatMul(g.Softmax(g.Where(seen, g.Add(scores, bias), -1e9), axis=-1), v)
    return g.MatMul(g.Softmax(scores, axis=-1), v)


def between_casts(g, order):
    """In f16, with casts around the operators that converters keep in f32."""
    x = row(g)

    def wide(value):
        return g.Cast(value, to=onnx.TensorProto.FLOAT)

    def narrow(value):
        return g.Cast(value, to=onnx.TensorProto.FLOAT16)

    if order == "gelu":
        return g.Mul(x, g.Mul(0.5, g.Add(narrow(g.Erf(wide(g.Div(x, ROOT_2)))), 1.0)))
    if order == "rms_norm":
        square = narrow(g.Pow(wide(x), g.weight(2.0, np.float32)))
        mean = narrow(g.mean(wide(square)))
        return g.Mul(g.Mul(x, g.Reciprocal(g.Sqrt(g.Add(mean, 1e-3)))), SCALE)
    if order == "rms_norm scaled in f16":  # Llama
        w = wide(x)
        root = g.Sqrt(g.Add(g.mean(g.Mul(w, w)), g.weight(1e-3, np.float32)))
        return g.Mul(narrow(g.Mul(w, g.Reciprocal(root))), SCALE)
    keys, values = g.input("k", 4, 32, 64), g.input("v", 4, 64, 32)
    return g.MatMul(narrow(g.Softmax(wide(g.MatMul(x, keys)), axis=-1)), values)


def lookalike(g, order):
    x = row(g)
    if order == "epsilon outside":
        d, variance = deviation(g, x)
        return g.Div(d, g.Add(g.Sqrt(variance), 1e-2))
    if order == "other erf":
        return g.Mul(g.Mul(x, 0.5), g.Add(g.Erf(g.Mul(x, 0.7)), 1.0))
    keys, values = g.input("k", 4, 32, 64), g.input("v", 4, 64, 32)
    return g.MatMul(g.Add(g.Softmax(g.MatMul(x, keys), axis=-1), np.tri(64)), values)


#: {composite: (builder, spellings)}; "" for pieces that are not composites.
SPELLED = {
    "gelu": (gelu_erf, ["halved last", "halved first", "halved erf", "halved product", "by complement",
                        "halved complement", "divided last", "divided first", "divided erf", "half added last",
                        "eight digits", "times eight digits"]),
    "gelu_tanh": (gelu_tanh, ["pow", "product", "factored", "sigmoid", "cube from the factor", "eight digits"]),
    "gelu_sigmoid": (gelu_sigmoid, ["product", "quotient"]),
    "silu": (silu, ["product", "quotient", "reciprocal", "tanh"]),
    "hardswish": (hardswish, ["divided", "divided last", "hard sigmoid", "bounds", "multiplied"]),
    "softmax": (softmax, ["quotient", "reciprocal", "logarithm"]),
    "layer_norm": (layer_norm, ["quotient", "power", "without shift", "without affine", "scaled first", "TensorFlow",
                                "scale of three axes", "sums", "mean of squares", "Keras"]),
    "rms_norm": (rms_norm, ["product", "quotient", "power", "scaled first", "sum"]),
    "attention": (attention, ["plain", "divided scores", "half of the scale at each side", "zeros for NaN",
                              "zeros for NaN without a mask", "selected", "selected with a bias",
                              "heads in the batch", "broadcast to itself", "mask of zeros",
                              "zeros for NaN with a mask of weights", "values first",
                              "exponentials"]),
    "between casts": (between_casts, ["gelu", "rms_norm", "attention", "rms_norm scaled in f16"]),
    "": (lookalike, ["epsilon outside", "other erf", "mask after softmax"]),
}


def spelled(options):
    """Yields (name, problem) of each spelling."""
    for composite, (build, orders) in SPELLED.items():
        for order in orders:
            name = f"{composite or 'no composite'}: {order}"
            if options.names and not any(part in name for part in options.names):
                continue
            with tempfile.TemporaryDirectory() as scratch:
                folder = Path(scratch)
                graph = Graph(half=build is between_casts)
                graph.save(build(graph, order), folder / "m.onnx")
                yield name, problem_of(options, folder, graph, order.split()[0] if build is between_casts else composite)


def problem_of(options, folder, graph, composite):
    found = fusion.optimise(options, folder / "m.onnx", folder)
    if found.problem:
        return found.problem
    counts = {n: fusion.recovered(found, n) for n in found.counts}
    counts = {n: count for n, count in counts.items() if count and n != "attention in steps"}
    if counts not in ({composite: 1}, {} if composite == "" else None, {"softmax": 1} if composite == "" else None):
        return f"has {counts}" + "".join(f"; {n}: {why}" for n, why, _ in found.near)
    rng = np.random.default_rng(1)
    inputs = {n: rng.standard_normal(s).astype(graph.dtype) for n, s in graph.inputs.items()}
    far = fusion.difference(options, folder / "m.onnx", folder, inputs)
    return f"the outputs are {far:.2g} times further off than allowed" if far is None or not far <= 1 else ""


# --- files of exporters ---------------------------------------------------------------------------

#: {composite: the operators around which it is looked for}.
TELLING = {"attention": "softmax", "softmax": "softmax", "layer_norm": "rsqrt|sqrt|pow", "rms_norm": "rsqrt|sqrt|pow",
           "group_norm": "rsqrt|sqrt|layer_norm", "gelu": "erf", "gelu_tanh": "tanh", "silu": "sigmoid|exp",
           "rotary": "concat", "embedding_sum": "gather", "batch_norm": "rsqrt|sqrt|mul",
           "hardswish": "clip|relu6?|min|minimum"}


def small_graphs(text, composites, depth=3):
    """Yields the statements of a model around each operator that is part of these composites: those that it reads, to
    a depth, and those that read it. Pieces that differ in names and numbers alone are yielded once."""
    telling = re.compile(rf"\b({'|'.join(TELLING.get(name, name) for name in composites)})\b")
    lets = re.finditer(r"^  let (\w+) =.*\n(?:   .*\n|  [)\]].*\n)*", text, re.M)
    statements = {match[1]: match[0] for match in lets}
    seen = set()
    for name, statement in statements.items():
        if not telling.search(statement):
            continue
        chosen, level = {name}, {name}
        for _ in range(depth):
            level = {word for n in level for word in re.findall(r"\w+", statements[n]) if word in statements} - chosen
            chosen |= level
        chosen |= {n for n, s in statements.items() if re.search(rf"\b{name}\b", s)}
        piece = "".join(s for n, s in statements.items() if n in chosen)
        form = re.sub(r"\w*_\w*|\d+", "", piece)
        if form not in seen:
            seen.add(form)
            yield piece


def files(options):
    """Yields (name, problem) of each file. A form that its exporter does not write is skipped."""
    if importlib.util.find_spec("transformers") is None:
        print("[SKIP] files of exporters: transformers is not installed")
        return
    for family in spellings.FAMILIES:
        every = spellings.forms(family)
        for form in every if options.all else [f for f in every if f in FORMS] or every[-1:]:
            name = f"{family}: {form}"
            if options.names and not any(part in name for part in options.names):
                continue
            try:
                path = spellings.prepare(family, form)
            except spellings.NotWritten as why:
                print(f"[SKIP] {name}: {why}", flush=True)
                continue
            with tempfile.TemporaryDirectory() as scratch:
                yield name, missed(options, path, Path(scratch), spellings.modules(family))


def missed(options, path, folder, expected):
    found = fusion.optimise(options, path, folder)
    if found.problem:
        return found.problem
    got = {n: fusion.recovered(found, n, want) for n, want in expected.items()}
    short = [f"{n} {got[n]} of {want}" for n, want in expected.items() if got[n] < want]
    if short:
        pieces = "\n".join(small_graphs(found.text, [n for n, want in expected.items() if got[n] < want]))
        return "; ".join(short + [f"{n}: {why}" for n, why, _ in found.near]) + "\n" + pieces
    far = fusion.difference(options, path, folder)
    return f"the outputs are {far:.2g} times further off than allowed" if far is not None and not far <= 1 else ""


# --- counts of structures -------------------------------------------------------------------------

WEIGHTS = """  param table: f32[9, 64] = weight("a")
  param rows: f32[12, 64] = weight("b")
  param kernel: f32[8, 3, 4, 4] = weight("c")
  param one: f32[8, 8, 1, 1] = weight("d")
  param channels: f32[8, 1, 1] = weight("e")
"""
#: {composite: (graphs that have one, graphs that do not)}, from ids: i64[2, 12] and x: f32[1, 8, 8, 8].
COUNTED = {
    "batch_norm": (["conv2d(x, one)"],
                   ["conv2d(x, one) * channels", 'fused_map([conv2d(x, one), channels], body = "mul($0, $1)")']),
    "embedding_sum": (["gather(table, ids) + rows", "gather(table, ids) + gather(table, ids)"],
                      ["gather(table, ids)", "gather(table, ids) + x"]),
    "patch_embedding": (["conv2d(x, kernel, stride = 4)",
                         "reshape(transpose(x, perm = [0, 2, 3, 1]), shape = [64, 8]) @ rows"],
                        ["conv2d(x, kernel, stride = 2)", "x @ rows"]),
    "squeeze_excite": (["x * sigmoid(conv2d(conv2d(reduce_mean(x, axes = [2, 3]), one, act = relu), one))"],
                       ["x * sigmoid(conv2d(relu(conv2d(reduce_mean(x, axes = [2, 3]), one)), one))",
                        "relu(x) * sigmoid(conv2d(conv2d(reduce_mean(x, axes = [2, 3]), one, act = relu), one))"]),
    "pixel_shuffle": (["transpose(reshape(x, shape = [1, 2, 2, 2, 8, 8]), perm = [0, 1, 4, 2, 5, 3])"],
                      ["transpose(transpose(reshape(x, shape = [1, 2, 2, 2, 8, 8]), perm = [0, 1, 4, 2, 5, 3]))", "x"]),
    "window": (["transpose(reshape(x, shape = [1, 2, 4, 2, 4, 8]), perm = [0, 1, 3, 2, 4, 5])"],
               ["transpose(transpose(x, perm = [0, 1, 3, 2, 4, 5]), perm = [0, 2, 1, 3, 4, 5])"]),
    "dense": (["matmul(x, rows, rows, act = tanh)"], ["x @ rows"]),
}


def counts(options):
    """Yields (name, problem) of each small graph."""
    for composite, graphs in COUNTED.items():
        for want, expressions in zip((1, 0), graphs):
            for expression in expressions:
                name = f"{composite}: {expression}"
                if options.names and not any(part in name for part in options.names):
                    continue
                text = f"model m(ids: i64[2, 12], x: f32[1, 8, 8, 8]) -> (y: f32[1]) {{\n{WEIGHTS}  {expression}\n}}\n"
                got = fusion.structures.recovered(text, composite, 1)
                yield name, "" if got == want else f"counted {got} instead of {want}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tg", default=str(ROOT / "build/tg"))
    parser.add_argument("--all", action="store_true", help="all forms of all families")
    parser.add_argument("--time-limit", default=20, type=float, help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    count = wrong = 0
    for cases in (counts, spelled, files):
        for name, problem in cases(options):
            count, wrong = count + 1, wrong + bool(problem)
            print(f"{'FAIL' if problem else 'ok  '} {name}{': ' if problem else ''}{problem}", flush=True)
    print(f"{count} graphs, {wrong} wrong")
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main())
