#!/usr/bin/env python3
"""Tests errors of bench/gpu/run.py and peers.py: wrong options, damaged files, failing peers and signals. Requires
neither a GPU nor PyTorch, which is a stub.

    gpu_bench_faults_test.py TG
"""
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Stubs of the packages that peers.py and compare_torch.py import, with the attributes that they use on import.
PACKAGES = {"torch.py": "float32 = float16 = bfloat16 = None\nclass nn: Module = object\n"
                        "def manual_seed(seed): pass\n",
            "numpy.py": "", "safetensors/__init__.py": "",
            "safetensors/numpy.py": "def save_file(tensors, path): pass\n",
            **{f"{name}.py": f"raise ModuleNotFoundError(name='{name}')\n"
               for name in ("jax", "torchvision")}}
PEER = """#!/bin/sh
# peers.py NETWORK --peer PEER ...
case "$4" in
  eager) echo compiling; echo '{"median_us": 2.0, "p10_us": 1.0, "p90_us": 3.0}' ;;
  graph) printf 'Traceback (most recent call last):\\n  File "x"\\nRuntimeError: no memory\\n\\n' >&2
         exit 1 ;;
  compile) trap '' TERM; sleep 1000 & echo $! >sleeper; wait ;;
  jax) [ -e installed ] && echo '{"median_us": 2.0, "p10_us": 1.0, "p90_us": 3.0}' && exit
       echo '{"skipped": "jax is not installed"}' ;;
esac
"""

#: A program that lists devices like `tg`, and whose runs never end.
ENDLESS = """#!/bin/sh
[ "$1" = devices ] && exec {tg} "$@"
sleep 1000 & echo $! >sleeper; wait
"""


def wait_for(there, seconds=60):
    end = time.monotonic() + seconds
    while not there() and time.monotonic() < end:
        time.sleep(0.05)
    return there()


def lives(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


class Bench:
    def __init__(self, tg, folder):
        self.tg, self.folder = str(Path(tg).resolve()), Path(folder)
        self.packages = self.folder / "packages"
        self.measured = ("peers", "--backend", "ref", "--tg", self.tg, "--python", "./python",
                         "--networks", "nasrnn", "--batch", "1", "--dtype", "f32", "--peers",
                         "eager,graph,jax", "--json", "peers.json")
        for name, text in PACKAGES.items():
            (self.packages / name).parent.mkdir(parents=True, exist_ok=True)
            (self.packages / name).write_text(text)
        for name, text in (("python", PEER), ("endless", ENDLESS.format(tg=self.tg))):
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o755)
        (self.folder / "tmp").mkdir()

    def start(self, script, *arguments):
        """Starts a script of bench/gpu, or Python code."""
        first = [ROOT / "bench/gpu" / script] if script.endswith(".py") else ["-c", script]
        return subprocess.Popen([sys.executable, *first, *arguments], text=True, cwd=self.folder,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env={**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache"),
                                     "TMPDIR": str(self.folder / "tmp"),
                                     "PYTHONPATH": f"{self.packages}:{ROOT / 'bench/gpu'}"})

    def call(self, script, *arguments):
        """Returns the exit code, output and errors."""
        process = self.start(script, *arguments)
        out, errors = process.communicate(timeout=120)
        return process.returncode, out, errors

    def left(self):
        """Returns the leftovers of a command: its child process, if that is still alive, and temporary files."""
        sleeper = int((self.folder / "sleeper").read_text())
        (self.folder / "sleeper").unlink()
        dies = wait_for(lambda: not lives(sleeper), 5)
        return [*([] if dies else [f"process {sleeper}"]), *os.listdir(self.folder / "tmp")]

    def peers(self, *arguments):
        """Returns the exit code, output with errors, and the cells of nasrnn with the stub peers."""
        code, out, errors = self.call("run.py", *self.measured, *arguments)
        cells = json.loads((self.folder / "peers.json").read_text())["cells"]
        return code, out + errors, {name.rsplit("/", 1)[1]: cell for name, cell in cells.items()}


REFUSED = {
    "run.py": ("--batch x", "--batch 0", "--batch 1,-1", "--limit nan", "--limit -1", "--limit inf",
               "--limit 0", "--dtype f33", "--dtype f32,", "--peers nonsense", "--models nosuch",
               "--networks nosuch", "--python /no/such", "--tg /no/such", "--peer-device tpu",
               "--total-limit nan", "--total-limit -1", "--search-seconds 0"),
    "peers.py": ("--batch 0", "--batch 1.5", "--seconds nan", "--seconds 0", "--tg /no/such"),
}


