#!/usr/bin/env python3
"""Runs the benchmark programs of a build (bench/*_bench.cpp) and keeps their results.

    bench/run.py --build build [NAME...] [--results DIR]
    bench/run.py --build build paper [ARGUMENT...]    `tg-paper table`, which keeps its own file
    bench/run.py --build build paper agents [ARGUMENT...]    agents_bench: policies that guide the tree search
    bench/run.py --build build paper eto [ARGUMENT...]    bench/paper/eto.py: the operator tuner, type by type
    bench/run.py --build build paper guided [ARGUMENT...]    bench/paper/guided.py: the shipped search with a guide
    bench/run.py --build build paper xrlflow [ARGUMENT...]    bench/paper/xrlflow.py: X-RLflow's experiment

Writes NAME.json and NAME.md to bench/results/ for each program, with machine, commit, date, and the
results: Google Benchmark's JSON, or the JSON that the program itself writes (if its head comment has
`--json FILE`), or else its output. Timings require an idle machine; the load average at the start is
recorded, and a high one is reported.
"""
import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: The comparisons of `paper` other than that of tree searches: programs of a build, and scripts over its `tg`.
PAPER = {"agents": Path("agents_bench"), "eto": Path("paper/eto.py"), "guided": Path("paper/guided.py"),
         "xrlflow": Path("paper/xrlflow.py")}


def processor():
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def setting():
    """Returns the machine, the commit and the date of the measurement."""
    commit = git("rev-parse", "--short=12", "HEAD") or "unknown"
    return {
        "machine": f"{processor()}, {len(os.sched_getaffinity(0))} cores, {platform.system()}",
        "commit": commit + ("+changes" if git("status", "--porcelain", "-uno") else ""),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "load_average": round(os.getloadavg()[0], 2),
    }


def summary_rows(report):
    """Returns (name, value, unit, counters) of each benchmark; medians if there are repetitions."""
    rows = report["benchmarks"]
    medians = [row for row in rows if row.get("aggregate_name") == "median"]
    known = {"name", "run_name", "run_type", "repetitions", "repetition_index", "threads",
             "iterations", "real_time", "cpu_time", "time_unit", "family_index", "label",
             "per_family_instance_index", "aggregate_name", "aggregate_unit"}
    for row in medians or rows:
        if row.get("error_occurred"):
            yield row["name"], None, row.get("error_message", "failed"), {}
        else:
            counters = {k: v for k, v in row.items() if k not in known}
            yield row["name"], row["real_time"], row["time_unit"], counters


def markdown(name, record, text):
    lines = [f"# {name}", "", f"{record['machine']}; commit {record['commit']}; {record['date']}; "
             f"load average at the start {record['load_average']}.", ""]
    if "benchmark" in record:
        lines += ["| benchmark | median | counters |", "|---|---|---|"]
        for row, value, unit, counters in summary_rows(record["benchmark"]):
            time = unit if value is None else f"{value:.4g} {unit}"
            shown = ", ".join(f"{k} {v:.4g}" if isinstance(v, (int, float)) else f"{k} {v}"
                              for k, v in counters.items())
            lines.append(f"| {row} | {time} | {shown} |")
    else:
        lines += ["```", text.rstrip(), "```"]
    return "\n".join(lines) + "\n"


def json_options(name, out):
    """Returns the options with which a program writes JSON, according to its source."""
    source = (ROOT / "bench" / f"{name}.cpp").read_text(encoding="utf-8")
    if "benchmark/benchmark.h" in source:
        return [f"--benchmark_out={out}", "--benchmark_out_format=json"]
    return ["--json", out] if "--json FILE" in source else []


def keep_results(results, record, text):
    """Writes both files of a result: the JSON record and the Markdown page."""
    results.mkdir(parents=True, exist_ok=True)
    (results / f"{record['program']}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    (results / f"{record['program']}.md").write_text(text, encoding="utf-8")


def run(program, results):
    """Runs one program and returns its exit code."""
    name = program.name
    record = {"program": name, **setting()}
    print(f"--- {name}", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch, "out.json")
        command = [program, *json_options(name, out)]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
        print(done.stdout, end="", flush=True)
        if done.returncode != 0:
            print(f"bench: {name} exited with {done.returncode}; nothing is kept", file=sys.stderr)
            return 1
        measured = json.loads(out.read_text(encoding="utf-8")) if out.exists() else None
    if isinstance(measured, dict) and "benchmarks" in measured:
        # Google Benchmark writes paths and the machine's name; the record already has the relevant part.
        for key in ("executable", "host_name"):
            measured.get("context", {}).pop(key, None)
        record["benchmark"] = measured
    elif measured is not None:
        record["measured"] = measured
    else:
        record["output"] = done.stdout.splitlines()
    keep_results(results, record, markdown(name, record, done.stdout))
    return 0


def paper_command(build, arguments):
    """Returns the command of `paper`: the comparison that the first argument names, or the table of tree searches."""
    program = PAPER.get(arguments[0]) if arguments else None
    if program is None:
        return [build / "tg-paper", "table", *arguments]
    if program.suffix == ".py":
        return [sys.executable, ROOT / "bench" / program, "--tg", build / "tg-paper", *arguments[1:]]
    return [build / "bench" / program, *arguments[1:]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", default="build", type=Path)
    parser.add_argument("--results", default=ROOT / "bench" / "results", type=Path)
    parser.add_argument("names", nargs="*", help="programs, without _bench; default: all")
    own, paper = sys.argv[1:], None
    if "paper" in own:
        own, paper = own[:own.index("paper")], own[own.index("paper") + 1:]
    options = parser.parse_args(own)
    if paper is not None:  # replaces this process, so that the command handles Ctrl-C itself
        command = list(map(str, paper_command(ROOT / options.build, paper)))
        os.chdir(ROOT)
        os.execv(command[0], command)
    programs = sorted(p for p in (ROOT / options.build / "bench").glob("*_bench")
                      if os.access(p, os.X_OK) and p.name != PAPER["agents"].name)  # it trains first
    if options.names:
        wanted = {name.removesuffix("_bench") for name in options.names}
        unknown = wanted - {p.name.removesuffix("_bench") for p in programs}
        if unknown:
            sys.exit(f"bench: no program {', '.join(sorted(unknown))}")
        programs = [p for p in programs if p.name.removesuffix("_bench") in wanted]
    if not programs:
        sys.exit("bench: no benchmark programs in this build")
    if os.getloadavg()[0] > 0.5:
        print(f"bench: the load average is {os.getloadavg()[0]:.1f}; timings will be noisy", file=sys.stderr)
    return max(run(program, options.results) for program in programs)


if __name__ == "__main__":
    sys.exit(main())
