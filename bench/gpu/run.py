#!/usr/bin/env python3
"""Compares Tangram on a GPU with PyTorch and JAX: correctness first, then latencies, in one table.

    bench/gpu/run.py [PART...] [--tg PROGRAM] [--backend cuda] [--cost measured:cuda]
                     [--batch 1,16] [--dtype f16,f32,tf32] [--networks resnet50,...]
                     [--peers eager,graph,compile,max-autotune,frozen,jax] [--graphs source,optimised]
                     [--models mlp,paper/bert,...] [--json FILE] [--again] [--jobs 6]

Parts (default: all). The order is: correctness and latencies of the networks at batch 1 in f16 and f32,
then `load` and `steps`, then everything else:

    correct    every example model on the backend against `ref`: f32 within 1e-4, f16 and bf16 within
               the bounds of `tg run --check`
    latency    the networks, source and optimised graph, each checked against `ref` before it is timed
    peers      the same networks with the same weights in PyTorch and JAX (peers.py), whose outputs
               must also agree
    load       seconds to prepare a graph for running, with given weights: with an empty cache folder
               (kernels are compiled, algorithms measured), and again from the caches
    steps      the implementation of each step of a network: the library's engine and layout, or our
               kernels, and why a step does not use the library
    sanitize   three models under compute-sanitizer's memcheck

Cells are written one by one, and a later call resumes where the last one stopped, so a few minutes on a
machine suffice. `--again` repeats failed cells. A cell that exceeded its time gets a second and a third
try in later calls, when caches are warm. A skipped cell is tried in every call, after all others. A
call measures at least one cell and starts none after --total-limit seconds; no cell takes longer than
--limit seconds. With --jobs, this many correctness cells run in parallel, after all cells but the peers;
and this many peers are built in parallel. Each peer is still timed alone while the others are stopped,
but its autotuning runs beside others. A file has cells of one machine, backend, cost model, search
time, peer device and peer Python. Cells of our program record its commit and are repeated for another
commit; those of the peers are kept.
Latencies are those of whole runs with inputs from and outputs to pinned memory: the median with the
10th and 90th percentile.
"""
import argparse
import io
import json
import math
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import results
from commands import TOO_LONG, Clock, call, exit_by_signals, first_line, resume
from common import (DTYPES, HERE, NETWORKS, PEERS, ROOT, built_program, count, listed, one_of, program,
                    seconds, table_file)

FIXED_BATCH = {"nasrnn"}  # batch 1 only
FIRST_DTYPES = ("f16", "f32")
SANITIZED = ("examples/squeezenet.tg", "examples/paper/bert.tg", "examples/lstm.tg")
GRAPHS = ("source", "optimised")
PARTS = ("correct", "latency", "peers", "load", "steps", "sanitize")
WANTED_COLD_S, WANTED_WARM_S = 60, 2
TRIES = 3  # for a cell that exceeded its time


# --- cells --------------------------------------------------------------------------------------


def dtype_options(dtype):
    return ["--dtype", "f32", "--allow-tf32"] if dtype == "tf32" else ["--dtype", dtype]


def batch_options(batch):
    return [] if batch == 1 else ["--set", f"N={batch}"]


def correct_cells(options, models, dtypes):
    for name in models if "correct" in options.parts else ():
        for dtype in dtypes:
            yield f"correct/{dtype}/{name}", partial(correct, options, name, dtype)


def latency_cells(options, latencies):
    for batch, dtype, network in latencies:
        cell = f"latency/{batch}/{dtype}/{network}"
        if "latency" in options.parts:
            for graph in options.graphs:
                yield (f"{cell}/tangram {graph}",
                       partial(latency, options, batch, dtype, network, graph))
        if "peers" in options.parts:
            for peer in options.peers:
                yield f"{cell}/{peer}", partial(by_peer, options, batch, dtype, network, peer)


def network_cells(options):
    for network in options.networks if "load" in options.parts else ():
        yield f"load/{network}", partial(load, options, network)
    for dtype in options.dtype if "steps" in options.parts else ():
        for network in options.networks:
            yield f"steps/{dtype}/{network}", partial(steps, options, dtype, network)


def sanitize_cells(options):
    for file in SANITIZED if "sanitize" in options.parts else ():
        yield f"sanitize/{file}", partial(sanitize, options, file)


