#!/usr/bin/env python3
"""Writes the .onnx files of this folder, without any package:

    python3 tests/golden/import/make_models.py

A message is a list of (field number, value): integers are varints, strings and bytes and lists of
fields have a length, floats are four bytes. The field numbers are those of onnx.proto.
"""
import random
import struct
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
FLOAT, INT32, INT64, BOOL = 1, 6, 7, 9


def varint(n):
    out = b""
    n &= (1 << 64) - 1
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def message(fields):
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        elif isinstance(value, float):
            out += varint(number << 3 | 5) + struct.pack("<f", value)
        else:
            data = value.encode() if isinstance(value, str) else value
            data = message(data) if isinstance(data, list) else data
            out += varint(number << 3 | 2) + varint(len(data)) + data
    return out


def attribute(name, value):
    if isinstance(value, float):
        return [(1, name), (2, value), (20, 1)]
    if isinstance(value, int):
        return [(1, name), (3, value), (20, 2)]
    if isinstance(value, str):
        return [(1, name), (4, value), (20, 3)]
    if isinstance(value, Tensor):
        return [(1, name), (5, value.fields), (20, 4)]
    if isinstance(value, Graph):
        return [(1, name), (6, value.fields()), (20, 5)]
    return [(1, name)] + [(8, n) for n in value] + [(20, 7)]


class Tensor:
    def __init__(self, name, shape, values, kind=FLOAT):
        data = struct.pack("<%d%s" % (len(values), {FLOAT: "f", INT32: "i"}.get(kind, "q")), *values)
        self.fields = [(1, n) for n in shape] + [(2, kind), (8, name), (9, data)]


class Graph:
    """Nodes, with names for what they give where none is given."""

    def __init__(self, name):
        self.name, self.nodes, self.tensors, self.inputs, self.outputs = name, [], [], [], []
        self.declared = []
        self.random = random.Random(name)

    def value(self, name, shape, kind):
        dims = [(1, [(1, n)] if isinstance(n, int) else [(2, n)]) for n in shape]
        return [(1, name), (2, [(1, [(1, kind), (2, dims)])])]

    def input_of_any_shape(self, name, kind=FLOAT):
        self.inputs.append([(1, name), (2, [(1, [(1, kind)])])])
        return name

    def input(self, name, shape, kind=FLOAT):
        self.inputs.append(self.value(name, shape, kind))
        return name

    def output(self, name, shape, kind=FLOAT):
        self.outputs.append(self.value(name, shape, kind))

    def weight(self, name, shape, scale=0.5):
        count = 1
        for n in shape:
            count *= n
        values = [round(self.random.uniform(-scale, scale), 3) for _ in range(count)]
        self.tensors.append(Tensor(name, shape, values))
        return name

    def number(self, name, value):
        self.tensors.append(Tensor(name, [], [value]))
        return name

    def integers(self, name, values):
        self.tensors.append(Tensor(name, [len(values)], values, INT64))
        return name

    def node(self, op, inputs, output, domain="", modules=(), **attributes):
        """Of one output or a list of them, of which the first that has a name names the node and is returned."""
        outputs = output if isinstance(output, list) else [output]
        name = next(filter(None, outputs))
        fields = [(1, one) for one in inputs] + [(2, one) for one in outputs]
        fields += [(3, "node_" + name.strip("/")), (4, op)]
        fields += [(5, attribute(*item)) for item in attributes.items()]
        if modules:
            scopes = [""] + [".".join(modules[:i + 1]) for i in range(len(modules))] + [name]
            fields.append((9, [(1, "pkg.torch.onnx.name_scopes"), (2, str(scopes))]))
        self.nodes.append(fields + ([(7, domain)] if domain else []))
        return name

    def fields(self):
        fields = [(1, node) for node in self.nodes] + [(2, self.name)]
        fields += [(5, tensor.fields) for tensor in self.tensors]
        return fields + [(number, value) for number, values in ((11, self.inputs), (12, self.outputs),
                                                                (13, self.declared)) for value in values]

    def bytes(self, opset=17):
        return message([(1, 8), (2, "make_models.py"), (7, self.fields()), (8, [(1, ""), (2, opset)])])

    def write(self, opset=17):
        (FOLDER / (self.name + ".onnx")).write_bytes(self.bytes(opset))


