"""The backend of torch.compile. Dynamo's graphs become models, in the fewest parts;
unsupported operators and all training stay with PyTorch."""

from __future__ import annotations

import contextlib
import copy
import functools
import operator
import time
import warnings
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._decomp import core_aten_decompositions
from torch._functorch._aot_autograd.descriptors import (
    AOTInput,
    BufferAOTInput,
    ParamAOTInput,
    PlainAOTInput,
    SubclassGetAttrAOTInput,
)
from torch._functorch.aot_autograd import aot_module_simplified
from torch._guards import TracingContext
from torch.fx import Graph, GraphModule, Node
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase
from torch.utils._python_dispatch import _disable_current_modes

from .._core import parse
from .._errors import Error
from .._model import Model
from .._report import Optimized
from . import buckets, quantized
from . import complex as complex_numbers
from .core import STAYS
from .exported import model_of_graph, run_options
from .operators import HANDLERS, decompositions
from .writer import NotSupported, computed, fake, is_random, is_table, without_elements, write, write_single_operator


@dataclass
class GraphReport:
    """The result for one graph: number of `parts` that run here, with this many `operators`;
    `repeated` of the parts have the rewrites of a search at other sizes.
    `kept` maps each operator that stays with PyTorch to the reason."""

    parts: int = 0
    operators: int = 0
    repeated: int = 0
    kept: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    note: str = ""

    def __str__(self) -> str:
        kept = "".join(f"\n  {name}: {why}" for name, why in self.kept.items())
        return (f"{self.operators} operators in {self.parts} parts, {self.seconds:.1f} s"
                + (f", {self.repeated} without a search" if self.repeated else "")
                + (f", {self.note}" if self.note else "") + kept)


_reports: list[GraphReport] = []
_warned = False


def report() -> list[GraphReport]:
    """Returns the report of each compiled graph, in order.

    >>> reset()
    >>> with torch.no_grad():
    ...     found = torch.compile(lambda x: torch.lgamma(torch.relu(x)) + 1, backend="tangram")(torch.ones(1))
    >>> print(*report())
    2 operators in 2 parts, ... s
      aten.lgamma.default: aten.lgamma.default is not supported
    """
    return list(_reports)


def reset() -> None:
    """Forgets the reports, and whether a warning was given."""
    global _warned
    _reports.clear()
    _warned = False


def backend(gm: GraphModule, example_inputs: Sequence[Any], *, options: dict[str, Any] | None = None,
            mode: str | None = None) -> Any:
    """For `torch.compile(module, backend="tangram", options={...})`.
    Options are those of `Model.optimize`, and `sizes`: the maximum number of combinations of dynamic sizes
    to compile (16); PyTorch runs others. A graph that PyTorch has to differentiate stays with PyTorch:
    call under `torch.no_grad()` or `inference_mode()`.

    >>> module, x = torch.nn.Linear(4, 2), torch.ones(1, 4)
    >>> fast = torch.compile(module, backend="tangram", options={"time_limit": 1})
    >>> with torch.no_grad():
    ...     torch.allclose(fast(x), module(x))
    True
    """
    options = dict(options or {})
    if mode is not None:
        warnings.warn(f"mode={mode!r} selects settings of Inductor and has no effect on the backend tangram; "
                      "pass options of tangram.Model.optimize with options={...}", stacklevel=2)
    if _is_differentiated(gm):
        return _fall_back_for_gradients(gm)
    most = _whole_number(options.pop("sizes", MOST_SIZES))
    if Specialised.wanted(gm):
        return Specialised(gm, options, most)
    return _compiled(gm, example_inputs, options)


def _whole_number(sizes: Any) -> int:
    if isinstance(sizes, bool) or not isinstance(sizes, int) or sizes < 0:
        raise ValueError(f"the option `sizes` must be a whole number of at least 0, not {sizes!r}")
    return sizes


def _is_differentiated(gm: GraphModule) -> bool:
    """Returns true if an output of Dynamo's graph requires gradients.
    AOTAutograd makes the final decision, because it also knows which inputs are changed;
    this check avoids building a backward graph."""
    return any(isinstance(value := node.meta.get("example_value"), torch.Tensor) and value.requires_grad
               for node in gm.graph.output_node().all_input_nodes)


