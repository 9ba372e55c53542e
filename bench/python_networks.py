#!/usr/bin/env python3
"""Compares networks of torchvision, timm and transformers by `torch.compile(backend="tangram")` with the other ways in
which PyTorch users run them: batch 1, f32.

    bench/python_networks.py [--threads 1,2] [--rounds 9] [--kinds inductor,...] [--cap SECONDS] [--state FOLDER]
                             [--at-once N] [--idle COMMAND] [--prepare | --seconds | --table] [--results FOLDER] [--name NAME] [NETWORK...]

    eager        the unchanged module
    tangram      torch.compile(module, backend="tangram")
    unguarded    tangram without Dynamo's guards of PyTorch's own modules: recompile after changing such a module
    program      tangram.compile(module, inputs): tangram without Dynamo
    inductor     torch.compile(module)
    autotune     torch.compile(module, mode="max-autotune") with frozen weights, Inductor's fastest mode
    onnxruntime  the module by torch.onnx.export, in a session with bound inputs and outputs
    openvino     the same file, float32, latency hint

Each kind runs in its own process, forked after all packages are imported. Before its clock starts it has built the
network and compiled another network of one operator. Our kinds prepare last; then all kinds run interleaved. A round's
time is the median of its runs. A kind that is not ready within --cap seconds is left out of the row and reported.
Weights are random, batch norms have the statistics of random images, and outputs are compared with eager ones.

Only a small part requires an idle machine. --prepare only writes weights and ONNX files. With --idle, COMMAND is
started when the other kinds are ready. It reads a line with the ids of all processes, makes the machine idle, and
answers with a line; only then do our kinds prepare and the rounds run. Its input is closed at the end. --at-once is the
number of networks per start of COMMAND.

Seconds to compile are those from a module to its first output without caches: neither Inductor's files nor our measured
prices. A row has those of our kinds. --seconds measures those of Inductor (`inductor` and `autotune`, if in --kinds),
also on the idle machine, and fills its caches for the rows.

Rows are kept in --state, and a later run resumes from there. Writes python_networks.json and python_networks.md (or
another --name) to --results, with all kept rows; --table measures nothing. Requires PyTorch and the named packages;
kinds and networks of missing packages are skipped.
"""
import argparse
import gc
import json
import math
import multiprocessing
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

from onnx_networks import PAUSE_S, OnnxRuntime, OpenVino, median_interval
from run import ROOT, keep_results, setting

try:
    import networks  # from tests/oracle, which onnx_networks adds to the path
    import torch
    import torch._inductor.compile_fx

    import tangram
    import tangram.torch
except ImportError as missing:
    print(f"skipped: {missing.name} is not installed (./dev test --oracle --full installs it)")
    sys.exit(0)

KINDS = ("eager", "tangram", "unguarded", "program", "inductor", "autotune", "onnxruntime", "openvino")
OTHERS = ("eager", "inductor", "autotune", "onnxruntime", "openvino")
ROUND_S, LEAST_RUNS, BOUND = 0.2, 3, 1e-4
FORK = multiprocessing.get_context("fork")


# --- networks -------------------------------------------------------------------------------------


def vision(size=224, **options):
    def build(name):
        import torchvision
        module = getattr(torchvision.models, name)(weights=None, **options)
        return networks.randomise(module, networks.image(size, 4)), (networks.image(size),)
    return build


def image_model(size=224):
    def build(name):
        import timm
        module = timm.create_model(name, pretrained=False)
        return networks.randomise(module, networks.image(size, 4)), (networks.image(size),)
    return build


def text_model(config, module, tokens=32, **options):
    """Returns a builder of a text model with four layers of width 256."""
    def build(name):
        import transformers
        made = getattr(transformers, module)(getattr(transformers, config)(vocab_size=512, **options))
        return networks.randomise(made, None), (torch.randint(1, 500, (1, tokens)),)
    return build


