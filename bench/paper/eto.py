#!/usr/bin/env python3
"""Recomputes the published tables of ETO: reuse between operators against full searches, by operator type and by
network.

    ./dev bench -- paper eto [--output cells.json]      everything, 30 minutes at a time; resumes where it stopped
    bench/paper/eto.py [--tg build/tg-paper] [--threads N] [--trials N] [--seeds N] [--only NAME,...] [--kinds KIND,...]
                       [--total-limit S] [--output FILE] [--print]

A cell is a file (an operator type of `examples/paper/eto`, or a network), a kind of reuse and a seed: one `tg-paper
tune` from scratch, with its own database. It is kept in FILE (eto_cells.json) under its setting: program, processor,
threads, trials. Cells of one setting are never computed twice, and those of other settings stay in the file, so a run
can be interrupted at any time. `--print` computes nothing. Types for which we have no program are marked. Full searches
continue to the end (`--tuner to-the-end`), at the latest after 256 trials without a gain; all other searches end by the
default criteria.

Throughput is that of the best programs, each timed interleaved with the default schedule, in percent of that of the
full search: for a type the geometric mean over its operators, for a network weighted by occurrences. Figures are
medians over seeds. The speedup is that over the full search's seconds until its best program, as published; neither
includes the final comparisons.
"""

import argparse
import hashlib
import json
import math
import pathlib
import re
import statistics
import sys
import tempfile
import time

from kept import ROOT, Commands, run_main

REUSE = ["full", "eto", "no-bridges", "top", "selective", "random"]  # other kinds are eto with the switch of that name
KINDS = [*REUSE, "all-bridges", "random-shapes", "to-the-end"]
OF_TYPES = ["full", "eto", "top", "random-shapes"]
OF_NETWORKS = ["full", "eto", "no-bridges", "all-bridges", "top", "selective", "random", "random-shapes", "to-the-end"]


def published():
    rows = {"TYPE": [], "NETWORK": [], "BRIDGES": []}
    for line in (ROOT / "bench/paper/eto.def").read_text(encoding="utf-8").splitlines():
        if found := re.match(r'TG_ETO_(\w+)\("(\w+)", (.*)\)$', line):
            kind, name, numbers = found.groups()
            rows[kind].append((name, [float(n) for n in numbers.split(",")]))
    return rows


def file_of(name):
    return f"examples/paper/eto/{name.lower()}.tg" if name.isupper() else f"examples/{name}.tg"


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def setting(options):
    """Returns the setting that cells depend on. It includes the program, so two programs never share cells."""
    program = hashlib.sha1(options.tg.read_bytes()).hexdigest()[:12]
    return f"program {program}; {processor()}; {options.threads} threads; {options.trials} trials"


class Cells:
    def __init__(self, path, of):
        self.path, self.of = pathlib.Path(path), of
        self.all = json.loads(self.path.read_text(encoding="utf-8")) if self.path.exists() else {}
        self.here = self.all.setdefault(of, {})

    def find(self, name, kind, seed):
        return self.here.get(f"{name} {kind} {seed}")

    def add(self, name, kind, seed, cell):
        self.here[f"{name} {kind} {seed}"] = cell
        new = self.path.with_name(self.path.name + ".new")
        new.write_text(json.dumps(self.all, indent=1) + "\n", encoding="utf-8")
        new.replace(self.path)


def trials_of(options, cells, name, kind, seed):
    """Returns the maximum number of trials per operator. `random` gets as many as reuse needed on average."""
    eto = cells.find(name, "eto", seed)
    if kind != "random" or not eto or not tuned(eto):
        return options.trials
    return max(1, round(eto["trials"] / len(tuned(eto))))


