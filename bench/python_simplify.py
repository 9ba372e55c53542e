#!/usr/bin/env python3
"""Measures `tangram.simplify` on the networks of tests/oracle/networks.py, in ONNX Runtime and in OpenVINO, and
compares its node counts with those of onnxsim and onnxslim.

    bench/python_simplify.py [--runtimes onnxruntime,openvino] [--threads 2] [--seconds 3] [--state FOLDER]
                             [--results FOLDER] [NETWORK...]

NETWORK selects networks by full name. `simplify` itself measures the original and the result interleaved, on the same
inputs: medians of pairs with their 95% interval. If the interval is not above 1, it writes the original, and the ratio
is 1. Many of these files have open sizes, which the written file fixes; this is already a speedup. Therefore onnxsim's
result, with the same fixed sizes, is measured against the written file in the same way. Node counts exclude Constant
and are those of the original, of the written file, and of the results of onnxsim and onnxslim, if installed. Rows are
kept in --state, and a later run resumes from there. Writes python_simplify.json and python_simplify.md to --results.
"""
import argparse
import json
import math
import statistics
import sys
import tempfile
import time
from pathlib import Path

from onnx_networks import networks, onnx, ort
from run import ROOT, keep_results, setting

import tangram
from tangram._runtimes import RUNTIMES
from tangram._simplify import NotUsable, _measured


def node_count(model):
    return sum(node.op_type != "Constant" for node in model.graph.node)


def by_onnxsim(path, shapes):
    import onnxsim
    return onnxsim.simplify(onnx.load(path), overwrite_input_shapes=shapes or None)[0]


def by_onnxslim(path, shapes):
    import onnxslim
    given = [f"{name}:{','.join(map(str, shape))}" for name, shape in shapes.items()]
    return onnxslim.slim(onnx.load(path), input_shapes=given or None)


def others(path, shapes, folder):
    """Returns the node counts of the file and of the other tools' results, which it writes; for a failure its type."""
    found = {"nodes": node_count(onnx.load(path, load_external_data=False))}
    for name, simplified in (("onnxsim", by_onnxsim), ("onnxslim", by_onnxslim)):
        try:
            model = simplified(path, shapes)
            onnx.save(model, folder / f"{name}.onnx")
            found[name] = node_count(model)
        except Exception as error:  # other tools raise many types
            found[name] = type(error).__name__
    return found


def beside(other, written, runtime, options):
    """Returns the other file's time over that of the written file, measured as by `simplify`; the error if one does not
    run."""
    try:
        sessions = [RUNTIMES[runtime](str(path), options.threads) for path in (other, written)]
        found, _ = _measured(*sessions, options.seconds)
    except NotUsable as why:
        return {"onnxsim_fault": str(why)}
    except Exception as error:  # runtimes raise many types
        return {"onnxsim_fault": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
    return {"onnxsim_ratio": [round(v, 4) for v in (found.ratio, found.low, found.high)]}


def open_shapes(path, inputs):
    """Returns the shapes of the inputs that have open sizes in the file."""
    options = (option.removeprefix("--shape=").split("=") for option in networks.shape_options(path, inputs))
    return {name: [int(size) for size in sizes.split(",") if size] for name, sizes in options}


def measure(name, runtime, options):
    path = networks.prepare(name)
    shapes = open_shapes(path, networks.inputs_of(path))
    row = {"network": name, "runtime": runtime, "threads": options.threads}
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "simplified.onnx")
        start = time.perf_counter()
        done = tangram.simplify(path, target, runtime=runtime, shapes=shapes, threads=options.threads, seconds=options.seconds)
        row.update(seconds=round(time.perf_counter() - start, 1), faster=done.faster, message=done.message,
                   verified=done.verified, difference=done.difference, rewrites=dict(done.rewrites),
                   operators=[done.nodes_before, done.nodes_after])
        if done.comparison:
            row["ratio"] = [round(v, 4) for v in (done.comparison.ratio, done.comparison.low, done.comparison.high)]
            row["us"] = [round(done.comparison.first_us, 1), round(done.comparison.second_us, 1)]
        if done.faster:
            row["written"] = node_count(onnx.load(target, load_external_data=False))
        row.update(others(path, shapes, Path(folder)))
        if isinstance(row["onnxsim"], int):
            row.update(beside(Path(folder, "onnxsim.onnx"), target, runtime, options))
    return row


def mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def beside_onnxsim(rows):
    ratios = [row["onnxsim_ratio"] for row in rows if "onnxsim_ratio" in row]
    if not ratios:
        return "onnxsim's results were not measured."
    return (f"Of {len(ratios)} files, the written file is faster than onnxsim's result for {sum(low > 1 for _, low, _ in ratios)} "
            f"and slower for {sum(high < 1 for _, _, high in ratios)}; geometric mean {mean(ratio for ratio, _, _ in ratios):.3f}.")


def markdown(record):
    rows = record["rows"]
    lines = ["# ONNX files by `tangram.simplify`", "",
             f"{record['machine']}; commit {record['commit']}; {record['date']}; ONNX Runtime {record['onnxruntime']}. "
             "The head of `bench/python_simplify.py` describes the measurements.", "",
             "| network | runtime | original | result | original / result | onnxsim's / written | written | nodes | Tangram | onnxsim | onnxslim | seconds |",
             "|---" * 12 + "|"]
    for row in rows:
        times = [f"{us / 1e3:.3f} ms" for us in row.get("us", [])] or ["-", "-"]
        ratio, sim = ("{0:.3f} [{1:.3f}, {2:.3f}]".format(*row[key]) if key in row else "-" for key in ("ratio", "onnxsim_ratio"))
        lines.append(f"| {row['network']} | {row['runtime']} | {times[0]} | {times[1]} | {ratio} | {sim} | "
                     f"{'the result' if row['faster'] else 'the original'} | {row['nodes']} | {row.get('written', '-')} | "
                     f"{row['onnxsim']} | {row['onnxslim']} | {row['seconds']:.0f} |")
    for runtime in dict.fromkeys(row["runtime"] for row in rows):
        some = [row for row in rows if row["runtime"] == runtime]
        gains = [row["ratio"][0] if row["faster"] else 1.0 for row in some]
        lines += ["", f"{runtime}: {sum(row['faster'] for row in some)} of {len(some)} files are faster, the others are the "
                  f"originals; geometric mean {mean(gains):.3f}. {beside_onnxsim(some)}"]
    kept = [f"{row['network']}, {row['runtime']}: {row['message']}" for row in rows if not row["faster"]]
    lines += ["", "Originals, and why:", "", *(f"- {line}" for line in kept)] * bool(kept)
    faults = [f"{row['network']}, {row['runtime']}: {row['onnxsim_fault']}" for row in rows if "onnxsim_fault" in row]
    lines += ["", "onnxsim's results that are not measured, and why:", "", *(f"- {line}" for line in faults)] * bool(faults)
    return "\n".join(lines) + "\n"


def measure_all(options, folder):
    kept = folder / "rows.json"
    rows = {(row["network"], row["runtime"]): row for row in (json.loads(kept.read_text()) if kept.exists() else [])}
    for name in options.networks or networks.names():
        for runtime in options.runtimes.split(","):
            if (name, runtime) in rows:
                continue
            try:
                row = rows[name, runtime] = measure(name, runtime, options)
            except (tangram.Error, networks.Missing) as error:
                print(f"{name}, {runtime}: left out: {str(error).splitlines()[0]}", file=sys.stderr, flush=True)
                continue
            print(json.dumps(row), flush=True)
            kept.write_text(json.dumps(list(rows.values()), indent=1) + "\n", encoding="utf-8")
    return list(rows.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runtimes", default="onnxruntime,openvino")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--state", type=Path, help="folder that keeps rows between runs")
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results")
    parser.add_argument("networks", nargs="*", metavar="NETWORK")
    options = parser.parse_args()
    record = {"program": "python_simplify", **setting(), "onnxruntime": ort.__version__}
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.state or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        record["rows"] = measure_all(options, folder)
    if not record["rows"]:
        sys.exit("nothing was measured")
    keep_results(options.results, record, markdown(record))
    print(markdown(record))


if __name__ == "__main__":
    main()
