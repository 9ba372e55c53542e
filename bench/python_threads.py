#!/usr/bin/env python3
"""Measures small networks while busy processes compete for the cores: median and 99th percentile of single runs of the
Python package and of ONNX Runtime, with one and two threads, beside zero, one and four busy processes.

    bench/python_threads.py [--seconds 3] [--busy 0,1,4] [--json FILE]     requires both packages

Prints Markdown. Each figure combines two processes, interleaved with those of the other columns. "cpu" is the processor
time of the process over the time of its runs: 1.00 is one core, so with two threads the excess over the speedup is
waiting. In both packages an idle thread spins for a while by default; this default is measured here."""
import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NETWORKS = {"mlp, 16 images": ("mlp", {"N": 16}), "lstm": ("lstm", {}), "squeezenet": ("squeezenet", {}),
            "transformer, 64 tokens": ("transformer", {"layers": 1, "S": 64})}


def session(runtime, path, threads):
    if runtime == "tangram":
        import tangram

        model = tangram.load(path)
        program = model.compile(threads=threads)
        return model.inputs[0], program
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    runs = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    port = runs.get_inputs()[0]
    return port, lambda x: runs.run(None, {port.name: x})


def child(runtime, path, threads, seconds):
    import numpy

    port, call = session(runtime, path, threads)
    x = numpy.random.default_rng(1).standard_normal([int(size) for size in port.shape]).astype("float32")
    for _ in range(20):
        call(x)
    samples, cpu = [], time.process_time()
    start = now = time.perf_counter()
    while now < start + seconds:
        call(x)
        now, last = time.perf_counter(), now
        samples.append((now - last) * 1e6)
    print(json.dumps({"us": samples, "cpu": (time.process_time() - cpu) / (now - start)}))


def measure(networks, busy, seconds, rounds=2):
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]
    cells = {}
    try:
        for _ in range(rounds):
            for name, path in networks.items():
                for runtime in ("tangram", "onnxruntime"):
                    for threads in (1, 2):
                        out = subprocess.run([sys.executable, __file__, "--child", runtime, path, str(threads),
                                              str(seconds)], stdout=subprocess.PIPE, text=True, check=True).stdout
                        cells.setdefault((name, runtime, threads), []).append(json.loads(out))
    finally:
        for process in spinning:
            process.kill()
            process.wait()
    return [{"busy": busy, "network": name, "runtime": runtime, "threads": threads, **summary(of)}
            for (name, runtime, threads), of in cells.items()]


def summary(of):
    samples = sorted(us for one in of for us in one["us"])
    return {"p50_us": statistics.median(samples), "p99_us": samples[len(samples) * 99 // 100], "least_us": samples[0],
            "runs": len(samples), "cpu": statistics.mean(one["cpu"] for one in of)}


def table(rows):
    print("| network | busy | " + " | ".join(f"{runtime}, {threads}" for runtime in ("tangram", "onnxruntime")
                                             for threads in (1, 2)) + " |")
    print("|---|---|" + "---|" * 4)
    for key in dict.fromkeys((row["network"], row["busy"]) for row in rows):
        cells = [f"{row['p50_us']:.0f} / {row['p99_us']:.0f} ({row['least_us']:.0f}; cpu {row['cpu']:.2f})"
                 for row in rows if (row["network"], row["busy"]) == key]
        print(f"| {key[0]} | {key[1]} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--busy", default="0,1,4")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        runtime, path, threads, seconds = options.child
        return child(runtime, path, int(threads), float(seconds))
    import tangram

    with tempfile.TemporaryDirectory() as folder:
        networks = {}
        for name, (example, sizes) in NETWORKS.items():
            networks[name] = str(Path(folder, example + ".onnx"))
            tangram.load(ROOT / "examples" / f"{example}.tg", set=sizes).save(networks[name])
        print(f"{datetime.date.today()}, load average {os.getloadavg()[0]:.1f} at the start, {os.cpu_count()} cores. "
              "p50 / p99 (least) in us.\n")
        rows = [row for busy in options.busy.split(",") for row in measure(networks, int(busy), options.seconds)]
    table(rows)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
