"""Failures raise an Error with the text that the program `tg` would print."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Diagnostic:
    """One error or warning. Line and column count from 1; 0 if there is no position."""

    code: str
    file: str
    line: int
    column: int
    message: str
    text: str


class Error(Exception):
    """An invalid model, rule, file or option, or a failed device.

    The exception's fields are those of the first diagnostic; `str()` is the whole text, with the place.

    >>> import tangram
    >>> try:
    ...     tangram.parse("model m(x: f32[4, 3], w: f32[5, 2]) { x @ w }")
    ... except tangram.Error as error:
    ...     print(error.code, error.line, error.message)
    E0213 1 cannot multiply f32[4, 3] by f32[5, 2]
    """

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        super().__init__("".join(d.text for d in diagnostics).rstrip())
        self.diagnostics = diagnostics

    @classmethod
    def _from_rows(cls, rows: list[tuple[str, str, int, int, str, str]]) -> Error:
        return cls([Diagnostic(*row) for row in rows])

    def __reduce__(self) -> tuple[type[Error], tuple[list[Diagnostic]]]:
        return type(self), (self.diagnostics,)

    @property
    def code(self) -> str:
        """The code, as in lang/DIAGNOSTICS.md; `tg help CODE` explains it."""
        return self.diagnostics[0].code

    @property
    def file(self) -> str:
        """The file or text with the error; "" if there is none."""
        return self.diagnostics[0].file

    @property
    def line(self) -> int:
        """The line, from 1; 0 if there is no position."""
        return self.diagnostics[0].line

    @property
    def column(self) -> int:
        """The column, from 1; 0 if there is no position."""
        return self.diagnostics[0].column

    @property
    def message(self) -> str:
        """The message, in one line."""
        return self.diagnostics[0].message
