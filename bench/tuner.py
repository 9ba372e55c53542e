#!/usr/bin/env python3
"""Compares reuse with full searches of the operator tuner (`tg-paper tune`), on the products of networks.

    tuner.py [--tg build/tg-paper] [--threads N] [--trials N] [--kinds eto,full,eto+no-guess,...] [--runs N] [--json FILE] MODEL.tg ...
    tuner.py --across [...] MODEL.tg MODEL.tg ...
    tuner.py --near MS,MS,... [...] MODEL.tg MODEL.tg ...

Each kind of reuse tunes the model's operators from scratch, with its own database. The results of a kind are timed
interleaved with the untuned kernels, and kinds are compared by that ratio, over all operators weighted by their number
of occurrences. Several runs (`--seed` 1, 2, ...) give the median with minimum and maximum. Words after a kind are
switches (`tg-paper tune --tuner`). Trials and seconds are those of the operators, bridges included. Prints tables in
Markdown; `--json` writes the report of each run. With `--across` each model is tuned by the first kind, from scratch
and again with the database of the first model. With `--near` the first model is tuned; then each other model is run
with this many milliseconds for programs of similar operators (`tg run --tune-near`), and compared with the result of
tuning it. Gains cover the operators for which near programs were tried.
"""

import argparse
import json
import pathlib
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

KINDS = ["full", "eto", "no-bridges", "top", "selective", "random"]


def tune(options, model, kind, seed, database):
    reuse, *switches = kind.split("+")
    command = [options.tg, "tune", model, "--reuse", reuse, "--json", "--seed", seed, "--trials", options.trials,
               "--threads", options.threads, "--cost-db", database]
    words = ["by-rule", *(["library"] if options.library else []), *switches]  # keeps the choice of kernels fixed
    command += ["--tuner", ",".join(words)]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr}")
    return json.loads(done.stdout)


def run(options, model, kind, seed):
    with tempfile.TemporaryDirectory() as folder:
        return tune(options, model, kind, seed, f"{folder}/costs.db")


def across(options, kind):
    """Tunes each model from scratch, and again after the first one."""
    first, *others = options.models
    yield "| network | tuned before | operators | at the peak by rule | trials | seconds | first trials | comparing | estimates | expected / actual: mean of reuses, of the sums |"
    yield "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|"

    def row(model, before, report):
        lines = [line for line in report["operators"] if "key" in line and line["state"] != "not tuned"]
        at_once = sum(line["trials"] == 1 and not line["reused_from"] for line in lines)
        reuses = [line for line in lines if line["reused_from"] and line["trials"] > 0]
        ratios = [line["planned"] / line["trials"] for line in reuses]
        of_all = sum(line["planned"] for line in reuses) / max(1, sum(line["trials"] for line in reuses))
        ratio = f"{statistics.mean(ratios):.2f} of {len(ratios)}, {of_all:.2f}" if ratios else "-"
        compared = sum(line.get("compared_seconds", 0) for line in lines)
        return (f"| {pathlib.Path(model).stem} | {before} | {len(lines)} | {at_once} | {report['trials']} | {report['seconds']:.2f} | "
                f"{report['first_seconds']:.2f} | {compared:.2f} | {report['tree_seconds']:.2f} | {ratio} |")

    with tempfile.TemporaryDirectory() as folder:
        database = pathlib.Path(folder) / "first.db"
        yield row(first, "-", tune(options, first, kind, 1, database))
        for model in others:
            yield row(model, "-", run(options, model, kind, 1))
            copy = pathlib.Path(folder) / "copy.db"
            shutil.copy(database, copy)
            yield row(model, pathlib.Path(first).stem, tune(options, model, kind, 1, copy))


def near_rows(database):
    """Returns (untuned microseconds, those of the kept program if faster) by operator, from the results of
    --tune-near."""
    found = {}
    with sqlite3.connect(database) as connection:
        for key, us, text in connection.execute("SELECT instance, microseconds, implementation FROM cost"):
            if kept := re.match(r"(tuned|untuned) from ([\d.]+) us in \d+ trials, cut off:", text):
                untuned = float(kept[2])
                found[key] = (untuned, us if kept[1] == "tuned" else untuned)
    return found


def near(options, kind):
    first, *others = options.models
    yield "| network | tuned before | ms given | loading, ms more | operators | tried | faster | gain of these | by tuning |"
    yield "|---|---|--:|--:|--:|--:|--:|--:|--:|"

    def load(model, database, milliseconds):
        start = time.monotonic()
        subprocess.run([options.tg, "run", model, "--threads", str(options.threads), "--runs", "1", "--quiet", "--cost-db",
                        str(database), "--tune-near", str(milliseconds)], check=True)
        return 1000 * (time.monotonic() - start)

    with tempfile.TemporaryDirectory() as folder:
        database, copy = pathlib.Path(folder) / "first.db", pathlib.Path(folder) / "copy.db"
        tune(options, first, kind, 1, database)
        for model in others:
            shutil.copy(database, copy)
            searched = {line["key"]: line for line in tune(options, model, kind, 1, copy)["operators"] if "best_us" in line}
            for milliseconds in options.near:
                usual, with_near = [], []
                for _ in range(3):  # interleaved
                    shutil.copy(database, copy)
                    usual.append(load(model, copy, 0))
                    with_near.append(load(model, copy, milliseconds))
                longer = statistics.median(with_near) - statistics.median(usual)
                rows = near_rows(copy)
                keys = [key for key in rows if key in searched and searched[key]["state"] != "known"]
                gain_near = sum(rows[key][0] for key in keys) / sum(rows[key][1] for key in keys) if keys else 1
                best = sum(searched[key]["best_us" if searched[key]["state"] == "tuned" else "untuned_us"] for key in keys)
                gain_tuned = sum(searched[key]["untuned_us"] for key in keys) / best if keys else 1
                faster = sum(us < untuned for untuned, us in rows.values())
                yield (f"| {pathlib.Path(model).stem} | {pathlib.Path(first).stem} | {milliseconds} | {longer:.0f} | "
                       f"{sum(line['state'] != 'known' for line in searched.values())} | {len(rows)} | {faster} | "
                       f"{gain_near:.3f} | {gain_tuned:.3f} |")


