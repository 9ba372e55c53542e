#!/usr/bin/env python3
"""Tests the import of ONNX files with open sizes. Each file has an operator or a few with dynamic dimensions. It is
imported once, as a generic model, and run at several sizes: its results must equal ONNX Runtime's on the file. Sizes
are drawn by a seed; the ends of the range and 1 are among them.

    tests/oracle/open_sizes_test.py [--tg build/tg] [--jobs N] [--sizes 6] [--seed 1] [--networks] [NAME...]

NAME selects cases whose name contains it. --networks takes exported networks of both exporters of PyTorch instead.
"""
import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from export_test import LIMIT_S  # also skips this test if packages are missing

import networks
import numpy as np
import onnx
import onnx.parser
import onnxruntime
from onnx import helper

onnxruntime.set_default_logger_severity(3)
PRIMES = [2, 3, 5, 7, 11, 13, 17, 23, 31, 41, 53]

# Each graph in the syntax of onnx.parser. `dims` are the values of --dim, `opset` defaults to 18, `high` is the bound
# of integer inputs, `refused` is a part of the message for a file that has no generic form.
Case = collections.namedtuple("Case", "name graph dims opset high refused", defaults=[{}, 18, 3, None])


def case(name, inputs, nodes, **options):
    return Case(name, f"g ({inputs}) => (float y) {{ {nodes} }}", **options)


X = "float[N, S, 8] x"
IMAGE = "float[N, 3, H, W] x"
FEW = {"H": "24..90", "W": "24..90"}


def elementwise():
    for op in ["Relu", "Sigmoid", "Tanh", "Gelu", "Softplus", "Erf", "Neg", "Exp", "Sqrt", "HardSwish", "Floor"]:
        yield case(op.lower(), X, f"y = {op}(x)", opset=20)
    for op in ["Add", "Mul", "Sub", "Max"]:
        yield case(f"{op.lower()}_row", X + ", float[8] w", f"y = {op}(x, w)")
        yield case(f"{op.lower()}_same", X + ", float[N, S, 8] z", f"y = {op}(x, z)")
        yield case(f"{op.lower()}_outer", "float[N, 1, 8] x, float[S, 1] z", f"y = {op}(x, z)")
    yield case("where", X + ", float[N, S, 8] z", "k = Constant<value_float = 0.0>() c = Greater(x, k) y = Where(c, x, z)")
    yield case("clip", X, "a = Constant<value_float = -0.5>() b = Constant<value_float = 0.5>() y = Clip(x, a, b)")
    yield case("cast", X, "c = Cast<to = 7>(x) y = Cast<to = 1>(c)")


SHAPE = "s = Shape(x) zero = Constant<value_ints = [0]>() one = Constant<value_ints = [1]>() minus = Constant<value_ints = [-1]>() eight = Constant<value_ints = [8]>() two = Constant<value_ints = [2]>() four = Constant<value_ints = [4]>() n = Gather(s, zero) t = Gather(s, one) "


def shapes():
    yield case("reshape_merge", X, SHAPE + "k = Concat<axis = 0>(minus, eight) y = Reshape(x, k)")
    yield case("reshape_heads", X, SHAPE + "k = Concat<axis = 0>(n, t, two, four) h = Reshape(x, k) "
               "y = Transpose<perm = [0, 2, 1, 3]>(h)")
    yield case("reshape_zero", X, SHAPE + "z = Constant<value_ints = [0, -1]>() y = Reshape(x, z)")
    yield case("reshape_product", X, SHAPE + "m = Mul(n, t) k = Concat<axis = 0>(m, eight) y = Reshape(x, k)")
    yield case("reshape_divided", "float[N, S, 8] x", SHAPE + "m = Mul(t, eight) h = Div(m, two) "
               "k = Concat<axis = 0>(n, two, h) y = Reshape(x, k)")
    yield case("flatten", X, "y = Flatten<axis = 2>(x)")
    yield case("flatten_1", X, "y = Flatten(x)")
    yield case("squeeze", "float[N, 1, S] x", "a = Constant<value_ints = [1]>() y = Squeeze(x, a)")
    yield case("unsqueeze", X, "a = Constant<value_ints = [1]>() y = Unsqueeze(x, a)")
    yield case("expand_row", X + ", float[1, 1, 8] w", "s = Shape(x) y = Expand(w, s)")
    yield case("expand_same", X, "s = Shape(x) y = Expand(x, s)")
    yield case("expand_rank", X + ", float[8] w", "s = Shape(x) y = Expand(w, s)")
    yield case("expand_head", "float[N, 1, S, 4] x", "s = Constant<value_ints = [1, 3, 1, 1]>() y = Expand(x, s)")
    yield case("tile", X, "r = Constant<value_ints = [1, 2, 1]>() y = Tile(x, r)")
    yield case("tile_by_size", "float[S, 4] x", "r = Constant<value_ints = [2]>() s = Shape<start = 0, end = 1>(x) "
               "one = Constant<value_ints = [1]>() q = Concat<axis = 0>(s, one) y = Tile(x, q)")
    yield case("constant_of_shape", X, "s = Shape(x) c = ConstantOfShape<value = float[1] {2.5}>(s) y = Add(x, c)")
    yield case("zeros_of_shape", X, "s = Shape(x) c = ConstantOfShape(s) y = Sub(c, x)")
    yield case("size", X, "s = Size(x) f = Cast<to = 1>(s) y = Add(x, f)")
    yield case("shape_of", X, "s = Shape(x) y = Cast<to = 1>(s)")
    yield case("dimension", X, "s = Shape<start = 1, end = 2>(x) y = Cast<to = 1>(s)")
    yield case("mean_by_size", X, "s = Shape<start = 1, end = 2>(x) f = Cast<to = 1>(s) a = Constant<value_ints = [1]>() "
               "t = ReduceSum<keepdims = 1>(x, a) y = Div(t, f)")
    yield case("scaled_by_size", X, "s = Shape<start = 1, end = 2>(x) f = Cast<to = 1>(s) q = Sqrt(f) y = Div(x, q)")
    yield case("log_of_size", X, "s = Shape<start = 1, end = 2>(x) f = Cast<to = 1>(s) q = Log(f) y = Mul(x, q)")
    yield case("reciprocal_of_size", X, "s = Shape<start = 1, end = 2>(x) f = Cast<to = 1>(s) q = Reciprocal(f) "
               "y = Mul(x, q)")


