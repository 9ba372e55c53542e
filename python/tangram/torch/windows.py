"""Rows of norms, of pools over other windows than those of two axes, and of windows themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from torch.fx import Node

from .rows import argument, aten, pieces, row
from .writer import NotSupported, Writer, dtype_word, fake, literal

# --- norms --------------------------------------------------------------------------------------------


def vector(w: Writer, given: Any, like: Node, count: int, value: float) -> str:
    """Returns a scale or shift in the type of the elements, or the neutral one."""
    kind = fake(like).dtype
    return f"full([{count}], {value}, {dtype_word(kind)})" if given is None else w.cast(given, kind)


@row(aten.native_layer_norm.default)
def layer_norm(w: Writer, node: Node) -> str:
    """`layer_norm` over the last axes joined"""
    x, sizes, scale, shift = node.args[:4]
    shape, count = list(fake(x).shape), math.prod(sizes)
    scale, shift = vector(w, scale, x, count, 1.0), vector(w, shift, x, count, 0.0)
    eps = literal(float(argument(node, "eps")))
    if len(sizes) == 1:
        return f"layer_norm({w.operand(x)}, {scale}, {shift}, eps = {eps})"
    flat = f"reshape({w.operand(x)}, {literal([*shape[:-len(sizes)], count])})"
    operands = f"{flat}, reshape({scale}, [-1]), reshape({shift}, [-1])"
    return f"reshape(layer_norm({operands}, eps = {eps}), {literal(shape)})"


def _normed(w: Writer, x: str, axes: Sequence[int], eps: float) -> str:
    options = f"axes = {list(axes)}, keepdims = true"
    off = w.let(f"{x} - reduce_mean({x}, {options})")
    return f"{off} * rsqrt(reduce_mean({off} * {off}, {options}) + {eps!r})"


def _scaled(w: Writer, text: str, scale: Any, shift: Any, rank: int) -> str:
    """Applies the scale and shift by channel, which is axis 1."""
    for sign, given in (("*", scale), ("+", shift)):
        if given is not None:
            by_channel = literal([-1] + [1] * (rank - 2))
            text = f"{w.let(text)} {sign} reshape({w.operand(given)}, {by_channel})"
    return text


@pieces(aten.native_group_norm.default)
def group_norm(w: Writer, node: Node, place: int) -> str:
    """`(x - mean) * rsqrt(var + eps) * scale + shift`, by group"""
    if place != 0:
        raise NotSupported(f"output {place} of {node.target}")
    x, scale, shift, batch, _, _, groups, eps = node.args
    shape = list(fake(x).shape)
    grouped = w.let(f"reshape({w.operand(x)}, {literal([batch, groups, -1])})")
    normed = w.let(_normed(w, grouped, [2], float(eps)))
    return _scaled(w, f"reshape({normed}, {literal(shape)})", scale, shift, len(shape))


@pieces(aten._native_batch_norm_legit.no_stats)
def instance_norm(w: Writer, node: Node, place: int) -> str:
    """`(x - mean) * rsqrt(var + eps) * scale + shift`, by channel"""
    if place != 0:
        raise NotSupported(f"output {place} of {node.target}")
    x, scale, shift = node.args[:3]
    rank = fake(x).dim()
    axes = [axis for axis in range(rank) if axis != 1]
    return _scaled(w, _normed(w, w.operand(x), axes, float(argument(node, "eps"))), scale, shift, rank)


# --- windows ------------------------------------------------------------------------------------------


@row(aten.unfold.default)
def unfold(w: Writer, node: Node) -> str:
    """`windows`, and `transpose` if other axes follow"""
    x, axis, size, step = node.args
    rank = fake(x).dim()
    if 0 in fake(node).shape:
        raise NotSupported("windows without elements")
    if rank == 0:
        return f"reshape({w.operand(x)}, [1])"
    axis %= rank
    text = f"windows({w.operand(x)}, axis = {axis}, size = {size}, step = {step})"
    perm = [place for place in range(rank + 1) if place != axis + 1] + [axis + 1]
    return text if axis == rank - 1 else f"transpose({text}, perm = {perm})"


@row(aten.im2col.default)
def im2col(w: Writer, node: Node) -> str:
    """`windows` along both axes of an image, between `pad` and `reshape`"""
    x, kernel, dilation, padding, stride = node.args
    if 0 in fake(node).shape:
        raise NotSupported("windows without elements")
    text, rank = w.operand(x), fake(x).dim()
    border = [0] * (rank - 2) + list(padding)
    if any(border):
        text = f"pad({text}, before = {border}, after = {border})"
    for place in (0, 1):
        options = f"size = {kernel[place]}, step = {stride[place]}, dilation = {dilation[place]}"
        text = f"windows({text}, axis = {rank - 2 + 2 * place}, {options})"
    perm = [*range(rank - 2), rank - 1, rank + 1, rank - 2, rank]
    return f"reshape(transpose({text}, perm = {perm}), {literal(list(fake(node).shape))})"


# --- pools --------------------------------------------------------------------------------------------


@row(aten._adaptive_avg_pool2d.default, aten.adaptive_avg_pool2d.default, aten._adaptive_avg_pool3d.default,
     aten.adaptive_avg_pool3d.default)
def adaptive_avg_pool(w: Writer, node: Node) -> str:
    """`reduce_mean`; `avg_pool2d` if sizes divide; else means of slices, or of windows from `gather`"""
    x, rank = w.operand(node.args[0]), len(node.args[1])
    sizes, wanted = fake(node.args[0]).shape[-rank:], fake(node).shape[-rank:]
    if set(wanted) == {1}:
        return f"reduce_mean({x}, axes = {list(range(-rank, 0))}, keepdims = true)"
    if rank == 2 and fake(node).dim() == 4 and not any(size % to for size, to in zip(sizes, wanted)):
        window = literal([size // to for size, to in zip(sizes, wanted)])
        return f"avg_pool2d({x}, {window}, {window})"
    return _adaptive(w, node, x, rank, "reduce_mean")


@pieces(aten.adaptive_max_pool2d.default, aten.adaptive_max_pool3d.default)
def adaptive_max_pool(w: Writer, node: Node, place: int) -> str:
    """`reduce_max` of slices, or of windows from `gather`"""
    if place != 0:
        raise NotSupported(f"output {place} of {node.target}")
    return _adaptive(w, node, w.operand(node.args[0]), len(node.args[1]), "reduce_max")


def _adaptive(w: Writer, node: Node, x: str, rank: int, reduce: str) -> str:
    """A window along one axis does not depend on the others, so axes are pooled one after the other."""
    dims = fake(node).dim()
    for axis in range(dims - rank, dims):
        size, to = fake(node.args[0]).shape[axis], fake(node).shape[axis]
        if to > 16:
            raise NotSupported(f"adaptive pooling to {to}")
        if size == to:
            continue
        before = ":, " * axis
        parts = [f"{reduce}({x}[{before}{at * size // to}:{-(-(at + 1) * size // to)}], axes = [{axis}], "
                 "keepdims = true)" for at in range(to)]
        x = w.let(f"concat([{', '.join(parts)}], axis = {axis})" if to > 1 else parts[0])
    return x


def _pool3d(w: Writer, node: Node, name: str, options: str) -> str:
    """Pools over the last two axes, then over the axis before them."""
    kernel, stride, pad = (list(argument(node, name)) for name in ("kernel_size", "stride", "padding"))
    kernel, stride, pad = ((sizes * 3)[:3] for sizes in (kernel, stride or kernel, pad))
    if argument(node, "ceil_mode") or set(argument(node, "dilation", [1])) != {1} \
            or argument(node, "divisor_override") is not None:
        raise NotSupported("pooling over three axes with ceil_mode, dilation or a divisor")
    outer, (depth, height, width) = list(fake(node.args[0]).shape[:-3]), fake(node.args[0]).shape[-3:]
    rows, columns = fake(node).shape[-2:]
    count = math.prod(outer)
    flat = f"reshape({w.operand(node.args[0])}, {literal([1, count * depth, height, width])})"
    flat = w.let(f"{name}({flat}, {kernel[1:]}, {stride[1:]}, {pad[1:]}{options})")
    flat = f"reshape({flat}, {literal([1, count, depth, rows * columns])})"
    flat = w.let(f"{name}({flat}, {[kernel[0], 1]}, {[stride[0], 1]}, {[pad[0], 0]}{options})")
    return f"reshape({flat}, {literal(list(fake(node).shape))})"


@row(aten.avg_pool3d.default)
def avg_pool3d(w: Writer, node: Node) -> str:
    """`avg_pool2d`, twice"""
    return _pool3d(w, node, "avg_pool2d", f", {literal(argument(node, 'count_include_pad'))}")


@pieces(aten.max_pool3d_with_indices.default)
def max_pool3d(w: Writer, node: Node, place: int) -> str:
    """`max_pool2d`, twice"""
    if place != 0:
        raise NotSupported(f"output {place} of {node.target}")
    return _pool3d(w, node, "max_pool2d", "")
