"""The tables of search_bench.py: converts its kept runs to Markdown and JSON.

Every function takes the bench and its rows and returns (text, record). Speedups are those of the
predicted cost in percent, as in the published tables: source / result - 1.
"""
import json
import math
import re
import statistics
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# TENSAT on egg 0.9.3 as its authors ship it, with operator timing replaced by a formula, one thread,
# on an idle machine with 2 x86-64 cores (AVX-512): hash-cons entries (stale ones included) at the
# start and at the end, classes, seconds; by network and k_multi. nasrnn uses the default
# multi-pattern rules. The networks are those of its programs.
EGG = {
    ("bert", 1): (192, 4716, 625, 0.106), ("bert", 2): (192, 37387, 7704, 0.942),
    ("nasrnn", 1): (403, 1990, 1345, 0.022), ("nasrnn", 2): (403, 33610, 20290, 0.534),
    ("squeezenet", 1): (189, 364, 267, 0.010), ("squeezenet", 2): (189, 840, 541, 0.039),
    ("vgg19", 1): (144, 160, 144, 0.005),
    ("resnet50", 1): (193, 206, 202, 0.004), ("resnet50", 2): (193, 266, 242, 0.008),
    ("resnext50", 1): (198, 371, 287, 0.007), ("resnext50", 2): (198, 431, 327, 0.011),
    ("mobilenetv2", 1): (698, 2524, 1469, 0.093), ("mobilenetv2", 2): (698, 3404, 1858, 0.169),
    ("inceptionv3", 1): (362, 698, 586, 0.009), ("inceptionv3", 2): (362, 4322, 3002, 0.070),
    ("nasneta", 1): (806, 9781, 5147, 0.501), ("nasneta", 2): (806, 57365, 35107, 2.38),
}


def geometric(values):
    return math.exp(statistics.fmean(math.log(max(v, 1e-6)) for v in values)) if values else math.nan


def deviation(values):
    return statistics.stdev(values) if len(values) > 1 else 0.0


def speedup(run):
    return (run["cost_before_us"] / run["cost_after_us"] - 1) * 100


def head(title, bench, *notes):
    s = bench.setting
    lines = [f"# {title}", "",
             f"{s['machine']}; program {s['program']}, commit {s['commit']}; {s['date']}; load average at the start "
             f"{s['load_average']}.", ""]
    if s.get("clock") == "processor":
        lines += ["Clock: processor time (`--clock processor`), of limits, of seconds and of measured prices: other work "
                  "kept the machine busy.", ""]
    return lines + [line for note in notes for line in (note, "")]


def markdown(columns, rows):
    aligned = ["---" if i == 0 else "--:" for i in range(len(columns))]
    return ["| " + " | ".join(map(str, line)) + " |" for line in (columns, aligned, *rows)] + [""]


def json_lines(record):
    """Returns an object as JSON, with a line for each field and for each element of a field's list."""
    def text(value):
        if isinstance(value, list) and value:
            return "[\n  " + ",\n  ".join(map(json.dumps, value)) + "\n ]"
        return json.dumps(value)
    return "{\n" + ",\n".join(f" {json.dumps(k)}: {text(v)}" for k, v in record.items()) + "\n}\n"


# --- quality ------------------------------------------------------------------------------------

def parts_of(setting):
    return dict(part.partition(" ")[::2] for part in setting.split("; "))  # paths may contain spaces


def matches(setting, cost, rules):
    """Returns true if the setting has the published limits and these prices and rules."""
    p = parts_of(setting)
    return (p["cost"], p["rules"]) == (cost, "default" if rules == "all" else rules) and \
        (p["nodes"], p["budget"], p["depth"]) == ("2000", "128", "10") and "memory_limit" not in p


def kept_cells(record):
    """Returns the cells of a table's record by setting, and their peaks of memory."""
    cells, peaks = {}, {}
    for row in record["cells"]:
        setting = (f"program {row['program']}; cost {row['cost']}; "
                   f"rules {'default' if row['rules'] == 'all' else row['rules']}; nodes 2000; budget 128; depth 10")
        used = row.get("processor_s") or [None] * len(row["seconds"])
        cells.setdefault(setting, []).extend(
            {"model": row["model"], "approach": row["approach"], "speedup_pct": speedup_pct, "seconds": seconds,
             "processor_s": processor_s, "capped": i < row["capped"], "memory_mb": row["search_mb"]}
            for i, (speedup_pct, seconds, processor_s) in enumerate(zip(row["speedups_pct"], row["seconds"], used)))
        if row["peak_mb"]:
            peaks[f"peak {setting} {row['model']} {row['approach']}"] = row["peak_mb"]
    return cells, peaks


