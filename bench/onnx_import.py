#!/usr/bin/env python3
"""Measures the time of reading ONNX files, and the memory in addition to the mapped file.

    bench/onnx_import.py [--tg build-release/tg] [--folder F] [--gigabytes 5] [--runs 5] [--results FOLDER]
                         [networks|nodes|large...]

    networks  `tg import` of every network that tests/oracle/networks.py has written; the weights are not written
    nodes     `tg import` of 100,000 nodes: a chain, a chain of equal blocks, and nodes side by side
    large     products by matrices of 1 GiB each, in a file next to the model: `tg check`, `import`, `run`, `opt` to .tg
              and .onnx. The files are deleted at the end

Seconds are those of the whole command, medians of the runs. Memory is the peak of the process's own memory (RssAnon in
/proc, sampled every 5 ms). Memory of mapped files, which the system can reclaim, is listed separately. Rows of other
parts with the same commit stay in the results.
"""
import argparse
import json
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
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    print(f"skipped: {missing.name} is not installed (./dev test --oracle installs it)")
    sys.exit(0)

NODES = 100_000
SIDE = 16384  # side of an f32 matrix of 1 GiB
MIB = 1024  # KiB


def run_watched(command):
    """Returns (seconds, peak MiB of its own, peak MiB of mapped files)."""
    start = time.perf_counter()
    child = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    own = mapped = 0
    while child.poll() is None:
        try:
            status = Path(f"/proc/{child.pid}/status").read_text(encoding="utf-8")
        except OSError:
            break
        lines = dict(line.split(":", 1) for line in status.splitlines())
        own = max(own, int(lines.get("RssAnon", "0").split()[0]))
        mapped = max(mapped, int(lines.get("RssFile", "0").split()[0]))
        time.sleep(0.005)
    seconds = time.perf_counter() - start
    if child.wait() != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: {child.stderr.read().strip()}")
    child.stderr.close()
    return seconds, own / MIB, mapped / MIB


def import_row(name, path, options, folder, *arguments):
    """Returns a row with the median time of several imports and the largest memory."""
    runs = [run_watched([options.tg, "import", path, "-o", folder / "imported.tg", "--quiet", *arguments])
            for _ in range(options.runs)]
    nodes = len(onnx.load(path, load_external_data=False).graph.node)
    row = {"name": name, "nodes": nodes, "seconds": round(statistics.median(r[0] for r in runs), 3),
           "own_mib": round(max(r[1] for r in runs)), "mapped_mib": round(max(r[2] for r in runs))}
    print(f"{name}: {nodes} nodes, {row['seconds']:.3f} s, {row['own_mib']} MiB", flush=True)
    return row


def measure_networks(options, folder):
    for name in networks.names():
        path = networks.CACHE / f"{name}.onnx"
        if not path.exists() or name == "ssdlite-script":  # not supported
            continue
        yield import_row(name, path, options, folder, *networks.shape_options(path, networks.inputs_of(path)))


# --- 100,000 nodes --------------------------------------------------------------------------------


def save(path, nodes, weights, outputs, shape=(4, 16)):
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "large", [value("x")], [value(name) for name in outputs], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


def chain(path):
    """Writes a chain that alternates three operators."""
    kinds = ("Relu", "Sigmoid", "Neg")
    nodes = [helper.make_node(kinds[i % 3], [f"v{i - 1}" if i else "x"], [f"v{i}"]) for i in range(NODES)]
    save(path, nodes, [], [f"v{NODES - 1}"])


