"""Tangram: finds faster forms of neural networks, verifies that they are equal to their source, and runs them.

>>> import tangram
>>> model = tangram.parse('''
... model twice(x: f32[2, 3]) { relu(relu(x)) }
... ''')
>>> fast, report = model.optimize(cost="analytic:cpu")
>>> report.nodes_before, report.nodes_after
(2, 1)
>>> fast.verify(model).equal
True
>>> fast.run([[-1, 2, -3], [4, -5, 6]])
array([[0., 2., 0.],
       [4., 0., 6.]], dtype=float32)
"""

from . import rl, rules
from ._core import __version__
from ._errors import Diagnostic, Error
from ._extraction import Extraction, extract
from ._machine import calibrate
from ._model import Model, Verification, load, parse
from ._program import Program
from ._report import Optimized, Repeated, Report
from ._simplify import Simplified, simplify
from ._torch_programs import compile, from_exported

__all__ = [
    "Diagnostic",
    "Error",
    "Extraction",
    "Model",
    "Optimized",
    "Repeated",
    "Program",
    "Report",
    "Simplified",
    "Verification",
    "__version__",
    "calibrate",
    "compile",
    "extract",
    "from_exported",
    "load",
    "parse",
    "rl",
    "rules",
    "simplify",
]
