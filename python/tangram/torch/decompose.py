"""Decompositions of operators without a row into operators with one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch._decomp import get_decompositions

from . import quantized

aten = torch.ops.aten


def encoder_layer(x: Any, width: int, heads: int, qkv: Any, qkv_bias: Any, out: Any, out_bias: Any, gelu: bool,
                  norm_first: bool, eps: float, scale1: Any, shift1: Any, scale2: Any, shift2: Any, up: Any,
                  up_bias: Any, down: Any, down_bias: Any, mask: Any = None, mask_type: int | None = None) -> Any:
    """products, softmax and norms of TransformerEncoderLayer, whose fast path is one operator"""
    batch, count, _ = x.shape

    def attention(y: Any) -> Any:
        parts = aten.linear(y, qkv, qkv_bias).reshape(batch, count, 3, heads, width // heads)
        q, k, v = (parts.select(2, place).transpose(1, 2) for place in range(3))
        scores = (q * (1 / math.sqrt(width // heads))) @ k.transpose(-1, -2)
        if mask is not None:  # true, or not 0, where attention is masked: [S, S], [N, S] or [N, heads, S, S]
            hidden = mask.to(torch.bool)
            hidden = hidden.reshape(batch, 1, 1, count) if mask_type == 1 else hidden
            scores = scores.masked_fill(hidden, -math.inf)
        found = torch.softmax(scores, -1) @ v
        return aten.linear(found.transpose(1, 2).reshape(batch, count, width), out, out_bias)

    def forward(y: Any) -> Any:
        wide = aten.linear(y, up, up_bias)
        return aten.linear(aten.gelu(wide) if gelu else aten.relu(wide), down, down_bias)

    def norm(y: Any, scale: Any, shift: Any) -> Any:
        return aten.native_layer_norm(y, [width], scale, shift, eps)[0]

    if norm_first:
        x = x + attention(norm(x, scale1, shift1))
        return x + forward(norm(x, scale2, shift2))
    x = norm(x + attention(x), scale1, shift1)
    return norm(x + forward(x), scale2, shift2)


def lstm_layer(x: Any, w_x: Any, w_h: Any, b_x: Any, b_h: Any, h: Any, c: Any, reverse: bool, batch_sizes: Any,
               mode: int, hidden_size: int, num_layers: int, has_biases: bool, bidirectional: bool,
               batch_first: bool, train: bool) -> Any:
    """products and gates of each step of an LSTM, which is one operator on CPUs"""
    lstm = 2
    if mode != lstm or num_layers != 1 or bidirectional or batch_first or train or batch_sizes:
        return NotImplemented
    steps = range(x.shape[0])
    gates, h, c, found = aten.linear(x, w_x, b_x), h[0], c[0], []
    for step in reversed(steps) if reverse else steps:
        i, f, g, o = (gates[step] + aten.linear(h, w_h, b_h)).chunk(4, -1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        found.append(h)
    return torch.stack(found[::-1] if reverse else found), h.unsqueeze(0), c.unsqueeze(0), x.new_zeros(0)


def cdist(x: Any, y: Any, p: float, compute_mode: int | None) -> Any:
    """norms of differences of rows; for many rows through a product, as in PyTorch"""
    if not x.numel() or not y.numel():  # PyTorch cannot trace some norms of empty tensors
        return NotImplemented
    if p == 2 and compute_mode != 2 and (compute_mode == 1 or max(x.shape[-2], y.shape[-2]) > 25):
        squares = (x * x).sum(-1, True) + (y * y).sum(-1, True).transpose(-1, -2)
        return (squares - 2 * (x @ y.transpose(-1, -2))).clamp(min=0).sqrt()
    return torch.linalg.vector_norm(x.unsqueeze(-2) - y.unsqueeze(-3), p, -1)


def pdist(x: Any, p: float = 2) -> Any:
    """`gather` of each pair of rows, and norms of their differences"""
    if x.shape[0] < 2 or not x.numel():
        return NotImplemented
    first, second = torch.triu_indices(x.shape[0], x.shape[0], 1)
    return torch.linalg.vector_norm(x[first] - x[second], p, -1)


def embedding_bag(weight: Any, indices: Any, offsets: Any, scale_grad_by_freq: bool = False, mode: int = 0,
                  sparse: bool = False, per_sample_weights: Any = None, include_last_offset: bool = False,
                  padding_idx: int = -1) -> Any:
    """`gather`, and `scatter` that adds or takes the largest; means are sums over counts"""
    count, bags = indices.shape[0], offsets.shape[0] - include_last_offset
    bag = (torch.arange(count).unsqueeze(1) >= offsets[:bags].unsqueeze(0)).sum(1) - 1
    rows, kept = weight[indices], indices != padding_idx
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    if padding_idx >= 0:
        rows = rows.masked_fill(~kept.unsqueeze(1), -math.inf if mode == 2 else 0)
    counts = weight.new_zeros(bags).scatter_add(0, bag, kept.to(weight.dtype))
    where = bag.unsqueeze(1).expand_as(rows)
    if mode == 2:
        found = weight.new_full((bags, weight.shape[1]), -math.inf).scatter_reduce(0, where, rows, "amax")
        found = found.masked_fill((counts == 0).unsqueeze(1), 0)
    else:
        found = weight.new_zeros(bags, weight.shape[1]).scatter_add(0, where, rows)
        found = found / counts.clamp(min=1).unsqueeze(1) if mode == 1 else found
    return found, bag, counts.to(indices.dtype), bag


def masked_scatter(x: Any, mask: Any, source: Any) -> Any:
    """`gather` of the sums of the mask, and `select`"""
    x, mask = torch.broadcast_tensors(x, mask)
    place = (mask.reshape(-1).to(torch.int64).cumsum(0) - 1).clamp(0, source.numel() - 1)
    return torch.where(mask, source.reshape(-1)[place].reshape(x.shape), x)


def scatter_reduce(x: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True) -> Any:
    """for means, or without the previous elements: a second `scatter` counts the elements"""
    if x.dim() == 0 or include_self and reduce != "mean":
        return NotImplemented
    least = {"sum": 0, "mean": 0, "prod": 1, "amax": -math.inf, "amin": math.inf}[reduce]
    if isinstance(least, float) and not x.is_floating_point():
        return NotImplemented
    counts = torch.zeros_like(x).scatter_add(dim, index, torch.ones_like(src))
    start = x if include_self else x.masked_fill(counts > 0, least)
    found = torch.scatter_reduce(start, dim, index, src, "sum" if reduce == "mean" else reduce)
    if reduce != "mean":
        return found
    counts = (counts + 1 if include_self else counts).clamp(min=1)
    return found / counts if x.is_floating_point() else found // counts


def as_strided(x: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    """`gather` by places in memory, for a tensor without gaps"""
    same = [pair for pair in zip(size, stride) if pair[0] != 1] == [
        pair for pair in zip(x.shape, x.stride()) if pair[0] != 1]
    start = 0 if storage_offset is None else storage_offset - x.storage_offset()
    last = start + sum((count - 1) * step for count, step in zip(size, stride))
    inwards = x.permute(sorted(range(x.dim()), key=lambda axis: -x.stride(axis)))
    if not inwards.is_contiguous() or start < 0 or last >= x.numel() or same and start == 0:
        return NotImplemented
    places = torch.full([1] * len(size), start)
    for axis, (count, step) in enumerate(zip(size, stride)):
        places = places + (torch.arange(count) * step).reshape([-1] + [1] * (len(size) - axis - 1))
    return inwards.reshape(-1)[places]


def _adaptive_windows(x: Any, dim: int, to: int) -> tuple[Any, Any]:
    """Returns the windows of an axis, padded to the longest with their own elements,
    and a mask of the real ones."""
    size = x.shape[dim]
    longest = max(-(-(at + 1) * size // to) - at * size // to for at in range(to))
    numbers = torch.arange(to).unsqueeze(1)
    begins, ends = numbers * size // to, ((numbers + 1) * size + to - 1) // to
    places = begins + torch.arange(longest)
    own, places = places < ends, torch.minimum(places, ends - 1)
    windows = x.index_select(dim, places.reshape(-1)).reshape(*x.shape[:dim], to, longest, *x.shape[dim + 1:])
    return windows, own.reshape(to, longest, *[1] * (x.dim() - dim - 1))


#: The number of outputs along an axis up to which slices are used.
MOST_SLICES = 16


def _adaptive_axes(x: Any, sizes: Any) -> list[tuple[int, int]]:
    """Returns the axes that change, with their new sizes, if one is too long for slices."""
    if max(sizes) <= MOST_SLICES:
        return []
    first = x.dim() - len(sizes)
    return [(first + at, to) for at, to in enumerate(sizes) if to != x.shape[first + at]]


def adaptive_avg_pool(x: Any, sizes: Any) -> Any:
    """means of windows from `gather`"""
    axes = _adaptive_axes(x, sizes)
    even = len(sizes) == 2 and x.dim() == 4 and all(x.shape[dim] % to == 0 for dim, to in axes)
    if even or not axes:
        return NotImplemented
    for dim, to in axes:
        windows, own = _adaptive_windows(x, dim, to)
        counts = own.sum(1).to(x.dtype)
        x = torch.where(own, windows, torch.zeros((), dtype=x.dtype)).sum(dim + 1) / counts
    return x


def adaptive_max_pool(x: Any, sizes: Any) -> Any:
    """maxima of windows from `gather`, and their indices"""
    axes = _adaptive_axes(x, sizes)
    if not axes:
        return NotImplemented
    first = x.dim() - len(sizes)
    places = torch.arange(math.prod(x.shape[first:])).reshape(x.shape[first:]).expand(x.shape)
    for dim, to in reversed(axes):  # of equal elements the first in row order
        windows, at = (_adaptive_windows(one, dim, to)[0] for one in (x, places))
        x, index = windows.max(dim + 1)
        places = at.gather(dim + 1, index.unsqueeze(dim + 1)).squeeze(dim + 1)
    return x, places


def round_to(x: Any, *, decimals: int) -> Any:
    """`round` of x shifted by that many decimal places"""
    scale = 10.0 ** abs(decimals)
    return (x * scale).round() / scale if decimals >= 0 else (x / scale).round() * scale


def kron(x: Any, y: Any) -> Any:
    """`mul` of reshaped operands, and `reshape`; axes of size 1 are not split"""
    rank = max(x.dim(), y.dim())
    sizes = [*zip([1] * (rank - x.dim()) + [*x.shape], [1] * (rank - y.dim()) + [*y.shape])]
    apart = [pair for of_x, of_y in sizes for pair in ([(of_x, of_y)] if 1 in (of_x, of_y) else [(of_x, 1), (1, of_y)])]
    found = x.reshape([size for size, _ in apart]) * y.reshape([size for _, size in apart])
    return found.reshape([of_x * of_y for of_x, of_y in sizes])


def hypot(x: Any, y: Any) -> Any:
    """`sqrt(1 + (low / high)^2) * high`, which does not overflow"""
    high, low = torch.maximum(x.abs(), y.abs()), torch.minimum(x.abs(), y.abs())
    found = torch.where(high == low, high * math.sqrt(2), high * (1 + (low / high) ** 2).sqrt())
    return torch.where(x.isinf() | y.isinf(), math.inf, found)


def fmax(x: Any, y: Any) -> Any:
    """`maximum`; the other operand for a NaN"""
    return torch.where(x.isnan(), y, torch.where(y.isnan(), x, torch.maximum(x, y)))


def fmin(x: Any, y: Any) -> Any:
    """`minimum`; the other operand for a NaN"""
    return torch.where(x.isnan(), y, torch.where(y.isnan(), x, torch.minimum(x, y)))


def erfc(x: Any) -> Any:
    """`1 - erf(x)`"""
    return 1 - torch.erf(x)


def bucketize(x: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False) -> Any:
    """the number of boundaries that are below, or not above"""
    wide = x.unsqueeze(-1)
    below = wide >= boundaries if right else wide > boundaries
    found = (below | wide.isnan()).sum(-1)
    return found.to(torch.int32) if out_int32 else found


def histc(x: Any, bins: int = 100, min: float = 0, max: float = 0) -> Any:
    """the number of elements in each part between two given numbers"""
    if min >= max:  # the minimum and maximum of the values
        return NotImplemented
    x = x.reshape(-1, 1)
    place = ((x - min) * bins / (max - min)).floor().clamp(0, bins - 1)
    return ((place == torch.arange(bins)) & (x >= min) & (x <= max)).sum(0).to(x.dtype)


def grouped_mm(x: Any, weight: Any, offs: Any = None, bias: Any = None, out_dtype: Any = None) -> Any:
    """`gather` of a matrix for each row, and `@`, if there are no more rows than matrices"""
    if x.dim() != 2 or weight.dim() != 3 or bias is not None or out_dtype not in (None, x.dtype):
        return NotImplemented
    if len(x) > len(weight):  # PyTorch reads each matrix once
        return NotImplemented
    group = (torch.arange(len(x)).unsqueeze(1) >= offs).sum(1)
    found = x.unsqueeze(1) @ weight[group.clamp(max=len(weight) - 1)]
    return torch.where((group < len(weight)).unsqueeze(1), found.squeeze(1), 0.0)


def has_axes(target: Any) -> bool:
    """Returns true if an operator takes an axis of a tensor of rank 0: PyTorch treats it as a vector
    of one element."""
    if not isinstance(target, torch._ops.OpOverload) or target in (aten.unsqueeze.default, aten.permute.default):
        return False
    return any(one.name in ("dim", "dims", "dim0", "dim1") for one in target._schema.arguments)


def with_scalars(target: Any, rule: Callable[..., Any] | None) -> Callable[..., Any]:
    """Applies the operator of vectors to tensors of rank 0; otherwise applies the rule, if there is one."""
    def apply(*args: Any, **kwargs: Any) -> Any:
        if not isinstance(args[0], torch.Tensor) or args[0].dim() != 0:
            return NotImplemented if rule is None else rule(*args, **kwargs)
        shape = args[2].shape if target is aten.gather.default else ()
        args, kwargs = torch.utils._pytree.tree_map_only(
            torch.Tensor, lambda x: x.reshape(1) if x.dim() == 0 else x, (args, kwargs))
        return torch.utils._pytree.tree_map_only(torch.Tensor, lambda x: x.reshape(shape), target(*args, **kwargs))
    return apply


#: By operator. Some are in the core set, which would leave them whole, and some have a row for most forms:
#: their rule returns NotImplemented for other forms.
RULES: dict[Any, Callable[..., Any]] = {
    **get_decompositions([
        aten.grid_sampler_2d.default, aten.addmv.default, aten.dist.default, aten.ldexp.Tensor]),
    aten._transformer_encoder_layer_fwd.default: encoder_layer,
    aten.mkldnn_rnn_layer.default: lstm_layer,
    aten._cdist_forward.default: cdist,
    aten._pdist_forward.default: pdist,
    aten._embedding_bag.default: embedding_bag,
    aten._embedding_bag_forward_only.default: embedding_bag,
    aten.masked_scatter.default: masked_scatter,
    aten.scatter_reduce.two: scatter_reduce,
    aten.as_strided.default: as_strided,
    **dict.fromkeys([aten._adaptive_avg_pool2d.default, aten.adaptive_avg_pool2d.default,
                     aten._adaptive_avg_pool3d.default, aten.adaptive_avg_pool3d.default], adaptive_avg_pool),
    aten.adaptive_max_pool2d.default: adaptive_max_pool,
    aten.adaptive_max_pool3d.default: adaptive_max_pool,
    aten.round.decimals: round_to,
    aten.kron.default: kron,
    aten.hypot.default: hypot,
    aten.bucketize.Tensor: bucketize,
    aten.fmax.default: fmax,
    aten.fmin.default: fmin,
    aten.erfc.default: erfc,
    aten.histc.default: histc,
    aten._grouped_mm.default: grouped_mm,
}


def rules_of_packages() -> dict[Any, Callable[..., Any]]:
    """Returns rules of operators that imported packages add: transformers, for `_grouped_mm`, and torchao."""
    own = getattr(torch.ops.transformers, "grouped_mm_fallback", None)
    return ({own.default: grouped_mm} if own is not None else {}) | quantized.rules()