def options(bench):
    """The last line of errors names the wrong option, and nothing is measured."""
    for script, refused in REFUSED.items():
        first = {"run.py": ("correct", "--backend", "ref", "--json", "options.json"),
                 "peers.py": ("nasrnn", "--device", "cpu")}[script]
        for option in refused:
            name, value = option.split()
            code, out, errors = bench.call(script, *first, "--tg", bench.tg, name, value)
            said = errors.strip().splitlines()[-1] if errors.strip() else ""
            if code != 2 or out or not said.startswith(f"{script}: error: argument {name}: "):
                yield f"{script} {option}: exit {code}: {out}{errors}"
    if (bench.folder / "options.json").exists():
        yield "results of options that are refused"


def reasons(bench):
    """The error of a failed peer is the last line of its traceback. Lines before a result are ignored."""
    code, text, cells = bench.peers()
    wanted = {"eager": {"median_us": 2.0, "p10_us": 1.0, "p90_us": 3.0},
              "graph": {"error": "RuntimeError: no memory"}, "jax": {"skipped": "jax is not installed"}}
    if code != 0 or cells != wanted:
        yield f"peers: exit {code}: {cells}: {text}"


def installed_later(bench):
    """Skipped cells are tried again, after all others, and do not keep a call from finishing."""
    (bench.folder / "peers.json").unlink()
    for call in ("eager", "graph", "jax", "jax"):
        code, text, cells = bench.peers("--total-limit", "0")
        if code != 0 or f"f32/nasrnn/{call}" not in text or call not in cells:
            yield f"one cell a call, of {call}: exit {code}: {cells}: {text}"
    if "continues" in text:
        yield f"cells that are skipped are waited for: {text}"
    (bench.folder / "installed").touch()
    code, text, cells = bench.peers()
    if code != 0 or "median_us" not in cells["jax"] or "f32/nasrnn/eager" in text:
        yield f"a peer that was installed later: exit {code}: {cells}: {text}"


def other_setting(bench):
    """Cells that were measured with other settings are not extended."""
    file = bench.folder / "peers.json"
    whole = file.read_text()
    shutil.copy(bench.folder / "python", bench.folder / "python2")
    for key, *arguments in (("backend", "--backend", "cpu"), ("cost", "--cost", "analytic"),
                            ("search_seconds", "--search-seconds", "3"),
                            ("peer_device", "--peer-device", "cpu"),
                            ("python", "--python", "./python2")):
        code, text, _ = bench.peers(*arguments)
        said = f"peers.json: its cells are of {key} " in text
        if (code != 1 or not said) and "not measured" not in text:  # the backend is not built
            yield f"{arguments} on cells of another {key}: exit {code}: {text}"
        table = json.loads(whole)
        table["environment"].pop(key, None)
        file.write_text(json.dumps(table))
        code, text, _ = bench.peers()
        if code != 1 or f"peers.json: its cells are of {key} unknown" not in text:
            yield f"cells of unknown {key}: exit {code}: {text}"
        file.write_text(whole)


#: Name and content of an invalid cell of peers.json, and words of the error.
DAMAGED_CELLS = (
    ("latency/1/f32/nasrnn/eager", [], "is not an object"),
    ("latency/1/f32/nasrnn/eager", {}, "has no median_us"),
    *(("latency/1/f32/nasrnn/eager", {"median_us": time, "p10_us": 1, "p90_us": 1}, "median_us")
      for time in (0, -1, math.nan, math.inf, "1", None, 10**400)),
    *(("latency/1/f32/nasrnn/eager", {"error": "x", key: [1]}, key)
      for key in ("error", "skipped", "tries", "versions", "sum_error", "predicted_error")),
    ("steps/f32/nasrnn", {"steps": {"map": 1}}, "steps"),
    ("load/nasrnn", {"cold_s": 1}, "has no warm_s"),
    *((name, {"error": "x"}, "unknown cell") for name in (
        "latency/1/f32/nosuch/eager", "latency/0/f32/nasrnn/eager", "latency/1/f32/nasrnn",
        "steps/nasrnn", "nonsense")))
