"""Complex numbers as pairs of real tensors. The language has no complex numbers, so operators on them
are decomposed before a graph is written. An operator without a rule here stays complex, and with PyTorch.
A graph without complex numbers is unchanged."""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch.fx import Graph, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten

aten = torch.ops.aten


class Pair(NamedTuple):
    """Tensors of one shape (nodes while graphs are rewritten), or lists of them."""

    re: Any
    im: Any


def decompose_graph(graph: Graph, known: Mapping[Any, Callable[..., Any]]) -> None:
    """Decomposes a graph of core operators, whose nodes have values (`meta["val"]`).
    `known` decomposes the results of rules."""
    if not any(_is_complex(node) for node in graph.nodes):
        return
    work = _Work(graph, known)
    for node in list(graph.nodes):
        work.visit(node)
    graph.eliminate_dead_code()


def _is_complex(node: Node) -> bool:
    return any(isinstance(value, torch.Tensor) and value.dtype in _REAL for value in tree_leaves(node.meta.get("val")))


_REAL = {torch.complex64: torch.float32, torch.complex128: torch.float64}


class _Work:
    def __init__(self, graph: Graph, known: Mapping[Any, Callable[..., Any]]) -> None:
        self._graph, self._known = graph, known
        self._made: dict[Node, Pair] = {}  # replacements of these nodes
        self._read: dict[Node, Pair] = {}  # of nodes that stay complex
        self._whole: dict[Node, Node] = {}  # of `made`, for operators without a rule

    def visit(self, node: Node) -> None:
        if not (_is_complex(node) or any(map(_is_complex, node.all_input_nodes))):
            return
        if not node.users and _is_pure(node):  # an assertion
            return self._graph.erase_node(node)
        found = self._by_rule(node)
        if isinstance(found, Pair):
            self._made[node] = found
        elif found is not None:
            node.replace_all_uses_with(found)
        else:
            node.args, node.kwargs = torch.fx.node.map_arg((node.args, node.kwargs), self._as_complex)

    def _by_rule(self, node: Node) -> Any:
        """Returns the replacement of this node; None if no rule applies."""
        if node.target not in RULES:
            return None
        args, kwargs = tree_map(self._split, (list(node.args), dict(node.kwargs)))
        if node.target is operator.getitem:
            return Pair(args[0].re[args[1]], args[0].im[args[1]]) if isinstance(args[0], Pair) else None
        return self._inlined(RULES[node.target], args, kwargs, node)

    def _split(self, value: Any) -> Any:
        if not isinstance(value, Node) or not _is_complex(value):
            return value
        if value in self._made:
            return self._made[value]
        if value not in self._read and isinstance(value.meta["val"], torch.Tensor):
            self._read[value] = self._inlined(lambda x: Pair(*aten.view_as_real(x).unbind(-1)), [value], {},
                                              _place_after(value))
        return self._read.get(value, value)

    def _as_complex(self, value: Node) -> Node:
        if value in self._made and value not in self._whole:
            self._whole[value] = self._inlined(aten.complex.default, self._made[value], {}, value)
        return self._whole.get(value, value)

    def _inlined(self, rule: Callable[..., Any], args: Any, kwargs: Any, place: Node) -> Any:
        """Returns the result of a function of tensors, as nodes before this one."""
        leaves, spec = tree_flatten((tuple(args), kwargs))
        inputs = list(dict.fromkeys(one for one in leaves if isinstance(one, Node)))
        structure = None

        def flat(*values: torch.Tensor) -> list[torch.Tensor]:
            nonlocal structure
            given = dict(zip(inputs, values))
            args, kwargs = tree_unflatten([given[one] if isinstance(one, Node) else one for one in leaves], spec)
            found = rule(*args, **kwargs)
            if found is NotImplemented:
                return []
            tensors, structure = tree_flatten(found)
            return tensors

        values = [one.meta["val"] for one in inputs]
        mode = next((value.fake_mode for value in values if hasattr(value, "fake_mode")), contextlib.nullcontext())
        with mode:
            traced = make_fx(flat, decomposition_table=dict(self._known))(*values)
        if structure is None:
            return None
        copies: dict[Node, Node] = dict(zip(traced.graph.find_nodes(op="placeholder"), inputs))
        with self._graph.inserting_before(place):
            found = self._graph.graph_copy(traced.graph, copies)
        for one in traced.graph.nodes:
            if one.op not in ("placeholder", "output"):
                copies[one].stack_trace = place.stack_trace  # errors name the user's line
        return tree_unflatten(list(found), structure)


def _is_pure(node: Node) -> bool:
    return isinstance(node.target, torch._ops.OpOverload) and not node.target._schema.is_mutable


def _place_after(node: Node) -> Node:
    """Inputs stay contiguous."""
    place = node.next
    while place.op == "placeholder":
        place = place.next
    return place


