"""Sizes that are rounded up: along which axes a graph treats what it computes independently, so that what is
appended there changes nothing of what stood there before.

A symbol (a size that Dynamo left open) qualifies where two things hold. In Dynamo's graph the number itself goes into
shapes alone, never into arithmetic with values. In the graph of core operators each operator keeps the axis apart: element
i along it depends on elements i of its operands. What is not known to do so does not qualify. As views merge axes, an axis
is a place and what it was merged with there: how many axes of the symbol's size stand there, and how many elements each of
its places has."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch._functorch.aot_autograd import aot_module_simplified
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import Graph, GraphModule, Node

aten = torch.ops.aten

#: For proofs the symbol has this size: a prime that no literal of a network is a multiple of.
PRIME = 8191

#: Place; what is outside of the symbol's size there, and what is inside.
Axis = tuple[int, int, int]
#: For each input of Dynamo's graph: its axes whose size is a symbol.
Places = list[dict[int, str]]


class Dependent(Exception):
    """An operator that mixes what stands along the axis, or may."""


def rounded(size: int) -> int:
    """The bucket: a power of two, or one and a half of one, so that less than half is added."""
    power = 1 << max(size - 1, 0).bit_length()
    return power * 3 // 4 if power >= 4 and size <= power * 3 // 4 else power


# --- Dynamo's graph -------------------------------------------------------------------------------


def symbols(gm: GraphModule) -> tuple[Places, dict[int, str]]:
    """Of each input: axes whose size is a symbol; and the inputs that are symbols themselves. Symbols that are
    also a part of an expression, or go into more than shapes, are left out."""
    inputs = gm.graph.find_nodes(op="placeholder")
    places: Places = [{} for _ in inputs]
    numbers: dict[int, str] = {}
    mixed: set[str] = set()
    for at, node in enumerate(inputs):
        value = node.meta.get("example_value")
        if isinstance(value, torch.SymInt):
            found = _symbols_of(value)
            if len(found) == 1 and str(value) in found and _goes_into_shapes(node):
                numbers[at] = str(value)
            else:
                mixed |= found
        elif isinstance(value, torch.Tensor):
            for axis, size in enumerate(value.shape):
                found = _symbols_of(size)
                if len(found) == 1 and str(size) in found:
                    places[at][axis] = str(size)
                mixed |= found if str(size) not in found else set()
            mixed |= {name for name in places[at].values() if [*places[at].values()].count(name) > 1}
    return [{axis: name for axis, name in one.items() if name not in mixed} for one in places], numbers


def _symbols_of(size: Any) -> set[str]:
    return {str(one) for one in size.node.expr.free_symbols} if isinstance(size, torch.SymInt) else set()


_SHAPES = {"view", "reshape", "expand", torch.reshape}


def _goes_into_shapes(node: Node) -> bool:
    return all(user.target in _SHAPES and node not in user.args[:1]
               or user.target is operator.mul and _goes_into_shapes(user) for user in node.users)


# --- the graph of core operators ------------------------------------------------------------------


class _Traced(Exception):
    """Ends a compilation whose graph alone is wanted."""


def independent(gm: GraphModule, inputs: Sequence[Any], places: Places, numbers: Mapping[int, str], symbol: str,
                apart: Mapping[Any, Any]) -> list[Axis | None]:
    """Where the symbol's axis is in each output, if all is independent along it; else Dependent."""
    graphs: list[Graph] = []

    def keep(graph: GraphModule, _: Sequence[Any]) -> Callable[..., Any]:
        graphs.append(graph.graph)
        raise _Traced

    axes = [[axis for axis, name in one.items() if name == symbol] for one in places]
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        given = [_of_size(mode, value, axes[at], numbers.get(at) == symbol) for at, value in enumerate(inputs)]
    try:
        with torch.no_grad():
            aot_module_simplified(gm, given, fw_compiler=keep, inference_compiler=keep, decompositions=dict(apart))
    except _Traced:
        pass
    graph, = graphs
    held = len([*gm.named_parameters(remove_duplicate=False), *gm.named_buffers(remove_duplicate=False)])
    placeholders = graph.find_nodes(op="placeholder")[held:]
    outputs = follow(graph, {placeholders[at]: one[0] for at, one in enumerate(axes) if one}, PRIME)
    if len(placeholders) != len(inputs) or len(outputs) != len(_outputs(gm.graph)):
        raise Dependent("inputs are changed")
    if any(axis is not None and axis[1] != 1 for axis in outputs):
        raise Dependent("an output has it within an axis")
    return outputs


def _of_size(mode: FakeTensorMode, value: Any, axes: Sequence[int], is_symbol: bool) -> Any:
    if not isinstance(value, torch.Tensor):
        return PRIME if is_symbol else value
    sizes = [PRIME if axis in axes else size for axis, size in enumerate(value.shape)]
    return torch.empty(sizes, dtype=value.dtype) if axes else mode.from_tensor(value)


