"""PyTorch: `torch.compile(module, backend="tangram")`, and its report.

`report()` lists, for each graph from Dynamo, the parts that run here and the operators that stay
with PyTorch.
"""

from .dynamo import GraphReport, backend, report, reset
from .operators import table

__all__ = ["GraphReport", "backend", "report", "reset", "table"]