# --- the rules: functions of pairs, tensors and numbers -------------------------------------------

RULES: dict[Any, Callable[..., Any]] = {operator.getitem: operator.getitem}  # of a split result


def _rule(*targets: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(rule: Callable[..., Any]) -> Callable[..., Any]:
        RULES.update(dict.fromkeys(targets, rule))
        return rule
    return add


def _pair(value: Any) -> Pair:
    """Returns a pair; a real number or tensor has `im` None."""
    if isinstance(value, complex):
        return Pair(value.real, value.imag)
    return value if isinstance(value, Pair) else Pair(value, None)


def _apply_to_parts(target: Any) -> Callable[..., Any]:
    def rule(x: Any, *others: Any, **named: Any) -> Any:
        if not isinstance(x, Pair) or "dtype" in named:
            return NotImplemented
        return Pair(*(target(_side(x, side), *(_side(one, side) for one in others), **named) for side in (0, 1)))
    return rule


def _side(value: Any, side: int) -> Any:
    if isinstance(value, Pair):
        return value[side]
    if isinstance(value, list):
        return [_side(one, side) for one in value]
    return value


for _target in (
        aten.view.default, aten._unsafe_view.default, aten.reshape.default, aten.unsqueeze.default, aten.squeeze.dim,
        aten.squeeze.dims, aten.permute.default, aten.transpose.int, aten.expand.default, aten.slice.Tensor,
        aten.select.int, aten.clone.default, aten.alias.default, aten.detach.default, aten.index.Tensor,
        aten.index_select.default, aten.gather.default, aten.flip.default, aten.roll.default, aten.repeat.default,
        aten.neg.default, aten.sum.dim_IntList, aten.sum.default, aten.mean.dim, aten.mean.default,
        aten.split.Tensor, aten.split_with_sizes.default, aten.unbind.int, aten.diagonal.default):
    _rule(_target)(_apply_to_parts(_target))


@_rule(aten.cat.default)
def _cat(xs: list[Any], dim: int = 0) -> Any:
    if not all(isinstance(x, Pair) for x in xs):
        return NotImplemented
    return Pair(*(torch.cat([x[side] for x in xs], dim) for side in (0, 1)))


@_rule(aten.slice_scatter.default)
def _slice_scatter(x: Any, source: Any, *where: Any) -> Any:
    if not isinstance(x, Pair) or not isinstance(source, Pair):
        return NotImplemented
    return Pair(*(aten.slice_scatter(x[side], source[side], *where) for side in (0, 1)))


@_rule(aten.where.self)
def _where(condition: Any, x: Any, y: Any) -> Any:
    if not isinstance(x, Pair) or not isinstance(y, Pair):
        return NotImplemented
    return Pair(*(torch.where(condition, x[side], y[side]) for side in (0, 1)))


@_rule(aten.view_as_complex.default)
def _view_as_complex(x: Any) -> Any:
    return Pair(x.select(-1, 0), x.select(-1, 1))


@_rule(aten.view_as_real.default)
def _view_as_real(x: Any) -> Any:
    return torch.stack(tuple(x), -1)


@_rule(aten.complex.default)
def _complex(re: Any, im: Any) -> Any:
    return Pair(*torch.broadcast_tensors(re, im))


@_rule(aten.polar.default)
def _polar(length: Any, angle: Any) -> Any:
    return Pair(length * torch.cos(angle), length * torch.sin(angle))


@_rule(aten._conj.default, aten._conj_physical.default, aten.conj_physical.default)
def _conj(x: Any) -> Any:
    return Pair(x.re, -x.im)


@_rule(aten.abs.default)
def _abs(x: Any) -> Any:
    return torch.hypot(x.re, x.im)


@_rule(aten.angle.default)
def _angle(x: Any) -> Any:
    return torch.atan2(x.im, x.re) if isinstance(x, Pair) else NotImplemented


@_rule(aten.exp.default)
def _exp(x: Any) -> Any:
    length = torch.exp(x.re)
    return Pair(length * torch.cos(x.im), length * torch.sin(x.im))


@_rule(aten._to_copy.default)
def _to_copy(x: Any, *, dtype: Any = None, **_: Any) -> Any:
    if dtype not in _REAL:
        return x.re.to(dtype) if dtype is not None else Pair(x.re.clone(), x.im.clone())
    re, im = _pair(x)
    return Pair(re.to(_REAL[dtype]), torch.zeros_like(re, dtype=_REAL[dtype]) if im is None else im.to(_REAL[dtype]))


def _product(join: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def rule(x: Any, y: Any) -> Any:
        (a, b), (c, d) = _pair(x), _pair(y)
        if b is None:
            return Pair(join(a, c), join(a, d))
        if d is None:
            return Pair(join(a, c), join(b, c))
        return Pair(join(a, c) - join(b, d), join(a, d) + join(b, c))
    return rule


_times = _rule(aten.mul.Tensor, aten.mul.Scalar)(_product(operator.mul))
_rule(aten.mm.default, aten.bmm.default)(_product(operator.matmul))


@_rule(aten.div.Tensor, aten.div.Scalar)
def _div(x: Any, y: Any) -> Any:
    (a, b), (c, d) = _pair(x), _pair(y)
    if d is None:
        return Pair(a / c, b / c)
    if not isinstance(y, Pair):
        return _times(x, 1 / y)
    scale = torch.maximum(c.abs(), d.abs())  # because its square might overflow
    c, d = c / scale, d / scale
    square = scale * (c * c + d * d)
    return Pair(*(part / square for part in _times(x, Pair(c, -d))))


@_rule(aten.reciprocal.default)
def _reciprocal(x: Any) -> Any:
    return _div(1.0, x)


@_rule(aten.pow.Tensor_Scalar)
def _pow(x: Any, exponent: Any) -> Any:
    if exponent not in (2, 3):
        return NotImplemented
    square = _times(x, x)
    return square if exponent == 2 else _times(square, x)


def _sum(join: Callable[..., Any]) -> Callable[..., Any]:
    def rule(x: Any, y: Any, alpha: Any = 1) -> Any:
        if isinstance(alpha, complex):
            return NotImplemented
        (a, b), (c, d) = _pair(x), _pair(y)
        re = join(a, c, alpha=alpha)
        if d is None:
            return Pair(re, b.expand(re.shape))
        return Pair(re, join(torch.zeros_like(re) if b is None else b, d, alpha=alpha))
    return rule


_rule(aten.add.Tensor, aten.add.Scalar)(_sum(torch.add))
_rule(aten.sub.Tensor, aten.sub.Scalar)(_sum(torch.sub))

# --- Fourier transforms: by products, where they are short ----------------------------------------

#: A product takes time proportional to the square of the length, PyTorch to n log n.
#: This bound is an estimate, not measured.
LONGEST = 256


def _matmul(x: Any, dim: int, matrix: Any) -> Any:
    return (x.movedim(dim, -1) @ matrix.to(x.dtype)).movedim(-1, dim)


def _angles(rows: int, columns: int, length: int) -> Any:
    steps = torch.arange(rows).unsqueeze(1) * torch.arange(columns)
    return (steps % length).to(torch.float64) * (2 * math.pi / length)


def _scale(lengths: list[int], normalization: int) -> float:
    """Returns ATen's scale: 0 none, 1 by the root of the number of elements, 2 by that number."""
    return math.prod(lengths) ** (0, -0.5, -1)[normalization]


def _transformed(x: Pair, dims: list[int], forward: bool) -> Pair:
    for dim in dims:
        n = x.re.shape[dim]
        angles = _angles(n, n, n)
        cos, sin = torch.cos(angles), torch.sin(angles) * (-1 if forward else 1)
        x = Pair(_matmul(x.re, dim, cos) - _matmul(x.im, dim, sin), _matmul(x.re, dim, sin) + _matmul(x.im, dim, cos))
    return x


def _scaled(x: Pair, scale: float) -> Pair:
    return x if scale == 1 else Pair(x.re * scale, x.im * scale)


@_rule(aten._fft_c2c.default)
def _fft_c2c(x: Any, dims: list[int], normalization: int, forward: bool) -> Any:
    lengths = [x.re.shape[dim] for dim in dims]
    if max(lengths, default=0) > LONGEST:
        return NotImplemented
    return _scaled(_transformed(x, dims, forward), _scale(lengths, normalization))


@_rule(aten._fft_r2c.default)
def _fft_r2c(x: Any, dims: list[int], normalization: int, onesided: bool) -> Any:
    lengths = [x.shape[dim] for dim in dims]
    if max(lengths) > LONGEST:
        return NotImplemented
    n = lengths[-1]
    angles = _angles(n, n // 2 + 1 if onesided else n, n)
    half = Pair(_matmul(x, dims[-1], torch.cos(angles)), _matmul(x, dims[-1], -torch.sin(angles)))
    return _scaled(_transformed(half, dims[:-1], True), _scale(lengths, normalization))


@_rule(aten._fft_c2r.default)
def _fft_c2r(x: Any, dims: list[int], normalization: int, n: int) -> Any:
    lengths = [*(x.re.shape[dim] for dim in dims[:-1]), n]
    if max(lengths) > LONGEST:
        return NotImplemented
    x = _transformed(x, dims[:-1], False)
    rows = n // 2 + 1
    angles, places = _angles(rows, n, n), torch.arange(rows).unsqueeze(1)
    twice = torch.where((places == 0) | (places * 2 == n), 1.0, 2.0) * _scale(lengths, normalization)
    return (_matmul(x.re, dims[-1], torch.cos(angles) * twice) - _matmul(x.im, dims[-1], torch.sin(angles) * twice))
