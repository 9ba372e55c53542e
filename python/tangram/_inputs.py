"""Random inputs of a model's types, for calls without inputs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from . import _core

NUMPY_NAMES = {"f32": "float32", "f16": "float16", "i32": "int32", "i64": "int64", "bool": "bool",
               "f64": "float64"}


def random_inputs(specs: Sequence[_core.TensorSpec], seed: int = 1) -> list[numpy.ndarray]:
    """Floats are normal; whole numbers are 0 or 1, which are valid indices in most cases;
    all from the seed."""
    rng = numpy.random.default_rng(seed)
    values = []
    for spec in specs:
        if spec.dtype not in NUMPY_NAMES:
            raise TypeError(f"the input `{spec.name}` is {spec.dtype}, which NumPy does not have")
        name = NUMPY_NAMES[spec.dtype]
        floating = name.startswith("float")
        value = rng.standard_normal(spec.shape) if floating else rng.integers(0, 2, spec.shape)
        values.append(value.astype(name))
    return values