def cells(options):
    """Returns (name, function that measures with a given clock) of each cell in order of importance: the
    networks completely, before the long tail of other models, dtypes and batches."""
    latencies = [(b, d, n) for b in options.batch for d in options.dtype for n in options.networks
                 if b == 1 or n not in FIXED_BATCH]
    measured = {NETWORKS[n].removeprefix("examples/").removesuffix(".tg") for n in options.networks}
    networks = [name for name in options.models if name in measured]
    return dict([  # a repeated cell keeps its first position
        *correct_cells(options, networks, FIRST_DTYPES),
        *latency_cells(options, [l for l in latencies if l[0] == 1 and l[1] in FIRST_DTYPES]),
        *network_cells(options),
        *correct_cells(options, options.models, (*FIRST_DTYPES, "bf16")),
        *sanitize_cells(options),
        *latency_cells(options, latencies)]).items()


def all_models():
    examples = ROOT / "examples"
    return [str(file.relative_to(examples).with_suffix("")) for file in sorted(examples.glob("**/*.tg"))]


def run_command(options, file, dtype, *more):
    return [options.tg, "run", ROOT / file, "--backend", options.backend, *dtype_options(dtype),
            "--json", "--seed", "1", *more]


def correct(options, name, dtype, clock):
    found = call(clock, run_command(options, f"examples/{name}.tg", dtype, "--check", "--runs", "1"))
    if "error" in found:
        return found
    return {"max_rel_diff": max(output["max_rel_diff"] for output in found["outputs"])}


def latency(options, batch, dtype, network, graph, clock):
    more = [*batch_options(batch), "--check"]
    if graph == "optimised":
        more += ["--opt", "--cost", options.cost]
        if options.search_seconds is not None:
            more += ["--time-limit", options.search_seconds]
    found = call(clock, run_command(options, NETWORKS[network], dtype, *more))
    if "error" in found:
        return found
    wanted = ("median_us", "p10_us", "p90_us", "runs", "device_us", "sum_of_ops_us", "sum_error")
    cell = {key: found[key] for key in wanted if key in found}
    if "opt" in found:
        opt = found["opt"]
        cell["predicted_us"] = opt.get("group_cost_after_us") or opt["cost_after_us"]
        cell["source_returned"] = opt.get("source_returned", False)
        cell |= {key: opt[key] for key in ("speedup", "total_s", "stopped_by", "notes") if key in opt}
        if "device_us" in found:
            cell["predicted_error"] = cell["predicted_us"] / found["device_us"] - 1
    return cell


def by_peer(options, batch, dtype, network, peer, clock, turns=None):
    command = [options.python, HERE / "peers.py", network, "--peer", peer, "--batch", batch,
               "--dtype", dtype, "--tg", options.tg, "--device", options.peer_device]
    if dtype != "f32":
        command.append("--channels-last")
    if turns is None:
        return call(clock, command, python=True)
    found = call(clock, [*command, "--turns", turns], python=True,
                 XLA_PYTHON_CLIENT_PREALLOCATE="false")  # else JAX reserves most of the GPU's memory
    resume(turns)
    return found


def load(options, network, clock):
    """Measures the seconds to prepare a graph for running, with given weights, as reported by `tg run`."""
    times = {}
    with tempfile.TemporaryDirectory() as cache:
        for state in ("cold", "warm"):
            found = call(clock, run_command(options, NETWORKS[network], "f32", "--runs", "1"),
                         XDG_CACHE_HOME=cache)
            if "error" in found:
                return found
            times[f"{state}_s"] = found["build_s"]
    return times


def steps(options, dtype, network, clock):
    """Counts the steps of each implementation, with the reasons for not using the library."""
    found = call(clock, run_command(options, NETWORKS[network], dtype, "--verbose", "--runs", "1"))
    if "error" in found:
        return found
    return {"steps": Counter(f"{s['name']}: {s['implementation']}" for s in found["steps"])}


def sanitize(options, file, clock):
    tool = shutil.which("compute-sanitizer")
    if not tool:
        return {"skipped": "compute-sanitizer is not installed"}
    done = clock.run([tool, "--error-exitcode", "99", options.tg, "run", ROOT / file, "--backend",
                      options.backend, "--runs", "1", "--quiet"])
    if done is None:
        return clock.too_long()
    summary = [line for line in done.stdout.splitlines() if "ERROR SUMMARY" in line]
    if done.returncode == 0:
        return {"summary": summary[-1].strip("= ") if summary else "clean"}
    return {"error": summary[-1].strip("= ") if summary else first_line(done.stderr or done.stdout)}


# --- the table ----------------------------------------------------------------------------------


def microseconds(cell):
    if not cell:
        return "-"
    if "median_us" not in cell:
        return "skipped" if "skipped" in cell else "failed"
    spread = (cell["p90_us"] - cell["p10_us"]) / cell["median_us"] if "p90_us" in cell else 0
    return f"{cell['median_us']:.1f} ±{50 * spread:.0f}%"


def geometric_mean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values)) if values else None


