#!/usr/bin/env python3
"""Tests that a time limit, Ctrl-C and SIGTERM each end every command of `tg` and every search strategy soon, on
networks that take long on any machine. Each ends with a valid result or a message with the reason, the documented exit
code, and no temporary files. The commands are those of `tg --help`, so that a new one cannot be forgotten.

The delay is measured in processor time, which other work on the machine does not increase. All threads may work until
the limit or the signal, and one second more (compiler/api/DECISIONS.md, "Limits").

    limits_test.py TG [NAME ...]     run only the cases whose names begin so
"""
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LAYERS, TERMS = 40, 12
NOT_DECIDED, NO_ANSWER = 4, 3  # exit codes: compiler/api/README.md
GRACE = 2 if "ASAN_OPTIONS" in os.environ else 1  # seconds
SEARCHES = {
    "none": ["--search", "none"],
    "saturate": ["--search", "saturate", "--iterations", "1000", "--node-limit", "2000000000"],
    "saturate greedy": ["--search", "saturate", "--iterations", "1000", "--node-limit", "2000000000", "--extract", "greedy"],
    "saturate best": ["--search", "saturate", "--extract", "best"],
    "mcts": ["--search", "mcts", "--budget", "100000"],
    "pact24": ["--search", "mcts", "--mcts-profile", "pact24", "--budget", "100000"],
    "anneal": ["--search", "anneal", "--budget", "100000000"],
    "taso": ["--search", "taso", "--budget", "100000000"],
    "random": ["--search", "random", "--budget", "100000000"],
}
RULES = ["--rules", "explore,algebra,fuse", "--threads", "1"]


# --- cases ----------------------------------------------------------------------------------------


def network(name, layers=LAYERS, swap=False):
    """Returns a model with layers of wide sums, whose orders rules never exhaust, and a long chain after them."""
    lines = [f"model {name}(x: f32[8, 64]) -> f32[8, 64] {{", "  var h = x"]
    for layer in range(layers):
        terms = [f"h @ weight_{layer}_{i}" for i in range(TERMS)]
        if swap:
            terms.reverse()
        lines += [f"  param weight_{layer}_{i}: f32[64, 64]" for i in range(TERMS)]
        lines.append(f"  h = relu({' + '.join(terms)})")
    return "\n".join(lines + ["  for i in 0..500 { h = relu(relu(h)) + x }", "  h", "}"]) + "\n"


def egraph_json():
    nodes = {}
    for cls in range(3000):
        for alternative in range(3):
            below = [f"{(cls * 7 + alternative * 3 + k) % cls}.0" for k in range(2)] if cls else []
            nodes[f"{cls}.{alternative}"] = {"op": "f", "eclass": str(cls), "children": below,
                                             "cost": (cls * 31 + alternative * 17) % 19 + 1}
    return json.dumps({"nodes": nodes, "root_eclasses": ["2999", "2998"]})


def make_inputs(folder):
    (folder / "long.tg").write_text(network("long"))
    (folder / "pair.tg").write_text(network("one") + network("two", swap=True))
    (folder / "many.tg").write_text(network("many", layers=400))
    (folder / "few.tg").write_text("model few(x: f32[8, 64]) -> f32[8, 64] {\n" + "".join(
        f"  param w{i}: f32[64, 64]\n" for i in range(4)) + "  relu(x @ w0 + x @ w1 + x @ w2 + x @ w3)\n}\n")
    (folder / "egraph.json").write_text(egraph_json())
    (folder / "rule.tg").write_text("rule swapped(x, y) { x + y => y + x }\n")
    (folder / "prompt.txt").write_text(f":load {folder}/long.tg\n:set time-limit 1\n:set search saturate\n"
                                       ":set node-limit 2000000000\n:opt long\n:quit\n")
    trace = {"tangram_trace": 1}
    (folder / "trace.json").write_text(json.dumps(trace))


class Case:
    """A command line. `limited`: it has a time limit, without which it would not end. `out`: the model that it writes.
    `keeps`: it has a result at any time, so that a signal ends it with exit code 0."""

    def __init__(self, name, arguments, out=None, limited=False, keeps=False, stdin=None, codes=()):
        self.name, self.arguments, self.out = name, arguments, out
        self.limited, self.keeps, self.stdin = limited, keeps, stdin
        self.codes = set(codes)
        self.cores = 1 if "--threads" in arguments else os.cpu_count()  # RULES has one thread