def with_kept(own, kept):
    """Merges both. For a network that `own` has under measured prices, `kept` cells are dropped: their prices
    differ."""
    def measured(setting, cell):
        p = parts_of(setting)
        return (p["cost"], p["rules"], cell["model"]) if p["cost"].startswith("measured") else None
    anew = {measured(setting, cell) for setting, cells in own.items() for cell in cells} - {None}
    out = dict(own)
    for setting, cells in kept.items():
        cells = [c for c in cells if measured(setting, c) not in anew]
        if cells:
            out[setting] = out.get(setting) or cells
    return out


class Row:
    """One network and approach: the cells of this program, else those of the program with the most cells."""

    def __init__(self, bench, settings, model, approach):
        found = []
        for setting, cells in settings.items():
            mine = [c for c in cells if c["model"] == model and c["approach"] == approach]
            if mine:
                program = parts_of(setting).get("program", "unknown")
                found.append((program == bench.paper_program, len(mine), setting, mine))
        _, _, self.setting, cells = max(found, key=lambda f: f[:3], default=(0, 0, "", []))
        self.program = parts_of(self.setting).get("program", "unknown") if cells else ""
        self.speedups = [c["speedup_pct"] for c in cells]
        self.seconds = [c["seconds"] for c in cells]
        self.processor = [c["processor_s"] for c in cells if c.get("processor_s")]
        self.capped = sum(c["capped"] for c in cells)
        self.search_mb = max((c["memory_mb"] for c in cells), default=0)
        self.peak_mb = bench.runs.get(f"peak {self.setting} {model} {approach}")

    def __bool__(self):
        return bool(self.speedups)

    @property
    def mean(self):
        return statistics.fmean(self.speedups)

    def text(self):
        return f"{self.mean:.2f}" + (f" ± {deviation(self.speedups):.2f}" if len(self.speedups) > 1 and
                                     deviation(self.speedups) >= 0.005 else "") + ("*" if self.capped else "")


def setting_title(cost, rules):
    return f"## {cost}, {'all built-in rules' if rules == 'all' else 'TASO’s 139 rules, the verified forms'}"


def price_note(bench, cost, rules):
    """Describes how the prices of these cells were measured."""
    rounds = [r for key, runs in bench.runs.items() if key.startswith("prices ") and
              f" {cost} {rules} " in f"{key} " for r in runs]
    later = sum(n for key, n in bench.runs.items() if key.startswith("new prices ") and
                matches(key.removeprefix("new prices ").rsplit(" ", 2)[0], cost, rules))
    loads = [r["load"] for r in rounds]
    return ["One database of prices for all cells, each operator timed once: " +
            (f"{sum(r['new'] for r in rounds)} before the cells were computed, at a load of {min(loads):.0f} to "
             f"{max(loads):.0f} (a price taken under load is noisy, but the same for every approach), and {later} "
             "when a cell first needed them." if rounds else "when a search first needed it."), ""]


