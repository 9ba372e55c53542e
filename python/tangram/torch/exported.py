"""Whole programs: torch.export's as models, and modules as programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.fx import Node

from .._core import parse as parse_core
from .._model import Model
from .._program import Program
from . import pairs
from .operators import HANDLERS, decompositions
from .writer import NotSupported, write


def model_of_graph(
    graph: torch.fx.Graph, name: str, weights: dict[Node, tuple[str, torch.Tensor]]
) -> tuple[Model, list[Node], dict[str, torch.Tensor]]:
    """The model of a graph of core operators, the placeholders that are its inputs, and its weights by path:
    those that are given, and what PyTorch computed."""
    text, tensors, inputs = write(graph, name, weights, HANDLERS)
    model = Model(parse_core(text, f"<{name}>", "", {}))
    return model.with_weights({path: tensor.detach() for path, tensor in tensors.items()}), inputs, tensors


def model_of(program: torch.export.ExportedProgram) -> Model:
    apart = decompositions(torch.export.default_decompositions())
    program = program.run_decompositions(apart)
    pairs.take_apart(program.graph, apart)
    signature = program.graph_signature
    if signature.buffers_to_mutate or signature.user_inputs_to_mutate:
        raise NotSupported("a program that changes its buffers or inputs")
    paths = {**signature.inputs_to_parameters, **signature.inputs_to_buffers,
             **signature.inputs_to_lifted_tensor_constants}
    values = {**program.state_dict, **program.constants}
    weights = {}
    for node in program.graph.nodes:
        if node.op == "placeholder" and node.name in paths:
            path = paths[node.name]
            weights[node] = (path, values[path])
    return model_of_graph(program.graph, "exported", weights)[0]


class TorchProgram(Program):
    """A program that was made of a module: outputs in the module's own structure."""

    def __init__(self, model: Model, spec: Any, **options: Any) -> None:
        super().__init__(model, **options)
        self._spec = spec

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        found = super().__call__(*inputs, **named)
        leaves = list(found) if isinstance(found, tuple) else [found]
        return torch.utils._pytree.tree_unflatten(leaves, self._spec)

    run = __call__


def run_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a search that are of its result's runs, too."""
    return {name: options[name] for name in ("dtype", "memory_limit", "seed", "allow_tf32") if name in options}


def _distinct(inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Without two that are one tensor: torch.export takes those for one input whatever is passed later."""
    seen: set[int] = set()
    out = []
    for x in inputs:
        out.append(x.clone() if isinstance(x, torch.Tensor) and id(x) in seen else x)
        seen.add(id(x))
    return tuple(out)


def compiled(module: Any, example_inputs: Sequence[Any], threads: int, options: dict[str, Any]) -> Program:
    if isinstance(example_inputs, torch.Tensor):
        example_inputs = (example_inputs,)
    training = [part for part in module.modules() if part.training]
    try:
        with torch.no_grad():
            exported = torch.export.export(module.eval(), _distinct(example_inputs))
    finally:
        for part in training:  # as the caller had them
            part.training = True
    threads = threads or torch.get_num_threads()
    fast = model_of(exported).optimize(threads=threads, **options).model
    run = {"dtype": "f32", "memory_limit": 0, "seed": 1, "allow_tf32": False, **run_options(options)}
    return TorchProgram(fast, exported.call_spec.out_spec, backend="cpu", threads=threads, tune_near_ms=0, **run)
