"""Small ONNX models for written_test.py that vary everything except operators: opsets, element types, names,
initialisers that are inputs, external data, functions, branches and loops. `write(folder)` returns {name: file}.
"""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, parser

OPSETS = range(7, 24)
TYPES = {"f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16, "f64": TensorProto.DOUBLE, "f32": TensorProto.FLOAT}
NAMES = {"spaces": "a value", "quotes": 'say "x"\\n', "unicode": "größe_数", "path": "/layer.0/conv/Weight:0", "digits": "0",
         "keyword": "model", "folded": "w.folded", "long": "n" * 300, "dots": "..", "own": "matmul_3"}


def tensor(name, values, dtype=TensorProto.FLOAT):
    values = np.asarray(values)
    if dtype == TensorProto.BFLOAT16:
        return helper.make_tensor(name, dtype, values.shape, values.flatten().tolist())
    return numpy_helper.from_array(values.astype(helper.tensor_dtype_to_np_dtype(dtype)), name)


def model(nodes, inputs, outputs, weights=(), opset=18, functions=(), dtype=TensorProto.FLOAT, ir=8):
    values = [[helper.make_tensor_value_info(n, kind, shape) for n, shape, *rest in given for kind in [rest[0] if rest else dtype]]
              for given in (inputs, outputs)]
    graph = helper.make_graph(nodes, "forms", *values, list(weights))
    domains = [helper.make_opsetid("", opset), *([helper.make_opsetid("local", 1)] if functions else [])]
    return helper.make_model(graph, opset_imports=domains, functions=list(functions), ir_version=ir)


def layers(dtype=TensorProto.FLOAT, opset=18, names=None):
    """Returns a model with a convolution, a foldable batch norm, a reduction, a product and a softmax in an opset."""
    n = names or (lambda name: name)
    rng = np.random.default_rng(1)
    weights = [tensor(n("w"), rng.standard_normal((8, 3, 3, 3)) * 0.2, dtype), tensor(n("b"), rng.standard_normal(8), dtype),
               *(tensor(n(k), rng.uniform(0.5, 1.5, 8), dtype) for k in ("scale", "shift", "mean", "var")),
               tensor(n("v"), rng.standard_normal((8, 5)) * 0.3, dtype), tensor(n("c"), rng.standard_normal(5), dtype),
               tensor(n("two"), 2.0, dtype)]
    axes = {} if opset >= 18 else {"axes": [2, 3]}
    if opset >= 18:
        weights.append(tensor(n("axes"), [2, 3], TensorProto.INT64))
    nodes = [helper.make_node("Conv", [n("x"), n("w"), n("b")], [n("h")], pads=[1, 1, 1, 1], strides=[2, 2]),
             helper.make_node("BatchNormalization", [n(k) for k in ("h", "scale", "shift", "mean", "var")], [n("k")]),
             helper.make_node("Relu", [n("k")], [n("r")]),
             helper.make_node("ReduceMean", [n("r"), *([n("axes")] if opset >= 18 else [])], [n("p")], keepdims=0, **axes),
             helper.make_node("MatMul", [n("p"), n("v")], [n("m")]), helper.make_node("Add", [n("m"), n("c")], [n("s")]),
             helper.make_node("Div", [n("s"), n("two")], [n("q")]), helper.make_node("Tanh", [n("q")], [n("t")]),
             helper.make_node("Softmax", [n("t")], [n("y")], axis=1)]
    return model(nodes, [(n("x"), [2, 3, 8, 8])], [(n("y"), [2, 5])], weights, opset, dtype=dtype)


def casts(dtype):
    """Returns a model with integers and floats: casts in both directions, quotients, remainders, indices as inputs."""
    whole = TensorProto.INT64
    nodes = [helper.make_node("Cast", ["x"], ["i"], to=whole), helper.make_node("Div", ["i", "d"], ["q"]),
             helper.make_node("Mod", ["i", "d"], ["r"]), helper.make_node("Gather", ["x", "k"], ["g"], axis=0),
             helper.make_node("Add", ["q", "r"], ["a"]), helper.make_node("Cast", ["a"], ["f"], to=dtype),
             helper.make_node("Add", ["f", "g"], ["y"])]
    return model(nodes, [("x", [4]), ("d", [4], whole), ("k", [4], whole)], [("y", [4])], dtype=dtype)


def given_defaults():
    """Returns a model with weights that are also inputs, so that a caller may replace them. One could be folded."""
    made = layers()
    for weight in made.graph.initializer:
        if weight.name in ("v", "c", "two"):
            made.graph.input.append(helper.make_tensor_value_info(weight.name, weight.data_type, list(weight.dims)))
    return made


CONTROL = {
    "function": """<ir_version: 8, opset_import: ["": 18, "local": 1]>
        m (float[2, 4] x) => (float[2, 4] y) { h = local.act <slope: float = 0.5>(x) y = local.twice(h) }
        <opset_import: ["": 18], domain: "local"> act <slope> (a) => (b) {
            s = Constant <value_float: float = @slope>() p = Mul(a, s) b = Softplus(p) }
        <opset_import: ["": 18, "local": 1], domain: "local"> twice (a) => (b) { c = local.act <slope: float = 2.0>(a) b = Add(c, c) }""",
    "if": """<ir_version: 8, opset_import: ["": 18]>
        m (float[2, 3] x, bool c) => (float[2, 3] y) <float[3] w = {1, 2, 3}> {
            y = If(c) <then_branch = t () => (float[2, 3] a) { a = Mul(x, w) },
                       else_branch = e () => (float[2, 3] b) { b = Sub(x, w) }> }""",
    "loop": """<ir_version: 8, opset_import: ["": 18]>
        m (float[2, 3] x) => (float[2, 3] y, float[4, 2, 3] all) <int64 n = {4}, bool go = {1}> {
            y, all = Loop(n, go, x) <body = b (int64 i, bool c, float[2, 3] s) => (bool k, float[2, 3] t, float[2, 3] o) {
                k = Identity(c) f = Cast <to: int = 1>(i) t = Add(s, f) o = Mul(t, t) }> }""",
    "scan": """<ir_version: 8, opset_import: ["": 18]>
        m (float[3] s, float[5, 3] x) => (float[3] y, float[5, 3] all) {
            y, all = Scan <num_scan_inputs: int = 1, body = b (float[3] h, float[3] e) => (float[3] k, float[3] o) {
                p = Add(h, e) k = Tanh(p) o = Identity(k) }>(s, x) }""",
}


def controls(name):
    made = parser.parse_model(CONTROL[name])
    onnx.checker.check_model(made)
    return made


def write(folder):
    made = {f"opset{opset}": layers(opset=opset) for opset in OPSETS}
    made |= {f"type_{name}": layers(dtype) for name, dtype in TYPES.items()}
    made |= {f"casts_{name}": casts(dtype) for name, dtype in TYPES.items()}
    made |= {f"name_{kind}": layers(names=lambda n, odd=odd: {"x": odd, "w": odd + ".w", "y": odd + " y"}.get(n, n + odd))
             for kind, odd in NAMES.items()}
    made["defaults"] = given_defaults()
    made |= {name: controls(name) for name in CONTROL}
    files = {}
    for name, one in made.items():
        files[name] = folder / f"{name}.onnx"
        onnx.save(one, files[name])
    files["external"] = folder / "external.onnx"
    onnx.save(layers(), files["external"], save_as_external_data=True, location="external.bin", size_threshold=0)
    return files
