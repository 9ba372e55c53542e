"""The rows of the table of operators: where they are kept, and what they share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.fx import Node

from . import apart
from .writer import Handler, Writer, fake, literal

aten = torch.ops.aten
HANDLERS: dict[Any, Handler] = {}


def row(*targets: Any) -> Callable[[Handler], Handler]:
    def add(handler: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(targets, handler))
        return handler
    return add


#: What an output of an operator that has several becomes: gets the writer, the operator, and which output.
Piece = Callable[[Writer, Node, int], str]
PIECES: dict[Any, Piece] = {}


def pieces(*targets: Any) -> Callable[[Piece], Piece]:
    """A row of an operator whose outputs are written where they are taken."""
    def add(piece: Piece) -> Piece:
        def handler(w: Writer, node: Node) -> str:
            return w.operand(node.args[0])
        handler.__doc__ = piece.__doc__
        PIECES.update(dict.fromkeys(targets, piece))
        row(*targets)(handler)
        return piece
    return add


def decompositions(known: Mapping[Any, Callable[..., Any]]) -> dict[Any, Callable[..., Any]]:
    """Those of operators that have no row: of others the whole says more than its pieces."""
    return {target: rule for target, rule in {**known, **apart.RULES}.items() if target not in HANDLERS}


def table() -> str:
    """The table, as Markdown: OPERATORS.md."""
    lines = ["# What operators of PyTorch become", "",
             "Made by `python -m tangram.torch.operators`. Others stay with PyTorch.", "",
             "| ATen | Tangram |", "|---|---|"]
    lines += [f"| `{target}` | {(handler.__doc__ or '').splitlines()[0]} |"
              for target, handler in sorted(HANDLERS.items(), key=lambda item: str(item[0]))]
    return "\n".join(lines) + "\n"


def argument(node: Node, name: str, default: Any = None) -> Any:
    """By its name in the operator's schema."""
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
