#!/usr/bin/env python3
"""Compares networks quantized for x86 by torchao's PT2E (8-bit operands, X86InductorQuantizer) in eager PyTorch, the
Python package, and Inductor with frozen weights, and the network in f32 in the package.

    bench/python_pt2e.py [--networks N,N...] [--threads 1] [--rounds 9] [--md FILE]

Requires the installed package (python/README.md), torchao, and a C++ compiler for Inductor. Each network runs in its
own process with all ways interleaved. In each round every way has a turn of at least 20 ms and two runs; its time is
the median run. Prints medians over the rounds with quartiles, and the largest difference from the eager outputs
relative to the largest element; it includes values at half a quantization step, which may be rounded either way. Prints
Markdown; --md appends it to a file."""
import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import time
import warnings


def transformer_block(nn):
    """Returns a block as in BERT and ViT, with a named layer for each product."""
    import torch.nn.functional as F

    class Block(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads = heads
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            y = self.first(x)
            q, k, v = (layer(y).unflatten(-1, (self.heads, -1)).transpose(1, 2) for layer in (self.q, self.k, self.v))
            x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
            return x + self.down(F.gelu(self.up(self.second(x))))

    return Block(256, 4)


def residual_network(nn):
    """Returns a small ResNet: a stem, three stages of one residual block each, and a classifier."""

    class Block(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.main = nn.Sequential(
                nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
                nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs))
            self.skip = nn.Conv2d(inputs, outputs, 1, stride) if stride != 1 or inputs != outputs else nn.Identity()

        def forward(self, x):
            return (self.main(x) + self.skip(x)).relu()

    return nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU(), Block(32, 32, 1),
                         Block(32, 64, 2), Block(64, 128, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 100))


def products(nn):
    return nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 256))


def convolutions(nn):
    return nn.Sequential(nn.Conv2d(16, 32, 3, 1, 1), nn.ReLU(), nn.Conv2d(32, 32, 3, 1, 1))


#: Name to (description, module, input shape).
NETWORKS = {
    "products": ("two products, 512 and 256 wide", products, (32, 256)),
    "convolutions": ("two convolutions to 32 channels", convolutions, (1, 16, 32, 32)),
    "residual": ("a ResNet of three blocks", residual_network, (1, 3, 112, 112)),
    "block": ("a block of a transformer, 4 heads", transformer_block, (1, 128, 256)),
}
WAYS = ("eager", "tangram", "inductor", "f32")


def quantized(module, x):
    import torch
    from torchao.quantization.pt2e import move_exported_model_to_eval
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86

    quantizer = x86.X86InductorQuantizer().set_global(x86.get_default_x86_inductor_quantization_config())
    prepared = prepare_pt2e(torch.export.export(module, (x,)).module(), quantizer)
    for _ in range(4):  # calibration
        prepared(torch.randn_like(x))
    return move_exported_model_to_eval(convert_pt2e(prepared))


def ways_of(make, shape):
    """Returns a function without arguments for each way."""
    import torch

    import tangram.torch  # noqa: F401  registers the backend

    torch.manual_seed(0)
    module, x = make(torch.nn).eval().requires_grad_(False), torch.randn(shape)
    eight_bits = quantized(module, x)
    torch._inductor.config.freezing = True
    runs = {"eager": eight_bits, "tangram": torch.compile(eight_bits, backend="tangram"),
            "inductor": torch.compile(eight_bits), "f32": torch.compile(module, backend="tangram")}
    return {way: lambda run=run: run(x) for way, run in runs.items()}


def turn(run, seconds=0.02, least=2):
    """Returns the microseconds of the median run of a turn."""
    samples, end = [], time.perf_counter() + seconds
    while len(samples) < least or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        samples.append((time.perf_counter() - start) * 1e6)
    return statistics.median(samples)


def child(name, threads, rounds):
    import torch

    torch.set_num_threads(threads)
    _, make, shape = NETWORKS[name]
    with torch.no_grad():
        runs = ways_of(make, shape)
        found = {way: run() for way, run in runs.items()}
        times = {way: [] for way in runs}
        for run in runs.values():
            turn(run, 0.2)
        for _ in range(rounds):
            for way, run in runs.items():
                times[way].append(turn(run))
    eager = found["eager"]
    differences = {way: float((one - eager).abs().max() / eager.abs().max()) for way, one in found.items()}
    print("row " + json.dumps({"us": times, "differences": differences}))


def measured(name, threads, rounds):
    done = subprocess.run([sys.executable, __file__, "--child", name, "--threads", str(threads), "--rounds", str(rounds)],
                          text=True, capture_output=True, check=False)
    rows = [line[4:] for line in done.stdout.splitlines() if line.startswith("row ")]
    if not rows:
        sys.exit(f"python_pt2e: {name} failed:\n{done.stderr}")
    return json.loads(rows[0])


def cell(samples):
    low, middle, high = statistics.quantiles(samples, n=4)
    return f"{middle:.0f} ({low:.0f} to {high:.0f})"


def table(networks, threads, rounds):
    lines = [f"{datetime.date.today()}, load {os.getloadavg()[0]:.1f} at the start, {threads} thread{'s' * (threads != 1)}, "
             f"{rounds} rounds; microseconds, medians (quartiles).", "",
             "| network | input | eager | tangram | Inductor (frozen) | f32, tangram | difference of tangram, of Inductor |",
             "|---|---|--:|--:|--:|--:|--:|"]
    for name in networks:
        what, _, shape = NETWORKS[name]
        row = measured(name, threads, rounds)
        cells = [cell(row["us"][way]) for way in WAYS]
        differences = ", ".join(f"{row['differences'][way]:.1e}" for way in ("tangram", "inductor"))
        lines.append(f"| {what} | {list(shape)} | {' | '.join(cells)} | {differences} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--md", help="a file to which the table is appended")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.child:
        child(options.child, options.threads, options.rounds)
        return
    names = options.networks.split(",")
    if unknown := [name for name in names if name not in NETWORKS]:
        parser.error(f"no network is called {unknown[0]}; there are {', '.join(NETWORKS)}")
    text = table(names, options.threads, options.rounds)
    print(text, end="")
    if options.md:
        with open(options.md, "a", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
