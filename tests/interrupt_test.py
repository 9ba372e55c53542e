#!/usr/bin/env python3
"""Tests Ctrl-C in `tg extract`: the best choice so far is written with its cost, and the exit code is 0. The test
computes the cost again from the file alone.

    interrupt_test.py TG
"""
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CLASSES, ALTERNATIVES, WIDTH = 700, 3, 4


def network():
    """Returns an e-graph with layers of alternatives, too large to prove an optimum within the time limit."""
    draw = random.Random(1)
    nodes = {}
    for cls in range(CLASSES):
        for alternative in range(ALTERNATIVES):
            children = []
            for _ in range(0 if cls < WIDTH else draw.randint(1, 2)):
                children.append(f"{cls - 1 - draw.randrange(WIDTH)}.0")
            nodes[f"{cls}.{alternative}"] = {"op": "f", "eclass": str(cls), "children": children,
                                             "cost": draw.choice([40, *range(20)])}
    return {"nodes": nodes, "root_eclasses": [str(CLASSES - 1), str(CLASSES - 2)]}


def dag_cost(egraph, choices):
    """Returns the DAG cost of the choice, or None if it is incomplete or has a cycle."""
    nodes, state, cost = egraph["nodes"], {}, 0
    open_classes = [(root, False) for root in egraph["root_eclasses"]]
    while open_classes:
        cls, done = open_classes.pop()
        if done:
            state[cls] = "done"
            continue
        if state.get(cls) == "done":
            continue
        if state.get(cls) == "open" or cls not in choices or nodes[choices[cls]]["eclass"] != cls:
            return None
        state[cls] = "open"
        cost += nodes[choices[cls]]["cost"]
        open_classes.append((cls, True))
        children = {nodes[child]["eclass"] for child in nodes[choices[cls]]["children"]}
        if any(state.get(child) == "open" for child in children):
            return None
        open_classes += [(child, False) for child in children if state.get(child) != "done"]
    return cost if len(state) == len(choices) else None


def catches_interrupt(pid):
    """Returns true once the main thread blocks SIGINT: another thread then waits for signals."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    blocked = next(line.split()[1] for line in status.splitlines() if line.startswith("SigBlk"))
    return int(blocked, 16) >> (signal.SIGINT - 1) & 1


def interrupted(tg, path, extractor):
    """Interrupts an extraction while it searches, and returns its output and exit code."""
    running = subprocess.Popen([tg, "extract", path, "--extract", extractor, "--time-limit", "500",
                                "--check", "--json"], stdout=subprocess.PIPE, text=True)
    while running.poll() is None and not catches_interrupt(running.pid):
        time.sleep(0.01)
    time.sleep(1)  # so that the search is running
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=120)
    return out, running.returncode


def problems(tg, folder):
    egraph = network()
    path = Path(folder) / "network.json"
    path.write_text(json.dumps(egraph))
    for extractor in ("best", "ilp"):
        out, code = interrupted(tg, str(path), extractor)
        if code != 0:
            yield f"{extractor}: exit code {code}"
            continue
        answer = json.loads(out)
        cost = dag_cost(egraph, answer["choices"])
        if cost != answer["dag_cost"]:
            yield f"{extractor}: the choice costs {cost}, not {answer['dag_cost']}"
        if not answer["lower_bound"] <= answer["dag_cost"]:
            yield f"{extractor}: the bound {answer['lower_bound']} exceeds the cost"
        if answer["optimal"] or not answer["note"]:
            yield f"{extractor}: the note does not say that it was stopped early: {answer['note']!r}"


def main():
    with tempfile.TemporaryDirectory() as folder:
        found = list(problems(sys.argv[1], folder))
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