def _fall_back_for_gradients(gm: GraphModule) -> Callable[..., Any]:
    global _warned
    _reports.append(GraphReport(note="left to PyTorch: gradients"))
    if not _warned:
        _warned = True
        warnings.warn("tangram compiles for inference: PyTorch runs a graph whose outputs require gradients "
                      "(call under torch.no_grad() or torch.inference_mode() if they need none)", stacklevel=2)
    return gm.forward


#: The number of combinations of sizes for which a graph with dynamic sizes is compiled.
MOST_SIZES = 16


class Specialised:
    """A graph with numbers that are known when it is called: sizes and floats.
    Sizes along which it provably treats all elements independently are rounded up to buckets:
    inputs are padded, and outputs are cut. Each combination of numbers is then compiled once, up to `most`;
    PyTorch runs the graph for others. Only the first combination is searched, the others repeat its rewrites."""

    def __init__(self, gm: GraphModule, options: dict[str, Any], most: int) -> None:
        self._gm, self._options, self._most = gm, options, most
        self._known: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self._warned = False
        self._searches = Searches(keep=True)
        self._floats = _floats(gm)
        self._places, self._numbers = buckets.symbols(gm)
        #: For symbols that are rounded up together, their axis in each output; None: rounding up is not allowed.
        self._outputs: dict[frozenset[str], list[buckets.Axis | None] | None] = {}
        self._reasons: dict[str, str] = {}  # of specialized symbols, until they are reported

    @staticmethod
    def wanted(gm: GraphModule) -> bool:
        values = (node.meta.get("example_value") for node in gm.graph.find_nodes(op="placeholder"))
        return any(not isinstance(value, torch.Tensor) for value in values) or bool(_floats(gm))

    def __call__(self, *inputs: Any) -> Any:
        wide = self._symbols_to_widen(inputs)
        sizes = {name: size for group, size in wide.items() for name in group}
        given = [self._widened(at, value, sizes) for at, value in enumerate(inputs)] if sizes else inputs
        key = tuple(self._key(at, value) for at, value in enumerate(given))
        run = self._known.get(key)
        if run is None:
            if len(self._known) >= self._most:
                self._warn()
                return self._gm(*inputs)
            run = self._known[key] = _compiled(self._with_floats(inputs), given, self._options, self._searches)
        found = run(*given)
        for group, (size, _) in wide.items():
            found = [one if axis is None else one.narrow(axis[0], 0, size * axis[2])
                     for one, axis in zip(found, self._outputs[group] or ())]
        return found

    def _key(self, at: int, value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        return repr(value.item()) if at in self._floats else tuple(value.shape)

    def _with_floats(self, inputs: Sequence[Any]) -> GraphModule:
        """Returns the graph with the floats of these inputs."""
        if not self._floats:
            return self._gm
        graph = copy.deepcopy(self._gm.graph)
        placeholders = graph.find_nodes(op="placeholder")
        for at in self._floats:
            for item in list(placeholders[at].users):
                with graph.inserting_before(item):
                    item.replace_all_uses_with(graph.call_function(float, (inputs[at].item(),)))
                graph.erase_node(item)
        return GraphModule(self._gm, graph)

    def _symbols_to_widen(self, inputs: Sequence[Any]) -> dict[frozenset[str], tuple[int, int]]:
        """Returns the symbols that get a larger size together: their own size and the larger one."""
        sizes = {name: inputs[at].shape[axis] for at, one in enumerate(self._places) for axis, name in one.items()}
        wide: dict[frozenset[str], tuple[int, int]] = {}
        for name, size in sizes.items():
            if (to := buckets.rounded(size)) == size or any(name in group for group in wide):
                continue
            for group in buckets.candidates(name, sizes, self._places):
                if self._axes(group, inputs):
                    wide[group] = size, to
                    break
            else:
                if name in self._reasons:
                    _reports.append(GraphReport(note=f"{name} is specialised: {self._reasons.pop(name)}"))
        return wide

    def _axes(self, group: frozenset[str], inputs: Sequence[Any]) -> list[buckets.Axis | None] | None:
        if group not in self._outputs:
            try:
                with _disable_current_modes():
                    self._outputs[group] = buckets.independent(
                        self._with_floats(inputs), inputs, self._places, self._numbers, group, _decomposition_table())
            except buckets.Dependent as why:
                self._outputs[group] = None
                self._reasons.update(dict.fromkeys(group, str(why)))
        return self._outputs[group]

    def _widened(self, at: int, value: Any, sizes: dict[str, tuple[int, int]]) -> Any:
        """Returns the input padded to its buckets. The last elements are repeated, because they are valid
        for the graph; zeros might not be where it divides or indexes."""
        if not isinstance(value, torch.Tensor):
            return sizes.get(self._numbers.get(at, ""), (0, value))[1]
        for axis, name in self._places[at].items():
            if name in sizes:
                size, to = sizes[name]
                last = value.narrow(axis, size - 1, 1)
                missing = [to - size if one == axis else -1 for one in range(value.dim())]
                value = torch.cat((value, last.expand(missing)), axis)
        return value

    def _warn(self) -> None:
        if self._warned:
            return
        self._warned = True
        _reports.append(GraphReport(note=f"left to PyTorch: sizes beyond {self._most} combinations"))
        warnings.warn(f"tangram has compiled this graph for {self._most} combinations of sizes and numbers; PyTorch "
                      "runs it for others (options={'sizes': ...} sets the limit)", stacklevel=3)


def _floats(gm: GraphModule) -> list[int]:
    """Returns the inputs that are Python numbers, which Dynamo passes as tensors and reads by `item()`."""
    return [at for at, node in enumerate(gm.graph.find_nodes(op="placeholder"))
            if getattr(node.meta.get("grapharg"), "pass_arg_as_tensor", False)
            and all(user.target == "item" for user in node.users)]


@functools.cache
def _core_set() -> dict[Any, Callable[..., Any]]:
    return dict(core_aten_decompositions().items())  # PyTorch recomputes it, in a fifth of a second


def _decomposition_table() -> dict[Any, Callable[..., Any]]:
    return decompositions(_core_set())


class _Differentiated(Exception):
    """Ends a compilation by AOTAutograd of a graph with a backward pass."""


def _compiled(gm: GraphModule, inputs: Sequence[Any], options: dict[str, Any],
              searches: Searches | None = None) -> Callable[..., Any]:
    made = GraphReport()
    searches = searches or Searches(keep=False)

    def compile_graph(graph: GraphModule, _: Sequence[Any]) -> Callable[..., Any]:
        start = time.perf_counter()
        with _disable_current_modes(), torch.no_grad():  # weights are real tensors
            complex_numbers.decompose_graph(graph.graph, apart)
            quantized.remove_round_trips(graph.graph)
            weights = _tensors_of(graph, gm, inputs)
            lowering = Lowering(graph, weights, options, made, searches)
            run = lowering.module().forward  # without the overhead of module hooks
        made.seconds = time.perf_counter() - start

        def call(args: list[Any]) -> Any:
            return run(*args)

        call._boxed_call = True  # type: ignore[attr-defined]
        return call

    def refuse(graph: GraphModule, _: Sequence[Any]) -> Callable[..., Any]:
        raise _Differentiated

    apart = _decomposition_table()
    try:  # in the caller's grad mode: Dynamo's graph changes it and depends on its initial value
        run = aot_module_simplified(gm, list(inputs), fw_compiler=refuse, bw_compiler=refuse,
                                    inference_compiler=compile_graph, decompositions=apart)
    except _Differentiated:
        return _fall_back_for_gradients(gm)
    _reports.append(made)
    return run


def _tensors_of(graph: GraphModule, gm: GraphModule, inputs: Sequence[Any]) -> list[torch.Tensor | None]:
    """Returns the module's tensor behind each input of AOTAutograd's graph, by its description;
    None for inputs of the caller, and for tensors that the graph changes, such as a cache,
    which would be reloaded before each call."""
    static = _static(gm)

    def tensor(described: AOTInput | None) -> Any:
        if isinstance(described, (ParamAOTInput, BufferAOTInput)):
            return operator.attrgetter(described.target)(gm)
        if isinstance(described, PlainAOTInput):
            return inputs[described.idx] if static[described.idx] else None
        if isinstance(described, SubclassGetAttrAOTInput):
            whole = tensor(described.base)
            return None if whole is None else getattr(whole, described.attr)
        return None

    changed = _inputs_changed_in_place()
    return [None if place in changed else tensor(node.meta.get("desc"))
            for place, node in enumerate(graph.graph.find_nodes(op="placeholder"))]


class Supported(OperatorSupportBase):
    """Decides whether a node is supported: it is written as a model of its own, and the text is checked."""

    def __init__(self, constants: Collection[Node], made: GraphReport) -> None:
        self._constants, self._made = constants, made
        self._known: dict[Node, bool] = {}

    def is_node_supported(self, submodules: Any, node: Node) -> bool:
        if node not in self._known:
            self._known[node] = node.op == "call_function" and self._has_form(node)
        return self._known[node]

    def _has_form(self, node: Node) -> bool:
        source = node.args[0] if node.target is operator.getitem else node
        try:  # outputs stay with their operator: all are supported, or none
            for one in (source, *(user for user in source.users if user.target is operator.getitem)):
                if one.users:  # otherwise an assertion, which is omitted
                    parse(write_single_operator(one, self._constants, HANDLERS), "<alone>", "", {})
        except (NotSupported, Error) as why:
            if node in self._constants and all(self.is_node_supported({}, user) for user in node.users):
                return True  # PyTorch computes it from tables when a program of its users is made
            self._made.kept[str(source.target)] = STAYS.get(source.target, _reason(why))
            return False
        except Exception as why:  # noqa: BLE001  a bug of a row must not break the caller's program
            self._made.kept[str(source.target)] = f"its row failed: {why!r}"
            return False
        return True


def _nodes_from_constants(graph: Graph, tables: set[Node], constants: Collection[Node]) -> set[Node]:
    """Returns the nodes that depend only on tables and constants, including those."""
    known = {*tables, *constants}
    for node in graph.nodes:
        if node.all_input_nodes and known.issuperset(node.all_input_nodes) and _can_be_computed(node):
            known.add(node)
    return known


def _reason(why: NotSupported | Error) -> str:
    if isinstance(why, Error) and why.diagnostics:
        return str(why.diagnostics[0].message)
    return str(why).split("\n", 1)[0]


def fold(gm: GraphModule) -> dict[Node, torch.Tensor]:
    """Computes nodes that depend on no input and stores them in the graph: returns the nodes that read them,
    and values."""
    known: dict[Node, Any] = {}
    held: dict[Node, torch.Tensor] = {}
    for node in list(gm.graph.nodes):
        if node.op == "get_attr":
            value = operator.attrgetter(node.target)(gm)
            if isinstance(value, torch.Tensor):
                known[node] = held[node] = value
        elif node.op == "call_function" and (nothing := without_elements(node)) is not None:
            known[node] = nothing
        elif node.users and known.keys() >= set(node.all_input_nodes) and _can_be_computed(node):
            known[node] = computed(node, known)
    for node, value in known.items():
        if node not in held and isinstance(value, torch.Tensor) and not known.keys() >= set(node.users):
            held[_constant_node(gm, node, value)] = value
    return held


def _can_be_computed(node: Node) -> bool:
    if node.op != "call_function" or any(isinstance(value, torch.Tensor) and value.device.type != "cpu"
                                         for value in torch.utils._pytree.tree_leaves(node.meta.get("val"))):
        return False
    return node.target is operator.getitem or (
        isinstance(node.target, torch._ops.OpOverload) and not is_random(node)
        and not node.target._schema.is_mutable)


def _constant_node(gm: GraphModule, node: Node, value: torch.Tensor) -> Node:
    """Returns a node that reads the value, in place of one that computes it;
    callers get copies of outputs."""
    path = f"constant_{node.name}"
    gm.register_buffer(path, value)
    with gm.graph.inserting_before(node):
        held = gm.graph.get_attr(path)
        copy = gm.graph.call_function(torch.ops.aten.clone.default, (held,))
    held.meta, copy.meta = dict(node.meta), dict(node.meta)
    node.replace_all_uses_with(copy, lambda user: user.op == "output")
    node.replace_all_uses_with(held)
    return held


class Searches:
    """The searches for the parts of one graph. With `keep`, a part at other sizes gets the rewrites of its first
    search, unless most of them do not apply there or do not pay."""

    def __init__(self, keep: bool) -> None:
        self._keep = keep
        self._found: dict[str, Optimized] = {}

    def optimized(self, part: str, model: Model, options: dict[str, Any], made: GraphReport) -> Model:
        if part in self._found:
            with contextlib.suppress(Error):  # at these sizes the part has other inputs
                again = self._found[part].repeat(model)
                if again.skipped <= again.steps and not again.source_returned:
                    made.repeated += 1
                    return again.model
        found = model.optimize(**{"recipe": self._keep, **options})
        if self._keep:
            self._found.setdefault(part, found)
        return found.model


class Lowering:
    """Replaces the parts of one graph of core operators by programs."""

    def __init__(self, graph: GraphModule, tensors: Sequence[Any], options: dict[str, Any],
                 made: GraphReport, searches: Searches) -> None:
        self._graph, self._options, self._made, self._searches = graph, options, made, searches
        placeholders = graph.graph.find_nodes(op="placeholder")
        # Parameters and buffers are weights; other tensors are inputs.
        self._weights = {node: tensor for node, tensor in zip(placeholders, tensors)
                         if isinstance(tensor, torch.Tensor)}
        self._threads = options.get("threads", torch.get_num_threads())

    def module(self) -> GraphModule:
        constants = fold(self._graph)
        self._graph.graph.eliminate_dead_code()
        tables = {node for node, tensor in self._weights.items() if is_table(tensor)}
        known = _nodes_from_constants(self._graph.graph, tables, constants)
        partitioner = CapabilityBasedPartitioner(self._graph, Supported(known, self._made),
                                                 allows_single_node_partition=True)
        fused = partitioner.fuse_partitions(partitioner.propose_partitions())
        held = {node.name: tensor for node, tensor in (constants | self._weights).items()}
        for node in list(fused.graph.nodes):
            if node.op == "call_module" and node.target.startswith("fused_"):
                self._lower(fused, node, held)
        fused.graph.eliminate_dead_code()
        fused.recompile()
        return fused

    def _lower(self, fused: GraphModule, node: Node, tensors: dict[str, torch.Tensor]) -> None:
        part = getattr(fused, node.target)
        inner = part.graph.find_nodes(op="placeholder")
        for one, outer in zip(inner, node.args):
            one.meta.setdefault("val", outer.meta.get("val"))
        held = {one: (outer.name, tensors[outer.name])
                for one, outer in zip(inner, node.args) if outer.name in tensors}
        changing = [place for place, outer in enumerate(node.args)
                    if outer.name in tensors and outer.op == "placeholder"]
        count = sum(one.op == "call_function" for one in part.graph.nodes)
        try:
            weights = Weights(part.graph, held, [inner[place] for place in changing])
            options = {"threads": self._threads, **self._options}
            fast = self._searches.optimized(node.target, weights.model, options, self._made)
        except (NotSupported, Error) as why:
            self._made.kept[f"a part of {count} operators"] = _reason(why)
            return
        found = part.graph.output_node().args[0]
        single = not isinstance(found, (list, tuple))
        forms = [_form(fake(one)) for one in ([found] if single else found)]
        options = {"threads": self._threads, **run_options(self._options)}
        run = Part(fast, weights, options, [inner.index(one) for one in weights.inputs], changing, forms, single,
                   [fake(one).dtype for one in weights.inputs])
        with fused.graph.inserting_before(node):
            called = fused.graph.call_function(run, node.args)
        called.meta = dict(node.meta)
        node.replace_all_uses_with(called)
        fused.graph.erase_node(node)
        self._made.parts += 1
        self._made.operators += count


class Weights:
    """The model of a part, and its weights: tensors of the module, including `changing` ones, constants,
    and results that PyTorch computes from tables, again when those change."""

    def __init__(self, graph: Graph, held: dict[Node, tuple[str, torch.Tensor]], changing: Sequence[Node]) -> None:
        self._graph, self._held, self._changing = graph, held, changing
        self.model, self.inputs, self._tensors = model_of_graph(graph, "part", held)
        self._tables = any(is_table(held[node][1]) for node in changing)

    def of(self, model: Model, tensors: Sequence[torch.Tensor]) -> Model:
        """Returns the model with these tensors in place of those that change."""
        now = {node: (self._held[node][0], tensor) for node, tensor in zip(self._changing, tensors)}
        given = self._tensors | {path: tensor for path, tensor in now.values() if path in self._tensors}
        if self._tables:
            with _disable_current_modes():
                given = write(self._graph, "part", {**self._held, **now}, HANDLERS)[1]
        return model.with_weights({path: tensor.detach() for path, tensor in given.items()})


class Part:
    """A program that replaces a part of the graph, as a function. Changed weights are loaded again."""

    __name__ = "part"  # the name in graphs

    def __init__(self, model: Model, weights: Weights, options: dict[str, Any], inputs: Sequence[int],
                 changing: Sequence[int], forms: Sequence[Form | None], single: bool,
                 dtypes: Sequence[torch.dtype]) -> None:
        self._model, self._weights, self._options, self._dtypes = model, weights, options, dtypes
        self._inputs, self._changing, self._single = _selector(inputs), _selector(changing), single
        self._forms = forms if any(forms) else None
        self._watch = Watch()
        self._state: list[int] | None = None

    def __call__(self, *args: torch.Tensor) -> Any:
        weights, inputs = self._changing(args), self._inputs(args)
        state = self._watch.state(weights)
        if state != self._state:
            self._run = self._weights.of(self._model, weights).compile(**self._options)._run
            if self._state is None:
                self._others = [at for at, one in enumerate(inputs) if one.dtype != self._dtypes[at]]
            self._state = state
        for at in self._others:  # an operator of PyTorch returns another type than its description
            inputs[at] = inputs[at].to(self._dtypes[at])
        tensors = [*map(torch.from_numpy, self._run(inputs))]
        if self._forms:
            tensors = [tensor if form is None else form(tensor) for tensor, form in zip(tensors, self._forms)]
        return tensors[0] if self._single else tuple(tensors)


def _selector(places: Sequence[int]) -> Callable[[Sequence[Any]], list[Any]]:
    """Returns a function that selects the elements at these places, without Python code for each."""
    if len(places) < 2:
        return lambda values: [values[place] for place in places]
    taken = operator.itemgetter(*places)
    return lambda values: [*taken(values)]


#: Converts a row-major tensor to the form that PyTorch expects.
Form = Callable[[torch.Tensor], torch.Tensor]


def _form(value: torch.Tensor) -> Form | None:
    """Returns the conversion for a tensor that has another layout in PyTorch, where the remaining operators
    may rely on the memory layout; and for bf16, which NumPy arrays do not have."""
    strides = value.stride() if _has_other_layout(value) else None
    if strides is not None:
        return lambda tensor: torch.empty_strided(tensor.shape, strides, dtype=value.dtype).copy_(tensor)
    return (lambda tensor: tensor.to(torch.bfloat16)) if value.dtype == torch.bfloat16 else None


def _has_other_layout(value: torch.Tensor) -> bool:
    reach = 1
    for stride, size in sorted(zip(value.stride(), value.shape)):
        if size != 1 and stride != reach:
            return False  # with gaps, or with overlapping elements
        reach *= size
    return not value.is_contiguous()


class Watch:
    """Detects changed weights. It is called before each run, so it iterates over them without Python code
    for each."""

    _version = operator.attrgetter("_version")

    def __init__(self) -> None:
        self._tensors: Sequence[torch.Tensor] = ()
        self._counted: Sequence[torch.Tensor] = ()

    def state(self, tensors: Sequence[torch.Tensor]) -> list[int]:
        """Returns a state that changes when one of the tensors does; inference_mode tensors do not count
        their changes."""
        if len(tensors) != len(self._tensors) or not all(map(operator.is_, tensors, self._tensors)):
            self._tensors = tensors
            self._counted = [tensor for tensor in tensors if not tensor.is_inference()]
        return [*map(torch.Tensor.data_ptr, tensors), *map(self._version, self._counted)]


def _inputs_changed_in_place() -> set[int]:
    """Returns the inputs that the graph being compiled changes, such as a cache of keys:
    as weights they would be reloaded before each call."""
    context = TracingContext.try_get()
    known = context.fw_metadata if context else None
    return set(known.mutated_inp_runtime_indices) if known else set()


def _static(gm: GraphModule) -> list[bool]:
    """Returns for each input of Dynamo's graph whether it is a parameter or buffer of the module."""
    return ["_dynamo_static_input_type" in node.meta.get("tensor_dict", {})
            for node in gm.graph.nodes if node.op == "placeholder"]
