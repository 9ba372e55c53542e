#!/usr/bin/env python3
"""Compares gradients (`grad` of the language) with PyTorch's: those of a network with convolutions, norms, pooling and
attention with respect to all its weights, in f64 and f32, as written and optimised. Also compares three steps of the
standard library's optimisers.

    tests/oracle/gradients_test.py [--tg build/tg]

Without PyTorch the test is skipped.
"""
import argparse
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import numpy as np
    import torch
    import torch.nn.functional as F
except ImportError as missing:
    print(f"[SKIP] {missing.name} is not installed")
    sys.exit(77)

SHAPES = {"x": (2, 4, 9, 9), "w1": (8, 2, 3, 3), "b1": (8,), "scale": (8,), "shift": (8,), "mean": (8,), "variance": (8,),
          "w2": (8, 1, 3, 3), "w3": (6, 8, 1, 1), "h": (6, 12), "s": (12,), "t": (12,), "wq": (12, 12)}
BODY = """
  let a = batch_norm(conv2d(x, w1, b1, stride = 2, pad = 1), scale, shift, mean, variance)
  let b = max_pool2d(gelu(a), kernel = 3, stride = 2, pad = 1)
  let c = conv2d(b, w2, pad = 1, act = relu6)
  let d = avg_pool2d(conv2d(c, w3), kernel = 3, stride = 1, pad = 1)
  let e = reduce_mean(d, axes = [2, 3]) @ h
  let f = layer_norm(gather(concat([e, e * 2, hardswish(e)], axis = 0), ids), s, t)
  let o = softmax(f @ wq @ transpose(f) * 0.3, axis = -1) @ f
  let loss = reduce_mean(mish(o) * o, axes = [0, 1, 2])
"""


def torch_loss(v, ids):
    channel = lambda name: v[name].reshape(1, -1, 1, 1)
    a = F.conv2d(v["x"], v["w1"], v["b1"], stride=2, padding=1, groups=2)
    a = (a - channel("mean")) / torch.sqrt(channel("variance") + 1e-5) * channel("scale") + channel("shift")
    b = F.max_pool2d(F.gelu(a), 3, 2, 1)
    c = F.relu6(F.conv2d(b, v["w2"], padding=1, groups=8))
    d = F.avg_pool2d(F.conv2d(c, v["w3"]), 3, 1, 1, count_include_pad=False)
    e = d.mean((2, 3)) @ v["h"]
    f = F.layer_norm(torch.cat([e, e * 2, F.hardswish(e)])[ids], (12,), v["s"], v["t"], eps=1e-5)
    o = torch.softmax(f @ v["wq"] @ f.transpose(-1, -2) * 0.3, -1) @ f
    return (F.mish(o) * o).mean()


def program(dtype):
    types = {name: f"{dtype}[{', '.join(map(str, shape))}]" for name, shape in SHAPES.items()}
    inputs = ", ".join(f"{name}: {type}" for name, type in types.items())
    results = ", ".join(f"d_{name}: {type}" for name, type in types.items())
    items = ", ".join(f"g[{i}]" for i in range(len(types)))
    return (f"model m({inputs}, ids: i64[2, 5]) -> (loss: {dtype}[], {results}) {{{BODY}"
            f"  let g = grad(loss, wrt = [{', '.join(types)}])\n  (loss, {items})\n}}\n")


UPDATES = """use std.optimizer: adam, momentum, sgd
model m(w: f64[5], y: f64[5]) -> (sgd: f64[5], momentum: f64[5], adam: f64[5]) {
  var (a, b, c) = (w, w, w)
  var (sum, mean, variance) = (w * 0, w * 0, w * 0)
  for t in 1..4 {
    a = sgd(a, grad(reduce_sum(tanh(a) * y, axes = [0]), wrt = a), rate = 0.1)
    (b, sum) = momentum(b, grad(reduce_sum(tanh(b) * y, axes = [0]), wrt = b), sum, rate = 0.1)
    let dc = grad(reduce_sum(tanh(c) * y, axes = [0]), wrt = c)
    (c, mean, variance) = adam(c, dc, mean, variance, full([], t, f64), rate = 0.1)
  }
  (a, b, c)
}
"""


class Gradients(unittest.TestCase):
    tg = "build/tg"

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.draw = np.random.default_rng(0)

    def tg_run(self, source, arrays, backend):
        np.savez(self.folder / "in.npz", **arrays)
        subprocess.run([self.tg, "run", source, "--input", self.folder / "in.npz", "--output", self.folder / "out.npz",
                        "--backend", backend, "--quiet"], check=True)
        return np.load(self.folder / "out.npz")

    def compare(self, dtype, bound, optimise):
        arrays = {name: self.draw.standard_normal(shape) for name, shape in SHAPES.items()}
        arrays["variance"] = np.abs(arrays["variance"]) + 0.5
        arrays = {name: array.astype(np.float32) for name, array in arrays.items()}
        ids = self.draw.integers(0, 6, (2, 5))
        leaves = {name: torch.tensor(array, dtype=torch.float64, requires_grad=True) for name, array in arrays.items()}
        wanted = torch.autograd.grad(torch_loss(leaves, torch.tensor(ids)), list(leaves.values()))
        source = self.folder / "m.tg"
        source.write_text(program(dtype))
        if optimise:
            fast = self.folder / "fast.tg"
            subprocess.run([self.tg, "opt", source, "--cost", "analytic:cpu", "-o", fast, "--quiet"], check=True)
            source = fast
        cast = {name: array.astype({"f64": np.float64, "f32": np.float32}[dtype]) for name, array in arrays.items()}
        for backend in ("ref", "cpu"):
            out = self.tg_run(source, {**cast, "ids": ids}, backend)
            for name, gradient in zip(leaves, wanted):
                difference = np.abs(out["d_" + name] - gradient.numpy()).max() / gradient.abs().max().item()
                self.assertLess(difference, bound, f"{backend}: the gradient by {name}")

    def test_in_double(self):
        self.compare("f64", 1e-9, optimise=False)

    def test_in_float(self):
        self.compare("f32", 1e-4, optimise=False)

    def test_optimised(self):
        self.compare("f32", 1e-4, optimise=True)

    def test_updates(self):
        w, y = self.draw.standard_normal(5), self.draw.standard_normal(5)
        source = self.folder / "updates.tg"
        source.write_text(UPDATES)
        out = self.tg_run(source, {"w": w, "y": y}, "ref")
        makers = {"sgd": lambda p: torch.optim.SGD(p, 0.1), "momentum": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
                  "adam": lambda p: torch.optim.Adam(p, 0.1)}
        for name, maker in makers.items():
            p = torch.tensor(w, requires_grad=True)
            optimiser = maker([p])
            for _ in range(3):
                optimiser.zero_grad()
                (torch.tanh(p) * torch.tensor(y)).sum().backward()
                optimiser.step()
            self.assertLess(np.abs(out[name] - p.detach().numpy()).max(), 1e-9, name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tg", default=str(Path(__file__).resolve().parents[2] / "build/tg"))
    arguments, rest = parser.parse_known_args()
    Gradients.tg = arguments.tg
    unittest.main(argv=[sys.argv[0], *rest])
