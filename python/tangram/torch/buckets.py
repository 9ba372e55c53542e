"""Rounding up of sizes, along axes for which a graph computes each element independently,
so that appended elements do not change the others.

A symbol is a size that Dynamo left open. Symbols are rounded up under two conditions.
In Dynamo's graph the number itself is used only for shapes, never in arithmetic with values.
In the graph of core operators each operator keeps the axis separate: element i along it depends only
on elements i of its operands. An operator without a rule here ends the proof.
Views merge axes, so an axis is described by a place, the number of elements outside the symbol's axis there,
and the number inside.

In a proof the symbols have the size PRIME. Each tensor then has at most one axis with that factor:
it begins in an input, a constant, a range or a broadcast, and a rule determines its place in the result.
A tensor with such a size and no rule ends the proof."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch._functorch.aot_autograd import aot_module_simplified
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import Graph, GraphModule, Node

aten = torch.ops.aten

#: The size of symbols in proofs: a prime of which no literal of a network is a multiple.
PRIME = 8191

#: The place, the elements outside the symbol's axis there, and the elements inside.
Axis = tuple[int, int, int]
#: For each input of Dynamo's graph, the axes whose size is a symbol.
Places = list[dict[int, str]]


class Dependent(Exception):
    """An operator that mixes elements along the axis, or may do so."""


class Axes(dict[Node, Axis]):
    """The axis of each tensor that has it. `positions` are the tensors whose value at i along the axis
    is i."""

    def __init__(self, inputs: Mapping[Node, int]) -> None:
        super().__init__({node: (axis, 1, 1) for node, axis in inputs.items()})
        self.positions: set[Node] = set()


def rounded(size: int) -> int:
    """Returns the bucket: a power of two, or 1.5 times one, so that less than half is added."""
    power = 1 << max(size - 1, 0).bit_length()
    return power * 3 // 4 if power >= 4 and size <= power * 3 // 4 else power


# --- Dynamo's graph -------------------------------------------------------------------------------


def symbols(gm: GraphModule) -> tuple[Places, dict[int, str]]:
    """Returns the axes of each input whose size is a symbol, and the inputs that are symbols themselves.
    Omits symbols that are also part of an expression, or are used for more than shapes."""
    inputs = gm.graph.find_nodes(op="placeholder")
    places: Places = [{} for _ in inputs]
    numbers: dict[int, str] = {}
    mixed = {name for node in gm.graph.nodes for name in _names_in(node.meta.get("example_value"))
             if not _is_for_shapes(node)}
    for at, node in enumerate(inputs):
        value = node.meta.get("example_value")
        if isinstance(value, torch.SymInt):
            found = _symbols_of(value)
            if str(value) in found:
                numbers[at] = str(value)
            else:
                mixed |= found
        elif isinstance(value, torch.Tensor):
            for axis, size in enumerate(value.shape):
                found = _symbols_of(size)
                if str(size) in found:
                    places[at][axis] = str(size)
                else:
                    mixed |= found
            mixed |= {name for name in places[at].values() if [*places[at].values()].count(name) > 1}
    return [{axis: name for axis, name in one.items() if name not in mixed} for one in places], numbers


def candidates(symbol: str, sizes: Mapping[str, int], places: Places) -> Iterator[frozenset[str]]:
    """Yields sets of symbols to round up together with this one: first alone, then with those that now
    have the same size along the same axis of other inputs, such as the batch of tokens and that
    of their mask."""
    axes = {axis for one in places for axis, name in one.items() if name == symbol}
    yield frozenset({symbol})
    alike = frozenset(name for one in places for axis, name in one.items()
                      if axis in axes and sizes[name] == sizes[symbol])
    if len(alike) > 1:
        yield alike


def _symbols_of(size: Any) -> set[str]:
    return {str(one) for one in size.node.expr.free_symbols} if isinstance(size, torch.SymInt) else set()


def _names_in(value: Any) -> set[str]:
    """Returns the symbols of a number or of sizes; tensors have none."""
    if isinstance(value, (torch.SymFloat, torch.SymBool)):
        return {str(one) for one in value.node.expr.free_symbols}
    return set().union(*map(_symbols_of, value if isinstance(value, tuple) else (value,)))


#: Functions whose arguments from this position on are sizes.
_SHAPES: dict[Any, int] = {
    **dict.fromkeys(("view", "reshape", "expand", "new_zeros", "new_ones", "new_empty", torch.reshape), 1),
    **dict.fromkeys((torch.zeros, torch.ones, torch.empty), 0),
}


def _is_for_shapes(number: Node) -> bool:
    return all(_takes_as_size(user, number) for user in number.users)


def _takes_as_size(user: Node, number: Node) -> bool:
    if user.target is operator.mul:
        return _is_for_shapes(user)
    if user.target is torch.arange:  # element i is i for any size
        return user.args == (number,) and not {"start", "end", "step"} & user.kwargs.keys()
    first = _SHAPES.get(user.target)
    return first is not None and number not in user.args[:first] and number not in user.kwargs.values()


# --- the graph of core operators ------------------------------------------------------------------


class _Traced(Exception):
    """Ends a compilation of which only the graph is needed."""


def independent(gm: GraphModule, inputs: Sequence[Any], places: Places, numbers: Mapping[int, str],
                symbols: frozenset[str], apart: Mapping[Any, Any]) -> list[Axis | None]:
    """Returns the axis of these symbols in each output if everything is independent along it;
    else raises Dependent."""
    axes = [[axis for axis, name in one.items() if name in symbols] for one in places]
    if any(len(one) > 1 for one in axes):
        raise Dependent("an input has the size on two axes")
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        given = [_of_size(mode, value, axes[at], numbers.get(at) in symbols) for at, value in enumerate(inputs)]
    graph = _core_graph(gm, given, apart)
    held = len([*gm.named_parameters(remove_duplicate=False), *gm.named_buffers(remove_duplicate=False)])
    placeholders = graph.find_nodes(op="placeholder")[held:]
    if len(placeholders) != len(inputs):
        raise Dependent("an input that is a tensor subclass")
    outputs = follow(graph, {placeholders[at]: one[0] for at, one in enumerate(axes) if one})
    if len(outputs) != len(_outputs(gm.graph)):
        raise Dependent("inputs are changed")
    if any(axis is not None and axis[1] != 1 for axis in outputs):
        raise Dependent("an output has the size as part of an axis")
    return outputs


def _core_graph(gm: GraphModule, inputs: Sequence[Any], apart: Mapping[Any, Any]) -> Graph:
    graphs: list[Graph] = []

    def keep(graph: GraphModule, _: Sequence[Any]) -> Callable[..., Any]:
        graphs.append(graph.graph)
        raise _Traced

    try:
        aot_module_simplified(gm, list(inputs), fw_compiler=keep, inference_compiler=keep, decompositions=dict(apart))
    except _Traced:
        pass
    return graphs[0]


def _of_size(mode: FakeTensorMode, value: Any, axes: Sequence[int], is_symbol: bool) -> Any:
    if not isinstance(value, torch.Tensor):
        return PRIME if is_symbol else value
    sizes = [PRIME if axis in axes else size for axis, size in enumerate(value.shape)]
    return torch.empty(sizes, dtype=value.dtype) if axes else mode.from_tensor(value)


def _outputs(graph: Graph) -> list[Any]:
    found = graph.output_node().args[0]
    return list(found) if isinstance(found, (list, tuple)) else [found]


def follow(graph: Graph, inputs: Mapping[Node, int]) -> list[Axis | None]:
    """Returns the axis in each output, given its place in inputs; raises Dependent
    if an operator mixes it."""
    axes = Axes(inputs)
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        if any(one in axes for one in node.all_input_nodes):
            axes[node] = _rule(node)(node, axes)
            if _keeps_values(node) and node.args[0] in axes.positions:
                axes.positions.add(node)
        elif (begun := _starting_axis(node)) is not None:
            axes[node] = begun
            if node.target is aten.arange.start_step:
                axes.positions.add(node)
        _need(_is_only_axis_with_factor(node, axes.get(node)), node)
    if any(isinstance(one, int) and _has_factor(one) for one in _outputs(graph)):
        raise Dependent("a size is an output")
    return [axes.get(one) for one in _outputs(graph)]


Rule = Callable[[Node, Axes], Axis]


def _rule(node: Node) -> Rule:
    if node.target is operator.getitem:
        return _first
    packet = getattr(node.target, "overloadpacket", None)
    if (rule := _RULES.get(packet)) is not None:
        return rule
    tags = getattr(node.target, "tags", ())
    literals = [one for one in node.args if isinstance(one, (int, float))]
    if torch.Tag.pointwise in tags and torch.Tag.nondeterministic_seeded not in tags \
            and not any(map(_has_factor, literals)):
        return _aligned
    raise Dependent(str(node.target))


def _has_factor(size: float) -> bool:
    return size != 0 and size % PRIME == 0


def _is_only_axis_with_factor(node: Node, axis: Axis | None) -> bool:
    """Returns true if no other axis of a tensor has the factor; pieces of several are checked where they
    are taken."""
    if not isinstance(node.meta.get("val"), torch.Tensor):
        return True
    return [at for at, size in enumerate(_shape(node)) if _has_factor(size)] == ([] if axis is None else [axis[0]])


def _starting_axis(node: Node) -> Axis | None:
    """Returns the axis of a constant, a range or a broadcast, whose elements along it depend only
    on their position."""
    if not isinstance(node.meta.get("val"), torch.Tensor):
        return None
    found = [at for at, size in enumerate(_shape(node)) if size == PRIME]
    if not found or node.target not in _BEGIN:
        return None
    if node.target is aten.arange.start_step and [*node.args, 1][:3] != [0, PRIME, 1]:
        return None
    return found[0], 1, 1


_BEGIN = {aten.full.default, aten.empty.memory_format, aten.expand.default, aten.arange.start_step}
_VIEWS = {aten.view, aten._unsafe_view, aten.reshape, aten.unsqueeze, aten.squeeze, aten.expand, aten.permute,
          aten.transpose, aten.clone, aten.alias}


def _keeps_values(node: Node) -> bool:
    packet = getattr(node.target, "overloadpacket", None)
    if packet is aten._to_copy:
        return node.meta["val"].dtype in (torch.int32, torch.int64)
    return packet in _VIEWS or packet is aten.add and node.args[1] == 0


def _shape(node: Node) -> list[int]:
    value = node.meta["val"]
    return list((value[0] if isinstance(value, (tuple, list)) else value).shape)


def _need(holds: bool, node: Node) -> None:
    if not holds:
        raise Dependent(str(node.target))


def _first(node: Node, axes: Axes) -> Axis:
    """Returns the axis of the first operand, which the others do not have."""
    _need([one for one in node.all_input_nodes if one in axes] == [node.args[0]], node)
    return axes[node.args[0]]


def _aligned(node: Node, axes: Axes) -> Axis:
    """For elementwise operators: axes are counted from the last."""
    return _common(node, node.all_input_nodes, len(_shape(node)), axes)


def _common(node: Node, operands: Sequence[Node], rank: int, axes: Axes) -> Axis:
    """Returns the axis of operands that are broadcast to that rank."""
    found = {(axes[one][0] + rank - len(_shape(one)), *axes[one][1:]) for one in operands if one in axes}
    _need(len(found) == 1, node)
    return found.pop()


def _viewed(node: Node, axes: Axes) -> Axis:
    axis, outer, _ = _first(node, axes)
    before, sizes = math.prod(_shape(node.args[0])[:axis]) * outer, _shape(node)
    for at, one in enumerate(sizes):
        outer, left = divmod(before, math.prod(sizes[:at]))
        if left == 0 and one % (outer * PRIME) == 0:
            return at, outer, one // (outer * PRIME)
    raise Dependent(str(node.target))


def _mixes_axes(axes_of: Callable[[Node], Any], removes: Callable[[Node], bool] = lambda node: False) -> Rule:
    """For operators that mix only these axes, which the result may not have."""
    def rule(node: Node, axes: Axes) -> Axis:
        axis, *rest = _first(node, axes)
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


_reduction = _mixes_axes(_dims, lambda node: not _argument(node, "keepdim"))
_along = _mixes_axes(_dims)


def _of_images(count: int) -> Rule:
    """For operators that mix the last axes."""
    return _mixes_axes(lambda node: range(-count, 0))


def _convolution(node: Node, axes: Axes) -> Axis:
    axis = _first(node, axes)
    _need(axis[0] == 0, node)
    return axis


def _batch_norm(node: Node, axes: Axes) -> Axis:
    axis = _first(node, axes)
    _need(axis[0] != 1, node)
    return axis


def _layer_norm(node: Node, axes: Axes) -> Axis:
    axis = _first(node, axes)
    _need(axis[0] < len(_shape(node.args[0])) - len(node.args[1]), node)
    return axis


def _permuted(node: Node, axes: Axes) -> Axis:
    axis, *rest = _first(node, axes)
    rank = len(_shape(node))
    return [dim % rank for dim in node.args[1]].index(axis), *rest


def _transposed(node: Node, axes: Axes) -> Axis:
    axis, *rest = _first(node, axes)
    rank = len(_shape(node))
    a, b = (dim % rank for dim in node.args[1:]) if len(node.args) > 1 else (0, rank - 1)
    return {a: b, b: a}.get(axis, axis), *rest


def _unsqueezed(node: Node, axes: Axes) -> Axis:
    axis, *rest = _first(node, axes)
    return axis + (node.args[1] % len(_shape(node)) <= axis), *rest


def _expanded(node: Node, axes: Axes) -> Axis:
    axis, *rest = _first(node, axes)
    return axis + len(_shape(node)) - len(_shape(node.args[0])), *rest


def _product(node: Node, axes: Axes) -> Axis:
    """For matrix products, batched or not, perhaps with an addend before the operands."""
    *addend, a, b = node.args
    rank = len(_shape(a))
    ours, theirs = axes.get(a), axes.get(b)
    if rank == 3 and ours is not None and ours == theirs and ours[0] == 0:
        found = ours
    elif theirs is None and ours is not None and ours[0] == rank - 2:
        found = ours
    else:
        _need(ours is None and theirs is not None and theirs[0] == rank - 1, node)
        found = theirs
    added = [one for one in addend if one in axes]
    _need(not added or _common(node, added, rank, axes) == found, node)
    return found


def _attention(node: Node, axes: Axes) -> Axis:
    _need([axes.get(one) for one in node.args[:3]] == [(0, 1, 1)] * 3, node)
    _need(all(one not in axes or axes[one] == (0, 1, 1) and len(_shape(one)) == 4 for one in node.all_input_nodes[3:]), node)
    return 0, 1, 1


def _joined(node: Node, axes: Axes) -> Axis:
    rank, dim = len(_shape(node)), node.args[1] if len(node.args) > 1 else 0
    axis = _common(node, node.args[0], rank, axes)
    _need(dim % rank != axis[0] and all(one in axes for one in node.args[0]), node)
    return axis


def _chosen(node: Node, axes: Axes) -> Axis:
    """For `embedding`: the rows at the indices."""
    _need(node.args[0] not in axes, node)
    return axes[node.args[1]]


def _indexed(node: Node, axes: Axes) -> Axis:
    """For elements at places given by tensors. Along the axis itself these are its positions,
    so each takes its own element."""
    x, indices = node.args
    dims = [dim for dim, one in enumerate(indices) if one is not None]
    tensors = [indices[dim] for dim in dims]
    _need(all(one.meta["val"].dtype not in (torch.bool, torch.uint8) for one in tensors), node)
    rank = max(len(_shape(one)) for one in tensors)
    first = dims[0] if dims[-1] - dims[0] == len(dims) - 1 else 0  # position of the indices' axes
    if x in axes and axes[x][0] not in dims:
        axis, *inner = axes[x]
        _need(not any(one in axes for one in tensors), node)
        before = axis - sum(dim < axis for dim in dims)
        return before + rank * (before >= first), *inner
    if x in axes:
        own = indices[axes[x][0]]
        _need(own in axes.positions and axes[x][1:] == (1, 1), node)
    axis, *inner = _common(node, tensors, rank, axes)
    return first + axis, *inner


def _gathered(node: Node, axes: Axes) -> Axis:
    """For elements along an axis, at each place along the others."""
    x, dim, places = node.args[:3]
    _need(x in axes and axes[x] == axes.get(places) and axes[x][0] != dim % len(_shape(x)), node)
    return axes[x]


def _selected(node: Node, axes: Axes) -> Axis:
    """For `index_select`: the slices at the indices."""
    x, dim, places = node.args
    dim %= len(_shape(x))
    _need((x in axes) != (places in axes) and axes.get(x, (None,))[0] != dim, node)
    return axes[x] if x in axes else (dim, *axes[places][1:])


def _padded(node: Node, axes: Axes) -> Axis:
    axis = _first(node, axes)
    _need(axis[0] < len(_shape(node)) - len(node.args[1]) // 2, node)
    return axis


def _of_group(node: Node, axes: Axes) -> Axis:
    axis = _first(node, axes)
    _need(axis == (0, 1, 1), node)
    return axis


#: By the number of axes that they mix.
_RESAMPLING = {
    1: (aten.upsample_nearest1d, aten._upsample_nearest_exact1d, aten.upsample_linear1d),
    2: (aten.upsample_nearest2d, aten._upsample_nearest_exact2d, aten.upsample_bilinear2d, aten.upsample_bicubic2d,
        aten._upsample_bilinear2d_aa, aten._upsample_bicubic2d_aa),
    3: (aten.upsample_nearest3d, aten._upsample_nearest_exact3d, aten.upsample_trilinear3d),
}

_RULES: dict[Any, Rule] = {
    **dict.fromkeys((aten.where, aten.clone, aten._to_copy, aten.alias, aten.detach, aten.lift_fresh_copy,
                     aten.floor_divide), _aligned),
    **dict.fromkeys((aten.full_like, aten.zeros_like, aten.ones_like, aten.empty_like), _first),
    **dict.fromkeys((aten.view, aten._unsafe_view, aten.reshape), _viewed),
    **dict.fromkeys((aten.sum, aten.mean, aten.amax, aten.amin, aten.var, aten.var_mean, aten.prod, aten.any, aten.all,
                     aten.argmax, aten.argmin, aten.max, aten.min), _reduction),
    **dict.fromkeys((aten._softmax, aten._log_softmax, aten.cumsum, aten.slice, aten.split, aten.split_with_sizes,
                     aten.topk, aten.sort), _along),
    **dict.fromkeys((aten.max_pool2d, aten.max_pool2d_with_indices, aten.avg_pool2d, aten._adaptive_avg_pool2d), _of_images(2)),
    **{packet: _of_images(axes) for axes, packets in _RESAMPLING.items() for packet in packets},
    **dict.fromkeys((aten.mm, aten.bmm, aten.addmm), _product),
    **dict.fromkeys((aten.index, aten._unsafe_index), _indexed),
    **dict.fromkeys((aten.select, aten.squeeze, aten.unbind), _mixes_axes(_dims, lambda node: True)),
    aten.gather: _gathered, aten.index_select: _selected, aten.flip: _mixes_axes(_dims),
    aten.convolution: _convolution, aten._native_batch_norm_legit_no_training: _batch_norm,
    aten.native_layer_norm: _layer_norm, aten.native_group_norm: _of_group,
    aten.permute: _permuted, aten.transpose: _transposed, aten.t: _transposed,
    aten.unsqueeze: _unsqueezed, aten.expand: _expanded, aten.cat: _joined, aten.embedding: _chosen,
    aten.constant_pad_nd: _padded, aten._scaled_dot_product_flash_attention_for_cpu: _attention,
}
