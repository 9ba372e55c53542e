#!/usr/bin/env python3
"""Times ONNX networks in ONNX Runtime and in Tangram's runtime, before and after `tg opt`.

    bench/onnx_networks.py [--tg build-release/tg] [--threads 1,2] [--rounds 15] [--cost MODEL] [--state FOLDER]
                           [--kinds exported,source,optimised,openvino] [--results FOLDER] [NETWORK...]

The networks are those of tests/oracle/networks.py. NETWORK selects those whose name contains it, or is
a model: an .onnx file with known shapes, or a .tg file, which is first converted by `tg export`. The
original and the other kinds (default: all but openvino) are timed interleaved, on the same inputs:

    original    ONNX Runtime on the unchanged file
    openvino    OpenVINO on the unchanged file, float32, latency hint (only with --kinds)
    exported    ONNX Runtime on the result of `tg opt -o F.onnx`
    source      `tg run` on the unchanged file
    optimised   `tg run` on the result of `tg opt -o F.tg`

The timed region is one inference, with inputs and outputs in the runtime's memory; a round's time is the
median of its runs. A ratio is the original's time over the other's in the same round, above 1 if the
other is faster. The 95% interval of the median ratio uses order statistics and assumes no distribution.
"slower" means that the whole interval is below 0.98. Requires an idle machine; the load average at the
start is recorded.

With --state, results are kept in a folder. A later run measures only the networks that lack times of one
of --kinds.
Writes onnx_networks.json and onnx_networks.md to --results. Requires the packages of
`./dev test --oracle --full`; networks whose packages are not installed are skipped.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from run import ROOT, keep_results, setting

sys.path.insert(0, str(ROOT / "tests/oracle"))
try:
    import networks
    import numpy as np
    import onnx
    import onnxruntime as ort
except ImportError as missing:
    print(f"skipped: {missing.name} is not installed (./dev test --oracle installs it)")
    sys.exit(0)

ROUND_S, LEAST_RUNS = 0.3, 5
PAUSE_S = 0.06  # after a round of ONNX Runtime, whose threads keep spinning on their cores after a run
KINDS = ("original", "openvino", "exported", "source", "optimised")
SLOWER, FASTER = 0.98, 1.02


def median_us(infer):
    """Returns the median of the runs of a round in microseconds."""
    times, end = [], time.perf_counter() + ROUND_S
    while len(times) < LEAST_RUNS or time.perf_counter() < end:
        start = time.perf_counter()
        infer()
        times.append((time.perf_counter() - start) * 1e6)
    return statistics.median(times)


class OnnxRuntime:
    """A session whose inputs and outputs stay in its memory."""

    def __init__(self, path, inputs, threads):
        options = ort.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.log_severity_level = 3
        self.session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.binding = self.session.io_binding()
        for value in self.session.get_inputs():
            self.binding.bind_ortvalue_input(value.name, ort.OrtValue.ortvalue_from_numpy(inputs[value.name]))
        for value in self.session.get_outputs():
            self.binding.bind_output(value.name)
        self.session.run_with_iobinding(self.binding)

    def round(self):
        found = median_us(lambda: self.session.run_with_iobinding(self.binding))
        time.sleep(PAUSE_S)
        return found


class OpenVino:
    """A request whose inputs and outputs stay in its memory."""

    def __init__(self, path, inputs, threads):
        import openvino  # only this kind requires it
        core = openvino.Core()
        compiled = core.compile_model(core.read_model(path), "CPU", {
            "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads})
        self.request = compiled.create_infer_request()
        for name, value in inputs.items():
            self.request.set_tensor(name, openvino.Tensor(value))
        self.request.infer()

    def round(self):
        return median_us(self.request.infer)


class Tangram:
    """`tg run` on a file, with a new process for each round."""

    def __init__(self, options, threads, arguments):
        self.command = [options.tg, "run", *arguments, "--backend", "cpu", "--threads", threads, "--json"]

    def round(self):
        return json.loads(tg(self.command))["median_us"]


def tg(command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or ["tg failed"])[0])
    return done.stdout


def optimise(name, path, shapes, threads, options, folder):
    """Makes the results of `tg opt` if they are missing: .tg with .safetensors, and .onnx. Returns their stem."""
    stem = folder / f"{name}-{threads}"
    cost = ["--cost", options.cost] if options.cost else []
    common = [options.tg, "opt", path, *shapes, "--threads", threads, "--quiet", *cost]
    if "optimised" in options.kinds and not stem.with_suffix(".tg").exists():
        tg([*common, "-o", stem.with_suffix(".tg"), "--weights-out", stem.with_suffix(".safetensors")])
    if "exported" in options.kinds and not stem.with_suffix(".onnx").exists():
        tg([*common, "-o", stem.with_suffix(".onnx")])
    return stem


def random_inputs(path):
    """Returns random inputs by name for a file with known shapes. Integers, mostly indices, are 0 or 1."""
    random, inputs = np.random.default_rng(1), {}
    graph = onnx.load(path, load_external_data=False).graph
    weights = {weight.name for weight in graph.initializer}
    for value in (v for v in graph.input if v.name not in weights):
        of = value.type.tensor_type
        shape = [d.dim_value for d in of.shape.dim]
        if 0 in shape:
            raise ValueError(f"{path}: the shape of {value.name} is open")
        dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(of.elem_type))
        drawn = random.standard_normal(shape) if dtype.kind == "f" else random.integers(0, 2, shape)
        inputs[value.name] = drawn.astype(dtype)
    return inputs


def prepare(name, options, folder):
    """Returns the network's file and its inputs by name."""
    model = Path(name)
    if model.suffix not in (".onnx", ".tg"):
        path = networks.prepare(name)
        return path, networks.inputs_of(path)
    path = model
    if model.suffix == ".tg":
        path = folder / f"{model.stem}.onnx"
        if not path.exists():
            tg([options.tg, "export", model, "-o", path, "--quiet"])
    return path, random_inputs(path)