def blocks(path):
    """Writes residual blocks of four nodes, each with its own weights."""
    nodes, weights, last, rng = [], [], "x", np.random.default_rng(1)
    for i in range(NODES // 4):
        weights.append(numpy_helper.from_array(rng.standard_normal((16, 16)).astype(np.float32), f"blocks.{i}.weight"))
        weights.append(numpy_helper.from_array(rng.standard_normal(16).astype(np.float32), f"blocks.{i}.bias"))
        nodes += [helper.make_node("MatMul", [last, f"blocks.{i}.weight"], [f"p{i}"]),
                  helper.make_node("Add", [f"p{i}", f"blocks.{i}.bias"], [f"b{i}"]),
                  helper.make_node("Relu", [f"b{i}"], [f"r{i}"]),
                  helper.make_node("Add", [f"r{i}", last], [f"h{i}"])]
        last = f"h{i}"
    save(path, nodes, weights, [last])


def row_of_sums(path):
    """Writes half of the nodes side by side; the other half sums them."""
    half = NODES // 2
    scales = [numpy_helper.from_array(np.array(i + 1, np.float32), f"s{i}") for i in range(half)]
    nodes = [helper.make_node("Mul", ["x", f"s{i}"], [f"m{i}"]) for i in range(half)]
    nodes += [helper.make_node("Add", [f"a{i - 1}" if i else "x", f"m{i}"], [f"a{i}"]) for i in range(half)]
    save(path, nodes, scales, [f"a{half - 1}"])


def measure_nodes(options, folder):
    for write in (chain, blocks, row_of_sums):
        path = folder / f"{write.__name__}.onnx"
        write(path)
        yield import_row(f"100,000 nodes: {write.__name__.replace('_', ' ')}", path, options, folder)


# --- gigabytes ------------------------------------------------------------------------------------


def write_large(path, count):
    """Writes `count` products in a row. The weights, small random numbers, are in a separate file."""
    block = (np.random.default_rng(1).standard_normal(1 << 20) / SIDE ** 0.5).astype(np.float32).tobytes()
    size = SIDE * SIDE * 4
    with open(path.with_suffix(".data"), "wb") as file:
        for _ in range(count * (size // len(block))):
            file.write(block)
    weights = []
    for i in range(count):
        tensor = TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT, dims=[SIDE, SIDE],
                             data_location=TensorProto.EXTERNAL)
        for key, value in (("location", path.with_suffix(".data").name), ("offset", i * size), ("length", size)):
            tensor.external_data.add(key=key, value=str(value))
        weights.append(tensor)
    nodes = []
    for i in range(count):  # a relu between products prevents rewrites that multiply weights with each other
        nodes += [helper.make_node("MatMul", [f"h{i - 1}" if i else "x", f"w{i}"], [f"p{i}"]),
                  helper.make_node("Relu", [f"p{i}"], [f"h{i}"])]
    save(path, nodes, weights, [f"h{count - 1}"], (1, SIDE))


def measure_large(options, folder):
    path, fast = folder / "large.onnx", folder / "fast"
    write_large(path, options.gigabytes)
    analytic = ["--cost", "analytic:cpu", "--quiet"]
    commands = {
        "check": [],
        "import, without weights": ["-o", f"{fast}.tg", "--quiet"],
        "import": ["-o", f"{fast}.tg", "--weights-out", f"{fast}.safetensors", "--quiet"],
        "run": ["--backend", "cpu", "--runs", 1, "--quiet"],
        "opt to .tg": [*analytic, "-o", f"{fast}.tg", "--weights-out", f"{fast}.safetensors"],
        "opt to .onnx": [*analytic, "-o", f"{fast}.onnx"],
    }
    for name, arguments in commands.items():
        seconds, own, mapped = run_watched([options.tg, name.split()[0].rstrip(","), path, *arguments])
        print(f"{options.gigabytes} GiB, {name}: {seconds:.1f} s, {own:.0f} MiB beside {mapped:.0f} MiB", flush=True)
        yield {"name": f"{options.gigabytes} GiB: {name}", "nodes": 2 * options.gigabytes, "seconds": round(seconds, 2),
               "own_mib": round(own), "mapped_mib": round(mapped)}
        for file in folder.glob("fast*"):
            file.unlink()


PARTS = {"networks": measure_networks, "nodes": measure_nodes, "large": measure_large}


def markdown(record):
    lines = ["# Reading ONNX files", "",
             f"{record['machine']}; commit {record['commit']}; {record['date']}; load average at the start "
             f"{record['load_average']}.", "",
             "Seconds of the whole command; MiB of the process's own, and of mapped files.", "",
             "| what | nodes | seconds | own MiB | mapped MiB |", "|---|---:|---:|---:|---:|"]
    lines += [f"| {r['name']} | {r['nodes']} | {r['seconds']} | {r['own_mib']} | {r['mapped_mib']} |" for r in record["rows"]]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tg", default=str(ROOT / "build-release/tg"))
    parser.add_argument("--folder", type=Path, help="folder for large temporary files")
    parser.add_argument("--gigabytes", type=int, default=5)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results")
    parser.add_argument("parts", nargs="*", metavar="PART")
    options = parser.parse_args()
    if unknown := [part for part in options.parts if part not in PARTS]:
        parser.error(f"{unknown[0]!r} is not one of {', '.join(PARTS)}")
    parts = options.parts or list(PARTS)
    record = {"program": "onnx_import", **setting(), "rows": []}
    kept = options.results / "onnx_import.json"
    if kept.exists() and (earlier := json.loads(kept.read_text(encoding="utf-8")))["commit"] == record["commit"]:
        record["rows"] = [row for row in earlier["rows"] if row["part"] not in parts]
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for part in parts:
            record["rows"] += [{"part": part, **row} for row in PARTS[part](options, Path(folder))]
    keep_results(options.results, record, markdown(record))


if __name__ == "__main__":
    main()
