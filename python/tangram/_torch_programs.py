"""Programs of PyTorch as models; PyTorch is imported when one is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._model import Model


def from_exported(program: Any) -> Model:
    """A model from `torch.export.export(module, inputs)`: weights are shared, not copied.

    What has no form here is an error that names the operator.

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
    """A callable, faster form of a module of PyTorch for inputs like the examples.

    `example_inputs` are a tensor or a sequence of inputs. The module is exported, optimised (`options`
    are those of `Model.optimize`) and made ready; the result takes and gives tensors of PyTorch. It is a
    `tangram.Program`: its `model` can be saved, and loaded where there is no PyTorch. It keeps the weights
    that the module has now; buffers that the module writes, as a cache, are read before and written after each run.
    `threads=0`: as many as PyTorch has (`torch.get_num_threads()`).

    The program holds weights of its own, packed for its kernels; programs of one module share them. With
    `release_weights` the module's are given up once the program is ready: its parameters and buffers move to
    PyTorch's device `meta`, where they have shapes and types but no elements, and the program's `model` is gone. The
    module has no values to compute with until it is given weights again (`module.load_state_dict(state, assign=True)`).
    Buffers that the program writes stay. Memory is freed unless other objects, such as an optimizer, hold the tensors.

    >>> import tangram, torch
    >>> module, x = torch.nn.Linear(4, 2).requires_grad_(False), torch.ones(1, 4)
    >>> fast = tangram.compile(module, [x], time_limit=1)
    >>> torch.allclose(fast(x), module(x))
    True
    """
    from .torch import exported

    return exported.compiled(module, example_inputs, threads, release_weights, options)