def layers():
    """Four layers as PyTorch's exporter writes them, the sizes of its input symbolic."""
    g = Graph("network")
    x = g.input("x", ["batch", 8])
    g.number("half", 0.5), g.number("one", 1.0), g.number("root", 2.0 ** 0.5)
    for i in range(4):
        scope = f"/layers/layers.{i}"
        w = g.weight(f"layers.{i}.fc.weight", [8, 8])
        b = g.weight(f"layers.{i}.fc.bias", [8])
        h = g.node("Gemm", [x, w, b], f"{scope}/fc/Gemm_output_0", transB=1)
        t = g.node("Div", [h, "root"], f"{scope}/act/Div_output_0")
        t = g.node("Erf", [t], f"{scope}/act/Erf_output_0")
        t = g.node("Add", [t, "one"], f"{scope}/act/Add_output_0")
        t = g.node("Mul", [h, t], f"{scope}/act/Mul_output_0")
        t = g.node("Mul", [t, "half"], f"{scope}/act/Mul_1_output_0")
        x = g.node("Add", [x, t], f"{scope}/Add_output_0")
    w = g.weight("head.weight", [3, 8])
    b = g.weight("head.bias", [3])
    g.node("Gemm", [x, w, b], "logits", transB=1)
    g.output("logits", ["batch", 3])
    g.write()


def pieces():
    """Operators that the file spells out in pieces."""
    g = Graph("pieces")
    numbers = {"eps": 1e-5, "two": 2.0, "three": 3.0, "half": 0.5, "one": 1.0, "cubic": 0.044715,
               "scale": (2 / 3.141592653589793) ** 0.5, "six": 6.0, "zero": 0.0, "quick": 1.702}
    for name, value in numbers.items():
        g.number(name, value)

    x = ""  # of each part another

    def layer_norm():
        mean = g.node("ReduceMean", [x], "/norm/ReduceMean_output_0", axes=[-1])
        d = g.node("Sub", [x, mean], "/norm/Sub_output_0")
        square = g.node("Pow", [d, "two"], "/norm/Pow_output_0")
        variance = g.node("ReduceMean", [square], "/norm/ReduceMean_1_output_0", axes=[-1])
        root = g.node("Sqrt", [g.node("Add", [variance, "eps"], "/norm/Add_output_0")],
                      "/norm/Sqrt_output_0")
        unit = g.node("Div", [d, root], "/norm/Div_output_0")
        scaled = g.node("Mul", [unit, g.weight("norm.weight", [8])], "/norm/Mul_output_0")
        g.node("Add", [scaled, g.weight("norm.bias", [8])], "normed")

    def rms_norm():
        square = g.node("Pow", [x, "two"], "/rms/Pow_output_0")
        mean = g.node("ReduceMean", [square], "/rms/ReduceMean_output_0", axes=[-1])
        root = g.node("Sqrt", [g.node("Add", [mean, "eps"], "/rms/Add_output_0")],
                      "/rms/Sqrt_output_0")
        inverse = g.node("Div", ["one", root], "/rms/Div_output_0")
        unit = g.node("Mul", [x, inverse], "/rms/Mul_output_0")
        g.node("Mul", [g.weight("rms.weight", [8]), unit], "rms")

    def gelu_tanh():
        square = g.node("Mul", [x, x], "/gelu/Mul_output_0")
        cube = g.node("Mul", [square, x], "/gelu/Mul_1_output_0")
        inner = g.node("Mul", [cube, "cubic"], "/gelu/Mul_2_output_0")
        inner = g.node("Mul", [g.node("Add", [x, inner], "/gelu/Add_output_0"), "scale"],
                       "/gelu/Mul_3_output_0")
        t = g.node("Add", [g.node("Tanh", [inner], "/gelu/Tanh_output_0"), "one"],
                   "/gelu/Add_1_output_0")
        g.node("Mul", [g.node("Mul", [x, "half"], "/gelu/Mul_4_output_0"), t], "gelu")

    def sigmoids():
        g.node("Mul", [g.node("Sigmoid", [x], "/silu/Sigmoid_output_0"), x], "silu")
        scaled = g.node("Mul", [x, "quick"], "/quick/Mul_output_0")
        g.node("Mul", [x, g.node("Sigmoid", [scaled], "/quick/Sigmoid_output_0")], "quick_gelu")

    def others():
        clipped = g.node("Clip", [g.node("Add", [x, "three"], "/hs/Add_output_0"), "zero", "six"],
                         "/hs/Clip_output_0")
        g.node("Div", [g.node("Mul", [x, clipped], "/hs/Mul_output_0"), "six"], "hard_swish")
        top = g.node("ReduceMax", [x], "/softmax/ReduceMax_output_0", axes=[1])
        e = g.node("Exp", [g.node("Sub", [x, top], "/softmax/Sub_output_0")], "/softmax/Exp_output_0")
        total = g.node("ReduceSum", [e, g.integers("axes", [1])], "/softmax/ReduceSum_output_0")
        g.node("Div", [e, total], "probabilities")

    for part in (layer_norm, rms_norm, gelu_tanh, sigmoids, others):
        x = g.input("x." + part.__name__, [2, 8])
        part()
    for name in ("normed", "rms", "gelu", "silu", "quick_gelu", "hard_swish", "probabilities"):
        g.output(name, [2, 8])
    g.write()


