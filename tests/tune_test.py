#!/usr/bin/env python3
"""Tests `tg tune`: a line for each operator, stored and reused results, Ctrl-C, time limits, damaged files and two
concurrent runs. Tests that `tg run --tune-near` uses the results.

The test does not depend on the machine's speed or load. If the processor supports no register tiles, there is nothing
to tune, and the program says so.
"""

import json
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

MODEL = """model m(x: f32[24, 64], i: f32[1, 3, 8, 8]) -> (y: f32[24, 96], z: f32[1, 8, 8, 8], s: f32[24, 24]) {
  param w: f32[64, 64]
  param v: f32[64, 96]
  param k: f32[8, 3, 3, 3]
  param g: f32[8, 2, 3, 3]
  (relu(x @ w) @ v, conv2d(conv2d(i, k, pad = same), g, pad = same), x @ transpose(x))
}
"""
OTHER = """model other(x: f32[24, 64]) -> (y: f32[24, 192]) {
  param w: f32[64, 192]
  x @ w
}
"""
WIDE = """model wide(x: f32[128, 256]) -> (y: f32[128, 512]) {
  param w: f32[256, 512]
  x @ w
}
"""
# Long enough to be interrupted.
LARGE = "model large(x: f32[64, 256]) -> (y: f32[64, 256]) {\n  var y = x\n" + "".join(
    f"  param a{n}: f32[256, {n}]\n  param b{n}: f32[{n}, 256]\n  y = relu(y @ a{n}) @ b{n}\n"
    for n in range(512, 1024, 64)) + "  y\n}\n"


# With by-rule, a rule selects the operators with generated kernels; measured times would depend on the machine.
BY_RULE = ["--tuner", "by-rule"]


def tune(*arguments, code=0, tuner=BY_RULE):
    done = subprocess.run([TG, "tune", *map(str, arguments), *tuner, "--json"], capture_output=True, text=True, timeout=240)
    assert done.returncode == code, (arguments, done.returncode, done.stderr)
    return json.loads(done.stdout)


def states(report):
    found = {}
    for line in report["operators"]:
        found.setdefault(line["state"], []).append(line)
    return found


def rows_of(database):
    with sqlite3.connect(database) as connection:
        return dict(connection.execute("SELECT instance, implementation FROM cost"))


def kept_and_found_again(folder):
    model, other, database = folder / "m.tg", folder / "other.tg", folder / "costs.db"
    model.write_text(MODEL)
    other.write_text(OTHER)
    first = tune(model, "--cost-db", database, "--trials", 40, "--threads", 1, tuner=["--tuner", "by-rule,library"])
    by_state = states(first)
    # The library runs the product of two activations, and with AVX-512 possibly convolutions.
    library = [line["name"].split()[0] for line in by_state["not tuned"]]
    assert library.count("matmul") == 1 and library.count("conv2d") == len(library) - 1, by_state
    assert all("has no tunable program" in line["note"] for line in by_state["not tuned"]), by_state
    # Tuned are two products, and those of the two convolutions (one is grouped) that the library does not run.
    done = by_state.get("tuned", []) + by_state.get("not faster", [])
    assert len(done) == 5 - len(library) and first["trials"] > 0 and not first["stopped"], by_state
    assert sum(line["program"].startswith(("C2D", "GRP")) for line in done) == len(done) - 2, by_state
    for line in done:
        assert line["best_us"] > 0 and line["untuned_us"] > 0 and line["trials"] <= 40 + 1000, line
        assert 0 < line["peak_share"] < 1.5 and line["library_us"] > 0, line
    assert len(rows_of(database)) == len(done)
    second = tune(model, "--cost-db", database, "--trials", 40, "--threads", 1)
    assert len(states(second)["known"]) == len(done) and second["trials"] == 0, second
    # Another model reuses results of the first one.
    third = tune(other, "--cost-db", database, "--trials", 1000, "--threads", 1)
    assert third["operators"][-1]["reused_from"], third
    again = tune(model, "--cost-db", database, "--trials", 40, "--threads", 1, "--again")
    assert again["trials"] > 0, again
    assert again["library_seconds"] == 0 and not any("library_us" in line for line in again["operators"]), again
    # Another number of threads is another entry, if the product is large enough for threads.
    wide = folder / "wide.tg"
    wide.write_text(WIDE)
    assert all(tune(wide, "--cost-db", database, "--trials", 8, "--threads", n)["trials"] > 0 for n in (1, 2))


def damage_costs_tuning_anew(folder):
    model, database = folder / "m.tg", folder / "damaged.db"
    tune(model, "--cost-db", database, "--trials", 8, "--threads", 1)
    keys = sorted(rows_of(database))
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE cost SET implementation = substr(implementation, 1, 40) WHERE instance = ?", keys[:1])
    report = tune(model, "--cost-db", database, "--trials", 8, "--threads", 1)
    assert len(states(report)["known"]) == len(keys) - 1 and report["trials"] > 0, report
    assert any("is not used" in note for note in report["notes"]), report["notes"]
    assert len(states(tune(model, "--cost-db", database, "--trials", 8, "--threads", 1))["known"]) == len(keys)
    database.write_bytes(b"x" * 8192)
    report = tune(model, "--cost-db", database, "--trials", 8, "--threads", 1)
    assert report["trials"] > 0 and any("damaged" in note for note in report["notes"]), report
    # Running the model is not affected either.
    subprocess.run([TG, "run", str(model), "--quiet", "--runs", "1"], check=True, timeout=120)


