#!/usr/bin/env python3
"""Tests `graph_clock_bench` (bench/): it times a source and the graphs of an episode as often as requested, with each
number of pairs, and rejects unknown options. The measured times are not checked.

    graph_clock_bench_test.py GRAPH_CLOCK_BENCH
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

# TASO's rules join these products, in two steps or more.
MODEL = """
model m(x: f32[4, 8]) -> (y: f32[4, 8]) {
  param a: f32[8, 8]
  param b: f32[8, 8]
  param c: f32[8, 8]
  relu(x @ a) + relu(x @ b) + relu(x @ c)
}
"""


def bench(program, *args, fails=False):
    done = subprocess.run(list(map(str, [program, *args])), capture_output=True, text=True, check=False)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        model, report = Path(folder) / "m.tg", Path(folder) / "report.json"
        model.write_text(MODEL, encoding="utf-8")
        text = bench(program, "--pairs", "2,400", "--times", "3", "--graphs", "2", "--busy", "1", "--json", report,
                     model).stdout
        rows = json.loads(report.read_text(encoding="utf-8"))
        graphs = ["source", "after 1", "after 2"]
        assert [(row["pairs"], row["graph"]) for row in rows] == [(n, graph) for n in (2, 400) for graph in graphs], rows
        assert all(len(row["times"]) == 3 and min(row["times"]) > 0 and row["source_us"] > 0 for row in rows), rows
        prices = [row["price"] for row in rows]
        assert prices[:3] == prices[3:] and prices[0] == 1, rows
        lines = [line.split() for line in text.splitlines()[1:]]
        assert [line[2] for line in lines] == ["source", "after", "after", "all"] * 2, text
        assert int(lines[4][1]) >= 400 and lines[3][3] == "9", text
        short = bench(program, "--times", "100000", "--seconds", "0", "--graphs", "1", model).stdout
        assert len(short.splitlines()) == 4, short
        for wrong in (["--pairs", "0"], ["--pairs", "5,"], ["--times", "0"], ["--busy", "x"], ["--slowly", "1"]):
            refused = bench(program, *wrong, model, fails=True)
            assert f"unknown option `{wrong[0]} {wrong[1]}`" in refused.stderr, refused.stderr
        assert "missing.tg" in bench(program, Path(folder) / "missing.tg", fails=True).stderr
    print("ok")


if __name__ == "__main__":
    main(sys.argv[1])