def steps():
    """Blocks with states of their own go in and out: a function that is called several times."""
    g = Graph("stateful")
    x = g.input("x", [1, 4])
    for i in range(4):
        g.input(f"past.{i}", [1, 4])
    for i in range(4):
        w = g.weight(f"steps.{i}.weight", [4, 4])
        h = g.node("MatMul", [x, w], f"/steps.{i}/MatMul_output_0")
        h = g.node("Add", [h, g.weight(f"steps.{i}.bias", [4])], f"/steps.{i}/Add_2_output_0")
        h = g.node("Mul", [h, g.weight(f"steps.{i}.scale", [4])], f"/steps.{i}/Mul_2_output_0")
        gate = g.node("Sigmoid", [h], f"/steps.{i}/Sigmoid_output_0")
        kept = g.node("Mul", [gate, f"past.{i}"], f"/steps.{i}/Mul_output_0")
        state = g.node("Tanh", [g.node("Add", [kept, h], f"/steps.{i}/Add_output_0")], f"present.{i}")
        x = g.node("Add", [x, g.node("Mul", [gate, state], f"/steps.{i}/Mul_1_output_0")],
                   f"/steps.{i}/Add_1_output_0")
    g.node("Identity", [x], "y")
    g.output("y", [1, 4])
    for i in range(4):
        g.output(f"present.{i}", [1, 4])
    g.write()


def modules():
    """Layers as PyTorch's newer exporter writes them: values are numbered, modules are metadata."""
    g = Graph("modules")
    x, count = g.input("x", [2, 8]), iter(range(1000))
    for i in range(3):
        layer = ("net", f"layers.{i}")
        w = g.weight(f"val_{next(count)}", [8, 8])
        b = g.weight(f"net.layers.{i}.fc.bias", [8])
        h = g.node("MatMul", [x, w], f"val_{next(count)}", modules=layer + ("fc",))
        h = g.node("Add", [h, b], f"linear_{i}", modules=layer + ("fc",))
        t = g.node("Tanh", [h], f"tanh_{i}", modules=layer + ("act",))
        x = g.node("Add", [x, t], f"add_{i}", modules=layer)
    g.node("Relu", [x], "y", modules=("net",))
    g.output("y", [2, 8])
    g.write()


def attentions():
    """Attention as exporters spell it out: scaled before or behind the product, masked, guarded."""
    g = Graph("attentions")
    g.number("scale", 0.5), g.number("zero", 0.0)
    mask = g.input("mask", [5, 5])

    def scores(name, masked):
        """(softmax, values)"""
        q, k, v = (g.input(f"{name}.{part}", [2, 3, 5, 4]) for part in "qkv")
        keys = g.node("Transpose", [k], f"/{name}/Transpose_output_0", perm=[0, 1, 3, 2])
        if name != "scaled_behind":
            q = g.node("Mul", [q, "scale"], f"/{name}/Mul_output_0")
        s = g.node("MatMul", [q, keys], f"/{name}/MatMul_output_0")
        if name == "scaled_behind":
            s = g.node("Mul", [s, "scale"], f"/{name}/Mul_output_0")
        if masked:
            s = g.node("Add", [s, mask], f"/{name}/Add_output_0")
        return g.node("Softmax", [s], f"/{name}/Softmax_output_0", axis=-1), v

    for name, masked in (("plain", False), ("scaled_behind", False), ("masked", True), ("guarded", True)):
        p, v = scores(name, masked)
        if name == "guarded":
            nothing = g.node("IsNaN", [p], "/guarded/IsNaN_output_0")
            p = g.node("Where", [nothing, "zero", p], "/guarded/Where_output_0")
        g.node("MatMul", [p, v], f"{name}_out")
        g.output(f"{name}_out", [2, 3, 5, 4])
    g.write()


