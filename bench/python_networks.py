#!/usr/bin/env python3
"""Networks of torchvision, timm and transformers by `torch.compile(backend="tangram")` beside what else PyTorch's
users run them with: batch 1, f32.

    bench/python_networks.py [--threads 1,2] [--rounds 9] [--kinds inductor,...] [--cap SECONDS] [--state FOLDER]
                             [--export] [--results FOLDER] [NETWORK...]

    eager        the module as it is
    tangram      torch.compile(module, backend="tangram")
    program      tangram.compile(module, inputs): the same without Dynamo
    inductor     torch.compile(module)
    autotune     torch.compile(module, mode="max-autotune"), with weights frozen, which is Inductor's fastest
    onnxruntime  the module by torch.onnx.export, in a session with inputs and outputs bound
    openvino     the same file, in float32, hinted at latency

Each kind is a process of its own, forked where all packages are imported and a network of one operator was not yet
compiled. They get ready one after the other (seconds are taken: compilation and the first call), then run in rounds
that alternate; a round's time is the median of its runs. A kind that is not ready within --cap seconds is left out
of the row, and said. Weights are random, batch norms hold the statistics of random images; outputs are compared
with eager ones. --export writes weights and ONNX files alone, which takes no idle machine.

Rows are kept in --state, and a later run goes on from there. Leaves python_networks.json and python_networks.md in
--results, of all rows that are kept. Wants PyTorch and the packages by name; what is not installed is left out.
"""
import argparse
import gc
import json
import math
import multiprocessing
import os
import signal
import statistics
import sys
import tempfile
import time
import warnings
from pathlib import Path

from onnx_networks import OnnxRuntime, OpenVino, median_interval
from run import ROOT, keep_results, setting

try:
    import networks  # tests/oracle, as onnx_networks finds it
    import torch

    import tangram
    import tangram.torch
except ImportError as missing:
    print(f"skipped: {missing.name} is not installed (./dev test --oracle --full installs it)")
    sys.exit(0)

KINDS = ("eager", "tangram", "program", "inductor", "autotune", "onnxruntime", "openvino")
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
    """Four layers of width 256."""
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


class Plain(torch.nn.Module):
    """The first output alone, of a network that gives a structure: what ONNX files have."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        found = self.module(x)
        return found if isinstance(found, torch.Tensor) else found[0]


def build(name, folder):
    """The module and its inputs; weights are the first's to be built."""
    torch.manual_seed(1)
    kept = folder / f"{name}.pt"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module, inputs = NETWORKS[name](name)
    module = Plain(module).eval()
    if not kept.exists():
        torch.save((module.state_dict(), inputs), kept)
    weights, inputs = torch.load(kept)
    module.load_state_dict(weights)
    return module.requires_grad_(False), inputs


def export(name, folder):
    """Writes the weights and the ONNX file of the network."""
    path = folder / f"{name}.onnx"
    if not path.exists():
        module, inputs = build(name, folder)
        torch.onnx.export(module, inputs, folder / "unfinished.onnx", input_names=["x"], output_names=["y"],
                          dynamo=True, external_data=False, verbose=False)
        (folder / "unfinished.onnx").rename(path)


def export_in_a_process(name, folder):
    made = FORK.Process(target=export, args=(name, folder))
    made.start()
    made.join()


# --- kinds ----------------------------------------------------------------------------------------


def ready(kind, name, threads, folder):
    """What runs the network once, seconds until its first output, and that output."""
    module, inputs = build(name, folder)
    if kind in ("onnxruntime", "openvino"):
        start = time.perf_counter()
        made = {"onnxruntime": OnnxRuntime, "openvino": OpenVino}[kind](
            folder / f"{name}.onnx", {"x": inputs[0].numpy()}, threads)
        spent = time.perf_counter() - start
        if kind == "onnxruntime":
            return (lambda: made.session.run_with_iobinding(made.binding)), spent, made.binding.get_outputs()[0].numpy()
        return made.request.infer, spent, made.request.get_output_tensor(0).data
    wrap = {"eager": lambda module, _: module,
            "tangram": lambda module, _: torch.compile(module, backend="tangram"),
            "program": lambda module, inputs: tangram.compile(module, inputs, threads=threads),
            "inductor": lambda module, _: torch.compile(module),
            "autotune": lambda module, _: torch.compile(module, mode="max-autotune")}[kind]
    one = torch.nn.Linear(8, 8).requires_grad_(False)
    wrap(one, (torch.ones(1, 8),))(torch.ones(1, 8))  # what is imported when it is asked for
    start = time.perf_counter()
    made = wrap(module, inputs)
    found = made(*inputs)
    return (lambda: made(*inputs)), time.perf_counter() - start, found.numpy()


