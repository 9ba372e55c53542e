#!/usr/bin/env python3
"""Compares the translation of PyTorch's operators in the Python package with eager runs: values, types and shapes.
Operators that stay with PyTorch are listed, and their results must also be right.

    tests/oracle/python_operators_test.py [--tg build/tg] [WORD...]

Words select expressions that contain one of them. Requires the installed package (`./dev test --oracle --full` installs
it) and PyTorch; otherwise the test is skipped.
"""
import unittest

from python_package import SEARCH, run_tests, tangram, torch  # skips this test if packages are missing

import torch.nn.functional as F

words = []  # select expressions


def tensors():
    """Returns the variables of expressions."""
    torch.manual_seed(1)
    flags = torch.rand(2, 3, 4) > 0.5
    special = torch.tensor([0.0, -1.5, 2.5, float("inf"), -float("inf"), float("nan")])
    return {
        "x": torch.randn(2, 3, 4), "y": torch.randn(2, 3, 4), "p": torch.rand(2, 3, 4) * 0.9 + 0.05,
        "n": torch.randint(-9, 10, (2, 3, 4)), "m": torch.tensor([-3, 2, 5, 7]), "s": special,
        "b": flags, "some": torch.randn(int(flags.sum())), "c": torch.rand(2, 3, 4) > 0.5, "v": torch.randn(4),
        "r": torch.randperm(24).reshape(2, 3, 4), "e": torch.tensor([3, 1, 3, 1, 2, 2]), "q": torch.randn(2, 2, 4),
        "at": torch.randint(0, 3, (2, 2, 4)), "once": torch.rand(2, 3, 4).argsort(1)[:, :2],
        "row": torch.tensor([2, -3]), "image": torch.randn(2, 4, 6, 8),
        "broad": torch.randn(1, 2, 31, 40),
        "volume": torch.randn(1, 2, 5, 6, 7), "kernel": torch.randn(3, 2, 2, 3, 2),
        "grouped": torch.randn(3, 8, 8).bfloat16(), "grid": torch.rand(2, 3, 5, 2) * 2 - 1,
    }


