#!/usr/bin/env python3
"""Measures the seconds from the installation of the wheel to the first run of a network that is faster than PyTorch.

    bench/python_first_run.py WHEEL [--packages FOLDER] [--network resnet18]

Makes a fresh virtual environment that finds PyTorch and torchvision in --packages (default: the packages of this
interpreter); with --packages '' it installs them. The clock starts at `pip install WHEEL` and stops when a compiled
network has been called and its runs were faster than eager ones. Prints the seconds of each step.
"""
import argparse
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

RUN = """
import statistics, sys, time
begun = time.perf_counter()
import torch, torchvision
print(f"import of PyTorch {time.perf_counter() - begun:.1f} s", flush=True)
module = getattr(torchvision.models, sys.argv[1])(weights=None).eval()
x = torch.randn(1, 3, 224, 224)

def median_ms(call):
    times = []
    for _ in range(9):
        start = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)

with torch.no_grad():
    fast = torch.compile(module, backend="tangram")
    start = time.perf_counter()
    found = fast(x)
    print(f"first call {time.perf_counter() - start:.1f} s", flush=True)
    module(x)
    eager, ours = median_ms(lambda: module(x)), median_ms(lambda: fast(x))
    apart = float((found - module(x)).abs().max() / module(x).abs().max())
print(f"eager {eager:.2f} ms, compiled {ours:.2f} ms, outputs differ by {apart:.1e}")
sys.exit(0 if ours < eager and apart < 1e-4 else 1)
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=lambda text: Path(text).resolve())
    parser.add_argument("--packages", default=sysconfig.get_path("purelib"))
    parser.add_argument("--network", default="resnet18")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python, site = Path(folder, "bin/python"), next(Path(folder, "lib").glob("python*/site-packages"))
        if options.packages:
            Path(site, "packages.pth").write_text(options.packages + "\n", encoding="utf-8")
        wanted = [] if options.packages else ["torch", "torchvision"]
        start = time.perf_counter()
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", options.wheel, *wanted],
                       check=True)
        installed = time.perf_counter()
        print(f"pip install {installed - start:.1f} s", flush=True)
        done = subprocess.run([python, "-c", RUN, options.network], cwd=folder, check=False)
        print(f"{time.perf_counter() - start:.1f} s in all" + (": faster" if done.returncode == 0 else ": not faster"))
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
