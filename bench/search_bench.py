#!/usr/bin/env python3
"""Makes the tables of the search: its results and its time, compared with the published searches.

    bench/search_bench.py --tg build-release/tg [SECTION...] [--quick]

    quality      thirteen networks by every approach of `paper` (bench/paper), under analytic prices and
                 two rule sets: mean and deviation over seeds; time and memory of the shipped search;
                 seconds of the published search on our e-graph against its published seconds
    measured     the same by prices measured on this machine
    ablations    the shipped search without each of its parts, at two limits of work
    beyond       50,000 e-nodes and 10 s against 2,000, under analytic and measured prices and two rule
                 sets, with the gap to the extraction bound and the largest e-graph with a proved optimum
    exploration  TENSAT's schedule alone, in egg's compatible mode, against TENSAT on egg
    determinism  the same seed with 1 and 2 threads must give identical graphs
    examples     every example by the default search and by saturation alone

Runs one process at a time. Every run is kept in a file (`--state`, by program and command), so an
interrupted benchmark resumes. The tables of quality and measured also keep their earlier content
(results/search_SECTION.json) where there is nothing newer; under measured prices whole networks are
kept or replaced, because prices of two machines cannot be compared. `--baselines` reuses cells of
approaches other than the shipped one from any program and from the table: those searches do not
change, and the table names the programs. Costs do not depend on the load of the machine, unless a
time limit ended a run, which is marked. Seconds depend on the load, processor seconds hardly.
Prices are measured before the cells of a network are computed, so that every approach uses the same
ones. On a shared machine, `--clock processor` replaces wall time by processor time in programs of
one thread (processor_clock.c): in limits, seconds and measured prices.
"""
import argparse
import hashlib
import json
import os
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import run as bench_run
import search_tables as tables

ROOT = Path(__file__).resolve().parent.parent
NETWORKS = ["bert", "inceptionv3", "mobilenetv2", "nasneta", "nasrnn", "resnet50", "resnext50",
            "squeezenet", "vgg19", "transformer_transducer", "vit_base", "vit_large", "vit_huge"]
APPROACHES = ["tensat", "greedy+greedy", "greedy+ilp", "shared+shared", "shared+ilp", "ilp+ilp",
              "tangram", "anneal", "taso"]
PARTS = ["firing", "priors", "segments", "repeats", "saturation", "tree", "thorough", "focus"]
BINDING = ["nasneta", "nasrnn", "vit_huge", "bert", "transformer_transducer"]
TENSAT_NETWORKS = ["bert", "nasrnn", "squeezenet", "vgg19", "resnet50", "resnext50", "mobilenetv2",
                   "inceptionv3", "nasneta"]


def unsound_rules():
    """Returns (text, names) of the unsound published rules. Two are left out: type inference already
    rejects them for operands that broadcast, and for others they equal their repaired forms. Rules
    that occur twice, in two forms, get unique names."""
    text = (ROOT / "bench/paper/taso_unsound.tg").read_text(encoding="utf-8")
    start, *blocks = re.split(r"^(?=rule )", text, flags=re.MULTILINE)
    names, kept = [], []
    for block in blocks:
        name = re.match(r"rule (\w+)", block).group(1)
        if name in ("taso_068", "taso_069"):
            continue
        kept.append(block.replace(f"rule {name}(", f"rule {name}_as_published_{len(kept)}(", 1))
        names.append(name)
    return start + "".join(kept), sorted(set(names))


def clocked(report):
    """Returns true if an extraction was stopped by the time limit: a less busy machine may find more."""
    return any("stopped by the time limit" in note for note in report.get("notes", []))