def latency_rows(table, options):
    """Returns the cells of each runtime by (batch, dtype, network)."""
    rows = {}
    for name, cell in table["cells"].items():
        part, *rest = name.split("/")
        if part == "latency":
            rows.setdefault(tuple(rest[:3]), {})[rest[3]] = cell
    order = {name: i for i, name in enumerate(NETWORKS)}
    return sorted(rows.items(), key=lambda row: (row[0][1], int(row[0][0]), order[row[0][2]]))


def show(table, options, out=sys.stdout):
    runtimes = ["tangram source", "tangram optimised", *options.peers]
    print("| batch | dtype | network | " + " | ".join(runtimes) + " | gain | best peer |", file=out)
    print("|---|---|---|" + "---|" * (len(runtimes) + 2), file=out)
    ratios = {}
    for (batch, dtype, network), cell in latency_rows(table, options):
        columns = [microseconds(cell.get(runtime)) for runtime in runtimes]
        time_of = lambda runtime: cell.get(runtime, {}).get("median_us")
        source, optimised = time_of("tangram source"), time_of("tangram optimised")
        peers = [time_of(p) for p in options.peers if time_of(p)]
        gain = f"{source / optimised:.2f}x" if source and optimised else "-"
        ours = optimised or source
        best = f"{min(peers) / ours:.2f}x" if peers and ours else "-"
        if peers and ours:
            ratios.setdefault((batch, dtype), []).append(min(peers) / ours)
        print(f"| {batch} | {dtype} | {network} | " + " | ".join(columns) + f" | {gain} | {best} |",
              file=out)
    print("\nMicroseconds of whole runs: median, and half of the range from the 10th to the 90th "
          "percentile. The best peer is beside the optimised graph, beside the source where that was "
          "not measured.", file=out)
    for (batch, dtype), values in sorted(ratios.items()):
        print(f"Against the best peer, batch {batch}, {dtype}: geometric mean "
              f"{geometric_mean(values):.2f}x, least {min(values):.2f}x.", file=out)
    if versions := peer_versions(table):
        print(f"Peers: {versions}.", file=out)
    show_rest(table, out)


def by_whom(counts):
    """Formats {"conv2d: cudnn:engine 2:nchw": 52, ...} as "cudnn 52, cuda 20"."""
    sums = Counter()
    for how, count in counts.items():
        sums[how.split(": ", 1)[1].split(":")[0]] += count
    return ", ".join(f"{who} {count}" for who, count in sums.most_common())


def show_rest(table, out):
    cells = table["cells"]
    for key, what in (("sum_error", "Sum of operators"), ("predicted_error", "Price of the search")):
        off = {name: cell[key] for name, cell in cells.items() if key in cell}
        if off:
            worst = max(off, key=lambda name: abs(off[name]))
            print(f"{what} against the replayed graph: at most {100 * abs(off[worst]):.1f}% ({worst}).",
                  file=out)
    right = [n for n in cells if n.startswith("correct/")]
    if right:
        good = sum("error" not in cells[n] for n in right)
        print(f"Correct against ref: {good} of {len(right)}.", file=out)
    for name, cell in sorted(cells.items()):
        if name.startswith("load/") and "cold_s" in cell:
            print(f"{name[5:]}: built in {cell['cold_s']:.1f} s cold, {cell['warm_s']:.1f} s warm "
                  f"(wanted: {WANTED_COLD_S} and {WANTED_WARM_S}).", file=out)
        if name.startswith("steps/") and "steps" in cell:
            _, dtype, network = name.split("/")
            print(f"{network}, {dtype}: steps by {by_whom(cell['steps'])}.", file=out)
        if name.startswith("sanitize/") and "summary" in cell:
            print(f"{name[9:]}: {cell['summary']}.", file=out)
    for name, cell in sorted(cells.items()):
        for kind in ("error", "skipped"):
            if kind in cell:
                print(f"  {name}: {kind}: {cell[kind]}", file=out)


def peer_versions(table):
    """Returns the versions in all cells: "torch 2.9, transformers 4.57"."""
    found = {f"{name} {version}" for cell in table["cells"].values()
             for name, version in cell.get("versions", {}).items() if name != "gpu"}
    return ", ".join(sorted(found))


def page(table, options):
    text = table["environment"]
    names = "; ".join(d["name"] for d in text["devices"].get("devices", [])
                      if d["backend"] == options.backend)
    out = io.StringIO()
    print(f"# Tangram on a GPU\n\n{names}. Commit {text['commit']}, {text['date']}, load "
          f"average {text['load']:.1f}.\n", file=out)
    show(table, options, out)
    return out.getvalue()


