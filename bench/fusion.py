#!/usr/bin/env python3
"""The composite operators that `tg opt` recovers from the files of tests/oracle/spellings.py, beside other programs.

For each family and form: how many of the composites that the modules compute are in the optimised graph (operators, and
structures as structures.py counts them) or in the graph that is read (functions of the library, which the search fuses
with their neighbours). The modules are counted in PyTorch, independently of the files. `--check` also compares the
outputs of the result with ONNX Runtime's on the file, or with PyTorch's if it is no ONNX file. `--others` adds columns
for other programs; onnxslim and OpenVINO if they are installed. `--speed` times the form of each family whose source
has the highest price, before and after, in ONNX Runtime and here.

Results are stored in the cache folder under a digest of the program and the file: a run that was ended resumes. The
results of other programs are stored beside the files, by version.

    bench/fusion.py [--tg build/tg] [--check] [--others] [--speed] [--table bench/results/fusion.md] [FAMILY | FORM...]
"""
import argparse
import collections
import contextlib
import datetime
import hashlib
import importlib.metadata
import io
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/oracle"))
import other_spellings  # noqa: E402
import spellings  # noqa: E402
import structures  # noqa: E402

#: Composites that are operators of Tangram, counted in the result. The others are functions, counted in the source.
OPERATORS = {"attention", "layer_norm", "gelu", "hardswish", "softmax"}
#: |a - b| <= relative |b| + absolute max |b|, by the dtype in which the file computes.
TOLERANCE = {"f32": (1e-3, 1e-4), "f16": (5e-2, 1e-2)}


# --- Tangram --------------------------------------------------------------------------------------


class Found:
    """The result of `tg opt` on a file."""

    def __init__(self, counts=None, near=(), costs_us=(None, None), seconds=0.0, text="", problem=""):
        self.counts, self.near, self.text, self.problem = counts or {}, list(near), text, problem
        self.source_us, self.cost_us = costs_us
        self.seconds = seconds


UNITS = {"us": 1, "ms": 1e3, "s": 1e6}


def run(*arguments, timeout=300):
    return subprocess.run([str(a) for a in arguments], capture_output=True, text=True, check=False, timeout=timeout)


def weights_of(path):
    """The options that name the weights of a `.tg` file."""
    return ["--weights", path.with_suffix(".safetensors")] if path.with_suffix(".safetensors").exists() else []


def optimise(options, path, folder):
    done = run(options.tg, "opt", path, *weights_of(path), "--cost", "analytic:cpu", "--finalists", 0, "--time-limit",
               options.time_limit, "--threads", 1, "--verbose", "-o", folder / "fast.tg", "--weights-out",
               folder / "fast.safetensors")
    if done.returncode:
        return Found(problem=(done.stderr.strip().splitlines() or ["failed"])[0].replace(f"{path.parent}/", ""))
    costs = re.search(r"^  cost +(\S+) (us|ms|s) +(\S+) (us|ms|s) ", done.stdout, re.M)
    total = re.search(r"^  total +in (\S+) (us|ms|s)\b", done.stdout, re.M)
    counts = counts_of(done.stdout)
    if path.suffix == ".tg":
        in_import_form(options, path, folder, counts)
    near = re.findall(r"^  (\w+)  +(\S.*?)  +(\d+)$", section(done.stdout, "looks like"), re.M)
    return Found(counts, near, (float(costs[1]) * UNITS[costs[2]], float(costs[3]) * UNITS[costs[4]]),
                 float(total[1]) * UNITS[total[2]] / 1e6, (folder / "fast.tg").read_text())


def counts_of(report):
    """{composite: (in the source, in the result)} of a verbose report."""
    return {name: (int(a), int(b)) for name, a, b in
            re.findall(r"^  (\w[\w ]*?)  +(\d+) +(\d+)$", section(report, "composite"), re.M)}