RANGE = ("s = Shape<start = 1, end = 2>(x) z = Constant<value_int = 0>() o = Constant<value_int = 1>() "
         "e = Constant<value_ints = [0]>() n = Squeeze(s, e) r = Range(z, n, o) ")


def ranges():
    yield case("range", X, RANGE + "y = Cast<to = 1>(r)")
    yield case("range_from", X, RANGE + "two = Constant<value_int = 2>() m = Add(n, two) q = Range(two, m, o) "
               "y = Cast<to = 1>(q)")
    yield case("range_step", X, RANGE + "two = Constant<value_int = 2>() q = Range(z, n, two) y = Cast<to = 1>(q)")
    yield case("range_of_floats", X, RANGE + "f = Cast<to = 1>(n) zf = Constant<value_float = 0.0>() "
               "of = Constant<value_float = 0.5>() y = Range(zf, f, of)")
    yield case("positions", "float[N, S, 8] x, float[64, 8] w", RANGE + "p = Gather(w, r) y = Add(x, p)",
               dims={"S": "1..64"})
    yield case("causal", X, RANGE + "a = Constant<value_ints = [1]>() c = Unsqueeze(r, a) b = Unsqueeze(r, e) "
               "m = LessOrEqual(b, c) y = Cast<to = 1>(m)")
    yield case("causal_mask", "float[N, S, S] x", "s = Shape<start = 1, end = 3>(x) c = ConstantOfShape<value = float[1] {-9.0}>(s) "
               "k = Constant<value_int = 1>() u = Trilu<upper = 1>(c, k) y = Add(x, u)")
    yield case("tril", "float[N, S, T] x", "y = Trilu<upper = 0>(x)")
    yield case("cumsum", X, "a = Constant<value_int = 1>() y = CumSum(x, a)")
    yield case("eye_like", "float[S, T] x", "y = EyeLike<k = 1>(x)")
    yield case("one_hot", "int64[N, S] x", "d = Constant<value_int = 5>() v = Constant<value_floats = [0.0, 1.0]>() "
               "y = OneHot(x, d, v)")
    yield case("one_hot_of_size", "float[N, S] x, int64[N] i", "s = Shape<start = 1, end = 2>(x) "
               "v = Constant<value_floats = [0.0, 1.0]>() y = OneHot(i, s, v)", high=1)
    yield case("trigonometric", X, RANGE + "f = Cast<to = 1>(r) g = Sin(f) a = Constant<value_ints = [1]>() "
               "c = Unsqueeze(g, a) y = Add(x, c)")


