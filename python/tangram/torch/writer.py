"""Writes graphs of PyTorch's core operators (FX) as .tg text: one line per node."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import torch
from torch.fx import Graph, Node

from .._errors import Diagnostic, Error

DTYPES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.float64: "f64",
          torch.int64: "i64", torch.int32: "i32", torch.bool: "bool"}


class NotSupported(Error):
    """An unsupported operator, with the reason."""

    def __init__(self, why: str, file: str = "", line: int = 0) -> None:
        place = f"{file}:{line}: " if file else ""
        super().__init__([Diagnostic("E0511", file, line, 0, why, f"{place}error[E0511]: {why}")])

    def __reduce__(self) -> tuple[type[Error], tuple[list[Diagnostic]]]:
        return Error, (self.diagnostics,)

    def at(self, node: Node) -> NotSupported:
        """Returns the same error with the Python line of the node, if known."""
        found = re.findall(r'File "(.+)", line (\d+)', node.stack_trace or "")
        return NotSupported(self.diagnostics[0].message, found[-1][0], int(found[-1][1])) if found else self


def fake(node: Node) -> torch.Tensor:
    """Returns the fake tensor of a node's result."""
    value = node.meta.get("val")
    if isinstance(value, (tuple, list)):
        value = value[0]
    if not isinstance(value, torch.Tensor):
        raise NotSupported(f"`{node.name}` is not a tensor")
    return value


def dtype_word(dtype: torch.dtype) -> str:
    if dtype not in DTYPES:
        raise NotSupported(f"elements of {dtype}")
    return DTYPES[dtype]


def type_text(value: torch.Tensor) -> str:
    if value.device.type != "cpu":
        raise NotSupported(f"tensors on {value.device.type}")
    sizes = [size for size in value.shape if isinstance(size, int)]
    if len(sizes) != value.dim():
        raise NotSupported("sizes that are known only at run time")
    if 0 in sizes:
        raise NotSupported("a tensor without elements")
    return f"{dtype_word(value.dtype)}[{', '.join(map(str, sizes))}]"


def literal(value: Any) -> str:
    """Returns a number or list as written in the language."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return "nan" if math.isnan(value) else repr(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, int):
        return str(value)
    raise NotSupported(f"the number `{value}`")


#: The translation of an operator: gets the writer and the node, returns an expression.
Handler = Callable[["Writer", Node], str]


class Writer:
    """Writes one model. Nodes that depend on no input are computed immediately, by PyTorch,
    and become weights; `tensors` has the weights by path, unchanged and not copied."""

    def __init__(self, name: str, handlers: Mapping[Any, Handler]) -> None:
        self.name = name
        self.tensors: dict[str, torch.Tensor] = {}
        self._handlers = handlers
        self._names: dict[Node, str] = {}
        self._known: dict[Node, Any] = {}  # values of nodes that depend on no input
        self._others: dict[Node, bool] = {}  # nodes written in other models: whether their value is known there
        self._conversions: dict[tuple[Node, torch.dtype], str] = {}
        self._inputs: list[str] = []
        self._lines: list[str] = []

    # --- what handlers ask ----------------------------------------------------------------------

    def operand(self, arg: Any) -> str:
        """Returns the name of a tensor, or a number as a literal."""
        if not isinstance(arg, Node):
            return literal(arg)
        if arg not in self._names:
            self._names[arg] = self._input(fake(arg)) if arg in self._others else self._constant(arg)
        return self._names[arg]

    def cast(self, arg: Any, dtype: torch.dtype) -> str:
        """Returns the operand converted to that type."""
        if not isinstance(arg, Node):
            return literal(float(arg) if dtype.is_floating_point else bool(arg) if dtype == torch.bool else arg)
        if fake(arg).dtype not in DTYPES and (arg in self._known or self._others.get(arg)):
            return self._converted(arg, dtype)
        text = self.operand(arg)
        return text if fake(arg).dtype == dtype else f"cast({text}, {dtype_word(dtype)})"

    def constant(self, arg: Any) -> torch.Tensor | None:
        """The elements of an operand that is the same in each run and no weight, where they are known."""
        value = self._known.get(arg) if isinstance(arg, Node) else None
        is_weight = isinstance(arg, Node) and arg.op == "placeholder" and arg in self._names
        return value if isinstance(value, torch.Tensor) and not is_weight else None

    def value_of_other_model(self, node: Node) -> str:
        """Returns a value that PyTorch computes from a constant of another model."""
        if not all(self._others.get(one) for one in node.all_input_nodes):
            raise NotSupported(f"elements of {fake(node.all_input_nodes[0]).dtype}")
        return self._input(fake(node))

    def let(self, expression: str) -> str:
        """Binds an expression to a name and returns the name."""
        name = f"v{len(self._lines)}"
        self._lines.append(f"let {name} = {expression}")
        return name

    # --- the walk -------------------------------------------------------------------------------

    def input(self, node: Node) -> None:
        self._names[node] = self._input(fake(node))

    def _input(self, value: torch.Tensor) -> str:
        name = f"x{len(self._inputs)}"
        self._inputs.append(f"{name}: {type_text(value)}")
        return name

    def register_other_value(self, node: Node, known: bool) -> None:
        """The node is an input here if it is used; known: it is a table or a constant in the other model."""
        self._others[node] = known

    def weight(self, node: Node, path: str, tensor: torch.Tensor) -> None:
        self._known[node] = tensor
        if not is_table(tensor):
            self._names[node] = self._param(path, tensor)

    def node(self, node: Node) -> None:
        if not node.users:
            return  # an assertion
        if (nothing := without_elements(node)) is not None:
            self._known[node] = nothing
            return
        if self._compute(node):
            return
        handler = self._handlers.get(node.target)
        if handler is None:
            raise NotSupported(f"{node.target} is not supported")
        self._names[node] = self.let(handler(self, node))

    def text(self, outputs: Sequence[Node], typed: bool = True) -> str:
        names = [self.operand(node) for node in outputs]
        types = ", ".join(f"y{i}: {type_text(fake(node))}" for i, node in enumerate(outputs) if typed)
        result = names[0] if len(names) == 1 else f"({', '.join(names)})"
        body = "".join(f"  {line}\n" for line in [*self._lines, result])
        return f"model {self.name}({', '.join(self._inputs)}){f' -> ({types})' * typed} {{\n{body}}}\n"

    # --- constants ------------------------------------------------------------------------------

    def _param(self, path: str, tensor: torch.Tensor) -> str:
        name = f"w{len(self.tensors)}"
        self.tensors[path] = tensor
        self._lines.append(f'param {name}: {type_text(tensor)} = weight("{path}")')
        return name

    def _constant(self, node: Node) -> str:
        return self._param(f"constant.{node.name}", self._value(node))

    def _value(self, node: Node) -> torch.Tensor:
        value = self._known.get(node)
        if not isinstance(value, torch.Tensor):
            raise NotSupported(f"`{node.name}`, which is not a tensor")
        return value

    def _converted(self, node: Node, dtype: torch.dtype) -> str:
        """Returns a constant, whose element type the language lacks, converted to a supported type."""
        if (node, dtype) not in self._conversions:
            self._conversions[node, dtype] = (
                self._input(fake(node).to(dtype)) if node in self._others
                else self._param(f"constant.{node.name}.{dtype_word(dtype)}", self._value(node).to(dtype)))
        return self._conversions[node, dtype]

    def _compute(self, node: Node) -> bool:
        """Computes the node now if it depends on no input and no weight (the optimizer folds weights)."""
        operands = node.all_input_nodes
        if any(one in self._names or one not in self._known for one in operands):
            return False
        if is_random(node):
            raise NotSupported(f"{node.target}, which is random")
        self._known[node] = computed(node, self._known)
        return True


def is_table(tensor: torch.Tensor) -> bool:
    """Returns true for whole numbers, flags and unsupported types: PyTorch computes with them
    where it can."""
    return not tensor.is_floating_point() or tensor.dtype not in DTYPES or tensor.numel() == 0


def without_elements(node: Node) -> torch.Tensor | None:
    """Returns the tensor of a node's result if it has no elements: it depends on nothing."""
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor) or value.device.type != "cpu":
        return None
    sizes = [size for size in value.shape if isinstance(size, int)]
    return torch.empty(sizes, dtype=value.dtype) if len(sizes) == value.dim() and 0 in sizes else None


