#!/usr/bin/env python3
"""Repeats X-RLflow's experiment (He et al., MLSys 2023): TASO's backtracking, a policy trained on each network, and the
shipped search.

    ./dev bench -- paper xrlflow --state FOLDER [--networks squeezenet,bert] [--seeds 5] [--episodes 1000]
        [--train-seconds 600] [--rewards prices|runs] [--cost analytic:cpu] [STAGE...]

Stages (default: all, in this order). Each resumes where it was stopped:

    search     TASO's backtracking with the settings of the published script and with its defaults, and our search
    train      a policy for each network and seed (`--seeds` seeds for squeezenet and bert, one for others),
               `--train-seconds` per call, until `--episodes`; then the policy is followed once
    transfer   a policy trained on one shape is followed on other shapes, against a policy trained there
    measure    whole runs of all distinct graphs of a network, interleaved, `--rounds` processes each; requires an idle
               machine
    tables     the content of FOLDER/cells.json as Markdown

The networks are the paper's seven as skeletons, and complete ones (NAME-complete) if examples/ has them.
Every cell is written with its settings to FOLDER/cells.json when it is done; policies and graphs are files in the same
folder. Ctrl-C loses no training. If a training is killed, its policy is ahead of its cell: it continues from the
policy, and the tables give the number of episodes whose seconds, timed graphs and rules are lost.

The result of a policy is the best graph of its training by reward, or, with rewards by prices, a cheaper graph found by
following the policy: one episode of the most likely actions, then seven sampled episodes. On a shared machine,
`--clock processor` replaces wall time by processor time in all stages but `measure` (processor_clock.c): in limits,
seconds, and rewards by whole runs, which use one thread.
"""
import argparse
import hashlib
import json
import os
import random
import sys
import time
from pathlib import Path

from kept import NOT_KEPT, ROOT, Experiment, commits_of, run_main

NETWORKS = ["squeezenet", "bert", "resnext50", "inceptionv3", "dalle", "transformer_transducer", "vit_base"]
# The complete networks of examples/, by the skeleton's name.
COMPLETE = {"squeezenet-complete": "squeezenet", "bert-complete": "bert_base", "inceptionv3-complete": "inceptionv3",
            "vit_base-complete": "vit_base"}
SEVERAL_SEEDS = {"squeezenet", "bert"}
SEARCHES = {
    "taso": ("TASO, alpha 1.0, 100 graphs", ["--search", "taso", "--alpha", "1", "--budget", "100", "--rules", "taso"]),
    "taso-1000": ("TASO, alpha 1.05, 1000", ["--search", "taso", "--alpha", "1.05", "--budget", "1000", "--rules", "taso"]),
    "ours-taso": ("ours, TASO's rules", ["--rules", "taso"]),
    "ours": ("ours, all rules", []),
}
POLICIES = {"xrlflow": "X-RLflow", "xrlflow-scored": "scoring heads"}
# Other input sizes of a network, each with the replacements in its text; the size without replacements is trained on.
SHAPES = {
    "squeezenet": {"224": {}, **{str(side): {"224, 224": f"{side}, {side}", "kernel = 13": f"kernel = {rest}"}
                                 for side, rest in [(160, 9), (192, 11), (288, 17)]}},
    "inceptionv3": {"299": {}, **{str(side): {"299, 299": f"{side}, {side}", "kernel = 8": f"kernel = {rest}"}
                                  for side, rest in [(235, 6), (267, 7), (331, 9)]}},
    "vit_base": {"64": {}, **{str(length): {"f32[64, 768]": f"f32[{length}, 768]"} for length in [32, 128, 256]}},
    "dalle": {"16": {}, **{str(length): {"f32[16, 768]": f"f32[{length}, 768]"} for length in [32, 64, 128]}},
}


