#!/usr/bin/env python3
"""What `tg opt` is like without an option: how long it takes cold and warm, how far its results are from those of a
search with every operator measured, and whether it ever makes a model slower, also beside a program that interferes.

  python3 bench/default_mode.py times     [MODEL.tg...]   seconds, cold (no price known) and warm (three runs on)
  python3 bench/default_mode.py quality   [MODEL.tg...]   its result beside that of `--cost measured`, run in turns
  python3 bench/default_mode.py harmless  [MODEL.tg...]   its result beside the source, quiet and with one core taken
                                                          while it searches; run in turns afterwards, in quiet

Every form prints a Markdown table. TG and RANKING_BENCH name the programs (default: build/tg and
build/bench/ranking_bench); --threads N is passed on. "Slower" means that the 95% interval of the paired ratio lies
below 0.98."""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
EXAMPLES = ["squeezenet", "mobilenetv2", "inceptionv3", "resnet50", "bert_base", "vit_base", "gpt2", "llama_block", "lstm",
            "mlp", "residual", "transformer"]
TG = os.environ.get("TG", str(ROOT / "build/tg"))
RANKING = os.environ.get("RANKING_BENCH", str(ROOT / "build/bench/ranking_bench"))


def optimise(model, database, *options, out=None):
    command = [TG, "opt", str(model), "--cost-db", str(database), "--json", *options]
    if out:
        command += ["-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout)


def beside(first, second, threads):
    """How much faster the second is: ratio, low, high."""
    command = [RANKING, "--beside", str(first), str(second), "--threads", str(threads)]
    done = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"([\d.]+) \[([\d.]+), ([\d.]+)\]", done.stdout)
    if done.returncode != 0 or not found:
        sys.exit(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return tuple(float(number) for number in found.groups())


def interval(times):
    return f"{times[0]:.3f} [{times[1]:.3f}, {times[2]:.3f}]"


def times(models, threads, folder):
    print("| model | cold, s | warm, s | third run, s | predicted | whole runs, cold |\n|---|---:|---:|---:|---:|---:|")
    for model in models:
        database = folder / f"{model.stem}.db"
        runs = [optimise(model, database, "--threads", str(threads)) for _ in range(3)]
        cold = runs[0]
        predicted = cold["cost_before_us"] / cold["cost_after_us"]
        measured = "the source" if cold.get("source_returned") else f"{cold.get('speedup', 1):.3f}"
        print(f"| {model.stem} | " + " | ".join(f"{run['total_s']:.1f}" for run in runs) +
              f" | {predicted:.2f} | {measured} |", flush=True)


def quality(models, threads, folder):
    print("| model | `--cost measured`, s | default, s | measured / default, run in turns |\n|---|---:|---:|---:|")
    for model in models:
        database, exact = folder / f"{model.stem}.db", folder / f"{model.stem}.exact.db"
        ours, theirs = folder / "default.tg", folder / "measured.tg"
        measured = optimise(model, exact, "--cost", "measured", "--threads", str(threads), out=theirs)
        default = optimise(model, database, "--threads", str(threads), out=ours)
        ratio = beside(theirs, ours, threads)
        print(f"| {model.stem} | {measured['total_s']:.1f} | {default['total_s']:.1f} | {interval(ratio)} |", flush=True)


def harmless(models, threads, folder):
    print("| model | quiet: source / result | one core taken: source / result | slower |\n|---|---:|---:|---|")
    slower = 0
    for model in models:
        out, cells, bad = folder / "out.tg", [], False
        for busy in (False, True):
            database = folder / f"{model.stem}.{busy}.db"
            other = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if busy else None
            try:
                optimise(model, database, "--threads", str(threads), out=out)
            finally:
                if other:
                    other.kill()
                    other.wait()
            ratio = beside(model, out, threads)
            bad |= ratio[2] < 0.98
            cells.append(interval(ratio))
        slower += bad
        print(f"| {model.stem} | {cells[0]} | {cells[1]} | {'**yes**' if bad else 'no'} |", flush=True)
    return slower


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("form", choices=["times", "quality", "harmless"])
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    models = options.models or [ROOT / "examples" / f"{name}.tg" for name in EXAMPLES]
    os.environ.setdefault("GOMP_SPINCOUNT", "3000")  # as tg runs itself
    with tempfile.TemporaryDirectory() as scratch:
        sys.exit(1 if globals()[options.form](models, options.threads, pathlib.Path(scratch)) else 0)


main()
