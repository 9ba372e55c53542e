#!/usr/bin/env python3
"""`bench/paper/xrlflow.py` goes on where it stopped: cells that are there are not computed again, a policy is trained on, what
another run wrote meanwhile stays, and the tables say what the cells say.

    xrlflow_test.py TG
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMMON = ["--networks", "dalle", "--seeds", "1", "--policy", "xrlflow-scored", "--depth", "2", "--rounds", "1", "--runs", "1",
          "--train-seconds", "600", "--search-seconds", "600", "--run-threads", "1"]


def bench(tg, folder, *args, fails=False):
    command = [sys.executable, ROOT / "bench/paper/xrlflow.py", "--tg", tg, "--state", folder, *COMMON, *args]
    done = subprocess.run(list(map(str, command)), cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done


def cells_of(folder):
    return json.loads((folder / "cells.json").read_text(encoding="utf-8"))


def main(tg):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        first = bench(tg, folder, "--episodes", "10", "search", "train")
        assert first.stderr.count("search dalle") == 4 and first.stderr.count("train dalle") == 1, first.stderr
        cells = cells_of(folder)
        trained = cells["train"]["dalle.xrlflow-scored.1"]
        assert trained["episodes"] == 10 and len(trained["updates"]) == 1 and trained["measurements"] > 0, trained
        assert trained["price_us"] <= trained["source_us"] and sum(trained["rules"].values()) > 0, trained

        # Nothing is computed twice; more episodes are a training that goes on.
        cells["search"]["dalle taso"]["seconds"] = 1234.5
        (folder / "cells.json").write_text(json.dumps(cells), encoding="utf-8")
        second = bench(tg, folder, "--episodes", "20", "search", "train")
        assert "search dalle" not in second.stderr and "after 10 episodes" in second.stderr, second.stderr
        again = cells_of(folder)
        assert again["search"] == cells["search"], "a cell was computed again"
        more = again["train"]["dalle.xrlflow-scored.1"]
        assert more["episodes"] == 20 and [update[0] for update in more["updates"]] == [10, 20], more
        assert more["measurements"] > trained["measurements"] and more["us"] <= trained["us"], more
        assert "train dalle" not in bench(tg, folder, "--episodes", "20", "train").stderr

        # Another setting would train over what is there.
        before = cells_of(folder)
        refused = bench(tg, folder, "--measure-every", "1", "train", fails=True)
        assert "train dalle.xrlflow-scored.1 was computed with measure_every 5, not 1" in refused.stderr, refused.stderr
        assert cells_of(folder) == before

        # What was measured shows in the tables.
        other = bench(tg, folder, "--episodes", "20", "measure", "tables")
        measured = cells_of(folder)["measure"]["dalle"]
        assert len(measured["rounds"]) == 1 and "dalle ours" in measured["names"], measured
        text = other.stdout
        mixed = bench(tg, folder, "--runs", "2", "measure", fails=True)
        assert "measure dalle was computed with runs 1, not 2" in mixed.stderr, mixed.stderr
        assert "TASO, alpha 1.0, 100 graphs" in text and "scoring heads" in text and "| dalle |" in text, text
        assert f"| {measured['rounds'][0]['source'] / 1e3:.2f} |" in text, text
    print("ok")


if __name__ == "__main__":
    main(sys.argv[1])