def slices():
    begin = "s = Shape<start = 1, end = 2>(x) z = Constant<value_ints = [0]>() o = Constant<value_ints = [1]>() "
    yield case("slice_fixed", X, "a = Constant<value_ints = [2]>() b = Constant<value_ints = [5]>() y = Slice(x, a, b, a)")
    yield case("slice_all_but_last", X, begin + "m = Constant<value_ints = [-1]>() y = Slice(x, z, m, o)",
               dims={"S": "2.."})
    yield case("slice_last", X, begin + "m = Constant<value_ints = [-1]>() e = Constant<value_ints = [9223372036854775807]>() "
               "y = Slice(x, m, e, o)")
    yield case("slice_whole", X, begin + "e = Constant<value_ints = [9223372036854775807]>() y = Slice(x, z, e, o)")
    yield case("slice_from", X, begin + "e = Constant<value_ints = [9223372036854775807]>() y = Slice(x, o, e, o)",
               dims={"S": "2.."})
    yield case("slice_half", X, begin + "w = Constant<value_ints = [2]>() h = Div(s, w) y = Slice(x, z, h, o)",
               dims={"S": "2.."})
    yield case("slice_table", "float[N, S, 8] x, float[1, 70, 8] w", begin + "p = Slice(w, z, s, o) y = Add(x, p)",
               dims={"S": "1..70"})
    yield case("slice_step", X, begin + "e = Constant<value_ints = [9223372036854775807]>() w = Constant<value_ints = [2]>() "
               "y = Slice(x, z, e, o, w)")
    yield case("slice_step_odd", X, begin + "e = Constant<value_ints = [9223372036854775807]>() w = Constant<value_ints = [2]>() "
               "y = Slice(x, o, e, o, w)", dims={"S": "2.."})
    yield case("slice_reversed", X, begin + "m = Constant<value_ints = [-1]>() e = Constant<value_ints = [-9223372036854775807]>() "
               "y = Slice(x, m, e, o, m)")
    yield case("slice_clamped", X, begin + "e = Constant<value_ints = [4]>() y = Slice(x, z, e, o)", dims={"S": "5.."})
    yield case("gather_last", X, "m = Constant<value_int = -1>() y = Gather<axis = 1>(x, m)")
    yield case("gather_first", X, "m = Constant<value_int = 0>() y = Gather<axis = 1>(x, m)")
    yield case("gather_data", "float[9, 8] x, int64[N, S] i", "y = Gather(x, i)")
    yield case("gather_elements", "float[N, 9] x, int64[N, S] i", "y = GatherElements<axis = 1>(x, i)")
    yield case("gather_nd", "float[N, S, 8] x, int64[M, 1] i", "y = GatherND(x, i)", dims={"N": "3.."}, high=2)
    yield case("split_halves", X, "a, b = Split<axis = 2, num_outputs = 2>(x) y = Sub(a, b)")
    yield case("split_first", X, "k = Constant<value_ints = [1]>() m = Sub(s, k) s = Shape<start = 1, end = 2>(x) "
               "q = Concat<axis = 0>(k, m) a, y = Split<axis = 1>(x, q)", dims={"S": "2.."})
    yield case("concat", X + ", float[N, T, 8] z", "y = Concat<axis = 1>(x, z)")
    yield case("concat_token", X + ", float[1, 1, 8] w", "s = Shape<start = 0, end = 1>(x) o = Constant<value_ints = [1, 8]>() "
               "t = Concat<axis = 0>(s, o) c = Expand(w, t) y = Concat<axis = 1>(c, x)")
    yield case("past", "float[N, P, 8] p, float[N, 1, 8] x, float[N, 1, 1, P_plus_1] m",
               "k = Concat<axis = 1>(p, x) t = Transpose<perm = [0, 2, 1]>(k) q = MatMul(x, t) "
               "a = Constant<value_ints = [1]>() u = Squeeze(m, a) y = Add(q, u)")


def pads():
    yield case("pad", X, "p = Constant<value_ints = [0, 1, 0, 0, 2, 0]>() y = Pad(x, p)")
    yield case("pad_edge", X, "p = Constant<value_ints = [0, 1, 0, 0, 2, 0]>() y = Pad<mode = \"edge\">(x, p)")
    yield case("pad_reflect", IMAGE, "p = Constant<value_ints = [0, 0, 1, 1, 0, 0, 2, 1]>() "
               "y = Pad<mode = \"reflect\">(x, p)", dims={"H": "4..", "W": "4.."})
    yield case("pad_to_even", IMAGE, "s = Shape<start = 2, end = 3>(x) w = Constant<value_ints = [2]>() r = Mod(s, w) "
               "z = Constant<value_ints = [0, 0, 0, 0, 0, 0]>() o = Constant<value_ints = [0]>() "
               "p = Concat<axis = 0>(z, r, o) y = Pad(x, p)")
    yield case("negative_pad", X, "p = Constant<value_ints = [0, -1, 0, 0, 0, 0]>() y = Pad(x, p)", dims={"S": "2.."})