def cases_of(folder):
    """Returns {command of `tg --help`: cases}."""
    model, out = str(folder / "long.tg"), str(folder / "out.tg")
    searches = [Case(f"opt {name}", ["opt", model, "-o", out, *RULES, *options], out, True, True)
                for name, options in SEARCHES.items()]
    verified = [Case(f"opt --verify {name}", ["opt", model, "-o", out, "--verify", *RULES, *SEARCHES[name]], out, True, True,
                     codes=[NOT_DECIDED]) for name in ("mcts", "saturate greedy")]
    traced = [Case("opt --trace", ["opt", model, "-o", out, "--trace", str(folder / "t.json"), *RULES], out, True, True)]
    explained = [Case(f"explain {name}", ["explain", model, "--quiet", *RULES, *SEARCHES[name]], None, True, True,
                      codes=[NO_ANSWER]) for name in ("mcts", "saturate greedy", "taso")]
    extracted = [Case(f"extract {name}", ["extract", str(folder / "egraph.json"), "--extract", name, "--quiet"], None, True, True)
                 for name in ("best", "ilp", "lp", "greedy-dag", "greedy-shared", "greedy")]
    return {
        "check": [Case("check", ["check", str(folder / "many.tg")])],
        "fmt": [Case("fmt", ["fmt", str(folder / "many.tg"), "-o", out], out)],
        "opt": searches + verified + traced,
        "explain": explained,
        "run": [Case("run", ["run", model, "--runs", "100000", "--quiet"]),
                Case("run --backend ref", ["run", model, "--backend", "ref", "--runs", "100000", "--quiet"]),
                Case("run --opt", ["run", model, "--opt", "--runs", "1", "--quiet", *RULES, *SEARCHES["mcts"]], None, True, True)],
        "export": [Case("export", ["export", model, "-o", str(folder / "out.onnx")])],
        "import": [Case("import", ["import", str(folder / "given.onnx"), "-o", out], out)],
        "weights": [Case("weights", ["weights", model, "-o", str(folder / "w.safetensors")])],
        "verify": [Case("verify", ["verify", str(folder / "pair.tg")], limited=True, codes=[1, NOT_DECIDED])],
        "extract": extracted,
        "rules list": [Case("rules list", ["rules", "list"])],
        "rules verify": [Case("rules verify", ["rules", "verify", "--instances", "100000", "--rule-cache",
                                               str(folder / "rules.verified")], limited=True, keeps=True,
                              codes=[NOT_DECIDED]),
                         Case("rules verify, one rule", ["rules", "verify", str(folder / "rule.tg"), "--instances", "1000000",
                                                         "--rule-cache", str(folder / "rules.verified")], limited=True,
                              keeps=True, codes=[NOT_DECIDED])],
        "report": [Case("report", ["report", str(folder / "trace.json"), "-o", str(folder / "t.html")], codes=[1])],
        "repl": [Case("repl", ["repl"], stdin=folder / "prompt.txt")],
        "bench demo": [Case("bench demo", ["bench", "demo", model, "--cost-db", str(folder / "costs.db")])],
        "calibrate": [Case("calibrate", ["calibrate", "--cost-db", str(folder / "calibrated.db")], limited=True, keeps=True)],
        "train": [Case("train", ["train", str(folder / "few.tg"), "-o", str(folder / "policy.safetensors"), "--by-prices",
                                 "--cost", "analytic:cpu", "--episodes", "100000", "--quiet", *RULES], limited=True, keeps=True,
                       codes=[NO_ANSWER])],  # not even one update was done
        "table": [Case("table", ["table", "vgg19", "--output", str(folder / "cells.json"), "--quiet"], codes=[1])],  # outside the tree
        "tune": [Case("tune", ["tune", model, "--cost-db", str(folder / "tuned.db"), "--reuse", "full"], limited=True, keeps=True)],
        "devices": [Case("devices", ["devices"])],
        "options": [Case("options", ["options"])],
        "ops": [Case("ops", ["ops"])],
        "errors": [Case("errors", ["errors"])],
        "help": [Case("help", ["help", "E0213"])],
    }


