#!/usr/bin/env python3
"""Tests that `bench/paper/xrlflow.py` resumes: stored cells are not computed again, the training of a policy continues,
and tables show the numbers of the cells. Interrupted training keeps its policy and its numbers. Killed training
continues, and the lost numbers are reported.

    xrlflow_test.py TG
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
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


def episodes_of(policy):
    """Returns the number of episodes in the header of a policy file."""
    head = policy.read_bytes()
    return int(json.loads(head[8:8 + int.from_bytes(head[:8], "little")])["__metadata__"]["episodes"])


def command_of(running):
    """Returns the child process of an experiment, or None."""
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text(encoding="utf-8").split()
    return int(children[0]) if children else None


def runs(process):
    """Returns true if the process runs and is not a zombie, which some containers leave."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def training(command, folder):
    """Starts a long training, waits for its first update, then returns the script, its `tg` and the policy."""
    policy = folder / "dalle.xrlflow-scored.1.safetensors"
    running = subprocess.Popen([*map(str, command), "--state", folder, *COMMON, "--episodes", "100000", "train"], cwd=ROOT, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    while not policy.exists():
        assert running.poll() is None, running.communicate()
        time.sleep(0.02)
    return running, command_of(running), policy


def goes_on(tg, folder, episodes):
    """Runs ten more episodes, and returns the run and its cell."""
    more = bench(tg, folder, "--episodes", str(episodes + 10), "train")
    assert f"train dalle.xrlflow-scored.1, after {episodes} episodes" in more.stderr, more.stderr
    cell = cells_of(folder)["train"]["dalle.xrlflow-scored.1"]
    assert cell["episodes"] == episodes + 10 == episodes_of(folder / "dalle.xrlflow-scored.1.safetensors"), cell
    assert cell["price_us"] <= cell["source_us"], cell
    assert "not yet followed" not in bench(tg, folder, "tables").stdout
    return more, cell


def check_interrupted(tg, folder, command, send):
    """Interrupts the training with `send`. The cell has its numbers, and another run continues from it."""
    running, _, policy = training(command, folder)
    send(running.pid, signal.SIGINT)
    errors = running.communicate(timeout=300)[1]
    assert running.returncode == -signal.SIGINT and "Traceback" not in errors and "the same command continues" in errors, errors
    cell, episodes = cells_of(folder)["train"]["dalle.xrlflow-scored.1"], episodes_of(policy)
    assert cell["episodes"] == episodes >= 10 and cell["measurements"] > 0 and cell["seconds"] > 0 and cell["rules"], cell
    assert "not yet followed (the stage `train` does this next): dalle.xrlflow-scored.1\n" in bench(tg, folder, "tables").stdout
    _, more = goes_on(tg, folder, episodes)
    assert [update[0] for update in more["updates"]] == list(range(10, episodes + 20, 10)), more
    assert more["measurements"] > cell["measurements"] and "uncounted_episodes" not in more, more


def check_uncounted(tg, folder, counted):
    """If the policy has more episodes than its cell, training continues; messages and tables report the difference."""
    episodes = episodes_of(folder / "dalle.xrlflow-scored.1.safetensors")
    assert cells_of(folder)["train"]["dalle.xrlflow-scored.1"]["episodes"] == counted < episodes
    more, cell = goes_on(tg, folder, episodes)
    assert f"has {episodes} episodes, its cell {counted}" in more.stderr, more.stderr
    assert cell["uncounted_episodes"] == episodes - counted and "not kept" in cell["commits"], cell
    assert [update[0] for update in cell["updates"]] == [*range(10, counted + 10, 10), episodes + 10], cell
    text = bench(tg, folder, "tables").stdout
    assert f"| {episodes + 10}, {episodes - counted} of them not counted |" in text, text


def check_killed(tg, folder, command):
    """Kills the script: its `tg` ends, too."""
    running, tg_running, _ = training(command, folder)
    running.kill()
    running.communicate(timeout=300)
    while runs(tg_running):
        time.sleep(0.02)
    check_uncounted(tg, folder, 0)


def check_failed(tg, folder):
    """Uses a `tg` that trains and then fails."""
    bench(tg, folder, "--episodes", "10", "train")
    broken = folder / "broken"
    broken.write_text(f'#!/bin/sh\n"{tg}" "$@"\nexit 1\n', encoding="utf-8")
    broken.chmod(0o755)
    assert "exit code 1" in bench(broken, folder, "--episodes", "20", "train").stderr
    check_uncounted(tg, folder, 10)
    (folder / "dalle.xrlflow-scored.1.safetensors").unlink()
    assert "has 0 episodes, but its cell in" in bench(tg, folder, "--episodes", "40", "train", fails=True).stderr


def interruptions(tg):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the shell may have set it to ignored
    script = [sys.executable, ROOT / "bench/paper/xrlflow.py", "--tg", tg]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for name in ("group", "alone", "killed", "failed"):
            (folder / name).mkdir()
        (folder / "tg-paper").symlink_to(tg)
        # Ctrl-C in a terminal signals the whole process group.
        run = [sys.executable, ROOT / "bench/run.py", "--build", folder, "paper", "xrlflow"]
        check_interrupted(tg, folder / "group", run, os.killpg)
        check_interrupted(tg, folder / "alone", script, os.kill)
        check_killed(tg, folder / "killed", script)
        check_failed(tg, folder / "failed")


def check_commits(tg, folder, cells):
    """Each cell names the commit that computed it, and tables list the commits. Changes two cells for the next checks:
    one to another commit, and one to the old format without commits."""
    commit, *others = cells["search"]["dalle taso"]["commits"]
    version = subprocess.run([tg, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    assert commit.endswith(f"({version})") and not others, cells
    trained = cells["train"]["dalle.xrlflow-scored.1"]
    assert all(cell["commits"] == [commit] for cell in [*cells["search"].values(), trained]), cells
    assert f"commits: search {commit}; train {commit}\n" in bench(tg, folder, "tables").stdout
    trained["commits"] = ["of before"]
    del cells["search"]["dalle ours"]["commits"]


def main(tg):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        first = bench(tg, folder, "--episodes", "10", "search", "train")
        assert first.stderr.count("search dalle") == 4 and first.stderr.count("train dalle") == 1, first.stderr
        cells = cells_of(folder)
        trained = cells["train"]["dalle.xrlflow-scored.1"]
        assert trained["episodes"] == 10 and len(trained["updates"]) == 1 and trained["measurements"] > 0, trained
        assert trained["price_us"] <= trained["source_us"] and sum(trained["rules"].values()) > 0, trained

        check_commits(tg, folder, cells)

        # No cell is computed twice. With more episodes, training continues.
        cells["search"]["dalle taso"]["seconds"] = 1234.5
        (folder / "cells.json").write_text(json.dumps(cells), encoding="utf-8")
        second = bench(tg, folder, "--episodes", "20", "search", "train")
        assert "search dalle" not in second.stderr and "after 10 episodes" in second.stderr, second.stderr
        again = cells_of(folder)
        assert again["search"] == cells["search"], "a cell was computed again"
        more = again["train"]["dalle.xrlflow-scored.1"]
        assert more["episodes"] == 20 and [update[0] for update in more["updates"]] == [10, 20], more
        assert more["measurements"] > trained["measurements"] and more["us"] <= trained["us"], more
        assert more["commits"][0] == "of before" and len(more["commits"]) == 2, more
        del again["train"]["dalle.xrlflow-scored.1"]["price_us"]  # as if Ctrl-C had come before the policy was used
        (folder / "cells.json").write_text(json.dumps(again), encoding="utf-8")
        assert "train dalle" not in bench(tg, folder, "--episodes", "20", "train").stderr
        assert cells_of(folder)["train"]["dalle.xrlflow-scored.1"]["price_us"] <= trained["source_us"]

        # Another setting would overwrite the trained policy.
        before = cells_of(folder)
        refused = bench(tg, folder, "--measure-every", "1", "train", fails=True)
        assert "train dalle.xrlflow-scored.1 was computed with measure_every 5, not 1" in refused.stderr, refused.stderr
        assert cells_of(folder) == before

        # Tables show the measurements.
        other = bench(tg, folder, "--episodes", "20", "measure", "tables")
        measured = cells_of(folder)["measure"]["dalle"]
        first, last, taken = (cell["commits"][-1] for cell in (cells["search"]["dalle taso"], more, measured))
        assert f"commits: search {first}, not kept; train of before, {last}; measure {taken}\n" in other.stdout, other.stdout
        assert len(measured["rounds"]) == 1 and "dalle ours" in measured["names"], measured
        text = other.stdout
        mixed = bench(tg, folder, "--runs", "2", "measure", fails=True)
        assert "measure dalle was computed with runs 1, not 2" in mixed.stderr, mixed.stderr
        assert "TASO, alpha 1.0, 100 graphs" in text and "scoring heads" in text and "| dalle |" in text, text
        assert f"| {measured['rounds'][0]['source'] / 1e3:.2f} |" in text, text


if __name__ == "__main__":
    main(sys.argv[1])
    interruptions(str(Path(sys.argv[1]).resolve()))
    print("ok")
