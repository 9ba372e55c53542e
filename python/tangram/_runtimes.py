"""Runtimes for ONNX files, with a common interface: `simplify` measures in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

Run = Callable[[Sequence[numpy.ndarray]], list[numpy.ndarray]]


@dataclass(frozen=True)
class Port:
    """An input or output of a file."""

    name: str
    dtype: str  # NumPy's name
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Session:
    """A loaded file."""

    inputs: list[Port]  # unknown sizes are 1
    run: Run


def _port(name: str, dtype: str, shape: Sequence[Any]) -> Port:
    return Port(name, dtype, tuple(size if isinstance(size, int) else 1 for size in shape))


def onnxruntime(path: str, threads: int) -> Session:
    """ONNX Runtime on the CPU, with all its own optimizations."""
    import onnxruntime as ort  # type: ignore[import-not-found]

    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    # Sessions run interleaved: threads of one that still spin after its run would occupy the other's cores.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = {"tensor(float)": "float32", "tensor(float16)": "float16", "tensor(double)": "float64",
             "tensor(int32)": "int32", "tensor(int64)": "int64", "tensor(bool)": "bool",
             "tensor(uint8)": "uint8", "tensor(int8)": "int8"}
    ports = [_port(port.name, names.get(port.type, port.type), port.shape) for port in session.get_inputs()]
    keys = [port.name for port in ports]
    return Session(ports, lambda values: session.run(None, dict(zip(keys, values))))


def openvino(path: str, threads: int) -> Session:
    """OpenVINO on the CPU."""
    import openvino as ov  # type: ignore[import-not-found]

    config: dict[str, Any] = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    if threads:
        config["INFERENCE_NUM_THREADS"] = threads
    compiled = ov.Core().compile_model(path, "CPU", config)
    ports = []
    for port in compiled.inputs:
        sizes = [size.get_length() if size.is_static else None for size in port.partial_shape]
        ports.append(_port(port.any_name, numpy.dtype(port.element_type.to_dtype()).name, sizes))
    request = compiled.create_infer_request()

    def run(values: Sequence[numpy.ndarray]) -> list[numpy.ndarray]:
        found = request.infer(dict(enumerate(values)))
        return [found[output] for output in compiled.outputs]

    return Session(ports, run)


def tangram(path: str, threads: int) -> Session:
    """This package's own runtime."""
    from ._inputs import NUMPY_NAMES
    from ._model import load

    model = load(path)
    program = model.compile(threads=threads)
    ports = [Port(spec.name, NUMPY_NAMES[spec.dtype], spec.shape) for spec in model.inputs]

    def run(values: Sequence[numpy.ndarray]) -> list[numpy.ndarray]:
        found = program(*values)
        return list(found) if isinstance(found, tuple) else [found]

    return Session(ports, run)


RUNTIMES: dict[str, Callable[[str, int], Session]] = {
    "onnxruntime": onnxruntime, "openvino": openvino, "tangram": tangram}
