"""Operators of PyTorch's core set that are not supported here, with the reason."""

from __future__ import annotations

from typing import Any

import torch

aten = torch.ops.aten

_COMPUTED = "does not depend on inputs: computed when the graph is compiled"
_RANDOM = "random: drawn in each call"
_VALUES = "sizes of its result depend on values"
_GRADIENTS = "for gradients, which PyTorch computes"
_COMPLEX = "the axis is longer than complex.py decomposes"
_SIZES = "sizes are constants: each combination of them has its own graph"

#: By operator, in the table's words.
STAYS: dict[Any, str] = {
    **dict.fromkeys((aten.arange.start_step, aten.scalar_tensor.default, aten.empty.memory_format,
                     aten.empty_strided.default), _COMPUTED),
    **dict.fromkeys((aten.rand.default, aten.randn.default, aten.randperm.default, aten.native_dropout.default),
                    _RANDOM),
    **dict.fromkeys((aten.nonzero.default, aten._local_scalar_dense.default), _VALUES),
    **dict.fromkeys((aten._adaptive_avg_pool2d_backward.default, aten.avg_pool2d_backward.default,
                     aten.convolution_backward.default, aten.max_pool2d_with_indices_backward.default,
                     aten.embedding_dense_backward.default, aten.native_group_norm_backward.default,
                     aten.native_layer_norm_backward.default), _GRADIENTS),
    **dict.fromkeys((aten._fft_c2r.default, aten._fft_r2c.default), _COMPLEX),
    **dict.fromkeys((aten.sym_numel.default, aten.sym_size.int, aten.sym_stride.int,
                     aten.sym_storage_offset.default), _SIZES),
    aten._native_batch_norm_legit.default: "for training: it changes its statistics",
    aten.resize_.default: "changes its operand; graphs of Dynamo are functional",
    aten.atan2.out: "writes into a tensor of the caller; graphs of Dynamo use `atan2.default`",
}