MODELS = """
argmin: x.argmin(1) | x.argmin(-1, keepdim=True) | x.argmin() | x.argmin(keepdim=True) | n.argmin(2) | s.argmin(0)
argmax: x.argmax(1) | x.argmax() | x.argmax(keepdim=True) | n.argmax(0, keepdim=True) | s.argmax(0)
any: b.any() | b.any(1) | x.any(2, keepdim=True) | (b & c).any((0, 2)) | n.any(1)
all: b.all() | b.all(0) | b.all((1, 2), keepdim=True)
prod: x.prod() | x.prod(1, keepdim=True) | m.prod() | b.prod(2)
var: x.var() | x.var(1) | x.var((0, 2), correction=0, keepdim=True) | x.std(2) | torch.var_mean(x, 1) | torch.std_mean(x, (1, 2), keepdim=True)
group: F.group_norm(image, 2) | F.group_norm(image, 4, image[0, :, 0, 0], image[0, :, 0, 1], 1e-3) | F.instance_norm(image)
norms: F.layer_norm(x, (3, 4)) | F.layer_norm(x, (4,)) | F.layer_norm(x, (3, 4), x[0], y[0]) | F.rms_norm(x, (4,), v) | F.batch_norm(x, v[:3], v[1:].abs())
activations: F.elu(x, 0.5) | F.softplus(x) | F.softplus(x * 9, 2.0, 4.0) | F.celu(x, 0.7) | F.selu(x) | F.softsign(x) | F.prelu(x, v[:1]) | F.prelu(x, v[:3]) | F.glu(x) | F.glu(x, 2) | F.logsigmoid(x) | F.hardshrink(x) | F.softshrink(x) | F.threshold(x, 0.1, 2.0) | F.tanhshrink(x) | F.relu6(x)
angles: x.tan() | p.asin() | p.acos() | x.sinh() | x.cosh() | x.asinh() | (p + 1).acosh() | p.atanh() | n.cosh()
rounds: (x * 3).trunc() | n.trunc() | (x * 3).frac()
rests: torch.remainder(x, y) | torch.remainder(x, -0.3) | torch.remainder(n, m) | torch.fmod(x, y) | torch.fmod(n, m) | torch.fmod(x, 0.7) | torch.remainder(n, 2.5)
quotients: torch.div(x, 0.3, rounding_mode='floor') | torch.div(x, y, rounding_mode='trunc') | torch.div(n, m, rounding_mode='floor') | torch.div(n, m, rounding_mode='trunc') | n // m | x // 0.5 | torch.div(x, y, rounding_mode=None) | x / (s[:4] * 0).nan_to_num(0.5)
special: s.sign() | s.sgn() | n.sign() | s.isnan() | (s * 0 + 1).isfinite() | s.isinf() | s.isfinite() | s.nan_to_num(2.0) | n.isinf() | n.isnan()
logarithms: p.log2() | p.log10() | x.exp2() | 2.5 ** x | n.exp2() | torch.logsumexp(x, 1) | torch.logaddexp(x, y) | torch.xlogy(p, p)
bools: ~b | b * c | b + c | torch.add(b, c, alpha=False) | torch.add(b, c, alpha=True) | torch.maximum(b, c) | torch.logical_xor(b, c) | b ^ c | torch.logical_xor(x, n) | torch.logical_and(n, b) | torch.logical_or(x, n) | torch.logical_not(n) | b & True
joined: torch.addcmul(x, y, p, value=0.5) | torch.addcdiv(x, y, p, value=2) | torch.lerp(x, y, 0.3) | torch.lerp(x, y, p) | torch.rsub(x, y, alpha=2) | torch.clamp(x, min=y) | torch.clamp(x, y, p) | torch.clamp(x, max=p[0]) | torch.clamp_min(x, 0.1) | x.masked_fill(b, v[0]) | torch.where(b, x, 2.0)
norm: x.norm() | x.norm(dim=1) | torch.linalg.vector_norm(x, 1, dim=2) | F.normalize(x, dim=1) | torch.cosine_similarity(x, y, 1)
order: r.sort().values | r.sort(1, descending=True).indices | x.sort(0) | torch.sort(n, stable=True) | x.topk(2) | r.topk(2, 1, largest=False) | x.argsort(1) | x.max(1) | x.min(2, keepdim=True) | x.max() | x.min() | n.min(0) | torch.aminmax(x) | x.amax()
scatter: x.scatter(1, once, q) | x.scatter(1, once, 2.0) | x.scatter_add(1, at, q) | x.scatter_reduce(1, at, q, 'amax') | x.scatter_reduce(1, at, q, 'prod') | n.scatter_add(1, at, at)
index_put: torch.index_put(x, (e[:2] % 2,), y, accumulate=True) | torch.index_put(x[0], (row,), y[0, :2]) | torch.index_put(image, (e[:2] % 2, e[2:4]), image[:, 0], accumulate=True) | torch.index_put(x, (b,), v[0]) | torch.index_put(x, (b[0, :, 0].new_ones(2),), v[:1]) | x.index_fill(1, row + 3 * (row < 0), 1.5) | x.index_add(1, row + 3 * (row < 0), q) | x.index_copy(1, torch.tensor([0, 2]), q)
joined_anew: x.scatter_reduce(1, at, q, 'mean') | x.scatter_reduce(1, at, q, 'mean', include_self=False) | x.scatter_reduce(1, at, q, 'sum', include_self=False) | x.scatter_reduce(1, at, q, 'amin', include_self=False) | x.masked_scatter(b, y) | torch.masked_scatter(x, b[0], y)
windows: x.unfold(2, 2, 1) | x.unfold(1, 2, 1).sum(-1) | x.unfold(0, 2, 2) | x.unfold(-1, 1, 3) | x.unfold(1, 2, 1).unfold(2, 2, 2) | F.unfold(image, 3, padding=1, stride=2) | F.unfold(image, (2, 3), dilation=(2, 1)) | F.unfold(image[0], 2, padding=(1, 0)) | F.unfold(image, (6, 1)) | F.fold(F.unfold(image, 2, stride=2), (6, 8), 2, stride=2) | F.fold(F.unfold(image, 3, padding=1), (6, 8), 3, padding=1)
distances: torch.cdist(x, y) | torch.cdist(x, y, 1) | torch.cdist(x, y, float('inf')) | torch.cdist(torch.cat([x] * 9, 1), y) | F.pdist(x[0]) | F.pdist(x[1], 1)
bags: F.embedding_bag(at[0], x[0]) | F.embedding_bag(e % 3, x[0], m[1:] - m[1], mode='sum') | F.embedding_bag(e % 3, x[0], row * 0 + m[:2] - m[0], mode='mean') | F.embedding_bag(e % 3, x[0], m[1:] - 2, mode='max') | F.embedding_bag(at[0] % 2, x[0], mode='sum', per_sample_weights=q[0]) | F.embedding_bag(at[0], x[0], padding_idx=1)
arcs: torch.atan2(x, y) | torch.atan2(s.reshape(6, 1), s) | torch.atan2(s * 0, -s) | torch.atan2(n, m)
attention: F.scaled_dot_product_attention(x, y, p) | F.scaled_dot_product_attention(x, y, p, is_causal=True) | F.scaled_dot_product_attention(image, image[:, :2], image[:, 2:], enable_gqa=True) | F.scaled_dot_product_attention(image[:, :3], image[:, :1], image[:, 2:3], scale=0.5, enable_gqa=True)
masked_attention: F.scaled_dot_product_attention(x, y, p, b[:, 0].unsqueeze(1)[..., :3]) | F.scaled_dot_product_attention(x, y, p, torch.ones(3, 3, dtype=torch.bool).tril(-1)) | F.scaled_dot_product_attention(x, y, p, torch.ones(3, 3).tril(-1).log()) | F.scaled_dot_product_attention(image, image, image, torch.ones(6, 6, dtype=torch.bool).tril(-2)) | F.scaled_dot_product_attention(image, image, image, (image[0, 0, :, :6] * 0 - 1).tril(1))
factors: torch.addmm(x[0, :, :3], y[0], p[0].t(), alpha=2, beta=0.5) | torch.baddbmm(x[..., :3], y, p.mT, beta=0) | torch.addmv(v[:3], x[0], v, alpha=0.5)
apart: image[row % 2, :, e[:2]] | image[:, row, :, e[:2]] | image[:, row.reshape(2, 1), :, e] | volume[:, row % 2, :, e[:2]]
others: (x * 9).round(decimals=1) | (x * 999).round(decimals=-2) | torch.hypot(x, y) | torch.hypot(s.reshape(6, 1), s) | torch.fmax(s.reshape(6, 1), s) | torch.fmin(s.reshape(6, 1), s) | torch.erfc(x) | torch.bucketize(x, v.sort().values) | torch.bucketize(n, row.sort().values, right=True, out_int32=True) | torch.dist(x, y) | torch.ldexp(x, n) | F.interpolate(volume, scale_factor=2, mode='trilinear') | F.interpolate(volume, scale_factor=2)
counts: torch.histc(x, 5, -1, 1) | torch.histc(s, 3, -2, 3) | torch.histc(e.float(), 4, 0, 3) | torch.histc(e.float() - 1, 3, 0, 2)
groups: F.grouped_mm(image[0, 0, :2].bfloat16(), grouped, offs=row.new_tensor([1, 2, 2]).int()) | F.grouped_mm(image[0, 0, :3].bfloat16(), grouped, offs=row.new_tensor([0, 2, 3]).int())
wide: F.layer_norm(x.double(), (4,)) | F.layer_norm(x.half(), (4,)) | F.batch_norm(x.double(), v[:3].double(), v[1:].abs().double()) | F.group_norm(image.double(), 2) | F.avg_pool2d(image.double(), 2)
empty: torch.cat((x[..., :2].neg(), x[..., 4:].exp()), -1) | torch.cat((torch.zeros(2, 0, 4), x, y), 1) | torch.cat((torch.tensor([]), v)) | torch.cat((torch.tensor([]), v.half()))
cut: F.pad(x, (-1, 2)) | F.pad(x, (-1, -1, 1, 0), value=2.0) | F.pad(image, (0, 0, -2, -2))
ceil: F.avg_pool2d(image, 2, ceil_mode=True) | F.avg_pool2d(image, 3, 2, ceil_mode=True) | F.avg_pool2d(image, 3, 2, 1, ceil_mode=True, count_include_pad=False) | F.avg_pool2d(image, 3, 2, 1, divisor_override=4) | F.max_pool2d(image, 3, 2, 1, ceil_mode=True) | F.avg_pool2d(image, (3, 2), 1, (1, 0))
flags: b.amax(1) | b.max() | torch.aminmax(b) | b.scatter(1, once, 2.0) | b.sort() | b.max(1).values | b.min(2).values | b.int().max(1).values | torch.sort(b, dim=1, stable=True) | n.clamp(-2, 3) | n.clamp(min=1) | n.clamp(0, 2.5) | F.hardtanh(n, -1, 1)
put: torch.select_scatter(x, y[:, 0], 1, -1) | torch.slice_scatter(x, q, 1, 1) | torch.slice_scatter(x, y[..., ::2], 2, 0, 4, 2) | torch.slice_scatter(x, y)
made: x + torch.arange(4) | torch.full((4,), 2.5) + x | x.new_zeros(4) + x | torch.scalar_tensor(2.0) * x | torch.ones_like(n) + n | x.new_full((3, 4), 7.0) - x | torch.linspace(0, 1, 4) * x | torch.linspace(4.3, 50, 50, dtype=torch.int64) + m[:1] | torch.linspace(0, 7, 50, dtype=torch.int32) + m[:1].int() | torch.logspace(0, 2.5, 7, dtype=torch.int64) + m[:1]
volume: F.conv3d(volume, kernel) | F.conv3d(volume, kernel, v[:3], 2, 1) | F.conv3d(volume, kernel[:2, :1], None, 1, (1, 0, 2), 1, 2) | F.avg_pool3d(volume, 2) | F.avg_pool3d(volume, (3, 2, 3), 1, 1, count_include_pad=False) | F.max_pool3d(volume, 3, 2, 1) | F.adaptive_avg_pool3d(volume, (2, 3, 4)) | F.adaptive_avg_pool3d(volume, 1)
resize: F.interpolate(image, scale_factor=2) | F.interpolate(image, (5, 7)) | F.interpolate(image, scale_factor=2, mode='bilinear') | F.interpolate(image, (9, 5), mode='bilinear', align_corners=True) | F.interpolate(image, (3, 4), mode='bicubic') | F.interpolate(x, 6, mode='linear') | F.interpolate(image, (5, 7), mode='nearest-exact') | F.interpolate(image, (3, 4), mode='bilinear', antialias=True) | F.interpolate(image, (15, 4), mode='bicubic', antialias=True) | F.interpolate(image, scale_factor=(1.3, 0.7), mode='bilinear') | F.interpolate(image, scale_factor=(1.3, 0.7), mode='bicubic', align_corners=True) | F.interpolate(x, 7) | F.interpolate(x, scale_factor=0.3) | F.interpolate(torch.cat([image] * 5, 2)[:, :, :29], (22, 9)) | F.interpolate(volume, (3, 7, 2), mode='trilinear', align_corners=True) | F.interpolate(volume, (3, 2, 5), mode='nearest-exact')
pools: F.avg_pool1d(x, 2) | F.max_pool1d(x, 2) | F.adaptive_avg_pool2d(image, (4, 5)) | F.adaptive_avg_pool2d(image, (7, 7)) | F.adaptive_avg_pool2d(image, (3, 4)) | F.adaptive_avg_pool1d(x, 3) | F.adaptive_max_pool2d(image, (4, 3)) | F.adaptive_max_pool1d(x, 1) | F.adaptive_avg_pool2d(image, (17, 17)) | F.adaptive_avg_pool2d(broad, (18, 5)) | F.adaptive_max_pool2d(broad, (20, 17)) | F.adaptive_max_pool2d(broad.round(), (3, 17), return_indices=True) | F.adaptive_avg_pool3d(volume, (2, 17, 3))
moved: F.pixel_shuffle(image, 2) | F.pixel_unshuffle(image, 2) | F.channel_shuffle(image, 2) | x.flip(1) | x.flip((0, -1)) | x.roll(1, 2) | x.roll((1, 2), (0, 1)) | x.repeat(2, 1, 3) | x.repeat(2, 1, 1, 2) | x.repeat_interleave(2, 1) | x.tril() | x.triu(1) | x.unbind(1) | torch.stack((x, y), 1) | x.diagonal(0, 1, 2) | x.diagonal(-1, 0, 2) | x.movedim(0, 2) | x.swapaxes(0, 1) | x.tile(2) | torch.meshgrid(v, v[:2], indexing='ij')
pads: F.pad(x, (2, 1), mode='reflect') | F.pad(image, (2, 1, 0, 3), mode='reflect') | F.pad(image, (2, 1, 3, 0), mode='replicate') | F.pad(x, (1, 2), mode='replicate') | F.pad(image, (1, 2, 0, 1), mode='circular') | F.pad(volume, (1, 1, 2, 0, 0, 1), mode='reflect')
products: torch.einsum('bij,bkj->bik', x, y) | torch.einsum('bij,bkj->bk', x, y) | x @ v | torch.outer(v, v) | torch.dot(v, v) | torch.kron(x[0], y[0]) | torch.kron(x, y[0]) | torch.kron(v, x) | torch.cumsum(x, 1) | torch.tensordot(x, y, ([1, 2], [1, 2]))
complex: torch.view_as_real(torch.polar(x, y) * torch.complex(y, x)) | torch.complex(x, y).abs() + torch.complex(x, y).angle() | (torch.complex(x, y) * torch.complex(y, x).conj()).real | ((torch.complex(x, y) * 2j + 1 - 3j) / 2 - x).imag | torch.view_as_real(torch.exp(1j * x)) | torch.view_as_real(torch.complex(x, y) @ torch.complex(x, y).mT) | (torch.complex(x, y) / torch.complex(y, x)).real | torch.complex(x, y).pow(3).real + torch.complex(x, y).reciprocal().imag
complex_places: torch.view_as_real(torch.cat([torch.complex(x, y), torch.complex(y, x)], -1).transpose(0, 1).sum(1)) | torch.view_as_real(torch.complex(x, y).split(2, -1)[1].unsqueeze(0).expand(3, -1, -1, -1)) | torch.view_as_real(torch.where(b, torch.complex(x, y), torch.complex(y, x))) | torch.view_as_real(torch.view_as_complex(x.reshape(2, 3, 2, 2))[:, row].roll(1, 1).mean(1))
fourier: torch.fft.rfft(x).abs() | torch.fft.irfft(torch.fft.rfft(x) * (1 + 0.5j)) | torch.fft.irfft(torch.fft.rfft(s[:5]), 5, norm='ortho') | torch.fft.fft2(x).real | torch.fft.ifft2(torch.fft.fft2(image, norm='ortho')).real | torch.fft.irfft2(torch.fft.rfft2(image, norm='forward'), s=(6, 8), norm='forward')
strided: (x * 2).as_strided((2, 2, 2, 4), (12, 4, 4, 1)) | (x + 1).as_strided((3, 2), (1, 5), 7) | (x.transpose(0, 1) * 2).as_strided((2, 3), (3, 2), 1)
one_for_all: F.conv2d(image, kernel[:, :, 0].repeat(1, 2, 1, 1), padding='valid') | F.conv2d(image, kernel[:, :, 0].repeat(1, 2, 1, 1), padding='same') | torch.conv2d(image, kernel[:, :, 0].repeat(1, 2, 1, 1), None, [2], [1], [1]) | F.max_pool2d(image, [2]) | F.max_pool2d(image, [3], [2], [1]) | F.avg_pool2d(image, [2], [1]) | F.conv3d(volume, kernel, None, [2], [1]) | F.avg_pool3d(volume, [2]) | F.max_pool3d(volume, [2]) | F.conv_transpose2d(image, kernel[:, :, 0].repeat(2, 2, 1, 1)[:4], None, [2])
sampled: F.grid_sample(image, grid, align_corners=False) | F.grid_sample(image, grid, padding_mode='border', align_corners=True) | image[:, :, row] | F.one_hot(m - m.min(), 12)
"""

