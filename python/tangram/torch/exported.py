"""Whole programs: torch.export's programs as models, and modules as programs."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.fx import Node

from .. import _arguments
from .._core import parse as parse_core
from .._model import Model
from .._program import Program, bind
from . import complex as complex_numbers
from . import quantized
from .lowered import core_graph
from .operators import HANDLERS, decompositions
from .writer import NotSupported, write


def model_of_graph(
    graph: torch.fx.Graph, name: str, weights: dict[Node, tuple[str, torch.Tensor]]
) -> tuple[Model, list[Node], dict[str, torch.Tensor]]:
    """Returns the model of a graph of core operators, the placeholders that are its inputs,
    and its weights by path: the given ones, and those that PyTorch computed."""
    text, tensors, inputs = write(graph, name, weights, HANDLERS)
    model = Model(parse_core(text, f"<{name}>", "", {}))
    return model.with_weights({path: tensor.detach() for path, tensor in tensors.items()}), inputs, tensors


def model_of(program: torch.export.ExportedProgram) -> Model:
    model, state = model_and_state(program)
    if state:
        raise NotSupported(f"a program that changes its buffer `{state[0]}`, which a model cannot represent; "
                           "tangram.compile takes the module and writes its buffers")
    return model


def model_and_state(program: torch.export.ExportedProgram) -> tuple[Model, list[str]]:
    """Returns the model, and the paths of the buffers that the program changes: the first inputs
    are their values, and the first outputs their new values."""
    if not isinstance(program, torch.export.ExportedProgram):
        raise TypeError(f"program must be a result of torch.export.export, not {program!r}")
    apart = decompositions(torch.export.default_decompositions())
    graph, program = core_graph(program, apart)
    complex_numbers.decompose_graph(graph, apart)
    quantized.remove_round_trips(graph)
    signature = program.graph_signature
    if signature.user_inputs_to_mutate:
        raise NotSupported("a program that changes its inputs")
    state = [*signature.buffers_to_mutate.values()]
    paths = {**signature.inputs_to_parameters, **signature.inputs_to_buffers,
             **signature.inputs_to_lifted_tensor_constants}
    values = {**program.state_dict, **program.constants}
    weights, places = {}, []
    for node, named in zip(graph.find_nodes(op="placeholder"), program.graph.find_nodes(op="placeholder")):
        if named.name not in paths:
            continue
        path = paths[named.name]
        if path in state:
            places.append(path)
        else:
            weights[node] = (path, values[path])
    if places != state:
        raise NotSupported(f"buffers that are changed in an order ({', '.join(state)}) other than that of their declaration")
    return model_of_graph(graph, "exported", weights)[0], state


class TorchProgram(Program):
    """A program made from a module: outputs have the module's structure.
    Buffers that the module changes are read before each run and written after it;
    such a program is not thread-safe."""

    def __init__(self, model: Model, spec: Any, state: Sequence[torch.Tensor] = (), **options: Any) -> None:
        super().__init__(model, **options)
        self._spec, self._state = spec, tuple(state)

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        if self._state:
            inputs = self._with_state(inputs, named)
            named = {}
        found = super().__call__(*inputs, **named)
        leaves = list(found) if isinstance(found, tuple) else [found]
        with torch.no_grad():
            for buffer, value in zip(self._state, leaves):
                buffer.copy_(value)
        return torch.utils._pytree.tree_unflatten(leaves[len(self._state):], self._spec)

    def forget_model(self) -> None:
        """Releases the model, and thus the weights that it shares with the module."""
        del self.model

    def __getattr__(self, name: str) -> Any:
        if name == "model":
            raise AttributeError("the model of this program was released with its weights (`release_weights`)")
        raise AttributeError(f"a program has no `{name}`")

    def _with_state(self, inputs: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
        return (*self._state, *bind(self._inputs[len(self._state):], inputs, named))

    run = __call__


def run_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the search options that also apply to runs of the result."""
    return {name: options[name] for name in ("dtype", "memory_limit", "seed", "allow_tf32") if name in options}


def _distinct(inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Returns the inputs, each in its own memory. torch.export treats two inputs that are one tensor
    as one input, whatever is passed later, and leaves sizes open if one is a view of another."""
    seen: set[int] = set()

    def apart(x: torch.Tensor) -> torch.Tensor:
        if x.layout != torch.strided:
            return x
        memory = x.untyped_storage()._cdata
        found = x.clone() if memory in seen else x
        seen.add(memory)
        return found

    return torch.utils._pytree.tree_map_only(torch.Tensor, apart, tuple(inputs))


def _move_to_meta(module: torch.nn.Module, kept: Sequence[torch.Tensor]) -> None:
    """Releases the elements of the module's tensors, except the kept ones. Tied tensors stay tied."""
    moved: dict[int, torch.Tensor] = {id(tensor): tensor for tensor in kept}
    known = list(kept)  # while their ids are keys
    for part in module.modules():
        for name, tensor in [*part._parameters.items(), *part._buffers.items()]:
            if tensor is None:
                continue
            if id(tensor) not in moved:
                known.append(tensor)
                empty = torch.empty_like(tensor, device="meta", requires_grad=False)
                is_parameter = isinstance(tensor, torch.nn.Parameter)
                moved[id(tensor)] = torch.nn.Parameter(empty, tensor.requires_grad) if is_parameter else empty
            setattr(part, name, moved[id(tensor)])  # recurrent layers hold them in lists, too


@contextlib.contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Pauses the collection of cycles. PyTorch's tracing makes many objects that live until it ends, and each
    collection visits all of them, and those of every imported package."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def compiled(
    module: Any, example_inputs: Sequence[Any], threads: int, release_weights: bool, options: dict[str, Any]
) -> Program:
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"module must be a torch.nn.Module, not {module!r}")
    if isinstance(example_inputs, torch.Tensor):
        example_inputs = (example_inputs,)
    threads = _arguments.whole("threads", threads, high=1024)
    release_weights = _arguments.flag("release_weights", release_weights)
    training = [part for part in module.modules() if part.training]
    try:
        with contextlib.suppress(NotImplementedError):  # an exported graph has no modes
            module.eval()
        with torch.no_grad(), _no_garbage_collection():
            exported = torch.export.export(module, _distinct(example_inputs))
            model, paths = model_and_state(exported)
    finally:
        for part in training:  # as set by the caller
            part.training = True
    threads = threads or torch.get_num_threads()
    fast = model.optimize(threads=threads, **options).model
    state = [module.get_buffer(path) for path in paths]
    run = {"dtype": "f32", "memory_limit": 0, "seed": 1, "allow_tf32": False, **run_options(options)}
    program = TorchProgram(fast, exported.call_spec.out_spec, state, backend="cpu", threads=threads, tune_near_ms=0,
                           **run)
    if release_weights:
        program.forget_model()
        _move_to_meta(module, state)
    return program
