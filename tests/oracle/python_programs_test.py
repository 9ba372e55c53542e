#!/usr/bin/env python3
"""Compares small programs in the style of users under torch.compile(backend="tangram") with eager runs: values, types
and shapes of results, and the changes of inputs and modules.

    tests/oracle/python_programs_test.py [--tg build/tg] [NAME...]
"""
import argparse
import collections
import copy
import dataclasses
import functools
import math
import sys
import typing
import warnings

import numpy as np
from python_package import SEARCH, tangram, torch  # skips this test if packages are missing

nn, F = torch.nn, torch.nn.functional
PROGRAMS = {}


def program(*calls, **how):
    """Registers a function, or a class whose instances are called, with the arguments of consecutive calls. `how`:
    options of torch.compile."""
    def add(made):
        PROGRAMS[made.__name__] = made, calls, how
        return made
    return add


def t(*shape, dtype=torch.float32, seed=0):
    """Returns a tensor of distinct random values of both signs."""
    count = math.prod(shape)
    values = torch.randn(count, generator=torch.Generator().manual_seed(seed + count))
    return (values * 3 if not dtype.is_floating_point and dtype != torch.bool else values).to(dtype).reshape(shape)


SPECIAL = torch.tensor([math.nan, math.inf, -math.inf, 0.0, -0.0, 1.5, 2.5, -0.5, 1e-40, 3e38])
WHOLE = torch.tensor([-7, -1, 0, 1, 5, 2 ** 31 - 1, -2 ** 31, 2 ** 53 + 1, 2 ** 63 - 1, -2 ** 63])

# --- Python numbers --------------------------------------------------------------------------------------


@program((t(3),), (t(3, seed=1),))
class attribute_that_counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls, self.scale = 0, 0.5

    def forward(self, x):
        self.calls += 1
        self.scale *= 1.5
        return x * self.scale + self.calls


@program((t(4), 2), (t(4), 3), (t(4), 0.5), (t(4), True), (t(4), None))
def argument_of_many_kinds(x, k):
    return x if k is None else x * k


@program((t(4), 0.5), (t(4), math.inf), (t(4), math.nan), (t(4), -0.0), dynamic=True)
def floats_that_are_open(x, s):
    return x * s, s + 1, x + s


@program((t(2, 3), "mean"), (t(2, 3), "sum"))
def words(x, how):
    return getattr(torch, how)(x, dim=1)


@program((t(2, 3), [1, 0]), (t(2, 3), [0, 1]))
def lists_of_numbers(x, perm):
    return x.permute(*perm).contiguous()


@program((t(4),))
def numbers_that_go_back(x):
    return x.sum(), 3, 0.5, None, [x, {"a": x * 2}]


@program((t(4), 3 + 4j))
def complex_number(x, z):
    return x * z


@program((t(4), 2 ** 40), (t(4), -2 ** 62))
def large_integers(x, k):
    return x.to(torch.int64) + k, torch.full((2,), k)


# --- NumPy ------------------------------------------------------------------------------------------------


@program((t(3), np.float32(0.5)), (t(3), np.float64(0.25)), (t(3), np.int64(3)), (t(3), np.bool_(True)))
def numpy_scalars(x, s):
    return x * float(s)


@program((t(3), np.arange(3, dtype=np.float32)), (t(3), np.ones(3, np.float32)))
def numpy_arrays(x, a):
    return x + torch.from_numpy(a), np.sum(a) * x


@program((np.linspace(-1, 1, 6, dtype=np.float32),))
def numpy_alone(a):
    return np.maximum(a, 0) @ a


@program((t(3),))
def numpy_in_between(x):
    return torch.as_tensor(np.tanh(x.numpy())) * 2


# --- rank 0 -----------------------------------------------------------------------------------------------


@program((t(), t()), (t(), t(3)), (t(3), t()))
def numbers_and_vectors(a, b):
    return a + b, torch.maximum(a, b), torch.where(a > 0, a, b), a.expand(3), torch.stack([a.sum(), b.sum()])