def in_import_form(options, path, folder, counts):
    """Adds the functions of the library that a `.tg` file has when it is written as ONNX and read again: the import
    brings their bodies into one form."""
    for arguments in (["export", path, *weights_of(path), "-o", folder / "form.onnx"],
                      ["opt", folder / "form.onnx", "--cost", "analytic:cpu", "--search", "none", "--verbose"]):
        done = run(options.tg, *arguments)
    for name, (source, _) in counts_of(done.stdout).items():
        if name not in OPERATORS:
            before, result = counts.get(name, (0, 0))
            counts[name] = max(before, source), result


def section(text, head):
    """The rows of the table that starts with this column."""
    rows = re.search(rf"^  {head} .*\n(?:  .*\n)*", text, re.M)
    return rows[0].split("\n", 1)[1] if rows else ""


def recovered(found, name, expected=0):
    """Returns the number of the `expected` composites of this name in a result."""
    if found.problem:
        return 0
    if name in structures.COUNTERS:
        return structures.recovered(found.text, name, expected)
    source, result = found.counts.get(name, (0, 0))
    return result if name in OPERATORS else max(source, result)


def session_of(path):
    """A session of ONNX Runtime with one thread."""
    import onnxruntime
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 4
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])


def reference(path, given=None):
    """The inputs by position, and the outputs: ONNX Runtime's, or PyTorch's if the file is no ONNX file. `given` has
    the inputs by name, as inputs.npz beside the file if there are none.
    None if ONNX Runtime refuses the file: it does not read all files that its own optimiser writes."""
    if path.suffix == ".tg":
        return tuple([*np.load(path.with_suffix(suffix)).values()] for suffix in (".npz", ".outputs.npz"))
    try:
        session = session_of(path)
    except Exception:  # noqa: BLE001
        return None
    given = given or dict(np.load(path.parent / "inputs.npz"))
    names = [value.name for value in session.get_inputs()]
    inputs = [given[name] if name in given else [*given.values()][at] for at, name in enumerate(names)]
    return inputs, session.run(None, dict(zip(names, inputs)))


def difference(options, path, folder, given=None):
    """The largest difference from the reference's outputs, divided by the tolerance; None without a reference."""
    known = reference(path, given)
    if known is None:
        return None
    inputs, want = known
    np.savez(folder / "in.npz", **by_position(folder / "fast.tg", inputs))
    done = run(options.tg, "run", folder / "fast.tg", "--weights", folder / "fast.safetensors", "--input",
               folder / "in.npz", "--output", folder / "out.npz", "--runs", 1, "--quiet")
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["tg run failed"])[0])
    relative, absolute = TOLERANCE["f16" if is_half(path) else "f32"]
    got, worst = [*np.load(folder / "out.npz").values()], 0.0
    for at, b in enumerate(want):
        allowed = relative * np.abs(b) + absolute * np.abs(b).max() + 1e-30
        # torch.compile may give outputs in another order, and more of them
        same = [a for a in got if a.shape == b.shape] if path.suffix == ".tg" else got[at:at + 1]
        worst = max(worst, min(float((np.abs(a - b) / allowed).max()) for a in same))
    return worst


def is_half(path):
    return path.suffix == ".onnx" and any(tensor.data_type == onnx.TensorProto.FLOAT16
                                          for tensor in onnx.load(path).graph.initializer)


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


def kind_of(operator, approximation):
    """The composite of another program's operator, None if it is not one."""
    return "gelu_tanh" if operator == "Gelu" and approximation.lower() == "tanh" else KINDS.get(operator)


