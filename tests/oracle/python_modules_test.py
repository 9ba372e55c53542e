#!/usr/bin/env python3
"""Modules of torch.nn under torch.compile(backend="tangram") against eager runs: PyTorch's own database of modules with
dynamic sizes, buffers that training changes, in all floats, and parameters that are tensor subclasses.

    tests/oracle/python_modules_test.py [--tg build/tg]

The package has to be installed where this runs (`./dev test --oracle --full` does); without it, PyTorch or expecttest the
test is skipped.
"""
import copy
import unittest
import warnings

from python_package import SEARCH, required, run_tests, tangram, torch  # skips this test where packages are missing

from torch import nn

module_db = required("torch.testing._internal.common_modules").module_db
INPUTS = 2  # of each module of the database
BOUND = {torch.float64: 1e-8, torch.float32: 1e-4, torch.float16: 4e-3, torch.bfloat16: 4e-2}

#: Random, or of a mode that graphs of Dynamo do not have.
LEFT_OUT = ("Dropout", "RReLU", "FractionalMaxPool")


def compiled(module, **how):
    torch._dynamo.reset()
    return torch.compile(module, backend="tangram", options=SEARCH, **how)


class Rows(torch.Tensor):
    """Eight-bit rows with a scale each, which any operator but its own product reads as floats: what packages for
    quantisation make of a weight."""

    @staticmethod
    def __new__(cls, numbers, scale):
        return torch.Tensor._make_wrapper_subclass(cls, numbers.shape, dtype=scale.dtype)

    def __init__(self, numbers, scale):
        self.numbers, self.scale = numbers, scale

    @classmethod
    def of(cls, weight):
        scale = weight.abs().amax(1, keepdim=True) / 127
        return cls((weight / scale).round().to(torch.int8), scale)

    def __tensor_flatten__(self):
        return ["numbers", "scale"], None

    @classmethod
    def __tensor_unflatten__(cls, inner, context, size, stride):
        return cls(inner["numbers"], inner["scale"])

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        if function in (torch.ops.aten.detach.default, torch.ops.aten.alias.default):
            return cls(args[0].numbers, args[0].scale)
        plain = torch.utils._pytree.tree_map_only(cls, lambda one: one.numbers.to(one.scale.dtype) * one.scale, (args, kwargs or {}))
        return function(*plain[0], **plain[1])


def quantised(module):
    """With weights of linear layers as Rows, some of them; others stay, so that arguments are not one to one."""
    layers = [one for one in module.modules() if isinstance(one, nn.Linear)]
    for layer in layers[::2]:
        layer.weight = nn.Parameter(Rows.of(layer.weight.detach()), requires_grad=False)
    return module


class Cache(nn.Module):
    """Rows written one after the other into a buffer, as caches of keys are."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("kept", torch.zeros(6, 4))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.kept.index_copy_(0, self.count.reshape(1), self.linear(x)[None])
        self.count += 1
        return self.kept.sum(0) * self.count


class Averages(nn.Module):
    """A buffer of half precision that is changed and not read, one that is read alone, and a parameter."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4))
        self.register_buffer("last", torch.zeros(4, dtype=torch.bfloat16))
        self.register_buffer("offset", torch.randn(4), persistent=False)
        self.register_buffer("mean", torch.zeros(4), persistent=False)

    def forward(self, x, scale):
        self.mean.mul_(0.5).add_(x, alpha=0.5)
        self.last.copy_(x)
        return {"found": x * self.weight + self.offset * scale, "mean": self.mean.clone()}


