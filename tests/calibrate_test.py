#!/usr/bin/env python3
"""Tests `tg calibrate`: it stores its measurements, a second run continues with other operators, and later searches
predict prices from them. Tests the defaults of `tg opt`: a result was timed against its source in whole runs, with and
without known prices, or the source is returned.

The test does not depend on the machine's speed or load: disturbed measurements are not stored, but counted.
"""

import json
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

# With any prices, the search removes seven of the eight relu operators.
MODEL = """model m(x: f32[64, 256]) -> (y: f32[64, 256]) {
  param w: f32[256, 256]
  relu(relu(relu(relu(relu(relu(relu(relu(x @ w))))))))
}
"""
# The search of this model takes long: rules never stop matching.
LARGE = "model large(x: f32[8, 64]) -> (y: f32[8, 64]) {\n  var y = x\n" + "".join(
    f"  param w{i}: f32[64, 64]\n  y = relu(y @ w{i} + y) + x\n" for i in range(60)) + "  y\n}\n"


def tg(*arguments):
    done = subprocess.run([TG, *map(str, arguments), "--json"], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, (arguments, done.returncode, done.stderr)
    return json.loads(done.stdout)


def rows_of(database):
    """Returns the stored prices of operators, timed alone and within graphs."""
    with sqlite3.connect(database) as connection:
        return set(connection.execute("SELECT environment, instance FROM cost"))


def calibrated_twice(folder):
    database = folder / "costs.db"
    first = tg("calibrate", "--cost-db", database, "--time-limit", 1)
    assert first["timed"] > 0 and first["samples"] > 0 and not first["finished"], first
    kept = rows_of(database)
    assert len(kept) >= first["timed"] - first["unsettled"], (first, len(kept))
    second = tg("calibrate", "--cost-db", database, "--time-limit", 1)
    both = rows_of(database)
    assert second["timed"] > 0 and not second["finished"], second
    assert kept <= both, "stored prices are lost"
    # Stored operators are not timed again: each steady time adds a row.
    assert len(both) >= len(kept) + second["timed"] - second["unsettled"], (second, len(kept), len(both))
    assert second["samples"] >= len(both), (second, len(both))
    none = tg("calibrate", "--cost-db", database, "--time-limit", 0)
    assert none["timed"] == 0 and none["median_error"] is None and not none["finished"], none
    assert rows_of(database) == both


def met_its_source(folder):
    model = folder / "m.tg"
    model.write_text(MODEL)
    for database in (folder / "costs.db", folder / "none.db", folder / "none.db"):
        report = tg("opt", model, "--cost-db", database)
        assert report["cost_model"] == "calibrated:cpu", report["cost_model"]
        assert report["changed"], report
        assert "speedup" in report and report["finalists"] == 1, report
    unmet = tg("opt", model, "--cost-db", folder / "none.db", "--finalists", 0)
    assert unmet["changed"] and "speedup" not in unmet, unmet
    assert any("no whole runs" in note for note in unmet["notes"]), unmet["notes"]


def has_no_time_to_meet_it(folder):
    """At any time limit, a graph that was not timed against its source is not returned, and a note says so."""
    model, out = folder / "large.tg", folder / "out.tg"
    model.write_text(LARGE)
    for limit in (0, 0.2, 1):
        report = tg("opt", model, "--cost-db", folder / "limited.db", "--time-limit", limit, "-o", out)
        met = "speedup" in report and not report["source_returned"]
        source = report["cost_after_us"] == report["cost_before_us"]
        assert met or source, (limit, report)
        if report["changed"] and not met:
            assert any("the source is returned" in n or "less than the source" in n for n in report["notes"]), report["notes"]
        tg("check", out)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        if not any(device["backend"] == "cpu" for device in tg("devices")["devices"]):
            print("skipped: there is no backend `cpu` in this build")
            return 77
        calibrated_twice(folder)
        met_its_source(folder)
        has_no_time_to_meet_it(folder)
    print("calibrate: passed")
    return 0


TG = str(pathlib.Path(sys.argv[1]).resolve())
sys.exit(main())