def runners(name, threads, options, folder):
    """Returns the runner of each kind."""
    path, inputs = prepare(name, options, folder)
    name = Path(name).stem
    shapes = networks.shape_options(path, inputs)
    stem = optimise(name, path, shapes, threads, options, folder)
    made = {"original": OnnxRuntime(path, inputs, threads)}
    if "openvino" in options.kinds:
        made["openvino"] = OpenVino(path, inputs, threads)
    if "exported" in options.kinds:
        made["exported"] = OnnxRuntime(stem.with_suffix(".onnx"), inputs, threads)
    if "source" in options.kinds:
        given = folder / f"{name}.npz"
        np.savez(given, **inputs)
        made["source"] = Tangram(options, threads, [path, *shapes, "--input", given])
    if "optimised" in options.kinds:
        own = stem.with_suffix(".inputs.npz")
        np.savez(own, **networks.by_names_in(stem.with_suffix(".tg").read_text(), inputs))
        weights = stem.with_suffix(".safetensors")
        made["optimised"] = Tangram(options, threads, [stem.with_suffix(".tg"), "--weights", weights, "--input", own])
    return made


def median_interval(values):
    """Returns (median, low, high), with the order statistics of the 95% interval of the median."""
    values, n = sorted(values), len(values)
    outside, k = 0.0, 0
    while k < n // 2:
        outside += 2 * math.comb(n, k) / 2 ** n
        if outside > 0.05:
            break
        k += 1
    low = max(0, k - 1)
    return statistics.median(values), values[low], values[n - 1 - low]


def measure(name, threads, options, folder):
    timed = runners(name, threads, options, folder)
    times = {kind: [] for kind in timed}
    for number in range(options.rounds):
        order = list(timed)[number % len(timed):] + list(timed)[:number % len(timed)]
        for kind in order:
            times[kind].append(timed[kind].round())
    row = {"network": Path(name).stem, "threads": threads, "rounds": options.rounds}
    for kind, values in times.items():
        row[f"{kind}_us"] = round(statistics.median(values), 1)
        if kind != "original":
            ratios = [first / other for first, other in zip(times["original"], values)]
            row[f"{kind}_ratio"] = [round(r, 4) for r in median_interval(ratios)]
    return row


# --- output ---------------------------------------------------------------------------------------


def cell(row, kind):
    if f"{kind}_ratio" not in row:
        return "-"
    middle, low, high = row[f"{kind}_ratio"]
    text = f"{row[f'{kind}_us'] / 1e3:.2f} ms, {middle:.3f} [{low:.3f}, {high:.3f}]"
    return f"{text} slower" if high < SLOWER else text


