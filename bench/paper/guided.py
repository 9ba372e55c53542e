#!/usr/bin/env python3
"""Compares the shipped search with and without a guide: `tg opt FILE --policy GUIDE` against `tg opt FILE`, in pairs.

    ./dev bench -- paper guided --state FOLDER --guide GUIDE [--networks gpt2,paper/bert] [--limits 1,5] [--seeds 3]
        [--cost analytic:cpu] [--clock wall|processor] [--tables]

A cell is a network, a time limit, a seed and one of the two searches. The two cells of a pair run one after the other;
the order alternates with the seed. A cell is written to FOLDER/cells.json when it is done and is not computed again; an
existing cell with another guide, other prices or another clock is an error. GUIDE is a file of `tg-paper train --policy
guide` (or `gains` or `motifs`). The search uses one thread and the default strategy, and only prices decide: nothing is
run. `--tables` computes nothing. On a shared machine, `--clock processor` replaces wall time by processor time in `tg`
(processor_clock.c).

Costs in the table are medians of the seeds. "cheaper" and "dearer" count the pairs in which the guided search ends more
than 0.1% below or above the other. "by itself" counts the runs that ended before the time limit.
"""
import argparse
import hashlib
import statistics
import sys
from pathlib import Path

from kept import ROOT, Experiment, commits_of, run_main

# The networks of agents_bench.cpp, which do not include its training networks.
NETWORKS = ["gpt2", "paper/nasrnn", "paper/bert", "paper/resnext50", "paper/vgg19", "paper/inceptionv3", "paper/vit_base",
            "paper/dalle", "paper/transformer_transducer", "paper/resnet50", "bert_base", "vit_base", "resnet50", "inceptionv3",
            "paper/mobilenetv2", "mobilenetv2"]
AS_GOOD = 0.001  # costs within this relative difference count as equal


def percent(ratio, digits=2):
    return f"{100 * (ratio - 1):+.{digits}f}"


class Guided(Experiment):
    def depends(self, guided):
        found = {"cost": self.o.cost, "clock": self.o.clock}
        if guided:
            found["guide"] = hashlib.sha256(self.o.guide.read_bytes()).hexdigest()[:12]
        return found

    def name(self, network, limit, seed, guided):
        return f"{network} {limit:g} s, seed {seed}, {'guide' if guided else 'none'}"

    def compute(self):
        for limit in self.o.limits:
            for network in self.o.networks:
                for seed in range(1, self.o.seeds + 1):
                    for guided in [False, True] if seed % 2 else [True, False]:
                        self.compute_one(network, limit, seed, guided)

    def compute_one(self, network, limit, seed, guided):
        name, depends = self.name(network, limit, seed, guided), self.depends(guided)
        self.refuse_others("guided", name, depends)
        if self.cells.get("guided", name):
            return
        self.say(name)
        found = self.tg("opt", ROOT / "examples" / f"{network}.tg", *self.priced(), "--time-limit", limit, "--seed", seed,
                        *(["--policy", self.o.guide] if guided else []))
        if found is None:
            sys.exit(1)
        self.cells.put("guided", name, {
            "depends": depends, "source_us": found["cost_before_us"], "us": found["cost_after_us"], "seconds": found["total_s"],
            "simulations": found["simulations"], "stopped_by": found["stopped_by"], "optimal": found["optimal"],
            "commits": self.commits()})

    def pairs(self, network, limit):
        """Returns the pairs of cells (without the guide, with the guide) of each seed that has both."""
        both = [[self.cells.get("guided", self.name(network, limit, seed, guided)) for guided in (False, True)]
                for seed in range(1, self.o.seeds + 1)]
        return [pair for pair in both if all(pair)]

    def print_limit(self, limit):
        rows, totals = [], {"cheaper": 0, "dearer": 0, "pairs": 0, "ratios": []}
        for network in self.o.networks:
            pairs = self.pairs(network, limit)
            if not pairs:
                continue
            ratios = [guided["us"] / none["us"] for none, guided in pairs]
            cheaper, dearer = sum(r < 1 - AS_GOOD for r in ratios), sum(r > 1 + AS_GOOD for r in ratios)
            ended = [sum(pair[i]["stopped_by"] != "time limit" for pair in pairs) for i in (0, 1)]
            simulations = [statistics.median(pair[i]["simulations"] for pair in pairs) for i in (0, 1)]
            none, guide = (statistics.median(pair[i]["us"] for pair in pairs) for i in (0, 1))
            rows.append([network, f"{pairs[0][0]['source_us']:.1f}", f"{none:.1f}", f"{guide:.1f}",
                         f"{percent(statistics.median(ratios))}% ({percent(min(ratios))} to {percent(max(ratios))})",
                         f"{cheaper}, {dearer} of {len(pairs)}", f"{simulations[0]:.0f}, {simulations[1]:.0f}",
                         f"{ended[0]}, {ended[1]}"])
            totals["cheaper"] += cheaper
            totals["dearer"] += dearer
            totals["pairs"] += len(pairs)
            totals["ratios"].append(statistics.geometric_mean(ratios))
        if not rows:
            return
        print(f"Time limit {limit:g} s:\n")
        self.table(["network", "source, us", "none", "guide", "guide to none", "cheaper, dearer", "simulations: none, guide",
                    "by itself: none, guide"], rows)
        mean = percent(statistics.geometric_mean(totals["ratios"]), digits=3)
        print(f"{totals['cheaper']} of {totals['pairs']} pairs cheaper, {totals['dearer']} dearer; "
              f"on the geometric mean of {len(totals['ratios'])} networks {mean}%\n")

    def tables(self):
        shown = [cell for limit in self.o.limits for network in self.o.networks for pair in self.pairs(network, limit) for cell in pair]
        print(f"prices: {self.o.cost}; clock: {self.o.clock}; commits: {commits_of(shown)}\n")
        for limit in self.o.limits:
            self.print_limit(limit)


def limits(text):
    found = [float(word) for word in text.split(",")]
    if not all(0 < limit < float("inf") for limit in found):
        raise argparse.ArgumentTypeError("limits must be positive numbers of seconds")
    return found


def count(text):
    if int(text) < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return int(text)


def networks(text):
    missing = [word for word in text.split(",") if not (ROOT / "examples" / f"{word}.tg").is_file()]
    if missing:
        raise argparse.ArgumentTypeError(f"examples/ has no {', '.join(missing)}")
    return text.split(",")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tg", default=ROOT / "build/tg-paper", type=Path)
    parser.add_argument("--state", required=True, type=Path)
    parser.add_argument("--guide", type=Path)
    parser.add_argument("--networks", default=NETWORKS, type=networks)
    parser.add_argument("--limits", default=[1, 5], type=limits)
    parser.add_argument("--seeds", default=3, type=count)
    parser.add_argument("--cost", default="analytic:cpu")
    parser.add_argument("--clock", default="wall", choices=["wall", "processor"])
    parser.add_argument("--tables", action="store_true")
    options = parser.parse_args()
    if not options.tables and not (options.guide and options.guide.is_file()):
        parser.error(f"--guide requires a file of `tg-paper train --policy guide`, not {options.guide}")
    options.state = options.state.resolve()
    options.guide = options.guide and options.guide.resolve()
    bench = Guided(options)
    if not options.tables:
        bench.compute()
    bench.tables()
    return 0


if __name__ == "__main__":
    sys.exit(run_main(main))