def _outputs(graph: Graph) -> list[Any]:
    found = graph.output_node().args[0]
    return list(found) if isinstance(found, (list, tuple)) else [found]


def follow(graph: Graph, axes: Mapping[Node, int], size: int) -> list[Axis | None]:
    """Where the axis is in each output, from where it is in inputs; Dependent, if something mixes it."""
    known: dict[Node, Axis] = {node: (axis, 1, 1) for node, axis in axes.items()}
    for node in graph.nodes:
        if node.op == "call_function" and any(one in known for one in node.all_input_nodes):
            known[node] = _rule(node)(node, known, size)
    return [known.get(one) for one in _outputs(graph)]


Rule = Callable[[Node, dict[Node, Axis], int], Axis]


def _rule(node: Node) -> Rule:
    if node.target is operator.getitem:
        return _first
    packet = getattr(node.target, "overloadpacket", None)
    if (rule := _RULES.get(packet)) is not None:
        return rule
    tags = getattr(node.target, "tags", ())
    if torch.Tag.pointwise in tags and torch.Tag.nondeterministic_seeded not in tags:
        return _aligned
    raise Dependent(str(node.target))


def _shape(node: Node) -> list[int]:
    value = node.meta["val"]
    return list((value[0] if isinstance(value, (tuple, list)) else value).shape)


def _need(holds: bool, node: Node) -> None:
    if not holds:
        raise Dependent(str(node.target))


def _first(node: Node, known: dict[Node, Axis], size: int) -> Axis:
    """The axis of the first operand, which the others do not have."""
    _need(node.args[0] in known and not any(one in known for one in node.all_input_nodes if one is not node.args[0]), node)
    return known[node.args[0]]


def _aligned(node: Node, known: dict[Node, Axis], size: int) -> Axis:
    """Element by element: axes are counted from the last."""
    rank, found = len(_shape(node)), set()
    for one in (one for one in node.all_input_nodes if one in known):
        found.add((known[one][0] + rank - len(_shape(one)), *known[one][1:]))
    _need(len(found) == 1, node)
    (axis, *rest), = found
    for one in (one for one in node.all_input_nodes if one not in known):
        _need(_is_even(one, axis - rank), node)
    return axis, *rest


def _is_even(node: Node, axis: int) -> bool:
    """Whether a tensor is the same all along an axis, counted from the last."""
    sizes = _shape(node)
    if -axis > len(sizes) or sizes[axis] == 1 or node.target is aten.full.default:
        return True
    if node.target is aten.expand.default:
        return _is_even(node.args[0], axis)
    return node.target in (aten.clone.default, aten._to_copy.default) and _is_even(node.args[0], axis)


def _viewed(node: Node, known: dict[Node, Axis], size: int) -> Axis:
    axis, outer, _ = _first(node, known, size)
    before, sizes = math.prod(_shape(node.args[0])[:axis]) * outer, _shape(node)
    for at, one in enumerate(sizes):
        outer, left = divmod(before, math.prod(sizes[:at]))
        if left == 0 and one % (outer * size) == 0:
            return at, outer, one // (outer * size)
    raise Dependent(str(node.target))


def _apart(axes_of: Callable[[Node], Any], removes: Callable[[Node], bool] = lambda node: False) -> Rule:
    """Mixes these axes and no other; they may be gone afterwards."""
    def rule(node: Node, known: dict[Node, Axis], size: int) -> Axis:
        axis, *rest = _first(node, known, size)
        rank = len(_shape(node.args[0]))
        mixed = {dim % rank for dim in axes_of(node)}
        _need(axis not in mixed and bool(mixed), node)
        return axis - sum(dim < axis for dim in mixed) * removes(node), *rest
    return rule


def _argument(node: Node, name: str) -> Any:
    for place, declared in enumerate(node.target._schema.arguments):
        if declared.name == name:
            if place < len(node.args):
                return node.args[place]
            return node.kwargs.get(name, declared.default_value if declared.has_default_value() else None)
    return None


def _dims(node: Node) -> Sequence[int]:
    dims = _argument(node, "dim")
    return [dims] if isinstance(dims, int) else dims or ()


_reduction = _apart(_dims, lambda node: not _argument(node, "keepdim"))
_along = _apart(_dims)


def _of_images(count: int) -> Rule:
    """Mixes the last axes."""
    return _apart(lambda node: range(-count, 0))


def _convolution(node: Node, known: dict[Node, Axis], size: int) -> Axis:
    axis = _first(node, known, size)
    _need(axis[0] == 0, node)
    return axis


def _batch_norm(node: Node, known: dict[Node, Axis], size: int) -> Axis:
    axis = _first(node, known, size)
    _need(axis[0] != 1, node)
    return axis