def onnx_counts(path):
    kinds = []
    for node in onnx.load(path, load_external_data=False).graph.node:
        approximation = next((a.s.decode() for a in node.attribute if a.name == "approximate"), "")
        kinds.append(kind_of(node.op_type, approximation))
    return collections.Counter(filter(None, kinds))


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
    """The operators that its CPU plugin executes, and those that it fused into them. The runtime model names the layers
    of each executed operator; their kinds are those after the common transformations, which find activations."""
    import openvino
    from openvino._offline_transformations import apply_moc_transformations
    core = openvino.Core()
    common = core.read_model(path)
    apply_moc_transformations(common, False)
    kinds = {op.get_friendly_name(): kind_of(op.get_type_name(), op.get_attributes().get("approximation_mode", ""))
             for op in common.get_ops()}
    counts = collections.Counter()
    for op in core.compile_model(core.read_model(path), "CPU").get_runtime_model().get_ops():
        about = op.get_rt_info()
        layers = about["originalLayersNames"].astype(str).split(",") if "originalLayersNames" in about else []
        own = KINDS.get(about["layerType"].astype(str))
        fused = [kinds[layer] for layer in layers if kinds.get(layer)]
        counts.update(fused if own is None or own in fused else [own, *fused])
    return counts


#: The forms that other programs read: files as exporters write them.
FORMS_OF_OTHERS = {"script17-eager", "script17-sdpa", "dynamo18-eager", "dynamo18-sdpa", "dynamo23-sdpa", "script17",
                   "dynamo18", "dynamo23", "tf2onnx17", "jax2onnx23", "skl2onnx17"}
OTHERS = {"ORT transformers": (by_transformers, "onnxruntime"), "ORT session": (by_session, "onnxruntime"),
          "onnxslim": (by_onnxslim, "onnxslim"), "OpenVINO": (by_openvino, "openvino")}


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def by_others(path, folder):
    """Returns {program: {composite: how many}} for the installed programs, stored beside the file. The counts of a
    program that fails are empty."""
    kept = path.with_suffix(".others.json")
    known = json.loads(kept.read_text()) if kept.exists() else {}
    for name, (program, package) in OTHERS.items():
        key = f"{name} {version(package)}"
        if version(package) is None:
            continue
        if key not in known:
            known[key] = {}
            with contextlib.suppress(Exception), contextlib.redirect_stderr(io.StringIO()):
                known[key] = dict(program(path, folder))
            kept.write_text(json.dumps(known))
    return {name: known.get(f"{name} {version(package)}") for name, (_, package) in OTHERS.items()}


# --- speed ----------------------------------------------------------------------------------------


def times_here(options, path, folder, *weights):
    """The median of a run in microseconds, one thread."""
    done = run(options.tg, "run", path, *weights, "--input", folder / "in.npz", "--runs", options.runs, "--threads", 1,
               "--json")
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["tg run failed"])[0])
    return json.loads(done.stdout)["median_us"]


def times_there(session, feed, runs):
    import time
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        session.run(None, feed)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds) * 1e6


def speed(options, path, folder):
    """[ONNX Runtime on the file and on the result, here on the file and on the result], in microseconds: medians of
    interleaved rounds, one thread."""
    found = optimise(options, path, folder)
    if found.problem:
        raise RuntimeError(found.problem)
    done = run(options.tg, "opt", path, "--cost", "analytic:cpu", "--finalists", 0, "--time-limit", options.time_limit,
               "--threads", 1, "--quiet", "-o", folder / "fast.onnx")
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["tg opt failed"])[0])
    inputs, _ = reference(path)
    np.savez(folder / "in.npz", **by_position(folder / "fast.tg", inputs))
    sessions = [session_of(path), session_of(folder / "fast.onnx")]
    feeds = [dict(zip([value.name for value in session.get_inputs()], inputs)) for session in sessions]
    fast = ["--weights", folder / "fast.safetensors"]
    rounds = [[*(times_there(session, feed, options.runs) for session, feed in zip(sessions, feeds)),
               times_here(options, path, folder), times_here(options, folder / "fast.tg", folder, *fast)]
              for _ in range(options.rounds)]
    return [statistics.median(column) for column in zip(*rounds)]


# --- the table ------------------------------------------------------------------------------------