@program((t(), torch.tensor(0)), (t(5), torch.tensor(3)))
def index_by_a_number(x, i):
    return x.reshape(-1)[i], x.reshape(-1).index_select(0, i.reshape(1)), x.reshape(-1)[i:]


@program((t(),))
def number_along_its_axis(x):
    return x.sum(0), x.softmax(0), x.cumsum(0), x.max(0), x.squeeze(), x.unsqueeze(0), x.argmax(), x.var(unbiased=False), x.norm()


@program((t(),), (t(1),))
def read_as_a_number(x):
    return x.item() * 2 if x.numel() == 1 else x


@program((t(3),))
def number_written_in_place(x):
    total = torch.zeros(())
    for one in x:
        total += one
    return total


# --- sizes ------------------------------------------------------------------------------------------------


@program((t(2, 3),), (t(5, 3),), (t(1, 3),), (t(7, 4),), dynamic=True)
def sizes_in_arithmetic(x):
    return x * x.shape[0] + torch.arange(x.shape[1]), x.reshape(-1, 1), x.sum() / x.numel(), x.new_zeros(x.size(0))


@program((t(0, 3),), (t(2, 3),), (t(3, 0),))
def sizes_of_zero(x):
    return x.sum(), x.sum(0), x + 1, torch.cat([x, x]), x @ x.T


@program((t(2, 3), t(2, 3)), (t(2, 3), t(1, 3)), (t(2, 3), t(3)), (t(1, 3), t(2, 1)), dynamic=True)
def sizes_that_broadcast(a, b):
    return a * b - a.mean() + b.max()


@program((t(6), 2), (t(6), 3), (t(12), 4), dynamic=True)
def sizes_that_are_arguments(x, n):
    return x.reshape(n, -1).sum(1), x[:n], x.split(n), x.chunk(n)


