#!/usr/bin/env python3
"""The composite operators that `tg opt` recovers from the files of tests/oracle/spellings.py, beside other programs.

For each family and form: how many of the composites that the modules compute are in the optimised graph (operators) or
in the graph that is read (functions of the library, which the search fuses with their neighbours). The modules are
counted in PyTorch, independently of the files. `--check` also compares the outputs of the result with ONNX Runtime's
on the file. The package onnxslim and OpenVINO are columns if they are installed.

    bench/fusion.py [--tg build/tg] [--check] [--others] [--table bench/results/fusion.md] [FAMILY | FORM...]
"""
import argparse
import collections
import contextlib
import io
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/oracle"))
import spellings  # noqa: E402

#: Composites that are operators of Tangram, counted in the result. The others are functions, counted in the source.
OPERATORS = {"attention", "layer_norm", "gelu", "hardswish", "softmax"}
#: |a - b| <= relative |b| + absolute max |b|, by what the file computes in.
TOLERANCE = {"f32": (1e-3, 1e-4), "f16": (5e-2, 1e-2)}


# --- Tangram --------------------------------------------------------------------------------------


class Found:
    """The result of `tg opt` on a file."""

    def __init__(self, counts=None, near=(), cost_us=None, problem=""):
        self.counts, self.near, self.cost_us, self.problem = counts or {}, list(near), cost_us, problem


def run(*arguments):
    return subprocess.run([str(a) for a in arguments], capture_output=True, text=True, check=False, timeout=300)


def optimise(options, path, folder):
    done = run(options.tg, "opt", path, "--cost", "analytic:cpu", "--finalists", 0, "--time-limit", options.time_limit,
               "--threads", 1, "--verbose", "-o", folder / "fast.tg", "--weights-out", folder / "fast.safetensors")
    if done.returncode:
        return Found(problem=(done.stderr.strip().splitlines() or ["failed"])[0])
    cost = re.search(r"^  cost +\S+ \S+ +(\S+) (us|ms|s) ", done.stdout, re.M)
    unit = {"us": 1, "ms": 1e3, "s": 1e6}
    counts = {name: (int(a), int(b)) for name, a, b in
              re.findall(r"^  (\w[\w ]*?)  +(\d+) +(\d+)$", section(done.stdout, "composite"), re.M)}
    near = re.findall(r"^  (\w+)  +(\S.*?)  +(\d+)$", section(done.stdout, "looks like"), re.M)
    return Found(counts, near, float(cost[1]) * unit[cost[2]])


def section(text, head):
    """The rows of the table that starts with this column."""
    rows = re.search(rf"^  {head} .*\n(?:  .*\n)*", text, re.M)
    return rows[0].split("\n", 1)[1] if rows else ""


def recovered(found, name):
    source, result = found.counts.get(name, (0, 0))
    if name in OPERATORS:
        return result
    return max(source, result)


def difference(options, path, folder, inputs):
    """The largest difference from ONNX Runtime's outputs, over what is allowed; None if it refuses the file."""
    import onnxruntime
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
    except Exception:  # noqa: BLE001: it does not read all files that its own optimiser writes
        return None
    names = [value.name for value in session.get_inputs()]
    want = session.run(None, {name: inputs[name] for name in names})
    np.savez(folder / "in.npz", **by_position(folder / "fast.tg", [inputs[name] for name in names]))
    done = run(options.tg, "run", folder / "fast.tg", "--weights", folder / "fast.safetensors", "--input",
               folder / "in.npz", "--output", folder / "out.npz", "--runs", 1, "--quiet")
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["tg run failed"])[0])
    half = any(t.data_type == onnx.TensorProto.FLOAT16 for t in onnx.load(path).graph.initializer)
    relative, absolute = TOLERANCE["f16" if half else "f32"]
    worst = 0.0
    for got, b in zip(np.load(folder / "out.npz").values(), want):
        allowed = relative * np.abs(b) + absolute * np.abs(b).max() + 1e-30
        worst = max(worst, float((np.abs(got - b) / allowed).max()))
    return worst


