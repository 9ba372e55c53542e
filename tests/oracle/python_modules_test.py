#!/usr/bin/env python3
"""Compares modules of torch.nn under torch.compile(backend="tangram") with eager runs: PyTorch's database of modules
with dynamic sizes, buffers that training changes (in all float types), and parameters that are tensor subclasses.

    tests/oracle/python_modules_test.py [--tg build/tg]

Requires the installed package (`./dev test --oracle --full` installs it), PyTorch and expecttest; otherwise the test is
skipped.
"""
import copy
import unittest
import unittest.mock
import warnings

from python_package import SEARCH, required, run_tests, tangram, torch  # skips this test if packages are missing

from tangram.torch import lowered
from torch import nn

module_db = required("torch.testing._internal.common_modules").module_db
INPUTS = 2  # per module of the database
BOUND = {torch.float64: 1e-8, torch.float32: 1e-4, torch.float16: 4e-3, torch.bfloat16: 4e-2}

#: Modules that are random, or have a mode that Dynamo's graphs do not support.
LEFT_OUT = ("Dropout", "RReLU", "FractionalMaxPool")


def compiled(module, **how):
    torch._dynamo.reset()
    return torch.compile(module, backend="tangram", options=SEARCH, **how)


class Rows(torch.Tensor):
    """8-bit rows with one scale each, like the weights of quantisation packages. Operators read them as floats."""

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
    """Replaces every second weight of linear layers by Rows, so that arguments do not match parameters one to one."""
    layers = [one for one in module.modules() if isinstance(one, nn.Linear)]
    for layer in layers[::2]:
        layer.weight = nn.Parameter(Rows.of(layer.weight.detach()), requires_grad=False)
    return module


class Cache(nn.Module):
    """Writes rows consecutively into a buffer, like a key cache."""

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
    """Has a bf16 buffer that is only written, a buffer that is only read, one that is both, and a parameter."""

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


class Bags(nn.Module):
    """The forms of nn.EmbeddingBag: each row is a bag, offsets of bags, and offsets with the end of the last bag."""

    def __init__(self, mode, weighted=False, **how):
        super().__init__()
        self.weighted = weighted
        self.bag = nn.EmbeddingBag(7, 3, mode=mode, **how)
        self.ended = nn.EmbeddingBag(7, 3, mode=mode, include_last_offset=True, **how)

    def forward(self, rows, flat, starts, bounds, scale):
        def weights(i):
            return scale[:i.numel()].reshape(i.shape) if self.weighted else None

        return [*(self.bag(i, None, weights(i)) for i in (rows, rows[:1], rows[:, :1])), self.bag(flat, starts, weights(flat)),
                self.bag(flat, starts[:1], weights(flat)), self.ended(flat, bounds, weights(flat))]

    @staticmethod
    def inputs(padding=None, count=9, index=torch.int64, dtype=torch.float32):
        """Returns inputs with empty bags, a bag of only padding, and a bag that ends with the indices."""
        flat = torch.randint(0, 7, (count,), dtype=index)
        flat[3:5] = (padding or 0) % 7
        starts, bounds = torch.tensor([0, 3, 5, 5], dtype=index), torch.tensor([0, 0, 3, 5, count], dtype=index)
        return flat.reshape(-1, 3), flat, starts, bounds, torch.randn(count, dtype=dtype)


