#!/usr/bin/env python3
"""Makes the table of proved rules and of the obstacles to proofs of the other rules:

    tg rules verify --proof --json > PROOFS.json
    bench/rule_proofs_table.py PROOFS.json > bench/results/rule_proofs.md
"""
import collections
import json
import sys

from run import setting


def main():
    with open(sys.argv[1], encoding="utf-8") as text:
        report = json.load(text)
    counts = report["counts"]
    files = collections.defaultdict(collections.Counter)
    unproved = {}
    for rule in report["rules"]:
        files[rule["file"]][rule["status"]] += 1
        if rule["status"] == "tested":
            why = rule.get("unproved", "not tried")
            forms = unproved.setdefault((rule["file"], rule["declared"], why), [0, 0])
            forms[0] += 1
            forms[1] += rule["cases"]
    print("# rule_proofs\n")
    place = setting()
    print(f"{place['machine']}; commit {place['commit']}; {place['date']}.\n")
    print("`tg rules verify --proof --json`: every shipped rule at 200 instances and more, and what"
          " could be proved of them for all sizes (docs/verdicts.md). Verdicts do not"
          " depend on the machine: limits are counts.\n")
    print(f"{len(report['rules'])} rules: {counts['proved']} proved, {counts['tested']} tested,"
          f" {counts['refuted']} refuted, {counts['empty']} without instances;"
          f" {counts['cases']} instances.\n")
    print("| file | rules | proved | tested | refuted | empty |")
    print("|---|---:|---:|---:|---:|---:|")
    for file, status in files.items():
        cells = [sum(status.values())] + [status[s] for s in
                                          ("proved", "tested", "refuted", "empty")]
        print(f"| {file} | " + " | ".join(str(n) for n in cells) + " |")
    print("\nTested, not proved (forms: directions, operators, orders of operands):\n")
    print("| file | rule | forms | instances | reason |")
    print("|---|---|---:|---:|---|")
    for (file, name, why), (forms, cases) in unproved.items():
        print(f"| {file} | {name} | {forms} | {cases} | {why} |")


if __name__ == "__main__":
    main()
