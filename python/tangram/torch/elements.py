"""Rows of elementwise operators that the language does not have by name, and of operators that reduce
or sort along axes."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.fx import Node

from .rows import argument, aten, axes_of, pieces, row
from .writer import Handler, NotSupported, Writer, dtype_word, fake, literal

# --- of bool ------------------------------------------------------------------------------------------


def _logical(sign: str) -> Handler:
    def handler(w: Writer, node: Node) -> str:
        if fake(node).dtype != torch.bool:
            raise NotSupported(f"{node.target} of integers")
        a, b = (w.cast(arg, torch.bool) if isinstance(arg, Node) else literal(bool(arg)) for arg in node.args)
        return f"{a} {sign} {b}"
    handler.__doc__ = f"`{sign}`, of bool"
    return handler


row(aten.logical_and.default, aten.bitwise_and.Tensor, aten.bitwise_and.Scalar)(_logical("and"))
row(aten.logical_or.default, aten.bitwise_or.Tensor, aten.bitwise_or.Scalar)(_logical("or"))
row(aten.logical_xor.default, aten.bitwise_xor.Tensor, aten.bitwise_xor.Scalar)(_logical("!="))


@row(aten.logical_not.default)
def logical_not(w: Writer, node: Node) -> str:
    """`logical_not`"""
    return f"logical_not({w.cast(node.args[0], torch.bool)})"


@row(aten.bitwise_not.default)
def bitwise_not(w: Writer, node: Node) -> str:
    """`logical_not`, of bool"""
    if fake(node).dtype != torch.bool:
        raise NotSupported("bitwise_not of integers")
    return f"logical_not({w.operand(node.args[0])})"


@row(aten.isnan.default)
def isnan(w: Writer, node: Node) -> str:
    """`x != x`"""
    x = w.operand(node.args[0])
    return f"{x} != {x}"


@row(aten.isinf.default)
def isinf(w: Writer, node: Node) -> str:
    """`abs(x) == inf`"""
    x = w.operand(node.args[0])
    return f"abs({x}) == inf" if fake(node.args[0]).is_floating_point() else f"{x} != {x}"


# --- of numbers ---------------------------------------------------------------------------------------


def _logarithm(base: int) -> Handler:
    def handler(w: Writer, node: Node) -> str:
        return f"log({w.cast(node.args[0], fake(node).dtype)}) * {1 / math.log(base)!r}"
    handler.__doc__ = f"`log(x) / log({base})`"
    return handler


row(aten.log2.default)(_logarithm(2))
row(aten.log10.default)(_logarithm(10))


@row(aten.pow.Scalar)
def power(w: Writer, node: Node) -> str:
    """`pow`"""
    kind = fake(node).dtype
    return f"pow({w.cast(node.args[0], kind)}, {w.cast(node.args[1], kind)})"


@row(aten.exp2.default)
def exp2(w: Writer, node: Node) -> str:
    """`pow(2, x)`"""
    return f"pow(2.0, {w.cast(node.args[0], fake(node).dtype)})"


@row(aten.atan2.default)
def atan2(w: Writer, node: Node) -> str:
    """`atan(abs(y) / abs(x))`, in the quadrant of the signs, including those of zeros"""
    y, x = _operands(w, node)
    high, wide = w.let(f"abs({y})"), w.let(f"abs({x})")
    same = w.let(f"select({wide} == 0, 0.0, {math.pi / 4!r})")  # also if both are infinite
    angle = w.let(f"select({high} == {wide}, {same}, atan({high} / {wide}))")
    below = [f"{one} < 0 or {one} == 0 and 1.0 / {one} < 0" for one in (x, y)]
    angle = w.let(f"select({below[0]}, {math.pi!r} - {angle}, {angle})")
    return f"select({below[1]}, neg({angle}), {angle})"


@row(aten.trunc.default)
def trunc(w: Writer, node: Node) -> str:
    """`ceil` below 0, else `floor`"""
    return _towards_zero(w, w.operand(node.args[0]))


def _towards_zero(w: Writer, text: str) -> str:
    x = w.let(text)
    return f"select({x} < 0, ceil({x}), floor({x}))"


def _operands(w: Writer, node: Node) -> tuple[str, str]:
    a, b = (w.cast(arg, fake(node).dtype) for arg in node.args[:2])
    return a, b


@row(aten.remainder.Tensor, aten.remainder.Scalar)
def remainder(w: Writer, node: Node) -> str:
    """`mod`"""
    a, b = _operands(w, node)
    return f"mod({a}, {b})"


@row(aten.fmod.Tensor, aten.fmod.Scalar)
def fmod(w: Writer, node: Node) -> str:
    """`mod` of absolute values, with the sign of the first"""
    a, b = _operands(w, node)
    rest = w.let(f"mod(abs({a}), abs({b}))")
    return f"select({a} < 0, neg({rest}), {rest})"


@row(aten.div.Tensor_mode, aten.div.Scalar_mode, aten.floor_divide.default)
def div_mode(w: Writer, node: Node) -> str:
    """`div` for integers, which rounds down, corrected by signs to round towards 0; `round((a - mod(a, b)) / b)` for floats"""
    mode = "floor" if node.target is aten.floor_divide.default else node.kwargs.get("rounding_mode")
    a, b = _operands(w, node)
    whole = not fake(node).is_floating_point()
    if mode is None:
        return f"{a} / {b}"
    if mode == "floor":
        return f"{a} / {b}" if whole else f"select({b} == 0, {a} / {b}, round(({a} - mod({a}, {b})) / {b}))"
    return f"sign({a}) * sign({b}) * (abs({a}) / abs({b}))" if whole else _towards_zero(w, f"{a} / {b}")


@row(aten.clamp.Tensor)
def clamp(w: Writer, node: Node) -> str:
    """`maximum` and `minimum`"""
    return bounded(w, node, argument(node, "min"), argument(node, "max"))


def bounded(w: Writer, node: Node, low: Any, high: Any) -> str:
    """Clamps between numbers or tensors, in the type of the result."""
    kind = fake(node).dtype
    text = w.cast(node.args[0], kind)
    for name, bound in (("maximum", low), ("minimum", high)):
        if bound is not None:
            text = f"{name}({text}, {w.cast(bound, kind)})"
    return text


@row(aten.softplus.default)
def softplus(w: Writer, node: Node) -> str:
    """`softplus(beta * x) / beta`, and x itself beyond the threshold"""
    x = w.operand(node.args[0])
    beta, threshold = float(argument(node, "beta")), float(argument(node, "threshold"))
    text = f"softplus({x})" if beta == 1 else f"softplus({x} * {beta!r}) / {beta!r}"
    # From 20 on, the added term is below the last digit of f32.
    if beta == 1 and threshold >= 20 and fake(node).dtype == torch.float32:
        return text
    return f"select({x} * {beta!r} > {threshold!r}, {x}, {text})"


@row(aten.copy.default)
def copy(w: Writer, node: Node) -> str:
    """`broadcast`"""
    made = fake(node)
    return f"broadcast({w.cast(node.args[1], made.dtype)}, {literal(list(made.shape))})"


@row(aten.fill.Scalar)
def fill(w: Writer, node: Node) -> str:
    """`full`"""
    made = fake(node)
    return f"full({literal(list(made.shape))}, {w.cast(node.args[1], made.dtype)}, {dtype_word(made.dtype)})"


# --- along axes ---------------------------------------------------------------------------------------


def _dims(node: Node) -> tuple[list[int], str]:
    """Returns the axes, and whether they are kept."""
    axes = axes_of(argument(node, "dim"), fake(node.args[0]).dim())
    return axes, literal(bool(argument(node, "keepdim", False)))


@row(aten.any.default, aten.any.dim, aten.any.dims)
def any_of(w: Writer, node: Node) -> str:
    """`reduce_max` of zeros and ones"""
    axes, keep = _dims(node)
    flags = w.cast(node.args[0], torch.bool)
    return f"cast(reduce_max(cast({flags}, i32), axes = {axes}, keepdims = {keep}), bool)"


@row(aten.prod.default, aten.prod.dim_int)
def prod(w: Writer, node: Node) -> str:
    """`reduce_prod`"""
    axes, keep = _dims(node)
    return f"reduce_prod({w.cast(node.args[0], fake(node).dtype)}, axes = {axes}, keepdims = {keep})"


def _variance(w: Writer, node: Node) -> tuple[str, str]:
    """Returns the means over the axes, and the variance."""
    x, (axes, keep) = w.operand(node.args[0]), _dims(node)
    correction = argument(node, "correction")
    count = math.prod(fake(node.args[0]).shape[axis] for axis in axes)
    rest = count - (1 if correction is None else correction)
    if rest <= 0:
        raise NotSupported("a variance of too few elements")
    mean = w.let(f"reduce_mean({x}, axes = {axes}, keepdims = true)")
    off = w.let(f"{x} - {mean}")
    return mean, f"reduce_mean({off} * {off}, axes = {axes}, keepdims = {keep}) * {count / rest!r}"


@row(aten.var.correction)
def var(w: Writer, node: Node) -> str:
    """`reduce_mean` of squares"""
    return _variance(w, node)[1]


@pieces(aten.var_mean.correction)
def var_mean(w: Writer, node: Node, place: int) -> str:
    """`reduce_mean` of the elements, and of their squares"""
    mean, variance = _variance(w, node)
    return variance if place == 0 else f"reshape({mean}, {literal(list(node.meta['val'][1].shape))})"


def _first_extreme_index(w: Writer, x: Node, axis: int | None, keep: bool, largest: bool) -> str:
    """Returns the index of the largest or smallest element; the first of equal ones,
    and a NaN counts as either."""
    shape = list(fake(x).shape)
    text = _ordinal(w, x)
    if axis is None:
        text = w.let(f"reshape({text}, [-1])")
    at = 0 if axis is None else axis % len(shape)
    if not largest and fake(x).is_floating_point():
        text = f"neg({text})"  # the smallest integer has no negation
    if largest or fake(x).is_floating_point():
        found = f"argmax({text}, axis = {at}, keepdims = {literal(keep and axis is not None)})"
    else:
        found = w.let(f"top_k({text}, axis = {at}, k = 1, largest = false)")
        rest = shape[:at] + [1] * keep + shape[at + 1:] if axis is not None else []
        found = f"reshape({found}, {literal(rest)})"
    return f"reshape({found}, {literal([1] * len(shape))})" if axis is None and keep else found


@row(aten.argmax.default)
def argmax(w: Writer, node: Node) -> str:
    """`argmax`"""
    return _first_extreme_index(w, node.args[0], argument(node, "dim"), bool(argument(node, "keepdim")), True)


@row(aten.argmin.default)
def argmin(w: Writer, node: Node) -> str:
    """`argmax(-x)`; `top_k` for integers"""
    return _first_extreme_index(w, node.args[0], argument(node, "dim"), bool(argument(node, "keepdim")), False)


def _extreme(name: str) -> Any:
    def piece(w: Writer, node: Node, place: int) -> str:
        x, axis = node.args[:2]
        keep = bool(argument(node, "keepdim"))
        if place == 1:
            return _first_extreme_index(w, x, axis, keep, name == "reduce_max")
        found = f"{name}({_ordinal(w, x)}, axes = [{axis}], keepdims = {literal(keep)})"
        return f"cast({found}, bool)" if fake(x).dtype == torch.bool else found
    piece.__doc__ = f"`{name}`, with the index of `aten.arg{name[-3:]}`"
    return piece


pieces(aten.max.dim)(_extreme("reduce_max"))
pieces(aten.min.dim)(_extreme("reduce_min"))


@pieces(aten.topk.default)
def topk(w: Writer, node: Node, place: int) -> str:
    """`top_k`, and `gather` over all axes joined"""
    return _ordered(w, node, argument(node, "dim"), argument(node, "k"), bool(argument(node, "largest")), place)


@pieces(aten.sort.default, aten.sort.stable)
def sort(w: Writer, node: Node, place: int) -> str:
    """`top_k` of all elements, and `gather` over all axes joined"""
    axis = argument(node, "dim")
    return _ordered(w, node, axis, fake(node).shape[axis], bool(argument(node, "descending")), place)


def _ordered(w: Writer, node: Node, axis: int, k: int, largest: bool, place: int) -> str:
    x = node.args[0]
    options = f"axis = {axis}, k = {k}, largest = {literal(largest)}"
    places = f"top_k({_ordinal(w, x)}, {options})"
    return places if place == 1 else along(w, x, axis, w.let(places), list(fake(node).shape))


def _ordinal(w: Writer, x: Node) -> str:
    """Converts to a type with an order: bool becomes numbers."""
    return w.cast(x, torch.int32 if fake(x).dtype == torch.bool else fake(x).dtype)


def along(w: Writer, x: Node, axis: int, places: str, shape: list[int]) -> str:
    """Returns the elements of x at places along an axis, of the same rank; places are not negative."""
    flat = w.let(f"reshape({w.operand(x)}, [-1])")
    return f"gather({flat}, {flat_places(w, list(fake(x).shape), axis, places, shape)})"


def flat_places(w: Writer, sizes: list[int], axis: int, places: str, shape: list[int]) -> str:
    """Returns the same places, counted over all axes of a tensor of these sizes."""
    steps = [places if at == axis % len(sizes) else f"iota({literal(shape)}, i64, axis = {at})"
             for at in range(len(sizes))]
    return linear(w, steps, sizes)


def linear(w: Writer, steps: list[str], sizes: list[int]) -> str:
    """Returns one index for several axes."""
    place = steps[0]
    for step, size in zip(steps[1:], sizes[1:]):
        place = w.let(f"{place} * {size} + {step}")
    return place


def from_end_indices(w: Writer, indices: Node, size: int) -> str:
    """Converts negative indices, which count from the end."""
    text = w.cast(indices, torch.int64)
    return w.let(f"select({text} < 0, {text} + {size}, {text})")
