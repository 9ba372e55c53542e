"""Writes _options.py: the options of a search as types, from the table that the program is made of."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

_HEAD = '''"""Options of a search, as `Model.optimize` takes them. Made of compiler/api/options.def by
`python -m tangram._option_types`; a test compares it with the table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal, TypedDict


class SearchOptions(TypedDict, total=False):
'''


def _type(name: str, kind: str, words: str) -> str:
    if name == "rules":
        return "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"
    if words:
        literal = "Literal[" + ", ".join(f'"{word}"' for word in words.split("|")) + "]"
        return f"Sequence[{literal}]" if kind == "list" else literal
    return {"str": "str | os.PathLike[str]", "list": "Sequence[str]"}.get(kind, kind)


def text(rows: Sequence[tuple[str, str, str, str]]) -> str:
    """Returns the file, from (name, kind, words, help) of each option."""
    parts = []
    for name, kind, words, help_text in rows:
        comment = textwrap.wrap(help_text, 100, initial_indent="    # ", subsequent_indent="    # ")
        parts.append("\n".join([*comment, f"    {name}: {_type(name, kind, words)}"]))
    return _HEAD + "\n".join(parts) + "\n"


if __name__ == "__main__":
    from . import _core

    print(text(_core.option_rows()), end="")
