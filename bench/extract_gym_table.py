#!/usr/bin/env python3
"""Makes the table of extract_gym_bench out of two of its runs, one with ten seconds for each
instance and one with a second:

    extract_gym_bench --seconds 10 --extractors greedy,greedy-dag,best --json TEN.json
    extract_gym_bench --seconds 1 --extractors best --json ONE.json
    bench/extract_gym_table.py TEN.json ONE.json > bench/results/extract_gym_bench.md
"""
import json
import sys

from run import setting

TOLERANCE = 1e-9  # relative: a larger excess counts as worse than the best known


def runs_of(path):
    with open(path, encoding="utf-8") as text:
        report = json.load(text)
    return {(run["extractor"], run["instance"]): run for run in report["runs"]}


def off(run):
    return run["dag_cost"] / run["known"] - 1 if run["known"] else run["dag_cost"]


def summary(name, seconds, runs):
    worse = [run for run in runs if off(run) > TOLERANCE]
    listed = ", ".join(f"{run['instance']} {100 * off(run):.2f}%" for run in worse)
    better = sum(off(run) < -TOLERANCE for run in runs)
    line = f"- `{name}`{seconds}: worse than the best known on {len(worse)} of {len(runs)}"
    line += (f" ({listed})" if worse else "") + f", better on {better}"
    if name == "best":
        proven = sum(run["optimal"] for run in runs)
        return line + f"; proven optimal on {proven} ({100 * proven / len(runs):.1f}%)."
    slower = [run["instance"] for run in runs if run["seconds"] > run["gym_greedy_dag_seconds"]]
    line += f"; {1e3 * sum(run['seconds'] for run in runs):.0f} ms in all; "
    line += f"slower than the gym's faster-greedy-dag took on {len(slower)}"
    return line + (f": {', '.join(slower)}." if slower else ".")


def open_rows(runs):
    rows = [run for run in runs if not run["optimal"]]
    if not rows:
        return ["Every instance is proven optimal in 10 s.", ""]
    lines = ["Not proven optimal in 10 s:", "",
             "| instance | best known | cost | bound | gap | seconds |", "|---|---|---|---|---|---|"]
    for run in rows:
        gap = 100 * (1 - run["lower_bound"] / run["dag_cost"])
        lines.append(f"| {run['instance']} | {run['known']:.9g} | {run['dag_cost']:.9g} | "
                     f"{run['lower_bound']:.6g} | {gap:.2f}% | {run['seconds']:.1f} |")
    return lines + [""]


def main():
    ten, one = (runs_of(path) for path in sys.argv[1:3])
    instances = [name for extractor, name in ten if extractor == "best"]
    of = lambda runs, extractor: [runs[extractor, name] for name in instances]
    where = setting()
    lines = ["# extract_gym_bench", "",
             f"{where['machine']}; commit {where['commit']}; {where['date']}; load average "
             f"{where['load_average']} (beside other programs seconds are inflated, costs and "
             "bounds are not).", "",
             "`extract_gym_bench --seconds 10 --extractors greedy,greedy-dag,best`, and `--seconds 1 "
             "--extractors best`; DAG costs. Best known: all extractors of the gym at commit "
             "903ba0f, its integer programs with 10 s included. Every choice passes the checker.",
             "", summary("best", ", 10 s", of(ten, "best")),
             summary("best", ", 1 s", of(one, "best")), summary("greedy", "", of(ten, "greedy")),
             summary("greedy-dag", "", of(ten, "greedy-dag")), "", *open_rows(of(ten, "best")),
             "| instance | nodes | classes | best known | best 10 s | found by | optimal | seconds | "
             "best 1 s | greedy-dag | ms | gym ms | greedy | ms |", "|---" * 14 + "|"]
    for name in instances:
        best, dag, greedy = (ten[kind, name] for kind in ("best", "greedy-dag", "greedy"))
        lines.append(
            f"| {name} | {best['nodes']} | {best['classes']} | {best['known']:.9g} | "
            f"{best['dag_cost']:.9g} | {best['algorithm']} | {'yes' if best['optimal'] else 'no'} | "
            f"{best['seconds']:.3f} | {one['best', name]['dag_cost']:.9g} | {dag['dag_cost']:.9g} | "
            f"{1e3 * dag['seconds']:.2f} | {1e3 * best['gym_greedy_dag_seconds']:.2f} | "
            f"{greedy['dag_cost']:.9g} | {1e3 * greedy['seconds']:.2f} |")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
