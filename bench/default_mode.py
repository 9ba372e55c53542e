#!/usr/bin/env python3
"""Measures the default mode of `tg opt`: its time cold and warm; its results against those of a search with every
operator measured; whether it ever makes a model slower, also while other programs interfere; and the accuracy of its
prices. One command makes the tables of this processor and those of AVX2 by switch (DNNL_MAX_CPU_ISA, which also limits
our own kernels).

  python3 bench/default_mode.py times     [MODEL.tg...]   seconds, cold (no known prices) and warm (the next two runs)
  python3 bench/default_mode.py quality   [MODEL.tg...]   its result against that of `--cost measured`, run interleaved
  python3 bench/default_mode.py harmless  [MODEL.tg...]   its result against the source, from searches alone and beside
                                                          other programs (--noise); run interleaved afterwards, idle
  python3 bench/default_mode.py sums      [MODEL.tg...]   sums of prices against whole runs (measure_bench), after its
                                                          own `tg calibrate`
  python3 bench/default_mode.py ranking   [MODEL.tg...]   pairs of graphs that prices order correctly (ranking_bench),
                                                          after its own `tg calibrate`

The models are all examples, including examples/paper; --only examples or --only paper selects one folder.
--isa native or --isa avx2 makes only that table. Every form prints Markdown; --json FILE also writes the rows. TG,
RANKING_BENCH and MEASURE_BENCH name the programs (default: build/tg, build/bench/...).

"Slower" means that the 95% interval of the paired ratio, source over result, is below 0.98; "slower at all" that it
is below 1. The exit code is 1 if a result is slower, else 0. Timings require an idle machine; the load at the start is
printed."""

import argparse
import json
import multiprocessing
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from run import setting

ROOT = pathlib.Path(__file__).resolve().parent.parent
TG = os.environ.get("TG", str(ROOT / "build/tg"))
RANKING = os.environ.get("RANKING_BENCH", str(ROOT / "build/bench/ranking_bench"))
MEASURE = os.environ.get("MEASURE_BENCH", str(ROOT / "build/bench/measure_bench"))


def examples(only):
    folders = [folder for folder in ("examples", "examples/paper") if only in (None, pathlib.Path(folder).name)]
    return [model for folder in folders for model in sorted((ROOT / folder).glob("*.tg"))]


def name_of(model):
    return f"paper/{model.stem}" if model.parent.name == "paper" else model.stem


def key_of(model):
    """Returns a name for files of this model."""
    return name_of(model).replace("/", "_")


# --- programs that interfere ------------------------------------------------------------------------


def spin():
    while True:
        pass


def burst():
    """Is busy for a fifth of the time, 0.1 s at a time."""
    while True:
        end = time.monotonic() + 0.1
        while time.monotonic() < end:
            pass
        time.sleep(0.4)


# Processes that run beside a search: none; one that always takes a core; one per core that is busy in bursts.
NOISE = {"quiet": (None, 0), "one core taken": (spin, 1), "bursts": (burst, os.cpu_count())}


class Interfering:
    def __init__(self, noise):
        work, count = NOISE[noise]
        self.others = [multiprocessing.Process(target=work, daemon=True) for _ in range(count)]

    def __enter__(self):
        for other in self.others:
            other.start()

    def __exit__(self, *_):
        for other in self.others:
            other.kill()
            other.join()


# --- the programs under test ------------------------------------------------------------------------


class Bench:
    def __init__(self, options, isa, folder):
        self.threads, self.noise, self.folder = str(options.threads), options.noise, folder
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(folder)}
        if isa == "avx2":
            self.environment["DNNL_MAX_CPU_ISA"] = "AVX2"
        self.rows = []

    def call(self, *command):
        command = [str(word) for word in command]
        done = subprocess.run(command, capture_output=True, text=True, env=self.environment)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit code {done.returncode}: {done.stdout[-500:]}{done.stderr[-2000:]}")
        return done.stdout

    def optimise(self, model, database, *options, out=None):
        return json.loads(self.call(TG, "opt", model, "--cost-db", self.folder / database, "--threads", self.threads, "--json",
                                    *options, *(["-o", out] if out else [])))

    def beside(self, first, second):
        """Returns the speedup of the second over the first: (ratio, low, high)."""
        found = re.search(r"([\d.]+) \[([\d.]+), ([\d.]+)\]",
                          self.call(RANKING, "--beside", first, second, "--threads", self.threads))
        return tuple(float(number) for number in found.groups())

    def row(self, model, cells, **kept):
        self.rows.append({"model": name_of(model), **kept})
        print(f"| {name_of(model)} | " + " | ".join(cells) + " |", flush=True)


def interval(ratio):
    return "the source" if ratio is None else f"{ratio[0]:.3f} [{ratio[1]:.3f}, {ratio[2]:.3f}]"


def is_source(report):
    return not report["changed"] or report.get("source_returned", False)


# --- the forms: each prints its table and returns true if a result is slower -------------------------