def exported_attentions():
    """As PyTorch's newer exporter spells them out: half of the scale at each side, keys as one batch of
    matrices, heads that share keys and values repeated."""
    g = Graph("exported_attentions")
    g.number("root", 2.0 ** -0.5), g.number("zero", 0.0)
    g.integers("flat", [-1, 5, 4]), g.integers("of_heads", [2, 4, 4, 5]), g.integers("two", [2])
    g.integers("copies", [2, 2, 2, 5, 4]), g.integers("repeated", [2, 4, 5, 4])
    mask = g.input("mask", [5, 5])

    def repeated(x, name):
        x = g.node("Unsqueeze", [x, "two"], f"unsqueeze_{name}")
        return g.node("Reshape", [g.node("Expand", [x, "copies"], f"expand_{name}"), "repeated"], f"view_{name}")

    def attention(name, kind):
        shared = kind == "shared"
        q, k, v = (g.input(f"{name}_{part}", [2, 2 if shared and part != "q" else 4, 5, 4]) for part in "qkv")
        if shared:
            k, v = repeated(k, f"{name}_k"), repeated(v, f"{name}_v")
        keys = g.node("Reshape", [k, "flat"], f"val_{name}_1")
        keys = g.node("Transpose", [keys], f"val_{name}_2", perm=[0, 2, 1])
        keys = g.node("Reshape", [keys, "of_heads"], f"val_{name}_3")
        q, keys = (g.node("Mul", [x, "root"], f"val_{name}_{part}") for x, part in ((q, 4), (keys, 5)))
        s = g.node("MatMul", [q, keys], f"val_{name}_6")
        if kind != "plain":
            s = g.node("Add", [s, mask], f"val_{name}_7")
        p = g.node("Softmax", [s], f"val_{name}_8", axis=-1)
        if kind == "guarded":
            p = g.node("Where", [g.node("IsNaN", [p], f"val_{name}_9"), "zero", p], f"val_{name}_10")
        g.node("MatMul", [p, v], f"{name}_out")
        g.output(f"{name}_out", [2, 4, 5, 4])

    for kind in ("plain", "masked", "guarded", "shared"):
        attention(kind, kind)
    g.write(18)


def rotary():
    """Rotary positions as transformers writes them: halves, of which one is negated and goes first."""
    g = Graph("rotary")
    g.integers("middle", [2]), g.integers("begin", [0]), g.integers("end", [2 ** 63 - 1]), g.integers("last", [3])
    x, cos, sin = g.input("x", [2, 3, 5, 4]), g.input("cos", [2, 1, 5, 4]), g.input("sin", [2, 1, 5, 4])
    front = g.node("Slice", [x, "begin", "middle", "last"], "slice_1")
    back = g.node("Neg", [g.node("Slice", [x, "middle", "end", "last"], "slice_2")], "neg")
    halves = g.node("Concat", [back, front], "cat", axis=-1)
    g.node("Add", [g.node("Mul", [x, cos], "mul"), g.node("Mul", [halves, sin], "mul_1")], "add")
    g.output("add", [2, 3, 5, 4])
    g.write(18)


def heads():
    """Heads that are split, turned by the operator of opset 23, and joined again."""
    g = Graph("heads")
    g.integers("parts", [0, 0, 3, 4]), g.integers("whole", [0, 0, -1])
    x, cos, sin = g.input("x", [2, 5, 12]), g.input("cos", [2, 5, 2]), g.input("sin", [2, 5, 2])
    split = g.node("Transpose", [g.node("Reshape", [x, "parts"], "view")], "transpose", perm=[0, 2, 1, 3])
    turned = g.node("RotaryEmbedding", [split, cos, sin], "rotary_embedding")
    g.node("Reshape", [g.node("Transpose", [turned], "transpose_1", perm=[0, 2, 1, 3]), "whole"], "view_1")
    g.output("view_1", [2, 5, 12])
    g.write(23)


def attention_nodes():
    """The operator of opset 23: of all, by a mask, of heads that share keys."""
    g = Graph("attention_nodes")
    seen = g.input("seen", [2, 1, 5, 5], BOOL)
    for name, heads, mask in (("plain", 4, None), ("masked", 4, seen), ("shared", 2, None),
                              ("shared_masked", 2, seen)):
        q, k, v = (g.input(f"{name}_{part}", [2, heads if part != "q" else 4, 5, 4]) for part in "qkv")
        g.node("Attention", [q, k, v] + ([mask] if mask else []), f"{name}_out", scale=0.5)
        g.output(f"{name}_out", [2, 4, 5, 4])
    g.write(23)


