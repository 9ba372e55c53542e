#!/usr/bin/env python3
"""Compares whole networks from ONNX files (networks.py) with ONNX Runtime on the same inputs:

    run      `tg run NAME.onnx`
    import   `tg import` to a .tg file and weights, then `tg run`
    opt      `tg opt -o fast.tg --weights-out F`, then `tg run`
    export   `tg opt -o fast.onnx`, then ONNX Runtime
    verify   `tg opt --verify`: the result is equal to its source (only if --steps names it)

    tests/oracle/import_networks_test.py [--tg build/tg] [--only NAME,...] [--steps run,import,opt,export]
                                         [--threads N] [--cost MODEL] [--table F.md] [NAME...]

Every output must agree with that of ONNX Runtime on the original file:

    |a - b| <= 1e-4 |b| + 1e-5 max |b|      for floats; integers and bools are equal; NaN matches only NaN

A cell is the largest difference, divided by the tolerance. If it is above 1, both outputs are compared with those in
double precision: PyTorch's, or those of the onnx package's reference evaluator. Tangram's may then differ from these by
the tolerance, or by eight times ONNX Runtime's difference, because Winograd convolutions have larger rounding errors
and networks without residuals amplify them. Networks of packages that are not installed are skipped.
"""
import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from export_test import ROOT, difference  # also skips this test if packages are missing

import double_precision
import networks
import numpy as np
import onnx
import onnxruntime as ort

LIMIT_S = 900
WORSE = 8  # times ONNX Runtime's difference from double precision, for networks that amplify rounding
# Selects rows by their values: `tg` must reject it with the name of the node.
REFUSED = {"ssdlite-script": "NonMaxSuppression|NonZero|TopK|If"}


class Failure(Exception):
    """A step failed."""