class Shares:
    """Recovered and expected composites, by composite, family and program."""

    def __init__(self):
        self.cells = collections.defaultdict(lambda: [0, 0])  # (program, family, composite)

    def add(self, program, family, expected, counts):
        for name, want in expected.items():
            cell = self.cells[program, family, name]
            cell[0] += min(counts.get(name, 0), want)
            cell[1] += want

    def total(self, program, family=None, name=None):
        chosen = [v for (p, f, n), v in self.cells.items()
                  if p == program and family in (None, f) and name in (None, n)]
        return sum(v[0] for v in chosen), sum(v[1] for v in chosen)


def percent(pair, digits=0):
    return f"{100 * pair[0] / pair[1]:.{digits}f}%" if pair[1] else "-"


def table(head, rows):
    return ["| " + " | ".join(map(str, row)) + " |" for row in [head, ["---"] * len(head), *rows]] + [""]


def write(path, results, missing, speeds, options):
    shares, families = Shares(), list(dict.fromkeys(row["family"] for row in results))
    for row in results:
        shares.add("tg opt", row["family"], row["expected"], row["got"])
    names = [*sorted({n for _, _, n in shares.cells}), None]
    worst = max((row["far"] for row in results if isinstance(row["far"], float)), default=0)
    lines = [
        "# Composite operators recovered from files", "",
        f"{machine()}; commit {commit()}, {datetime.date.today()};",
        ", ".join(f"{p} {version(p)}" for p in PACKAGES if version(p)) + ".", "",
        f"`bench/fusion.py{''.join(f' --{name}' for name in ('check', 'others', 'speed') if getattr(options, name))}`",
        "",
        "The files are those of `tests/oracle/spellings.py`: one small network of each family with random weights, in",
        "each form. The composites of the modules are counted in PyTorch, Keras or Flax. Operators (attention,",
        "layer norm, gelu, hard-swish) and structures (defined in `bench/structures.py`) are counted in the result,",
        "functions of the library (SiLU, RMS norm, rotary, group norm) in the source in the form of imported files",
        "(`export` and `compile`: written as ONNX and read again).",
        f"Searches have {options.time_limit:g} seconds and one thread. Prices are `analytic:cpu`.", "",
        f"`tg opt` recovers {percent(shares.total('tg opt'), 2)} of the composites of {len(results)} files.",
        f"The largest difference of outputs is {worst:.2g} of the allowed one.", "",
        "## Share by composite and family", "",
        *table(["composite", "expected", "recovered", "share"],
               [[n or "all", *reversed(shares.total("tg opt", None, n)), percent(shares.total("tg opt", None, n), 1)]
                for n in names]),
        *table(["family", "forms", "expected", "recovered", "share"],
               [[family, sum(row["family"] == family for row in results), *reversed(shares.total("tg opt", family)),
                 percent(shares.total("tg opt", family), 1)] for family in families]),
        *beside_others([row for row in results if row["others"]]),
        "## Price and search", "",
        "The price of the optimised graph in microseconds for the cheapest and dearest form in f32, and the seconds",
        "of the median and the longest search.", "",
        *table(["family", "cheapest", "form", "dearest", "form", "ratio", "median search", "longest search"],
               [prices(family, results) for family in families])]
    if speeds:
        lines += [
            "## Speed", "",
            "The f32 form of each family whose source has the highest price, before and after `tg opt`, one thread, in",
            f"microseconds: medians of {options.rounds} interleaved rounds of {options.runs} runs on a loaded machine.",
            "Differences below 20% are noise.", "",
            *table(["family", "form", "ONNX Runtime before", "after", "gain", "Tangram before", "after", "gain"],
                   [[family, form, *(f"{us:.0f}" for us in (a, b)), f"{a / b:.2f}", *(f"{us:.0f}" for us in (c, d)),
                     f"{c / d:.2f}"] for family, (form, (a, b, c, d)) in speeds.items()])]
    lines += [
        "## Every form", "",
        "Recovered and expected composites, the price of the result, the seconds of the search, and the largest",
        "difference from ONNX Runtime on the file (from PyTorch for `export` and `compile`), divided by the allowed",
        "difference (f32: 1e-3 of the value and 1e-4 of the largest; f16: 5e-2 and 1e-2).", "",
        *table(["family", "form", "recovered", "missed", "price", "search", "difference"], map(cells, results))]
    if missing:
        lines += ["Forms that their programs do not write:", "", *[f"- {text}" for text in missing], ""]
    Path(path).write_text("\n".join(lines[:-1]) + "\n")