def kernels_are_chosen_once(folder):
    """Kernels are chosen for products and convolutions, which have two kernels each on any processor with tiles."""
    model, database = folder / "m.tg", folder / "kernels.db"
    def chosen(*more):
        arguments = (model, "--cost-db", database, "--trials", 1, "--threads", 1, *more)
        return tune(*arguments, tuner=[])["kernels"]
    stopped = chosen("--time-limit", 0)
    assert not any(line["otherwise"] for line in stopped["operators"]), stopped
    first = chosen()
    assert first["known"] == 0 and len(first["operators"]) >= 4, first
    assert all(line["rule_us"] > 0 and line["other_us"] > 0 for line in first["operators"]), first
    again = chosen()
    assert again["known"] == len(first["operators"]) and not again["operators"], again
    kept = {key for key in rows_of(database) if key.startswith("kernel of ")}
    assert len(kept) == again["known"], kept


def two_at_once_lose_nothing(folder):
    alone, database = folder / "damaged.db", folder / "shared.db"  # the first has the results of one model
    models = [folder / "m.tg", folder / "other.tg"]
    running = [subprocess.Popen([TG, "tune", str(model), "--cost-db", str(database), "--trials", "40", "--threads", "1",
                                 "--quiet", *BY_RULE]) for model in models]
    for one in running:
        assert one.wait(timeout=240) == 0
    assert len(rows_of(database)) == len(rows_of(alone)) + 1


def plans_try_what_neighbours_use(folder):
    other, database = folder / "other.tg", folder / "near.db"
    def run(*more):
        command = [TG, "run", str(other), "--threads", "1", "--runs", "1", "--quiet", "--cost-db", str(database), *more]
        subprocess.run(command, check=True, timeout=240)
        return rows_of(database) if database.exists() else {}
    assert not run("--tune-near", "60000"), "nothing was tuned, and nothing is made"
    tune(folder / "wide.tg", "--cost-db", database, "--trials", 40, "--threads", 1)
    tuned = rows_of(database)
    assert run() == tuned, "by default nothing is tried"
    after = run("--tune-near", "60000")
    new = {key: text for key, text in after.items() if key not in tuned}
    assert len(new) == 1 and ", cut off" in list(new.values())[0], new
    assert run("--tune-near", "60000") == after, "tried programs are not tried again"
    report = tune(other, "--cost-db", database, "--trials", 40, "--threads", 1)
    assert report["trials"] > 0 and not any(", cut off" in text for text in rows_of(database).values()), report


def interrupted_keeps_what_is_done(folder):
    model, database = folder / "large.tg", folder / "interrupted.db"
    model.write_text(LARGE)
    running = subprocess.Popen([TG_PAPER, "tune", str(model), "--cost-db", str(database), "--threads", "1", "--reuse", "full",
                                "--trials", "60", "--tuner", "to-the-end,by-rule"], stdout=subprocess.PIPE, text=True)
    first = running.stdout.readline()
    assert "60 trials" in first, first
    running.send_signal(signal.SIGINT)
    rest = running.stdout.read()
    assert running.wait(timeout=60) == 0, rest
    assert "the next run continues from here" in rest and "stopped" in rest, rest
    kept = len(rows_of(database))
    assert kept >= 1, rest
    # The interrupted operator is stored, too, if a trial was finished. Another run resumes it.
    cut_off = sum(", cut off" in row for row in rows_of(database).values())
    assert cut_off <= 1 and kept > cut_off, rows_of(database)
    limited = tune(model, "--cost-db", database, "--threads", 1, "--time-limit", 0)
    assert limited["stopped"] and len(states(limited)["known"]) == kept - cut_off, limited
    start = time.monotonic()
    tune(model, "--cost-db", database, "--threads", 1, "--time-limit", 1)
    assert time.monotonic() - start < 30
    assert len(rows_of(database)) >= kept


def main():
    probe = subprocess.run([TG, "devices"], capture_output=True, text=True, check=True).stdout
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "m.tg").write_text(MODEL)
        done = subprocess.run([TG, "tune", str(folder / "m.tg"), "--cost-db", str(folder / "probe.db"), "--trials", "1",
                               "--json", *BY_RULE], capture_output=True, text=True, timeout=240)
        if done.returncode and "no register tile" in done.stderr:
            print("nothing to tune here:", probe.splitlines()[0])
            return
        report = json.loads(done.stdout)
        kernels_are_chosen_once(folder)
        if all(line["state"] == "not tuned" for line in report["operators"]):
            print("nothing runs on tiles here")
            return
        kept_and_found_again(folder)
        damage_costs_tuning_anew(folder)
        two_at_once_lose_nothing(folder)
        interrupted_keeps_what_is_done(folder)
        plans_try_what_neighbours_use(folder)


if __name__ == "__main__":
    TG, TG_PAPER = sys.argv[1:]
    main()
