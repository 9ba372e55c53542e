#!/usr/bin/env python3
"""How often prices of groups change what extraction by operators' prices chose, network by network.

    bench/groups_table.py --tg build-release/tg [--cost analytic:a100] [--search mcts] [NETWORK...]

Each network of examples/paper/ is optimised once with `--groups on`; the report says what the source,
what was found, and what it was refined to cost by groups. Nothing is timed but the refinement itself.
A Markdown table goes to standard output.
"""
import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def refined(options, model):
    command = [options.tg, "opt", str(model), "--cost", options.cost, "--search", options.search,
               "--groups", "on", "--json", "--seed", str(options.seed)]
    done = subprocess.run(command + options.more.split(), capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}:\n{done.stderr}")
    return json.loads(done.stdout)


def row(name, report):
    if "group_cost_after_us" not in report:
        sys.exit("these costs know no groups")
    before, found, after = (report[f"group_cost_{what}_us"] for what in ("before", "found", "after"))
    gain = 100 * (1 - after / found)
    ended = "*" if report["groups_ended"] else ""
    return (f"| {name} | {report['groups_before']} | {report['groups_after']} | {before:.1f} "
            f"| {found:.1f} | {after:.1f} | {gain:.2f} | {report['cost_after_us']:.1f} "
            f"| {report['groups_priced']} | {report['groups_moves']} | {report['groups_s']:.2f}{ended} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("networks", nargs="*", help="names in examples/paper; default: all")
    parser.add_argument("--tg", default=str(ROOT / "build-release/tg"))
    parser.add_argument("--cost", default="analytic:a100")
    parser.add_argument("--search", default="mcts")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--more", default="", help="further options of tg opt")
    options = parser.parse_args()
    models = sorted((ROOT / "examples/paper").glob("*.tg"))
    if options.networks:
        models = [m for m in models if m.stem in options.networks]
    print("| network | launches | after | source us | found us | refined us | gain % "
          "| by operators us | priced | changes | s |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    changed = 0
    for model in models:
        report = refined(options, model)
        changed += report.get("group_cost_after_us") != report.get("group_cost_found_us")
        print(row(model.stem, report), flush=True)
    print(f"\n{changed} of {len(models)} changed. `*`: ended by the clock.")


if __name__ == "__main__":
    main()