def episodes_of(policy):
    """Returns the number of episodes in the metadata of a file of `tg-paper train` (safetensors), or 0 if it is
    missing."""
    try:
        with open(policy, "rb") as file:
            size = min(int.from_bytes(file.read(8), "little"), policy.stat().st_size)
            return int(json.loads(file.read(size))["__metadata__"]["episodes"])
    except FileNotFoundError:
        return 0
    except (KeyError, TypeError, ValueError):
        return 0  # `tg` will report the error


class Bench(Experiment):
    def source(self, network):
        if network in COMPLETE:
            return ROOT / "examples" / f"{COMPLETE[network]}.tg"
        return ROOT / "examples/paper" / f"{network}.tg"

    def seeds_of(self, network):
        return self.o.seeds if network in SEVERAL_SEEDS else 1

    def trainings(self, network):
        """Returns the existing training cells by policy and seed."""
        both = [(policy, seed) for policy in POLICIES for seed in range(1, self.seeds_of(network) + 1)]
        return {(p, s): cell for p, s in both if (cell := self.cells.get("train", f"{network}.{p}.{s}"))}

    def trained(self, network):
        """Returns the policies and seeds whose training has a result."""
        return [both for both, cell in self.trainings(network).items() if "price_us" in cell]

    # --- searches -------------------------------------------------------------------------------------

    def search(self):
        for network in self.o.networks:
            for name, (_, options) in SEARCHES.items():
                cell = f"{network} {name}"
                known = self.cells.get("search", cell)
                longer = known and known["stopped_by"] == "time limit" and known["limit_s"] < self.o.search_seconds
                if known and known["cost"] == self.o.cost and not longer:
                    continue
                self.say(f"search {cell}")
                graph = self.folder / f"{network}.{name}.tg"
                found = self.tg("opt", self.source(network), *options, *self.priced(), "--time-limit", self.o.search_seconds,
                                "-o", graph)
                if found is None:
                    continue
                self.cells.put("search", cell, {
                    "cost": self.o.cost, "limit_s": self.o.search_seconds, "source_us": found["cost_before_us"], "us": found["cost_after_us"],
                    "seconds": found["total_s"], "processor_s": found["processor_s"], "stopped_by": found["stopped_by"],
                    "rules": found["rules_applied"], "graph": graph.name, "commits": self.commits()})

    # --- policies -------------------------------------------------------------------------------------

    def training(self, seed):
        return {"rewards": self.o.rewards, "cost": self.o.cost, "policy": self.o.policy, "depth": self.o.depth,
                "measure_every": self.o.measure_every, "seed": seed}

    def rewards(self):
        return ["--by-prices", "--cost", self.o.cost] if self.o.rewards == "prices" else []

    def train_one(self, model, name, seed):
        """Continues the training of a policy for `--train-seconds`. Its cell sums the costs of all calls. The file is
        written after each update, the cell when `tg` has ended. If `tg` failed or was killed, the file is ahead of the
        cell, and training resumes from the file."""
        self.cells.read()  # another run may have trained it
        depends = self.training(seed)
        self.refuse_others("train", name, depends)
        cell = self.cells.get("train", name)
        if cell is None:
            cell = {"depends": depends, "episodes": 0, "seconds": 0, "processor_s": 0, "measurements": 0, "rules": {},
                    "updates": [], "commits": []}
            self.cells.put("train", name, cell)  # records the settings of the file before it exists
        policy = self.folder / f"{name}.safetensors"
        if cell["episodes"] < self.o.episodes or episodes_of(policy) > cell["episodes"]:
            self.train_on(model, name, seed, cell)
        if cell["episodes"] == episodes_of(policy) > 0 and "price_us" not in cell:
            self.follow_trained(model, name, cell)
        return cell

    def train_on(self, model, name, seed, cell):
        """Resumes training from the file, so that no training is discarded."""
        policy, graph = self.folder / f"{name}.safetensors", self.folder / f"{name}.tg"
        known = episodes_of(policy)
        if known < cell["episodes"]:
            sys.exit(f"{policy} has {known} episodes, but its cell in {self.cells.path} {cell['episodes']}: restore the "
                     "file of that cell, or delete the cell to train from the beginning")
        if known > cell["episodes"]:
            self.say(f"{policy} has {known} episodes, its cell {cell['episodes']}: a training was killed or failed, and continues. "
                     "The seconds, timed graphs, rules and updates of the other episodes are lost")
        self.say(f"train {name}, after {known} episodes")
        trained = self.tg("train", model, "-o", policy, "--best", graph, "--policy", self.o.policy, "--rules", "taso",
                          "--episodes", self.o.episodes, "--depth", self.o.depth, "--measure-every", self.o.measure_every,
                          "--seed", seed, "--threads", "1", "--time-limit", self.o.train_seconds, *self.rewards(), unfinished=True)
        if trained is not None:
            self.add(cell, trained, graph)
            self.cells.put("train", name, cell)
        self.commands.end_if_asked()

    def add(self, cell, trained, graph):
        """Adds the result of a training to a cell. If the policy changed, it must be followed again."""
        if uncounted := trained["earlier_episodes"] - cell["episodes"]:
            cell["uncounted_episodes"] = cell.get("uncounted_episodes", 0) + uncounted
            cell["commits"] = list(dict.fromkeys([*cell.get("commits", []), NOT_KEPT]))
        cell["commits"] = self.commits(cell)
        for key in ("seconds", "processor_s", "measurements"):
            cell[key] += trained[key]
        for rule, count in trained["rules"].items():
            cell["rules"][rule] = cell["rules"].get(rule, 0) + count
        cell["updates"] += [[update["episodes"], update["mean_reward"], update["entropy"]] for update in trained["updates"]]
        if (trained["episodes"], trained["best_us"]) != (cell["episodes"], cell.get("us")):
            cell.pop("followed", None)
            cell.pop("price_us", None)
            cell.update(episodes=trained["episodes"], source_us=trained["source_us"], us=trained["best_us"],
                        best_reward=trained["best_reward"], graph=graph.name)

    def follow_trained(self, model, name, cell):
        graph, end = self.folder / f"{name}.tg", self.folder / f"{name}.followed.tg"
        followed = self.follow(model, self.folder / f"{name}.safetensors", end)
        priced = self.tg("opt", graph, "--search", "none", *self.priced())
        if not followed or not priced:
            return
        cell.update(followed=followed, price_us=priced["cost_before_us"], commits=self.commits(cell))
        if self.o.rewards == "prices" and followed["us"] < cell["price_us"]:
            cell.update(price_us=followed["us"], graph=end.name)
        self.cells.put("train", name, cell)

    def follow(self, model, policy, end=None):
        """Follows the policy: one episode of the most likely actions and seven sampled ones."""
        found = self.tg("opt", model, "--search", "rl", "--policy", policy, "--rules", "taso", "--depth", self.o.depth,
                        *self.priced(), *(["-o", end] if end else []))
        if found is None:
            return None
        return {"us": found["cost_after_us"], "source_us": found["cost_before_us"], "seconds": found["total_s"],
                "processor_s": found["processor_s"]}

    def train(self):
        for seed in range(1, self.o.seeds + 1):
            for network in self.o.networks:
                if seed <= self.seeds_of(network):
                    self.train_one(self.source(network), f"{network}.{self.o.policy}.{seed}", seed)

    # --- other shapes ---------------------------------------------------------------------------------

    def shaped(self, network, shape):
        model = self.folder / f"{network}.at{shape}.tg"
        text = self.source(network).read_text(encoding="utf-8")
        for before, after in SHAPES[network][shape].items():
            assert before in text, f"{network} has no `{before}`"
            text = text.replace(before, after)
        model.write_text(text, encoding="utf-8")
        return model

    def transfer(self):
        for network, shapes in SHAPES.items():
            if network not in self.o.networks:
                continue
            base = self.folder / f"{network}.{self.o.policy}.1.safetensors"
            episodes = episodes_of(base)
            if episodes == 0:
                continue
            for shape in list(shapes)[1:]:
                # The stage `train` trains the policy of the first shape; its settings must be the current ones.
                self.refuse_others("train", f"{network}.{self.o.policy}.1", self.training(1))
                self.refuse_others("transfer", f"{network}, {shape}", self.training(1))
                model = self.shaped(network, shape)
                own = self.train_one(model, f"{network}.{self.o.policy}.1.at{shape}", 1)
                followed = self.follow(model, base)
                if followed and "followed" in own:
                    self.cells.put("transfer", f"{network}, {shape}", {
                        "depends": self.training(1), "policy": self.o.policy,
                        "source_us": followed["source_us"], "followed_us": followed["us"],
                        "seconds": followed["seconds"], "own_followed_us": own["followed"]["us"],
                        "own_best_us": own["price_us"], "own_episodes": own["episodes"], "episodes": episodes,
                        "commits": self.commits(own)})

    # --- whole runs -----------------------------------------------------------------------------------

    def graphs_of(self, network):
        """Returns the distinct graphs by digest, including the source, and the digest of each cell's graph."""
        graphs, names = {"source": self.source(network)}, {}
        found = [(f"{network} {name}", "search") for name in SEARCHES]
        found += [(f"{network}.{policy}.{seed}", "train") for policy, seed in self.trained(network)]
        for name, kind in found:
            cell = self.cells.get(kind, name)
            if cell is None:
                continue
            before = cell["source_us"] if kind == "search" else cell["followed"]["source_us"]
            if before == cell["us" if kind == "search" else "price_us"]:
                names[name] = "source"
                continue
            path = self.folder / cell["graph"]
            names[name] = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
            graphs.setdefault(names[name], path)
        return graphs, names

    def measure(self):
        """Runs every graph once per round, each in a separate process, in a different order in each round."""
        begun = time.monotonic()
        depends = {"runs": self.o.runs, "run_threads": self.o.run_threads}
        for network in self.o.networks:
            self.refuse_others("measure", network, depends)
        for number in range(self.o.rounds):
            for network in self.o.networks:
                graphs, names = self.graphs_of(network)
                cell = self.cells.get("measure", network)
                rounds = cell["rounds"] if cell else []
                if sum(set(graphs) <= set(times) for times in rounds) > number:
                    self.cells.put("measure", network, {**cell, "depends": depends, "names": names})
                    continue
                if self.o.measure_seconds and time.monotonic() - begun > self.o.measure_seconds:
                    return
                order = sorted(graphs)
                random.Random(len(rounds)).shuffle(order)
                times = {}
                for name in order:
                    ran = self.tg("run", graphs[name], "--runs", self.o.runs, "--threads", self.o.run_threads, clock="wall")
                    if ran:
                        times[name] = ran["median_us"]
                if set(times) == set(graphs):
                    self.cells.put("measure", network, {"depends": depends, "names": names, "rounds": [*rounds, times],
                                                        "commits": self.commits(cell)})

    # --- tables ---------------------------------------------------------------------------------------

    def ratios(self, network, cell):
        """Returns the times of a cell's graph in all rounds that have it, and its speedups over the source in these
        rounds."""
        measured = self.cells.get("measure", network) or {"names": {}, "rounds": []}
        name = "source" if cell == "source" else measured["names"].get(cell)
        rounds = [times for times in measured["rounds"] if name in times]
        return [times[name] for times in rounds], sorted(times["source"] / times[name] for times in rounds)

    def speed_up(self, network, cell):
        """Returns the minimum over rounds (other load only adds), and its speedup over the source's with the range of
        the ratios within rounds."""
        times, ratios = self.ratios(network, cell)
        if not times:
            return "", ""
        ms = f"{min(times) / 1e3:.2f}"
        if self.cells.get("measure", network)["names"].get(cell) == "source":
            return ms, "the source"
        source = min(self.ratios(network, "source")[0])
        return ms, f"{source / min(times):.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f})"

    def episodes_text(self, cell):
        """Formats the number of episodes. Those of a killed run have no seconds, timed graphs and rules."""
        uncounted = cell.get("uncounted_episodes", 0)
        return f"{cell['episodes']}, {uncounted} of them not counted" if uncounted else str(cell["episodes"])

    def results_table(self):
        rows = []
        for network in self.o.networks:
            searches = {name: self.cells.get("search", f"{network} {name}") for name in SEARCHES}
            source = next((cell["source_us"] for cell in searches.values() if cell), None)
            if source:
                own, _ = self.speed_up(network, "source")
                rows.append([network, "source", f"{source:.0f}", "", own, "", "", "", "", ""])
            for name, cell in searches.items():
                if cell:
                    ms, ratio = self.speed_up(network, f"{network} {name}")
                    rows.append(["", SEARCHES[name][0], f"{cell['us']:.0f}", f"{cell['source_us'] / cell['us']:.3f}", ms, ratio,
                                 "", "", "", f"{cell['processor_s']:.1f}"])
            for policy, seed in self.trained(network):
                cell = self.cells.get("train", f"{network}.{policy}.{seed}")
                ms, ratio = self.speed_up(network, f"{network}.{policy}.{seed}")
                text = POLICIES[policy] + (f", seed {seed}" if network in SEVERAL_SEEDS else "")
                base = cell["followed"]["source_us"]
                rows.append(["", text, f"{cell['price_us']:.0f}", f"{base / cell['price_us']:.3f}", ms, ratio,
                             self.episodes_text(cell), f"{cell['processor_s']:.0f}", str(cell["measurements"]),
                             f"{cell['followed']['processor_s']:.1f}"])
                rows.append(["", "its policy, followed", f"{cell['followed']['us']:.0f}",
                             f"{base / cell['followed']['us']:.3f}", "", "", "", "", "", ""])
        self.table(["network", "by", "price, us", "cheaper", "measured, ms", "faster", "episodes", "training s",
                    "graphs timed", "search s"], rows, left=2)

    def rules_table(self):
        columns = [n for n in self.o.networks if self.trained(n)]
        shares = {}
        for network in columns:
            counts = {}
            for policy, seed in self.trained(network):
                for rule, count in self.cells.get("train", f"{network}.{policy}.{seed}")["rules"].items():
                    counts[rule] = counts.get(rule, 0) + count
            total = sum(counts.values()) or 1
            for rule, count in counts.items():
                shares.setdefault(rule, {})[network] = (count, count / total)
        shades = " ░▒▓█"
        rows = []
        for rule in sorted(shares):
            row = [f"`{rule}`"]
            for network in columns:
                count, share = shares[rule].get(network, (0, 0))
                shade = shades[min(4, 1 + int(share * 8))] if count else ""
                row.append(f"{shade} {count}" if count else "")
            rows.append(row)
        self.table(["rule", *columns], rows)

    def model_table(self):
        rows = []
        for network in self.o.networks:
            ours = self.cells.get("search", f"{network} ours")
            times, _ = self.ratios(network, "source")
            found, _ = self.ratios(network, f"{network} ours")
            if not times or not ours or not found:
                continue
            source = min(times)
            rows.append([network, f"{ours['source_us'] / 1e3:.2f}", f"{source / 1e3:.2f}",
                         f"{100 * abs(ours['source_us'] - source) / source:.0f}%", f"{ours['source_us'] / ours['us']:.3f}",
                         f"{source / min(found):.3f}"])
        self.table(["network", "price, ms", "measured, ms", "difference", "our search: by price", "measured"], rows)

    def transfer_table(self):
        rows = []
        for name, cell in sorted(self.cells.all.get("transfer", {}).items()):
            def gain(us):
                return 1 - us / cell["source_us"]
            own = gain(cell["own_followed_us"])
            kept = f"{100 * gain(cell['followed_us']) / own:.0f}%" if own > 1e-4 else "no gain"
            rows.append([name, f"{cell['source_us']:.0f}", f"{100 * gain(cell['followed_us']):.2f}%", f"{100 * own:.2f}%",
                         f"{100 * gain(cell['own_best_us']):.2f}%", kept, str(cell["episodes"]), str(cell["own_episodes"])])
        self.table(["network, shape", "price, us", "policy of the first shape", "policy of its own", "best of its training",
                    "kept", "episodes", "its own"], rows)

    def print_not_followed(self):
        """Lists the trainings that were interrupted before they were followed, which are not in the tables."""
        names = [f"{network}.{policy}.{seed}" for network in self.o.networks
                 for (policy, seed), cell in self.trainings(network).items() if cell["episodes"] > 0 and "price_us" not in cell]
        if names:
            print(f"Trained, but not yet followed (the stage `train` does this next): {', '.join(names)}\n")

    def print_commits(self):
        """Prints the commits of the shown cells."""
        shown = {"search": [cell for network in self.o.networks for name in SEARCHES
                            if (cell := self.cells.get("search", f"{network} {name}"))],
                 "train": [self.trainings(network)[both] for network in self.o.networks for both in self.trained(network)],
                 "transfer": self.cells.all.get("transfer", {}).values(),
                 "measure": [cell for network in self.o.networks if (cell := self.cells.get("measure", network))]}
        print("commits: " + "; ".join(f"{kind} {commits_of(cells)}" for kind, cells in shown.items() if cells) + "\n")

    def tables(self):
        print(f"prices: {self.o.cost}; rewards by {self.o.rewards}; policy `{self.o.policy}`")
        self.print_commits()
        self.print_not_followed()
        self.results_table()
        self.rules_table()
        self.model_table()
        self.transfer_table()