def group_norms():
    """Norms of groups of channels and of channels, as exporters write them."""
    g = Graph("group_norms")
    g.number("eps", 1e-3), g.number("one", 1.0)
    shape = [2, 6, 4, 4]
    g.integers("rows", [0, 3, -1]), g.integers("shape", shape), g.integers("axes", [1, 2])
    g.integers("groups", [2, 3, 2, 16]), g.integers("images", [2, 3])
    g.tensors += [Tensor("ones", [3], [1.0] * 3), Tensor("zeros", [3], [0.0] * 3)]
    g.tensors += [Tensor("each_one", [6], [1.0] * 6), Tensor("each_zero", [6], [0.0] * 6)]

    g.integers("points", [2, 6, 5]), g.integers("volumes", [2, 6, 2, 3, 2]), g.integers("features", [2, 6])
    g.integers("axis", [1]), g.integers("three_axes", [1, 2, 3])

    def affine(name, x, by_image, axes="axes"):
        """By weights of the image's shape, or by vectors."""
        for op, part in (("Mul", "weight"), ("Add", "bias")):
            w = g.weight(f"{name}.{part}", [6, 1, 1] if by_image else [6])
            if not by_image and axes:
                w = g.node("Unsqueeze", [w, axes], f"/{name}/{part}/Unsqueeze_output_0")
            x = g.node(op, [x, w], name if op == "Add" else f"/{name}/{op}_output_0")

    def instances(name, by_image, shape_name="shape", shape=(2, 6, 4, 4), axes="axes"):
        x = g.node("Reshape", [g.input(f"x_{name}", shape), "rows"], f"/{name}/Reshape_output_0")
        x = g.node("InstanceNormalization", [x, "ones", "zeros"], f"/{name}/InstanceNormalization_output_0",
                   epsilon=1e-5)
        affine(name, g.node("Reshape", [x, shape_name], f"/{name}/Reshape_1_output_0"), by_image, axes)

    def means():
        x = g.node("Reshape", [g.input("x_means", shape), "groups"], "/means/Reshape_output_0")
        d = g.node("Sub", [x, g.node("ReduceMean", [x, "images"], "/means/ReduceMean_output_0")], "/means/Sub_output_0")
        squares = g.node("Mul", [d, d], "/means/Mul_2_output_0")
        variance = g.node("ReduceMean", [squares, "images"], "/means/ReduceMean_1_output_0")
        root = g.node("Sqrt", [g.node("Add", [variance, "eps"], "/means/Add_1_output_0")], "/means/Sqrt_output_0")
        x = g.node("Mul", [d, g.node("Div", ["one", root], "/means/Div_output_0")], "/means/Mul_1_output_0")
        affine("means", g.node("Reshape", [x, "shape"], "/means/Reshape_1_output_0"), False)

    instances("by_image", True)
    instances("by_vector", False)
    means()
    g.node("GroupNormalization", [g.input("x_operator", shape), g.weight("operator.weight", [6]),
                                  g.weight("operator.bias", [6])], "operator", num_groups=2, epsilon=1e-6)
    g.node("InstanceNormalization", [g.input("x_instances", shape), g.weight("instances.weight", [6]),
                                     g.weight("instances.bias", [6])], "instances", epsilon=1e-5)
    g.node("InstanceNormalization", [g.input("x_alone", shape), "each_one", "each_zero"], "alone", epsilon=1e-5)
    for name in ("by_image", "by_vector", "means", "operator", "instances", "alone"):
        g.output(name, shape)
    for name, axes, sizes in (("points", "axis", [2, 6, 5]), ("volumes", "three_axes", [2, 6, 2, 3, 2]),
                              ("features", "", [2, 6])):
        instances("of_" + name, False, name, sizes, axes)
        g.output("of_" + name, sizes)
    g.node("InstanceNormalization", [g.input("x_rows", [2, 6, 5]), g.weight("rows.weight", [6]),
                                     g.weight("rows.bias", [6])], "of_rows", epsilon=1e-5)
    g.output("of_rows", [2, 6, 5])
    g.write(21)


def recurrent():
    """An LSTM of both directions: each step is a call."""
    g = Graph("recurrent")
    x = g.input("x", [5, 1, 3])
    w = g.weight("lstm.w", [2, 16, 3])
    r = g.weight("lstm.r", [2, 16, 4])
    b = g.weight("lstm.b", [2, 32])
    h = g.input("h", [2, 1, 4])  # of which both states begin
    g.node("LSTM", [x, w, r, b, "", h, h], "y", direction="bidirectional", hidden_size=4)
    g.output("y", [5, 2, 1, 4])
    g.write()