def median_us(infer):
    times, end = [], time.perf_counter() + ROUND_S
    infer()  # what ran before it has left its own in the cache
    while len(times) < LEAST_RUNS or time.perf_counter() < end:
        start = time.perf_counter()
        infer()
        times.append((time.perf_counter() - start) * 1e6)
    return statistics.median(times)


def serve(kind, name, threads, folder, pipe):
    """A kind's process: gets ready, then a round for each message."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ["OMP_NUM_THREADS"] = str(threads)
    torch.set_num_threads(threads)
    if kind in ("inductor", "autotune"):
        # Seconds of a first compilation: nothing is found in a cache.
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp(dir=folder)
        from torch._inductor import config
        config.freezing = kind == "autotune"
    try:
        with torch.no_grad():
            infer, seconds, output = ready(kind, name, threads, folder)
            notes = [str(made) for made in tangram.torch.report()[1:]] if kind == "tangram" else []
            pipe.send((seconds, output, notes))
            while pipe.recv():
                pipe.send(median_us(infer))
    except Exception as error:  # of any runtime, of any kind
        pipe.send(f"{type(error).__name__}: {error}".splitlines()[0][:200])


class Kind:
    def __init__(self, kind, name, threads, folder):
        self.pipe, other = FORK.Pipe()
        self.process = FORK.Process(target=serve, args=(kind, name, threads, folder, other))
        self.process.start()

    def wait(self, cap):
        if not self.pipe.poll(cap):
            return f"not ready after {cap:.0f} s"
        try:
            return self.pipe.recv()
        except EOFError:
            return "the process ended"

    def round(self):
        self.pipe.send(True)
        return self.pipe.recv()

    def end(self):
        if self.process.is_alive():
            try:
                self.pipe.send(False)
                self.process.join(2)
            except OSError:
                pass
            self.process.kill()
        self.process.join()


def difference(found, wanted):
    return float(abs(found - wanted).max() / abs(wanted).max())


def measure(name, threads, options, folder):
    row = {"network": name, "threads": threads, "rounds": options.rounds}
    kinds, times, wanted = {}, {}, None
    try:
        for kind in options.kinds:
            made = kinds[kind] = Kind(kind, name, threads, folder)
            said = made.wait(options.cap)
            if isinstance(said, str):
                row[f"{kind}_missing"] = said
                kinds.pop(kind).end()
                continue
            row[f"{kind}_s"] = round(said[0], 2)
            wanted = said[1] if kind == "eager" else wanted
            row[f"{kind}_difference"] = difference(said[1], wanted)
            if said[2]:
                row[f"{kind}_report"] = said[2]
        for number in range(options.rounds):
            order = list(kinds)[number % len(kinds):] + list(kinds)[:number % len(kinds)]
            for kind in order:
                times.setdefault(kind, []).append(kinds[kind].round())
    finally:
        for made in kinds.values():
            made.end()
    return {**row, **figures(times)}


def figures(times):
    """Medians; of the best of the others and of eager, the ratio of its time to ours in the same round."""
    row = {f"{kind}_us": round(statistics.median(values), 1) for kind, values in times.items()}
    best = min((kind for kind in times if kind in OTHERS), key=lambda kind: row[f"{kind}_us"])
    row["best"] = best
    for ours in ("tangram", "program"):
        for other, key in ((best, "best"), ("eager", "eager")):
            if ours in times:
                ratios = [a / b for a, b in zip(times[other], times[ours])]
                row[f"{ours}_over_{key}"] = [round(r, 4) for r in median_interval(ratios)]
    return row


# --- what is printed ------------------------------------------------------------------------------


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


def seconds(rows):
    both = [row for row in rows if "tangram_s" in row and "inductor_s" in row]
    if not both:
        return "Seconds to compile: Inductor was not measured."
    longer = [row["network"] for row in both if row["tangram_s"] > row["inductor_s"]]
    return (f"Seconds to compile, geometric means of {len(both)}: tangram {mean(row['tangram_s'] for row in both):.1f}, "
            f"inductor {mean(row['inductor_s'] for row in both):.1f}; longer than Inductor's: {', '.join(longer) or 'none'}.")


def markdown(record):
    rows = record["rows"]
    shown = [kind for kind in KINDS if any(f"{kind}_us" in row for row in rows)]
    lines = ["# Networks of PyTorch", "",
             f"{record['machine']}; commit {record['commit']}; {record['date']}; PyTorch {record['torch']}, ONNX Runtime "
             f"{record['onnxruntime']}, OpenVINO {record['openvino']}. `bench/python_networks.py`, whose head says what the "
             "kinds are. Batch 1, f32.", "",
             "Milliseconds; seconds to compile in brackets; the best of the others over `tangram`, with its 95% interval.", "",
             f"| network | threads | {' | '.join(shown)} | best / tangram | eager / tangram |",
             "|---" * (len(shown) + 4) + "|"]
    for row in rows:
        cells = [cell(row, kind) + (f" ({row[f'{kind}_s']:.0f})" if kind not in ("eager", "onnxruntime", "openvino")
                                    and f"{kind}_s" in row else "") for kind in shown]
        ratios = ["{0:.3f} [{1:.3f}, {2:.3f}]".format(*row[f"tangram_over_{key}"]) if f"tangram_over_{key}" in row else "-"
                  for key in ("best", "eager")]
        lines.append(f"| {row['network']} | {row['threads']} | {' | '.join(cells + ratios)} |")
    for threads in sorted({row["threads"] for row in rows}):
        some = [row for row in rows if row["threads"] == threads]
        lines += ["", f"With {threads} thread{'s' if threads > 1 else ''}:", "",
                  *(f"- {summary(some, ours)}" for ours in ("tangram", "program")), f"- {seconds(some)}"]
    worst = max((row.get("tangram_difference", 0.0), row["network"]) for row in rows)
    lines += ["", f"Outputs differ from eager ones by {worst[0]:.1e} at most ({worst[1]}); allowed are {BOUND:.0e}."]
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


def measure_all(options, folder):
    kept = folder / "rows.json"
    rows = {(row["network"], row["threads"]): row for row in (json.loads(kept.read_text()) if kept.exists() else [])}
    wanted = [name for name in NETWORKS if not options.networks or name in options.networks]
    for threads in (int(n) for n in options.threads.split(",")):
        for name in wanted:
            if options.export:
                export_in_a_process(name, folder)
            elif (name, threads) not in rows:
                if not (folder / f"{name}.onnx").exists():
                    export_in_a_process(name, folder)
                row = rows[name, threads] = measure(name, threads, options, folder)
                print(json.dumps(row), flush=True)
                kept.write_text(json.dumps(list(rows.values()), indent=1) + "\n", encoding="utf-8")
            gc.collect()
        if options.export:
            break
    return sorted(rows.values(), key=lambda row: (row["threads"], list(NETWORKS).index(row["network"])))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--kinds", type=lambda text: ["eager", *(k for k in text.split(",") if k != "eager")],
                        default=list(KINDS))
    parser.add_argument("--cap", type=float, default=60, help="seconds for a kind to get ready")
    parser.add_argument("--state", type=Path, help="keeps weights, files and rows")
    parser.add_argument("--export", action="store_true", help="writes weights and ONNX files alone")
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results")
    parser.add_argument("networks", nargs="*", metavar="NETWORK")
    options = parser.parse_args()
    if unknown := [name for name in options.networks if name not in NETWORKS]:
        parser.error(f"no network {unknown[0]}; there are {', '.join(NETWORKS)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # no kind's process stays behind
    record = {"program": "python_networks", **setting(), **versions()}
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.state or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        record["rows"] = measure_all(options, folder)
    if options.export or not record["rows"]:
        return
    keep_results(options.results, record, markdown(record))
    print(markdown(record))


if __name__ == "__main__":
    main()
