"""Makes ONNX files faster for their target runtime, or leaves them unchanged."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy

from . import _arguments
from ._errors import Error
from ._runtimes import RUNTIMES, Port, Session
from ._timing import Comparison, compare

if TYPE_CHECKING:
    from ._model import Model

Runtime = Literal["onnxruntime", "openvino", "tangram"]
OF_THE_FILE = ("E0511", "E0701")  # unsupported by Tangram, or too large; other errors are the caller's
#: The largest allowed difference of outputs, max |a - b| over max |b|, by the narrowest float of the file.
BOUNDS = {"f16": 4e-3, "bf16": 3e-2}
BOUND = 1e-4


@dataclass(frozen=True)
class Simplified:
    """The result of `simplify`. If it is not `faster`, the written file is the original,
    and `message` is the reason."""

    path: str
    faster: bool
    message: str
    rewrites: Mapping[str, int] = field(default_factory=dict)
    nodes_before: int = 0
    nodes_after: int = 0
    comparison: Comparison | None = None
    difference: float = 0.0
    verified: str = ""
    notes: Sequence[str] = ()

    def __str__(self) -> str:
        rules = ", ".join(f"{name} x{count}" for name, count in self.rewrites.items())
        return f"{self.path}: {self.message}" + (f"\nrewrites: {rules}" if rules else "")


class NotUsable(Exception):
    """The reason why the original is kept."""


def _values(ports: Sequence[Port], seed: int) -> list[numpy.ndarray]:
    rng = numpy.random.default_rng(seed)
    return [(rng.standard_normal(port.shape) if port.dtype.startswith("float")
             else rng.integers(0, 2, port.shape)).astype(port.dtype) for port in ports]


def _difference(new: Sequence[numpy.ndarray], old: Sequence[numpy.ndarray]) -> float:
    """Returns the largest difference over all outputs; infinite if shapes differ or an element is NaN
    or infinite."""
    worst = 0.0 if len(new) == len(old) else float("inf")
    for a, b in zip(new, old):
        if a.shape != b.shape:
            return float("inf")
        a, b = a.astype("float64"), b.astype("float64")
        if not a.size or numpy.array_equal(a, b):
            continue
        scale = numpy.abs(b).max()
        apart = numpy.abs(a - b).max() / scale if scale > 0 else float("inf")
        worst = max(worst, apart if numpy.isfinite(apart) else float("inf"))
    return float(worst)


def runtime_judge(runtime: Runtime, folder: str, threads: int = 0) -> Callable[[Model], Callable[[], float] | None]:
    """For `Model.optimize(judge=...)`: writes graphs to a folder and runs them in that runtime."""
    count = 0

    def judge(model: Model) -> Callable[[], float] | None:
        nonlocal count
        count += 1
        path = os.path.join(folder, f"finalist{count}.onnx")
        try:
            model.save(path)
            session = RUNTIMES[runtime](path, threads)
        except Exception:  # any error of the runtime: the graph is refused
            return None
        values = _values(session.inputs, 1)

        def run() -> float:
            start = time.perf_counter()
            session.run(values)
            return time.perf_counter() - start

        return run

    return judge


def bound_of(model: Model) -> float:
    """Returns the largest difference of outputs that the model's types allow.

    >>> import tangram
    >>> bound_of(tangram.parse("model m(x: f32[2]) { relu(x) }")), bound_of(tangram.parse("model m(x: f16[2]) { relu(x) }"))
    (0.0001, 0.004)
    """
    return max(BOUNDS.get(spec.dtype, BOUND) for spec in [*model.inputs, *model.outputs, *model.weights])


def _measured(old: Session, new: Session, seconds: float, bound: float) -> tuple[Comparison, float]:
    """Runs both interleaved, and compares their outputs on several inputs."""
    apart = 0.0
    for seed in (1, 2, 3):
        values = _values(new.inputs, seed)
        apart = max(apart, _difference(new.run(values), old.run(values)))
    if apart > bound:
        raise NotUsable(f"the outputs differ by {apart:.1e}, more than {bound:.0e}")
    return compare(lambda: old.run(values), lambda: new.run(values), seconds, 4 * seconds), apart


def simplify(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    runtime: Runtime = "onnxruntime",
    shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Mapping[str, int] | None = None,
    threads: int = 0,
    seconds: float = 3,
    **options: Any,
) -> Simplified:
    """Writes an ONNX file that is faster than the original in that runtime, by a 95% interval;
    otherwise the original, with a message that gives the reason.

    Both are measured in that runtime, interleaved, as whole runs. The outputs are compared (within 1e-4,
    with f16 4e-3, with bf16 3e-2, of the largest value), and the graphs are verified to be equal.
    `shapes` and `dims` are as in `load`; the result has these sizes.
    The two are measured for at least `seconds`. Other options are those of `Model.optimize`.

    Raises `Error` for a file that is not valid, `OSError` for one that cannot be read or written, and `ImportError`
    if the runtime is not installed.
    """
    from ._model import load

    if runtime not in RUNTIMES:
        raise ValueError(f"runtime must be one of {', '.join(RUNTIMES)}, not {runtime}")
    source, target = Path(_arguments.path("source", source)), Path(_arguments.path("target", target))
    seconds, threads = _arguments.number("seconds", seconds), _arguments.whole("threads", threads, high=1024)
    if source.suffix != ".onnx" or target.suffix != ".onnx":
        raise ValueError("simplify requires an .onnx file to read and one to write")
    facts: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            old = RUNTIMES[runtime](str(source), threads)
            keep = 0 if runtime == "tangram" else 22  # operators that the runtime runs as one kernel
            try:
                model = load(source, shapes=shapes, dims=dims, keep_for_opset=keep)
            except Error as error:
                if error.code not in OF_THE_FILE:
                    raise
                raise NotUsable(str(error).splitlines()[0]) from error
            fast, report = model.optimize(judge=runtime_judge(runtime, folder, threads), portable=True,
                                          verify=True, threads=threads, **options)
            facts.update(rewrites=dict(report.rules_applied), nodes_before=report.nodes_before,
                         nodes_after=report.nodes_after, verified=report.verified, notes=report.notes)
            if report.verified != "equal":
                raise NotUsable("a limit was reached before the graphs were proved equal")
            candidate = os.path.join(folder, "result", target.name)  # its weights file has that name, too
            os.mkdir(os.path.dirname(candidate))
            fast.save(candidate)
            try:
                new = RUNTIMES[runtime](candidate, threads)
            except Exception as error:  # any error of the runtime
                said = f"{type(error).__name__}: {error}".splitlines()[0]
                raise NotUsable(f"{runtime} rejects the result: {said}") from error
            facts["comparison"], facts["difference"] = _measured(old, new, seconds, bound_of(model))
            if not facts["comparison"].second_faster:
                raise NotUsable(f"not faster beyond noise in {runtime} ({facts['comparison']})")
        except NotUsable as why:
            _copy(source, target)
            return Simplified(str(target), False, f"the original: {why}", **facts)
        _copy(Path(candidate), target)
    return Simplified(str(target), True, f"faster in {runtime}: {facts['comparison']}", **facts)


def _copy(source: Path, target: Path) -> None:
    """Copies a file with its weights file, if it has one."""
    if source.resolve() == target.resolve():
        return
    shutil.copyfile(source, target)
    beside = source.with_name(source.name + ".data")
    if beside.exists():
        shutil.copyfile(beside, target.with_name(beside.name))