def times(bench, models):
    print("| model | cold, s | warm, s | third run, s | predicted | whole runs, cold |\n|---|---:|---:|---:|---:|---:|")
    for model in models:
        runs = [bench.optimise(model, f"{key_of(model)}.db") for _ in range(3)]
        cold, seconds = runs[0], [run["total_s"] for run in runs]
        predicted = cold["cost_before_us"] / cold["cost_after_us"]
        measured = "the source" if is_source(cold) else f"{cold['speedup']:.3f}" if "speedup" in cold else "not run"
        bench.row(model, [f"{s:.1f}" for s in seconds] + [f"{predicted:.2f}", measured], seconds=seconds, predicted=predicted,
                  measured=measured)
    for at, run, limit in ((0, "cold", 10), (1, "warm", 3), (2, "third run", 3)):
        held = sum(row["seconds"][at] <= limit for row in bench.rows)
        print(f"\n{run}: {held} of {len(bench.rows)} within {limit} s")
    return False


def quality(bench, models):
    print("| model | `--cost measured`, s | default, s | measured / default, interleaved runs |\n|---|---:|---:|---:|")
    ours, theirs = bench.folder / "default.tg", bench.folder / "measured.tg"
    for model in models:
        measured = bench.optimise(model, f"{key_of(model)}.exact.db", "--cost", "measured", out=theirs)
        default = bench.optimise(model, f"{key_of(model)}.db", out=ours)
        ratio = bench.beside(theirs, ours)
        bench.row(model, [f"{measured['total_s']:.1f}", f"{default['total_s']:.1f}", interval(ratio)], ratio=ratio,
                  seconds=[measured["total_s"], default["total_s"]])
    held = sum(row["ratio"][2] >= 0.98 for row in bench.rows)
    print(f"\nwithin 2% of a search with everything measured, or not to be told from it: {held} of {len(bench.rows)}")
    return False


def harmless(bench, models):
    print("| model | " + " | ".join(f"{noise}: source / result" for noise in bench.noise) + " | slower | slower at all |\n|---|" +
          "---:|" * len(bench.noise) + "---|---|")
    out = bench.folder / "out.tg"
    for model in models:
        ratios = []
        for noise in bench.noise:
            with Interfering(noise):
                report = bench.optimise(model, f"{key_of(model)}.{noise.replace(' ', '_')}.db", out=out)
            ratios.append(None if is_source(report) else bench.beside(model, out))
        slower, at_all = ([noise for noise, ratio in zip(bench.noise, ratios) if ratio and ratio[2] < limit]
                          for limit in (0.98, 1))
        bench.row(model, [interval(ratio) for ratio in ratios] + [f"**{', '.join(slower)}**" if slower else "no",
                                                                  ", ".join(at_all) or "no"],
                  ratios=ratios, slower=slower, at_all=at_all)
    for what in ("slower", "at_all"):
        print(f"\n{what.replace('at_all', 'slower at all')}: {sum(bool(row[what]) for row in bench.rows)} of {len(bench.rows)}")
    return any(row["slower"] for row in bench.rows)


def calibrated(bench):
    """Calibrates, prints the summary, and returns the database of samples."""
    samples = bench.folder / "samples.db"
    report = json.loads(bench.call(TG, "calibrate", "--cost-db", samples, "--threads", bench.threads, "--json"))
    print(f"`tg calibrate`: {report['samples']} samples, {report['unsettled']} disturbed, {report['seconds']:.1f} s\n")
    return samples


def by_program(bench, program, models, *options):
    text = bench.call(program, "--samples", calibrated(bench), "--threads", bench.threads, *options, *models)
    bench.rows.append({"text": text})
    print(f"```\n{text}```", flush=True)
    return False


def sums(bench, models):
    return by_program(bench, MEASURE, models)


def ranking(bench, models):
    return by_program(bench, RANKING, models, "--graphs", "8")


FORMS = {form.__name__: form for form in (times, quality, harmless, sums, ranking)}


def instruction_sets(asked):
    """Yields the processor's own instruction set, and AVX2 by switch if it differs, each with its heading."""
    devices = json.loads(subprocess.run([TG, "devices", "--json"], capture_output=True, text=True, check=True).stdout)
    native = next(device["name"] for device in devices["devices"] if device["backend"] == "cpu").split(", ")[1]
    if "native" in asked:
        yield "native", native
    if "avx2" in asked and native != "AVX2":
        yield "avx2", "AVX2 by switch"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("form", choices=list(FORMS))
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", choices=["examples", "paper"])
    parser.add_argument("--isa", type=lambda text: text.split(","), default=["native", "avx2"])
    parser.add_argument("--noise", type=lambda text: text.split(","), default=list(NOISE), help=", ".join(NOISE))
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    if unknown := (set(options.isa) - {"native", "avx2"}) | (set(options.noise) - set(NOISE)):
        parser.error(f"no such instruction set or noise: {', '.join(sorted(unknown))}")
    models = [model.resolve() for model in options.models] or examples(options.only)
    about, kept, slower = setting(), {}, False
    print(f"{about['machine']}; commit {about['commit']}, {about['date']}, load {about['load_average']}; "
          f"{options.threads} threads")
    for isa, heading in instruction_sets(options.isa):
        print(f"\n**{heading}**, `default_mode.py {options.form}`\n", flush=True)
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as scratch:
            bench = Bench(options, isa, pathlib.Path(scratch))
            slower |= FORMS[options.form](bench, models)
            kept[heading] = bench.rows
        print(f"\n{(time.monotonic() - start) / 60:.1f} minutes", flush=True)
    if options.json:
        options.json.write_text(json.dumps({**about, "form": options.form, "threads": options.threads, "tables": kept}, indent=1))
    sys.exit(1 if slower else 0)


if __name__ == "__main__":
    main()
