"""`python -m tangram.torch`: the table of operators, OPERATORS.md."""

from . import table

print(table(), end="")