ENCODER = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 1024}
DECODER = {**ENCODER, "intermediate_size": 688, "use_cache": False}
NETWORKS = {
    **dict.fromkeys(["resnet18", "mobilenet_v3_small", "squeezenet1_1", "shufflenet_v2_x1_0", "mobilenet_v2",
                     "mnasnet0_5", "efficientnet_b0", "regnet_y_400mf", "convnext_tiny", "resnet50", "densenet121",
                     "vit_b_32", "swin_t", "mobilenet_v3_large"], vision()),
    "googlenet": vision(aux_logits=False, init_weights=False),
    "inception_v3": vision(299, aux_logits=False, init_weights=False),
    **dict.fromkeys(["mobilenetv4_conv_small", "ghostnet_100", "repvgg_a0", "deit_tiny_patch16_224", "mixer_s32_224",
                     "poolformer_s12", "resmlp_12_224"], image_model()),
    "edgenext_xx_small": image_model(256),
    "tinynet_e": image_model(106),
    "bert": text_model("BertConfig", "BertModel", **ENCODER),
    "distilbert": text_model("DistilBertConfig", "DistilBertModel", dim=256, n_layers=4, n_heads=4, hidden_dim=1024),
    "gpt2": text_model("GPT2Config", "GPT2Model", n_embd=256, n_layer=4, n_head=4, use_cache=False),
    "albert": text_model("AlbertConfig", "AlbertModel", **ENCODER),
    "t5_encoder": text_model("T5Config", "T5EncoderModel", d_model=256, d_kv=64, d_ff=1024, num_layers=4, num_heads=4),
    "llama": text_model("LlamaConfig", "LlamaModel", **DECODER),
    "qwen2": text_model("Qwen2Config", "Qwen2Model", **DECODER, num_key_value_heads=2),
}


ONE = "one"  # a network of one operator, compiled by each kind before its clock starts


def one_operator():
    return torch.nn.Linear(8, 8).requires_grad_(False), (torch.ones(1, 8),)


class Plain(torch.nn.Module):
    """Returns only the first output of a network with structured outputs, as the ONNX files do."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        found = self.module(x)
        return found if isinstance(found, torch.Tensor) else found[0]


def build(name, folder):
    """Returns the module and its inputs. The first call writes them to a file."""
    if name == ONE:
        return one_operator()
    kept = folder / f"{name}.pt"
    if not kept.exists():
        torch.manual_seed(1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module, inputs = NETWORKS[name](name)
        unfinished = folder / f"{name}.{os.getpid()}"
        torch.save((Plain(module).eval().requires_grad_(False), inputs), unfinished)
        unfinished.rename(kept)
    return torch.load(kept, weights_only=False)


def export(name, folder):
    """Writes the ONNX file of the network."""
    module, inputs = build(name, folder)
    unfinished = folder / f"{name}.{os.getpid()}.onnx"
    torch.onnx.export(module, inputs, unfinished, input_names=["x"], output_names=["y"], dynamo=True, external_data=False,
                      verbose=False)
    unfinished.rename(folder / f"{name}.onnx")


# --- kinds ----------------------------------------------------------------------------------------


WRAP = {"eager": lambda module, inputs, threads: module,
        "tangram": lambda module, inputs, threads: torch.compile(module, backend="tangram"),
        "unguarded": lambda module, inputs, threads: torch.compile(
            module, backend="tangram", options={"guard_filter_fn": torch.compiler.skip_guard_on_inbuilt_nn_modules_unsafe}),
        "program": lambda module, inputs, threads: tangram.compile(module, inputs, threads=threads),
        "inductor": lambda module, inputs, threads: torch.compile(module),
        "autotune": lambda module, inputs, threads: torch.compile(module, mode="max-autotune")}
ORIGINALS = {"onnxruntime": OnnxRuntime, "openvino": OpenVino}
OURS = ("tangram", "unguarded", "program")


def ready(kind, name, threads, folder, module, inputs):
    """Returns a function that runs the network once, and its output."""
    if kind in ORIGINALS:
        made = ORIGINALS[kind](folder / f"{name}.onnx", {"x": inputs[0].numpy()}, threads)
        if kind == "onnxruntime":
            return (lambda: made.session.run_with_iobinding(made.binding)), made.binding.get_outputs()[0].numpy()
        return made.request.infer, made.request.get_output_tensor(0).data
    made = WRAP[kind](module, inputs, threads)
    return (lambda: made(*inputs)), made(*inputs).numpy()


def median_us(infer):
    times, end = [], time.perf_counter() + ROUND_S
    infer()  # warms the caches after another kind's round
    while len(times) < LEAST_RUNS or time.perf_counter() < end:
        start = time.perf_counter()
        infer()
        times.append((time.perf_counter() - start) * 1e6)
    return statistics.median(times)


def keep_caches(kind, threads, name, folder, scratch):
    """Sets the cache folders: a new one for our kinds; for Inductor that of the network, which starts with the entries
    of the one-operator network."""
    os.environ["XDG_CACHE_HOME"] = str(scratch)
    torch._inductor.config.freezing = kind == "autotune"
    if kind in ("inductor", "autotune"):
        first, own = folder / f"{kind}-{threads}-{ONE}", folder / f"{kind}-{threads}-{name}"
        if first.exists() and not own.exists():
            shutil.copytree(first, own)
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(own)


def compile_one_operator(kind, threads, folder):
    """Fills Inductor's caches with the entries of a one-operator network, such as precompiled headers."""
    if kind in ("inductor", "autotune") and not (folder / f"{kind}-{threads}-{ONE}").exists():
        made = Kind(kind, ONE, threads, folder, 300)
        made.get_ready()
        made.end()