def save(table, options):
    results.write(options.json, json.dumps(table, indent=1, sort_keys=True) + "\n")
    results.write(options.json.with_suffix(".md"), page(table, options))


def parse(arguments):
    parser = argparse.ArgumentParser(description="Tangram on a GPU, cell by cell")
    models = all_models()
    parser.add_argument("parts", nargs="*", metavar="PART", type=one_of("part", PARTS))
    parser.add_argument("--tg", type=program, default=built_program())
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--cost", default="measured:cuda")
    parser.add_argument("--search-seconds", type=seconds, help="default: that of tg opt")
    parser.add_argument("--batch", type=listed(count), default=[1, 16])
    parser.add_argument("--dtype", type=listed(one_of("dtype", DTYPES)), default=["f16", "f32", "tf32"])
    parser.add_argument("--networks", type=listed(one_of("network", NETWORKS)), default=list(NETWORKS))
    parser.add_argument("--peers", type=listed(one_of("peer", PEERS)), default=list(PEERS))
    parser.add_argument("--graphs", type=listed(one_of("graph", GRAPHS)), default=list(GRAPHS))
    parser.add_argument("--peer-device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--models", type=listed(one_of("model", models)), default=models,
                        help="models of the part `correct`")
    parser.add_argument("--python", type=program, default=sys.executable, help="the Python that has PyTorch")
    parser.add_argument("--limit", type=seconds, default=540)
    parser.add_argument("--total-limit", type=partial(seconds, zero_too=True), default=math.inf,
                        help="seconds; the next run computes the remaining cells")
    parser.add_argument("--json", type=table_file, default=str(ROOT / "bench/results/gpu.json"),
                        help="JSON file of results; the page FILE.md is written beside it")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--jobs", type=count, default=1, help="number of cells of correctness, or of peers, that run at once")
    options = parser.parse_args(arguments)
    options.parts = options.parts or list(PARTS)
    return options


def wanted(cell, options, commit):
    """Returns true if a cell must be measured, possibly again: a skipped cell is cheap and its peer may be
    installed by now; a cell of another commit is out of date."""
    if not cell or "skipped" in cell or cell.get("commit", commit) != commit:
        return True
    if "error" not in cell:
        return False
    return options.again or (cell["error"].startswith(TOO_LONG) and cell.get("tries", 1) < TRIES)


class Measurement:
    """Measures cells into a table until it is complete or the time is up."""

    def __init__(self, options, table):
        self.options, self.table = options, table
        self.end = time.monotonic() + options.total_limit
        self.saving = threading.Lock()
        self.begun = self.stopped = False

    def known(self, name):
        return self.table["cells"].get(name, {})

    def measure(self, name, how):
        if self.begun and time.monotonic() > self.end:
            self.stopped |= "skipped" not in self.known(name)
            return
        self.begun = True
        print(name, file=sys.stderr, flush=True)
        cell = how(clock=Clock(self.options.limit))
        if why := results.fault(name, cell):
            cell = {"error": why}
        if cell.get("error", "").startswith(TOO_LONG):
            cell["tries"] = self.known(name).get("tries", 0) + 1
        if how.func is not by_peer:
            cell["commit"] = self.table["environment"]["commit"]
        with self.saving:
            self.table["cells"][name] = cell
            save(self.table, self.options)

    def together(self, some):
        with ThreadPoolExecutor(self.options.jobs) as pool:
            for done in [pool.submit(self.measure, *cell) for cell in some]:
                done.result()

    def run(self):
        commit = self.table["environment"]["commit"]
        left = [(name, how) for name, how in cells(self.options)
                if wanted(self.known(name), self.options, commit)]
        left.sort(key=lambda cell: "skipped" in self.known(cell[0]))  # cells skipped before come last
        by = lambda what: [cell for cell in left if self.options.jobs > 1 and cell[1].func is what]
        checks, peers = by(correct), by(by_peer)
        for cell in left:
            if cell not in checks and cell not in peers:
                self.measure(*cell)
        self.together(checks)
        with tempfile.TemporaryDirectory() as turns:
            self.together([(name, partial(how, turns=turns)) for name, how in peers])
        if self.stopped:
            print("stopped by --total-limit; the same command continues")


def main():
    options = parse(None)
    exit_by_signals()
    now = results.environment(options)
    usable = {device["backend"] for device in now["devices"].get("devices", [])}
    if options.backend not in usable:
        missing = {m["backend"]: m["reason"] for m in now["devices"].get("missing", [])}
        why = now["devices"].get("error", "no such backend here")
        print(f"not measured: {missing.get(options.backend, why)}")
        return 0
    table = results.read(options.json, now)
    save(table, options)  # reports an unwritable file before any cell is measured
    Measurement(options, table).run()
    show(table, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