def products():
    yield case("matmul", X + ", float[8, 5] w", "y = MatMul(x, w)")
    yield case("matmul_both", X + ", float[N, T, 8] z", "t = Transpose<perm = [0, 2, 1]>(z) y = MatMul(x, t)")
    yield case("gemm", "float[N, 8] x, float[5, 8] w, float[5] b", "y = Gemm<transB = 1>(x, w, b)")
    yield case("einsum", X + ", float[N, T, 8] z", "y = Einsum<equation = \"nsd,ntd->nst\">(x, z)")
    yield case("einsum_heads", "float[N, S, 2, 4] x, float[N, T, 2, 4] z", "y = Einsum<equation = \"bshd,bthd->bhst\">(x, z)")
    yield case("softmax", "float[N, S, S] x", "y = Softmax<axis = 2>(x)")
    yield case("softmax_columns", X, "y = Softmax<axis = 1>(x)")
    yield case("log_softmax", X, "y = LogSoftmax<axis = 1>(x)")
    yield case("old_softmax", X, "y = Softmax<axis = 1>(x)", opset=12)
    yield case("layer_norm", X + ", float[8] a, float[8] b", "y = LayerNormalization(x, a, b)")
    yield case("instance_norm", IMAGE + ", float[3] a, float[3] b", "y = InstanceNormalization(x, a, b)")
    yield case("group_norm", "float[N, 6, H, W] x, float[6] a, float[6] b", "y = GroupNormalization<num_groups = 2>(x, a, b)",
               opset=21)
    yield case("batch_norm", IMAGE + ", float[3] a, float[3] b, float[3] c, float[3] d",
               "e = Abs(d) y = BatchNormalization(x, a, b, c, e)")
    yield case("lrn", IMAGE, "y = LRN<size = 3>(x)")
    yield case("attention_by_hand", "float[N, 2, S, 4] q, float[N, 2, T, 4] k, float[N, 2, T, 4] v",
               "t = Transpose<perm = [0, 1, 3, 2]>(k) s = MatMul(q, t) p = Softmax<axis = -1>(s) y = MatMul(p, v)")
    yield case("attention", "float[N, 2, S, 4] q, float[N, 2, T, 4] k, float[N, 2, T, 4] v", "y = Attention(q, k, v)",
               opset=23)
    yield case("attention_causal", "float[N, S, 8] q, float[N, S, 8] k, float[N, S, 8] v",
               "y = Attention<q_num_heads = 2, kv_num_heads = 2, is_causal = 1>(q, k, v)", opset=23)


def windows():
    w = ", float[4, 3, 3, 3] w"
    yield case("conv", IMAGE + w, "y = Conv(x, w)", dims=FEW)
    yield case("conv_same", IMAGE + w, "y = Conv<pads = [1, 1, 1, 1]>(x, w)")
    yield case("conv_strided", IMAGE + w, "y = Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(x, w)")
    yield case("conv_dilated", IMAGE + w, "y = Conv<dilations = [2, 2], strides = [3, 2]>(x, w)", dims=FEW)
    yield case("conv_auto_pad", IMAGE + w, "y = Conv<auto_pad = \"SAME_UPPER\", strides = [2, 2]>(x, w)")
    yield case("conv_grouped", "float[N, 4, H, W] x, float[4, 1, 3, 3] w", "y = Conv<group = 4, pads = [1, 1, 1, 1]>(x, w)")
    yield case("conv_1d", "float[N, 3, L] x, float[4, 3, 3] w", "y = Conv<pads = [1, 1], strides = [2]>(x, w)")
    yield case("conv_3d", "float[N, 2, D, H, W] x, float[3, 2, 3, 3, 3] w", "y = Conv<pads = [1, 1, 1, 1, 1, 1]>(x, w)")
    yield case("conv_twice", IMAGE + w + ", float[2, 4, 3, 3] v",
               "a = Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(x, w) y = Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(a, v)")
    yield case("conv_transposed", IMAGE + ", float[3, 4, 2, 2] w", "y = ConvTranspose<strides = [2, 2]>(x, w)")
    yield case("conv_transposed_padded", IMAGE + ", float[3, 4, 3, 3] w",
               "y = ConvTranspose<strides = [2, 2], pads = [1, 1, 1, 1], output_padding = [1, 1]>(x, w)")
    yield case("max_pool", IMAGE, "y = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x)", dims=FEW)
    yield case("max_pool_padded", IMAGE, "y = MaxPool<kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]>(x)")
    yield case("max_pool_ceil", IMAGE, "y = MaxPool<kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1>(x)", dims=FEW)
    yield case("average_pool", IMAGE, "y = AveragePool<kernel_shape = [2, 2], strides = [2, 2]>(x)", dims=FEW)
    yield case("average_pool_padded", IMAGE,
               "y = AveragePool<kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]>(x)")
    yield case("average_pool_1d", "float[N, 3, L] x", "y = AveragePool<kernel_shape = [2], strides = [2]>(x)",
               dims={"L": "2.."})
    yield case("global_average_pool", IMAGE, "y = GlobalAveragePool(x)")
    yield case("global_max_pool", IMAGE, "y = GlobalMaxPool(x)")
    yield case("patches", "float[N, 3, 16, 16] x, float[8, 3, 4, 4] w", "a = Conv<strides = [4, 4]>(x, w) "
               "k = Constant<value_ints = [0, 8, -1]>() b = Reshape(a, k) y = Transpose<perm = [0, 2, 1]>(b)")
    yield case("depth_to_space", "float[N, 4, H, W] x", "y = DepthToSpace<blocksize = 2>(x)")
    yield case("space_to_depth", "float[N, 3, 8, 8] x", "y = SpaceToDepth<blocksize = 2>(x)")
    yield case("pixel_shuffle", "float[N, 4, H, W] x", "s = Shape(x) z = Constant<value_ints = [0]>() "
               "a = Constant<value_ints = [2]>() b = Constant<value_ints = [3]>() n = Gather(s, z) h = Gather(s, a) "
               "w = Gather(s, b) two = Constant<value_ints = [2]>() one = Constant<value_ints = [1]>() "
               "k = Concat<axis = 0>(n, one, two, two, h, w) r = Reshape(x, k) "
               "t = Transpose<perm = [0, 1, 4, 2, 5, 3]>(r) hh = Mul(h, two) ww = Mul(w, two) "
               "q = Concat<axis = 0>(n, one, hh, ww) y = Reshape(t, q)")