DAMAGED_FILES = (b"", b"[]", b"{}", b'{"cells": {', b'{"cells": []}', b"[" * 100000, b"\xff",
                 b'{"cells": {}, "environment": 1}')


def damaged_file(bench):
    """The error is one line with the name of the file and the reason. The file is not changed."""
    file = bench.folder / "peers.json"
    whole = json.loads(file.read_text())
    tables = [(text, "") for text in DAMAGED_FILES]
    for name, cell, why in DAMAGED_CELLS:
        table = {**whole, "cells": {**whole["cells"], name: cell}}
        tables.append((json.dumps(table).encode(), f"{name}: {why}"))
    for text, why in tables:
        file.write_bytes(text)
        code, out, errors = bench.call("run.py", *bench.measured)
        if code != 1 or out or not errors.startswith(f"peers.json: {why}") or errors.count("\n") != 1:
            yield f"a table of {text[:200]} ({why}): exit {code}: {out}{errors[:1000]}"
        if file.read_bytes() != text:
            yield f"a table of {text[:200]} was written"
    file.write_text(json.dumps(whole))


def no_file(bench):
    """An output that cannot be written is an error of one line, before anything is measured."""
    (bench.folder / "folder").mkdir()
    (bench.folder / "page.md").mkdir()
    os.mkfifo(bench.folder / "pipe")
    for file, why in (("folder", "no regular file"), ("pipe", "no regular file"),
                      ("python/x.json", ""), ("page.json", "")):
        code, out, errors = bench.call("run.py", *bench.measured, "--json", file)
        named = file if file != "page.json" else "page.md"
        if code != 1 or out or errors.count("\n") != 1 or not errors.startswith(f"{named}: {why}"):
            yield f"--json {file}: exit {code}: {out}{errors}"
    code, out, errors = bench.call("run.py", *bench.measured, "--json", "x.md")
    if code != 2 or "error: argument --json: " not in errors:
        yield f"--json x.md: exit {code}: {out}{errors}"
    if [name for name in os.listdir(bench.folder) if name.startswith("page.md.")]:
        yield f"left over: {os.listdir(bench.folder)}"


def written(bench):
    """Output files have the usual permissions, and a link remains a link."""
    (bench.folder / "link.json").symlink_to("target.json")
    code, text, _ = bench.peers("--json", "link.json")
    modes = [(bench.folder / name).stat().st_mode & 0o777 for name in ("target.json", "link.md")]
    mask = os.umask(0)
    os.umask(mask)
    if code != 0 or modes != [0o666 & ~mask] * 2 or not (bench.folder / "link.json").is_symlink():
        yield f"a table through a link: exit {code}, modes {modes}: {text}"


def packages(bench):
    """A missing peer is reported as JSON, also if the program is found without --tg."""
    top = bench.folder / "unpacked"
    shutil.copytree(ROOT / "bench/gpu", top / "bench/gpu")
    shutil.copytree(ROOT / "tests/oracle", top / "bench/gpu/oracle")
    peers = (top / "bench/gpu/peers.py").as_posix()
    code, out, errors = bench.call(peers, "nasrnn")
    if code != 2 or "error: argument --tg: none is built" not in errors:
        yield f"peers.py without a program: exit {code}: {out}{errors}"
    (top / "bin").mkdir()
    (top / "bin/tg").symlink_to(bench.tg)
    for why, *arguments in (("nasrnn is a network of batch 1", "nasrnn", "--batch", "2"),
                            ("torchvision is not installed", "resnet50"),
                            ("jax is not installed", "nasrnn", "--peer", "jax"),
                            ("CUDA graphs need a GPU", "nasrnn", "--peer", "graph")):
        code, out, errors = bench.call(peers, *arguments, "--device", "cpu")
        if code != 0 or out != json.dumps({"skipped": why}) + "\n" or errors:
            yield f"peers.py {arguments}: exit {code}: {out}{errors}"


