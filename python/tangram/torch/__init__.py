"""PyTorch: `torch.compile(module, backend="tangram")`, and what became of it.

`report()` says of each graph that Dynamo handed over what runs here and what stayed with PyTorch.
"""

from .dynamo import GraphReport, backend, report, reset
from .operators import table

__all__ = ["GraphReport", "backend", "report", "reset", "table"]