#: Expressions of which a part stays with PyTorch; the line begins with an operator of that part.
KEPT = """
lgamma: torch.lgamma(p)
bitwise_xor: n ^ 3
bitwise_not: ~n
bitwise_and: n & m
_fft_r2c: torch.fft.rfft(torch.cat([s] * 60)).abs()
complex: torch.complex(x, y) * 2
cumsum: torch.view_as_real(torch.complex(x, y).cumsum(1))
as_strided: x[..., :3].as_strided((2, 2), (4, 1))
max_pool3d: F.max_pool3d(volume, 2, ceil_mode=True)
avg_pool2d: F.avg_pool2d(image, 3, 2, 1, ceil_mode=True)
max_pool2d: F.max_pool2d(image, 2, dilation=2)
index_put: torch.index_put(x, (b,), some)
var: x[:, :1].var(1)
copysign: x.copysign(y)
histc: torch.histc(x, 5)
_grouped_mm: F.grouped_mm(image[0, 0, :4].bfloat16(), grouped, offs=m[1:].int() - 3)
native_dropout: F.dropout(x, 1.0)
"""

#: Expressions that must be translated to the operator at the beginning of the line: enlarged images of six rows and
#: eight columns, and expressions that only look similar.
WRITTEN = """
resize: image[:, :, torch.arange(12) // 2][..., torch.arange(24) // 3] | image[:, :, (torch.arange(12) // 2)[:, None], torch.arange(8)] | image[:, :, (torch.arange(6))[:, None], (torch.arange(16) // 2)[None]] | image.index_select(2, torch.arange(18) // 3).index_select(-1, torch.arange(16) // 2) | image[:, :, torch.arange(12).to(torch.int32) // 2]
gather: image[:, 0, torch.arange(12) // 2] | image[:, :, torch.arange(12) % 6] | image[:, torch.arange(8) // 2] | image[:, :, torch.arange(12) // 2, torch.arange(12) // 2] | image[:, :, torch.arange(8) // 2, (torch.arange(16) // 2)[:, None]] | image[:, :, torch.arange(9) * 6 // 9] | image.long()[:, :, torch.arange(12) // 2]
broadcast: torch.kron(image, torch.ones(2, 2)) | torch.kron(image, torch.ones(1, 1, 2, 3)) | torch.kron(torch.ones(2, 2), image) | image * torch.ones(3, 1, 1, 1, 1)
mul: torch.kron(image, torch.arange(6.0).reshape(2, 3)) | image * torch.tensor([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0]) | torch.kron(image[0, 0], image[0, 1])
"""