def beside_others(results):
    """The section of other programs, on the files that they read."""
    if not results:
        return []
    shares = Shares()
    for row in results:
        expected = {n: want for n, want in row["expected"].items() if n not in structures.COUNTERS}
        for program, counts in {"tg opt": row["got"], **row["others"]}.items():
            if counts is not None:
                shares.add(program, row["family"], expected, counts)
    programs = list(dict.fromkeys(p for p, _, _ in shares.cells))

    def rows(place, values):
        return [[value or "all", shares.total("tg opt", *place(value))[1],
                 *(percent(shares.total(p, *place(value))) for p in programs)] for value in values]

    return [
        "## Beside other programs", "",
        f"On {len(results)} files as exporters write them ({', '.join(sorted({row['form'] for row in results}))}).",
        "Structures are not counted, because the other programs have no operator for them. ONNX Runtime's optimiser",
        "of transformers has the type of model that finds most, its session all optimisations. OpenVINO's operators",
        "are those that its CPU plugin executes, and those that it names as fused into them.", "",
        *table(["composite", "expected", *programs],
               rows(lambda name: (None, name), [*sorted({n for _, _, n in shares.cells}), None])),
        *table(["family", "expected", *programs],
               rows(lambda family: (family, None), dict.fromkeys(row["family"] for row in results)))]


def prices(family, results):
    rows = [row for row in results if row["family"] == family and row["cost_us"]]
    full = [row for row in rows if not row["form"].endswith(("f16", "casts"))]
    seconds = [row["seconds"] for row in rows]
    if not full:
        return [family, *["-"] * 7]
    low, high = (choice(full, key=lambda row: row["cost_us"]) for choice in (min, max))
    return [family, f"{low['cost_us']:.1f}", low["form"], f"{high['cost_us']:.1f}", high["form"],
            f"{high['cost_us'] / low['cost_us']:.3f}", f"{statistics.median(seconds):.2f}", f"{max(seconds):.2f}"]


def cells(row):
    missed = [f"{n} {row['got'][n]}/{want}" for n, want in row["expected"].items() if row["got"][n] < want]
    missed += [f"{name}: {reason}" for name, reason, _ in row["near"]] if missed else []
    good = sum(min(row["got"][n], want) for n, want in row["expected"].items())
    far = f"{row['far']:.2g}" if isinstance(row["far"], float) else row["far"]
    return [row["family"], row["form"], f"{good}/{sum(row['expected'].values())}", row["problem"] or "; ".join(missed),
            f"{row['cost_us'] or 0:.1f}", f"{row['seconds']:.2f}", far]


PACKAGES = ("torch", "transformers", "onnxruntime", "onnxsim", "onnxslim", "openvino")


def machine():
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    name = model[1] if model else "unknown processor"
    return f"{name}, {os.cpu_count()} cores, average load {os.getloadavg()[2]:.0f} with other work"


def commit():
    def git(*words):
        return run("git", "-C", ROOT, *words).stdout.strip()

    return git("rev-parse", "--short", "HEAD") + (" with changes" if git("status", "--porcelain", "-uno") else "")


# --- the run --------------------------------------------------------------------------------------


class Kept:
    """The results of this program and this script, in a file that each new result is appended to."""

    def __init__(self, tg):
        digest = hashlib.sha256()
        for path in (tg, __file__, structures.__file__):
            digest.update(Path(path).read_bytes())
        self.path = other_spellings.CACHE / "fusion" / f"{digest.hexdigest()[:16]}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        self.values = dict(map(json.loads, lines))

    def get(self, key, compute):
        key = " | ".join(map(str, key))
        if key not in self.values:
            self.values[key] = compute()
            with self.path.open("a") as file:
                file.write(json.dumps([key, self.values[key]]) + "\n")
        return self.values[key]


