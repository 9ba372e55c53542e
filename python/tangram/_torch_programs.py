"""PyTorch programs as models; PyTorch is imported on first use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._model import Model


def from_exported(program: Any) -> Model:
    """Returns a model from `torch.export.export(module, inputs)`. Weights are shared, not copied.

    Raises `Error` for an operator that is not supported; its message names the operator.

    >>> import tangram, torch
    >>> module, x = torch.nn.Linear(4, 2).requires_grad_(False), torch.ones(1, 4)
    >>> model = tangram.from_exported(torch.export.export(module, (x,)))
    >>> torch.allclose(torch.as_tensor(model.run(x)), module(x))
    True
    """
    from .torch import exported

    return exported.model_of(program)


def compile(
    module: Any, example_inputs: Sequence[Any], *, threads: int = 0, release_weights: bool = False, **options: Any
) -> Any:
    """Returns a callable, faster form of a PyTorch module for inputs with the shapes and dtypes of the examples.

    `example_inputs` is a tensor or a sequence of inputs. The module is exported, optimized (`options`
    are those of `Model.optimize`) and compiled; the result takes and returns PyTorch tensors.
    It is a `tangram.Program`: its `model` can be saved, and loaded without PyTorch.
    It keeps the module's current weights. Buffers that the module writes, such as a cache,
    are read before and written after each run. `threads=0`: as many as PyTorch uses
    (`torch.get_num_threads()`).

    The program holds its own weights, packed for its kernels; programs of one module share them.
    With `release_weights`, the module's weights are released when the program is ready:
    its parameters and buffers move to PyTorch's device `meta`, where they have shapes and types
    but no elements, and the program's `model` is removed. The module cannot compute until it
    is given weights again (`module.load_state_dict(state, assign=True)`).
    Buffers that the program writes are kept. Memory is freed unless other objects, such as an optimizer,
    hold the tensors.

    Raises `Error` for an operator that is not supported, and the errors of `torch.export.export`.

    >>> import tangram, torch
    >>> module, x = torch.nn.Linear(4, 2).requires_grad_(False), torch.ones(1, 4)
    >>> fast = tangram.compile(module, [x], time_limit=1)
    >>> torch.allclose(fast(x), module(x))
    True
    """
    from .torch import exported

    return exported.compiled(module, example_inputs, threads, release_weights, options)
