"""Resampling of images: `upsample_*`, to which `interpolate` is lowered."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node

from .rows import argument, aten, row
from .writer import NotSupported, Writer, fake, literal


def _forms(*operators: Any) -> list[Any]:
    """Returns the overloads with sizes, and those of exported programs, with sizes or scales."""
    return [form for operator in operators for form in (operator.default, operator.vec)]


def _scales(node: Node, axes: int) -> list[float | None]:
    """Returns the number of new elements per old one along each axis, if given by the caller."""
    names = ["scales"] if axes == 1 else ["scales_d", "scales_h", "scales_w"][-axes:]
    given = argument(node, "scale_factors") or [argument(node, name) for name in names]
    return [None if scale is None or scale <= 0 else float(scale) for scale in given]


def _resize(w: Writer, node: Node, axes: int, mode: str, options: str = "") -> str:
    """Writes the operator, with scales if they differ from those of the sizes."""
    before, after = list(fake(node.args[0]).shape[-axes:]), list(fake(node).shape[-axes:])
    scales, aligned = _scales(node, axes), bool(argument(node, "align_corners", False))
    of_sizes = [to / size for size, to in zip(before, after)]
    scales = [scale or ratio for scale, ratio in zip(scales, of_sizes)]
    if scales != of_sizes and not aligned:
        options = f", scales = {literal(scales)}{options}"
    if aligned:
        options = f', coordinates = "align_corners"{options}'
    return f'resize({w.operand(node.args[0])}, {literal(after)}, "{mode}"{options})'


@row(*_forms(aten.upsample_linear1d, aten.upsample_bilinear2d, aten.upsample_trilinear3d))
def linear(w: Writer, node: Node) -> str:
    """`resize`"""
    return _resize(w, node, fake(node).dim() - 2, "linear")


@row(*_forms(aten.upsample_bicubic2d))
def cubic(w: Writer, node: Node) -> str:
    """`resize`"""
    return _resize(w, node, 2, "cubic")


@row(*_forms(aten._upsample_bilinear2d_aa))
def antialiased_linear(w: Writer, node: Node) -> str:
    """`resize`"""
    return _antialiased(w, node, "linear", "")


@row(*_forms(aten._upsample_bicubic2d_aa))
def antialiased_cubic(w: Writer, node: Node) -> str:
    """`resize`"""
    return _antialiased(w, node, "cubic", ", cubic_a = -0.5")


def _antialiased(w: Writer, node: Node, mode: str, options: str) -> str:
    """Weights beyond an end are omitted. Aligned corners do not shift the positions, but scale them."""
    if argument(node, "align_corners"):
        raise NotSupported("antialiased resampling with aligned corners")
    return _resize(w, node, 2, mode, f"{options}, antialias = true, exclude_outside = true")


# --- the nearest element --------------------------------------------------------------------------------


def _places(of: Any, size: int, to: int, scale: float | None) -> list[int]:
    """Returns the elements that PyTorch selects along an axis: it computes their positions in float."""
    numbers = torch.arange(size, dtype=torch.float64).reshape(1, 1, size)
    return of(numbers, [to], scale).flatten().long().tolist()


def _places_here(size: int, to: int, scale: float | None, exact: bool) -> list[int]:
    """Returns the elements that `resize` selects: it divides by a scale where PyTorch multiplies
    by its inverse."""
    if size == to and scale in (None, 1.0):
        return list(range(size))
    position, by = torch.arange(to, dtype=torch.float32), torch.tensor(scale or to / size, dtype=torch.float32)
    position = ((position + 0.5) / by - 0.5).double() + 0.5 if exact else position / by
    return position.floor().clamp(0, size - 1).long().tolist()


def _nearest(w: Writer, node: Node, exact: bool) -> str:
    axes = fake(node).dim() - 2
    one = aten._upsample_nearest_exact1d if exact else aten.upsample_nearest1d
    sizes = zip(fake(node.args[0]).shape[-axes:], fake(node).shape[-axes:], _scales(node, axes))
    places = [(_places(one, *axis), _places_here(*axis, exact)) for axis in sizes]
    if all(theirs == ours for theirs, ours in places):
        how = '"round_prefer_ceil"' if exact else '"floor", coordinates = "asymmetric"'
        return _resize(w, node, axes, "nearest", f", rounding = {how}")
    x, first = w.operand(node.args[0]), fake(node).dim() - axes
    for axis, (theirs, _) in enumerate(places, first):
        x = w.let(f"gather({x}, tensor({literal(theirs)}, i64), axis = {axis})")
    return x


@row(*_forms(aten.upsample_nearest1d, aten.upsample_nearest2d, aten.upsample_nearest3d))
def nearest(w: Writer, node: Node) -> str:
    """`resize`; `gather` if PyTorch's rounding of positions selects other elements"""
    return _nearest(w, node, exact=False)


@row(*_forms(aten._upsample_nearest_exact1d, aten._upsample_nearest_exact2d, aten._upsample_nearest_exact3d))
def nearest_exact(w: Writer, node: Node) -> str:
    """`resize`; `gather` if PyTorch's rounding of positions selects other elements"""
    return _nearest(w, node, exact=True)


# --- indices that repeat elements -----------------------------------------------------------------------


def repeated_image(w: Writer, x: Any, indices: dict[int, Any], made: list[int]) -> str | None:
    """`resize` of an image or volume, where indices of its last axes are constants that take each element some times,
    one after the other, as those of nearest neighbours do. `made` is the shape of the result."""
    sizes, first, count = list(fake(x).shape), min(indices), len(indices)
    if (not fake(x).is_floating_point() or first < 2 or not 3 <= len(sizes) <= 5 or len(made) != len(sizes)
            or sorted(indices) != list(range(first, first + count))):
        return None
    for axis, index in indices.items():
        places, to = w.constant(index), made[axis]
        shape = [1] * (axis - first) + [to] + [1] * (first + count - 1 - axis)  # as tensors of several axes are spread
        if (places is None or places.dtype not in (torch.int32, torch.int64) or to == 0 or to % sizes[axis]
                or places.numel() != to or list(places.shape) != shape[count - places.dim():]
                or not torch.equal(places.flatten().long(), torch.arange(to) // (to // sizes[axis]))):
            return None
    return f'resize({w.operand(x)}, {literal(made[first:])}, "nearest", rounding = "floor", coordinates = "asymmetric")'