def resizes():
    for mode in ["nearest", "linear"]:
        yield case(f"resize_twice_{mode}", IMAGE, "r = Constant<value_floats : floats = []>() s = Constant<value_floats = [1.0, 1.0, 2.0, 2.0]>() "
                   f"y = Resize<mode = \"{mode}\", coordinate_transformation_mode = \"asymmetric\", nearest_mode = \"floor\">(x, r, s)")
        yield case(f"resize_half_pixel_{mode}", IMAGE, "r = Constant<value_floats : floats = []>() s = Constant<value_floats = [1.0, 1.0, 2.0, 2.0]>() "
                   f"y = Resize<mode = \"{mode}\">(x, r, s)")
    yield case("resize_to", IMAGE + ", float[N, 5, A, B] z",
               "a = Shape<start = 0, end = 2>(x) b = Shape<start = 2, end = 4>(z) k = Concat<axis = 0>(a, b) "
               "r = Constant<value_floats : floats = []>() y = Resize<mode = \"linear\">(x, r, r, k)")
    yield case("resize_fixed", IMAGE, "a = Shape<start = 0, end = 2>(x) b = Constant<value_ints = [14, 15]>() "
               "k = Concat<axis = 0>(a, b) r = Constant<value_floats : floats = []>() "
               "y = Resize<mode = \"linear\", coordinate_transformation_mode = \"align_corners\">(x, r, r, k)", dims=FEW)
    yield case("upsample", IMAGE, "s = Constant<value_floats = [1.0, 1.0, 2.0, 2.0]>() y = Upsample<mode = \"nearest\">(x, s)", opset=9)


def reductions():
    for op in ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2", "ReduceLogSumExp", "ReduceProd"]:
        yield case(op.lower(), X, f"a = Constant<value_ints = [1]>() y = {op}<keepdims = 0>(x, a)")
    yield case("reduce_all", X, "y = ReduceMean<keepdims = 0>(x)")
    yield case("argmax", X, "i = ArgMax<axis = 1, keepdims = 0>(x) y = Cast<to = 1>(i)")
    yield case("top_k", X, "k = Constant<value_ints = [3]>() v, i = TopK<axis = 2>(x, k) y = Identity(v)")
    yield case("top_k_of_rows", "float[N, S] x", "k = Constant<value_ints = [2]>() v, i = TopK<axis = 1>(x, k) "
               "y = Identity(v)", dims={"S": "2.."})
    yield case("mean_variance", IMAGE, "y = MeanVarianceNormalization(x)", dims=FEW)


def indexing():
    yield case("scatter_elements", "float[N, 9] x, int64[N, 2] i, float[N, 2] u", "y = ScatterElements<axis = 1>(x, i, u)",
               high=1)
    yield case("scatter_nd", "float[S, 8] x, int64[2, 1] i, float[2, 8] u", "y = ScatterND(x, i, u)", dims={"S": "3.."})
    yield case("bag", "float[9, 8] x, int64[N, S] i", "e = Gather(x, i) a = Constant<value_ints = [1]>() y = ReduceMean<keepdims = 0>(e, a)")
    yield case("padding_mask", "int64[N, S] m", "a = Constant<value_ints = [1, 2]>() u = Unsqueeze(m, a) f = Cast<to = 1>(u) "
               "o = Constant<value_float = 1.0>() k = Constant<value_float = -10000.0>() d = Sub(o, f) y = Mul(d, k)", high=1)
    yield case("equal_to_padding", "int64[N, S] m", "p = Constant<value_int = 1>() e = Equal(m, p) n = Not(e) i = Cast<to = 6>(n) "
               "a = Constant<value_int = 1>() c = CumSum(i, a) g = Mul(c, i) y = Cast<to = 1>(g)", high=3)