class Bench:
    """The programs and settings of a measurement, and the completed runs."""

    def __init__(self, options):
        self.options = options
        self.tg = str(Path(options.tg).resolve())
        self.paper_tool = str(Path(options.paper or Path(self.tg).parent / "tg-paper").resolve())
        self.program = hashlib.sha256(Path(self.tg).read_bytes()).hexdigest()[:12]
        self.state = Path(options.state)
        if options.threads != 1:
            self.state /= f"threads_{options.threads}"  # cells of older programs do not record it
        self.environment = dict(os.environ)
        if options.clock == "processor":
            self.state /= "processor_clock"  # runs that one clock ended cannot be reused with the other
        self.state.mkdir(parents=True, exist_ok=True)
        if options.clock == "processor":
            self.environment["LD_PRELOAD"] = self.processor_clock()
        self.cells_file = self.state / "cells.json"
        self.runs_file = self.state / "runs.json"
        self.costs_file = Path(options.cost_db or self.state / "costs.db")
        self.runs = json.loads(self.runs_file.read_text()) if self.runs_file.exists() else {}
        self.setting = {"program": self.program, **bench_run.setting(), "clock": options.clock}
        if options.commit:
            self.setting["commit"] = options.commit
        self.computed = 0  # runs and cells computed now
        self.paper_program, self.programs, self.kept = "", {}, {}

    def know_program(self):
        """Finds the name under which `paper` keeps cells, and records the setting of each program's cells."""
        out, _ = self.call("table", "resnet50", "--total-limit", "0", "--json", "--output", str(self.state / "none.json"),
                           program=self.paper_tool)
        self.paper_program = tables.parts_of(json.loads(out)["setting"])["program"]
        file = self.state / "programs.json"
        self.programs = json.loads(file.read_text()) if file.exists() else {}
        self.programs.setdefault(self.paper_program, self.setting)
        file.write_text(json.dumps(self.programs, indent=1) + "\n")

    def call(self, *arguments, program=None):
        """Returns (standard output, resource usage of the process without the solver)."""
        child = subprocess.Popen([program or self.tg, *arguments], cwd=ROOT, env=self.environment,
                                 stdout=subprocess.PIPE, text=True)
        out = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            sys.exit(f"search_bench: {program or 'tg'} {' '.join(arguments)}: exit {child.returncode}")
        return out, usage

    def processor_clock(self):
        """Returns the path of the library and builds it if it is missing."""
        library = (self.state / "processor_clock.so").resolve()
        if not library.exists():
            subprocess.run([os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", "-o", library,
                            ROOT / "bench/processor_clock.c", "-ldl"], check=True)
        return str(library)

    def say(self, what):
        self.computed += 1
        print(what, file=sys.stderr, flush=True)

    def opt(self, network, *arguments, repeat=1):
        """Returns the reports of `repeat` runs of `tg opt --json`, which are kept for each program."""
        key = " ".join([self.program, network, *arguments])
        runs = self.runs.setdefault(key, [])
        while len(runs) < repeat:
            self.say(f"{network} {' '.join(arguments)}")
            out, used = self.call("opt", f"examples/paper/{network}.tg", *arguments, "--json")
            report = json.loads(out)
            kept = {name: report.get(name) for name in
                    ("cost_before_us", "cost_after_us", "lower_bound_us", "bounds", "optimal", "egraph_nodes",
                     "egraph_classes", "explore_s", "extract_s", "total_s", "stopped_by",
                     "simulations", "egraphs")}
            runs.append({**kept, "clocked": clocked(report), "peak_mb": used.ru_maxrss / 1024,
                         "processor_s": used.ru_utime + used.ru_stime, "load": os.getloadavg()[0]})
            self.save()
        return runs[:repeat]

    def save(self):
        scratch = self.runs_file.with_suffix(".new")
        scratch.write_text(json.dumps(self.runs, indent=0) + "\n")
        scratch.replace(self.runs_file)

    # --- quality --------------------------------------------------------------------------------

    def paper_command(self, network, approach, cost, rules, seeds, cells_file):
        o = self.options
        arguments = ["table", network, "--approach", approach, "--seeds", str(seeds),
                     "--threads", "1", "--search-threads", str(o.threads),  # operators are priced on one thread
                     "--cost", cost, "--time-limit", str(o.time_limit),
                     "--ilp-limit", str(o.ilp_limit), "--total-limit", "1e9", "--output", str(cells_file),
                     "--json", *([] if rules == "all" else ["--rules", rules])]
        if cost.startswith("measured"):
            arguments += ["--cost-db", str(self.costs_file)]
        return arguments

    def prices_known(self):
        if not self.costs_file.exists():
            return 0
        with closing(sqlite3.connect(self.costs_file)) as db:
            return db.execute("SELECT count(*) FROM cost").fetchone()[0]

    def time_operators(self, network, cost, rules):
        """Runs the shipped search, which needs the most prices, with every seed until no price is new, and
        discards its cells. The kept cells then include no timing of operators."""
        def search():
            with tempfile.TemporaryDirectory() as scratch:
                self.call(*self.paper_command(network, "tangram", cost, rules, self.options.seeds,
                                              Path(scratch, "cells.json")), program=self.paper_tool)
        # Another program needs other prices.
        self.repeat_until_known(f"prices {network} {cost} {rules} {self.paper_program}", search)

    def repeat_until_known(self, key, search):
        """Calls `search` until it times no operator, at most three times; once for each key."""
        known = self.runs.get(key, [])
        while len(known) < 3 and (not known or known[-1]["new"]):
            before, start = self.prices_known(), time.monotonic()
            self.say(key)
            search()
            known.append({"new": self.prices_known() - before, "seconds": time.monotonic() - start,
                          "load": os.getloadavg()[0]})
            self.runs[key] = known
            self.save()

    def paper(self, network, approach, cost, rules):
        """Computes the cells of one network and approach with `paper`, and records its peak memory."""
        seeds = self.options.seeds if approach == "tangram" else self.options.baseline_seeds
        before = self.prices_known()
        out, used = self.call(*self.paper_command(network, approach, cost, rules, seeds, self.cells_file),
                              program=self.paper_tool)
        report = json.loads(out)
        if report["cells_computed"]:
            self.say(f"{network} {approach} {cost} {rules}")
            key = f"{report['setting']} {network} {approach}"
            self.runs["new prices " + key] = self.prices_known() - before
            self.runs["peak " + key] = max(used.ru_maxrss / 1024, self.runs.get("peak " + key, 0))
            self.save()

    def cells(self):
        own = json.loads(self.cells_file.read_text()) if self.cells_file.exists() else {}
        return tables.with_kept(own, self.kept)

    def keep(self, section):
        """Loads the earlier content of the section's table."""
        file = self.options.results / f"search_{section}.json"
        if not file.exists():
            return
        record = json.loads(file.read_text(encoding="utf-8"))
        if self.options.threads != 1:  # the earlier table has seconds of one thread
            record["cells"] = [row for row in record["cells"] if row["approach"] != "tangram"]
        self.kept, peaks = tables.kept_cells(record)
        self.runs = {**peaks, **self.runs}
        self.programs = {**record.get("programs", {}), **self.programs}

    def quality(self):
        return self.by_prices("quality", "Results of the search", self.options.costs)

    def measured(self):
        return self.by_prices("measured", "Results of the search by measured prices", ["measured:cpu"])

    def by_prices(self, section, title, costs):
        o = self.options
        self.know_program()
        self.keep(section)
        for cost in costs:
            for rules in o.rule_sets:
                for network in o.networks:
                    self.network_cells(network, cost, rules)
        # The table shows all known cells, not only those computed now.
        self.options = argparse.Namespace(**{**vars(o), "networks": NETWORKS, "approaches": APPROACHES,
                                             "rule_sets": ["all", "taso"]})
        table = tables.quality(self, title, costs)
        self.options = o
        return table

    def network_cells(self, network, cost, rules):
        o = self.options
        if o.tables_only:
            return
        done = {c["approach"] for name, cells in self.cells().items() if tables.matches(name, cost, rules)
                for c in cells if c["model"] == network}
        if cost.startswith("measured"):
            self.time_operators(network, cost, rules)
        for approach in o.approaches:
            if not (o.baselines and approach != "tangram" and approach in done):
                self.paper(network, approach, cost, rules)

    # --- the others -----------------------------------------------------------------------------

    def shipped_arguments(self, *arguments, seed=1, nodes=2000, seconds=600, cost="analytic:a100"):
        # Measured prices are used without whole runs of finalists, which do not measure the search.
        prices = ["--cost-db", str(self.costs_file), "--finalists", "0"] if cost.startswith("measured") else []
        return ["--search", "mcts", "--cost", cost, *prices, "--node-limit", str(nodes), "--time-limit",
                str(seconds), "--threads", "1", "--seed", str(seed), *arguments]

    def shipped(self, network, *arguments, **limits):
        return self.opt(network, *self.shipped_arguments(*arguments, **limits))[0]

    def ablations(self):
        """Collects runs by limit of work, omitted part (or several joined by +), and network."""
        o = self.options
        limits = {budget: {} for budget in o.budgets}
        for budget, rows in limits.items():
            for network in o.networks:
                for part in [None, *o.parts]:
                    without = ["--without", part.replace("+", ",")] if part else []
                    rows[part, network] = [self.shipped(network, *without, "--budget", str(budget), seed=s)
                                           for s in range(1, o.ablation_seeds + 1)]
        return tables.ablations(self, limits)

    def beyond(self):
        """Collects runs by prices, rule set, network and limit."""
        o = self.options
        networks = [n for n in BINDING if n in o.networks] or o.networks[:1]
        settings = {(cost, rules): {} for cost in o.beyond_costs for rules in o.rule_sets}
        for (cost, rules), rows in settings.items():
            which = [] if rules == "all" else ["--rules", rules]
            for network in networks:
                if cost.startswith("measured"):
                    self.time_beyond(network, cost, which)
                for nodes in (2000, 50000):
                    rows[network, nodes] = [self.shipped(network, *which, nodes=nodes, seed=s, seconds=10, cost=cost)
                                            for s in range(1, o.beyond_seeds + 1)]
        return tables.beyond(self, settings)

    def time_beyond(self, network, cost, which):
        """Like time_operators(), with a long limit, so that kept runs do not lose time to timing."""
        def search():
            for nodes in (2000, 50000):
                for seed in range(1, self.options.beyond_seeds + 1):
                    self.call("opt", f"examples/paper/{network}.tg", "--json", *self.shipped_arguments(
                        *which, nodes=nodes, seed=seed, seconds=120, cost=cost))
        self.repeat_until_known(f"{self.program} prices beyond {network} {cost} {' '.join(which)}", search)

    def exploration(self):
        rows = {}
        with tempfile.TemporaryDirectory() as scratch:
            as_published = Path(scratch, "taso_unsound.tg")
            text, names = unsound_rules()
            as_published.write_text(text, encoding="utf-8")
            published = ["--rules", ",".join(["taso", *("-" + n for n in names), str(as_published)]),
                         "--trust-rules"]
            for network in [n for n in TENSAT_NETWORKS if n in self.options.networks]:
                for k in (1, 2):
                    for form, rules in (("sound", ["--rules", "taso"]), ("published", published)):
                        rows[network, k, form] = self.explore(network, k, form, rules)
        return tables.exploration(self, rows, len(names))

    def explore(self, network, k, form, rules):
        key = f"{self.program} explore {network} {k} {form}"
        runs = self.runs.setdefault(key, [])
        if len(runs) < self.options.repeat:
            self.say(f"{network} exploration, k_multi {k}, {form} rules")
        while len(runs) < self.options.repeat:
            out, _ = self.call(
                "opt", f"examples/paper/{network}.tg", "--search", "saturate", "--backoff",
                "--iterations", "15", "--multi-iterations", str(k), "--node-limit", "50000",
                "--extract", "greedy", "--cost", "analytic:a100", "--threads", "1", *rules, "--json")
            report = json.loads(out)
            runs.append({"explore_s": report["explore_s"], "nodes": report["egraph_nodes"],
                         "classes": report["egraph_classes"], "stopped_by": report["stopped_by"]})
            self.save()
        start = self.opt(network, "--search", "none", "--cost", "analytic:a100")[0]
        return {**runs[0], "start": start["egraph_nodes"],
                "min_s": min(r["explore_s"] for r in runs),
                "median_s": statistics.median(r["explore_s"] for r in runs)}

    def determinism(self):
        """Checks that graphs are identical, by network and rule set."""
        rows = {}
        for network in self.options.networks:
            for rules in self.options.rule_sets:
                key = f"{self.program} determinism {network} {rules}"
                if key not in self.runs:
                    self.say(f"{network} determinism, {rules} rules")
                    self.runs[key] = [self.written(network, rules, t) for t in (1, 2, 1)]
                    self.save()
                rows[network, rules] = self.runs[key]
        return tables.determinism(self, rows)

    def written(self, network, rules, threads):
        with tempfile.TemporaryDirectory() as scratch:
            file = Path(scratch, "result.tg")
            out, _ = self.call(
                "opt", f"examples/paper/{network}.tg", "--search", "mcts", "--cost",
                "analytic:a100", "--node-limit", "2000", "--time-limit", "600", "--threads",
                str(threads), *([] if rules == "all" else ["--rules", rules]), "-o", str(file), "--json")
            report = json.loads(out)
            return {"threads": threads, "graph": hashlib.sha256(file.read_bytes()).hexdigest()[:16],
                    "cost_us": report["cost_after_us"], "simulations": report["simulations"],
                    "stopped_by": report["stopped_by"], "clocked": clocked(report)}


    def examples(self):
        """Runs the default search and saturation alone, each with the default time limit."""
        rows = {}
        for file in self.options.examples or sorted((ROOT / "examples").rglob("*.tg")):
            name = str(Path(file).resolve().relative_to(ROOT / "examples").with_suffix(""))
            rows[name] = {search: self.opt(f"../{name}", "--search", search, "--cost", "analytic:cpu", "--threads",
                                           "1", "--time-limit", "10")[0] for search in ("mcts", "saturate")}
        return tables.examples(self, rows)