def one_quality(bench, cost, rules, record):
    settings = {n: c for n, c in bench.cells().items() if matches(n, cost, rules)}
    o = bench.options
    known = {c["approach"] for cells in settings.values() for c in cells}
    others = [a for a in o.approaches if a != "tangram" and a in known]
    lines, ours, compared, at_least, worst_sd, programs = [], [], 0, 0, 0.0, {}
    for model in o.networks:
        rows = {a: Row(bench, settings, model, a) for a in o.approaches}
        for a, row in rows.items():
            if row:
                programs.setdefault(row.program, set()).add(a)
                record.append({"cost": cost, "rules": rules, "model": model, "approach": a,
                               "speedups_pct": [round(v, 4) for v in row.speedups],
                               "seconds": [round(v, 4) for v in row.seconds],
                               "processor_s": [round(v, 4) for v in row.processor], "capped": row.capped,
                               "search_mb": row.search_mb, "peak_mb": row.peak_mb, "program": row.program})
        shipped = rows.get("tangram")
        if not shipped:
            continue
        rivals = [rows[a].mean for a in others if rows[a] and a not in ("anneal", "taso")]
        good = not rivals or shipped.mean >= max(rivals) - 0.005
        compared += bool(rivals)
        at_least += bool(rivals) and good
        ours.append(shipped)
        worst_sd = max(worst_sd, deviation(shipped.speedups))
        lines.append([model, ("" if good else "**worse** ") + shipped.text(), len(shipped.speedups),
                      f"{statistics.fmean(shipped.seconds):.2f}", f"{max(shipped.seconds):.2f}",
                      f"{statistics.fmean(shipped.processor):.2f}" if shipped.processor else "",
                      f"{shipped.peak_mb:.0f}" if shipped.peak_mb else "",
                      *(rows[a].text() if rows[a] else "" for a in others)])
    if not lines:
        return []
    seeds = [len(r["seconds"]) for r in record if r["cost"] == cost and r["rules"] == rules and
             r["approach"] in ("greedy+greedy", "ilp+ilp")]
    text = [setting_title(cost, rules), ""]
    if cost.startswith("measured"):
        text += price_note(bench, cost, rules)
    text += markdown(["network", "shipped", "seeds", "s", "worst s", "processor s", "MiB", *others], lines)
    means = [statistics.fmean(r.seconds) for r in ours]
    peaks = [r.peak_mb for r in ours if r.peak_mb]
    used = [statistics.fmean(r.processor) for r in ours if r.processor]
    worst = f"argest standard deviation {worst_sd:.2f} points."
    text += [f"- At least as good as TENSAT + ILP and the five published combinations: {at_least} of {compared}; l{worst}"
             if compared else f"- L{worst}",
             f"- Seconds of the shipped search: geometric mean {geometric(means):.2f}, worst run "
             f"{max(max(r.seconds) for r in ours):.2f}" +
             (f"; of processor seconds {geometric(used):.2f}, largest mean {max(used):.2f}" if used else "") +
             (f"; peak memory of the process at most {max(peaks):.0f} MiB." if peaks else "."),
             *([f"- Seeds of the seeded baselines: {min(seeds)} to {max(seeds)}."] if seeds else [])]
    for program, approaches in sorted(programs.items()):
        known = bench.programs.get(program, {})
        text.append(f"- Program {program} ({known.get('commit', 'commit unknown')}, {known.get('date', '')}, "
                    f"{known.get('machine', 'machine unknown')}, load {known.get('load_average', 'unknown')}): {', '.join(a for a in o.approaches if a in approaches)}.")
    return text + [""]


def published():
    """Returns the published (seconds, speedup) by network and approach, from published.def."""
    source = (ROOT / "bench/paper/table/published.def").read_text(encoding="utf-8")
    rows = re.findall(r'^TG_PUBLISHED\("(\S+)", "(\S+)", (.*)\)$', source, re.M)
    figures = {(m, a): [float(v) for v in rest.split(", ")] for m, a, rest in rows}
    return {key: (f[7], f[5]) for key, f in figures.items()}


def engine_gain(bench, record):
    """Compares the seconds of the published algorithms on our e-graph with the published ones."""
    table, ratios, lines = published(), {}, []
    approaches = [a for a in bench.options.approaches if a not in ("tangram", "anneal", "taso")]
    for model in bench.options.networks:
        line = [model]
        for a in approaches:
            found = [r for r in record if (r["cost"], r["rules"], r["model"], r["approach"]) ==
                     ("analytic:a100", "taso", model, a)]
            if not found or (model, a) not in table:
                line.append("")
                continue
            ours, theirs = statistics.fmean(found[0]["seconds"]), table[model, a][0]
            mark = "*" if found[0]["capped"] else ""
            ratios.setdefault(a, []).append(theirs / max(ours, 1e-4))
            line.append(f"{theirs:.3g} → {ours:.3g}{mark}")
        lines.append(line)
    if not ratios:
        return []
    lines.append(["geometric mean of the ratios", *(f"{geometric(ratios.get(a, [])):.0f}×" if ratios.get(a) else ""
                                                    for a in approaches)])
    return ["## The engine alone", "",
            "Seconds of the published algorithms: as published (A100 and its host, operators timed on the way, one "
            "second of sleep for each decision) → on our e-graph (this machine, analytic prices, TASO's rules). The "
            "machines differ; the ratio is the order of magnitude and no more.", "",
            *markdown(["network", *approaches], lines)]