def expressions(text):
    for line in text.strip().splitlines():
        group, _, rest = line.partition(": ")
        for expression in rest.split(" | "):
            if not words or any(word in line for word in words):
                yield group, expression


class Operators(unittest.TestCase):
    def compiled(self, expression):
        """Compiles an expression, compares its result with the eager one, and returns the report."""
        given = tensors()
        function = eval(f"lambda {', '.join(given)}: {expression}")
        torch._dynamo.reset()
        tangram.torch.reset()
        with torch.no_grad():
            wanted = function(**given)
            found = torch.compile(function, backend="tangram", options=SEARCH)(**given)
        for ours, theirs in zip(*map(torch.utils._pytree.tree_leaves, (found, wanted)), strict=True):
            torch.testing.assert_close(ours, theirs, atol=2e-5, rtol=2e-5, equal_nan=True)
        return tangram.torch.report()

    def test_models(self):
        for group, expression in expressions(MODELS):
            with self.subTest(group, expression=expression):
                for made in self.compiled(expression):
                    self.assertEqual(made.kept, {})

    def test_kept_operators(self):
        for group, expression in expressions(KEPT):
            with self.subTest(group, expression=expression):
                kept = [name for made in self.compiled(expression) for name in made.kept]
                self.assertTrue(any(group in name for name in kept), kept)

    def test_written_operators(self):
        image = tensors()["image"]
        for operator, expression in expressions(WRITTEN):
            with self.subTest(operator, expression=expression), torch.no_grad():
                module = torch.nn.Module()
                module.forward = eval(f"lambda image: {expression}")
                model = tangram.from_exported(torch.export.export(module, (image,)))
                self.assertIn(f"{operator}(" if operator != "mul" else " * ", model.text)
                self.assertNotIn("gather(" if operator == "resize" else "resize(", model.text)
                torch.testing.assert_close(torch.as_tensor(model.run(image)), module.forward(image))


if __name__ == "__main__":
    run_tests(words)