def recurrences():
    yield case("lstm_batch", "float[4, N, 3] x, float[1, 8, 3] w, float[1, 8, 2] r", "y, h, c = LSTM<hidden_size = 2>(x, w, r)")
    yield case("lstm_steps", "float[S, N, 3] x, float[1, 8, 3] w, float[1, 8, 2] r", "y, h, c = LSTM<hidden_size = 2>(x, w, r)",
               refused="operands")
    yield case("gru_batch", "float[4, N, 3] x, float[1, 6, 3] w, float[1, 6, 2] r", "y, h = GRU<hidden_size = 2>(x, w, r)")


def branches():
    yield Case("if_on_size", "g (float[N, S] x) => (float y) { s = Shape<start = 1, end = 2>(x) e = Constant<value_ints = [0]>() "
               "n = Squeeze(s, e) k = Constant<value_int = 40>() c = Greater(n, k) "
               "y = If(c)<then_branch = a () => (float p) { p = Relu(x) }, else_branch = b () => (float q) { q = Neg(x) }> }",
               refused="branches depend on sizes")
    yield Case("if_never", "g (float[N, S] x) => (float y) { s = Shape<start = 1, end = 2>(x) e = Constant<value_ints = [0]>() "
               "n = Squeeze(s, e) k = Constant<value_int = 0>() c = Equal(n, k) "
               "y = If(c)<then_branch = a () => (float p) { p = Relu(x) }, else_branch = b () => (float q) { q = Neg(x) }> }")


def cases():
    for family in [elementwise, shapes, ranges, slices, pads, products, windows, resizes, reductions, indexing, recurrences,
                   branches]:
        yield from family()


# --- files ------------------------------------------------------------------------------------------


def model_of(c):
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {c.opset}]> {c.graph}')
    for i in model.graph.input:  # the parser takes names only
        for d in i.type.tensor_type.shape.dim:
            if d.HasField("dim_param"):
                d.dim_param = d.dim_param.replace("_plus_", " + ")
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    for node in model.graph.node:
        for attribute in node.attribute:
            for output in attribute.g.output:
                output.type.tensor_type.ClearField("shape")
    names = {i.name for i in model.graph.initializer}
    ordered, pending = [], list(model.graph.node)  # the cases are written in any order
    known = names | {i.name for i in model.graph.input} | {""}
    while pending:
        ready = next(n for n in pending if set(n.input) <= known)
        pending.remove(ready)
        ordered.append(ready)
        known |= set(ready.output)
    del model.graph.node[:]
    model.graph.node.extend(ordered)
    return model


def words(expr):
    return [w for w in expr.replace("+", " ").replace("*", " ").split() if not w.isdigit()]


def open_names(model):
    names = []
    for i in model.graph.input:
        for d in i.type.tensor_type.shape.dim:
            names += [w for w in words(d.dim_param) if w not in names]
    return names


def bounds(text):
    least, _, most = (text or "1..").partition("..")
    return int(least), int(most) if most else None


def draw_sizes(rng, names, dims, count):
    """Draws points: the least sizes, the greatest or large ones, then primes and others."""
    points = []
    for k in range(count):
        point = {}
        for name in names:
            least, most = bounds(dims.get(name))
            most = most if most is not None else least + 40
            primes = [p for p in PRIMES if least <= p <= most] or [least]
            point[name] = [least, most, int(rng.choice(primes)), int(rng.integers(least, most + 1))][min(k, 3) if k < 3 else 2 + k % 2]
        points.append(point)
    return points


def drawn(rng, value, sizes, high):
    shape = [d.dim_value if d.HasField("dim_value") else eval(d.dim_param, {}, sizes)
             for d in value.type.tensor_type.shape.dim]
    kind = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    if kind.kind == "f":
        return rng.standard_normal(shape).astype(kind)
    return rng.integers(0, high + 1, shape).astype(kind)


def difference(ours, theirs):
    if list(ours.shape) != list(theirs.shape):
        return f"has the shape {list(ours.shape)}, not {list(theirs.shape)}"
    if theirs.size == 0:
        return ""
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    scale = max(1.0, float(np.max(np.abs(np.where(np.isfinite(b), b, 0)))))
    far = float(np.max(np.where(same, 0, np.abs(a - b)))) / scale
    return "" if far <= 2e-4 else f"differs by {far:.2e}"