@program((t(5, 4),), (t(6, 4),), (t(9, 4),), dynamic=True)
class sizes_of_a_network(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.inner = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval()

    def forward(self, x):
        return self.inner(x[None]), F.interpolate(x[None, None], scale_factor=2)


@program((t(4, 4), 0), (t(4, 4), 1), (t(4, 4), -1))
def axes_that_are_arguments(x, axis):
    return x.sum(axis), x.softmax(axis), x.sort(axis), x.roll(1, axis), x.flip(axis), torch.cat([x, x], axis)


@program((t(3, 4),), (t(4, 4),))
def branches_on_sizes(x):
    return x @ x if x.shape[0] == x.shape[1] else x @ x.T


# --- types ------------------------------------------------------------------------------------------------

for _dtype in (torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.bool,
               torch.complex64):
    def _of_type(x):
        return x + x, x * 2, x == x, x.sum(), x.reshape(-1), torch.cat([x, x]), x.to(torch.float32) if not x.is_complex() else x.abs()
    _of_type.__name__ = "elements_of_" + str(_dtype).split(".")[1]
    program((t(2, 3).to(_dtype),))(_of_type)


@program((t(3), t(3, dtype=torch.int32)), (t(3).half(), t(3, dtype=torch.int64)), (t(3).bfloat16(), t(3)), (t(3).double(), t().float()))
def types_that_are_promoted(a, b):
    return a + b, a * b, a / 2, b / 2, torch.where(a > b, a, b), a.to(b.dtype) if b.is_floating_point() else b.to(a.dtype)


@program((t(4, 4),))
def halves_by_autocast(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return x @ x, (x @ x).sum(), F.softmax(x @ x, 0)


@program((WHOLE,))
def whole_numbers(x):
    return x // 3, x % 5, -x, x.abs(), x * x, x.clamp(-10, 10), x.max(), x.sort(), x & 6, x >> 1, x.sign(), x.float(), x.to(torch.int32)


@program((torch.tensor([-7, 7, -7, 7]), torch.tensor([2, -2, -2, 3])))
def division_of_whole_numbers(a, b):
    return a // b, a % b, torch.fmod(a, b), torch.div(a, b, rounding_mode="trunc"), a / b, torch.gcd(a, b)


@program((SPECIAL,))
def special_numbers(x):
    return (x.relu(), x.sign(), x.round(), x.clamp(-1, 1), x.max(), x.amin(), x.argmax(), x.sqrt(), x.log(), x.exp(), x.sort(), x.isnan(),
            x.nan_to_num(), x == x, torch.where(x.isfinite(), x, 0), x.sigmoid(), x.tanh(), x.softmax(0), x.trunc(), x.frac(), 1 / x, x ** 2, x.abs())


@program((SPECIAL, SPECIAL.flip(0)))
def pairs_of_special_numbers(a, b):
    return (torch.maximum(a, b), torch.fmax(a, b), torch.atan2(a, b), torch.remainder(a, b), torch.fmod(a, b), torch.hypot(a, b), a < b,
            torch.copysign(a, b), torch.nextafter(a, b), torch.pow(a, b), torch.floor_divide(a, b))


@program((torch.tensor([True, False, True]), torch.tensor([False, False, True])))
def flags(a, b):
    return a & b, a | b, a ^ b, ~a, a + b, a * b, a.sum(), a.any(), a.all(), a.float() - b.float(), a == b, a < b, a.max(), torch.where(a, 1, 0), a.cumsum(0)


# --- memory -----------------------------------------------------------------------------------------------


@program((t(4),))
def written_input(x):
    x.add_(1)
    x[1] = 5
    return x.sum()


@program((t(4),))
def input_as_output(x):
    return x, x.view(2, 2), x[1:], x * 1


@program((t(4, 4),))
def view_that_is_written(x):
    y = x.clone()
    y[:, 1].mul_(3)
    y.diagonal().fill_(7)
    y[y > 1] = 0
    return y


@program((t(4, 3).T,), (t(4, 6)[:, ::2],), (t(1, 3).expand(4, 3),), (t(2, 3, 4, 5).to(memory_format=torch.channels_last),), (t(12)[2:10],))
def other_layouts(x):
    return x + 1, x.sum(0), x.contiguous().reshape(-1), x.stride(), x.flatten() * 2


@program((t(3), t(3)))
def one_tensor_twice(x, y):
    y = x
    return x + y, x.add_(y)


@program((t(3),))
def result_twice(x):
    y = x.relu()
    return y, y, y.view(3, 1)


@program((t(2, 3, 4, 4),))
class channels_last(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.conv = nn.Conv2d(3, 5, 3, padding=1).to(memory_format=torch.channels_last)

    def forward(self, x):
        y = self.conv(x.to(memory_format=torch.channels_last))
        return y, y.is_contiguous(memory_format=torch.channels_last), y.mean((2, 3))


# --- structure --------------------------------------------------------------------------------------------

Pair = collections.namedtuple("Pair", "first second")


@dataclasses.dataclass
class Found:
    values: torch.Tensor
    note: str = "none"


@program((Pair(t(3), t(3)),))
def named_tuples(pair):
    return Pair(pair.second, pair.first + 1)


@program(({"x": t(3), "more": [t(2), (t(1), None)]},))
def nested(given):
    return {"y": given["x"] * 2, "more": (given["more"][0].sum(), given["more"][1][0])}


@program((t(3),))
def dataclass(x):
    found = Found(x * 2)
    return dataclasses.replace(found, note="doubled").values


@program((t(3),), (t(3), t(3)), (t(3), t(3), t(3)))
def any_number(*xs):
    return sum(xs), torch.stack(xs)


@program((t(3),))
def keywords(x, *, scale=2.0, **more):
    return x * scale + len(more)


@program((t(4),))
def generators(x):
    return list(one * i for i, one in enumerate(x.unbind())), dict(zip("abcd", x))


@program((t(4, 4),))
def cached(x):
    @functools.lru_cache
    def scale(n):
        return 1 / math.sqrt(n)
    return functools.reduce(torch.add, [x * scale(n) for n in (1, 2, 3)]), functools.partial(torch.add, alpha=2)(x, x)


@program((t(4),), (-t(4),))
def branch_on_a_value(x):
    return x * 2 if x.sum() > 0 else x - 1


@program((t(4),))
def loop_on_a_value(x):
    while x.norm() > 0.5:
        x = x / 2
    return x


@program((t(4),), (-t(4),))
def cond(x):
    return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))


@program((t(4),))
def caught(x):
    try:
        return x.reshape(3, 3)
    except RuntimeError:
        return x + 1


@program((t(4),))
def context(x):
    with torch.no_grad(), torch.inference_mode(False):
        y = x * 2
    with torch.enable_grad():
        return y + 1


# --- transforms -------------------------------------------------------------------------------------------


@program((t(3, 4), t(4)))
def vmap(xs, w):
    return torch.func.vmap(lambda x: x @ w)(xs), torch.func.vmap(lambda x: x.softmax(0), in_dims=1, out_dims=1)(xs)


@program((t(3),))
def derivatives(x):
    f = lambda x: (x ** 3).sin().sum()  # noqa: E731
    return (torch.func.grad(f)(x), torch.func.hessian(f)(x), torch.func.jacfwd(torch.tanh)(x), torch.func.jacrev(torch.exp)(x),
            torch.func.jvp(torch.sin, (x,), (x,)), torch.func.vmap(torch.func.grad(torch.sin))(x))


@program((t(2, 4),))
class functional_call(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.inner = nn.Linear(4, 4)

    def forward(self, x):
        doubled = {name: 2 * value for name, value in self.inner.named_parameters()}
        return torch.func.functional_call(self.inner, doubled, (x,)), self.inner(x)


@program((t(3, 4),))
class ensemble(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.stacked = nn.ParameterDict({"weight": torch.randn(5, 2, 4), "bias": torch.randn(5, 2)})

    def forward(self, x):
        return torch.func.vmap(F.linear, in_dims=(None, 0, 0))(x, self.stacked["weight"], self.stacked["bias"])


@program((t(4).requires_grad_(),))
def detached(x):
    return (x * 2).detach() + 1


# --- modules ----------------------------------------------------------------------------------------------


@program((t(2, 4),), (t(2, 4, seed=3),))
class weights_that_change(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(4, 4)
        self.register_buffer("seen", torch.zeros(4))

    def forward(self, x):
        y = self.layer(x)
        self.layer.weight.mul_(0.5)
        self.seen.add_(x.sum(0))
        return y, self.seen.clone()


@program((t(2, 4),))
class tied(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        self.b.weight = self.a.weight

    def forward(self, x):
        return self.b(self.a(x)) @ self.a.weight


@program((t(2, 4),))
class hooks(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(4, 4)
        self.layer.register_forward_hook(lambda module, args, out: out * 2)
        self.layer.register_forward_pre_hook(lambda module, args: (args[0] + 1,))

    def forward(self, x):
        return self.layer(x)


@program((torch.tensor([[1, 2], [0, 3]]), t(2, 2, 4)))
class embeddings(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.table = nn.Embedding(4, 4, padding_idx=0)

    def forward(self, i, x):
        return self.table(i) + x, F.embedding_bag(i, self.table.weight), F.one_hot(i, 5), x.gather(1, i[..., None].clamp(max=1))


@program((t(3, 2, 4),))
class recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.cell, self.gru = nn.LSTMCell(4, 3), nn.GRUCell(4, 3)

    def forward(self, x):
        h = c = g = x.new_zeros(2, 3)
        for step in x:
            h, c = self.cell(step, (h, c))
            g = self.gru(step, g)
        return h, c, g


@program((t(2, 3, 8, 8),))
class pictures(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.body = nn.Sequential(nn.Conv2d(3, 6, 3, 2, 1, groups=3), nn.GroupNorm(2, 6), nn.SiLU(), nn.ConvTranspose2d(6, 4, 4, 2, 1), nn.PixelUnshuffle(2))

    def forward(self, x):
        y = self.body(x)
        return y, F.adaptive_avg_pool2d(y, (3, 1)), F.max_pool2d(x, 3, 2, 1, return_indices=True), F.pad(x, (1, -1, 0, 2), mode="constant", value=2.5)


@program((t(1, 2, 5, 4), t(1, 2, 6, 4), t(1, 2, 6, 4)))
def attention(q, k, v):
    mask = torch.ones(5, 6, dtype=torch.bool).tril(1)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask), F.scaled_dot_product_attention(q, k[:, :, :5], v[:, :, :5], is_causal=True)


# --- operators as people combine them ---------------------------------------------------------------------


@program((t(4, 5), torch.tensor([0, 2, 2])))
def indexing(x, i):
    y = x.clone()
    y[i] = x[i] * 2
    return y, x[i, i], x[:, i], x[None, i, ..., 1:-1:2], x[-1], x[x > 0], x.take(i), x.index_add(0, i, x[i]), x.index_put((i,), x[i], True), x[..., [0, 1]]


@program((t(3, 4), t(4, 2)))
def einsums(a, b):
    return torch.einsum("ij,jk->ik", a, b), torch.einsum("ij,ij->i", a, a), torch.einsum("...j->...", a), torch.tensordot(a, b, 1), torch.outer(a[0], a[1])


@program((t(4, 4),))
def linear_algebra(x):
    return torch.linalg.inv(x), torch.det(x), x.trace(), torch.linalg.norm(x), x.tril(), torch.linalg.matrix_power(x, 3), torch.kron(x, x), torch.linalg.svdvals(x)


@program((t(6),))
def statistics(x):
    return x.std(), x.var(), x.median(), x.quantile(0.3), x.kthvalue(2), x.mode(), x.unique(), x.histc(3, -1, 1), x.cumprod(0), x.logsumexp(0), x.diff(), x.bucketize(torch.tensor([-0.5, 0.5]))


@program((t(2, 8),))
def signals(x):
    return torch.fft.rfft(x).abs(), F.conv1d(x[None], x[None, :, :3]), x.unfold(1, 3, 2), torch.stft(x, 4, 2, window=torch.ones(4), return_complex=True).real


@program((t(2, 3, 4),))
def shapes(x):
    return (x.movedim(0, -1), x.swapaxes(0, 1), x.flatten(1), x.unflatten(2, (2, 2)), x.repeat(1, 2, 1), x.tile(2), x.repeat_interleave(2, 1), x.expand(5, -1, -1, -1),
            x.rot90(), torch.meshgrid(x[0, 0], x[0, 1], indexing="ij"), x.T if x.dim() == 2 else x.mT, torch.atleast_3d(x[0, 0]), x.ravel(), torch.block_diag(x[0], x[1]))


@program((t(4, 3), torch.tensor([0, 2, 1, 1])))
def losses(x, y):
    return (F.cross_entropy(x, y, label_smoothing=0.1), F.nll_loss(x.log_softmax(1), y, ignore_index=1), F.mse_loss(x, x.flip(0)), F.huber_loss(x, -x, delta=0.3),
            F.binary_cross_entropy_with_logits(x, (x > 0).float()), F.kl_div(x.log_softmax(1), x.flip(0).softmax(1), reduction="batchmean"), F.cosine_similarity(x, x.flip(0)))


@program((t(3, 4),))
def activations(x):
    return (F.gelu(x), F.gelu(x, approximate="tanh"), F.silu(x), F.mish(x), F.elu(x, 0.3), F.selu(x), F.celu(x, 0.7), F.softplus(x, 2, 1), F.hardswish(x), F.glu(x), F.logsigmoid(x),
            F.prelu(x, torch.tensor(0.2)), F.rrelu(x), F.softshrink(x), F.hardshrink(x), F.tanhshrink(x), F.threshold(x, 0.1, 9), F.relu6(x * 9), F.normalize(x), F.gumbel_softmax(x, hard=True).sum())


@program((t(5),))
def random_numbers(x):
    return x + torch.rand(5) * 0, F.dropout(x, 0.0), torch.randperm(5).sort()[0], torch.bernoulli(torch.ones(5)) * x


@program((t(4),))
def constants(x):
    return x + torch.tensor([1.0, 2, 3, 4]), torch.eye(4) @ x, torch.linspace(0, 1, 4) * x, torch.tensor(math.pi) * x, torch.ones(4), torch.arange(4, 0, -1), torch.empty(0)


@program((t(4),))
def nothing(x):
    return None


@program((t(4),), (t(4, seed=2),))
def prints(x):
    y = x + 1
    torch._dynamo.graph_break()
    return y * 2


@program((t(6, 2),))
def sorted_rows(x):
    order = x[:, 0].argsort(descending=True)
    return x[order], x.topk(2, 0), torch.searchsorted(x[:, 0].sort()[0], x[:, 1]), x.argmax(0, keepdim=True), x.min(0), torch.aminmax(x)


@program((t(3, 3), t(3, 3, dtype=torch.bool)))
def masks(x, m):
    return x.masked_fill(m, -math.inf).softmax(-1), x.masked_select(m), x.where(m, x.new_tensor(2)), m.nonzero(), x * m, x.masked_scatter(m, x.flip(0)), (x * ~m).sum()


@program((t(3, 4),))
def scans(x):
    return x.cumsum(1), x.cummax(1), x.logcumsumexp(1), torch.cumulative_trapezoid(x), x.flip(1).cumsum(1).flip(1), x.renorm(2, 0, 1.0)


@program((t(2, 3).to(torch.int64),))
def bits(x):
    return x << 2, x ^ 5, ~x, torch.bitwise_or(x, 8), x.bool().logical_xor(x > 1), x.to(torch.uint8) + 250, x.to(torch.int8) * 100


@program((t(3).to(torch.complex64), t(3)))
def complex_numbers(z, x):
    return z * x, z.conj(), z.abs(), z.angle(), torch.view_as_real(z), torch.polar(x.abs(), x), (z @ z).real, z.exp(), z.sum()


@program((t(3),), (t(3).double(),), (t(3).half(),))
def finfo(x):
    return x.clamp(min=torch.finfo(x.dtype).eps).log(), torch.full_like(x, torch.finfo(x.dtype).min), x.to(torch.promote_types(x.dtype, torch.float32))


@program((t(3, 4),))
def typing_and_text(x):
    n: typing.Final = x.shape[-1]
    assert n == 4, f"{n} columns"
    return x.view(torch.int32), torch.numel(x), str(x.dtype), x.is_floating_point(), x.ndim


# --- the runner -------------------------------------------------------------------------------------------


def leaves(value):
    return torch.utils._pytree.tree_leaves(value)


def form(value, wanted):
    """Returns dtype, shape, and strides if the expected tensor has no gaps."""
    dense = torch._prims_common.is_non_overlapping_and_dense_or_false(wanted)
    return value.dtype, tuple(value.shape), value.stride() if dense else ()


def difference(ours, theirs):
    """Returns a description of the difference, or None."""
    if len(ours) != len(theirs):
        return f"{len(ours)} results for {len(theirs)}"
    for at, (a, b) in enumerate(zip(ours, theirs)):
        if type(a) is not type(b) and not (isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)):
            return f"result {at}: {type(a).__name__} for {type(b).__name__}"
        if isinstance(a, torch.Tensor) and form(a, b) != form(b, b):
            return f"result {at}: {form(a, b)} for {form(b, b)}"
        try:
            if isinstance(a, torch.Tensor):
                bound = {torch.float16: 4e-3, torch.bfloat16: 4e-2}.get(a.dtype, 1e-4)
                torch.testing.assert_close(a, b, atol=bound, rtol=bound, equal_nan=True)
            else:
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4) if isinstance(a, (float, complex, np.ndarray)) else None
                assert isinstance(a, (float, complex, np.ndarray)) or a == b, f"{a} for {b}"
        except AssertionError as why:
            return f"result {at}: " + " ".join(str(why).split())[:200]
    return None


def outcome(function, calls):
    """Returns the result of each call, with its inputs afterwards, or its error."""
    found = []
    for call in copy.deepcopy(calls):
        torch.manual_seed(1)
        try:
            with torch.no_grad():
                given = function(*call)
            found.append(leaves((given, call)))
        except Exception as error:  # noqa: BLE001
            found.append([getattr(error, "inner_exception", error)])
    return found


def state(module):
    return [one.detach().clone() for one in module.state_dict().values()] if isinstance(module, nn.Module) else []


def wrong(name, backend):
    made, calls, how = PROGRAMS[name]
    eager, other = (made(), made()) if isinstance(made, type) else (made, made)
    torch._dynamo.reset()
    tangram.torch.reset()
    options = {"options": SEARCH} if backend == "tangram" else {}
    theirs, ours = outcome(eager, calls), outcome(torch.compile(other, backend=backend, **how, **options), calls)
    for at, (a, b) in enumerate(zip([*ours, state(other)], [*theirs, state(eager)])):
        if len(b) == 1 and isinstance(b[0], Exception):
            continue  # eager PyTorch rejects the call
        if len(a) == 1 and isinstance(a[0], Exception):
            return f"call {at}: {type(a[0]).__name__}: {' '.join(str(a[0]).split())[:300]}"
        if (why := difference(a, b)) is not None:
            return f"call {at}: {why}"
    rows = [f"{name}: {why}" for graph in tangram.torch.report() for name, why in graph.kept.items() if "row failed" in why]
    return "; ".join(rows) or None


class Whole(nn.Module):
    """A module that calls a program."""

    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, *args):
        return self.body(*args)


def wrong_as_a_whole(name):
    """Compares the program with tangram.compile. Programs that cannot be exported or are not a model are skipped."""
    made, (call, *_), _ = PROGRAMS[name]
    eager, other = (made(), made()) if isinstance(made, type) else (made, made)
    theirs, = outcome(eager, [call])
    if not all(isinstance(one, torch.Tensor) for one in leaves(call)) or isinstance(theirs[0], Exception):
        return None
    try:
        torch.export.export(Whole(other), copy.deepcopy(call)).run_decompositions()
    except Exception:  # noqa: BLE001
        return None
    torch.manual_seed(1)
    try:
        run = tangram.compile(Whole(made() if isinstance(made, type) else made), copy.deepcopy(call), **SEARCH)
        given = copy.deepcopy(call)
        ours = leaves((run(*leaves(given)), given))
    except tangram.Error:
        return None
    except Exception as error:  # noqa: BLE001
        return f"by tangram.compile: {type(error).__name__}: {' '.join(str(error).split())[:300]}"
    ours = [torch.as_tensor(one) if isinstance(one, np.ndarray) else one for one in ours]
    why = difference([one.contiguous() if isinstance(one, torch.Tensor) else one for one in ours],
                     [one.contiguous() if isinstance(one, torch.Tensor) else one for one in theirs])
    return None if why is None else f"by tangram.compile: {why}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tg")  # every oracle test gets this option; this one uses the package
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    failed = 0
    for name in args.names or PROGRAMS:
        why = wrong(name, "tangram")
        if why is not None and wrong(name, "aot_eager") is not None:
            why = None  # the fault is Dynamo's
        if (why := why or wrong_as_a_whole(name)) is not None:
            failed += 1
            print(f"[FAIL] {name}: {why}", flush=True)
    print(f"{len(args.names or PROGRAMS)} programs, {failed} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