def kept():
    """Recurrent operators that read each other's results, what is computed of them, weights and constants."""
    g = Graph("kept")
    x = g.input("x", [5, 1, 3])
    h = g.node("Relu", [g.node("MatMul", [x, g.weight("in.weight", [3, 4])], "/in/MatMul")], "/in/Relu")

    def weights(name, gates):
        return [g.weight(name + "." + part, [1, gates * 4, *rest]) for part, rest in (("w", [4]), ("r", [4]))]

    w, r = weights("lstm", 4)
    b, p = g.weight("lstm.b", [1, 32]), g.weight("lstm.p", [1, 12])
    g.node("LSTM", [h, w, r, b, "", "", "", p], ["/lstm/Y", "", "cell"], hidden_size=4)
    axes = g.integers("axes", [1])
    s = g.node("Squeeze", ["/lstm/Y", axes], "/lstm/Squeeze")
    g.tensors.append(Tensor("length", [1], [3], INT32))
    both = g.node("Add", [s, h], "/gru/Add")
    g.node("GRU", [both, *weights("gru", 3), "", "length", "cell"], ["", "last"], linear_before_reset=1,
           direction="reverse", hidden_size=4)
    g.node("RNN", [s, *weights("rnn", 1), "", "", "last"], ["/rnn/Y"], hidden_size=4)
    table = g.weight("table", [2, 1, 4])
    g.node("RNN", [table, *weights("walk", 1), "", "", "last"], ["", "walked"], hidden_size=4)
    g.node("MatMul", [g.node("Squeeze", ["/rnn/Y", axes], "/rnn/Squeeze"), g.weight("head.weight", [4, 2])], "y")
    g.output("y", [5, 1, 2])
    for name in ("cell", "last", "walked"):
        g.output(name, [1, 1, 4])
    g.write()

    g = Graph("kept_batch_first")  # `layout` came with opset 14
    x = g.input("x", [1, 5, 3])
    g.node("LSTM", [x, g.weight("w", [1, 16, 3]), g.weight("r", [1, 16, 4])], ["", "h"], layout=1, hidden_size=4)
    g.node("GRU", [x, g.weight("gru.w", [1, 12, 3]), g.weight("gru.r", [1, 12, 4]), "", "", ""], ["", "last"],
           layout=1, hidden_size=4)
    g.node("Relu", ["h"], "y")
    g.output("y", [1, 1, 4])
    g.write()


def kept_attention():
    """Attention of opset 23, with a cache and with a mask."""
    g = Graph("kept_attention")
    x = g.input("x", [1, 3, 8])
    mask = g.input("mask", [3, 3])
    past = [g.input("past." + part, [1, 2, 4, 4]) for part in ("key", "value")]

    def products(name, of):
        return [g.node("MatMul", [of, g.weight(f"{name}.{part}.weight", [8, 8])], f"/{name}/{part}/MatMul")
                for part in "qkv"]

    heads = {"q_num_heads": 2, "kv_num_heads": 2}
    a = g.node("Attention", [*products("first", x), "", *past], ["/first/Attention", "present.key", "present.value"],
               is_causal=1, **heads)
    a = g.node("Add", [x, g.node("MatMul", [a, g.weight("first.out.weight", [8, 8])], "/first/MatMul")], "/first/Add")
    b = g.node("Attention", [*products("second", a), mask], "/second/Attention", scale=0.5, **heads)
    g.node("Add", [a, b], "y")
    g.output("y", [1, 3, 8])
    for part in ("key", "value"):
        g.output("present." + part, [1, 2, 7, 4])
    g.write(23)


def unsupported():
    """Nodes that there is nothing for; what reads them is not spoken of."""
    g = Graph("unsupported")
    x = g.input("x", [2, 8])
    a = g.node("QLinearSigmoid", [x], "a", domain="com.microsoft")
    b = g.node("Bernoulli", [x], "b")
    c = g.node("Bernoulli", [b], "c")
    d = g.node("Sinn", [x], "d")
    g.node("Sum", [a, b, c, d], "y")
    g.output("y", [2, 8])
    g.write()


# --- what is refused ------------------------------------------------------------------------------


def small(name):
    """y = relu(x): a model, its parts to be made bad."""
    g = Graph(name)
    g.input("x", [2, 8])
    g.node("Relu", ["x"], "y")
    g.output("y", [2, 8])
    return g


def external(name, location):
    """A weight in a file beside the model."""
    g = small(name)
    g.tensors.append(Tensor("w", [8, 8], []))
    g.tensors[-1].fields = [(1, 8), (1, 8), (2, FLOAT), (8, "w"),
                            (13, [(1, "location"), (2, location)]), (14, 1)]
    g.node("MatMul", ["x", "w"], "z")
    g.output("z", [2, 8])
    g.write()