SECTIONS = ["quality", "measured", "ablations", "beyond", "exploration", "determinism", "examples"]


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("sections", nargs="*", help="sections; default: all")
    p.add_argument("--tg", default=ROOT / "build-release/tg")
    p.add_argument("--paper", help="the program of bench/paper; default: that of the build of --tg")
    p.add_argument("--state", default=ROOT / "build-release/search_bench", help="folder of finished cells")
    p.add_argument("--results", default=ROOT / "bench/results", type=Path)
    p.add_argument("--commit", help="commit of the program, if it is not that of the tree")
    p.add_argument("--networks", default=",".join(NETWORKS), type=lambda t: t.split(","))
    p.add_argument("--approaches", default=",".join(APPROACHES), type=lambda t: t.split(","))
    p.add_argument("--costs", default="analytic:a100", type=lambda t: t.split(","))
    p.add_argument("--beyond-costs", default="analytic:a100,measured:cpu", type=lambda t: t.split(","))
    p.add_argument("--rule-sets", default="all,taso", type=lambda t: t.split(","))
    p.add_argument("--parts", default=",".join(PARTS), type=lambda t: t.split(","))
    p.add_argument("--seeds", default=5, type=int, help="number of seeds of the shipped search")
    p.add_argument("--baseline-seeds", default=5, type=int)
    p.add_argument("--budgets", default="16,128", type=lambda t: [int(b) for b in t.split(",")],
                   help="simulations a decision of the ablations: a short search and the default")
    p.add_argument("--ablation-seeds", default=5, type=int)
    p.add_argument("--beyond-seeds", default=3, type=int)
    p.add_argument("--repeat", default=20, type=int, help="runs of one exploration")
    p.add_argument("--threads", default=1, type=int, help="threads of one search of quality; the costs do not depend on them")
    p.add_argument("--time-limit", default=600, type=float, help="seconds of one cell of quality")
    p.add_argument("--ilp-limit", default=60, type=float, help="seconds of a cell with rewards from integer programs")
    p.add_argument("--cost-db", type=Path, help="database of measured prices; default: in the folder of --state")
    p.add_argument("--clock", choices=["wall", "processor"], default="wall")
    p.add_argument("--examples", type=lambda t: t.split(","), help="files; default: all of examples/")
    p.add_argument("--baselines", action="store_true", help="use the baselines of any program")
    p.add_argument("--tables-only", action="store_true", help="quality, measured: only write the tables of kept cells")
    p.add_argument("--quick", action="store_true", help="a quick test on two small networks")
    o = p.parse_args()
    if unknown := set(o.sections) - set(SECTIONS):
        p.error(f"no section {', '.join(sorted(unknown))}")
    if o.quick:
        o.networks, o.approaches, o.costs = ["resnet50", "vgg19"], ["tensat", "tangram"], ["analytic:a100"]
        o.beyond_costs = o.costs
        o.sections = o.sections or [s for s in SECTIONS if s != "measured"]  # timing operators takes minutes
        o.parts, o.repeat, o.budgets = ["tree", "tree+segments"], 2, [16, 128]
        o.examples = [ROOT / "examples/hello.tg", ROOT / "examples/paper/vgg19.tg"]
        o.seeds = o.baseline_seeds = o.ablation_seeds = o.beyond_seeds = 2
    return o