def serve(kind, name, threads, folder, pipe):
    """Runs in a kind's process: builds the network, prepares on request, then runs a round for each message."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ["OMP_NUM_THREADS"] = str(threads)
    torch.set_num_threads(threads)
    try:
        with torch.no_grad(), tempfile.TemporaryDirectory() as scratch:
            keep_caches(kind, threads, name, folder, scratch)
            module, inputs = build(name, folder)
            if kind in WRAP:  # triggers lazy imports
                WRAP[kind](*one_operator(), threads)(torch.ones(1, 8))
            pipe.send("built")
            pipe.recv()
            start = time.perf_counter()
            infer, output = ready(kind, name, threads, folder, module, inputs)
            seconds = time.perf_counter() - start
            notes = [str(made) for made in tangram.torch.report()[1:]] if kind == "tangram" else []
            pipe.send((seconds, output, notes))
            while pipe.recv():
                pipe.send(median_us(infer))
    except Exception as error:  # runtimes raise many types
        pipe.send(f"{type(error).__name__}: {error}".splitlines()[0][:200])


class Kind:
    """The parent's view of a kind's process. `missing` is the reason if it is not available."""

    def __init__(self, kind, name, threads, folder, cap):
        self.cap, self.missing, self.state = cap, "", "new"
        self.pipe, other = FORK.Pipe()
        self.process = FORK.Process(target=serve, args=(kind, name, threads, folder, other))
        self.process.start()
        other.close()  # else the end of the process would not close the pipe

    def wait(self, for_what):
        if self.missing or self.state == for_what:
            return None
        said = f"not {for_what} after {self.cap:.0f} s"
        try:
            if self.pipe.poll(self.cap):
                said = self.pipe.recv()
        except EOFError:
            said = "the process ended"
        self.state = for_what
        if isinstance(said, str) and said != for_what:
            self.missing = said
            self.end()
            return None
        return said

    def ask(self):
        """Requests the process to prepare."""
        self.wait("built")
        if not self.missing:
            self.pipe.send(True)

    def get_ready(self):
        """Prepares. Returns (seconds, output, notes), or None."""
        self.ask()
        return self.wait("ready")

    def round(self):
        self.pipe.send(True)
        return self.pipe.recv()

    def end(self):
        if self.process.is_alive() and self.state == "ready" and not self.missing:
            try:
                self.pipe.send(False)
                self.process.join(2)
            except OSError:
                pass
        if self.process.is_alive():
            self.process.kill()
        self.process.join()


def prepare(name, folder):
    """Writes the network's files in a separate process if they are missing."""
    if not (folder / f"{name}.onnx").exists():
        writer = FORK.Process(target=export, args=(name, folder))
        writer.start()
        writer.join()


