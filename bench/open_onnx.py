#!/usr/bin/env python3
"""Times ONNX files with open sizes in ONNX Runtime, before and after one `tg opt`, at several sizes.

    bench/open_onnx.py [--tg build/tg] [--rounds 15] [--sizes 6] [--seed 1] [--time-limit 10] [NETWORK...]
        > bench/results/open_onnx.md

The networks are those of tests/oracle/open_sizes_test.py, as PyTorch's exporter by TorchScript writes them, with open
batch, sequence or image sizes. Sizes are drawn by the seed; 1 and the ends of the ranges are among them. "ratio" is the
time of the source over that of the result, on one thread: the median over rounds of interleaved runs, with the 10th and
90th percentiles; above 1, the result is faster. "difference" is the largest of the outputs at all sizes, relative to the
largest number of the output. A network that `tg opt` refuses has its message. Prints Markdown."""
import argparse
import math
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from run import ROOT, setting

sys.path.insert(0, str(ROOT / "tests/oracle"))
import networks  # noqa: E402
import numpy as np  # noqa: E402
import onnxruntime  # noqa: E402
import open_sizes_test as cases  # noqa: E402


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def times_of(sessions, feeds, rounds):
    """Returns the seconds of interleaved rounds of about 20 ms, a list for each session."""
    start = time.perf_counter()
    sessions[0].run(None, feeds)
    runs = max(1, int(0.02 / (time.perf_counter() - start)))
    found = [[] for _ in sessions]
    for number in range(rounds):
        for k in range(len(sessions)):
            i = (k + number) % len(sessions)
            start = time.perf_counter()
            for _ in range(runs):
                sessions[i].run(None, feeds)
            found[i].append((time.perf_counter() - start) / runs)
    return found


def difference(got, want):
    worst = 0.0
    for a, b in zip(got, want):
        scale = np.abs(b).max(initial=0) or 1
        worst = max(worst, float(np.abs(a.astype(np.float64) - b).max(initial=0) / scale))
    return worst


def points_of(args, name, declared, chosen, kind):
    names = list(dict.fromkeys(w for dims in declared.values() for d in dims if isinstance(d, str) for w in cases.words(d)))
    computed = {k: v for k, v in chosen.items() if ".." not in v}
    rng = np.random.default_rng([args.seed, *name.encode()])
    for sizes in cases.network_sizes(rng, [n for n in names if n not in computed], chosen, kind, args.sizes):
        sizes.update({k: eval(v, {}, sizes) for k, v in computed.items()})
        yield sizes


def measure(args, name, folder):
    """Prints the rows of a network. Returns its ratios."""
    path, inputs = cases.prepared(name, "script")
    declared = cases.declared_in(path)
    chosen, kind = cases.options_of(name, declared)
    result = folder / f"{name}.onnx"
    dims = [word for k, v in chosen.items() for word in ("--dim", f"{k}={v}")]
    start = time.perf_counter()
    done = subprocess.run([args.tg, "opt", path, "-o", result, "--quiet", "--time-limit", str(args.time_limit), *dims],
                          capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if done.returncode:
        print(f"| {name} | | | {done.stderr.splitlines()[0].replace('|', ' ').replace(str(path), path.name)} | |", flush=True)
        return []
    sessions, ratios = [session(path), session(result)], []
    for sizes in points_of(args, name, declared, chosen, kind):
        feeds = {i: cases.resized(inputs[i], [eval(d, {}, sizes) if isinstance(d, str) else d for d in dims])
                 for i, dims in declared.items()}
        apart = difference(sessions[1].run(None, feeds), sessions[0].run(None, feeds))
        before, after = times_of(sessions, feeds, args.rounds)
        each = sorted(a / b for a, b in zip(before, after))
        ratios.append(statistics.median(each))
        text = ", ".join(f"{k} = {v}" for k, v in sizes.items())
        print(f"| {name} | {text} | {statistics.median(before) * 1e3:.2f} | {ratios[-1]:.2f} ({each[len(each) // 10]:.2f} to "
              f"{each[-1 - len(each) // 10]:.2f}) | {apart:.1e} |", flush=True)
    print(f"| {name} | all, `tg opt` took {seconds:.1f} s | | {geometric(ratios):.2f} | |", flush=True)
    return ratios


def geometric(ratios):
    return math.exp(statistics.mean(math.log(r) for r in ratios))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tg", default=ROOT / "build/tg")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--sizes", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--time-limit", type=float, default=10)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    where = setting()
    print(f"# ONNX files with open sizes\n\n{' '.join(' '.join(__doc__.split(chr(10) * 2)[2:]).split())}\n\n{where['machine']}; commit "
          f"{where['commit']}; {where['date']}; load at the start {where['load_average']}; ONNX Runtime "
          f"{onnxruntime.__version__}; {args.rounds} rounds; seed {args.seed}; searches of at most {args.time_limit:g} s.\n")
    print("| network | sizes | source, ms | ratio | difference |\n|---|---|---:|---:|---:|", flush=True)
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for name in cases.NETWORKS:
            if args.names and name not in args.names:
                continue
            try:
                ratios += measure(args, name, Path(folder))
            except networks.Missing as missing:
                print(f"| {name} | | | not measured: {missing} | |", flush=True)
    if ratios:
        print(f"\nGeometric mean over {len(ratios)} sizes: {geometric(ratios):.2f}; lowest {min(ratios):.2f}.")


if __name__ == "__main__":
    main()
