"""Rows of operators that read elements at given places, or write them there."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx import Node

from .elements import along, flat_places, from_end_indices, linear
from .resize import repeated_image
from .rows import argument, aten, pieces, row
from .writer import Handler, NotSupported, Writer, dtype_word, fake, literal

# --- taken from places --------------------------------------------------------------------------------


@row(aten.index.Tensor, aten._unsafe_index.Tensor)
def index(w: Writer, node: Node) -> str:
    """`gather`, over joined axes for several tensors; `resize` if constants repeat each element of an image

    Joined axes come first in the result if they are not adjacent, as in PyTorch."""
    x, indices = node.args
    places = [axis for axis, one in enumerate(indices) if one is not None]
    if image := repeated_image(w, x, {axis: indices[axis] for axis in places}, list(fake(node).shape)):
        return image
    if any(fake(indices[axis]).dtype in (torch.bool, torch.uint8) for axis in places):
        raise NotSupported("an index by a mask, whose number of elements depends on values")
    sizes, text = list(fake(x).shape), w.operand(x)
    steps = [from_end_indices(w, indices[axis], sizes[axis]) for axis in places]
    first, last = places[0], places[-1] + 1
    if last - first != len(places):
        perm = [*places, *(axis for axis in range(len(sizes)) if axis not in places)]
        sizes, text = [sizes[axis] for axis in perm], f"transpose({text}, perm = {perm})"
        first, last = 0, len(places)
    whole = [*sizes[:first], math.prod(sizes[first:last]), *sizes[last:]]
    flat = text if len(places) == 1 else w.let(f"reshape({text}, {literal(whole)})")
    return f"gather({flat}, {linear(w, steps, sizes[first:last])}, axis = {first})"


@row(aten.gather.default)
def gather(w: Writer, node: Node) -> str:
    """`gather` over all axes joined"""
    x, axis, places = node.args[:3]
    return along(w, x, axis, from_end_indices(w, places, fake(x).shape[axis]), list(fake(places).shape))


@row(aten.flip.default)
def flip(w: Writer, node: Node) -> str:
    """`gather`, from the last to the first"""
    text, sizes = w.operand(node.args[0]), fake(node).shape
    for axis in node.args[1]:
        size = sizes[axis]
        text = f"gather({text}, {size - 1} - iota([{size}], i64), axis = {axis})"
    return text


@row(aten.repeat.default)
def repeat(w: Writer, node: Node) -> str:
    """`reshape`, `broadcast` and `reshape`"""
    times, made = list(node.args[1]), list(fake(node).shape)
    sizes = list(fake(node.args[0]).shape)
    sizes = [1] * (len(times) - len(sizes)) + sizes
    apart = [part for size in sizes for part in (1, size)]
    wide = [part for count, size in zip(times, sizes) for part in (count, size)]
    flat = f"reshape({w.operand(node.args[0])}, {literal(apart)})"
    return f"reshape(broadcast({flat}, {literal(wide)}), {literal(made)})"


@row(aten.diagonal.default)
def diagonal(w: Writer, node: Node) -> str:
    """`gather` over the two axes, joined as the last"""
    x = node.args[0]
    shape, rank = list(fake(x).shape), fake(x).dim()
    first, second = argument(node, "dim1", 0) % rank, argument(node, "dim2", 1) % rank
    offset, count = argument(node, "offset", 0), fake(node).shape[-1]
    others = [axis for axis in range(rank) if axis not in (first, second)]
    columns = shape[second]
    start = offset if offset >= 0 else -offset * columns
    flat = (f"reshape(transpose({w.operand(x)}, perm = {[*others, first, second]}), "
            f"{literal([*(shape[axis] for axis in others), shape[first] * columns])})")
    return f"gather({flat}, iota([{count}], i64) * {columns + 1} + {start}, axis = {len(others)})"


@pieces(aten.unbind.int)
def unbind(w: Writer, node: Node, place: int) -> str:
    """indices `x[i]`, one for each piece"""
    axis = argument(node, "dim", 0) % fake(node.args[0]).dim()
    return f"{w.operand(node.args[0])}[{':, ' * axis}{place}]"


def _edges(name: str, before: Callable[[int, int], list[int]], after: Callable[[int, int], list[int]]) -> Handler:
    """Elements outside are copies of those inside: `before` and `after` give their places."""
    def handler(w: Writer, node: Node) -> str:
        sizes, shape = list(node.args[1]), fake(node.args[0]).shape
        if min(sizes) < 0:
            raise NotSupported("negative padding")
        text = w.operand(node.args[0])
        for place in range(len(sizes) // 2):
            axis = fake(node).dim() - 1 - place
            size, (low, high) = shape[axis], sizes[2 * place:2 * place + 2]
            steps = [*before(size, low), None, *after(size, high)]
            parts = [text if step is None else f"{text}[{':, ' * axis}{step}:{step + 1}]" for step in steps]
            if len(parts) > 33:
                raise NotSupported("padding by more than 16 elements on each side")
            if len(parts) > 1:
                text = w.let(f"concat([{', '.join(parts)}], axis = {axis})")
        return text
    handler.__doc__ = f"`concat`, with elements {name} on both sides"
    return handler


row(aten.reflection_pad1d.default, aten.reflection_pad2d.default, aten.reflection_pad3d.default)(
    _edges("from within", lambda size, low: list(range(low, 0, -1)),
           lambda size, high: [size - 2 - step for step in range(high)]))
row(aten.replication_pad1d.default, aten.replication_pad2d.default, aten.replication_pad3d.default)(
    _edges("at the edge", lambda size, low: [0] * low, lambda size, high: [size - 1] * high))


# --- written to places --------------------------------------------------------------------------------

_JOIN = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min", "add": "add", "multiply": "mul"}


@row(aten.scatter.value, aten.scatter.src, aten.scatter.reduce, aten.scatter_add.default, aten.scatter_reduce.two)
def scatter(w: Writer, node: Node) -> str:
    """`scatter` over all axes joined"""
    x, axis, places, source = node.args[:4]
    reduce = "sum" if node.target is aten.scatter_add.default else argument(node, "reduce")
    if reduce not in (None, *_JOIN) or not argument(node, "include_self", True):
        raise NotSupported(f"scatter with reduction `{reduce}`, or without the original elements")
    _numbers(node, reduce is not None)
    sizes, shape = list(fake(x).shape), list(fake(places).shape)
    updates = w.cast(source, fake(x).dtype)
    if isinstance(source, Node):
        cut = ", ".join(f"0:{size}" for size in shape)
        updates = f"reshape({updates}[{cut}], [-1])"
    else:
        updates = f"broadcast({_number(w, source, x)}, [{math.prod(shape)}])"
    flat = w.let(flat_places(w, sizes, axis, from_end_indices(w, places, sizes[axis]), shape))
    return (f"reshape(scatter(reshape({w.operand(x)}, [-1]), reshape({flat}, [-1]), {updates}, "
            f"{_scatter_arguments(reduce)}), {literal(sizes)})")


def _number(w: Writer, value: Any, like: Node) -> str:
    kind = fake(like).dtype
    return f"full([1], {w.cast(value, kind)}, {dtype_word(kind)})"


def _scatter_arguments(reduce: str | None) -> str:
    return "axis = 0" + ("" if reduce is None else f', reduce = "{_JOIN[reduce]}"')


def _numbers(node: Node, joins: bool) -> None:
    if joins and fake(node).dtype == torch.bool:
        raise NotSupported(f"{node.target} of bool")


@row(aten.index_put.default, aten._unsafe_index_put.default)
def index_put(w: Writer, node: Node) -> str:
    """`scatter`, with several index tensors over the joined adjacent axes; `select` for a mask"""
    x, indices, values = node.args[:3]
    joins = bool(argument(node, "accumulate", False))
    _numbers(node, joins)
    places = [axis for axis, one in enumerate(indices) if one is not None]
    masks = [indices[axis] for axis in places if fake(indices[axis]).dtype == torch.bool]
    if masks:
        return _by_mask(w, node, masks[0], values, joins or len(places) > 1 or places != [0])
    if places != list(range(places[0], places[-1] + 1)):
        raise NotSupported("an index by tensors on axes that are not adjacent")
    sizes, first, last = list(fake(x).shape), places[0], places[-1] + 1
    steps = [from_end_indices(w, indices[axis], sizes[axis]) for axis in places]
    count = list(torch.broadcast_shapes(*(fake(indices[axis]).shape for axis in places)))
    place = f"reshape(broadcast({linear(w, steps, sizes[first:last])}, {literal(count)}), [-1])"
    updates = f"broadcast({w.cast(values, fake(x).dtype)}, {literal([*sizes[:first], *count, *sizes[last:]])})"
    updates = f"reshape({updates}, {literal([*sizes[:first], math.prod(count), *sizes[last:]])})"
    flat = f"reshape({w.operand(x)}, {literal([*sizes[:first], math.prod(sizes[first:last]), *sizes[last:]])})"
    how = f"axis = {first}" + (', reduce = "add"' if joins else "")
    return f"reshape(scatter({flat}, {place}, {updates}, {how}), {literal(sizes)})"


def _by_mask(w: Writer, node: Node, mask: Node, values: Node, others: bool) -> str:
    x = fake(node)
    if others or fake(values).numel() != 1:
        raise NotSupported("index_put with a mask and more than one number")
    wide = literal([*fake(mask).shape, *[1] * (x.dim() - fake(mask).dim())])
    value = f"reshape({w.cast(values, x.dtype)}, {literal([1] * x.dim())})"
    return f"select(reshape({w.operand(mask)}, {wide}), {value}, {w.operand(node.args[0])})"


@row(aten.select_scatter.default)
def select_scatter(w: Writer, node: Node) -> str:
    """`concat` with the elements before and after"""
    x, source, axis, place = node.args[:4]
    shape = list(fake(x).shape)
    axis %= len(shape)
    one = literal([*shape[:axis], 1, *shape[axis + 1:]])
    return _between(w, x, f"reshape({w.cast(source, fake(x).dtype)}, {one})", axis, place % shape[axis], 1)


@row(aten.slice_scatter.default)
def slice_scatter(w: Writer, node: Node) -> str:
    """`concat` with the elements before and after; `scatter` for steps"""
    x, source = node.args[:2]
    axis = argument(node, "dim", 0) % fake(x).dim()
    start, stop, step = slice(argument(node, "start"), argument(node, "end"),
                              argument(node, "step", 1)).indices(fake(x).shape[axis])
    count, text = len(range(start, stop, step)), w.cast(source, fake(x).dtype)
    if step == 1:
        return _between(w, x, text, axis, start, count)
    return f"scatter({w.operand(x)}, iota([{count}], i64) * {step} + {start}, {text}, axis = {axis})"


def _between(w: Writer, x: Node, middle: str, axis: int, start: int, count: int) -> str:
    size = fake(x).shape[axis]
    parts: Sequence[tuple[int, int]] = ((0, start), (start + count, size))
    low, high = (f"{w.operand(x)}[{':, ' * axis}{a}:{b}]" if a < b else "" for a, b in parts)
    return f"concat([{', '.join(part for part in (low, middle, high) if part)}], axis = {axis})"