def missing_data():
    external("missing_data", "not_there.data")
    external("data_outside", "../outside.data")


def truncated():
    """The end is missing: of the weights' data, of the file's last message."""
    g = small("truncated")
    g.weight("w", [8, 8])
    g.node("MatMul", ["y", "w"], "z")
    g.output("z", [2, 8])
    whole = g.bytes()
    (FOLDER / "truncated.onnx").write_bytes(whole[:200])


def cyclic():
    """Two nodes wait for each other."""
    g = small("cyclic")
    g.node("Add", ["y", "c"], "a")
    g.node("Tanh", ["a"], "b")
    g.node("Neg", ["b"], "c")
    g.output("c", [2, 8])
    g.write()


def same_names():
    """Two things of one name: values, weights, inputs, outputs."""
    g = small("same_values")
    g.node("Tanh", ["x"], "y")
    g.write()
    g = small("same_weights")
    g.weight("w", [8, 8]), g.weight("w", [8])
    g.write()
    g = small("same_inputs")
    g.input("x", [2, 8])
    g.write()
    g = small("same_outputs")
    g.output("y", [2, 8])
    g.write()


def contradictions():
    """The file says of a value what it is not."""
    g = small("short_weight")
    g.tensors.append(Tensor("w", [8], [0.5] * 7))
    g.node("Add", ["y", "w"], "z")
    g.output("z", [2, 8])
    g.write()
    g = small("other_shape")
    g.declared.append(g.value("h", [2, 9], FLOAT))
    g.node("Tanh", ["y"], "h")
    g.node("Neg", ["h"], "z")
    g.output("z", [2, 8])
    g.write()
    g = small("other_dtype")
    g.node("Tanh", ["y"], "z")
    g.output("z", [2, 8], INT64)
    g.write()


def overflows():
    """Sizes whose product has more than 64 bits, of a weight and of an input."""
    g = small("huge_weight")
    g.tensors.append(Tensor("w", [1 << 40, 1 << 40], [0.0]))
    g.node("Add", ["x", "w"], "z")
    g.output("z", [2, 8])
    g.write()
    g = Graph("huge_input")
    g.input("x", [1 << 40, 1 << 40])
    g.node("Relu", ["x"], "y")
    g.output("y", [1 << 40, 1 << 40])
    g.write()
    g = small("huge_value")
    g.integers("shape", [1 << 40, 1 << 40])
    g.node("ConstantOfShape", ["shape"], "z")
    g.output("z", [1 << 40, 1 << 40])
    g.write()


def scalar_input():
    """A rate that is given at run time, as programs for sound have it, whose shape the file does not say."""
    g = Graph("scalar_input")
    g.input("x", [2, 8]), g.input_of_any_shape("sr")
    g.node("Mul", ["x", "sr"], "scaled")
    g.node("Relu", ["scaled"], "y")
    g.output("y", [2, 8])
    g.write()


def nested():
    """Branches within branches: more than are read, and fewer."""
    for name, depth in (("nested", 40), ("nested_too_deep", 70)):
        inner = Graph("innermost")
        inner.node("Identity", ["x"], "out")
        inner.output("out", [2, 8])
        for i in range(depth):
            outer = Graph("branch")
            outer.node("If", ["yes"], "out", then_branch=inner, else_branch=inner if i == 0 else small("other"))
            outer.output("out", [2, 8])
            inner = outer
        g = small(name)
        g.tensors.append(Tensor("yes", [], []))
        g.tensors[-1].fields = [(2, BOOL), (8, "yes"), (9, b"\x01")]
        g.node("If", ["yes"], "z", then_branch=inner, else_branch=small("other"))
        g.output("z", [2, 8])
        g.write()


