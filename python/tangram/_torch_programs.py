"""Programs of PyTorch as models; PyTorch is imported when one is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._model import Model


def from_exported(program: Any) -> Model:
    """A model from `torch.export.export(module, inputs)`: weights are shared, not copied.

    What has no form here is an Error that names the operators.
    """
    from .torch import exported

    return exported.model_of(program)


def compile(module: Any, example_inputs: Sequence[Any], *, threads: int = 0, **options: Any) -> Any:
    """A callable, faster form of a module of PyTorch for inputs like the examples.

    `example_inputs` are a tensor or a sequence of inputs. The module is exported, optimised (`options`
    are those of `Model.optimize`) and made ready; the result takes and gives tensors of PyTorch. It is a
    `tangram.Program`: its `model` can be saved, and loaded where there is no PyTorch.
    """
    from .torch import exported

    return exported.compiled(module, example_inputs, threads, options)
