#!/usr/bin/env python3
"""Makes the table of `tg verify`: every example and every model of tests/models/ against its optimised form,
with the bound of the answer, seconds and peak memory, and optionally the figures of an earlier program.

    bench/verify_table.py --tg build/tg [--before OLD_TG] [--timeout S] [MODEL...] > bench/results/verify.md

Each pair is made by `tg opt --cost analytic:cpu --seed 1` of `--tg`, without weights, and both programs verify the same
pair. Exits with 1 if `--tg` does not find a pair equal within 2^-40 (the earlier program is not checked).
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from run import setting

ROOT = Path(__file__).resolve().parent.parent
MODELS = [*sorted((ROOT / "examples").glob("*.tg")), *sorted((ROOT / "examples/paper").glob("*.tg")),
          *sorted((ROOT / "tests/models").glob("*.tg"))]
GOAL = -40  # log2 of the bound


def measured(command, timeout):
    """Runs a command. Returns (exit code or None, output, seconds, peak MiB as reported by the kernel)."""
    with tempfile.TemporaryFile() as out:
        start = time.monotonic()
        child = subprocess.Popen(list(map(str, command)), stdout=out, stderr=subprocess.DEVNULL)
        code = None
        while code is None and time.monotonic() < start + timeout:
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            if pid:
                code = os.waitstatus_to_exitcode(status)
            else:
                time.sleep(0.02)
        if code is None:
            child.kill()
            usage = os.wait4(child.pid, 0)[2]
        child.returncode = -9 if code is None else code
        out.seek(0)
        return code, out.read().decode(), time.monotonic() - start, usage.ru_maxrss / 1024


def verified(tg, pair, timeout):
    """Verifies a pair. Returns the cells of the table, and true if the goal is met."""
    code, text, seconds, peak = measured([tg, "verify", *pair, "--json"], timeout)
    cost = [f"{seconds:.1f}", f"{peak:.0f}"]
    if code is None:
        return [f"no answer in {timeout:.0f} s", *cost], False
    try:
        answer = json.loads(text)
    except ValueError:
        return [f"exit code {code}", *cost], False
    bound = answer.get("error_bound")
    if answer["method"] == "identical":
        return ["identical", *cost], True
    if not answer["equal"] or not isinstance(bound, (int, float)):
        return [answer.get("verdict", "different" if not answer["equal"] else answer["method"]), *cost], False
    log2 = math.log2(bound) if bound > 0 else -math.inf
    return [f"2^{log2:.0f}" if bound > 0 else "below 2^-1074", *cost], log2 <= GOAL


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tg", type=Path, required=True)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--timeout", type=float, default=300)
    parser.add_argument("models", nargs="*", type=Path)
    options = parser.parse_args()
    place = setting()
    programs = [p for p in (options.before, options.tg) if p]
    print(f"# verify\n\n{place['machine']}; commit {place['commit']}; {place['date']}; load average "
          f"{place['load_average']}.\n\n`bench/verify_table.py`: each model against what `tg opt --cost analytic:cpu "
          "--seed 1` makes of it; the bound of the chance of a wrong answer, seconds of the whole command, peak MiB."
          + (f" Before: {options.before.name}." if options.before else "") + "\n")
    heads = ["bound", "seconds", "MiB"]
    columns = ["model"] + [f"{h}, before" for h in heads if options.before] + heads
    print("| " + " | ".join(columns) + " |\n|---|" + "---:|" * (len(columns) - 1), flush=True)
    missed = []
    with tempfile.TemporaryDirectory(prefix="tg-verify-") as scratch:
        for model in options.models or MODELS:
            fast = Path(scratch) / f"{model.stem}.tg"
            code = measured([options.tg, "opt", model, "--cost", "analytic:cpu", "--seed", "1", "--quiet", "-o", fast],
                            options.timeout)[0]
            name = model.resolve().relative_to(ROOT) if model.resolve().is_relative_to(ROOT) else model
            if code != 0:
                print(f"| {name} | tg opt: exit code {code} |", flush=True)
                missed.append(str(name))
                continue
            cells = [verified(program, (model, fast), options.timeout) for program in programs]
            print(f"| {name} | " + " | ".join(" | ".join(row) for row, _ in cells) + " |", flush=True)
            if not cells[-1][1]:
                missed.append(str(name))
    print(f"\nNot within 2^{GOAL}: {', '.join(missed) or 'none'}.")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