def result_of(family, form, path, options, folder):
    """The result of a file, without other programs."""
    expected, found = spellings.modules(family), optimise(options, path, folder)
    far = "-"
    if options.check and not found.problem:
        try:
            worst = difference(options, path, folder)
            far = "refused by ONNX Runtime" if worst is None else worst
        except Exception as error:  # noqa: BLE001: a cell of the table
            far = f"FAIL {(str(error).splitlines() or [type(error).__name__])[0][:100]}"
    return {"family": family, "form": form, "expected": expected, "near": found.near, "problem": found.problem,
            "got": {name: recovered(found, name, want) for name, want in expected.items()}, "far": far,
            "source_us": found.source_us, "cost_us": found.cost_us, "seconds": found.seconds, "others": {}}


def one(family, form, options, kept):
    """The result of a file, with those of other programs. Errors: NotWritten."""
    path = spellings.prepare(family, form)
    with tempfile.TemporaryDirectory() as scratch:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        row = dict(kept.get((family, form, digest, options.time_limit, options.check),
                            lambda: result_of(family, form, path, options, Path(scratch))))
        if options.others and form in FORMS_OF_OTHERS:
            row["others"] = by_others(path, Path(scratch))
    return row


def speeds_of(results, options, kept):
    """{family: (the form with the dearest source, its speeds)}, of forms in f32 that ONNX Runtime reads."""
    found = {}
    for family in dict.fromkeys(row["family"] for row in results):
        rows = [row for row in results if row["family"] == family and row["cost_us"] and isinstance(row["far"], float)
                and not row["form"].startswith(("export", "compile")) and "f16" not in row["form"]
                and "casts" not in row["form"]]
        if not rows:
            continue
        form = max(rows, key=lambda row: row["source_us"])["form"]
        with tempfile.TemporaryDirectory() as scratch:
            try:
                times = kept.get((family, form, "speed", options.rounds, options.runs),
                                 lambda: speed(options, spellings.prepare(family, form), Path(scratch)))
            except Exception as error:  # noqa: BLE001: said, and left out of the table
                print(f"{family} {form}: no speed: {error}", flush=True)
                continue
        found[family] = form, times
        print(f"{family:<16} {form:<24} " + " ".join(f"{us:.0f}" for us in times), flush=True)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tg", default=str(ROOT / "build/tg"))
    parser.add_argument("--time-limit", default=10, type=float, help="seconds for each search (default 10)")
    parser.add_argument("--check", action="store_true", help="compare outputs with ONNX Runtime's")
    parser.add_argument("--others", action="store_true", help="run other programs on the same files")
    parser.add_argument("--speed", action="store_true", help="time the dearest form of each family (with --check)")
    parser.add_argument("--rounds", default=5, type=int, help="rounds of each timing (default 5)")
    parser.add_argument("--runs", default=30, type=int, help="runs of each round (default 30)")
    parser.add_argument("--table", help="write the table as Markdown")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    kept, results, missing = Kept(options.tg), [], []
    for family, form in spellings.selected(options.names):
        try:
            results.append(one(family, form, options, kept))
        except spellings.NotWritten as error:
            missing.append(f"{family}, {form}: {str(error).replace('|', '/')}")
            continue
        widths = (16, 24, 7, 40, 8, 6, 8)
        print("  ".join(f"{cell:<{width}}" for cell, width in zip(cells(results[-1]), widths)), flush=True)
    speeds = speeds_of(results, options, kept) if options.speed else {}
    if options.table:
        write(options.table, results, missing, speeds, options)
    got = sum(min(row["got"][n], want) for row in results for n, want in row["expected"].items())
    want = sum(sum(row["expected"].values()) for row in results)
    print(f"{len(results)} files, {got} of {want} composites recovered; {len(missing)} files not written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
