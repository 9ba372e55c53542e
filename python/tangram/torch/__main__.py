"""`python -m tangram.torch` prints the table of operators, OPERATORS.md."""

from . import table

print(table(), end="")
