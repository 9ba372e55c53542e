#!/usr/bin/env python3
"""Tests dynamic sizes of PyTorch graphs: which sizes are rounded up to buckets, and which must not be. Outputs are
compared with eager runs.

    tests/oracle/python_buckets_test.py [--tg build/tg]

Requires the installed package (`./dev test --oracle --full` installs it) and PyTorch; otherwise the test is skipped.
"""
import unittest

from python_package import SEARCH, run_tests, tangram, torch  # skips this test if packages are missing

import torch.nn.functional as F
from tangram.torch import buckets


class Perceptron(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = torch.nn.LayerNorm(8), torch.nn.Linear(8, 16), torch.nn.Linear(16, 8)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Images(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.BatchNorm2d(4)
        self.head = torch.nn.Linear(4, 5)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.conv(x))), 2)
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1)).softmax(-1)


class Tokens(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.first = torch.nn.Embedding(9, 8), torch.nn.Parameter(torch.randn(1, 1, 8))
        self.layer = torch.nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, tokens):
        x = torch.cat((self.first.expand(tokens.shape[0], -1, -1), self.table(tokens)), 1)
        return x + self.layer(x, x, x, need_weights=False)[0]


class Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.forward = function


#: Functions whose rows depend on each other or on their number. These sizes must not be rounded up.
MIXES = {
    "their mean": lambda x: x - x.mean(0),
    "a product across them": lambda x: x @ (x.mT @ x),
    "softmax across them": lambda x: x.softmax(0),
    "their number": lambda x: x / x.shape[0],
    "a part of them": lambda x: x[1:] * 2,
    "their order": lambda x: x.flip(0),
    "another view": lambda x: x.reshape(8, -1) * 2,
    "a sum of all": lambda x: x.sum(),
    "running sums": lambda x: x.cumsum(0),
    "their number, as a sum of ones": lambda x: x / torch.ones(x.shape[0], 1).sum(),
    "their number, of others": lambda x: x * torch.arange(x.shape[0] * 2).sum(),
    "each with each": lambda x: x[:, :1] + torch.zeros(1, x.shape[0]),
    "places from the end": lambda x: x * (x.shape[0] - torch.arange(x.shape[0]))[:, None],
    "rows of others": lambda x: x[torch.arange(x.shape[0]).flip(0)],
    "rows of numbers in them": lambda x: x[(x[:, 0] > 0).long()],
}

#: Functions with independent rows, which nevertheless use the number or indices of rows, or would fail for zeros.
KEEPS = {
    "rows by their own places": lambda x: x[torch.arange(x.shape[0])] * 2,
    "rows and columns by place": lambda x: x[torch.arange(x.shape[0])[:, None], torch.tensor([[0, 3]])],
    "columns by place": lambda x: x[:, [1, 1, 5]],
    "zeros of as many": lambda x: (x * 2, torch.zeros(x.shape[0], 3)),
    "numbers of rows": lambda x: x + torch.arange(x.shape[0])[:, None],
    "a row for all": lambda x: x + torch.ones(1, 8).expand(x.shape[0], -1),
    "the largest": lambda x: (x.argmax(1), x.max(1).values, x.topk(2).indices),
    "of a table": lambda x: torch.arange(80.0).reshape(10, 8)[x.abs().long().clamp(0, 9)[:, 0]],
    "whole quotients": lambda x: 12 // (x.abs().long() + 1),
    "elements along rows": lambda x: x.gather(1, x.argsort(1)),
}


def bert():
    from transformers import BertConfig, BertModel

    return BertModel(BertConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, vocab_size=100))


def llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(LlamaConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                                        intermediate_size=64, vocab_size=100, use_cache=False))


def qwen():
    from transformers import Qwen2Config, Qwen2ForCausalLM

    return Qwen2ForCausalLM(Qwen2Config(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                                        intermediate_size=64, vocab_size=100, use_cache=False))


