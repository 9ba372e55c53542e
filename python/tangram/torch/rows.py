"""The storage of the table's rows, and their shared functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.fx import Node

from . import complex as complex_numbers
from . import core, decompose
from .writer import Handler, Writer, fake, literal

aten = torch.ops.aten
HANDLERS: dict[Any, Handler] = {}


def row(*targets: Any) -> Callable[[Handler], Handler]:
    def add(handler: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(targets, handler))
        return handler
    return add


#: The translation of one output of an operator with several: gets the writer, the operator, and the output's number.
Piece = Callable[[Writer, Node, int], str]
PIECES: dict[Any, Piece] = {}


def pieces(*targets: Any) -> Callable[[Piece], Piece]:
    """Registers a row of an operator whose outputs are written at their uses."""
    def add(piece: Piece) -> Piece:
        def handler(w: Writer, node: Node) -> str:
            return w.operand(node.args[0])
        handler.__doc__ = piece.__doc__
        PIECES.update(dict.fromkeys(targets, piece))
        row(*targets)(handler)
        return piece
    return add


def _of_floats(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Computes a range in floats; PyTorch's decomposition gives other whole numbers than its kernels."""
    def apply(*args: Any, dtype: Any = None, **kwargs: Any) -> Any:
        whole = dtype is not None and not (dtype.is_floating_point or dtype.is_complex)
        return NotImplemented if whole else rule(*args, dtype=dtype, **kwargs)
    return apply


_RANGES = (aten.linspace, aten.logspace)


def decompositions(known: Mapping[Any, Callable[..., Any]]) -> dict[Any, Callable[..., Any]]:
    """Returns the decompositions of operators without a row; a row is more informative
    than its decomposition. Our own rules for operators with a row handle the forms
    that the row does not support."""
    rules = {target: _of_floats(rule) if getattr(target, "overloadpacket", None) in _RANGES else rule
             for target, rule in known.items() if target not in HANDLERS}
    rules |= decompose.RULES | decompose.rules_of_packages()
    return rules | {target: decompose.with_scalars(target, rules.get(target)) for target in HANDLERS if decompose.has_axes(target)}


def table() -> str:
    """Returns the table as Markdown: OPERATORS.md."""
    lines = ["# The operators of PyTorch", "",
             "This page is for users of the PyTorch backend. It lists the translation of each operator. PyTorch decomposes "
             "other operators into these if it can; the remaining ones stay with PyTorch. `python -m tangram.torch` prints "
             "this page."]
    lines += _section(None, "Tangram", {target: _words(handler) for target, handler in HANDLERS.items()})
    lines += _section("Decomposed", "into", {target: _words(rule) for target, rule in decompose.RULES.items()})
    lines += ["", "## Complex numbers", "",
              "The operators below represent complex tensors as pairs of real ones. Others stay with "
              f"PyTorch, such as Fourier transforms along more than {complex_numbers.LONGEST} elements.", "",
              ", ".join(f"`{target}`" for target in sorted(map(str, complex_numbers.RULES)) if target.startswith("aten")) + "."]
    lines += _section("Core operators that stay with PyTorch", "reason", core.STAYS)
    return "\n".join(lines) + "\n"


def _section(title: str | None, column: str, rows: Mapping[Any, str]) -> list[str]:
    heading = ["", f"## {title}"] if title else []
    return [*heading, "", f"| ATen | {column} |", "|---|---|",
            *(f"| `{target}` | {words} |" for target, words in sorted(rows.items(), key=lambda item: str(item[0])))]


def _words(described: Callable[..., Any]) -> str:
    if described.__module__.startswith("torch."):
        return "PyTorch's own decomposition"
    return (described.__doc__ or "").splitlines()[0]


def argument(node: Node, name: str, default: Any = None) -> Any:
    """Returns an argument by its name in the operator's schema."""
    for place, declared in enumerate(node.target._schema.arguments):
        if declared.name == name:
            if place < len(node.args):
                return node.args[place]
            return node.kwargs.get(name, declared.default_value if declared.has_default_value() else default)
    return default


def axes_of(dims: Any, rank: int) -> list[int]:
    dims = [dims] if isinstance(dims, int) else list(dims or range(rank))
    return sorted(dim % rank for dim in dims)


def reshaped(w: Writer, node: Node) -> str:
    return f"reshape({w.operand(node.args[0])}, {literal(list(fake(node).shape))})"
