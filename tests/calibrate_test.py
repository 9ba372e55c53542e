#!/usr/bin/env python3
"""`tg calibrate`: what it times is kept, a second run goes on from there, and the searches that follow guess by it.
`tg opt` by default: what it found met its source in whole runs, within the time limit, with and without known prices."""

import json
import pathlib
import subprocess
import sys
import tempfile

MODEL = """model m(x: f32[64, 256]) -> (y: f32[64, 256]) {
  param w: f32[256, 256]
  param v: f32[256, 256]
  relu(relu(x @ w) @ v)
}
"""


def tg(*arguments):
    done = subprocess.run([TG, *map(str, arguments), "--json"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (arguments, done.returncode, done.stderr)
    return json.loads(done.stdout)


def calibrated_twice(folder):
    database = folder / "costs.db"
    first = tg("calibrate", "--cost-db", database, "--time-limit", 1)
    assert first["timed"] > 0 and first["samples"] > 0 and not first["finished"], first
    second = tg("calibrate", "--cost-db", database, "--time-limit", 1)
    assert second["timed"] > 0 and second["samples"] >= second["timed"], second
    # On a machine that others use nothing may be kept (runtime/measure/machine_watch.h): unit tests hold that it is.
    none = tg("calibrate", "--cost-db", database, "--time-limit", 0)
    assert none["timed"] == 0 and none["median_error"] is None and not none["finished"], none


def met_its_source(folder):
    model = folder / "m.tg"
    model.write_text(MODEL)
    for database in (folder / "costs.db", folder / "none.db", folder / "none.db"):
        report = tg("opt", model, "--cost-db", database, "--time-limit", 20)
        assert report["cost_model"] == "calibrated:cpu", report["cost_model"]
        assert not report["changed"] or "speedup" in report, report
    unmet = tg("opt", model, "--cost-db", folder / "none.db", "--finalists", 0)
    assert "speedup" not in unmet
    assert any("no whole runs" in note for note in unmet["notes"]) or not unmet["changed"], unmet["notes"]


def main():
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        if not any(device["backend"] == "cpu" for device in tg("devices")["devices"]):
            print("skipped: there is no backend `cpu` in this build")
            return 77
        calibrated_twice(folder)
        met_its_source(folder)
    print("calibrate: passed")
    return 0


TG = str(pathlib.Path(sys.argv[1]).resolve())
sys.exit(main())
