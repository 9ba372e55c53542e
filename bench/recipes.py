#!/usr/bin/env python3
"""Measures models that are optimised once and run at other sizes: the rewrites of one search, repeated
(`Optimized.repeat`), against a search at each size and against the source.

    bench/recipes.py [--models bert_base,gpt2] [--rounds 15] [--threads 1] [--cost calibrated] > bench/results/recipes.md

Each model of examples/ has one open size. The search runs at a sample size only. "repeat" is the time of
`Optimized.repeat`, which includes the check of the chain against the text of the rules, and prices. "speed" is the time
of the searched model over that of the repeated one, both compiled here: the median over rounds of interleaved runs,
with the 10th and 90th percentiles. Above 1, the repeated one is faster. "gain" is the same against the source. Prints
Markdown."""
import argparse
import datetime
import math
import os
import statistics
import subprocess
import time
from pathlib import Path

import numpy as np

import tangram

ROOT = Path(__file__).resolve().parents[1]
# model: its file, settings, the open parameter, the sample size, and other sizes
MODELS = {
    "bert_base": ("bert_base", {"layers": 4}, "S", 128, (1, 7, 31, 64, 200, 384)),
    "gpt2": ("gpt2", {"layers": 4}, "S", 128, (1, 7, 31, 64, 200, 384)),
    "transformer": ("transformer", {}, "S", 128, (1, 7, 31, 64, 200, 384)),
    "llama_block": ("llama_block", {"D": 1024, "heads": 16, "kv_heads": 4, "hidden": 2816}, "S", 128, (1, 7, 31, 64, 200)),
    "vit_base": ("vit_base", {}, "N", 2, (1, 3, 5)),
    "resnet50": ("resnet50", {}, "N", 2, (1, 3, 5)),
    "mobilenetv2": ("mobilenetv2", {}, "N", 2, (1, 3, 5)),
    "squeezenet": ("squeezenet", {}, "N", 2, (1, 3, 5)),
}


def model_at(name, size):
    file, settings, parameter, _, _ = MODELS[name]
    return tangram.load(ROOT / "examples" / f"{file}.tg", set={**settings, parameter: size})


def random_inputs(model):
    rng = np.random.default_rng(0)
    made = {}
    for spec in model.inputs:
        whole = spec.dtype.startswith("i")
        made[spec.name] = rng.integers(0, 2, spec.shape).astype(np.int64) if whole else rng.random(spec.shape, np.float32)
    return made


def times_of(models, inputs, rounds, threads):
    """Returns the seconds of interleaved runs, a list for each model."""
    programs = [model.compile(threads=threads) for model in models]
    for program in programs:
        program(inputs)
    found = [[] for _ in programs]
    for round_number in range(rounds):
        for i in range(len(programs)):
            at = (i + round_number) % len(programs)
            start = time.perf_counter()
            programs[at](inputs)
            found[at].append(time.perf_counter() - start)
    return found


def spread(above, below):
    ratios = sorted(a / b for a, b in zip(above, below))
    low, high = ratios[len(ratios) // 10], ratios[-1 - len(ratios) // 10]
    return statistics.median(ratios), low, high


def measure(name, options):
    _, _, parameter, sample, others = MODELS[name]
    start = time.perf_counter()
    best = model_at(name, sample).optimize(cost=options.cost, recipe=True)
    search = time.perf_counter() - start
    for size in others:
        source = model_at(name, size)
        start = time.perf_counter()
        again = best.repeat(source)
        repeat = time.perf_counter() - start
        own = source.optimize(cost=options.cost)
        inputs = random_inputs(source)
        for_source, for_own, for_again = times_of([source, own.model, again.model], inputs, options.rounds, options.threads)
        speed, gain = spread(for_own, for_again), spread(for_source, for_again)
        print(f"| {name} | {parameter} = {size} | {again.steps} | {again.skipped} | {repeat * 1e3:.1f} | "
              f"{speed[0]:.2f} ({speed[1]:.2f} to {speed[2]:.2f}) | {gain[0]:.2f} |", flush=True)
        yield speed[0], gain[0], repeat, search


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cost", default="calibrated")
    options = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    cpu = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    print(f"# recipes\n\n{' '.join(__doc__.split(chr(10) * 2)[2].split())}\n\n{cpu}, {os.cpu_count()} cores, threads: "
          f"{options.threads}, commit {commit}, {datetime.date.today()}, load at the start "
          f"{os.getloadavg()[0]:.1f}, prices `{options.cost}`, {options.rounds} rounds. Searched at: "
          + ", ".join(f"{name} {MODELS[name][2]} = {MODELS[name][3]}" for name in options.models.split(",")) + ".\n")
    print("| model | size | rewrites | skipped | repeat ms | speed | gain |")
    print("|---|---|---:|---:|---:|---:|---:|", flush=True)
    rows = [row for name in options.models.split(",") for row in measure(name, options)]
    mean = lambda column: math.exp(statistics.mean(math.log(row[column]) for row in rows))
    print(f"\nGeometric means over {len(rows)} sizes: speed {mean(0):.3f} (lowest {min(r[0] for r in rows):.2f}), gain "
          f"{mean(1):.2f}. Repeating takes {statistics.median(r[2] for r in rows) * 1e3:.1f} ms (median), a search "
          f"{statistics.median(r[3] for r in rows):.1f} s.")


if __name__ == "__main__":
    main()