def is_random(node: Node) -> bool:
    """Random results differ between runs, so they are not constants."""
    return torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())


def computed(node: Node, known: Mapping[Node, Any]) -> Any:
    args, kwargs = torch.fx.node.map_arg((node.args, dict(node.kwargs)), lambda one: known[one])
    return node.target(*args, **kwargs)


def write_single_operator(node: Node, constants: Collection[Node], handlers: Mapping[Any, Handler]) -> str:
    """Returns the text of a model with only this operator; its operands are inputs."""
    writer = Writer("alone", handlers)
    for operand in node.all_input_nodes:
        if isinstance(operand.meta.get("val"), torch.Tensor) and operand not in constants:
            type_text(fake(operand))
        for one in (operand, *operand.all_input_nodes):  # a piece reads the split tensor
            writer.register_other_value(one, one in constants)
    writer.node(node)
    return writer.text([node], typed=isinstance(node.meta.get("val"), torch.Tensor))


def write(
    graph: Graph, name: str, weights: Mapping[Node, tuple[str, torch.Tensor]], handlers: Mapping[Any, Handler]
) -> tuple[str, dict[str, torch.Tensor], list[Node]]:
    """Returns the text, its weights by path, and the placeholders that are inputs.
    `weights` has the paths and tensors of the other placeholders."""
    writer, inputs = Writer(name, handlers), []
    for node in graph.nodes:
        if node.op == "placeholder" and node in weights:
            writer.weight(node, *weights[node])
        elif node.op == "placeholder":
            if node.users or isinstance(node.meta.get("val"), torch.Tensor):
                writer.input(node)
                inputs.append(node)
        elif node.op == "call_function":
            try:
                writer.node(node)
            except NotSupported as why:
                raise why.at(node) from None
        elif node.op == "output":
            outputs = node.args[0]
            outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
            for at, value in enumerate(outputs):
                if not isinstance(value, Node):
                    raise NotSupported(f"output {at}, which is {value!r} and not a tensor")
            return writer.text(outputs), writer.tensors, inputs
        else:
            raise NotSupported(f"a node `{node.op}`")
    raise NotSupported("a graph without outputs")