def tuned(report):
    return [line for line in report["operators"] if "best_us" in line]


def gain(report, kept=False):
    """Returns untuned over tuned time, weighted by occurrences. `kept`: programs that are not faster are not used."""
    lines = tuned(report)
    untuned = sum(line["occurrences"] * line["untuned_us"] for line in lines)
    return untuned / sum(line["occurrences"] * line["best_us" if not kept or line["state"] == "tuned" else "untuned_us"]
                         for line in lines)


def median(values):
    return statistics.median(values) if values else float("nan")


def spread(values, form):
    middle = format(median(values), form)
    return middle if len(values) < 2 else f"{middle} [{format(min(values), form)}, {format(max(values), form)}]"


def kinds_table(kinds, runs):
    whole = next((kind for kind in kinds if kind.split("+")[0] == "full"), None)
    full = median([gain(r) for r in runs[whole]]) if whole else None
    yield "| reuse | trials | expected | seconds | untuned / tuned | % of the full search | untuned / kept |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for kind in kinds:
        reports = runs[kind]
        expected = median([sum(line["expected"] for line in r["operators"]) for r in reports])
        share = spread([100 * gain(r) / full for r in reports], ".1f") if full else "-"
        yield (f"| {kind} | {spread([r['trials'] for r in reports], '.0f')} | {expected:.0f} | "
               f"{spread([r['seconds'] for r in reports], '.1f')} | {spread([gain(r) for r in reports], '.3f')} | {share} | "
               f"{spread([gain(r, kept=True) for r in reports], '.3f')} |")


def operators_table(reports):
    """Yields the table of the first run's operators."""
    yield "| operator | times | state | reuses | expected | trials | filtered | untuned | tuned | of the peak | oneDNN |"
    yield "|---|--:|---|---|--:|--:|--:|--:|--:|--:|--:|"
    for line in reports[0]["operators"]:
        if line["state"] == "not tuned":
            continue
        line["name"], line["reused_from"] = (text.replace("|", "\\|") for text in (line["name"], line["reused_from"]))
        cells = [line["name"], str(line.get("occurrences", "")), line["state"], line["reused_from"] or "-",
                 f"{line['expected']:.0f}", str(line["trials"]), str(line["filtered"])]
        if "best_us" in line:
            cells += [f"{line['untuned_us']:.0f} us", f"{line['best_us']:.0f} us", f"{100 * line['peak_share']:.0f}%",
                      f"{line['library_us']:.0f} us" if "library_us" in line else ""]
        else:
            cells += ["", "", "", ""]
        yield "| " + " | ".join(cells) + " |"


def estimates(reports):
    lines = [line for r in reports for line in r["operators"] if line.get("reused_from") and line["trials"] > 0]
    if not lines:
        return "No operator was reused."

    def ratios(which):
        all_of = [line[which] / line["trials"] for line in lines]
        return f"mean {statistics.mean(all_of):.2f}, median {median(all_of):.2f}, from {min(all_of):.2f} to {max(all_of):.2f}"

    return (f"Trials of {len(lines)} reuses, expected over actual: by the tree {ratios('planned')}; when a step began "
            f"{ratios('expected')}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tg", default="build/tg-paper")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--kinds", help="default: all; with --across eto")
    parser.add_argument("--across", action="store_true")
    parser.add_argument("--near", type=lambda text: [int(ms) for ms in text.split(",")], metavar="MS,...")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--library", action="store_true", help="also time oneDNN for each operator")
    parser.add_argument("--json")
    parser.add_argument("models", nargs="+")
    options = parser.parse_args()
    kinds = options.kinds.split(",") if options.kinds else ["eto"] if options.across or options.near else KINDS
    if options.across or options.near:
        for line in (across if options.across else near)(options, kinds[0]):
            print(line, flush=True)
        return
    kept = {}
    for model in options.models:
        name = pathlib.Path(model).stem
        runs = kept[name] = {kind: [] for kind in kinds}
        for seed in range(1, options.runs + 1):  # kinds interleaved
            for kind in kinds:
                runs[kind].append(run(options, model, kind, seed))
        print(f"\n**{name}**, {options.threads} threads\n")
        print("\n".join(kinds_table(kinds, runs)))
        for kind in [kind for kind in kinds if kind.split("+")[0] == "eto"][:1]:
            print("\n" + "\n".join(operators_table(runs[kind])))
            print("\n" + estimates(runs[kind]), flush=True)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
