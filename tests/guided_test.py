#!/usr/bin/env python3
"""Tests `bench/paper/guided.py`: it resumes, uses the guide in exactly one search of each pair, and rejects wrong
options. Its table shows the numbers of the cells. Ctrl-C ends it, and an interrupted cell is not stored.

    guided_test.py TG
"""
import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def command(tg, folder, *args):
    return list(map(str, [sys.executable, ROOT / "bench/paper/guided.py", "--tg", tg, "--state", folder, "--networks", "paper/dalle",
                          "--limits", "30", "--seeds", "2", *args]))


def bench(tg, folder, *args, fails=False):
    done = subprocess.run(command(tg, folder, *args), cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done


def check_interrupted(tg, folder, guide):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the shell may have set it to ignored
    running = subprocess.Popen(command(tg, folder, "--guide", guide), cwd=ROOT, text=True, stderr=subprocess.PIPE)
    assert "seed 1, none" in running.stderr.readline()
    while running.poll() is None and not Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text(encoding="utf-8"):
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    errors = running.communicate(timeout=300)[1]
    assert running.returncode == -signal.SIGINT and errors == "interrupted; finished cells are kept, and the same command continues\n", errors
    assert not (folder / "cells.json").exists()


def main(tg):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        guide, other = folder / "gains.json", folder / "other.json"
        train = [tg, "train", ROOT / "examples/mlp.tg", "--policy", "gains", "--rounds", "1", "--cost", "analytic:cpu", "-o", guide]
        trained = subprocess.run(train, capture_output=True, text=True, check=False)
        assert trained.returncode == 0, trained.stderr
        check_interrupted(tg, folder, guide)
        first = bench(tg, folder, "--guide", guide)
        assert first.stderr.splitlines() == [f"paper/dalle 30 s, seed {seed}, {side}" for seed, sides in
                                             [(1, ["none", "guide"]), (2, ["guide", "none"])] for side in sides], first.stderr
        path = folder / "cells.json"
        cells = json.loads(path.read_text(encoding="utf-8"))
        for name, cell in cells["guided"].items():
            assert ("guide" in cell["depends"]) == name.endswith("guide") and cell["us"] < cell["source_us"], cells
            assert cell["stopped_by"] != "time limit", cell
        assert "0 of 2 pairs cheaper, 0 dearer" in first.stdout and "| 2, 2 |" in first.stdout, first.stdout

        commits = {commit for cell in cells["guided"].values() for commit in cell["commits"]}
        assert len(commits) == 1 and f"; commits: {min(commits)}\n" in first.stdout, first.stdout

        # Stored cells are not computed again, and the table is made from them.
        cells["guided"]["paper/dalle 30 s, seed 1, guide"]["us"] *= 0.5
        path.write_text(json.dumps(cells), encoding="utf-8")
        second = bench(tg, folder, "--guide", guide)
        assert second.stderr == "" and "1 of 2 pairs cheaper, 0 dearer" in second.stdout, second.stderr + second.stdout
        assert bench(tg, folder, "--tables").stdout == second.stdout

        other.write_text(guide.read_text(encoding="utf-8") + "\n", encoding="utf-8")
        assert "seed 1, guide was computed with guide " in bench(tg, folder, "--guide", other, fails=True).stderr
        dear = bench(tg, folder, "--guide", guide, "--cost", "analytic:a100", fails=True)
        assert "with cost analytic:cpu, not analytic:a100" in dear.stderr, dear.stderr
        for wrong, why in [(["--seeds", "0"], "at least 1"), (["--limits", "0"], "must be positive numbers"),
                           (["--networks", "nothing"], "examples/ has no nothing"), (["--guide", folder / "none"], "--guide requires a file")]:
            assert why in bench(tg, folder, *wrong, fails=True).stderr, wrong
    print("ok")


if __name__ == "__main__":
    main(sys.argv[1])