def run(options):
    """Runs the sections and writes their tables. Returns (number of computed runs, true if all checks passed)."""
    bench, good = Bench(options), True
    for section in options.sections or SECTIONS:
        text, record = getattr(bench, section)()
        options.results.mkdir(parents=True, exist_ok=True)
        name = f"search_{section}" + (f"_{options.threads}_threads" if options.threads != 1 else "")
        (options.results / f"{name}.md").write_text(text, encoding="utf-8")
        (options.results / f"{name}.json").write_text(tables.json_lines({**bench.setting, **record}),
                                                      encoding="utf-8")
        print(text)
        good &= record.get("good", True)
    return bench.computed, good


def run_quickly(options):
    """Runs twice in a scratch folder: the second time every run must be known."""
    with tempfile.TemporaryDirectory(prefix="tg-search-") as scratch:
        options.state, options.results = Path(scratch, "state"), Path(scratch, "results")
        computed, good = run(options)
        again, _ = run(options)
    if not computed or again:
        sys.exit(f"search_bench: {computed} runs were computed at first, {again} were computed again")
    return good


def main():
    options = parse()
    good = run_quickly(options) if options.quick else run(options)[1]
    if not good:
        sys.exit("search_bench: not all is as it must be; the tables have it in bold")


if __name__ == "__main__":
    main()