def _layer_norm(node: Node, known: dict[Node, Axis], size: int) -> Axis:
    axis = _first(node, known, size)
    _need(axis[0] < len(_shape(node.args[0])) - len(node.args[1]), node)
    return axis


def _permuted(node: Node, known: dict[Node, Axis], size: int) -> Axis:
    axis, *rest = _first(node, known, size)
    rank = len(_shape(node))
    return [dim % rank for dim in node.args[1]].index(axis), *rest


def _transposed(node: Node, known: dict[Node, Axis], size: int) -> Axis:
    axis, *rest = _first(node, known, size)
    rank = len(_shape(node))
    a, b = (dim % rank for dim in node.args[1:]) if len(node.args) > 1 else (0, rank - 1)
    return {a: b, b: a}.get(axis, axis), *rest


def _unsqueezed(node: Node, known: dict[Node, Axis], size: int) -> Axis:
    axis, *rest = _first(node, known, size)
    return axis + (node.args[1] % len(_shape(node)) <= axis), *rest


def _expanded(node: Node, known: dict[Node, Axis], size: int) -> Axis:
    axis, *rest = _first(node, known, size)
    return axis + len(_shape(node)) - len(_shape(node.args[0])), *rest


def _product(node: Node, known: dict[Node, Axis], size: int) -> Axis:
    """Of two matrices, or as many pairs of them; before them an addend may stand."""
    *addend, a, b = node.args
    rank = len(_shape(a))
    ours, theirs = known.get(a), known.get(b)
    if rank == 3 and ours is not None and ours[0] == 0:
        found = ours if theirs == ours or theirs is None and _is_even(b, -3) else None
    elif rank == 3 and theirs is not None and theirs[0] == 0:
        found = theirs if ours is None and _is_even(a, -3) else None
    else:
        left = ours is not None and ours[0] == rank - 2 and theirs is None
        right = theirs is not None and theirs[0] == rank - 1 and ours is None
        found = ours if left else theirs if right else None
    _need(found is not None, node)
    for one in addend:
        _need(one not in known and _is_even(one, found[0] - rank), node)
    return found


def _attention(node: Node, known: dict[Node, Axis], size: int) -> Axis:
    _need([known.get(one) for one in node.args[:3]] == [(0, 1, 1)] * 3, node)
    for one in (one for one in node.all_input_nodes[3:]):
        same = known.get(one) == (0, 1, 1) and len(_shape(one)) == 4
        _need(same or one not in known and _is_even(one, -4), node)
    return 0, 1, 1


def _joined(node: Node, known: dict[Node, Axis], size: int) -> Axis:
    found = {known.get(one) for one in node.args[0] if one in known}
    rank, dim = len(_shape(node)), node.args[1] if len(node.args) > 1 else 0
    _need(len(found) == 1, node)
    (axis, *rest), = found
    _need(dim % rank != axis and all(one in known or _is_even(one, axis - rank) for one in node.args[0]), node)
    return axis, *rest


def _chosen(node: Node, known: dict[Node, Axis], size: int) -> Axis:
    """`embedding`: the rows that indices name."""
    _need(node.args[0] not in known, node)
    return known[node.args[1]]


def _padded(node: Node, known: dict[Node, Axis], size: int) -> Axis:
    axis = _first(node, known, size)
    _need(axis[0] < len(_shape(node)) - len(node.args[1]) // 2, node)
    return axis


_RULES: dict[Any, Rule] = {
    **dict.fromkeys((aten.where, aten.clone, aten._to_copy, aten.alias, aten.detach, aten.lift_fresh_copy), _aligned),
    **dict.fromkeys((aten.view, aten._unsafe_view, aten.reshape), _viewed),
    **dict.fromkeys((aten.sum, aten.mean, aten.amax, aten.amin, aten.var, aten.any, aten.all), _reduction),
    **dict.fromkeys((aten._softmax, aten._log_softmax, aten.cumsum, aten.slice, aten.split, aten.split_with_sizes), _along),
    **dict.fromkeys((aten.max_pool2d, aten.max_pool2d_with_indices, aten.avg_pool2d, aten._adaptive_avg_pool2d), _of_images(2)),
    **dict.fromkeys((aten.mm, aten.bmm, aten.addmm), _product),
    aten.select: _apart(_dims, lambda node: True), aten.squeeze: _apart(_dims, lambda node: True),
    aten.convolution: _convolution, aten._native_batch_norm_legit_no_training: _batch_norm,
    aten.native_layer_norm: _layer_norm, aten.permute: _permuted, aten.transpose: _transposed, aten.t: _transposed,
    aten.unsqueeze: _unsqueezed, aten.expand: _expanded, aten.cat: _joined, aten.embedding: _chosen,
    aten.constant_pad_nd: _padded, aten._scaled_dot_product_flash_attention_for_cpu: _attention,
}