def compute(options, commands, name, kind, seed, trials):
    """Computes one cell. Ctrl-C and errors end the run."""
    reuse, switches = (kind, []) if kind in REUSE else ("eto", [kind])
    if kind == "full":
        switches = ["to-the-end"]
    with tempfile.TemporaryDirectory() as folder:
        command = [options.tg, "tune", file_of(name), "--reuse", reuse, "--json", "--seed", seed, "--trials", trials,
                   "--threads", options.threads, "--cost-db", f"{folder}/costs.db",
                   "--tuner", ",".join(["by-rule", *switches])]
        done = commands.run(command)
    commands.end_if_asked()
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr}")
    report = json.loads(done.stdout)
    if report["stopped"]:
        sys.exit(f"paper eto: {name} {kind} was interrupted; finished cells are kept")
    lines = [line for line in report["operators"] if line["state"] != "not tuned"]
    return {"most": trials, "trials": report["trials"], "seconds": sum(line["seconds"] for line in lines),
            "operators": [{key: line.get(key, 0) for key in (
                "name", "occurrences", "untuned_us", "best_us", "trials", "trials_to_best", "seconds", "compared_seconds",
                "expected", "planned", "reused_from")} for line in lines]}


def tuned(cell):
    return [line for line in cell["operators"] if line["best_us"] > 0]


def gain_of_type(cell):
    return math.exp(statistics.mean(math.log(line["untuned_us"] / line["best_us"]) for line in tuned(cell)))


def gain_of_network(cell):
    untuned = sum(line["occurrences"] * line["untuned_us"] for line in tuned(cell))
    return untuned / sum(line["occurrences"] * line["best_us"] for line in tuned(cell))


def to_best(cell):
    """Returns the trials and the seconds until the best program, summed over operators."""
    shares = [(line["trials_to_best"] or line["trials"], line) for line in cell["operators"] if line["trials"] > 0]
    until_best = [(line["seconds"] - line["compared_seconds"]) * best / line["trials"] for best, line in shares]
    return sum(best for best, _ in shares), sum(until_best)


def searching(cell):
    """Returns the seconds without each operator's final comparison, which the publication does not have."""
    return sum(line["seconds"] - line["compared_seconds"] for line in cell["operators"])


def wanted(options, rows):
    for rows_of, kinds in (("TYPE", OF_TYPES), ("NETWORK", OF_NETWORKS)):
        for name, _ in rows[rows_of]:
            if not options.only or name in options.only:
                yield from ((name, kind) for kind in kinds if not options.kinds or kind in options.kinds)


def run(options, cells, rows):
    start, commands = time.monotonic(), Commands()
    for seed in range(1, options.seeds + 1):  # seed by seed, so that a partial run covers all rows
        for name, kind in wanted(options, rows):
            if cells.find(name, kind, seed):
                continue
            if time.monotonic() - start > options.total_limit:
                print(f"paper eto: {options.total_limit:.0f} s are over; the next run continues from here", file=sys.stderr)
                return
            trials = trials_of(options, cells, name, kind, seed)
            cells.add(name, kind, seed, compute(options, commands, name, kind, seed, trials))
            print(f"{name} {kind}, seed {seed}", file=sys.stderr, flush=True)


class Medians:
    """One row's throughput in percent of the full search's, trials, and speedups, as medians over seeds."""

    def __init__(self, options, cells, name):
        self.gain = gain_of_type if name.isupper() else gain_of_network
        self.cells = {kind: [cell for seed in range(1, options.seeds + 1) if (cell := cells.find(name, kind, seed))]
                      for kind in KINDS}
        self.full = self.cells["full"]

    def has(self, kind):
        return bool(self.full and self.cells[kind] and all(tuned(cell) for cell in self.full + self.cells[kind]))

    def median(self, kind, of):
        return statistics.median(of(cell) for cell in self.cells[kind])

    def throughput(self, kind):
        if not self.has(kind):
            return "-"
        full = self.median("full", self.gain)
        all_of = [100 * self.gain(cell) / full for cell in self.cells[kind]]
        spread = f" [{min(all_of):.1f}, {max(all_of):.1f}]" if len(all_of) > 1 else ""
        return f"{statistics.median(all_of):.1f}{spread}"

    def speedup(self, kind):
        if not self.has(kind):
            return "-"
        return f"{self.median('full', lambda c: to_best(c)[1]) / max(1e-9, self.median(kind, searching)):.1f}"

    def trials(self, kind):
        return f"{self.median(kind, lambda c: c['trials']):.0f}" if self.has(kind) else "-"

    def row(self, kind):
        def spread(of, form):
            values = sorted(of(cell) for cell in self.cells[kind])
            return f"{statistics.median(values):{form}} [{values[0]:{form}}, {values[-1]:{form}}]"
        return (f"{len(self.cells[kind])} | {spread(lambda c: c['trials'], '.0f')} | {spread(lambda c: c['seconds'], '.1f')} | "
                f"{spread(self.gain, '.3f')} | {self.throughput(kind)} | {self.ratio(kind)} |")

    def ratio(self, kind):
        """Returns the mean ratios of expected to actual trials of reuses: expected by the tree, and at the start."""
        lines = [line for cell in self.cells[kind] for line in cell["operators"] if line["reused_from"] and line["trials"] > 0]
        if not lines:
            return "-"
        return " / ".join(f"{statistics.mean(line[which] / line['trials'] for line in lines):.2f}"
                          for which in ("planned", "expected"))


