#!/usr/bin/env python3
"""Tests the Python package with PyTorch: networks of torchvision and transformers (random weights, no downloads) are
compiled by `torch.compile(backend="tangram")`, exported and loaded again, and compared with eager runs. Training and
unsupported operators stay with PyTorch. There is one pool of threads, and weights are shared.

    tests/oracle/python_torch_test.py [--tg build/tg] [NAME...]

Requires the installed package (`./dev test --oracle --full` installs it) and PyTorch; otherwise the test is skipped.
"""
import argparse
import copy
import doctest
import gc
import pickle
import subprocess
import sys
import tempfile
import unittest
import warnings
import weakref
from pathlib import Path
from unittest import mock

try:
    import torch

    import tangram
    import tangram._torch_programs
    import tangram.torch
    from tangram.torch import dynamo
    from tangram.torch.core import STAYS
    from tangram.torch.operators import HANDLERS, decompositions
    from torch._decomp import core_aten_decompositions
except ImportError as missing:
    print(f"[SKIP] {missing.name} is not installed")
    sys.exit(77)

BOUND = 1e-4
# Options of a short search: the tests check that results are right, not fast.
SEARCH = {"cost": "analytic:cpu", "finalists": 0, "time_limit": 3}


def images(name, **options):
    import torchvision

    return getattr(torchvision.models, name)(weights=None, **options).eval(), (torch.randn(1, 3, 64, 64),)


def bert():
    from transformers import BertConfig, BertModel

    config = BertConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128)
    return BertModel(config).eval(), (torch.randint(0, 1000, (1, 16)),)


def gpt2():
    from transformers import GPT2Config, GPT2Model

    config = GPT2Config(n_embd=64, n_layer=2, n_head=4, use_cache=False)
    return GPT2Model(config).eval(), (torch.randint(0, 1000, (1, 16)),)


NETWORKS = {
    "resnet18": lambda: images("resnet18"),
    "mobilenet_v2": lambda: images("mobilenet_v2"),
    "mobilenet_v3_small": lambda: images("mobilenet_v3_small"),
    "squeezenet1_1": lambda: images("squeezenet1_1"),
    "shufflenet_v2_x0_5": lambda: images("shufflenet_v2_x0_5"),
    "vit_b_16": lambda: images("vit_b_16", image_size=64),
    "bert": bert,
    "gpt2": gpt2,
}


