"""Runs a PyTorch module under jax.jit: translates the exported graph of core operators to jax.numpy.

An operator that is not in the table is an error that names it. Weights become arguments of the
compiled function and stay on the device, as in PyTorch.
"""
import operator
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import torch
from jax import lax
from jax.sharding import SingleDeviceSharding

_DTYPES = {torch.float32: jnp.float32, torch.float16: jnp.float16, torch.bfloat16: jnp.bfloat16,
           torch.int64: jnp.int32, torch.int32: jnp.int32, torch.bool: jnp.bool_}


def _dtype(dtype):
    return _DTYPES[dtype]


def _pair(values, least=2):
    values = list(values)
    return tuple(values if len(values) >= least else values * least)


def _convolution(x, w, bias, stride, padding, dilation, transposed, _output_padding, groups):
    assert not transposed
    pads = [(p, p) for p in _pair(padding)]
    y = lax.conv_general_dilated(x, w, _pair(stride), pads, rhs_dilation=_pair(dilation),
                                 feature_group_count=groups)
    return y if bias is None else y + bias[:, None, None]


def _batch_norm(x, scale, shift, mean, variance, _momentum, eps):
    factor = scale / jnp.sqrt(variance + eps)
    return (x * factor[:, None, None] + (shift - mean * factor)[:, None, None],)


def _max_pool(x, size, stride=(), padding=(0, 0), dilation=(1, 1), ceil_mode=False):
    size, stride, padding = _pair(size), _pair(stride or size), _pair(padding)
    pads = []
    for n, k, s, p in zip(x.shape[2:], size, stride, padding):
        over = (s - (n + 2 * p - k) % s) % s if ceil_mode else 0
        pads.append((p, p + over))
    return (lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, *size), (1, 1, *stride),
                              [(0, 0), (0, 0), *pads]),)


def _layer_norm(x, shape, scale, shift, eps):
    axes = tuple(range(-len(shape), 0))
    wide = x.astype(jnp.float32)
    mean = wide.mean(axes, keepdims=True)
    variance = ((wide - mean) ** 2).mean(axes, keepdims=True)
    y = ((wide - mean) / jnp.sqrt(variance + eps)).astype(x.dtype)
    return (y * scale + shift,)


def _attention(q, k, v, mask=None, dropout=0.0, causal=False, scale=None, **_):
    assert dropout == 0.0 and not causal
    scores = q @ jnp.swapaxes(k, -1, -2) * (scale or q.shape[-1] ** -0.5)
    if mask is not None:
        scores = jnp.where(mask, scores, -jnp.inf) if mask.dtype == bool else scores + mask
    return jax.nn.softmax(scores, -1) @ v


def _slice(x, dim=0, start=None, end=None, step=1):
    at = [slice(None)] * x.ndim
    at[dim] = slice(start, None if end is None or end > 2**31 else end, step)
    return x[tuple(at)]


def _view(x, shape):
    return x.reshape([int(n) for n in shape])


def _index(x, indices):
    return x[tuple(slice(None) if i is None else i for i in indices)]  # in NumPy None inserts an axis


def _split(x, sizes, dim=0):
    if isinstance(sizes, int):
        return jnp.split(x, range(sizes, x.shape[dim], sizes), dim)
    return jnp.split(x, np.cumsum(sizes)[:-1], dim)


def _full(shape, value, dtype=None, **_):
    return jnp.full(shape, value, _dtype(dtype) if dtype else None)


