"""Counts composites that are not an operator by their structure in the text of an optimised graph.

`read(text)` returns the nodes of a graph that `tg opt` printed, with fused operators spelled out. `COUNTERS` has a
function for each composite, which returns the number of recovered ones. A recovered composite is

    batch_norm       folded into the convolution: no affine map of channels follows the convolution
    embedding_sum    one gather for each table of data-dependent ids, positions read at load time, one sum
    patch_embedding  one convolution whose stride equals its kernel, or one product over patches
    squeeze_excite   the mean of an image, two products (the first with its activation fused), one multiplication
    pixel_shuffle    one transpose between two reshapes, with no further transposes in the graph
    window           at most one transpose each way between rows of pixels and windows (that of a mask is done at load)
    dense            one product with its bias
"""
import ast
import re

PRODUCTS = {"matmul", "conv2d", "winograd_conv2d"}
VIEWS = {"reshape", "transpose", "broadcast", "cast", "slice"}
INFIX = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.MatMult: "matmul", ast.Mod: "mod",
         ast.FloorDiv: "div", ast.BitXor: "pow", ast.Pow: "pow"}


class Node:
    """An operator, with its operands and attributes. `constant`: it depends on weights alone."""

    def __init__(self, op, operands=(), attributes=None, shape=None):
        self.op, self.operands, self.attributes = op, list(operands), attributes or {}
        self.constant = op in ("param", "number", "none") or (bool(operands) and all(n.constant for n in operands))
        self.shape = self.shape_of_weight(shape) if self.constant else None

    def shape_of_weight(self, shape):
        """The shape of a constant, as far as operators on weights need it."""
        known = [node.shape for node in self.operands if node.shape is not None]
        if shape is not None or self.op == "number":
            return shape or []
        if self.op in ("reshape", "broadcast"):
            return self.attributes.get("shape")
        if self.op == "transpose" and known:
            order = self.attributes.get("perm") or [*range(len(known[0]) - 2), len(known[0]) - 1, len(known[0]) - 2]
            return [known[0][axis] for axis in order]
        if self.op == "matmul" and len(known) > 1 and min(map(len, known[:2])) > 1:
            return [*known[0][:-1], known[1][-1]]
        return max(known, key=len, default=None)

    def lengths(self):
        """The number of axes of a constant that have more than one element."""
        return sum(size > 1 for size in self.shape or [])


# --- reading a graph ------------------------------------------------------------------------------


class Reader:
    """Reads the printed form of a graph, whose expressions are also Python's."""

    def __init__(self):
        self.nodes, self.names, self.known = [], {}, {}

    def node(self, op, operands=(), attributes=None, shape=None):
        """The node, the same for the same operator on the same operands: fused operators repeat some."""
        key = op, tuple(map(id, operands)), repr(attributes)
        if operands and key in self.known:
            return self.known[key]
        self.nodes.append(Node(op, operands, attributes, shape))
        return self.known.setdefault(key, self.nodes[-1]) if operands else self.nodes[-1]

    def expression(self, tree, names):
        if isinstance(tree, ast.Name):
            return names.get(tree.id) or self.node("none")
        if isinstance(tree, ast.Constant):
            return self.node("number")
        if isinstance(tree, ast.Call):
            return self.call(tree, names)
        if isinstance(tree, ast.Subscript):
            return self.node("slice", [self.expression(tree.value, names)], {"at": ast.unparse(tree.slice)})
        kind = INFIX.get(type(getattr(tree, "op", None)), type(tree).__name__.lower())
        below = [child for child in ast.iter_child_nodes(tree) if isinstance(child, ast.expr)]
        return self.node(kind, [self.expression(child, names) for child in below])

    def call(self, tree, names):
        below = [item for value in tree.args for item in (value.elts if isinstance(value, ast.List) else [value])]
        operands = [self.expression(value, names) for value in below]
        attributes = {word.arg: literal(word.value) for word in tree.keywords}
        if tree.func.id == "fused_map":
            body = ast.parse(attributes["body"].replace("$", "_"), mode="eval").body
            return self.expression(body, {f"_{at}": operand for at, operand in enumerate(operands)})
        return self.node(tree.func.id, operands, attributes)


def literal(tree):
    try:
        return ast.literal_eval(tree)
    except ValueError:
        return ast.unparse(tree)


#: (weight, shape) of a parameter, or (names, expression) of another statement.
STATEMENT = re.compile(r"^  (?:param (\w+): \w+(?:\[([^]]*)\])?|let (.+?) =)?(.*\n(?:   .*\n|  [)\]].*\n)*)", re.M)


