"""Exported programs as graphs of core operators. `ExportedProgram.run_decompositions` makes a whole new
program: it runs the graph once to find out which arguments it writes, and again to record it.
A graph that writes nothing is recorded here in one run, which takes a third of the time."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx import Graph, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.traceback import preserve_node_meta

try:  # run_decompositions itself uses it, to keep composite operators whole that `known` does not name
    from torch.export.exported_program import (
        _override_composite_implicit_decomp,
        _split_decomp_table_to_cia_and_python_decomp,
    )
except ImportError:
    _override_composite_implicit_decomp = None

aten = torch.ops.aten

#: Write statistics in training, although their schemas do not say so.
_NORMS = (aten.batch_norm.default, aten.instance_norm.default)
#: Become other operators if gradients are enabled, as in run_decompositions.
_RECURRENT = (aten.lstm, aten.gru, aten.rnn_tanh, aten.rnn_relu)


def core_graph(
    program: torch.export.ExportedProgram, known: Mapping[Any, Callable[..., Any]]
) -> tuple[Graph, torch.export.ExportedProgram]:
    """Returns the graph of the program after the decompositions `known`, and the program
    with the same placeholders in the same order: the given one, or one that PyTorch made from it."""
    if _override_composite_implicit_decomp is not None and _only_computes(program.graph):
        graph = _recorded(program, dict(known))
        if _only_computes(graph):  # an operator may write despite its schema
            return graph, program
    program = program.run_decompositions(dict(known))
    return program.graph, program


def _only_computes(graph: Graph) -> bool:
    """Returns true if all operators are functional, and there are inputs, which are tensors
    of known sizes."""
    return bool(graph.find_nodes(op="placeholder")) and all(map(_is_simple, graph.nodes))


def _is_simple(node: Node) -> bool:
    if node.target in _NORMS:
        return len(node.args) > 5 and node.args[5] is False
    if node.op == "call_function":
        return node.target is operator.getitem or (
            isinstance(node.target, torch._ops.OpOverload) and not node.target._schema.is_mutable
            and node.target.overloadpacket not in _RECURRENT)
    if node.op == "placeholder":
        value = node.meta.get("val")
        return type(value) is FakeTensor and all(isinstance(size, int) for size in value.shape)
    return node.op == "output"


def _recorded(program: torch.export.ExportedProgram, known: dict[Any, Callable[..., Any]]) -> Graph:
    inputs = [node.meta["val"] for node in program.graph.find_nodes(op="placeholder")]
    composite, others = _split_decomp_table_to_cia_and_python_decomp(known)
    run = torch.fx.Interpreter(program.graph_module).run
    with (torch.no_grad(), inputs[0].fake_mode, enable_python_dispatcher(), _override_composite_implicit_decomp(composite),
          preserve_node_meta()):
        graph = make_fx(run, decomposition_table=others)(*inputs).graph
    graph.eliminate_dead_code()
    return graph
