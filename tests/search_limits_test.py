#!/usr/bin/env python3
"""Tests `tg opt` with every strategy on a network whose search never finishes. After Ctrl-C, or at the time, memory or
node limit, the result is a valid model that does not cost more than the source.

    search_limits_test.py TG
"""
import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Layers of sums, which rules reorder: e-graphs grow until a limit.
LAYERS, TERMS = 6, 12
# Only strategies with an e-graph extract; others rewrite graphs and reject the option.
GREEDY = ["--extract", "greedy"]
STRATEGIES = {
    "saturate": ["--search", "saturate", "--iterations", "1000", *GREEDY],
    "mcts": ["--search", "mcts", "--budget", "100000", *GREEDY],
    "pact24": ["--search", "mcts", "--mcts-profile", "pact24", "--budget", "100000", *GREEDY],
    "anneal": ["--search", "anneal", "--budget", "100000000"],
    "taso": ["--search", "taso", "--budget", "100000000"],
    "random": ["--search", "random", "--budget", "100000000", *GREEDY],
}
COMMON = ["--json", "--threads", "1", "--rules", "explore,algebra,fuse"]


def network():
    lines = ["model sums(x: f32[8, 16]) -> f32[8, 16] {", "  var h = x"]
    for layer in range(LAYERS):
        terms = [f"h @ weight_{layer}_{i}" for i in range(TERMS)]
        lines += [f"  param weight_{layer}_{i}: f32[16, 16]" for i in range(TERMS)]
        lines.append(f"  h = relu({' + '.join(terms)})")
    return "\n".join(lines + ["  h", "}"]) + "\n"


def catches_interrupt(pid):
    """Returns true once the main thread blocks SIGINT: another thread then waits for signals."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    blocked = next(line for line in status.splitlines() if line.startswith("SigBlk"))
    return int(blocked.split()[1], 16) >> (signal.SIGINT - 1) & 1 == 1


def optimise(tg, model, out, options, interrupt=False):
    """Returns the report, after checking the written model."""
    command = [tg, "opt", model, "-o", out, *COMMON, *options]
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if interrupt:
        while process.poll() is None and not catches_interrupt(process.pid):
            time.sleep(0.01)
        time.sleep(0.3)  # so that the search is running
        process.send_signal(signal.SIGINT)
    text, errors = process.communicate(timeout=120)
    assert process.returncode == 0, f"{options}: exit code {process.returncode}: {errors}"
    report = json.loads(text)
    assert report["cost_after_us"] <= report["cost_before_us"], f"{options}: worse than the source"
    assert not (report["changed"] and report["source_returned"]), f"{options}: the result is the source, and is not"
    checked = subprocess.run([str(tg), "check", str(out)], capture_output=True, text=True, timeout=60)
    assert checked.returncode == 0, f"{options}: the written model is not valid: {checked.stderr}"
    return report


def main():
    tg = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        model, out = Path(folder) / "sums.tg", Path(folder) / "out.tg"
        model.write_text(network())
        for name, strategy in STRATEGIES.items():
            endless = [*strategy, "--node-limit", "2000000", "--time-limit", "1000"]
            stopped = {
                "interrupted": optimise(tg, model, out, endless, interrupt=True),
                "time limit": optimise(tg, model, out, [*strategy, "--node-limit", "2000000", "--time-limit", "0.3"]),
            }
            # These two need little memory: one graph or one e-graph. tests/unit/paper/limits_test.cpp tests them.
            if name not in ("anneal", "random"):
                stopped["memory limit"] = optimise(tg, model, out, [*endless, "--memory-limit", "1"])
            for reason, report in stopped.items():
                assert report["stopped_by"] == reason, f"{name}: stopped by {report['stopped_by']}, not the {reason}"
                assert not report["optimal"], f"{name}: said to be the best, after the {reason}"
            small = optimise(tg, model, out, [*strategy, "--node-limit", "300", "--time-limit", "0.5"])
            assert small["egraph_nodes"] <= 330, f"{name}: {small['egraph_nodes']} e-nodes"
            print(f"{name}: stopped by Ctrl-C, time, memory and nodes")


if __name__ == "__main__":
    main()