class Modules(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")
        torch.manual_seed(1)
        tangram.torch.reset()

    def agree(self, ours, theirs, bound=1e-4):
        for a, b in zip(*map(torch.utils._pytree.tree_leaves, (ours, theirs)), strict=True):
            torch.testing.assert_close(a, b, atol=bound, rtol=bound, equal_nan=True)

    def test_pytorchs_database_with_dynamic_sizes(self):
        for info in module_db:
            if any(word in info.name for word in LEFT_OUT) or torch.float32 not in info.supported_dtypes("cpu"):
                continue
            for given in info.module_inputs_func(info, "cpu", torch.float32, False, False)[:INPUTS]:
                made, called = given.constructor_input, given.forward_input
                with self.subTest(info.name, description=given.desc), torch.no_grad():
                    module = info.module_cls(*made.args, **made.kwargs).eval()
                    wanted = module(*called.args, **called.kwargs)
                    self.agree(compiled(module, dynamic=True)(*called.args, **called.kwargs), wanted)

    def test_floats_that_change_with_dynamic_sizes(self):
        module = compiled(lambda x, scale: (x * scale).relu() + scale, dynamic=True)
        with torch.no_grad():
            for scale, rows in ((0.5, 3), (0.25, 3), (0.5, 4), (-2.0, 7), (float("inf"), 3), (0.5, 3)):
                x = torch.randn(rows, 4)
                self.agree(module(x, scale), (x * scale).relu() + scale)

    def test_marked_sizes_of_modules_with_floats(self):
        for module in (nn.LayerNorm(8), nn.Hardtanh(-0.5, 0.25), nn.Softplus(2.0, 3.0), nn.Threshold(0.1, 20.0), nn.RMSNorm(8)):
            run = compiled(module)
            for rows in (4, 5, 6):
                x = torch.randn(rows, 8)
                torch._dynamo.mark_dynamic(x, 0)
                with self.subTest(str(module)), torch.no_grad():
                    self.agree(run(x), module(x))

    def test_buffers_that_training_changes(self):
        shapes = {nn.BatchNorm1d: (4, 3), nn.BatchNorm2d: (2, 3, 4, 4), nn.BatchNorm3d: (2, 3, 2, 3, 2), nn.InstanceNorm1d: (2, 3, 5),
                  nn.InstanceNorm2d: (2, 3, 4, 4), nn.InstanceNorm3d: (2, 3, 2, 3, 2)}
        for kind, shape in shapes.items():
            for options in ({}, {"momentum": None}, {"affine": False}, {"track_running_stats": True}):
                for dtype, bound in BOUND.items():
                    for training in (True, False):
                        with self.subTest(kind.__name__, dtype=dtype, training=training, options=options), torch.no_grad():
                            module = kind(3, **options).to(dtype).train(training)
                            other, run = copy.deepcopy(module), compiled(module)
                            for _ in range(2):
                                x = torch.randn(shape, dtype=dtype)
                                self.agree(run(x), other(x), bound)
                            self.agree(list(module.buffers()), list(other.buffers()), bound)

    def test_parametrized_weights(self):
        for wrap in (nn.utils.parametrizations.weight_norm, nn.utils.parametrizations.spectral_norm, nn.utils.parametrizations.orthogonal):
            for training in (True, False):
                with self.subTest(wrap.__name__, training=training), torch.no_grad():
                    module = wrap(nn.Linear(4, 4)).train(training)
                    other, x = copy.deepcopy(module), torch.randn(3, 4)
                    self.agree(compiled(module)(x), other(x))

    def test_caches(self):
        with torch.no_grad():
            module = Cache()
            other, run = copy.deepcopy(module), compiled(module)
            for _ in range(4):
                x = torch.randn(4)
                self.agree(run(x), other(x))

    def test_caches_of_whole_programs(self):
        """What a module writes into its buffers is written there by a program of tangram.compile, too."""
        for make, inputs in ((Cache, lambda: (torch.randn(4),)), (Averages, lambda: (torch.randn(4), torch.randn(4)))):
            with self.subTest(make.__name__), torch.no_grad():
                module = make()
                other, run = copy.deepcopy(module), tangram.compile(module, inputs(), **SEARCH)
                for _ in range(4):
                    given = inputs()
                    self.agree(run(*given), other(*given))
                    self.agree(list(module.buffers()), list(other.buffers()))
                with self.assertRaisesRegex(tangram.Error, "tangram.compile"):
                    tangram.from_exported(torch.export.export(make(), inputs()))

    def test_parameters_that_are_subclasses(self):
        networks = {"one": lambda: nn.Sequential(nn.Linear(8, 8)), "three": lambda: nn.Sequential(nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 5), nn.LayerNorm(5), nn.Linear(5, 3)),
                    "no bias": lambda: nn.Sequential(nn.Linear(8, 8, False), nn.BatchNorm1d(8).eval(), nn.Linear(8, 2))}
        for name, network in networks.items():
            for dynamic in (False, True):
                with self.subTest(name, dynamic=dynamic), torch.no_grad():
                    module = quantised(network())
                    run = compiled(module, dynamic=dynamic)
                    for rows in (2, 3, 5):
                        x = torch.randn(rows, 8)
                        self.agree(run(x), module(x))
                    layer = next(one for one in module.modules() if isinstance(one, nn.Linear))
                    layer.weight.scale.mul_(2)  # seen, as a change of any weight
                    self.agree(run(x), module(x))

    def test_weights_of_torchao(self):
        try:
            from torchao.quantization import Int8DynamicActivationInt8WeightConfig, Int8WeightOnlyConfig, quantize_
        except ImportError:
            self.skipTest("torchao is not installed")
        for config in (Int8WeightOnlyConfig(), Int8DynamicActivationInt8WeightConfig()):
            with self.subTest(type(config).__name__), torch.no_grad():
                module, x = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 16)), torch.randn(4, 64)
                quantize_(module, config)
                self.agree(compiled(module)(x), module(x), 2e-2)


if __name__ == "__main__":
    run_tests()
