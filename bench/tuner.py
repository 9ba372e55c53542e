#!/usr/bin/env python3
"""Reuse against full searches of the operator tuner (`tg tune`), on the products of networks.

    tuner.py [--tg build/tg] [--threads N] [--trials N] [--kinds eto,full,...] [--tuner WORD,...] [--runs N] [--json FILE] MODEL.tg ...

Each kind of reuse tunes the model's operators from nothing, into a database of its own. What a kind finds is timed in
turns with what the runtime does untuned, so kinds are compared by that ratio, over all operators weighted by how often
they occur; of several runs (`--seed` 1, 2, ..) the median counts. Trials and seconds are those of the operators, bridges
included. Prints tables in Markdown; `--json` keeps what each run said.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

KINDS = ["full", "eto", "no-bridges", "top", "selective", "random"]


def run(options, model, kind, seed):
    with tempfile.TemporaryDirectory() as folder:
        command = [options.tg, "tune", model, "--reuse", kind, "--json", "--seed", seed, "--trials", options.trials,
                   "--threads", options.threads, "--cost-db", f"{folder}/costs.db"]
        command += ["--tuner", options.tuner] if options.tuner else []
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(map(str, command))}: {done.stderr}")
        return json.loads(done.stdout)


def tuned(report):
    return [line for line in report["operators"] if "best_us" in line]


def gain(report):
    """Untuned time over tuned time, of all operators as often as they occur."""
    lines = tuned(report)
    untuned = sum(line["occurrences"] * line["untuned_us"] for line in lines)
    return untuned / sum(line["occurrences"] * line["best_us"] for line in lines)


def median(values):
    return statistics.median(values) if values else float("nan")


def kinds_table(kinds, runs):
    full = median([gain(r) for r in runs["full"]]) if "full" in runs else None
    yield "| reuse | trials | of them expected | seconds | untuned / tuned | of the full search |"
    yield "|---|--:|--:|--:|--:|--:|"
    for kind in kinds:
        reports = runs[kind]
        expected = median([sum(line["expected"] for line in r["operators"]) for r in reports])
        mine = median([gain(r) for r in reports])
        share = f"{100 * mine / full:.1f}%" if full else "-"
        yield (f"| {kind} | {median([r['trials'] for r in reports]):.0f} | {expected:.0f} | "
               f"{median([r['seconds'] for r in reports]):.1f} | {mine:.3f} | {share} |")


def operators_table(reports):
    """The first run, operator by operator."""
    yield "| operator | times | state | reuses | expected | trials | filtered | untuned | tuned | of the peak | oneDNN |"
    yield "|---|--:|---|---|--:|--:|--:|--:|--:|--:|--:|"
    for line in reports[0]["operators"]:
        if line["state"] == "not tuned":
            continue
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
    parser.add_argument("--tg", default="build/tg")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--tuner", default="", help="`tg tune --tuner`")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json")
    parser.add_argument("models", nargs="+")
    options = parser.parse_args()
    kinds = options.kinds.split(",")
    kept = {}
    for model in options.models:
        name = pathlib.Path(model).stem
        runs = kept[name] = {kind: [] for kind in kinds}
        for seed in range(1, options.runs + 1):  # kinds in turns
            for kind in kinds:
                runs[kind].append(run(options, model, kind, seed))
        print(f"\n**{name}**, {options.threads} threads\n")
        print("\n".join(kinds_table(kinds, runs)))
        if "eto" in runs:
            print("\n" + "\n".join(operators_table(runs["eto"])))
            print("\n" + estimates(runs["eto"]), flush=True)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