def tables(options, cells, rows):
    yield "| type | published ETO %, x, TopK % | operators | ours: eto % | x | trials eto / full | TopK % | random shapes % | expected / actual |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|--:|"
    for name, (percent, faster, top) in rows["TYPE"]:
        row, theirs = Medians(options, cells, name), f"| {name} | {percent}, {faster}, {top} |"
        if row.full and not any(map(tuned, row.full)):
            yield f"{theirs} 0 | not supported | | | | | |"
            continue
        count = len(tuned(row.full[0])) if row.full else 0
        yield (f"{theirs} {count or '-'} | {row.throughput('eto')} | {row.speedup('eto')} | {row.trials('eto')} / "
               f"{row.trials('full')} | {row.throughput('top')} | {row.throughput('random-shapes')} | {row.ratio('eto')} |")
    yield ""
    yield "| network | published ETO %, x; selective %, x | ours: eto % | x | trials eto / full | selective %, x | expected / actual |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for name, (percent, faster, selective, selective_faster) in rows["NETWORK"]:
        row = Medians(options, cells, name)
        yield (f"| {name} | {percent}, {faster}; {selective}, {selective_faster} | {row.throughput('eto')} | {row.speedup('eto')} | "
               f"{row.trials('eto')} / {row.trials('full')} | {row.throughput('selective')}, {row.speedup('selective')} | "
               f"{row.ratio('eto')} |")
    yield ""
    yield "| bridges of | published none, one hop, all: %, x | none %, x, trials | one hop | all |"
    yield "|---|--:|--:|--:|--:|"
    for name, numbers in rows["BRIDGES"]:
        row = Medians(options, cells, name)
        theirs = "; ".join(f"{numbers[i]}, {numbers[i + 1]}" for i in range(0, 6, 2))
        ours = " | ".join(f"{row.throughput(kind)}, {row.speedup(kind)}, {row.trials(kind)}"
                          for kind in ("no-bridges", "eto", "all-bridges"))
        yield f"| {name} | {theirs} | {ours} |"
    yield ""
    yield "| network | reuse | runs | trials | seconds | untuned / tuned | % of the full search | expected / actual |"
    yield "|---|---|--:|--:|--:|--:|--:|--:|"
    for name, _ in rows["NETWORK"]:
        row = Medians(options, cells, name)
        yield from (f"| {name} | {kind} | {row.row(kind)}" for kind in OF_NETWORKS if row.cells[kind])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tg", default=ROOT / "build" / "tg-paper", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--only", type=lambda text: text.split(","), help="types and networks; default: all")
    parser.add_argument("--kinds", type=lambda text: text.split(","), help=f"some of {', '.join(KINDS)}; default: those of the tables")
    parser.add_argument("--total-limit", type=float, default=1800, metavar="S", help="seconds; the next run computes the remaining cells")
    parser.add_argument("--output", default="eto_cells.json")
    parser.add_argument("--print", action="store_true", help="print the tables of the finished cells")
    options = parser.parse_args()
    options.tg = options.tg.resolve()
    rows = published()
    for option, known in (("only", [name for of in ("TYPE", "NETWORK") for name, _ in rows[of]]), ("kinds", KINDS)):
        if unknown := set(getattr(options, option) or ()) - set(known):
            parser.error(f"--{option}: unknown: {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    cells = Cells(options.output, setting(options))
    if not options.print:
        run(options, cells, rows)
    print("\n".join(tables(options, cells, rows)))


if __name__ == "__main__":
    sys.exit(run_main(main))