def quality(bench, title, costs):
    record, text = [], head(
        title, bench,
        "Speed-up of the predicted cost in percent, mean ± standard deviation over seeds (deviations below 0.005 "
        f"left out). 2,000 e-nodes, budget 128, depth 10, threads of a search: {bench.options.threads}. `*`: a clock cut at least "
        "one run of the cell, so that it may be better on a less busy machine. Every rule is one of the verified set; the published figures of "
        "NASNet-A may rest on rules that are wrong for grouped convolutions.",
        "`tensat`: its schedule and ILP; `a+b`: the published tree search with rewards from `a` and extraction by `b`; "
        "`anneal` and `taso`: local search without an e-graph and TASO's backtracking, the baselines.")
    for cost in costs:
        for rules in bench.options.rule_sets:
            text += one_quality(bench, cost, rules, record)
    text += engine_gain(bench, record)
    programs = {row["program"]: bench.programs.get(row["program"], {}) for row in record}
    return "\n".join(text), {"programs": programs, "cells": record}


# --- the others ---------------------------------------------------------------------------------

WITHOUT_ROW = (
    "Improvements without a row of their own: threads change seconds and no result; priors of earlier searches (`--priors "
    "FILE`) are an input, which no run here has (`priors`: gains of rules that a search learns on the way); e-graphs of more "
    "nodes are in `search_beyond.md`; the bound at the end and the patience of decisions have no switch.")


def ablation_lines(o, rows):
    """Returns a line for each part that is left out: the speedup on each network, and the difference to all parts."""
    mean = {key: statistics.fmean(map(speedup, runs)) for key, runs in rows.items()}

    def over_networks(of_network):
        return statistics.fmean(map(of_network, o.networks))

    def mean_of(field, part, network):
        return statistics.fmean(r[field] for r in rows[part, network])

    return [["without " + part.replace("+", ", ") if part else "all parts",
             *(f"{mean[part, n]:.2f}" for n in o.networks),
             f"{over_networks(lambda n: mean[part, n] - mean[None, n]):+.2f}",
             f"{over_networks(lambda n: mean_of('simulations', part, n)):.0f}",
             f"{geometric([mean_of('processor_s', part, n) for n in o.networks]):.2f}"]
            for part in [None, *o.parts]]


def ablations(bench, limits):
    o = bench.options
    every = [r for rows in limits.values() for runs in rows.values() for r in runs]
    cut = sum(r["stopped_by"] == "time limit" for r in every)
    clocked = sum(r["clocked"] for r in every)
    text = head("The parts of the search, each left out", bench,
                "Speedup of the predicted cost in percent (analytic:a100, all rules), mean of "
                f"{o.ablation_seeds} seed{'s' * (o.ablation_seeds > 1)}. The limits are of work, not of time, since other work kept the "
                f"machine busy: 2,000 e-nodes an e-graph, and at most {' or '.join(map(str, o.budgets))} "
                f"simulations a decision (the default is 128). {cut} of {len(every)} runs reached the 600 s that they had; in "
                f"{clocked} the solver used up its slice of time in some e-graph. `difference`: percentage points against "
                "all parts, mean of the networks; `simulations`: mean; `s`: seconds of processor time, geometric mean.",
                WITHOUT_ROW)
    for budget, rows in limits.items():
        text += [f"## {budget} simulations a decision", ""]
        text += markdown(["", *o.networks, "difference", "simulations", "s"], ablation_lines(o, rows))
    record = [{"budget": budget, "without": part, "model": n, "speedups_pct": [round(speedup(r), 4) for r in runs],
               "simulations": [r["simulations"] for r in runs],
               "processor_seconds": [round(r["processor_s"], 3) for r in runs],
               "stopped_by": [r["stopped_by"] for r in runs]}
              for budget, rows in limits.items() for (part, n), runs in rows.items()]
    return "\n".join(text), {"runs": record}


def proved_in(run):
    """Describes the largest e-graph in which the result is proved optimal."""
    for bound in run["bounds"] or []:
        if bound["optimal"]:
            end = "saturated" if bound["saturated"] else "cut off"
            origin = "source" if bound["of_source"] else "result"
            return f"{bound['egraph_nodes']:,}, of the {origin}, {end}, {bound['multi_iterations']}"
    return "none"


def largest_bound(run):
    """Returns the gap in the largest e-graph with a known bound, and the size of that e-graph."""
    if not run["bounds"]:
        return "none", ""
    bound = run["bounds"][-1]
    gap = max(run["cost_after_us"] / bound["lower_bound_us"] - 1, 0)
    return f"{gap * 100:.2f}", f"{bound['egraph_nodes']:,}"