def leaves(value):
    return [leaf for leaf in torch.utils._pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def difference(found, wanted):
    worst = 0.0
    for a, b in zip(leaves(found), leaves(wanted), strict=True):
        worst = max(worst, float((a - b).abs().max() / b.abs().max()))
    return worst


class Small(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 4)

    def forward(self, x):
        return torch.relu(self.linear(x))


class Networks(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        torch._dynamo.reset()
        tangram.torch.reset()

    def test_the_backend(self):
        for name in names:
            with self.subTest(name), torch.no_grad():
                module, inputs = NETWORKS[name]()
                wanted = module(*inputs)
                compiled = torch.compile(module, backend="tangram", options=SEARCH)
                tangram.torch.reset()
                self.assertLess(difference(compiled(*inputs), wanted), BOUND)
                reports = tangram.torch.report()
                print(f"{name}: " + "; ".join(map(str, reports)), flush=True)
                self.assertEqual([made.kept for made in reports], [{}] * len(reports))

    def test_exported_programs(self):
        for name in names:
            with self.subTest(name), torch.no_grad(), tempfile.TemporaryDirectory() as folder:
                module, inputs = NETWORKS[name]()
                wanted = leaves(module(*inputs))
                model = tangram.from_exported(torch.export.export(module, inputs))
                path = Path(folder, "m.tg")
                model.save(path)
                found = tangram.load(path).run(*inputs)
                found = found if isinstance(found, tuple) else (found,)
                self.assertLess(difference(found, wanted), BOUND)


class Backend(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        tangram.torch.reset()

    def test_training_is_left_to_pytorch_with_one_warning(self):
        module, x = Small(), torch.randn(2, 8)
        compiled = torch.compile(module, backend="tangram", options=SEARCH)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            compiled(x).sum().backward()
            torch._dynamo.reset()
            torch.compile(Small(), backend="tangram", options=SEARCH)(x).sum().backward()
        self.assertIsNotNone(module.linear.weight.grad)
        self.assertEqual(len([w for w in seen if "tangram" in str(w.message)]), 1)

    def test_modes_of_inductor_are_taken_with_a_warning(self):
        module, x = Small(), torch.randn(2, 8)
        for mode in ("reduce-overhead", "max-autotune"):
            torch._dynamo.reset()
            with torch.no_grad(), self.assertWarnsRegex(UserWarning, "has no effect on the backend tangram"):
                torch.testing.assert_close(torch.compile(module, backend="tangram", mode=mode)(x), module(x))

    def test_wrong_arguments_are_refused_by_their_name(self):
        module, x = Small(), torch.randn(2, 8)
        for call, name in ((lambda: tangram.compile(None, [x]), "module"), (lambda: tangram.compile(module, [x], threads=-1), "threads"),
                           (lambda: tangram.compile(module, [x], time_limit=-1), "time_limit"), (lambda: tangram.from_exported(module), "program")):
            with self.subTest(name), self.assertRaisesRegex((TypeError, ValueError), name):
                call()
        for options in ({"sizes": -1}, {"sizes": "many"}, {"threads": -1}, {"nonsense": 1}):
            torch._dynamo.reset()
            with self.subTest(options), torch.no_grad(), self.assertRaisesRegex(Exception, min(options)):
                torch.compile(module, backend="tangram", options=options)(x)

    def test_unsupported_operators_stay_with_pytorch(self):
        def fn(x):
            return torch.relu(torch.lgamma(torch.relu(x) + 1)) + 1

        with torch.no_grad():
            x = torch.randn(4, 4)
            compiled = torch.compile(fn, backend="tangram", options=SEARCH)
            torch.testing.assert_close(compiled(x), fn(x))
        made, = tangram.torch.report()
        self.assertEqual(made.parts, 2)
        self.assertIn("aten.lgamma", str(made))

    def test_constants_are_computed(self):
        def fn(x):
            mask = torch.zeros(6, 6)
            mask[:4, -2:] = 1
            return x.roll(2, 1) + mask.index_fill(1, torch.arange(2), 3.0)

        with torch.no_grad():
            x = torch.randn(6, 6)
            compiled = torch.compile(fn, backend="tangram", options=SEARCH)
            torch.testing.assert_close(compiled(x), fn(x))
        made, = tangram.torch.report()
        self.assertEqual((made.parts, made.kept), (1, {}))

    def test_an_operator_that_is_refused_leaves_alone(self):
        def wrong(w, node):
            """a product with a number"""
            return f"{w.operand(node.args[0])} @ 3"

        def fn(x):
            return torch.relu(torch.lgamma(torch.relu(x) + 1)) + torch.relu(x)

        with torch.no_grad(), mock.patch.dict(HANDLERS, {torch.ops.aten.lgamma.default: wrong}):
            x = torch.randn(4, 4)
            torch.testing.assert_close(torch.compile(fn, backend="tangram", options=SEARCH)(x), fn(x))
        made, = tangram.torch.report()
        self.assertEqual((made.parts, list(made.kept)), (2, ["aten.lgamma.default"]))
        self.assertEqual(made.kept["aten.lgamma.default"], "cannot multiply f32[4, 4] by f32")

    def test_constants_of_bytes(self):
        def fn(x):
            flags = torch.tensor([1, 0, 3, 0], dtype=torch.uint8)
            return x * flags + flags.to(torch.bool), torch.where(flags > 1, x, 0.5), x.masked_fill(flags == 0, 2.0)

        with torch.no_grad():
            x = torch.randn(4, 4)
            torch.testing.assert_close(torch.compile(fn, backend="tangram", options=SEARCH)(x), fn(x))
        made, = tangram.torch.report()
        self.assertEqual((made.parts, made.kept), (1, {}))

    def test_outputs_that_are_constants_are_the_callers(self):
        def fn(x):
            return torch.relu(x), torch.ones(3), torch.ones(3, dtype=torch.uint8)

        with torch.no_grad():
            x = torch.randn(4, 4)
            compiled = torch.compile(fn, backend="tangram", options=SEARCH)
            for _ in range(2):
                found = compiled(x)
                torch.testing.assert_close(found, fn(x))
                for one in found:
                    one.add_(1)

    def test_tables_that_change_are_seen(self):
        class Table(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("places", torch.tensor([1, 0, 2]))

            def forward(self, x):
                return x * (self.places * 2) + x[:, self.places]

        with torch.no_grad():
            module, x = Table(), torch.randn(2, 3)
            compiled = torch.compile(module, backend="tangram", options=SEARCH)
            torch.testing.assert_close(compiled(x), module(x))
            module.places.copy_(torch.tensor([2, 2, 1]))
            torch.testing.assert_close(compiled(x), module(x))

    def test_random_numbers_are_not_constants(self):
        def fn(x):
            return torch.relu(x) + torch.rand(4)

        with torch.no_grad():
            x = torch.randn(4)
            compiled = torch.compile(fn, backend="tangram", options=SEARCH)
            self.assertFalse(torch.equal(compiled(x), compiled(x)))

    def test_axes_of_size_one_by_strides(self):
        with torch.no_grad():
            x = torch.randn(1, 3, 4, 4).to(memory_format=torch.channels_last)
            pool = torch.nn.AdaptiveAvgPool2d(1)
            compiled = torch.compile(pool, backend="tangram", options=SEARCH)
            torch.testing.assert_close(compiled(x), pool(x))
        made, = tangram.torch.report()
        self.assertEqual((made.parts, made.kept), (1, {}))

    def test_outputs_have_the_layout_of_eager_ones(self):
        def fn(x):
            y = torch.relu(x)
            return y, y.as_strided((2, 48), (48, 1)) + 1, torch.relu(x)[:, :1].expand(2, 3, 4, 4)

        with torch.no_grad():
            x = torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last)
            found = torch.compile(fn, backend="tangram", options=SEARCH)(x)
            for ours, wanted in zip(found, fn(x), strict=True):
                torch.testing.assert_close(ours, wanted)
        self.assertEqual(found[0].stride(), x.stride())

    def test_bfloat16_stays_bfloat16(self):
        with torch.no_grad():
            module, x = Small().eval().to(torch.bfloat16), torch.randn(2, 8).to(torch.bfloat16)
            for call in (torch.compile(module, backend="tangram", options=SEARCH), tangram.compile(module, x, **SEARCH)):
                torch.testing.assert_close(call(x), module(x), atol=0.02, rtol=0.02)

    def test_tensors_elsewhere_stay_with_pytorch(self):
        with torch.no_grad():
            x = torch.randn(2, 8, device="meta")
            found = torch.compile(torch.nn.ReLU(), backend="tangram", options=SEARCH)(x)
        self.assertEqual((found.device.type, found.shape), ("meta", x.shape))
        self.assertEqual(tangram.torch.report()[0].parts, 0)

    def test_each_size_is_compiled_once(self):
        with torch.no_grad():
            module = Small().eval()
            compiled = torch.compile(module, backend="tangram", options=SEARCH, dynamic=True)
            for rows in (2, 3, 2, 5):
                x = torch.randn(rows, 8)
                torch.testing.assert_close(compiled(x), module(x))

    def test_beyond_so_many_sizes_pytorch_runs_the_graph(self):
        with torch.no_grad(), warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            module = Small().eval()
            compiled = torch.compile(module, backend="tangram", options={**SEARCH, "sizes": 2}, dynamic=True)
            for rows in (2, 3, 4, 5, 3, 4):
                x = torch.randn(rows, 8)
                torch.testing.assert_close(compiled(x), module(x))
        self.assertEqual(sum(made.parts for made in tangram.torch.report()), 2)
        self.assertEqual(len([w for w in seen if "combinations of sizes" in str(w.message)]), 1)

    def test_marked_dimensions_are_compiled_for_each_size(self):
        with torch.no_grad():
            module = Small().eval()
            compiled = torch.compile(module, backend="tangram", options=SEARCH)
            for rows in (2, 3, 2):
                x = torch.randn(rows, 8)
                torch._dynamo.mark_dynamic(x, 0)
                torch.testing.assert_close(compiled(x), module(x))
        self.assertEqual([made.parts for made in tangram.torch.report()], [1, 1])

    def test_encoder_layers_by_their_fast_path(self):
        for options in ({}, {"norm_first": True, "activation": "gelu"}):
            layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, **options).eval()
            x, hidden = torch.randn(2, 5, 16), torch.arange(5).expand(2, 5) > torch.tensor([[2], [4]])
            masks = ({}, {"src_mask": torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)},
                     {"src_key_padding_mask": hidden})
            for mask in masks:
                with self.subTest(str([options, list(mask)])), torch.no_grad():
                    torch._dynamo.reset()
                    tangram.torch.reset()
                    compiled = torch.compile(layer, backend="tangram", options=SEARCH)
                    torch.testing.assert_close(compiled(x, **mask), layer(x, **mask), atol=1e-5, rtol=1e-4)
                    self.assertEqual([made.kept for made in tangram.torch.report()], [{}])

    def test_recurrent_networks(self):
        for name, module, x in (
            ("LSTM", torch.nn.LSTM(6, 8, 2, batch_first=True), torch.randn(1, 4, 6)),
            ("in both directions", torch.nn.LSTM(6, 8, bidirectional=True), torch.randn(4, 2, 6)),
            ("without biases, projected", torch.nn.LSTM(6, 8, bias=False, proj_size=3), torch.randn(4, 2, 6)),
            ("GRU", torch.nn.GRU(6, 8, bidirectional=True), torch.randn(4, 2, 6)),
            ("RNN", torch.nn.RNN(6, 8), torch.randn(4, 2, 6)),
        ):
            with self.subTest(name), torch.no_grad(), mock.patch.object(torch._dynamo.config, "allow_rnn", True):
                module.requires_grad_(False)
                tangram.torch.reset()
                torch._dynamo.reset()
                wanted = module(x)
                torch.testing.assert_close(torch.compile(module, backend="tangram", options=SEARCH)(x), wanted)
                self.assertEqual([made.kept for made in tangram.torch.report()], [{}])
                torch.testing.assert_close(tangram.compile(module, [x], **SEARCH)(x), wanted)

    def test_weights_that_change_are_seen(self):
        with torch.no_grad():
            module, x = Small().eval(), torch.randn(2, 8)
            compiled = torch.compile(module, backend="tangram", options=SEARCH)
            compiled(x)
            module.linear.weight.mul_(2)
            torch.testing.assert_close(compiled(x), module(x))
            module.linear.weight.data = torch.randn(4, 8)
            torch.testing.assert_close(compiled(x), module(x))
            module.load_state_dict(Small().state_dict())
            torch.testing.assert_close(compiled(x), module(x))
            module.load_state_dict(Small().state_dict(), assign=True)
            torch.testing.assert_close(compiled(x), module(x))
            module.linear.weight = torch.nn.Parameter(torch.randn(4, 8))
            torch.testing.assert_close(compiled(x), module(x))

    def test_buffers_that_the_module_changes_are_not_weights(self):
        class Counting(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(8, 4)
                self.register_buffer("total", torch.zeros(4))

            def forward(self, x):
                y = self.linear(x)
                self.total.add_(y.sum(0))
                return torch.relu(y + self.total)

        module, loads = Counting(), []
        other = copy.deepcopy(module)
        of = dynamo.Weights.of
        with torch.no_grad(), mock.patch.object(dynamo.Weights, "of", lambda *args: loads.append(1) or of(*args)):
            fast = torch.compile(other, backend="tangram", options=SEARCH)
            for _ in range(4):
                x = torch.randn(3, 8)
                self.assertLess(difference(fast(x), module(x)), BOUND)
            torch.testing.assert_close(other.total, module.total, rtol=1e-4, atol=1e-4)
        self.assertEqual(len(loads), 1, "a program was loaded anew because of a buffer")


class Programs(unittest.TestCase):
    def test_the_table_of_operators_is_up_to_date(self):
        written = Path(__file__).resolve().parents[2] / "python/tangram/torch/OPERATORS.md"
        self.assertEqual(written.read_text(encoding="utf-8"), tangram.torch.table())

    def test_the_core_set_is_accounted_for(self):
        names = {schema.name.removeprefix("aten::") for schema in torch._C._jit_get_all_schemas()
                 if schema.name.startswith("aten::")}
        packets = [packet for name in names if (packet := getattr(torch.ops.aten, name, None)) is not None]
        core = {getattr(packet, name) for packet in packets if isinstance(packet, torch._ops.OpOverloadPacket)
                for name in packet.overloads() if torch.Tag.core in getattr(packet, name).tags}
        self.assertGreater(len(core), 100)
        apart = decompositions(core_aten_decompositions())
        self.assertEqual(core - HANDLERS.keys() - apart.keys() - STAYS.keys(), set())
        self.assertEqual(HANDLERS.keys() & STAYS.keys(), set())

    def test_the_table_is_printed_without_warnings(self):
        done = subprocess.run([sys.executable, "-m", "tangram.torch"], capture_output=True, text=True, check=True)
        self.assertEqual((done.stdout, done.stderr), (tangram.torch.table(), ""))

    def test_a_compiled_module_takes_and_gives_tensors(self):
        module, x = Small().eval(), torch.randn(2, 8)
        program = tangram.compile(module, [x], **SEARCH)
        found = program(x)
        self.assertIsInstance(found, torch.Tensor)
        torch.testing.assert_close(found, module(x).detach())
        torch.testing.assert_close(program(x.t().contiguous().t()), found)  # another layout

    def test_a_compiled_module_stays_in_training(self):
        module = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.Dropout(0.5).eval(), torch.nn.BatchNorm1d(4))
        tangram.compile(module, torch.randn(3, 8), **SEARCH)
        self.assertEqual([part.training for part in module.modules()], [True, True, False, True])

    def test_weights_are_released(self):
        class Tied(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.table = torch.nn.Embedding(300, 64)
                self.cells = torch.nn.LSTM(64, 64, batch_first=True)
                self.head = torch.nn.Linear(64, 300, bias=False)
                self.head.weight = self.table.weight
                self.register_buffer("scale", torch.full((300,), 2.0))
                self.register_buffer("calls", torch.zeros(1))

            def forward(self, x):
                self.calls.add_(1)
                return self.head(self.cells(self.table(x))[0]) * self.scale

        x = torch.arange(6)[None]
        for release in (False, True):
            module = Tied().requires_grad_(False).eval()
            expected, shapes = module(x), {name: value.shape for name, value in module.state_dict().items()}
            state = {name: value.clone() for name, value in module.state_dict().items()}
            alive = []
            for name, value in [*module.named_parameters(), *module.named_buffers()]:
                if name != "calls":  # in an array whose release can be observed
                    array = value.numpy().copy()
                    value.data = torch.from_numpy(array)
                    alive.append(weakref.ref(array))
            del array, value
            program = tangram.compile(module, [x], time_limit=1, release_weights=release)
            gc.collect()
            self.assertEqual([ref() is None for ref in alive], [release] * len(alive))
            for count in (2, 3):  # the first call was eager
                torch.testing.assert_close(program(x), expected)
                self.assertEqual(module.calls.item(), count, "a buffer that is written stays")
            self.assertEqual({name: value.shape for name, value in module.state_dict().items()}, shapes)
            self.assertIs(module.head.weight, module.table.weight)
            self.assertIn("tangram.Program", repr(program))
            if not release:
                self.assertEqual(len(program.model.outputs), 2)
                continue
            with self.assertRaisesRegex(AttributeError, "release_weights"):
                _ = program.model
            self.assertTrue(module.table.weight.is_meta and module.scale.is_meta)
            module.load_state_dict(state, assign=True)
            torch.testing.assert_close(module(x), expected)
        with self.assertRaisesRegex(TypeError, "release_weights"):
            tangram.compile(torch.nn.Linear(2, 2), [torch.ones(1, 2)], release_weights=1)

    def test_the_type_of_the_search_is_that_of_the_runs(self):
        module, x = torch.nn.Linear(64, 64).requires_grad_(False), torch.randn(8, 64)
        for made in (tangram.compile(module, [x], dtype="bf16", **SEARCH),
                     torch.compile(module, backend="tangram", options={"dtype": "bf16", **SEARCH})):
            apart = difference(made(x), module(x))
            self.assertTrue(1e-4 < apart < 2e-2, apart)

    def test_examples_that_are_one_tensor_are_two_inputs(self):
        class Apart(torch.nn.Module):
            def forward(self, a, b):
                return a - b
        x = torch.ones(2, 8)
        torch.testing.assert_close(tangram.compile(Apart(), [x, x], **SEARCH)(x, 3 * x), -2 * x)

    def test_inputs_that_are_not_read_are_taken(self):
        class First(torch.nn.Module):
            def forward(self, x, y):
                return torch.relu(x)

        x, y = torch.randn(2, 8), torch.randn(3)
        torch.testing.assert_close(tangram.compile(First(), [x, y], **SEARCH)(x, y), torch.relu(x))
        exported = tangram.from_exported(torch.export.export(First(), (x, y)))
        torch.testing.assert_close(torch.as_tensor(exported.run(x, y)), torch.relu(x))

    def test_tensors_without_elements_are_exported(self):
        class Parts(torch.nn.Module):
            def forward(self, x):
                return torch.cat((x[..., :4].neg(), x[..., 4:].exp()), -1)

        x = torch.randn(2, 4)
        found = tangram.from_exported(torch.export.export(Parts(), (x,))).run(x)
        torch.testing.assert_close(torch.as_tensor(found), -x)

    def test_products_with_vectors_are_exported(self):
        class Products(torch.nn.Module):
            def forward(self, x, y, v):
                return x @ v, v @ y, v @ v, v @ x.mT, x @ y

        given = torch.randn(2, 3, 4), torch.randn(4, 5), torch.randn(4)
        found = tangram.from_exported(torch.export.export(Products(), given)).run(*given)
        for ours, wanted in zip(found, Products()(*given), strict=True):
            torch.testing.assert_close(torch.as_tensor(ours), wanted)

    def test_operators_without_a_form_are_named(self):
        class Gamma(torch.nn.Module):
            def forward(self, x):
                return torch.lgamma(x)

        with self.assertRaisesRegex(tangram.Error, "lgamma") as caught:
            tangram.from_exported(torch.export.export(Gamma(), (torch.randn(3),)))
        error = caught.exception
        self.assertEqual((error.code, Path(error.file).name), ("E0511", "python_torch_test.py"))
        self.assertIn("torch.lgamma(x)", Path(error.file).read_text(encoding="utf-8").splitlines()[error.line - 1])
        self.assertEqual(pickle.loads(pickle.dumps(error)).line, error.line)

    def test_there_is_one_pool_of_threads(self):
        for order in ("torch, tangram", "tangram, torch"):
            code = (f"import {order}\n"
                    "tangram.parse('model m(x: f32[64, 64]) { x @ x }').run(torch.randn(64, 64))\n"
                    "torch.randn(512, 512) @ torch.randn(512, 512)\n"
                    "print(len({line.split()[-1] for line in open('/proc/self/maps') if 'gomp' in line}))")
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            self.assertEqual(done.stdout.strip(), "1", order)


class Examples(unittest.TestCase):
    def test_in_documentation(self):
        for module in (tangram._torch_programs, tangram.torch.dynamo):
            torch._dynamo.reset()
            failed, tried = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
            self.assertEqual((failed, tried > 2), (0, True), module.__name__)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tg")  # every oracle test gets this option; this one uses the package
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    names = arguments.names or list(NETWORKS)
    unittest.main(argv=[sys.argv[0]], verbosity=1)
