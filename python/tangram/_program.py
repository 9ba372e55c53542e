"""Programs: models that are ready to run."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from . import _arguments, _core

if TYPE_CHECKING:
    from ._model import Model

#: A NumPy array, a tensor of PyTorch or of any library that supports DLPack on the CPU, or lists.
Tensor: TypeAlias = Any


def bind(names: Sequence[str], args: Sequence[Tensor], named: Mapping[str, Tensor]) -> list[Tensor]:
    """Returns inputs in the model's order, from a dict or from tensors in that order,
    followed by named ones."""
    if len(args) == 1 and isinstance(args[0], Mapping):
        named, args = {**args[0], **named}, ()
    if not named:
        return list(args)
    rest = [name for name in names[len(args):] if name not in named]
    unknown = [name for name in named if name not in names[len(args):]]
    if rest or unknown:
        wrong = f"there is no input `{unknown[0]}`" if unknown else f"the input `{rest[0]}` is missing"
        raise TypeError(f"{wrong}; the inputs are {', '.join(names) or 'none'}")
    return [*args, *(named[name] for name in names[len(args):])]


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    """Returns the options of a program in the types that the bindings take."""
    checks = {"threads": lambda name, value: _arguments.whole(name, value, high=1024),
              "memory_limit": lambda name, value: _arguments.whole(name, value, high=2**40),
              "seed": lambda name, value: _arguments.whole(name, value, high=2**64 - 1),
              "tune_near_ms": _arguments.number, "backend": _arguments.text, "dtype": _arguments.text,
              "allow_tf32": _arguments.flag}
    return {name: checks[name](name, value) if name in checks else value for name, value in options.items()}


class Program:
    """A model prepared on a backend, with its memory allocated and its weights loaded. Call it with inputs.

    A single output is returned directly, several as a tuple. PyTorch tensors as inputs give PyTorch tensors
    as outputs; otherwise outputs are NumPy arrays. Threads may share a program; their runs are serialized.
    Raises `Error` for inputs of other shapes or dtypes, and `TypeError` for missing and unknown names.

    >>> import numpy, tangram
    >>> program = tangram.parse("model m(a: f32[2], b: f32[2]) { a + 2.0 * b }").compile()
    >>> program([1, 2], b=numpy.array([3, 4], "float32"))
    array([ 7., 10.], dtype=float32)
    """

    def __init__(self, model: Model, **options: Any) -> None:
        self._inputs = [spec.name for spec in model.inputs]
        self._bf16 = [at for at, spec in enumerate(model.outputs) if spec.dtype == "bf16"]
        self._core = _core.compile(_arguments.model("model", model)._core, **_checked(options))
        self._run = self._core.run
        self._name = model.name
        self.model = model

    def __call__(self, *inputs: Tensor, **named: Tensor) -> Any:
        if named or (inputs and isinstance(inputs[0], Mapping)):
            inputs = tuple(bind(self._inputs, inputs, named))
        outputs = self._run(list(inputs))
        torch = sys.modules.get("torch")
        if torch is not None and any(isinstance(value, torch.Tensor) for value in inputs):
            outputs = [torch.from_numpy(value) for value in outputs]
            for at in self._bf16:  # NumPy arrays do not have this type
                outputs[at] = outputs[at].to(torch.bfloat16)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    run = __call__

    def time(
        self, *inputs: Tensor, runs: int = 0, seconds: float = 0.5, steps: bool = False, **named: Tensor
    ) -> _core.Timing:
        """Times repeated runs on these inputs, in microseconds; with `steps`, also each operator.
        `runs` 0: as many as fit `seconds`, from 5 to 300.

        >>> import tangram
        >>> timing = tangram.parse("model m(x: f32[2]) { relu(x) }").compile().time([1, 2], runs=5)
        >>> timing.runs, timing.median_us > 0
        (5, True)
        """
        bound = bind(self._inputs, inputs, named)
        self._run(bound)  # refuses invalid inputs
        bound = [value.float() if str(getattr(value, "dtype", "")) == "torch.bfloat16" else value for value in bound]
        return self._core.time(bound, _arguments.whole("runs", runs),
                               _arguments.number("seconds", seconds), _arguments.flag("steps", steps))

    @property
    def info(self) -> _core.ProgramInfo:
        """Backend, device, threads, memory in MiB, and seconds of compilation."""
        return self._core.info

    def __repr__(self) -> str:
        info = self.info
        return f"<tangram.Program {self._name} on {info.backend}, {info.memory_mb:.1f} MiB>"