def tg(args, words):
    return subprocess.run([args.tg, *map(str, words)], capture_output=True, text=True, check=False, timeout=LIMIT_S)


def run_generic(args, path, folder, feeds, weights):
    given = []
    for name, value in feeds.items():
        np.save(folder / f"{name}.npy", value)
        given += ["--input", f"{name}={folder / name}.npy"]
    out = folder / "out"
    done = tg(args, ["run", path, *given, "--output", out, "--quiet", "--runs", "1", *weights])
    if done.returncode:
        return None, (done.stderr or done.stdout).strip()
    return {p.stem: np.load(p) for p in out.glob("*.npy")}, ""


def check(args, c, folder):
    model = model_of(c)
    source, text = folder / "m.onnx", folder / "m.tg"
    onnx.save(model, source)
    dims = [w for name, value in c.dims.items() for w in ("--dim", f"{name}={value}")]
    done = tg(args, ["import", source, "-o", text, *dims])
    if c.refused:
        if done.returncode == 0:
            return ["was imported, but should be refused"]
        return [] if c.refused in done.stderr else [f"the message lacks `{c.refused}`: {done.stderr.strip()}"]
    if done.returncode:
        return [done.stderr.strip()]
    problems = []
    if "warning" in done.stderr:
        problems.append("shapes: " + done.stderr.strip())
    rng = np.random.default_rng([args.seed, *c.name.encode()])
    session = onnxruntime.InferenceSession(source)
    for sizes in draw_sizes(rng, open_names(model), c.dims, args.sizes):
        feeds = {i.name: drawn(rng, i, sizes, c.high) for i in model.graph.input}
        theirs = session.run(["y"], feeds)[0]
        for path in [text, source]:
            ours, fault = run_generic(args, path, folder, feeds, [])
            fault = fault or difference(ours["y"], theirs)
            if fault:
                problems.append(f"{path.name} at {sizes}: {fault}")
    return problems


# --- networks ---------------------------------------------------------------------------------------

BATCH = {"image": {0: "batch"}}
TEXT = {"input_ids": {0: "batch"}}
# Axes that are open where networks.py has other ones.
AXES = {
    "vit": BATCH, "lstm_tagger": TEXT, "gru_tagger": TEXT, "whisper_encoder": {"input_features": {0: "batch"}},
    "diffusion_unet": {"image": {0: "batch"}, "time": {0: "batch"}},
    "detector": {"image": {0: "batch", 2: "height", 3: "width"}},
}
# Values of --dim. Past and mask lengths that one exporter names apart are computed.
DIMS = {
    "bert": {"sequence": "1..64"}, "distilbert": {"sequence": "1..64"}, "gpt2": {"sequence": "1..64"},
    "llama_step": {"total": "past+sequence"}, "qwen2_step": {"total": "past+sequence"},
    "gpt2_step": {"total": "past+sequence", "past": "1..60", "sequence": "1..4"},
    "detector": {"height": "64..", "width": "64.."},
}
NETWORKS = ["bert", "distilbert", "gpt2", "gpt2_step", "llama_step", "qwen2_step", "t5_encoder", "t5_decoder_step",
            "whisper_encoder", "vit", "resnet18", "mobilenet_v2", "efficientnet_b0", "densenet121", "unet",
            "diffusion_unet", "lstm_tagger", "detector"]
MOST = {"batch": 4, "sequence": 24, "past": 24, "encoded": 24, "height": 128, "width": 128}


def prepared(name, exporter):
    """Returns the file of a network with open axes, and its inputs at the sizes of the export."""
    networks.CACHE.mkdir(parents=True, exist_ok=True)
    if name not in AXES:
        path = networks.prepare(f"{name}-{exporter}")
    else:
        path = networks.CACHE / f"{name}-open-{exporter}.onnx"
        if not path.with_suffix(".npz").exists():
            import torch
            torch.manual_seed(0)
            net = networks.TORCH_NETWORKS[name]()
            net.dynamic = AXES[name]
            # An axis of one element would be taken for a fixed one.
            net.inputs = {i: torch.cat([v, v]) if 0 in net.dynamic.get(i, {}) and v.shape[0] == 1 else v
                          for i, v in net.inputs.items()}
            networks.export(net, path, exporter)
            np.savez(path.with_suffix(".npz"), **{i: v.numpy() for i, v in net.inputs.items()})
    return path, networks.inputs_of(path)


def resized(value, shape):
    """Repeats or crops an array along each axis."""
    for axis, size in enumerate(shape):
        value = np.take(value, np.arange(size) % value.shape[axis], axis)
    return value


def network_sizes(rng, names, dims, kind, count):
    points = draw_sizes(rng, names, {n: dims.get(n, "1..") for n in names}, count)
    for point in points:
        for name in names:
            least, most = bounds(dims.get(name))
            limit = MOST.get(kind.get(name, name), 12)
            most = min(most or limit, limit)
            if not least <= point[name] <= most:
                point[name] = int(rng.integers(least, most + 1))
    return points