def dynamic():
    """A causal text model whose batch and length are open, with the shape arithmetic of exporters."""
    g = Graph("dynamic")
    g.input("ids", ["batch", "sequence"], INT64)
    g.integers("zero", [0]), g.integers("one", [1]), g.integers("two", [2]), g.integers("four", [4])
    g.integers("rest", [-1]), g.number("hidden", -1e4)
    g.tensors += [Tensor("first", [], [0], INT64), Tensor("next", [], [1], INT64)]
    g.node("Shape", ["ids"], "shape")
    batch = g.node("Gather", ["shape", "zero"], "batch_of_ids")
    length = g.node("Gather", ["shape", "one"], "length_of_ids")
    count = g.node("Squeeze", [length, "zero"], "count")
    places = g.node("Range", ["first", count, "next"], "places")
    position = g.node("Gather", [g.weight("positions.weight", [32, 8]), places], "position")
    x = g.node("Add", [g.node("Gather", [g.weight("words.weight", [16, 8]), "ids"], "word"), position], "embedded")
    row = g.node("Unsqueeze", [places, "one"], "row")
    later = g.node("Less", [row, places], "later")
    heads = g.node("Concat", [batch, length, "two", "four"], "heads", axis=0)
    whole = g.node("Concat", [batch, length, "rest"], "whole", axis=0)
    for i in range(2):
        scope = f"/layers/layers.{i}"

        def projected(name):
            w = g.weight(f"layers.{i}.{name}.weight", [8, 8])
            parts = g.node("Reshape", [g.node("MatMul", [x, w], f"{scope}/{name}/MatMul_output_0"), heads],
                           f"{scope}/{name}/Reshape_output_0")
            return g.node("Transpose", [parts], f"{scope}/{name}/Transpose_output_0",
                          perm=[0, 2, 3, 1] if name == "k" else [0, 2, 1, 3])

        scores = g.node("MatMul", [projected("q"), projected("k")], f"{scope}/MatMul_output_0")
        hidden = g.node("Where", [later, "hidden", scores], f"{scope}/Where_output_0")
        weights = g.node("Softmax", [hidden], f"{scope}/Softmax_output_0", axis=-1)
        mixed = g.node("MatMul", [weights, projected("v")], f"{scope}/MatMul_1_output_0")
        back = g.node("Reshape", [g.node("Transpose", [mixed], f"{scope}/Transpose_output_0", perm=[0, 2, 1, 3]), whole],
                      f"{scope}/Reshape_output_0")
        x = g.node("Add", [x, back], f"{scope}/Add_output_0")
    g.node("Identity", [x], "y")
    g.output("y", ["batch", "sequence", 8])
    g.write()


def pooled():
    """A convolution and a pool over an image of open size, and an unnamed batch."""
    g = Graph("pooled")
    g.inputs.append([(1, "image"), (2, [(1, [(1, FLOAT), (2, [(1, []), (1, [(1, 3)]), (1, [(2, "height")]),
                                                               (1, [(2, "image")])])])])])
    x = g.node("Conv", ["image", g.weight("w", [4, 3, 3, 3])], "convolved", pads=[1, 1, 1, 1], strides=[2, 2])
    x = g.node("MaxPool", [x], "halved", kernel_shape=[2, 2], strides=[2, 2])
    g.integers("rows", [0, 4, -1])
    g.node("Reshape", [x, "rows"], "y")
    g.output("y", ["n", 4, "cells"])
    g.write()


def fixed_parts():
    """What has no generic form: a branch that depends on a size, steps of an LSTM, a logarithm of a size."""
    g = Graph("branch_on_size")
    g.input("x", ["rows", "columns"])
    g.tensors.append(Tensor("many", [], [40], INT64))
    g.tensors.append(Tensor("place", [], [1], INT64))
    columns = g.node("Gather", [g.node("Shape", ["x"], "shape"), "place"], "columns_of_x")
    g.node("Greater", [columns, "many"], "is_wide")
    branches = {}
    for branch, op in (("then_branch", "Relu"), ("else_branch", "Neg")):
        inner = branches[branch] = Graph(branch)
        inner.node(op, ["x"], branch + "_y")
        inner.output(branch + "_y", ["rows", "columns"])
    g.node("If", ["is_wide"], "y", **branches)
    g.output("y", ["rows", "columns"])
    g.write()

    g = Graph("open_steps")
    g.input("x", ["steps", 2, 3])
    g.node("LSTM", ["x", g.weight("w", [1, 8, 3]), g.weight("r", [1, 8, 2])], "y", hidden_size=2)
    g.output("y", ["steps", 1, 2, 2])
    g.write()

    g = Graph("logarithm_of_size")
    g.input("x", ["rows", 8])
    g.tensors.append(Tensor("place", [], [0], INT64))
    rows = g.node("Gather", [g.node("Shape", ["x"], "shape"), "place"], "rows_of_x")
    factor = g.node("Log", [g.node("Cast", [rows], "as_float", to=FLOAT)], "factor")
    g.node("Mul", ["x", factor], "y")
    g.output("y", ["rows", 8])
    g.write()


if __name__ == "__main__":
    for write in (layers, pieces, steps, modules, attentions, exported_attentions, attention_nodes,
                  rotary, heads, group_norms, recurrent, kept, kept_attention, unsupported, missing_data,
                  truncated, cyclic, same_names,
                  contradictions, overflows, scalar_input, nested, dynamic, pooled, fixed_parts):
        write()
