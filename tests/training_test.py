#!/usr/bin/env python3
"""Trains the networks of examples/training as described in docs/training.md, and checks their accuracy."""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# (file, options for training, minimum accuracy in training, minimum accuracy of the model `test`)
NETWORKS = [
    ("spirals", ["--steps", "2000"], 1.0, 0.99),
    ("spirals", ["--steps", "600", "--opt", "--cost", "analytic:cpu"], 1.0, 0.98),
]


def run(tg, *arguments):
    done = subprocess.run([tg, "run", *arguments, "--json"], capture_output=True, check=False, timeout=120)
    if done.returncode:
        sys.exit(f"tg run {' '.join(arguments)}: exit code {done.returncode}\n{done.stderr.decode()}")
    return json.loads(done.stdout)


def main():
    tg = sys.argv[1]
    faults = []
    page = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    for name, options, least, least_tested in NETWORKS:
        file = str(ROOT / "examples" / "training" / f"{name}.tg")
        if not re.search(rf"tg run examples/training/{name}\.tg --model train --steps \d+", page):
            faults.append(f"docs/training.md does not say how {name} is trained")
        with tempfile.TemporaryDirectory() as folder:
            weights = str(Path(folder, "w.safetensors"))
            trained = run(tg, file, "--model", "train", *options, "--weights-out", weights)
            last = trained["history"][-1]
            tested = run(tg, file, "--model", "test", "--weights", weights)["outputs"][0]["mean"]
        if not (last["accuracy"] >= least and last["loss"] < trained["history"][0]["loss"] / 10):
            faults.append(f"{name} {options}: ends at {last}")
        if not tested >= least_tested:
            faults.append(f"{name} {options}: {tested} of other points are right")
    print("\n".join(faults) or f"training: {len(NETWORKS)} networks learned their data")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