def declared_in(path):
    model = onnx.load(path, load_external_data=False)
    return {i.name: [d.dim_value if d.HasField("dim_value") else d.dim_param for d in i.type.tensor_type.shape.dim]
            for i in model.graph.input}


def options_of(name, declared):
    """Returns {dimension: value of --dim}. One exporter names sizes by letters and numbers, and equal ones apart: they
    are found by the names that the other exporter gives to the same axes."""
    named = declared_in(prepared(name, "script")[0])
    symbols = {}  # {name: symbols of the file}
    for i, dims in declared.items():
        for own, other in zip(dims, named[i]):
            if isinstance(own, str) and len(words(own)) == 1 and isinstance(other, str):
                symbols.setdefault(other, [])
                symbols[other] += [own] if own not in symbols[other] else []
    first = {n: all_of[0] for n, all_of in symbols.items()}
    chosen = {s: all_of[0] for all_of in symbols.values() for s in all_of[1:]}
    for n, value in DIMS.get(name, {}).items():
        if n in first:
            chosen[first[n]] = re.sub(r"[a-z_]+", lambda word: first[word.group()], value)
    return chosen, {s: n for n, all_of in symbols.items() for s in all_of}


def check_network(args, name, exporter, folder):
    path, inputs = prepared(name, exporter)
    declared = declared_in(path)
    names = [n for n in dict.fromkeys(w for dims in declared.values() for d in dims if isinstance(d, str) for w in words(d))]
    chosen, kind = options_of(name, declared)
    text, weights = folder / "m.tg", folder / "m.safetensors"
    done = tg(args, ["import", path, "-o", text, "--weights-out", weights,
                     *[w for k, v in chosen.items() for w in ("--dim", f"{k}={v}")]])
    if done.returncode:
        return [done.stderr.strip()]
    problems = ["shapes: " + done.stderr.strip()] if "warning" in done.stderr else []
    computed = {k: v for k, v in chosen.items() if ".." not in v}
    rng = np.random.default_rng([args.seed, *name.encode()])
    session = onnxruntime.InferenceSession(path)
    in_text = None
    for sizes in network_sizes(rng, [n for n in names if n not in computed], chosen, kind, args.sizes):
        sizes.update({k: eval(v, {}, sizes) for k, v in computed.items()})
        feeds = {i: resized(inputs[i], [eval(d, {}, sizes) if isinstance(d, str) else d for d in dims])
                 for i, dims in declared.items()}
        theirs = session.run(None, feeds)
        ours, fault = run_generic(args, text, folder, by_names_in(text.read_text(), feeds), ["--weights", weights])
        for output, want in zip(session.get_outputs(), theirs):
            got = None if ours is None else ours.get(output.name, ours.get(identifier(output.name)))
            fault = fault or ("has no output " + output.name if got is None else difference(got, want))
        if fault:
            problems.append(f"at {sizes}: {fault}")
    return problems


def by_names_in(text, feeds):
    """Returns the inputs by their names in a generic model, which has its sizes after them."""
    header = re.search(r"^model \w+\((.*?)\) ->", text, re.M | re.S).group(1)
    return dict(zip(re.findall(r"(\w+): (?!int)", header), feeds.values()))


def identifier(name):
    return "".join(c if c.isalnum() else "_" for c in name)


def check_networks(args):
    failed = total = 0
    for name in NETWORKS:
        for exporter in ["script", "dynamo"]:
            if args.names and not any(n in f"{name}-{exporter}" for n in args.names):
                continue
            total += 1
            with tempfile.TemporaryDirectory() as folder:
                try:
                    problems = check_network(args, name, exporter, Path(folder))
                except networks.Missing as missing:
                    print(f"[SKIP] {name}-{exporter}: {missing}")
                    continue
            failed += bool(problems)
            print(f"{name}-{exporter}: " + ("; ".join(problems[:2]) or f"equal at {args.sizes} sizes"), flush=True)
    print(f"{total} networks, {failed} failed")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tg", default="build/tg")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--sizes", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--networks", action="store_true")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    if args.networks:
        return check_networks(args)
    chosen = [c for c in cases() if not args.names or any(n in c.name for n in args.names)]
    failed = 0

    def one(c):
        with tempfile.TemporaryDirectory() as folder:
            return c, check(args, c, Path(folder))

    with ThreadPoolExecutor(args.jobs) as pool:
        for c, problems in pool.map(one, chosen):
            failed += bool(problems)
            for problem in problems[:3]:
                print(f"{c.name}: {problem}", flush=True)
    print(f"{len(chosen)} files, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