TABLE = {
    "convolution": _convolution,
    "_native_batch_norm_legit_no_training": _batch_norm,
    "max_pool2d_with_indices": _max_pool,
    "native_layer_norm": _layer_norm,
    "scaled_dot_product_attention": _attention,
    "_scaled_dot_product_flash_attention_for_cpu":
        lambda q, k, v, dropout=0.0, causal=False, attn_mask=None, scale=None:
            (_attention(q, k, v, attn_mask, dropout, causal, scale),),
    "_scaled_dot_product_efficient_attention":
        lambda q, k, v, mask, _logsumexp, dropout=0.0, causal=False, scale=None:
            (_attention(q, k, v, mask, dropout, causal, scale),),
    "_scaled_dot_product_flash_attention":
        lambda q, k, v, dropout=0.0, causal=False, _debug=False, scale=None:
            (_attention(q, k, v, None, dropout, causal, scale),),
    "mean": lambda x, axes, keepdim=False, **_: x.mean(tuple(axes), keepdims=keepdim),
    "_adaptive_avg_pool2d": lambda x, size: x.mean((2, 3), keepdims=True),
    "addmm": lambda bias, a, b: bias + a @ b,
    "mm": jnp.matmul, "bmm": jnp.matmul, "matmul": jnp.matmul,
    "relu": jax.nn.relu, "tanh": jnp.tanh, "sigmoid": jax.nn.sigmoid,
    "gelu": lambda x, approximate="none": jax.nn.gelu(x, approximate=approximate == "tanh"),
    "hardtanh": lambda x, low=-1, high=1: jnp.clip(x, low, high),
    "clamp": lambda x, low=None, high=None: jnp.clip(x, low, high),
    "_softmax": lambda x, axis, _half: jax.nn.softmax(x, axis),
    "embedding": lambda table, ids, *_: table[ids],
    "add": lambda a, b, alpha=1: a + b * alpha, "sub": lambda a, b, alpha=1: a - b * alpha,
    "rsub": lambda a, b, alpha=1: b - a * alpha, "mul": operator.mul, "div": operator.truediv,
    "eq": lambda a, b: a == b, "where": jnp.where, "logical_not": jnp.logical_not,
    "bitwise_not": jnp.bitwise_not, "bitwise_and": jnp.bitwise_and,
    "any": lambda x, axis=None, keepdim=False: x.any(axis, keepdims=keepdim),
    "ne": lambda a, b: a != b, "ge": lambda a, b: a >= b, "gt": lambda a, b: a > b,
    "permute": jnp.transpose, "transpose": jnp.swapaxes, "t": jnp.transpose,
    "view": _view, "_unsafe_view": _view, "reshape": _view, "slice": _slice, "index": _index,
    "split": _split, "split_with_sizes": _split, "full": _full,
    "full_like": lambda x, value, **_: jnp.full_like(x, value),
    "select": lambda x, dim, i: jnp.take(x, i, dim),
    "expand": lambda x, shape, **_: jnp.broadcast_to(
        x, [x.shape[i - len(shape) + x.ndim] if n == -1 else n for i, n in enumerate(shape)]),
    "unsqueeze": jnp.expand_dims,
    "squeeze": lambda x, dim=None: jnp.squeeze(x, tuple(dim) if isinstance(dim, (list, tuple)) else dim),
    "cat": lambda xs, dim=0: jnp.concatenate(xs, dim),
    "clone": lambda x, **_: x, "alias": lambda x: x, "detach": lambda x: x, "contiguous": lambda x, **_: x,
    "_to_copy": lambda x, dtype=None, **_: x.astype(_dtype(dtype)) if dtype else x,
    "arange": lambda *range_, dtype=None, **_: jnp.arange(*range_, dtype=dtype and _dtype(dtype)),
    "scalar_tensor": lambda x, dtype=None, **_: jnp.asarray(x, dtype and _dtype(dtype)),
    "_assert_tensor_metadata": lambda *_, **__: None,  # the export has already fixed the types
}


def _function(target):
    if target is operator.getitem:
        return operator.getitem
    name = target._schema.name.split("::")[1]
    if name not in TABLE:
        raise SystemExit(f"jax_from_torch has no {name}")
    return TABLE[name]


def _evaluate(graph, leaves):
    """Returns the values of the outputs. `leaves` has the values of placeholders by name."""
    values = dict(leaves)
    look = lambda x: torch.fx.node.map_arg(x, lambda node: values[node.name])
    for node in graph.nodes:
        if node.op == "call_function":
            values[node.name] = _function(node.target)(*look(node.args), **look(node.kwargs))
        elif node.op == "output":
            return look(node.args[0])
    raise AssertionError("a graph has an output")


def _array(tensor):
    tensor = tensor.detach().cpu()
    if tensor.dtype == torch.bfloat16:
        return jnp.asarray(tensor.float().numpy(), jnp.bfloat16)
    return jnp.asarray(tensor.numpy())


def _export(module, inputs, dtype):
    """Exports a module. Tensors made in inference mode, such as converted parameters, cannot be exported."""
    narrow = lambda x: x.to(dtype) if x.is_floating_point() else x
    with torch.inference_mode(False), torch.no_grad():
        narrowed = tuple(narrow(x).clone() for x in inputs)
        return torch.export.export(module.cpu().to(dtype), narrowed).run_decompositions()


class Runner:
    """Like peers.Runner: inputs come from pinned memory and outputs go there. JAX cannot write to existing
    outputs; it allocates them in each step from its own pool."""

    def __init__(self, network, dtype, tf32, device):
        jax.config.update("jax_default_matmul_precision", "tensorfloat32" if tf32 else "highest")
        at = jax.devices("gpu" if device == "cuda" else "cpu")[0]
        self.device = SingleDeviceSharding(at)
        self.pinned = SingleDeviceSharding(at, memory_kind="pinned_host")
        inputs = list(network.inputs.values())
        exported = _export(network.module, inputs, dtype)
        signature = exported.graph_signature
        held = {**exported.state_dict, **exported.constants}
        owners = {**signature.inputs_to_parameters, **signature.inputs_to_buffers,
                  **getattr(signature, "inputs_to_lifted_tensor_constants", {})}
        weights = {name: jax.device_put(_array(held[owner]), self.device)
                   for name, owner in owners.items()}
        names = signature.user_inputs
        self.host = [jax.device_put(_array(x), self.pinned) for x in inputs]

        def whole(weights, inputs):
            narrow = {name: x.astype(_dtype(dtype)) if x.dtype == jnp.float32 else x
                      for name, x in zip(names, inputs)}
            return [x.astype(jnp.float32) for x in _evaluate(exported.graph, {**weights, **narrow})]

        self.call = partial(jax.jit(whole), weights)

    def step(self):
        made = self.call(jax.device_put(self.host, self.device))
        self.out = jax.block_until_ready(jax.device_put(made, self.pinned))

    def outputs(self):
        return [torch.from_numpy(np.array(x)) for x in self.out]