def listed_commands(tg):
    """Returns the commands: the first column of the text below the usage line."""
    text = subprocess.run([tg, "--help"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"(?m)^  ([a-z]+(?: [a-z]+)*)(?:  |$)", text.partition("\nusage: ")[2])


# --- running --------------------------------------------------------------------------------------


class Ended:
    """The outcome of a command: exit code (None if it did not end within the guard), seconds since the signal or the
    start, seconds until the signal, total processor seconds, and output."""

    def __init__(self, code, seconds, until, processor, said):
        self.code, self.seconds, self.until, self.processor, self.said = code, seconds, until, processor, said


def processor_seconds():
    """Returns the processor seconds of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(tg, case, folder, guard, extra=(), send=None, after=0.6):
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    before = processor_seconds()
    with open(case.stdin or os.devnull, "rb") as source:
        process = subprocess.Popen([tg, *case.arguments, *extra], stdin=source, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=environment, cwd=folder)
        start, until = time.monotonic(), 0
        if send is not None:
            try:
                process.wait(after)
            except subprocess.TimeoutExpired:
                until = time.monotonic() - start
                start = time.monotonic()
                process.send_signal(send)
        try:
            out, err = process.communicate(timeout=guard)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return Ended(None, guard, until, 0, "")
    return Ended(process.returncode, time.monotonic() - start, until, processor_seconds() - before, out + err)


def faults_of(tg, case, folder, ended, allowed, processor):
    code, said = ended.code, ended.said
    if code is None:
        yield "did not end"
        return
    if code not in allowed:
        yield f"exit code {code}, not one of {sorted(allowed)}: {said[-300:]}"
    if code not in (0, -signal.SIGINT, -signal.SIGTERM) and not said.strip():
        yield f"exit code {code} without a word"
    if ended.processor > processor:
        yield f"took {ended.processor:.1f} s of processor time, and may take {processor:.1f} s"
    written = case.out and Path(case.out).exists()
    if case.out and code in (0, NOT_DECIDED) and not written:
        yield "no result was written"
    if written and subprocess.run([tg, "check", case.out], capture_output=True).returncode != 0:
        yield "the written file is not valid"
    left = [p.name for p in folder.iterdir() if re.search(r"\.[0-9a-f]{8}$", p.name)]
    if left:
        yield f"temporary files are left: {left}"


def try_case(tg, case, folder, small):
    """Yields faults for each way in which the command is ended."""
    ways = [("SIGINT", 0, signal.SIGINT), ("SIGTERM", 0, signal.SIGTERM)]
    if case.limited:
        ways = [("a limit of 1 s", 1, None), ("a limit of 0 s", 0, None)] + ways
    for way, limit, send in ways:
        if case.out:
            Path(case.out).unlink(missing_ok=True)
        extra = [] if send is not None else ["--time-limit", str(limit)]
        ended = run(tg, case, folder, small.guard, extra, send)
        allowed = {0} | case.codes
        if send is not None and not case.keeps:
            allowed.add(-send)
        # Work that cannot be interrupted depends on the build and the machine; `small` measures it.
        processor = case.cores * (ended.until + limit + GRACE) + small.processor
        if send is not None and ended.until == 0:
            processor = float("inf")  # it ended by itself
        yield from (f"{case.name}, {way}: {fault}" for fault in faults_of(tg, case, folder, ended, allowed, processor))
        print(f"{case.name}, {way}: exit code {ended.code} after {ended.seconds:.1f} s, {ended.processor:.1f} of "
              f"{processor:.1f} s of processor time", flush=True)


class Small:
    """Measures the optimisation of a small network, to scale limits on slow machines and slow builds."""

    def __init__(self, tg, folder):
        start, before = time.monotonic(), processor_seconds()
        small = folder / "small.tg"
        small.write_text(network("small", layers=2))
        subprocess.run([tg, "opt", str(small), "--search", "saturate", "--iterations", "3", "--extract", "greedy",
                        "--cost-db", str(folder / "costs.db"), "--quiet"], check=True, capture_output=True)
        self.guard = 10 + 20 * (time.monotonic() - start)
        self.processor = processor_seconds() - before


def main():
    tg, chosen = str(Path(sys.argv[1]).resolve()), sys.argv[2:]
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_inputs(folder)
        subprocess.run([tg, "export", str(folder / "long.tg"), "-o", str(folder / "given.onnx"), "--quiet"], check=True)
        cases = cases_of(folder)
        listed = listed_commands(tg)
        found += [f"`tg {command}` has no case here" for command in listed if command not in cases]
        found += [f"`tg --help` does not list `{command}`" for command in cases if command not in listed]
        small = Small(tg, folder)
        for command in cases:
            for case in cases[command]:
                if not chosen or any(case.name.startswith(begin) for begin in chosen):
                    found += try_case(tg, case, folder, small)
    for fault in found:
        print("FAULT:", fault)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