class Case:
    """A network, its inputs, and the outputs of ONNX Runtime."""

    def __init__(self, name, options):
        self.name, self.options = name, options
        self.path = networks.prepare(name)
        self.inputs = networks.inputs_of(self.path)
        self.shapes = networks.shape_options(self.path, self.inputs)
        nodes = onnx.load(self.path, load_external_data=False).graph.node
        self.nodes = sum(n.op_type != "Constant" for n in nodes)
        self.want = self.run_onnx(self.path)

    def run_onnx(self, path):
        """Returns {output: array} of ONNX Runtime."""
        settings = ort.SessionOptions()
        settings.log_severity_level = 3
        settings.intra_op_num_threads, settings.inter_op_num_threads = self.options.threads, 1
        session = ort.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
        names = [o.name for o in session.get_outputs()]
        given = {i.name for i in session.get_inputs()}
        return dict(zip(names, session.run(names, {n: x for n, x in self.inputs.items() if n in given})))

    def tg(self, command, *arguments):
        """Returns the output of `tg`, or raises a Failure with its first message."""
        threads = ["--threads", self.options.threads] if command in ("run", "opt") else []
        line = [self.options.tg, command, *arguments, *threads]
        try:
            done = subprocess.run(list(map(str, line)), capture_output=True, text=True, check=False, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            raise Failure(f"tg {command}: no end after {LIMIT_S} s") from None
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines() or [""]
            first = next((text for text in lines if text.startswith("error")), lines[-1])
            raise Failure(f"tg {command}: {first}" + ("" if done.returncode == 1 else f" (exit code {done.returncode})"))
        return done.stdout

    def run_tg(self, folder, file, inputs, *arguments):
        """Returns the outputs of `tg run --backend cpu`, in its order."""
        np.savez(folder / "in.npz", **inputs)
        self.tg("run", file, "--backend", "cpu", "--runs", 1, "--quiet", "--input", folder / "in.npz",
                "--output", folder / "out.npz", *arguments)
        return dict(np.load(folder / "out.npz"))

    # --- steps: each returns outputs by name ------------------------------------------------------

    def run(self, folder):
        return self.run_tg(folder, self.path, self.inputs, *self.shapes)

    def run_text(self, folder, stem):
        """Runs a .tg file with its weights: inputs have the names of that file, and outputs its order."""
        file = folder / f"{stem}.tg"
        given = networks.by_names_in(file.read_text(), self.inputs)
        got = self.run_tg(folder, file, given, "--weights", folder / f"{stem}.safetensors")
        return dict(zip(self.want, got.values()))

    def import_(self, folder):
        self.tg("import", self.path, "-o", folder / "m.tg", "--weights-out", folder / "m.safetensors", "--quiet",
                *self.shapes)
        return self.run_text(folder, "m")

    def opt(self, folder):
        self.tg("opt", self.path, *self.shapes, "--cost", self.options.cost, "--quiet", "-o", folder / "fast.tg",
                "--weights-out", folder / "fast.safetensors")
        return self.run_text(folder, "fast")

    def export(self, folder):
        out = folder / "fast.onnx"
        self.tg("opt", self.path, *self.shapes, "--cost", self.options.cost, "--quiet", "-o", out)
        onnx.checker.check_model(str(out), full_check=True)
        return self.run_onnx(out)

    def verify(self, folder):
        self.tg("opt", self.path, *self.shapes, "--cost", self.options.cost, "--quiet", "--verify", "-o",
                folder / "verified.tg")
        return self.want

    # --- judgement --------------------------------------------------------------------------------

    def judge(self, got):
        """Returns the cell: the largest difference, divided by the tolerance."""
        if list(got) != list(self.want):
            raise Failure(f"outputs {list(got)}, expected {list(self.want)}")
        offs = [difference(got[name], want) if want.size else 0 for name, want in self.want.items()]
        if max(offs) <= 1:
            return f"{max(offs):.2g}"
        exact = self.exact()
        for (name, want), off, double in zip(self.want.items(), offs, exact or [None] * len(offs)):
            self.judge_by_double(name, got[name], want, off, double)
        ours, theirs = (max(distance(a, d) for a, d in zip(side.values(), exact)) for side in (got, self.want))
        return f"{max(offs):.2g} (f64: {ours:.2g}, ORT {theirs:.2g})"

    def exact(self):
        """Returns the outputs in double precision, in order, or None if they are not known."""
        return double_precision.outputs(self.name)

    @staticmethod
    def judge_by_double(name, got, want, off, double):
        if off <= 1:
            return
        if got.dtype != want.dtype or got.shape != want.shape:
            raise Failure(f"{name} is {got.dtype}{list(got.shape)}, expected {want.dtype}{list(want.shape)}")
        text = f"output {name} is {off:.3g} times further off than allowed"
        if double is None:
            raise Failure(f"{text}; in double precision: not known")
        ours, theirs = distance(got, double), distance(want, double)
        if ours > max(1, WORSE * theirs):
            raise Failure(f"{text}; from double precision: ours {ours:.3g}, ONNX Runtime's {theirs:.3g}")


def distance(got, double):
    """Returns the difference from an output in double precision, divided by the tolerance of `got`'s type."""
    return difference(got, double.astype(got.dtype)) if got.size else 0


STEPS = {"run": Case.run, "import": Case.import_, "opt": Case.opt, "export": Case.export, "verify": Case.verify}


def run_step(case, step):
    """Returns (cell, True if it is as expected)."""
    with tempfile.TemporaryDirectory() as scratch:
        try:
            return case.judge(STEPS[step](case, Path(scratch))), case.name not in REFUSED
        except Failure as failure:
            text = str(failure)
        except Exception as error:  # noqa: BLE001 continue with the other steps
            text = f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"
    if re.search(REFUSED.get(case.name, "$^"), text):
        return f"refused: {text}", True
    return f"FAIL {text}", False


def select(options):
    wanted = [*options.names, *filter(None, options.only.split(","))]
    return [n for n in networks.names() if not wanted or any(part in n for part in wanted)]


def run_network(name, steps, options):
    """Returns the row of a network, [name, nodes, cells...], and the number of wrong cells."""
    start = time.monotonic()
    case = Case(name, options)
    results = [run_step(case, step) for step in steps]
    cells = [cell for cell, _ in results]
    short = [cell.split(" ")[0].rstrip(":") if cell[0] in "Fr" else cell for cell in cells]
    print(f"{name:<28}{case.nodes:>6}  " + "  ".join(f"{c:<10}" for c in short)
          + f"  {time.monotonic() - start:.0f} s", flush=True)
    for step, cell in zip(steps, cells):
        if cell[0] in "Fr":
            print(f"    {step}: {cell[:400]}", flush=True)
    return [name, case.nodes, *cells], sum(not good for _, good in results)


def write_table(path, steps, rows):
    lines = ["| network | nodes | " + " | ".join(steps) + " |", "|---" * (len(steps) + 2) + "|"]
    lines += ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tg", default=str(ROOT / "build/tg"))
    parser.add_argument("--only", default="", help="NAME,...: only networks whose name contains one of these")
    parser.add_argument("--steps", default="run,import,opt,export", help=",".join(STEPS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cost", default="analytic:cpu", help="prices for tg opt")
    parser.add_argument("--table", help="write the table as Markdown")
    parser.add_argument("--list", action="store_true", help="print the names of the networks")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if options.list:
        print("\n".join(select(options)))
        return 0
    steps, rows, wrong, skipped = options.steps.split(","), [], 0, []
    print(f"{'network':<28}{'nodes':>6}  " + "  ".join(f"{step:<10}" for step in steps))
    for name in select(options):
        try:
            row, failed = run_network(name, steps, options)
        except networks.Missing as package:
            print(f"{name:<28}[SKIP] {package} is not installed", flush=True)
            skipped.append(name)
            continue
        rows.append(row)
        wrong += failed
    if options.table:
        write_table(options.table, steps, rows)
    print(f"{len(rows)} networks, {len(skipped)} skipped, {wrong} of {len(rows) * len(steps)} steps failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
