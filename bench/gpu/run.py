#!/usr/bin/env python3
"""Tangram on a GPU: correctness first, then latencies of source and optimised graphs.

    bench/gpu/run.py [--tg build/tg] [--backend cuda] [--cost measured:cuda] [--batch 1,16]
                     [--dtype f32,f16] [--json bench/results/gpu.json] [MODEL...]

Cells are written one by one and a second call goes on where the first stopped, so a machine that is
there for minutes is enough; `--again` measures those anew that failed. No cell runs longer than
--limit seconds. A cell is `tg run --json`: the outputs are held against the reference backend
(`--check`) before anything is timed, and a network that differs is not timed.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
NETWORKS = {
    "resnet50": "examples/resnet50.tg",
    "bert_base": "examples/bert_base.tg",
    "vit_base": "examples/vit_base.tg",
    "mobilenetv2": "examples/mobilenetv2.tg",
    "squeezenet": "examples/squeezenet.tg",
    "nasrnn": "examples/paper/nasrnn.tg",
}


def first_line(text):
    return next((line for line in text.splitlines() if line.strip()), "")


def call(command, limit):
    """The JSON of a command, or what went wrong."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"error": f"longer than {limit} s"}
    if done.returncode != 0:
        return {"error": first_line(done.stderr) or f"exit {done.returncode}"}
    return json.loads(done.stdout)


def write(path, table):
    """Whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as scratch:
        json.dump(table, scratch, indent=1, sort_keys=True)
        scratch.write("\n")
    os.replace(scratch.name, path)


def environment(tg):
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"],
                            capture_output=True, text=True)
    return {"commit": commit.stdout.strip(), "date": time.strftime("%Y-%m-%d"),
            "devices": call([tg, "devices", "--json"], 120)}


def cells(options):
    """In the order in which they are worth having: batch 1 before 16, f32 before the halves."""
    for batch in options.batch.split(","):
        for dtype in options.dtype.split(","):
            for network in options.networks:
                for graph in ("source", "optimised"):
                    yield batch, dtype, network, graph


def measure(options, batch, dtype, network, graph):
    command = [options.tg, "run", str(ROOT / NETWORKS[network]), "--backend", options.backend,
               "--dtype", dtype, "--json", "--check", "--seed", "1"]
    if batch != "1":
        command += ["--set", f"N={batch}"]
    if graph == "optimised":
        command += ["--opt", "--cost", options.cost]
    found = call(command, options.limit)
    if "error" in found:
        return found
    return {key: found[key] for key in ("median_us", "p10_us", "p90_us", "runs", "sum_of_ops_us")
            if key in found}


def show(table):
    print(f"{'batch':>5} {'dtype':5} {'network':12} {'source us':>10} {'optimised us':>12} {'gain':>6}")
    for name, source in sorted(table["cells"].items()):
        batch, dtype, network, graph = name.split("/")
        if graph != "source":
            continue
        best = table["cells"].get(f"{batch}/{dtype}/{network}/optimised", {})
        a, b = source.get("median_us"), best.get("median_us")
        columns = [f"{x:.1f}" if x else "-" for x in (a, b)]
        gain = f"{a / b:.2f}" if a and b else "-"
        print(f"{batch:>5} {dtype:5} {network:12} {columns[0]:>10} {columns[1]:>12} {gain:>6}")
    for name, cell in sorted(table["cells"].items()):
        if "error" in cell:
            print(f"  {name}: {cell['error']}")


def main():
    parser = argparse.ArgumentParser(description="Tangram on a GPU, cell by cell")
    parser.add_argument("networks", nargs="*", default=list(NETWORKS))
    parser.add_argument("--tg", default=str(ROOT / "build/tg"))
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--cost", default="measured:cuda")
    parser.add_argument("--batch", default="1,16")
    parser.add_argument("--dtype", default="f32,f16")
    parser.add_argument("--limit", type=float, default=540)
    parser.add_argument("--json", default=str(ROOT / "bench/results/gpu.json"))
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    for network in options.networks:
        if network not in NETWORKS:
            parser.error(f"no network {network}; there are {', '.join(NETWORKS)}")
    path = Path(options.json)
    table = json.loads(path.read_text()) if path.exists() else {"cells": {}}
    table["environment"] = environment(options.tg)
    usable = {device["backend"] for device in table["environment"]["devices"].get("devices", [])}
    if options.backend not in usable:
        missing = {m["backend"]: m["reason"]
                   for m in table["environment"]["devices"].get("missing", [])}
        print(f"not measured: {missing.get(options.backend, 'no such backend here')}")
        return 0
    for key in cells(options):
        name = "/".join(key)
        known = table["cells"].get(name)
        if known and not (options.again and "error" in known):
            continue
        table["cells"][name] = measure(options, *key)
        write(path, table)
    show(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
