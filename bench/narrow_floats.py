#!/usr/bin/env python3
"""Times whole runs of six networks in f32, bf16 and f16 on the CPU, and the slowest steps in bf16 and f16.

    bench/narrow_floats.py [--tg build-release/tg] [--threads 1] [--rounds 3] [--runs 20] [--opt] [--md FILE] [NETWORK...]

Each round runs every network in every dtype; the table has the smallest median over the rounds. --opt optimises first,
by prices that need no measurement. Prints Markdown; --md appends it to a file. The second table has the slowest steps
of a bf16 or f16 run with their share of its time, which shows what limits it: conversions, products that run in f32,
or steps bound by memory.
"""
import argparse
import collections
import datetime
import json
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NETWORKS = ["mobilenetv2", "squeezenet", "resnet50", "bert_base", "vit_base", "llama_block"]
DTYPES = ["f32", "bf16", "f16"]
SHOWN = 4  # steps of a run in the second table


def run(options, network, dtype):
    arguments = [options.tg, "run", ROOT / "examples" / f"{network}.tg", "--threads", options.threads, "--runs",
                 options.runs, "--dtype", dtype, "--verbose", "--json"]
    if options.opt:
        arguments += ["--opt", "--cost", "analytic:cpu", "--finalists", "0"]
    done = subprocess.run(list(map(str, arguments)), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def measure(options):
    """Returns the run with the smallest median by network and dtype."""
    best = {}
    for _ in range(options.rounds):
        for network in options.networks:
            for dtype in DTYPES:
                found = run(options, network, dtype)
                if (network, dtype) not in best or found["median_us"] < best[network, dtype]["median_us"]:
                    best[network, dtype] = found
    return best


def largest_steps(found):
    us = collections.Counter()
    for step in found["steps"]:
        implementation = step["implementation"].split(" ")[0]
        us[f"{step['name']} {implementation}"] += step["us"]
    total = sum(us.values())
    return ", ".join(f"{name} {time / total:.0%}" for name, time in us.most_common(SHOWN))


def tables(options, load, best):
    yield f"## {options.threads} thread{'s' * (options.threads > 1)}{', optimised' if options.opt else ''}"
    yield ""
    yield (f"{datetime.date.today()}, load {load:.1f} at the start, {options.rounds} rounds of {options.runs} "
           f"runs; {next(iter(best.values()))['device']}.")
    yield ""
    yield "| network | " + " | ".join(f"{dtype}, ms" for dtype in DTYPES) + " | f32 / bf16 | f32 / f16 |"
    yield "|---|---|---|---|---|---|"
    for network in options.networks:
        ms = [best[network, dtype]["median_us"] / 1e3 for dtype in DTYPES]
        yield (f"| {network} | " + " | ".join(f"{time:.2f}" for time in ms) +
               "".join(f" | {ms[0] / time:.2f}" for time in ms[1:]) + " |")
    yield ""
    yield "| network | bf16: steps | f16: steps |"
    yield "|---|---|---|"
    for network in options.networks:
        yield f"| {network} | " + " | ".join(largest_steps(best[network, dtype]) for dtype in DTYPES[1:]) + " |"
    yield ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tg", default=ROOT / "build-release/tg")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--opt", action="store_true", help="optimise first")
    parser.add_argument("--md", help="a file to which the tables are appended")
    parser.add_argument("networks", nargs="*", default=NETWORKS)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    text = "\n".join(tables(options, load, measure(options))) + "\n"
    print(text)
    if options.md:
        with open(options.md, "a", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