class Idle:
    """Makes the machine idle for the given processes by running a command; without a command it does nothing."""

    def __init__(self, command, processes):
        self.command, self.processes = command, processes

    def __enter__(self):
        if self.command:
            self.running = subprocess.Popen(self.command, shell=True, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.running.stdin.write(" ".join(map(str, [os.getpid(), *self.processes])) + "\n")
            self.running.stdin.flush()
            if not self.running.stdout.readline():
                sys.exit(f"`{self.command}` ended")

    def __exit__(self, *_):
        if self.command:
            self.running.stdin.close()
            self.running.wait()


def difference(found, wanted):
    return float(abs(found - wanted).max() / abs(wanted).max())


class Row:
    """The measurement of a network with a number of threads: its kinds prepare, run and end."""

    def __init__(self, name, threads, options, folder):
        self.name, self.threads, self.options = name, threads, options
        self.row = {"network": name, "threads": threads, "rounds": options.rounds}
        self.kinds, self.wanted = {}, None
        prepare(name, folder)
        try:
            for kind in options.kinds:
                self.kinds[kind] = Kind(kind, name, threads, folder, options.cap)
            for one in self.kinds.values():
                one.wait("built")
            others = [kind for kind in options.kinds if kind not in OURS]
            for kind in others:
                self.kinds[kind].ask()
            for kind in others:
                self.take(kind, self.kinds[kind].wait("ready"))
        except BaseException:
            self.end()
            raise

    def take(self, kind, said):
        if not said:
            self.row[f"{kind}_missing"] = self.kinds.pop(kind).missing
            return
        self.row[f"{kind}_s"] = round(said[0], 2)
        self.wanted = said[1] if kind == "eager" else self.wanted
        if self.wanted is not None:
            self.row[f"{kind}_difference"] = difference(said[1], self.wanted)
        if said[2]:
            self.row[f"{kind}_report"] = said[2]

    def measured(self):
        for kind in [kind for kind in self.kinds if kind in OURS]:
            self.take(kind, self.kinds[kind].get_ready())
        times = {}
        for number in range(self.options.rounds):
            order = list(self.kinds)[number % len(self.kinds):] + list(self.kinds)[:number % len(self.kinds)]
            for kind in order:
                time.sleep(PAUSE_S)
                times.setdefault(kind, []).append(self.kinds[kind].round())
        return {**self.row, **figures(times)}

    def end(self):
        for made in self.kinds.values():
            made.end()


def of_processes(rows):
    return [made.process.pid for row in rows for made in row.kinds.values()]


def measure(names, threads, options, folder):
    """Yields the rows of the networks."""
    rows = []
    try:
        for name in names:
            rows.append(Row(name, threads, options, folder))
        with Idle(options.idle, of_processes(rows)):
            for row in rows:
                yield row.measured()
                row.end()
    finally:
        for row in rows:
            row.end()


def measure_seconds(kind, names, threads, options, folder):
    """Yields each network with the seconds until its first output, or the reason why there is none."""
    made = {}
    try:
        for name in names:
            shutil.rmtree(folder / f"{kind}-{threads}-{name}", ignore_errors=True)
            made[name] = Kind(kind, name, threads, folder, options.cap)
        for one in made.values():
            one.wait("built")
        with Idle(options.idle, [one.process.pid for one in made.values()]):
            for name, one in made.items():
                found = one.get_ready()
                yield name, round(found[0], 2) if found else one.missing
                one.end()
    finally:
        for one in made.values():
            one.end()


def figures(times):
    """Returns the medians, and the ratios of the best other kind's and eager's times to ours in the same round."""
    row = {f"{kind}_us": round(statistics.median(values), 1) for kind, values in times.items()}
    best = min((kind for kind in times if kind in OTHERS), key=lambda kind: row[f"{kind}_us"])
    row["best"] = best
    for ours in OURS:
        for other, key in ((best, "best"), ("eager", "eager")):
            if ours in times:
                ratios = [a / b for a, b in zip(times[other], times[ours])]
                row[f"{ours}_over_{key}"] = [round(r, 4) for r in median_interval(ratios)]
    return row


# --- output ---------------------------------------------------------------------------------------


def mean(values):
    values = list(values)
    return math.exp(statistics.fmean(map(math.log, values))) if values else math.nan


def cell(row, kind):
    if f"{kind}_us" in row:
        return f"{row[f'{kind}_us'] / 1e3:.2f}"
    return "-"


def summary(rows, ours):
    rows = [row for row in rows if f"{ours}_over_best" in row]
    slower = [row["network"] for row in rows if row[f"{ours}_over_eager"][2] < 1]
    return (f"{ours}: {mean(row[f'{ours}_over_best'][0] for row in rows):.3f} times as fast as the best of the others in "
            f"geometric mean, {mean(row[f'{ours}_over_eager'][0] for row in rows):.3f} times as fast as eager; faster than the "
            f"best in {sum(row[f'{ours}_over_best'][1] > 1 for row in rows)} of {len(rows)}, slower in "
            f"{sum(row[f'{ours}_over_best'][2] < 1 for row in rows)}; slower than eager: {', '.join(slower) or 'none'}")


def seconds(rows, compiled):
    """Compares our seconds with Inductor's, and lists the networks for which Inductor gave no answer in time."""
    kind = ours_of(rows)[0]
    both = [(row["network"], row[f"{kind}_s"], found["inductor_s"]) for row in rows
            if f"{kind}_s" in row and "inductor_s" in (found := compiled.get((row["network"], row["threads"]), {}))]
    known = [(name, ours, other) for name, ours, other in both if isinstance(other, float)]
    if not known:
        return "Seconds to compile: Inductor's were not measured."
    longer = [name for name, ours, other in known if ours > other]
    failed = [name for name, _, other in both if not isinstance(other, float)]
    return (f"Seconds to compile, geometric means of {len(known)}: {kind} {mean(ours for _, ours, _ in known):.2f}, inductor "
            f"{mean(other for _, _, other in known):.2f}, {mean(other / ours for _, ours, other in known):.2f} times as long; "
            f"longer than Inductor's: {', '.join(longer) or 'none'}"
            + (f"; without an answer of Inductor's: {', '.join(failed)}" if failed else "") + ".")


def ours_of(rows):
    """Returns our kinds that were measured."""
    return [kind for kind in OURS if any(f"{kind}_us" in row for row in rows)]


def best_of(rows):
    """Describes how often each other kind is the best, and our mean ratio against each."""
    rows = [row for row in rows if "best" in row]
    parts = []
    for other in OTHERS:
        some = [row for row in rows if f"{other}_us" in row]
        if some:
            means = {kind: mean(row[f"{other}_us"] / row[f"{kind}_us"] for row in some if f"{kind}_us" in row)
                     for kind in ours_of(some)}
            ours = ", ".join(f"{value:.3f} by {kind}" for kind, value in means.items())
            parts.append(f"{other} {ours} ({sum(row['best'] == other for row in rows)} times the best of the others)")
    return "Against each of the others, geometric means of its time over ours: " + "; ".join(parts)


def seconds_cell(row, kind, compiled):
    if kind in OURS and f"{kind}_s" in row:
        return f" ({row[f'{kind}_s']:.1f})"
    found = compiled.get((row["network"], row["threads"]), {}).get(f"{kind}_s")
    return f" ({found:.1f})" if isinstance(found, float) else ""


def markdown(record):
    rows = record["rows"]
    compiled = {(row["network"], row["threads"]): row for row in record["seconds"]}
    shown = [kind for kind in KINDS if any(f"{kind}_us" in row for row in rows)]
    lines = ["# Networks of PyTorch", "",
             f"{record['machine']}; commit {record['commit']}; {record['date']}; PyTorch {record['torch']}, ONNX Runtime "
             f"{record['onnxruntime']}, OpenVINO {record['openvino']}. The head of `bench/python_networks.py` "
             "describes the kinds. Batch 1, f32.", "",
             "Milliseconds; seconds to compile in brackets; the best of the others over ours, with its 95% interval.", "",
             f"| network | threads | {' | '.join(shown)} | best / tangram | best / program | eager / tangram |",
             "|---" * (len(shown) + 5) + "|"]
    for row in rows:
        cells = [cell(row, kind) + seconds_cell(row, kind, compiled) for kind in shown]
        ratios = ["{0:.3f} [{1:.3f}, {2:.3f}]".format(*row[key]) if key in row else "-"
                  for key in ("tangram_over_best", "program_over_best", "tangram_over_eager")]
        lines.append(f"| {row['network']} | {row['threads']} | {' | '.join(cells + ratios)} |")
    for threads in sorted({row["threads"] for row in rows}):
        some = [row for row in rows if row["threads"] == threads]
        lines += ["", f"With {threads} thread{'s' if threads > 1 else ''}, {len(some)} networks:", "",
                  *(f"- {summary(some, ours)}" for ours in ours_of(some)), f"- {best_of(some)}", f"- {seconds(some, compiled)}"]
    worst = max((row.get(f"{kind}_difference", 0.0), row["network"], kind) for row in rows for kind in OURS)
    lines += ["", f"Outputs differ from eager ones by {worst[0]:.1e} at most ({worst[1]}, {worst[2]}); allowed are {BOUND:.0e}."]
    missing = [f"{row['network']}, {row['threads']}: {key.removesuffix('_missing')}: {value}"
               for row in rows for key, value in row.items() if key.endswith("_missing")]
    split = [f"{row['network']}: {'; '.join(row['tangram_report'])}" for row in rows
             if row.get("tangram_report") and (len(row["tangram_report"]) > 1 or "in 1 parts" not in row["tangram_report"][0]
                                               or "\n" in row["tangram_report"][0])]
    lines += ["", "Not measured:", "", *(f"- {line}" for line in missing)] * bool(missing)
    lines += ["", "In more than one part:", "", *(f"- {line}" for line in dict.fromkeys(split))] * bool(split)
    return "\n".join(lines) + "\n"


def versions():
    import onnxruntime
    try:
        import openvino
        of_openvino = openvino.__version__.split("-")[0]
    except ImportError:
        of_openvino = "not installed"
    return {"torch": torch.__version__, "onnxruntime": onnxruntime.__version__, "openvino": of_openvino}


class Kept:
    """Rows in a file of the folder, by network and threads. Other runs may add to the file."""

    def __init__(self, path):
        self.path = path
        self.rows = self.read()

    def read(self):
        known = json.loads(self.path.read_text()) if self.path.exists() else []
        return {(row["network"], row["threads"]): row for row in known}

    def add(self, row):
        print(json.dumps(row), flush=True)
        self.rows = {**self.read(), (row["network"], row["threads"]): row}
        self.path.write_text(json.dumps(list(self.rows.values()), indent=1) + "\n", encoding="utf-8")

    def sorted(self):
        return sorted(self.rows.values(), key=lambda row: (-row["threads"], list(NETWORKS).index(row["network"])))


def parts(names, size):
    return [names[at:at + size] for at in range(0, len(names), size)]


def compile_all(names, threads, options, folder, kept):
    """Measures the missing seconds of Inductor's kinds."""
    for kind in (kind for kind in options.kinds if kind in ("inductor", "autotune")):
        compile_one_operator(kind, threads, folder)
        missing = [name for name in names if f"{kind}_s" not in kept.rows.get((name, threads), {})]
        for some in parts(missing, options.at_once):
            for name, found in measure_seconds(kind, some, threads, options, folder):
                row = kept.rows.get((name, threads), {"network": name, "threads": threads})
                kept.add({**row, f"{kind}_s": found})


def measure_all(options, folder):
    """Measures missing rows or seconds. Returns the rows and the seconds to compile."""
    rows, compiled = Kept(folder / "rows.json"), Kept(folder / "seconds.json")
    wanted = [name for name in NETWORKS if not options.networks or name in options.networks]
    for name in wanted if options.prepare else ():
        prepare(name, folder)
    for threads in options.threads if not (options.prepare or options.table) else ():
        if options.seconds:
            compile_all(wanted, threads, options, folder, compiled)
            continue
        for names in parts([name for name in wanted if (name, threads) not in rows.rows], options.at_once):
            for row in measure(names, threads, options, folder):
                rows.add(row)
            gc.collect()
    return rows.sorted(), compiled.sorted()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=lambda text: [int(n) for n in text.split(",")], default=[1, 2])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--kinds", type=lambda text: ["eager", *(k for k in text.split(",") if k != "eager")],
                        default=list(KINDS))
    parser.add_argument("--cap", type=float, default=60, help="seconds for the preparation of a kind")
    parser.add_argument("--state", type=Path, help="folder that keeps weights, files, caches and rows")
    parser.add_argument("--idle", default="", help="command that keeps the machine idle while its input is open")
    parser.add_argument("--at-once", type=int, default=1, help="number of networks that are ready at once")
    parser.add_argument("--prepare", action="store_true", help="only fill the folder of the state")
    parser.add_argument("--seconds", action="store_true", help="only measure seconds to compile")
    parser.add_argument("--table", action="store_true", help="only write the tables of kept results")
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results")
    parser.add_argument("--name", default="python_networks", help="name of the files of results")
    parser.add_argument("networks", nargs="*", metavar="NETWORK")
    options = parser.parse_args()
    if unknown := [name for name in options.networks if name not in NETWORKS]:
        parser.error(f"no network {unknown[0]}; there are {', '.join(NETWORKS)}")
    if (options.prepare or options.seconds or options.table) and not options.state:
        parser.error("--prepare, --seconds and --table want --state")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # so that the kinds' processes are ended, too
    record = {"program": options.name, **setting(), **versions()}
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.state or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        record["rows"], record["seconds"] = measure_all(options, folder)
    if options.prepare or not record["rows"]:
        return
    keep_results(options.results, record, markdown(record))
    print(markdown(record))


if __name__ == "__main__":
    main()