def summary(rows, kind):
    ratios = [row[f"{kind}_ratio"] for row in rows if f"{kind}_ratio" in row]
    if not ratios:
        return f"{kind}: not measured"
    mean = math.exp(statistics.fmean(math.log(r[0]) for r in ratios))
    slower, faster = sum(r[2] < SLOWER for r in ratios), sum(r[1] > FASTER for r in ratios)
    return f"{kind}: geometric mean {mean:.3f}, {faster} of {len(ratios)} faster, {slower} slower"


def markdown(record):
    rows = record["rows"]
    lines = ["# ONNX networks in ONNX Runtime and in Tangram's runtime", "",
             f"{record['machine']}; commit {record['commit']}; {record['date']}; load average at the start "
             f"{record['load_average']}; ONNX Runtime {record['onnxruntime']}.", "",
             "Milliseconds, then ONNX Runtime's time on the original over this one, with its 95% interval.", ""]
    shown = [kind for kind in KINDS[1:] if any(f"{kind}_ratio" in row for row in rows)]
    lines += [f"| network | threads | original | {' | '.join(shown)} |", "|---" * (len(shown) + 3) + "|"]
    for row in rows:
        lines.append(f"| {row['network']} | {row['threads']} | {row['original_us'] / 1e3:.2f} ms | "
                     + " | ".join(cell(row, kind) for kind in shown) + " |")
    for threads in sorted({row["threads"] for row in rows}):
        lines += ["", f"With {threads} thread{'s' if threads > 1 else ''}:", ""]
        lines += [f"- {summary([r for r in rows if r['threads'] == threads], kind)}" for kind in shown]
    return "\n".join(lines) + "\n"


def kinds_of(text):
    kinds = text.split(",")
    if unknown := [kind for kind in kinds if kind not in KINDS[1:]]:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is not one of {', '.join(KINDS[1:])}")
    return kinds


def has_kinds(row, kinds):
    return all(f"{kind}_ratio" in row for kind in kinds)


def of_kinds(row, kinds):
    """Returns the row without the measurements of other kinds."""
    others = tuple(f"{kind}_" for kind in KINDS[1:] if kind not in kinds)
    return {key: value for key, value in row.items() if not key.startswith(others)}


def measure_all(options, folder):
    kept = folder / "rows.json"
    known = json.loads(kept.read_text()) if kept.exists() else []
    rows = {(row["network"], row["threads"]): row for row in known}
    files = [name for name in options.networks if Path(name).suffix in (".onnx", ".tg")]
    parts = [name for name in options.networks if name not in files]
    known = [name for name in networks.names() if any(part in name for part in parts) or not options.networks]
    for name in [*files, *known]:
        for threads in (int(n) for n in options.threads.split(",")):
            if has_kinds(rows.get((Path(name).stem, threads), {}), options.kinds):
                continue
            try:
                row = measure(name, threads, options, folder)
            except (RuntimeError, ValueError, networks.Missing) as error:
                print(f"{name}, {threads}: left out: {error}", file=sys.stderr, flush=True)
                continue
            print(f"{row['network']}, {threads}: {row['original_us'] / 1e3:.2f} ms; "
                  + "; ".join(f"{kind} {cell(row, kind)}" for kind in KINDS[1:] if kind in options.kinds), flush=True)
            rows[row["network"], threads] = row
            kept.write_text(json.dumps(list(rows.values()), indent=1) + "\n", encoding="utf-8")
    return [of_kinds(row, options.kinds) for row in rows.values() if has_kinds(row, options.kinds)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tg", default=str(ROOT / "build-release/tg"))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--cost", default="", help="prices for tg opt; default: its own")
    parser.add_argument("--kinds", type=kinds_of, default=["exported", "source", "optimised"])
    parser.add_argument("--state", type=Path, help="folder that keeps results between runs")
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results")
    parser.add_argument("networks", nargs="*")
    options = parser.parse_args()
    record = {"program": "onnx_networks", **setting(), "onnxruntime": ort.__version__}
    if record["load_average"] > 0.5:
        print(f"the load average is {record['load_average']}; timings will be noisy", file=sys.stderr)
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.state or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        record["rows"] = measure_all(options, folder)
    if not record["rows"]:
        sys.exit("nothing was measured")
    keep_results(options.results, record, markdown(record))
    print("".join(markdown(record).split("\nWith")[1:]))


if __name__ == "__main__":
    main()