def by_position(path, values):
    header = re.search(r"^model \w+\((.*?)\) ", path.read_text(), re.M | re.S)
    return dict(zip(re.findall(r"(\w+):", header[1]), values))


# --- other programs -------------------------------------------------------------------------------

#: {operator of ONNX Runtime or OpenVINO: composite}.
KINDS = {"Attention": "attention", "MultiHeadAttention": "attention", "GroupQueryAttention": "attention",
         "ScaledDotProductAttention": "attention", "QAttention": "attention", "MHA": "attention",
         "LayerNormalization": "layer_norm", "SkipLayerNormalization": "layer_norm", "MVN": "layer_norm",
         "EmbedLayerNormalization": "layer_norm", "SimplifiedLayerNormalization": "rms_norm",
         "SkipSimplifiedLayerNormalization": "rms_norm", "RMSNormalization": "rms_norm", "RMS": "rms_norm",
         "RMSNorm": "rms_norm", "GroupNorm": "group_norm", "GroupNormalization": "group_norm",
         "InstanceNormalization": "group_norm", "Gelu": "gelu", "BiasGelu": "gelu", "FastGelu": "gelu_tanh",
         "QuickGelu": "silu", "Swish": "silu", "HardSwish": "hardswish", "HSwish": "hardswish",
         "HardSigmoid": "hard_sigmoid", "HSigmoid": "hard_sigmoid", "RotaryEmbedding": "rotary", "RoPE": "rotary",
         "Softmax": "softmax"}


def onnx_counts(path):
    graph = onnx.load(path, load_external_data=False).graph
    return collections.Counter(KINDS[node.op_type] for node in graph.node if node.op_type in KINDS)


def by_transformers(path, folder):
    """ONNX Runtime's optimiser of transformers, with the type of model that finds most."""
    from onnxruntime.transformers import optimizer
    best = collections.Counter()
    for kind in ("bert", "gpt2", "t5", "vit", "unet"):
        with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
            optimizer.optimize_model(str(path), model_type=kind).save_model_to_file(str(folder / "t.onnx"))
            found = onnx_counts(folder / "t.onnx")
            best = max(best, found, key=lambda counts: sum(v for k, v in counts.items() if k != "softmax"))
    return best


def by_session(path, folder):
    spellings.session_optimised(path, folder / "s.onnx", "ALL")
    return onnx_counts(folder / "s.onnx")


def by_onnxslim(path, folder):
    spellings.onnxslim(path, folder / "slim.onnx")
    return onnx_counts(folder / "slim.onnx")


def by_openvino(path, _):
    import openvino
    core = openvino.Core()
    model = core.read_model(path)
    compiled = core.compile_model(model, "CPU").get_runtime_model()
    kinds = [node.get_rt_info()["layerType"].astype(str) for node in compiled.get_ops()]
    return collections.Counter(KINDS[kind] for kind in kinds if kind in KINDS)


OTHERS = {"ORT transformers": by_transformers, "ORT session": by_session, "onnxslim": by_onnxslim,
          "OpenVINO": by_openvino}


# --- the table ------------------------------------------------------------------------------------


class Shares:
    """Recovered and expected composites, by composite, family and program."""

    def __init__(self):
        self.cells = collections.defaultdict(lambda: [0, 0])  # (program, family, composite)

    def add(self, program, family, expected, count):
        for name, want in expected.items():
            cell = self.cells[program, family, name]
            cell[0] += min(count(name), want)
            cell[1] += want

    def total(self, program, family=None, name=None):
        chosen = [v for (p, f, n), v in self.cells.items()
                  if p == program and family in (None, f) and name in (None, n)]
        return sum(v[0] for v in chosen), sum(v[1] for v in chosen)


def percent(pair):
    return f"{100 * pair[0] / pair[1]:.0f}%" if pair[1] else "-"


def table(head, rows):
    return ["| " + " | ".join(map(str, row)) + " |" for row in [head, ["---"] * len(head), *rows]] + [""]