def beyond_lines(rows):
    lines = []
    for network in dict.fromkeys(n for n, _ in rows):
        small, large = rows[network, 2000], rows[network, 50000]
        before, after = (statistics.fmean(r["cost_after_us"] for r in runs) for runs in (small, large))
        best = min(large, key=lambda r: r["cost_after_us"])
        lines.append([network, f"{small[0]['cost_before_us']:.1f}", f"{before:.2f}", f"{after:.2f}",
                      f"{(before / after - 1) * 100:+.2f}",
                      proved_in(best), *largest_bound(best),
                      f"{statistics.fmean(r['total_s'] for r in large):.1f}",
                      f"{max(r['peak_mb'] for r in large):.0f}", ", ".join(sorted({r["stopped_by"] for r in large}))])
    return lines


def beyond_in_words(settings):
    """Returns a summary of the rows in words."""
    rows = [(runs[network, 2000], large) for runs in settings.values() for (network, nodes), large in runs.items()
            if nodes == 50000]

    def mean(runs):
        return statistics.fmean(r["cost_after_us"] for r in runs)
    lower = [large for small, large in rows if mean(large) < mean(small) * (1 - 1e-6)]

    def proved(runs):
        best = min(runs, key=lambda r: r["cost_after_us"])
        return any(b["optimal"] and b["egraph_nodes"] > 2000 for b in best["bounds"] or [])
    return (f"More e-nodes find a lower cost in {len(lower)} of {len(rows)} rows and none in the others; "
            f"{sum(proved(large) for _, large in rows)} results are proved best in an e-graph of more than 2,000 e-nodes. "
            "A gap above 1,000 says that the bound is worthless: the relaxation pays for next to nothing, since choices "
            "of a fraction may go in circles.")


def beyond(bench, settings):
    text = head("Beyond 2,000 e-nodes", bench,
                f"Predicted cost in microseconds, mean of {bench.options.beyond_seeds} seeds, 10 s and one thread. "
                "`lower by`: percent of the cost at 50,000. Of the best run: "
                "`proved in`: e-nodes of the largest e-graph that contains the result, or an equally cheap graph, and "
                "provably no cheaper one; its source, the iterations of rules with several patterns, and whether it "
                "saturated or was cut off. `gap`: percent of the cost over the bound "
                "that the extraction certifies in the largest e-graph, of `e-nodes`, that has one.",
                beyond_in_words(settings))
    record = []
    for (cost, rules), rows in settings.items():
        text += [setting_title(cost, rules), ""]
        text += markdown(["network", "source", "2,000", "50,000", "lower by", "proved in", "gap", "e-nodes", "s", "MiB",
                          "stopped by"], beyond_lines(rows))
        text.append("")
        record += [{"cost": cost, "rules": rules, "model": n, "node_limit": k, "runs": r} for (n, k), r in rows.items()]
    return "\n".join(text), {"runs": record}


def exploration(bench, rows, unsound):
    lines, ratios, by_node, record = [], [], [], []
    for (network, k, form), r in rows.items():
        start, entries, classes, seconds = EGG.get((network, k), (None,) * 4)
        if form == "published" and seconds:
            ratios.append(seconds / r["min_s"])
            by_node.append(seconds / entries / (r["min_s"] / r["nodes"]))
        lines.append([network, k, form, f"{r['start']:,}", f"{r['nodes']:,}", f"{r['classes']:,}",
                      f"{r['min_s'] * 1e3:.2f}", f"{r['median_s'] * 1e3:.2f}",
                      f"{start:,}" if start else "", f"{entries:,}" if entries else "",
                      f"{classes:,}" if classes else "", f"{seconds * 1e3:.0f}" if seconds else "",
                      f"{seconds / r['min_s']:.1f}×" if seconds else "",
                      f"{seconds / entries / (r['min_s'] / r['nodes']):.1f}×" if seconds else "", r["stopped_by"]])
        record.append({"model": network, "k_multi": k, "rules": form, **r, "egg": EGG.get((network, k))})
    text = head(
        "TENSAT's exploration, in egg's compatible mode", bench,
        f"50,000 nodes, 15 iterations, backoff scheduler, limits looked at between iterations, one thread; "
        f"{bench.options.repeat} runs each in a process of its own; no operator is timed, here or there. TENSAT on "
        "egg 0.9.3: an idle machine like this one, its figures known to 1 ms.",
        f"`published`: the 139 rules as published, {unsound} of them unsound; `sound`: these in their repaired "
        "forms, which are what Tangram uses. Where the two differ, the e-graph that TENSAT reports holds equalities that "
        "are not true.",
        "Canonical nodes and classes, live ones. TENSAT's nodes are hash-cons entries, stale ones and the leaves for "
        "numbers and names included (here attributes are slots, and there is none), so its counts are larger for the "
        "same e-graph; nodes that its cycle filter forbids stay in its count, and a split and its two halves are three nodes "
        "and classes there, two here. That explains small differences, not those of bert (k_multi 2), mobilenetv2, "
        "inceptionv3 and nasneta, which are the same with sound and published rules or nearly so; where they come from was "
        "not traced node by node. `a node`: how many times faster by entry or node, which such differences "
        "leave alone (stale entries count for the peer).")
    text += markdown(["network", "k_multi", "rules", "start", "nodes", "classes", "min ms", "median ms", "egg: start",
                      "entries", "classes", "ms", "faster", "a node", "stopped by"], lines)
    if ratios:
        text += [f"Least of the runs, published rules: geometric mean {geometric(ratios):.1f}×, from "
                 f"{min(ratios):.1f}× to {max(ratios):.1f}× (goal 20×); by node {geometric(by_node):.1f}×, from "
                 f"{min(by_node):.1f}× to {max(by_node):.1f}×.", ""]
    return "\n".join(text), {"runs": record}


