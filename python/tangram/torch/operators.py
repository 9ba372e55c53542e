"""The translation of each operator of PyTorch's core set. A row is a function;
the first line of its docstring is the table's entry. Further rows are in elements.py, windows.py,
resize.py and indexing.py."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import Node

from . import indexing, resize, windows  # noqa: F401  rows of theirs
from .elements import bounded
from .rows import HANDLERS, PIECES, argument, aten, axes_of, decompositions, reshaped, row, table
from .windows import vector
from .writer import Handler, NotSupported, Writer, dtype_word, fake, literal

__all__ = ["HANDLERS", "decompositions", "table"]

# --- element by element -----------------------------------------------------------------------------

_UNARY = {
    "relu": aten.relu.default, "tanh": aten.tanh.default, "sigmoid": aten.sigmoid.default,
    "exp": aten.exp.default, "sqrt": aten.sqrt.default, "erf": aten.erf.default,
    "abs": aten.abs.default, "floor": aten.floor.default,
    "log": aten.log.default, "sin": aten.sin.default, "cos": aten.cos.default,
    "rsqrt": aten.rsqrt.default, "neg": aten.neg.default, "round": aten.round.default,
    "ceil": aten.ceil.default, "atan": aten.atan.default, "log1p": aten.log1p.default,
    "expm1": aten.expm1.default, "hardswish": aten.hardswish.default,
    "mish": aten.mish.default, "tan": aten.tan.default, "asin": aten.asin.default,
    "acos": aten.acos.default, "sinh": aten.sinh.default, "cosh": aten.cosh.default,
    "asinh": aten.asinh.default, "acosh": aten.acosh.default, "atanh": aten.atanh.default,
}
_BINARY = {
    "add": (aten.add.Tensor, aten.add.Scalar), "sub": (aten.sub.Tensor, aten.sub.Scalar),
    "mul": (aten.mul.Tensor, aten.mul.Scalar), "div": (aten.div.Tensor, aten.div.Scalar),
    "maximum": (aten.maximum.default,), "minimum": (aten.minimum.default,),
    "pow": (aten.pow.Tensor_Tensor, aten.pow.Tensor_Scalar),
}
_COMPARE = {
    "<": (aten.lt.Tensor, aten.lt.Scalar), "<=": (aten.le.Tensor, aten.le.Scalar),
    ">": (aten.gt.Tensor, aten.gt.Scalar), ">=": (aten.ge.Tensor, aten.ge.Scalar),
    "==": (aten.eq.Tensor, aten.eq.Scalar), "!=": (aten.ne.Tensor, aten.ne.Scalar),
}


def _unary(name: str) -> Handler:
    def handler(w: Writer, node: Node) -> str:
        return f"{name}({w.cast(node.args[0], fake(node).dtype)})"
    handler.__doc__ = f"`{name}`"
    return handler


def _binary(name: str) -> Handler:
    def handler(w: Writer, node: Node) -> str:
        a, b = (w.cast(arg, fake(node).dtype) for arg in node.args[:2])
        scale = node.kwargs.get("alpha", 1)
        if fake(node).dtype == torch.bool:
            return f"{a} {_OF_BOOL[name]} {b}" if name in _OF_BOOL and scale else a if name == "add" else _no_bool(node)
        for one, other in ((node.args[0], b), (node.args[1], a)) if name == "mul" else ():
            if (ones := w.constant(one)) is not None and ones.numel() > 1 and bool((ones == 1).all()):
                return f"broadcast({other}, {literal(list(fake(node).shape))})"
        if name == "pow" and node.args[1] in (2, 3, 4):
            return f"{a} ** {int(node.args[1])}"
        if scale != 1:
            b = f"{literal(scale)} * {b}"
        return f"{name}({a}, {b})"
    handler.__doc__ = f"`{name}`, of operands in the type of the result"
    return handler


#: Arithmetic of bool.
_OF_BOOL = {"add": "or", "mul": "and", "maximum": "or", "minimum": "and"}


def _no_bool(node: Node) -> str:
    raise NotSupported(f"{node.target} of bool")


def _compare(sign: str) -> Handler:
    def handler(w: Writer, node: Node) -> str:
        a, b = node.args[:2]
        kind = torch.result_type(*(fake(arg) if isinstance(arg, Node) else arg for arg in (a, b)))
        return f"{w.cast(a, kind)} {sign} {w.cast(b, kind)}"
    handler.__doc__ = f"`{sign}`, of operands in one type"
    return handler


for _name, _target in _UNARY.items():
    row(_target)(_unary(_name))
for _name, _targets in _BINARY.items():
    row(*_targets)(_binary(_name))
for _sign, _targets in _COMPARE.items():
    row(*_targets)(_compare(_sign))


@row(aten.reciprocal.default)
def reciprocal(w: Writer, node: Node) -> str:
    """`1 / x`"""
    return f"1.0 / {w.cast(node.args[0], fake(node).dtype)}"


@row(aten.sign.default)
def sign(w: Writer, node: Node) -> str:
    """`sign`, and 0 for a NaN"""
    x = w.cast(node.args[0], fake(node).dtype)
    return f"select({x} == {x}, sign({x}), 0.0)" if fake(node).is_floating_point() else f"sign({x})"


@row(aten.silu.default)
def silu(w: Writer, node: Node) -> str:
    """`x * sigmoid(x)`"""
    x = w.operand(node.args[0])
    return f"{x} * sigmoid({x})"


@row(aten.hardsigmoid.default)
def hardsigmoid(w: Writer, node: Node) -> str:
    """`relu6(x + 3) / 6`"""
    return f"relu6({w.operand(node.args[0])} + 3.0) / 6.0"


@row(aten.gelu.default)
def gelu(w: Writer, node: Node) -> str:
    """`gelu`; with `approximate='tanh'` its formula"""
    x = w.operand(node.args[0])
    if argument(node, "approximate", "none") == "none":
        return f"gelu({x})"
    scale = math.sqrt(2 / math.pi)
    return f"0.5 * {x} * (1.0 + tanh({scale!r} * ({x} + 0.044715 * {x} ** 3)))"


@row(aten.hardtanh.default, aten.clamp.default)
def clip(w: Writer, node: Node) -> str:
    """`clip`; `relu6` from 0 to 6, `relu` from 0; `maximum` and `minimum` for integers"""
    hard = node.target is aten.hardtanh.default
    low = argument(node, "min_val" if hard else "min")
    high = argument(node, "max_val" if hard else "max")
    if not fake(node).is_floating_point() or not fake(node.args[0]).is_floating_point():
        return bounded(w, node, low, high)
    x = w.operand(node.args[0])
    if low == 0 and high == 6:
        return f"relu6({x})"
    if low == 0 and high is None:
        return f"relu({x})"
    bounds = [-math.inf if low is None else float(low), math.inf if high is None else float(high)]
    return f"clip({x}, {literal(bounds[0])}, {literal(bounds[1])})"


@row(aten.leaky_relu.default)
def leaky_relu(w: Writer, node: Node) -> str:
    """`leaky_relu`"""
    return f"leaky_relu({w.operand(node.args[0])}, {literal(float(argument(node, 'negative_slope')))})"


@row(aten.elu.default)
def elu(w: Writer, node: Node) -> str:
    """`elu`"""
    x = w.operand(node.args[0])
    alpha, scale, within = (float(argument(node, name)) for name in ("alpha", "scale", "input_scale"))
    if within == 1:
        return f"elu({x}, {literal(alpha)})" + (f" * {literal(scale)}" if scale != 1 else "")
    return f"select({x} > 0, {x}, {literal(alpha)} * expm1({x} * {literal(within)})) * {literal(scale)}"


@row(aten.where.self)
def where(w: Writer, node: Node) -> str:
    """`select`"""
    kind = fake(node).dtype
    return f"select({w.operand(node.args[0])}, {w.cast(node.args[1], kind)}, {w.cast(node.args[2], kind)})"


@row(aten.masked_fill.Scalar, aten.masked_fill.Tensor)
def masked_fill(w: Writer, node: Node) -> str:
    """`select`"""
    x, mask, value = node.args
    return f"select({w.operand(mask)}, {w.cast(value, fake(node).dtype)}, {w.operand(x)})"


@row(aten._to_copy.default)
def to_copy(w: Writer, node: Node) -> str:
    """`cast`, or nothing"""
    return w.cast(node.args[0], fake(node).dtype)


@row(aten.clone.default, aten.alias.default, aten.detach.default, aten.lift_fresh_copy.default,
     aten.contiguous.default, aten.dropout.default)
def same(w: Writer, node: Node) -> str:
    """its operand"""
    if node.target is aten.dropout.default and argument(node, "train"):
        raise NotSupported("dropout in training")
    return w.operand(node.args[0])


# --- products ---------------------------------------------------------------------------------------

@row(aten.mm.default, aten.bmm.default, aten.matmul.default)
def matmul(w: Writer, node: Node) -> str:
    """`@`; vectors get an axis of size 1"""
    a, b = (w.operand(arg) for arg in node.args)
    if fake(node.args[0]).dim() == 1:
        a = f"reshape({a}, [1, -1])"
    if fake(node.args[1]).dim() == 1:
        b = f"reshape({b}, [-1, 1])"
    flat = min(fake(arg).dim() for arg in node.args) < 2
    return f"reshape({a} @ {b}, {literal(list(fake(node).shape))})" if flat else f"{a} @ {b}"


@row(aten.addmm.default, aten.baddbmm.default)
def addmm(w: Writer, node: Node) -> str:
    """`a @ b + c`, each with its factor"""
    c, a, b = (w.operand(arg) for arg in node.args)
    product, (alpha, beta) = f"{a} @ {b}", (node.kwargs.get(name, 1) for name in ("alpha", "beta"))
    kind = float if fake(node).is_floating_point() else int
    if alpha != 1:
        product = f"{literal(kind(alpha))} * ({product})"
    return product if beta == 0 else f"{product} + {c}" + (f" * {literal(kind(beta))}" if beta != 1 else "")


@row(aten.linear.default)
def linear(w: Writer, node: Node) -> str:
    """`x @ transpose(w) + b`; vectors get an axis of size 1"""
    x, weight = (w.operand(arg) for arg in node.args[:2])
    if fake(node.args[0]).dim() == 1:
        x = f"reshape({x}, [1, -1])"
    if fake(node.args[1]).dim() == 1:
        weight = f"reshape({weight}, [1, -1])"
    product = f"{x} @ transpose({weight})"
    if min(fake(arg).dim() for arg in node.args[:2]) < 2:
        product = w.let(f"reshape({product}, {literal(list(fake(node).shape))})")
    bias = argument(node, "bias")
    return product if bias is None else f"{product} + {w.operand(bias)}"


@row(aten.convolution.default)
def convolution(w: Writer, node: Node) -> str:
    """`conv2d`, also for one axis with an added axis of size 1; `conv_transpose2d`; `conv3d`"""
    x, kernel = node.args[:2]
    bias = argument(node, "bias")
    flat, axes = fake(x).dim() == 3, fake(x).dim() - 2
    stride, pad, dilation, outer = (([0] if name in ("padding", "output_padding") else [1]) * flat
                                    + per_axis(list(argument(node, name)), axes)
                                    for name in ("stride", "padding", "dilation", "output_padding"))
    if len(stride) != 2 and (len(stride) != 3 or argument(node, "transposed")):
        raise NotSupported(f"a convolution of {len(stride)} axes, transposed or not")
    options = f"stride = {stride}, pad = {pad}, dilation = {dilation}"
    operands = [_image(w, x), _image(w, kernel)] + ([f"bias = {w.operand(bias)}"] if bias is not None else [])
    name = f"conv{len(stride)}d"
    if argument(node, "transposed"):
        name = "conv_transpose2d"
        options += f", output_padding = {outer}, groups = {argument(node, 'groups')}"
    result = f"{name}({', '.join(operands)}, {options})"
    return f"reshape({result}, {literal(list(fake(node).shape))})" if flat else result


def per_axis(numbers: list[int], axes: int) -> list[int]:
    """A single number applies to all axes, as in `padding="valid"`."""
    return numbers * axes if len(numbers) == 1 else numbers


def _image(w: Writer, arg: Node) -> str:
    """Inserts an axis of size 1 before the last if there are three axes."""
    sizes = list(fake(arg).shape)
    if len(sizes) != 3:
        return w.operand(arg)
    return f"reshape({w.operand(arg)}, {literal([*sizes[:2], 1, sizes[2]])})"


def attention(w: Writer, q: Node, k: Node, v: Node, mask: Any, causal: bool, scale: float | None) -> str:
    query, key = fake(q), fake(k)
    keys, values = _expand_heads(w, k, query), _expand_heads(w, v, query)
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = w.let(f"{literal(float(scale))} * ({w.operand(q)} @ transpose({keys}))")
    if causal:
        sizes = literal([query.shape[-2], key.shape[-2]])
        seen = w.let(f"iota({sizes}, i32, axis = 1) <= iota({sizes}, i32, axis = 0)")
        scores = w.let(f"select({seen}, {scores}, -inf)")
    if mask is not None and fake(mask).dtype == torch.bool:
        scores = w.let(f"select({w.operand(mask)}, {scores}, -inf)")
    elif mask is not None:
        scores = w.let(f"{scores} + {w.operand(mask)}")
    found = f"softmax({scores}) @ {values}"
    return found if mask is None else f"select({_rows_with_visible_keys(w, mask)}, {w.let(found)}, 0.0)"


def _rows_with_visible_keys(w: Writer, mask: Node) -> str:
    """Returns for each row of scores whether the mask leaves an element: otherwise PyTorch's attention gives
    zeros."""
    axes = literal([fake(mask).dim() - 1])
    if fake(mask).dtype == torch.bool:
        return w.let(f"cast(reduce_max(cast({w.operand(mask)}, i32), axes = {axes}, keepdims = true), bool)")
    return w.let(f"reduce_max({w.operand(mask)}, axes = {axes}, keepdims = true) > -inf")


def _expand_heads(w: Writer, x: Node, query: torch.Tensor) -> str:
    """Expands keys or values [.., heads, S, D] that several consecutive heads of the queries share."""
    sizes = list(fake(x).shape)
    if sizes[:-2] == list(query.shape[:-2]):
        return w.operand(x)
    if sizes[:-3] != list(query.shape[:-3]) or query.shape[-3] % sizes[-3]:
        raise NotSupported("attention over batches of different sizes")
    wide = [*sizes[:-2], query.shape[-3] // sizes[-3], *sizes[-2:]]
    apart = f"reshape({w.operand(x)}, {literal([*sizes[:-2], 1, *sizes[-2:]])})"
    return w.let(f"reshape(broadcast({apart}, {literal(wide)}), {literal([*query.shape[:-2], *sizes[-2:]])})")


@row(aten.scaled_dot_product_attention.default, aten._scaled_dot_product_flash_attention_for_cpu.default)
def scaled_dot_product_attention(w: Writer, node: Node) -> str:
    """`softmax(scale * (q @ transpose(k)) + mask) @ v`; zeros for a fully masked row"""
    if argument(node, "dropout_p", 0):
        raise NotSupported("attention with dropout")
    q, k, v = node.args[:3]
    return attention(w, q, k, v, argument(node, "attn_mask"), argument(node, "is_causal"),
                     argument(node, "scale"))


# --- windows and norms --------------------------------------------------------------------------------

@row(aten.max_pool2d.default, aten.max_pool2d_with_indices.default)
def max_pool(w: Writer, node: Node) -> str:
    """`max_pool2d`"""
    if set(argument(node, "dilation")) != {1}:
        raise NotSupported("max pooling with dilation")
    kernel, stride, _, edges = _windows(node)  # padding is never the maximum
    return f"max_pool2d({w.operand(node.args[0])}, {kernel}, {stride}, {edges})"


@row(aten.avg_pool2d.default)
def avg_pool(w: Writer, node: Node) -> str:
    """`avg_pool2d`"""
    kernel, stride, pad, edges = _windows(node)
    counted, divisor = bool(argument(node, "count_include_pad")), argument(node, "divisor_override")
    if edges[2:] != pad and (divisor is not None or counted and any(pad)):
        raise NotSupported("average pooling whose last windows extend beyond the padding and count it")
    # Windows that extend beyond the image count the elements inside it.
    counted = (counted or divisor is not None) and edges[2:] == pad
    result = f"avg_pool2d({w.operand(node.args[0])}, {kernel}, {stride}, {edges}, {literal(counted)})"
    return result if divisor is None else f"{result} * {math.prod(kernel) / divisor!r}"


def _windows(node: Node) -> tuple[list[int], list[int], list[int], list[int]]:
    """Returns kernel, stride, padding, and padding of all edges: with ceil_mode a last window may extend
    beyond it."""
    kernel, stride, pad = (list(argument(node, name)) for name in ("kernel_size", "stride", "padding"))
    kernel, stride, pad = ((sizes * 2)[:2] for sizes in (kernel, stride or kernel, pad))
    beyond = [max(0, (rows - 1) * step + window - size - 2 * edge)
              for rows, step, window, size, edge in zip(
                  fake(node).shape[-2:], stride, kernel, fake(node.args[0]).shape[-2:], pad)]
    return kernel, stride, pad, [*pad, pad[0] + beyond[0], pad[1] + beyond[1]]


@row(aten._native_batch_norm_legit_no_training.default)
def batch_norm(w: Writer, node: Node) -> str:
    """`batch_norm`"""
    x, scale, shift, mean, variance = node.args[:5]
    count = fake(x).shape[1]
    operands = ", ".join([w.operand(x), vector(w, scale, x, count, 1.0), vector(w, shift, x, count, 0.0),
                          vector(w, mean, x, count, 0.0), vector(w, variance, x, count, 1.0)])
    return f"batch_norm({operands}, eps = {literal(float(argument(node, 'eps')))})"


@row(aten._softmax.default, aten.softmax.int)
def softmax(w: Writer, node: Node) -> str:
    """`softmax`"""
    return f"softmax({w.cast(node.args[0], fake(node).dtype)}, axis = {node.args[1]})"


@row(aten._log_softmax.default)
def log_softmax(w: Writer, node: Node) -> str:
    """`x - max - log(sum(exp(x - max)))`"""
    x, axes = w.operand(node.args[0]), literal([node.args[1]])
    below = w.let(f"{x} - reduce_max({x}, axes = {axes}, keepdims = true)")
    return f"{below} - log(reduce_sum(exp({below}), axes = {axes}, keepdims = true))"


# --- along axes -----------------------------------------------------------------------------------------

def _reduce(name: str, dims: str) -> Handler:
    def handler(w: Writer, node: Node) -> str:
        x = node.args[0]
        axes = axes_of(argument(node, dims), fake(x).dim())
        keep = literal(bool(argument(node, "keepdim", False)))
        flags = fake(node).dtype == torch.bool  # the largest of which is found among numbers
        result = f"{name}({w.cast(x, torch.int32 if flags else fake(node).dtype)}, axes = {axes}, keepdims = {keep})"
        return f"cast({result}, bool)" if flags else result
    handler.__doc__ = f"`{name}`"
    return handler


row(aten.mean.dim, aten.mean.default)(_reduce("reduce_mean", "dim"))
row(aten.sum.dim_IntList, aten.sum.default)(_reduce("reduce_sum", "dim"))
row(aten.amax.default, aten.max.default)(_reduce("reduce_max", "dim"))
row(aten.amin.default, aten.min.default)(_reduce("reduce_min", "dim"))


@row(aten.cumsum.default)
def cumsum(w: Writer, node: Node) -> str:
    """`cumsum`"""
    return f"cumsum({w.cast(node.args[0], fake(node).dtype)}, axis = {node.args[1]})"


# --- layout -----------------------------------------------------------------------------------------------

@row(aten.view.default, aten._unsafe_view.default, aten.reshape.default, aten.unsqueeze.default,
     aten.squeeze.dim, aten.squeeze.dims, aten.squeeze.default, aten.flatten.using_ints)
def reshape(w: Writer, node: Node) -> str:
    """`reshape`"""
    return reshaped(w, node)


@row(aten.view_as_real.default)
def view_as_real(w: Writer, node: Node) -> str:
    """only for constants: computed when the graph is compiled"""
    return w.value_of_other_model(node)


@row(aten.as_strided.default)
def as_strided(w: Writer, node: Node) -> str:
    """`reshape`, if it only adds or drops axes of size 1"""
    def steps(value: torch.Tensor) -> list[tuple[int, int]]:
        return [pair for pair in zip(value.shape, value.stride()) if pair[0] != 1]
    x = fake(node.args[0])
    if steps(x) != steps(fake(node)) or argument(node, "storage_offset") not in (None, x.storage_offset()):
        raise NotSupported("as_strided that reads other elements, or in another order")
    return reshaped(w, node)


@row(aten.permute.default)
def permute(w: Writer, node: Node) -> str:
    """`transpose`"""
    rank = fake(node).dim()
    return f"transpose({w.operand(node.args[0])}, perm = {[axis % rank for axis in node.args[1]]})"


@row(aten.transpose.int, aten.t.default)
def transpose(w: Writer, node: Node) -> str:
    """`transpose`"""
    rank = fake(node).dim()
    if rank < 2:
        return w.operand(node.args[0])
    perm = list(range(rank))
    a, b = node.args[1:] if len(node.args) == 3 else (0, rank - 1)
    perm[a], perm[b] = perm[b], perm[a]
    return f"transpose({w.operand(node.args[0])}, perm = {perm})"


@row(aten.expand.default)
def expand(w: Writer, node: Node) -> str:
    """`broadcast`"""
    x, shape = node.args[0], fake(node).shape
    return w.operand(x) if fake(x).shape == shape else f"broadcast({w.operand(x)}, {literal(list(shape))})"


@row(aten.slice.Tensor)
def slice_(w: Writer, node: Node) -> str:
    """an index `x[start:stop:step]`"""
    x, axis = node.args[0], argument(node, "dim", 0)
    size = fake(x).shape[axis]
    start, stop = argument(node, "start"), argument(node, "end")
    first, last, step = slice(start, stop, argument(node, "step", 1)).indices(size)
    if (first, last, step) == (0, size, 1):
        return w.operand(x)
    return _indexed(w, x, axis, f"{first}:{last}" + (f":{step}" if step != 1 else ""))


@row(aten.select.int)
def select(w: Writer, node: Node) -> str:
    """an index `x[i]`"""
    x, axis, place = node.args
    return _indexed(w, x, axis, str(place % fake(x).shape[axis]))


def _indexed(w: Writer, x: Node, axis: int, index: str) -> str:
    return f"{w.operand(x)}[{', '.join([':'] * (axis % fake(x).dim()) + [index])}]"


@row(aten.cat.default)
def cat(w: Writer, node: Node) -> str:
    """`concat` of the operands that have elements"""
    parts = ", ".join(w.cast(arg, fake(node).dtype) for arg in node.args[0] if fake(arg).numel())
    return f"concat([{parts}], axis = {argument(node, 'dim', 0)})"


@row(aten.constant_pad_nd.default)
def pad(w: Writer, node: Node) -> str:
    """`pad`; an index for negative sizes"""
    sizes, shape = list(node.args[1]), list(fake(node.args[0]).shape)
    before, after = [0] * len(shape), [0] * len(shape)
    for place in range(len(sizes) // 2):
        before[-1 - place], after[-1 - place] = sizes[2 * place], sizes[2 * place + 1]
    text = w.operand(node.args[0])
    if min(sizes) < 0:
        within = (f"{max(0, -low)}:{size - max(0, -high)}" for low, high, size in zip(before, after, shape))
        text = f"{text}[{', '.join(within)}]"
    kind = float if fake(node).is_floating_point() else int
    value = kind(argument(node, "value", 0) or 0)
    before, after = ([max(0, size) for size in side] for side in (before, after))
    return f"pad({text}, {before}, {after}, {literal(value)})" if any(before + after) else text


@row(aten.embedding.default)
def embedding(w: Writer, node: Node) -> str:
    """`gather`"""
    return f"gather({w.operand(node.args[0])}, {w.operand(node.args[1])})"


@row(aten.index_select.default)
def index_select(w: Writer, node: Node) -> str:
    """`gather`; `resize` if constants repeat each element of an image"""
    x, axis, places = node.args
    axis %= fake(x).dim()
    image = resize.repeated_image(w, x, {axis: places}, list(fake(node).shape))
    return image or f"gather({w.operand(x)}, {w.operand(places)}, axis = {axis})"


@row(aten.full_like.default, aten.zeros_like.default, aten.ones_like.default, aten.full.default)
def full(w: Writer, node: Node) -> str:
    """`full`"""
    value = {aten.zeros_like.default: 0, aten.ones_like.default: 1}.get(node.target)
    value = node.args[1] if value is None else value
    made = fake(node)
    number = literal(float(value) if made.dtype.is_floating_point else value)
    return f"full({literal(list(made.shape))}, {number}, {dtype_word(made.dtype)})"


@row(aten.split_with_sizes.default, aten.split.Tensor, aten.chunk.default, aten.unsafe_split.Tensor)
def split(w: Writer, node: Node) -> str:
    """indices `x[start:stop]`, one for each piece"""
    return w.operand(node.args[0])


@row(operator.getitem)
def piece(w: Writer, node: Node) -> str:
    """an output, or a piece of a split"""
    source, place = node.args
    if source.target in PIECES:
        return PIECES[source.target](w, source, place)
    if HANDLERS.get(source.target) is not split:
        if place != 0:
            raise NotSupported(f"output {place} of {source.target}")
        return w.operand(source)
    axis = argument(source, "dim", 0)
    sizes = [part.shape[axis] for part in source.meta["val"]]
    first = sum(sizes[:place])
    return _indexed(w, source.args[0], axis, f"{first}:{first + sizes[place]}")
