#!/usr/bin/env python3
"""Tests `tg opt --cost measured:cpu --finalists K`. Whole graphs are run, except with K = 0, where only prices decide.
They are also run by default, but not with the prices of a named profile. The printed speedup is the ratio of the
printed times. With `--dtype`, prices are those of that type. A graph with other outputs is not returned. Notes report
non-finite and denormal numbers.

    finalists_test.py TG
"""
import json
import platform
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MODEL = """model twice(x: f32[256, 512]) -> f32[256, 512] {
  relu(relu(x))
}
"""

DEEP = """model deep(x: f32[512, 512]) -> f32[512, 512] {
  sigmoid(tanh(tanh(tanh(tanh(tanh(tanh(tanh(x))))))))
}
"""
NAN = """model nan(x: f32[256, 512]) -> f32[256, 512] {
  relu(relu(log(-exp(x)))) + relu(relu(x))
}
"""
TINY = """model tiny(x: f32[256, 512]) -> f32[256, 512] {
  relu(relu(x * full([], 1e-40)))
}
"""
WRONG = """rule drop_tanh(x) exact { tanh(tanh(tanh(tanh(tanh(tanh(tanh(x))))))) => relu(x) }
"""


def report_of(tg, folder, finalists, *more, text=MODEL):
    model = folder / "model.tg"
    model.write_text(text)
    command = [tg, "opt", model, "--cost", "measured:cpu", "--cost-db", folder / "prices.db", "--finalists",
               str(finalists), "--json", *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"--finalists {finalists}: exit code {done.returncode}: {done.stderr}"
    return json.loads(done.stdout)


def check_wrong(tg, folder):
    """Candidates whose outputs differ are never returned, with one candidate, several, and each search."""
    (folder / "wrong.tg").write_text(WRONG)
    for finalists, search in ((1, "mcts"), (8, "mcts"), (8, "saturate"), (8, "taso")):
        report = report_of(tg, folder, finalists, "--search", search, "--rules", str(folder / "wrong.tg"),
                           "--trust-rules", text=DEEP)
        assert report["source_returned"] and report["nodes_after"] == report["nodes_before"], report
        assert any("gives a different output" in note for note in report["notes"]), report["notes"]


def default_report(tg, folder, model, *options):
    """Returns the report of a run with default options, except for its own database."""
    command = [tg, "opt", model, "--json", "--cost-db", folder / "default.db", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{options}: exit code {done.returncode}: {done.stderr}"
    return json.loads(done.stdout)


def check_default(tg, folder):
    """The result is timed against its source, unless that is turned off or prices are those of a profile."""
    model = folder / "model.tg"
    model.write_text(MODEL)
    for options, runs, note in (([], True, ""), (["--finalists", "0"], False, "no whole runs (--finalists 0)"),
                                (["--cost", "analytic:cpu"], False, "")):
        report = default_report(tg, folder, model, *options)
        assert ("median_before_us" in report) == runs, f"{options}: {report}"
        assert any(note in said for said in report["notes"]) or not note, f"{options}: {report['notes']}"
    ablated = default_report(tg, folder, model, "--without", "tree")
    assert not ablated["recalled"] and not ablated.get("remembered"), ablated  # reuses no results of a full search
    wrong = folder / "wrong.tg"
    wrong.write_text(WRONG)
    model.write_text(DEEP)
    report = default_report(tg, folder, model, "--rules", wrong, "--trust-rules")
    assert report["source_returned"], report


def check_figures(tg, folder):
    """The speedup is the ratio of the times, in text and JSON. Numbers in text have three digits."""
    model = folder / "model.tg"
    for options, written in (([], MODEL), (["--threads", "2"], MODEL), ([], DEEP)):
        model.write_text(written)
        command = [tg, "opt", model, "--cost-db", folder / "figures.db", *options]
        text = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
        for row in re.findall(r"whole run +([\d.]+) (\w+) +([\d.]+) (\w+) +([\d.]+)x", text):
            unit = {"us": 1, "ms": 1e3, "s": 1e6}
            before, after, gain = float(row[0]) * unit[row[1]], float(row[2]) * unit[row[3]], float(row[4])
            assert abs(before / after - gain) < 0.006 + 0.011 * gain, f"{options}: {row}"
        report = default_report(tg, folder, model, *options)
        if "speedup" in report and report["changed"]:
            ratio = report["median_before_us"] / report["median_after_us"]
            assert abs(ratio - report["speedup"]) < 1e-9 * ratio, f"{options}: {report}"


def check_numbers(tg, folder):
    """Notes report non-finite and denormal numbers, which do not disqualify a candidate."""
    model = folder / "model.tg"
    for text, said in ((NAN, "is not finite on random inputs"), (TINY, "denormal numbers occur"), (MODEL, "")):
        if text == TINY and platform.machine() != "x86_64":
            continue  # the processor does not report denormals
        model.write_text(text)
        report = default_report(tg, folder, model)
        assert "median_before_us" in report, f"no whole graph was run, or it had a fault: {report}"
        notes = [note for note in report["notes"] if "finite" in note or "denormal" in note]
        assert len(notes) == (said != "") and all(said in note for note in notes), report["notes"]


def check_narrow(tg, folder):
    """With --dtype bf16, stored prices are those of bf16. Prices measured on a busy machine are not stored, so this
    waits for an idle machine and prints a line if it never is."""
    for _ in range(30):
        report = report_of(tg, folder, 2, "--dtype", "bf16", "--threads", "1")
        assert "median_before_us" in report, f"bf16: no whole graph was run: {report}"
        prices = b"".join(file.read_bytes() for file in folder.glob("prices.db*"))
        assert b"relu(f32" not in prices, "bf16: prices are of another type"
        if b"relu(bf16[256, 512])" in prices:
            return
        time.sleep(1)
    print("not checked: which type the prices kept are of (the machine was never quiet enough to keep one)")


def main():
    tg = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="tg-finalists-") as scratch:
        alone, whole = (report_of(tg, Path(scratch), k) for k in (0, 2))
    with tempfile.TemporaryDirectory(prefix="tg-finalists-") as scratch:
        check_narrow(tg, Path(scratch))
    with tempfile.TemporaryDirectory(prefix="tg-finalists-") as scratch:
        check_wrong(tg, Path(scratch))
        check_default(tg, Path(scratch))
        check_figures(tg, Path(scratch))
        check_numbers(tg, Path(scratch))
    assert "median_before_us" in whole, f"2 finalists: no whole graph was run: {whole}"
    assert "median_before_us" not in alone, f"no finalists: whole graphs were run: {alone}"
    assert alone["nodes_after"] == 1 < alone["nodes_before"], f"no finalists: nothing was found: {alone}"
    assert alone["cost_after_us"] <= alone["cost_before_us"], f"no finalists: dearer than the source: {alone}"


if __name__ == "__main__":
    main()