class Buckets(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        tangram.torch.reset()
        torch.manual_seed(1)

    def rows(self, module, inputs, axis=0):
        """Returns the compiled programs for the inputs, and compares their outputs with eager ones."""
        module = module.eval()
        compiled = torch.compile(module, backend="tangram", options=SEARCH)
        with torch.no_grad():
            for x in inputs:
                torch._dynamo.mark_dynamic(x, axis)
                torch.testing.assert_close(compiled(x), module(x), atol=1e-5, rtol=1e-5)
        return [made for made in tangram.torch.report() if made.parts]

    def test_buckets_grow_by_less_than_half(self):
        self.assertEqual([buckets.rounded(size) for size in (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 17, 25)],
                         [1, 2, 3, 4, 6, 6, 8, 8, 12, 12, 16, 24, 32])

    def test_rows_of_a_perceptron(self):
        self.assertEqual(len(self.rows(Perceptron(), [torch.randn(rows, 8) for rows in (5, 6, 7, 8, 5)])), 2)

    def test_rows_of_sequences(self):
        self.assertEqual(len(self.rows(Perceptron(), [torch.randn(rows, 3, 8) for rows in (5, 6)])), 1)

    def test_the_length_of_sequences_where_nothing_crosses_it(self):
        self.assertEqual(len(self.rows(Perceptron(), [torch.randn(2, tokens, 8) for tokens in (9, 10, 12)], axis=1)), 1)

    def test_batches_of_images(self):
        self.assertEqual(len(self.rows(Images(), [torch.randn(count, 3, 8, 8) for count in (5, 6, 7)])), 2)

    def test_batches_of_tokens(self):
        self.assertEqual(len(self.rows(Tokens(), [torch.randint(0, 9, (count, 4)) for count in (5, 6)])), 1)

    def test_tokens_that_see_each_other_are_specialised(self):
        self.assertEqual(len(self.rows(Tokens(), [torch.randint(0, 9, (2, count)) for count in (9, 10)], axis=1)), 2)

    def test_several_outputs(self):
        function = Function(lambda x: (x.relu(), x.sum(1), torch.ones(3), x.reshape(-1)))
        made = self.rows(function, [torch.randn(rows, 4) for rows in (5, 6)])
        self.assertEqual(len(made), 1)

    def test_functions_of_single_rows_are_rounded_up(self):
        for name, function in KEEPS.items():
            with self.subTest(name):
                self.setUp()
                self.assertEqual(len(self.rows(Function(function), [torch.randn(rows, 8) for rows in (5, 6)])), 1)

    def test_language_models_with_masks(self):
        """Two inputs with separate symbols for their batch sizes need one program per bucket, not per size."""
        for network in (bert, llama, qwen):
            with self.subTest(network.__name__), torch.no_grad():
                self.setUp()
                module = network().eval()
                compiled = torch.compile(module, backend="tangram", options=SEARCH, dynamic=True)
                for rows in (5, 6, 7, 8, 9, 10, 12, 5):
                    tokens = torch.randint(0, 100, (rows, 9))
                    mask = (torch.arange(9) < torch.randint(3, 10, (rows, 1))).long()
                    torch.testing.assert_close(compiled(tokens, attention_mask=mask)[0], module(tokens, attention_mask=mask)[0],
                                               atol=1e-4, rtol=1e-4)
                self.assertLessEqual(sum(made.parts for made in tangram.torch.report()), 3)

    def test_lengths_are_searched_once(self):
        """The programs of later lengths repeat the rewrites of the first search."""
        for network in (bert, llama, qwen):
            with self.subTest(network.__name__), torch.no_grad():
                self.setUp()
                module = network().eval()
                compiled = torch.compile(module, backend="tangram", options=SEARCH, dynamic=True)
                for length in (9, 10, 13, 27, 9, 2):
                    tokens = torch.randint(0, 100, (2, length))
                    torch.testing.assert_close(compiled(tokens)[0], module(tokens)[0], atol=1e-4, rtol=1e-4)
                first, *later = [made for made in tangram.torch.report() if made.parts]
                self.assertEqual(first.repeated, 0)
                self.assertEqual(len(later), 4)
                self.assertEqual([made.repeated for made in later], [made.parts for made in later])

    def test_functions_that_mix_rows_are_specialised(self):
        for name, function in MIXES.items():
            with self.subTest(name):
                self.setUp()
                self.assertEqual(len(self.rows(Function(function), [torch.randn(rows, 8) for rows in (5, 6)])), 2)

    def test_a_literal_that_equals_a_bucket_is_not_an_axis(self):
        """There are 5 rows, whose bucket is 6, which is also a size of the view."""
        module = Function(lambda x: x.reshape(6, -1) * 2)
        self.assertEqual(len(self.rows(module, [torch.randn(rows, 12) for rows in (5, 7)])), 2)


if __name__ == "__main__":
    run_tests()