STAGES = ["search", "train", "transfer", "measure", "tables"]


def networks(text):
    unknown = [word for word in text.split(",") if word not in NETWORKS and word not in COMPLETE]
    if unknown:
        raise argparse.ArgumentTypeError(f"not networks of the paper: {', '.join(unknown)}; known: {', '.join([*NETWORKS, *COMPLETE])}")
    return text.split(",")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tg", default=ROOT / "build/tg-paper", type=Path)
    parser.add_argument("--state", required=True, type=Path)
    parser.add_argument("--networks", default=[*NETWORKS, *COMPLETE], type=networks)
    parser.add_argument("--seeds", default=5, type=int)
    parser.add_argument("--episodes", default=1000, type=int)
    parser.add_argument("--train-seconds", default=600, type=float)
    parser.add_argument("--search-seconds", default=120, type=float)
    parser.add_argument("--rewards", default="prices", choices=["prices", "runs"])
    parser.add_argument("--cost", default="analytic:cpu")
    parser.add_argument("--clock", default="wall", choices=["wall", "processor"])
    parser.add_argument("--policy", default="xrlflow", choices=list(POLICIES))
    parser.add_argument("--depth", default=100, type=int)
    parser.add_argument("--measure-every", default=5, type=int)
    parser.add_argument("--rounds", default=5, type=int)
    parser.add_argument("--runs", default=40, type=int)
    parser.add_argument("--run-threads", default=os.cpu_count(), type=int)
    parser.add_argument("--measure-seconds", default=0, type=float, help="seconds after which no round begins; 0: no limit")
    parser.add_argument("stages", nargs="*", choices=[[], *STAGES], help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.state = options.state.resolve()
    bench = Bench(options)
    for stage in options.stages or STAGES:
        getattr(bench, stage)()
        bench.commands.end_if_asked()
    return 0


if __name__ == "__main__":
    sys.exit(run_main(main))