def determinism(bench, rows):
    def same(runs):
        return len({(r["graph"], r["cost_us"]) for r in runs}) == 1

    def shown(runs):
        clock = any(r.get("clocked") for r in runs)
        return "yes" if same(runs) else "by the clock" if clock else "**no**"
    lines = [[n, rules, shown(runs), " ".join(str(r["simulations"]) for r in runs), f"{runs[0]['cost_us']:.3f}",
              " ".join(dict.fromkeys(r["graph"] for r in runs)),
              sum(bool(r.get("clocked")) for r in runs), ", ".join(sorted({r["stopped_by"] for r in runs}))]
             for (n, rules), runs in rows.items()]
    equal = sum(same(runs) for runs in rows.values())
    text = head("The same seed, the same result", bench,
                "`tg opt --search mcts` at 2,000 e-nodes, analytic:a100, seed 1, with 1, 2 and again 1 thread: the written "
                f"graphs (a hash) and their costs are equal for {equal} of {len(rows)}. `clock`: runs in which the solver "
                "used up a slice of time; only these may differ, in their result or in the simulations that they made.")
    text += markdown(["network", "rules", "same", "simulations", "cost us", "graph", "clock", "stopped by"], lines)
    return "\n".join(text), {
        "good": all(shown(runs) != "**no**" for runs in rows.values()),
        "runs": [{"model": n, "rules": r, "runs": runs} for (n, r), runs in rows.items()]}


def examples(bench, rows):
    def shown(found):
        mcts, saturate = found["mcts"], found["saturate"]
        if mcts["cost_after_us"] <= saturate["cost_after_us"] * (1 + 1e-9):
            return "yes"
        return "by the clock" if mcts["stopped_by"] == "time limit" or mcts["clocked"] else "**no**"
    lines = [[name, f"{r['mcts']['cost_before_us']:.2f}",
              *(f"{r[s]['cost_after_us']:.2f}" for s in ("mcts", "saturate")), shown(r),
              *(r[s]["stopped_by"] + ", proved best" * bool(r[s]["optimal"]) for s in ("mcts", "saturate")),
              *(f"{r[s]['total_s']:.1f}" for s in ("mcts", "saturate"))] for name, r in rows.items()]
    answers = [shown(r) for r in rows.values()]
    lower = sum(r["mcts"]["cost_after_us"] < r["saturate"]["cost_after_us"] * (1 - 1e-9) for r in rows.values())
    text = head("The default search and saturation alone", bench,
                "Predicted cost in microseconds of every example (analytic:cpu, all rules): `--search mcts`, the default, and "
                "`--search saturate`, each with `--time-limit 10` and its own limit of e-nodes. The default is at least as "
                f"good on {answers.count('yes')} of {len(rows)}, better on {lower}. `by the clock`: worse, and cut by a limit "
                "of time, which it reaches sooner on a loaded machine.")
    text += markdown(["example", "source", "mcts", "saturate", "at least as good", "mcts stopped by", "saturate stopped by",
                      "mcts s", "saturate s"], lines)
    return "\n".join(text), {"good": "**no**" not in answers,
                             "runs": [{"example": n, **r} for n, r in rows.items()]}