def write(path, shares, rows, costs, missing, options):
    programs = ["tg opt", *(OTHERS if options.others else [])]
    names = [*sorted({n for _, _, n in shares.cells}), None]
    by_family = []
    for family, prices in costs.items():
        by_family.append([family, sum(row[0] == family for row in rows), shares.total("tg opt", family)[1],
                          *(percent(shares.total(p, family)) for p in programs),
                          f"{max(prices) / min(prices):.3f}" if prices else "-"])
    lines = [
        "# Composite operators recovered from files", "",
        "`bench/fusion.py`, on the files of `tests/oracle/spellings.py`: one small network of each family with random",
        "weights, in each form. The composites that the modules compute are counted in PyTorch.", "",
        "## Share by composite", "",
        *table(["composite", "expected", *programs],
               [[n or "all", shares.total("tg opt", None, n)[1],
                 *(percent(shares.total(p, None, n)) for p in programs)] for n in names]),
        "## Share by family", "",
        "Price: that of the optimised graph, the dearest over the cheapest of the forms in f32.", "",
        *table(["family", "forms", "expected", *programs, "price"], by_family),
        "## Every form", "",
        "Recovered of expected, and the largest difference from ONNX Runtime on the file, over what is allowed",
        "(f32: 1e-3 of the value and 1e-4 of the largest; f16: 5e-2 and 1e-2).", "",
        *table(["family", "form", "recovered", "missed", "difference"], rows)]
    if missing:
        lines += ["Not written by their programs:", "", *[f"- {text}" for text in missing], ""]
    Path(path).write_text("\n".join(lines[:-1]) + "\n")


def one(family, form, options, shares, folder):
    """The row of a file."""
    path = spellings.prepare(family, form)
    expected = spellings.modules(family)
    found = optimise(options, path, folder)
    shares.add("tg opt", family, expected, lambda name: recovered(found, name))
    short = {n: (recovered(found, n), want) for n, want in expected.items()}
    missed = [f"{n} {got}/{want}" for n, (got, want) in short.items() if got != want]
    missed += [f"{name}: {reason}" for name, reason, _ in found.near] if missed else []
    far = "-"
    if options.check and not found.problem:
        try:
            inputs = np.load(path.parent / "inputs.npz")
            worst = difference(options, path, folder, inputs)
            far = "refused by ONNX Runtime" if worst is None else f"{worst:.2g}"
        except Exception as error:  # noqa: BLE001: a cell of the table
            far = f"FAIL {str(error).splitlines()[0][:100]}"
    if options.others:
        for name, program in OTHERS.items():
            counts = collections.Counter()
            with contextlib.suppress(Exception), contextlib.redirect_stderr(io.StringIO()):
                counts = program(path, folder)
            shares.add(name, family, expected, lambda n, counts=counts: counts[n])
    good = sum(min(got, want) for got, want in short.values())
    return [family, form, f"{good}/{sum(expected.values())}", found.problem or "; ".join(missed), far], found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tg", default=str(ROOT / "build/tg"))
    parser.add_argument("--time-limit", default=10, type=float, help="seconds for each search (default 10)")
    parser.add_argument("--check", action="store_true", help="compare outputs with ONNX Runtime's")
    parser.add_argument("--others", action="store_true", help="run other programs on the same files")
    parser.add_argument("--table", help="write the table as Markdown")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    shares, rows, costs, missing = Shares(), [], {}, []
    for family in [n for n in spellings.FAMILIES if n in options.names] or spellings.FAMILIES:
        costs[family] = []
        for form in [n for n in spellings.FORMS if n in options.names] or spellings.FORMS:
            with tempfile.TemporaryDirectory() as scratch:
                try:
                    row, found = one(family, form, options, shares, Path(scratch))
                except spellings.NotWritten as error:
                    missing.append(f"{family}, {form}: {str(error).replace('|', '/')}")
                    continue
            rows.append(row)
            if found.cost_us and "f16" not in form and "casts" not in form:
                costs[family].append(found.cost_us)
            print("  ".join(f"{cell:<{width}}" for cell, width in zip(row, (11, 24, 7, 40, 8))), found.cost_us,
                  flush=True)
        if options.table:
            write(options.table, shares, rows, costs, missing, options)
    total = shares.total("tg opt")
    print(f"{len(rows)} files, {total[0]} of {total[1]} composites recovered; {len(missing)} files not written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
