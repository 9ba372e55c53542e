#!/usr/bin/env python3
"""Counts how often group prices change the choice of an extraction by operator prices, for each network.

    bench/groups_table.py --tg build-release/tg [--cost analytic:a100] [--search mcts] [--quick] [NETWORK...]

Each network of examples/paper/ is optimised once with `--groups on`. The report has the cost by groups
of the source, of the result of the search, and of the refined result. Only the refinement is timed.
Prints a Markdown table.
"""
import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


COLUMNS = ("network", "launches", "after", "source us", "found us", "refined us", "gain %",
           "by operators us", "priced", "changes", "s")
#: Settings for a test of the script: small, and not ended by a time limit.
QUICK = {"networks": ["squeezenet", "nasrnn"], "search": "saturate",
         "more": "--node-limit 500 --extract greedy-dag --time-limit 600"}


def refined(options, model):
    command = [options.tg, "opt", str(model), "--cost", options.cost, "--search", options.search,
               "--groups", "on", "--json", "--seed", str(options.seed)]
    done = subprocess.run(command + options.more.split(), capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}:\n{done.stderr}")
    report = json.loads(done.stdout)
    if "group_cost_after_us" not in report:
        sys.exit(f"{options.cost}: these costs know no groups")
    return report


def cells(name, report):
    before, found, after = (report[f"group_cost_{what}_us"] for what in ("before", "found", "after"))
    ended = "*" if report["groups_ended"] else ""
    return (name, report["groups_before"], report["groups_after"], f"{before:.1f}", f"{found:.1f}",
            f"{after:.1f}", f"{100 * (1 - after / found):.2f}", f"{report['cost_after_us']:.1f}",
            report["groups_priced"], report["groups_moves"], f"{report['groups_s']:.2f}{ended}")


def line(row):
    return "| " + " | ".join(str(cell) for cell in row) + " |"


def faults(name, report):
    """Yields the contradictions in a report."""
    found, after = report["group_cost_found_us"], report["group_cost_after_us"]
    if after > found * (1 + 1e-9):
        yield f"{name}: refined from {found} to {after} us"
    if not 1 <= report["groups_priced"] <= 200:
        yield f"{name}: {report['groups_priced']} graphs priced"
    if after < found * (1 - 1e-9) and report["groups_moves"] == 0:
        yield f"{name}: a gain by no change"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("networks", nargs="*", help="names in examples/paper; default: all")
    parser.add_argument("--tg", default=str(ROOT / "build-release/tg"))
    parser.add_argument("--cost", default="analytic:a100")
    parser.add_argument("--search", default="mcts")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--more", default="", help="further options of tg opt")
    parser.add_argument("--quick", action="store_true", help="a quick test on two small networks")
    options = parser.parse_args()
    if options.quick:
        vars(options).update(QUICK)
    return options


def main():
    options = arguments()
    models = sorted((ROOT / "examples/paper").glob("*.tg"))
    if unknown := set(options.networks) - {m.stem for m in models}:
        sys.exit(f"no such network: {', '.join(sorted(unknown))}")
    models = [m for m in models if not options.networks or m.stem in options.networks]
    options_text = f"--cost {options.cost} --search {options.search} --seed {options.seed} {options.more}".strip()
    print(f"`{options_text}`; load average at the start {os.getloadavg()[0]:.2f}.\n")
    print(line(COLUMNS))
    print("|" + "---|" * len(COLUMNS))
    changed, wrong = 0, []
    for model in models:
        report = refined(options, model)
        changed += report["group_cost_after_us"] < report["group_cost_found_us"]
        wrong += faults(model.stem, report)
        print(line(cells(model.stem, report)), flush=True)
    print(f"\n{changed} of {len(models)} refined to less. `*`: stopped by the time limit.")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
