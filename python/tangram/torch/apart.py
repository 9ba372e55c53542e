"""Operators that have no row, taken apart into those that have."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch._decomp import get_decompositions

aten = torch.ops.aten


def encoder_layer(x: Any, width: int, heads: int, qkv: Any, qkv_bias: Any, out: Any, out_bias: Any, gelu: bool,
                  norm_first: bool, eps: float, scale1: Any, shift1: Any, scale2: Any, shift2: Any, up: Any,
                  up_bias: Any, down: Any, down_bias: Any, mask: Any = None, mask_type: int | None = None) -> Any:
    """TransformerEncoderLayer in eval mode, whose fast path is one operator."""
    batch, count, _ = x.shape

    def attention(y: Any) -> Any:
        parts = aten.linear(y, qkv, qkv_bias).reshape(batch, count, 3, heads, width // heads)
        q, k, v = (parts.select(2, place).transpose(1, 2) for place in range(3))
        scores = (q * (1 / math.sqrt(width // heads))) @ k.transpose(-1, -2)
        if mask is not None:  # true, or not 0, where none may look: [S, S], [N, S] or [N, heads, S, S]
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


#: By operator; some are of the core set, which would leave them whole.
RULES: dict[Any, Callable[..., Any]] = {
    **get_decompositions([aten.upsample_bilinear2d.vec, aten.upsample_bilinear2d.default,
                          aten.grid_sampler_2d.default]),
    aten._transformer_encoder_layer_fwd.default: encoder_layer,
}
