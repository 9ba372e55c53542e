"""Quantized models of PT2E (torchao), computed in floats. Such a model quantizes each operand
and dequantizes it again before the operator, which computes in f32.
The language has no 8-bit integers, so both steps are decomposed into f32 arithmetic,
and a round trip through an integer is omitted if the value is a whole number in range.
Operators without such a round trip, such as an integer product, stay with PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Graph, Node

aten = torch.ops.aten

#: Operators, by name and overload, that PyTorch's own functions of the same module decompose.
_TAKEN_APART = (
    ("quantize_per_tensor", "default"), ("quantize_per_tensor", "tensor"), ("dequantize_per_tensor", "default"),
    ("dequantize_per_tensor", "tensor"), ("quantize_per_channel", "default"), ("dequantize_per_channel", "default"),
)


def rules() -> dict[Any, Callable[..., Any]]:
    """Returns decompositions of the operators that importing torchao, or PyTorch's quantization, registers."""
    if not hasattr(torch.ops.quantized_decomposed, _TAKEN_APART[0][0]):
        return {}
    from torch.ao.quantization.fx import _decomposed

    return {getattr(getattr(torch.ops.quantized_decomposed, name), overload): getattr(_decomposed, name)
            for name, overload in _TAKEN_APART}


def remove_round_trips(graph: Graph) -> None:
    """Replaces a float converted from an integer by the original float, if that is a whole number
    in range."""
    for node in graph.find_nodes(op="call_function", target=aten._to_copy.default):
        narrow, wide = node.args[0], node.meta["val"].dtype
        if not isinstance(narrow, Node) or narrow.target is not aten._to_copy.default or not wide.is_floating_point:
            continue
        before = narrow.args[0]
        if before.meta["val"].dtype == wide and _is_whole_in(before, narrow.meta["val"].dtype):
            node.replace_all_uses_with(before)
            graph.erase_node(node)
    graph.eliminate_dead_code()


def _is_whole_in(node: Node, dtype: torch.dtype) -> bool:
    """Returns true if the node clamps whole numbers to a range of the integer type."""
    if dtype.is_floating_point or dtype == torch.bool or node.target is not aten.clamp.default:
        return False
    low, high, info = *node.args[1:3], torch.iinfo(dtype)
    return isinstance(low, int) and isinstance(high, int) and info.min <= low <= high <= info.max and _is_whole(node.args[0])


def _is_whole(node: Any) -> bool:
    if isinstance(node, Node) and node.target is aten.add.Tensor and node.kwargs.get("alpha", 1) == 1:
        return all(map(_is_whole, node.args))
    if isinstance(node, Node):
        return node.target is aten.round.default or not node.meta["val"].dtype.is_floating_point
    return isinstance(node, int)