def bags():
    """Yields (mode, padding, weighted, type of indices, type of rows, options)."""
    for mode in ("sum", "mean", "max"):
        for padding in (None, 0, 2, -1):
            for weighted in (False, True)[:1 + (mode == "sum")]:
                yield mode, padding, weighted, torch.int64, torch.float32, {}
        for dtype in BOUND:
            yield mode, 2, mode == "sum", torch.int32, dtype, {}
        yield mode, 2, False, torch.int64, torch.float32, {"max_norm": 1.0}


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

    def test_exported_graphs_are_those_of_pytorch(self):
        """The graph that is recorded in one run equals that of run_decompositions, or both give the same error."""
        def text(program):
            try:
                return tangram.from_exported(program).text
            except tangram.Error as error:
                return str(error)

        tried = 0
        for info in module_db:
            if any(word in info.name for word in LEFT_OUT) or torch.float32 not in info.supported_dtypes("cpu"):
                continue
            given = next(iter(info.module_inputs_func(info, "cpu", torch.float32, False, False)))
            made, called = given.constructor_input, given.forward_input
            module = info.module_cls(*made.args, **made.kwargs).eval()
            try:
                with torch.no_grad():
                    program = torch.export.export(module, called.args, called.kwargs)
            except Exception:  # noqa: BLE001  an error of PyTorch
                continue
            with self.subTest(info.name, description=given.desc):
                with unittest.mock.patch.object(lowered, "_override_composite_implicit_decomp", None):
                    wanted = text(copy.deepcopy(program))
                self.assertEqual(text(program), wanted)
                tried += 1
        self.assertGreater(tried, 100)

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
        """A program of tangram.compile writes the module's buffers like the module itself."""
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
                    layer.weight.scale.mul_(2)  # detected like a change of any weight
                    self.agree(run(x), module(x))

    def test_weights_of_torchao(self):
        try:
            from torchao import quantization
        except ImportError:
            self.skipTest("torchao is not installed")
        tried = 0
        for name in sorted(one for one in dir(quantization) if one.endswith("Config")):
            for dtype, bound in ((torch.float32, 2e-2), (torch.bfloat16, 6e-2)):
                module, x = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 16)).to(dtype), torch.randn(4, 64, dtype=dtype)
                try:
                    quantization.quantize_(module, getattr(quantization, name)())
                    with torch.no_grad():
                        wanted = module(x)
                except Exception:  # noqa: BLE001  requires arguments or other hardware
                    continue
                with self.subTest(name, dtype=dtype), torch.no_grad():
                    tried += 1
                    self.agree(compiled(module)(x), wanted, bound)
        self.assertGreater(tried, 5)

    def test_bags(self):
        """Rows that are in no bag, or only padding, do not affect results, even if they are NaN or infinite."""
        for mode, padding, weighted, index, dtype, options in bags():
            with self.subTest(mode, padding=padding, weighted=weighted, index=index, dtype=dtype, options=options), torch.no_grad():
                module, given = Bags(mode, weighted, dtype=dtype, padding_idx=padding, **options).eval(), Bags.inputs(padding, 9, index, dtype)
                if padding is not None and not options:
                    module.bag.weight[padding], module.ended.weight[padding] = float("nan"), float("inf")
                other = copy.deepcopy(module)
                wanted = other(*given)
                if not options:  # max_norm changes the weights in each call
                    self.agree(tangram.compile(module, given, **SEARCH)(*given), wanted, BOUND[dtype])
                self.agree(compiled(module)(*given), wanted, BOUND[dtype])
                self.agree(list(module.parameters()), list(other.parameters()), BOUND[dtype])

    def test_bags_of_dynamic_sizes(self):
        for mode in ("sum", "mean", "max"):
            with self.subTest(mode), torch.no_grad():
                module = Bags(mode, mode == "sum", padding_idx=1)
                run = compiled(module, dynamic=True)
                for count in (9, 12, 6):
                    given = Bags.inputs(1, count)
                    self.agree(run(*given), module(*given))

    def test_gradients_of_bags(self):
        """PyTorch computes the gradients, as for all differentiated graphs."""
        for mode in ("sum", "mean", "max"):
            for sparse in (False, True)[:1 + (mode != "max")]:
                with self.subTest(mode, sparse=sparse):
                    module, given = Bags(mode, mode == "sum", padding_idx=1, sparse=sparse), Bags.inputs(1)
                    other = copy.deepcopy(module)
                    for one, found in ((module, compiled(module)(*given)), (other, other(*given))):
                        sum(part.square().sum() for part in found).backward()
                    self.agree([one.grad.to_dense() for one in module.parameters()], [one.grad.to_dense() for one in other.parameters()])

    def test_inputs_that_share_memory(self):
        """Example inputs may be views of one tensor; later inputs need not be."""
        x = torch.arange(6.0)
        for given in ((x.reshape(2, 3), x), (x, x.reshape(2, 3)), (x[:3], x[3:]), (x, x)):
            with self.subTest([one.shape for one in given]), torch.no_grad():
                function = lambda a, b: (a * 2, b + a.sum())
                module = nn.Module()
                module.forward = function
                run = tangram.compile(module, given, **SEARCH)
                for inputs in (given, [torch.randn(one.shape) for one in given]):
                    self.agree(run(*inputs), function(*inputs))

    def pt2e(self, module, x):
        """Returns the module with 8-bit operands, quantised by torchao's PT2E for x86."""
        try:
            from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
            from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86
        except ImportError:
            self.skipTest("torchao is not installed")
        prepared = prepare_pt2e(torch.export.export(module.eval(), (x,)).module(),
                                x86.X86InductorQuantizer().set_global(x86.get_default_x86_inductor_quantization_config()))
        prepared(x)
        return convert_pt2e(prepared)

    def test_mixtures_of_experts_whole(self):
        """With the setting that python/README.md recommends, the whole model is compiled."""
        try:
            from transformers import AutoConfig, AutoModelForCausalLM
        except ImportError:
            self.skipTest("transformers is not installed")
        small = {"vocab_size": 32, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1,
                 "head_dim": 8, "max_position_embeddings": 16, "num_experts_per_tok": 2}
        kinds = {"mixtral": {"num_local_experts": 4}, "qwen2_moe": {"num_experts": 4, "moe_intermediate_size": 8, "shared_expert_intermediate_size": 8},
                 "qwen3_moe": {"num_experts": 4, "moe_intermediate_size": 8}}
        for kind, own in kinds.items():
            with self.subTest(kind), torch.no_grad():
                config = AutoConfig.for_model(kind, **small, **own)
                model = AutoModelForCausalLM.from_config(config, experts_implementation="batched_mm").eval()
                ids = torch.arange(6)[None]
                tangram.torch.reset()
                self.agree(compiled(model)(input_ids=ids, use_cache=False).logits, model(input_ids=ids, use_cache=False).logits)
                made, = tangram.torch.report()
                self.assertEqual((made.parts, made.kept), (1, {}))

    def test_pt2e(self):
        """The graph is one part without operators of PyTorch. A float at half a step may be rounded either way."""
        networks = {"linear": (nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 16)), (4, 32)),
                    "conv": (nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.Flatten(), nn.Linear(128, 5)), (2, 3, 8, 8)),
                    "pool": (nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 4, 2)), (2, 3, 8, 8))}
        for name, (network, shape) in networks.items():
            with self.subTest(name), torch.no_grad():
                x = torch.randn(shape)
                module = self.pt2e(network, x)
                wanted = module(x)
                tangram.torch.reset()
                self.agree(compiled(module)(x), wanted, float(0.02 * wanted.abs().max()))
                made, = tangram.torch.report()
                self.assertEqual((made.parts, made.kept), (1, {}))
                self.agree(tangram.compile(module, (x,), **SEARCH)(x), wanted, float(0.02 * wanted.abs().max()))

    def test_round_trips_through_integers(self):
        """Casts to integers and back are removed only for whole numbers in range. Others truncate, wrap, or are read as
        integers."""
        from torch.ao.quantization.fx import _decomposed  # noqa: F401  registers the operators
        ops = torch.ops.quantized_decomposed
        dtypes = {torch.int8: (-128, 127), torch.uint8: (0, 255)}

        def both(x, scale, zero, low, high, dtype):
            return ops.dequantize_per_tensor(ops.quantize_per_tensor(x, scale, zero, low, high, dtype), scale, zero, low, high, dtype)

        def channels(x, scales, zeros, axis, low, high, dtype):
            return ops.dequantize_per_channel(ops.quantize_per_channel(x, scales, zeros, axis, low, high, dtype), scales, zeros, axis, low, high, dtype)

        x = torch.cat([torch.linspace(-3, 3, 59), torch.tensor([0.25])]).reshape(3, 4, 5)
        functions = {"whole, no clamp": lambda x: x.round().to(torch.int8).float(), "a fraction": lambda x: x.clamp(-2, 2).to(torch.int8).float(),
                     "half clamps": lambda x: x.round().clamp(-2, 1.5).to(torch.int8).float(),
                     "beyond its range": lambda x: (x * 100).round().clamp(-200, 200).to(torch.int8).float(),
                     "to another float": lambda x: x.round().clamp(-2, 2).to(torch.int8).to(torch.float16),
                     "integers read": lambda x: (lambda q: (q.float(), q + q, q // 2))(x.round().clamp(-2, 2).to(torch.int8))}
        for dtype, (low, high) in dtypes.items():
            for scale, zero in ((0.05, 0), (0.01, 7), (0.5, 3)):
                for bounds in ((low, high), (max(low, -9), 9)):
                    functions[f"{dtype} {scale} {zero} {bounds}"] = lambda x, a=(scale, zero, *bounds, dtype): both(x, *a)
            for axis in range(3):
                scales, zeros = torch.rand(x.shape[axis]) + 0.01, torch.arange(x.shape[axis])
                functions[f"{dtype} along {axis}"] = lambda x, a=(scales, zeros, axis, low, high, dtype): channels(x, *a)
        for name, function in functions.items():
            with self.subTest(name), torch.no_grad():
                self.agree(compiled(function)(x), function(x))


if __name__ == "__main__":
    run_tests()
