#!/usr/bin/env python3
"""Tests `agents_bench` (bench/): it trains only the requested agents, accepts the cost models of `tg opt --cost`, plans
halving over few simulations, and rejects unknown options.

    agents_test.py AGENTS_BENCH
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

# On NASRNN each simulation gives new information, and the search has not converged after 24.
COMMON = ["--networks", "paper/nasrnn", "--seeds", "1", "--simulations", "24", "--seconds", "0", "--rounds", "1",
          "--train-seconds", "1000"]


def bench(program, folder, *args, fails=False):
    report = folder / "report.json"
    command = [program, *COMMON, "--json", report, *args]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done if fails else (done.stdout, {row["agent"]: row for row in json.loads(report.read_text(encoding="utf-8"))})


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        agents = ["--agents", folder / "agents"]
        text, rows = bench(program, folder, *agents, "--only", "gains")
        assert list(rows) == ["none", "gains"] and [f.name for f in (folder / "agents").iterdir()] == ["gains.json"], rows
        none = rows["none"]
        assert none["needed"] <= 24 and none["few_us"] >= none["final_us"] and "timed_us" not in none, none
        assert "none: the cost after 6 simulations" in text and "by time" in text and "asking at most" not in text, text

        # A shorter search is a prefix of a longer one. With --few equal to all simulations, `few_us` is `final_us`.
        _, half = bench(program, folder, *agents, "--only", "none", "--few", "12")
        _, whole = bench(program, folder, *agents, "--only", "none", "--few", "24")
        assert none["few_us"] >= half["none"]["few_us"] >= whole["none"]["few_us"] == none["final_us"], (half, whole)
        _, short = bench(program, folder, *agents, "--only", "none", "--simulations", "12")
        assert short["none"]["final_us"] == half["none"]["few_us"], (short, half)

        # Prices of another device give another cost.
        _, gpu = bench(program, folder, *agents, "--only", "gains", "--cost", "analytic:a100")
        assert gpu["none"]["final_us"] != none["final_us"] and "gains" in gpu, gpu

        # Halving uses at most --few simulations.
        text, rows = bench(program, folder, *agents, "--only", "halving", "--few", "6", "--arms", "2")
        halving = rows["halving"]
        assert list(rows) == ["none", "halving"] and halving["few_us"] == halving["final_us"], rows
        assert halving.get("needed", 0) <= 6 and (folder / "agents/guide.safetensors").exists(), rows

        for wrong in (["--few", "0"], ["--few", "x"], ["--cost", "nothing"], ["--cost", "analytic:nothing"], ["--train-cost", ""],
                      ["--halving", "32"], ["--only", "nobody"], ["--seconds", "-1"]):
            refused = bench(program, folder, *agents, *wrong, fails=True)
            assert f"unknown option `{wrong[0]} {wrong[1]}`" in refused.stderr, refused.stderr
        many = bench(program, folder, *agents, "--few", "25", fails=True)
        assert "--few 25 is more than --simulations 24" in many.stderr, many.stderr
        missing = ["--cost", f"file:{folder}/missing.json"]
        table = bench(program, folder, *agents, "--only", "none", *missing, fails=True)
        assert "missing.json" in table.stderr, table.stderr
    print("ok")


if __name__ == "__main__":
    main(sys.argv[1])