#: peers.py with stubs of a network, numpy and `ref`.
MADE_UP = """
import json, pathlib, sys, time, types
import peers
made = []
def tool(*command):
    made.append(command)
    pathlib.Path(command[command.index("--output") + 1]).write_text('{"y": 7}')
peers.oracle.tool, peers.oracle.write_weights = tool, lambda *_: None
peers.np.savez = lambda *_, **__: None
peers.np.load = lambda path: json.loads(path.read_text())
network = types.SimpleNamespace(
    file=sys.argv[1], module=types.SimpleNamespace(state_dict=dict), inputs={}, outputs=["y"],
    weights=types.SimpleNamespace(settings=[]))
"""
DAMAGED_CACHE = MADE_UP + """
for damage in (None, "", '{"y"', '{"x": 1}'):
    for kept in pathlib.Path(sys.argv[2]).rglob("*.npz"):
        kept.write_text(damage)
    print(peers.by_tangram(sys.argv[1], network), peers.by_tangram(sys.argv[1], network), len(made))
"""


def damaged_cache(bench):
    """If the cached output of `ref` is damaged, it is computed once more."""
    code, out, errors = bench.call(DAMAGED_CACHE, bench.folder / "python", bench.folder / "cache")
    if code != 0 or out != "".join(f"[7] [7] {made}\n" for made in (1, 2, 3, 4)):
        yield f"a damaged cache of peers.py: exit {code}: {out}{errors}"


def out_of_time(bench):
    """All processes that a cell started end with it."""
    code, text, cells = bench.peers("--peers", "compile", "--limit", "0.5")
    if code != 0 or cells["compile"] != {"error": "longer than 0.5 s", "tries": 1} or bench.left():
        yield f"a cell whose time runs out: exit {code}: {cells}: {text}"


def ended(bench):
    """Ctrl-C and other signals end the running cell and delete its files."""
    sleeper = bench.folder / "sleeper"
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)  # child processes inherit ignored signals
        process = bench.start("run.py", "load", "--backend", "ref", "--tg", "./endless", "--networks",
                              "nasrnn", "--json", "ended.json")
        wait_for(lambda: sleeper.exists() and sleeper.read_text().endswith("\n"))
        process.send_signal(number)
        out, errors = process.communicate(timeout=60)
        left = bench.left()
        if process.returncode != 128 + number or out or errors.strip() != "load/nasrnn" or left:
            yield f"{number.name}: exit {process.returncode}, left {left}: {out}{errors}"


#: run.py receives a signal as soon as a command runs, before Popen has returned.
EARLY_SIGNAL = """
import os, pathlib, signal, subprocess, sys, time
import run
start = subprocess.Popen
def popen(command, **options):
    process = start(command, **options)
    sleeper = pathlib.Path("sleeper")
    while "run" in command and not (sleeper.exists() and sleeper.read_text()):
        time.sleep(0.05)
    if "run" in command:
        os.kill(os.getpid(), signal.SIGTERM)
    return process
subprocess.Popen = popen
sys.exit(run.main())
"""


def ended_early(bench):
    process = bench.start(EARLY_SIGNAL, "load", "--backend", "ref", "--tg", "./endless", "--networks",
                          "nasrnn", "--json", "early.json")
    out, errors = process.communicate(timeout=60)
    left = bench.left()
    if process.returncode != 128 + signal.SIGTERM or left:
        yield f"a signal while a command starts: exit {process.returncode}, left {left}: {out}{errors}"


ENDLESS_PEER = MADE_UP + """
peers.oracle.tool = lambda *_: print("begun", flush=True) or time.sleep(1000)
peers.NETWORKS["nasrnn"] = lambda batch: network
sys.argv = ["peers.py", "nasrnn", "--device", "cpu", "--tg", sys.argv[1]]
peers.main()
"""


def ended_peer(bench):
    """peers.py leaves no files in the cache folder when it is ended."""
    shutil.rmtree(bench.folder / "cache")
    process = bench.start(ENDLESS_PEER, bench.folder / "python")
    process.stdout.readline()
    process.terminate()
    errors = process.communicate(timeout=60)[1]
    left = os.listdir(bench.folder / "cache/tangram/peers")
    if process.returncode != 128 + signal.SIGTERM or errors or left:
        yield f"peers.py that is ended: exit {process.returncode}, left {left}: {errors}"


PARTS = (options, reasons, installed_later, other_setting, damaged_file, no_file, written, packages,
         damaged_cache, out_of_time, ended, ended_early, ended_peer)


def main():
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(sys.argv[1], folder)
        found = [problem for part in PARTS for problem in part(bench)]
    print("\n".join(found) or "gpu_bench_faults: each fault is reported in one line")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
