#!/usr/bin/env python3
"""Tests bench/gpu/run.py without a GPU: every part on the cpu backend, cell by cell, with a stub peer and a stub
compute-sanitizer; the message on a machine without a driver; and that a backend which computes nothing (cuda_stubs.py)
is detected.

    gpu_bench_test.py TG
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import cuda_stubs

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench" / "gpu"))

import run as gpu_run

PEER = """#!/bin/sh
# peers.py NETWORK --peer PEER ...
[ "$4" = graph ] && echo '{"skipped": "CUDA graphs need a GPU"}' && exit
[ "$4" = compile ] && echo 'no module' >&2 && exit 1
echo '{"median_us": 1e9, "p10_us": 0.9e9, "p90_us": 1.1e9, "runs": 5, \
"versions": {"torch": "9.8"}}'
"""
SANITIZER = """#!/bin/sh
# --error-exitcode 99 TG run FILE ...
case "$5" in
  *lstm.tg) echo '========= ERROR SUMMARY: 2 errors'; exit 99 ;;
  *) echo '========= ERROR SUMMARY: 0 errors' ;;
esac
"""


class Bench:
    def __init__(self, tg, folder):
        self.tg, self.folder = str(Path(tg).resolve()), Path(folder)
        self.tools = self.folder / "tools"
        self.tools.mkdir()
        for name, text in (("python", PEER), ("compute-sanitizer", SANITIZER)):
            (self.tools / name).write_text(text)
            (self.tools / name).chmod(0o755)

    def run(self, *arguments, table, **environment):
        """Returns the exit code, the output, and the cells of the table."""
        path = self.folder / table
        done = subprocess.run(
            [sys.executable, str(ROOT / "bench/gpu/run.py"), *arguments, "--tg", self.tg, "--json",
             str(path), "--python", str(self.tools / "python")], capture_output=True, text=True,
            timeout=600, env={**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache"),
                              "PATH": f"{self.tools}:{os.environ['PATH']}", **environment})
        cells = json.loads(path.read_text())["cells"] if path.exists() else {}
        return done.returncode, done.stdout + done.stderr, cells

    def stubs(self, name, **libraries):
        folder = cuda_stubs.build(self.folder / name, hidden=cuda_stubs.hidden_libraries(),
                                  **libraries)
        return {"LD_LIBRARY_PATH": str(folder), "STUB_LOG": str(self.folder / "live"),
                "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"}, folder


ON_CPU = ("--backend", "cpu", "--cost", "analytic", "--networks", "nasrnn", "--batch", "1,16",
          "--dtype", "f32", "--peers", "eager,graph,compile", "--peer-device", "cpu", "--models",
          "hello,mlp", "--search-seconds", "0.2")


def every_part(bench):
    """With --total-limit 0 each call measures one cell, and no cell is measured again."""
    wanted = {"correct/f32/hello", "correct/f16/hello", "correct/bf16/hello", "correct/f32/mlp",
              "correct/f16/mlp", "correct/bf16/mlp", "latency/1/f32/nasrnn/tangram source",
              "latency/1/f32/nasrnn/tangram optimised", "latency/1/f32/nasrnn/eager",
              "latency/1/f32/nasrnn/graph", "latency/1/f32/nasrnn/compile", "load/nasrnn",
              "steps/f32/nasrnn", "sanitize/examples/squeezenet.tg", "sanitize/examples/paper/bert.tg",
              "sanitize/examples/lstm.tg"}
    before = {}
    for count in range(1, 3):
        code, text, cells = bench.run(*ON_CPU, "--total-limit", "0", table="cpu.json")
        if code != 0 or len(cells) != count or "the same command continues" not in text:
            yield f"call {count} of one cell each: exit {code}, {sorted(cells)}: {text}"
            return
        if any(cells[name] != cell for name, cell in before.items()):
            yield f"a cell was measured again: {before}, then {cells}"
        before = cells
    code, text, cells = bench.run(*ON_CPU, table="cpu.json")
    if code != 0 or set(cells) != wanted or "continues" in text:
        yield f"all cells: exit {code}, {sorted(set(cells) ^ wanted)}: {text}"
        return
    yield from judge(bench, cells, text)
    code, text, again = bench.run(*ON_CPU, "--again", table="cpu.json")
    changed = {name for name in cells if "error" in cells[name] or "skipped" in cells[name]}
    if code != 0 or changed != {line for line in text.splitlines() if line in wanted}:
        yield f"--again measures {changed} and no more: {text}"


def judge(bench, cells, text):
    failed = {name for name, cell in cells.items() if "error" in cell}
    if failed != {"latency/1/f32/nasrnn/compile", "sanitize/examples/lstm.tg"}:
        yield f"cells that failed: { {name: cells[name] for name in failed} }"
    ours, source = (cells[f"latency/1/f32/nasrnn/tangram {g}"] for g in ("optimised", "source"))
    if not (0 < ours["p10_us"] <= ours["median_us"] <= ours["p90_us"] and source["median_us"] > 0):
        yield f"invalid times: {ours} {source}"
    load = cells["load/nasrnn"]
    if set(load) != {"cold_s", "warm_s", "commit"} or not min(load["cold_s"], load["warm_s"]) > 0:
        yield f"times of loading: {load}"
    if not cells["steps/f32/nasrnn"]["steps"]:
        yield f"steps: {cells['steps/f32/nasrnn']}"
    row = next((line for line in text.splitlines() if line.startswith("| 1 | f32 | nasrnn |")), "")
    if f"{1e9 / ours['median_us']:.2f}x" not in row or "skipped" not in row or "failed" not in row:
        yield f"the row of the table: {row}"
    for words in ("Correct against ref: 6 of 6.", "ERROR SUMMARY: 0 errors",
                  "error: ERROR SUMMARY: 2 errors", "skipped: CUDA graphs need a GPU",
                  "error: no module", "nasrnn, f32: steps by",
                  "s warm (wanted: 60 and 2)", "Peers: torch 9.8."):
        if words not in text:
            yield f"`{words}` is not in: {text}"
    page = (bench.folder / "cpu.md").read_text()
    if row not in page:
        yield f"the page has another table: {page}"


def order(bench):
    """The most important cells come first, because a GPU machine may be available only for minutes."""
    names = [name for name, _ in gpu_run.cells(gpu_run.parse(["--tg", bench.tg]))]
    correct = [f"correct/{dtype}/{model}" for model in (
        "bert_base", "mobilenetv2", "paper/nasrnn", "resnet50", "squeezenet", "vit_base")
        for dtype in ("f16", "f32")]
    runtimes = ("tangram source", "tangram optimised", "eager", "graph", "compile", "max-autotune",
                "frozen", "jax")
    latencies = [f"latency/1/{dtype}/{network}/{runtime}" for dtype in ("f16", "f32")
                 for network in gpu_run.NETWORKS for runtime in runtimes]
    rest = [f"{part}/{network}" for part in ("load", "steps/f16", "steps/f32", "steps/tf32")
            for network in gpu_run.NETWORKS]
    first = correct + latencies + rest
    if names[:len(first)] != first:
        yield f"cells in another order: {names}"
    rows = 3 * 6 + 3 * 5  # dtypes times networks at batch 1, and at batch 16, which nasrnn lacks
    count = 3 * len(gpu_run.all_models()) + rows * len(runtimes) + len(rest) + 3
    if len(names) != count or not names[-1].startswith("latency/16/tf32/"):
        yield f"cells are missing, or others last: {names}"


def another_machine(bench):
    path = bench.folder / "cpu.json"
    kept = path.read_text()
    table = json.loads(kept)
    table["environment"]["devices"]["devices"][0]["name"] = "another"
    path.write_text(json.dumps(table))
    code, text, cells = bench.run(*ON_CPU, table="cpu.json")
    if code != 1 or "other devices" not in text or cells != table["cells"]:
        yield f"cells of another machine are mixed with these: exit {code}: {text}"
    path.write_text(kept)


def another_commit(bench):
    """Cells of Tangram from another commit are measured again; cells of peers are kept."""
    path = bench.folder / "cpu.json"
    table = json.loads(path.read_text())
    for name in ("correct/f32/hello", "latency/1/f32/nasrnn/tangram source"):
        table["cells"][name]["commit"] = "0000000"
    path.write_text(json.dumps(table))
    code, text, cells = bench.run(*ON_CPU, table="cpu.json")
    now = json.loads(path.read_text())["environment"]["commit"]
    if code != 0 or any(cell.get("commit", now) != now for cell in cells.values()):
        yield f"cells of another commit are kept: exit {code}: {text}"
    if "latency/1/f32/nasrnn/eager" in text.splitlines():
        yield f"a peer was measured again: {text}"


def side_by_side(bench):
    """--jobs measures the same cells as a sequential call."""
    code, text, cells = bench.run(*ON_CPU, "peers", "correct", "--jobs", "3", table="jobs.json")
    wanted = {f"correct/{d}/{m}" for d in ("f32", "f16", "bf16") for m in ("hello", "mlp")} | {
        f"latency/1/f32/nasrnn/{peer}" for peer in ("eager", "graph", "compile")}
    if code != 0 or set(cells) != wanted or "median_us" not in cells["latency/1/f32/nasrnn/eager"]:
        yield f"side by side: exit {code}, {sorted(set(cells) ^ wanted)}: {text}"


def too_slow(bench):
    """A cell that ran out of time is tried twice more, because caches may have been filled meanwhile."""
    for call in (1, 2, 3, 4):
        code, text, cells = bench.run("correct", "--backend", "cpu", "--models", "paper/vit_huge",
                                      "--limit", "0.2", "--total-limit", "0", table="slow.json")
        late = {"error": "longer than 0.2 s", "tries": min(call, 3)}
        cell = {k: v for k, v in cells["correct/f16/paper/vit_huge"].items() if k != "commit"}
        if code != 0 or cell != late:
            yield f"call {call} of a cell beyond its limit: exit {code}, {cells}: {text}"
        measured = "correct/f16/paper/vit_huge" in text.splitlines()
        if measured != (call <= 3):
            yield f"call {call} of a cell beyond its limit, measured: {measured}: {text}"


def no_driver(bench):
    environment, folder = bench.stubs("none")
    code, text, cells = bench.run("correct", table="none.json", STUB_HIDE="libcuda",
                                  LD_PRELOAD=str(folder / cuda_stubs.FILES["hidden"]), **environment)
    if code != 0 or cells or "not measured: NVIDIA driver is not found" not in text:
        yield f"without a driver: exit {code}, {cells}: {text}"


def computes_nothing(bench):
    """If the device computes nothing, no cell is correct or has a time."""
    environment, _ = bench.stubs("stub", driver=cuda_stubs.driver(), cublaslt=cuda_stubs.cublaslt(),
                                 cudnn=cuda_stubs.cudnn())
    code, text, cells = bench.run("correct", "latency", "--models", "hello", "--networks", "nasrnn",
                                  "--batch", "1", "--dtype", "f32", "--cost", "analytic",
                                  "--search-seconds", "0.2", table="stub.json", **environment)
    if "NVRTC" in text and "not measured" in text:
        print("gpu_bench: NVRTC is not installed: no device that computes nothing")
        return
    if code != 0 or len(cells) != 5 or any("error" not in cell for cell in cells.values()):
        yield f"a device that computes nothing passes: exit {code}, {cells}: {text}"
    if "E0706" not in text and "differs" not in text:
        yield f"no cell says that outputs differ: {text}"


def main():
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(sys.argv[1], folder)
        found = [problem for part in (order, every_part, another_machine, another_commit,
                                      side_by_side, too_slow, no_driver,
                                      computes_nothing) for problem in part(bench)]
    print("\n".join(found) or "gpu_bench: every part measured, resumed, and errors told")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