def read(text):
    """The nodes of the first model of a text, operands before their readers."""
    reader = Reader()
    head = re.search(r"^model \w+\((.*?)\) ->.*?\{\n", text, re.M | re.S)
    for name in re.findall(r"(\w+):", head[1]):
        reader.names[name] = reader.node("input")
    body = text[head.end():].partition("\n}")[0]
    for match in STATEMENT.finditer(body + "\n"):
        weight, shape, names, value = match.groups()
        if weight:
            sizes = [int(size) for size in re.findall(r"\d+", shape or "")]
            reader.names[weight] = reader.node("param", (), None, sizes)
        elif value.strip():
            node = reader.expression(ast.parse(value.strip(), mode="eval").body, reader.names)
            for name in re.findall(r"\w+", names or ""):
                reader.names[name] = node
    return reader.nodes


# --- composites -----------------------------------------------------------------------------------


def base(node, through=VIEWS):
    while node.op in through and node.operands:
        node = node.operands[0]
    return node


def computed(nodes, *ops):
    """The nodes of these operators that do not depend on weights alone."""
    return [node for node in nodes if node.op in ops and not node.constant]


def batch_norms(nodes, expected):
    left = len(computed(nodes, "batch_norm"))
    for node in computed(nodes, "mul", "div"):
        scale, value = sorted(node.operands[:2], key=lambda operand: not operand.constant)
        left += scale.constant and scale.lengths() == 1 and base(value, VIEWS | {"sub"}).op in PRODUCTS
    return expected - left


def embedding_sums(nodes, _):
    sums, count = {}, 0  # {id of an embedding: whether it is a sum}

    def is_table(node):
        return node.constant and node.lengths() > 1

    for node in nodes:
        if node.op == "gather" and node.operands[0].constant and not node.constant:
            sums[id(node)] = False
        added = node.operands if node.op == "add" else node.operands[3:4] if node.op in PRODUCTS else []
        if node.constant or not added:
            continue
        known = [sums.get(id(base(operand))) for operand in added]
        if any(map(is_table, added)) or (len(added) > 1 and all(value is not None for value in known)):
            count += not any(known)
            sums[id(node)] = True
    return count


def patch_embeddings(nodes, _):
    count = 0
    for node in computed(nodes, *PRODUCTS):
        if node.op == "conv2d":
            stride, kernel = node.attributes.get("stride", 1), (node.operands[1].shape or [])[2:]
            stride = list(stride) if isinstance(stride, (list, tuple)) else [stride] * 2
            count += kernel == stride and max(kernel) > 1
        else:
            value = base(node.operands[0], {"reshape"})
            count += value.op == "transpose" and base(value).op == "input"
    return count


def squeezes(nodes, _):
    """Counts means that reach a multiplication of their own operand through two products."""
    pointwise = VIEWS | {"add", "mul", "div", "sigmoid", "relu6", "clip", "hardswish", "min", "max", "relu", "sub"}

    def gate(node):
        while node.op in pointwise:
            node = next((operand for operand in node.operands if not operand.constant), None)
            if node is None:
                return None
        return node if node.op in PRODUCTS else None

    found = set()
    for node in computed(nodes, "mul"):
        for value, factor in (node.operands[:2], node.operands[1::-1]):
            second = None if factor.constant else gate(factor)
            first = second and base(second.operands[0])
            mean = first and first.op in PRODUCTS and base(first.operands[0])
            if mean and mean.op in ("reduce_mean", "avg_pool2d") and base(mean.operands[0]) is base(value):
                found.add(id(mean))
    return len(found)


def pixel_shuffles(nodes, expected):
    every = computed(nodes, "transpose")
    high = [node for node in every if len(node.attributes.get("perm", [])) > 4]
    return min(len(high), expected) - (len(every) - expected if len(every) > expected else 0)


def windows(nodes, expected):
    high = [node for node in computed(nodes, "transpose") if len(node.attributes.get("perm", [])) > 5]
    return expected - max(0, len(high) - expected)


def dense(nodes, _):
    return sum(len(node.operands) > 2 for node in computed(nodes, "matmul"))


COUNTERS = {"batch_norm": batch_norms, "embedding_sum": embedding_sums, "patch_embedding": patch_embeddings,
            "squeeze_excite": squeezes, "pixel_shuffle": pixel_shuffles, "window": windows, "dense": dense}


def recovered(text, name, expected):
    """How many of the `expected` composites of this name the text of an optimised graph has recovered."""
    return max(0, min(expected, COUNTERS[name](read(text), expected)))
