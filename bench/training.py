#!/usr/bin/env python3
"""Compares training steps of examples/training with PyTorch's: the time of a step and the peak memory of the process.

    bench/training.py [--tg build/tg] [--python PYTHON] [--steps 5] [--threads 2] [--json FILE] [NETWORK...]

The timed region is the same in all: input of the batch, loss, gradients of all weights, descent. The variants run one
after another in separate processes, for `--rounds` rounds. Times are medians over rounds of the mean step without the
first one (for Tangram: the difference of two runs of different length, per step). Memory is the largest resident set.
`fast` is the step optimised by `tg opt` with default options within `--opt-limit` seconds, checked exactly against its
source (`--verify`). `recompute` is the source with intermediate results recomputed rather than kept for the backward
pass, for at most `--recompute` percent of the estimated time. PyTorch: eager, and torch.compile with Inductor, with
torch.optim.SGD.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = {"resnet50": {"N": 8}, "bert_base": {"N": 8, "S": 128}, "lstm": {"N": 32, "S": 16}}


# --- PyTorch, in a separate process -----------------------------------------------------------------


def torch_network(name, sizes):
    import torch
    if name == "resnet50":
        import torchvision
        module = torchvision.models.resnet50(weights=None).eval()
        return module, [torch.randn(sizes["N"], 3, 224, 224)], 1000
    if name == "bert_base":
        from transformers import BertConfig, BertForSequenceClassification
        module = BertForSequenceClassification(BertConfig()).eval()  # selects its fastest attention
        ids = torch.randint(0, 30522, (sizes["N"], sizes["S"]))
        mask = (torch.arange(sizes["S"]) < 100).long().repeat(sizes["N"], 1)

        class Scores(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.bert = module

            def forward(self, ids, mask):
                return self.bert(ids, attention_mask=mask).logits

        return Scores(), [ids, mask], 2

    class Recurrent(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = torch.nn.LSTM(128, 256, num_layers=2)
            self.classifier = torch.nn.Linear(256, 10)

        def forward(self, x):
            return self.classifier(self.body(x)[1][0][1])

    return Recurrent(), [torch.randn(sizes["S"], sizes["N"], 128)], 10


def torch_child(name, how, steps, threads):
    import torch
    import torch.nn.functional as F
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    module, inputs, classes = torch_network(name, SETTINGS[name])
    label = torch.randint(0, classes, (SETTINGS[name]["N"],))
    optimiser = torch.optim.SGD(module.parameters(), lr=1e-6)
    cost = lambda *given: F.cross_entropy(module(*given), label)
    run = torch.compile(cost) if how == "inductor" else cost

    def step():
        optimiser.zero_grad(set_to_none=True)
        loss = run(*inputs)
        loss.backward()
        optimiser.step()
        return loss.item()

    begin = time.perf_counter()
    step()
    first = time.perf_counter() - begin
    taken = []
    for _ in range(steps):
        begin = time.perf_counter()
        step()
        taken.append(time.perf_counter() - begin)
    print(json.dumps({"step_ms": 1e3 * statistics.mean(taken), "first_s": first, "torch": torch.__version__}))


# --- measuring --------------------------------------------------------------------------------------


def measured(command):
    """Runs a command. Returns its JSON output and its largest resident set in MiB."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen([str(part) for part in command], stdout=out, stderr=err)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if child.returncode:
            sys.exit(f"{' '.join(map(str, command))}: exit code {child.returncode}\n{err.read().decode()[-2000:]}")
        return json.loads(out.read().decode().strip()), usage.ru_maxrss / 1024


def tangram(options, file, sizes):
    """Measures two runs of different length, so that loading and the first step cancel."""
    def run(steps):
        return measured([options.tg, "run", file, *sizes, "--threads", options.threads, "--steps", steps, "--json"])
    one, _ = run(1)
    many, memory = run(1 + options.steps)
    total = many["step_us"] * (1 + options.steps) - one["step_us"]
    return {"step_ms": total / options.steps / 1e3, "peak_mb": memory, "planned_mb": many["memory_mb"],
            **({"recomputed": many["recomputed"]} if "recomputed" in many else {})}


def pytorch(options, name, how):
    result, memory = measured([options.python, __file__, "--child", name, how, options.steps, options.threads])
    return {**result, "peak_mb": memory}


def optimise(options, name, sizes, folder):
    fast = Path(folder, f"{name}.tg")
    report, memory = measured([options.tg, "opt", ROOT / "examples" / "training" / f"{name}.tg", *sizes, "--threads", options.threads, "--time-limit", options.opt_limit, *options.opt,
                               "-o", fast, "--json"])
    keep = {k: report.get(k) for k in ("nodes_before", "nodes_after", "cost_before_us", "cost_after_us", "median_before_us",
                                       "median_after_us", "total_s", "stopped_by", "source_returned", "rules_applied", "notes")}
    return fast, {**keep, "peak_mb": memory}


def main():
    if sys.argv[1:2] == ["--child"]:
        return torch_child(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
    parser = argparse.ArgumentParser()
    parser.add_argument("--tg", default=str(ROOT / "build" / "tg"))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--opt-limit", type=int, default=60)
    parser.add_argument("--opt", nargs="*", default=[])
    parser.add_argument("--recompute", type=float, default=5)
    parser.add_argument("--fast", type=Path, help="folder of the optimised steps, which are written if missing")
    parser.add_argument("--only", nargs="*", default=["source", "recompute", "fast", "eager", "inductor"])
    parser.add_argument("--json", type=Path)
    parser.add_argument("networks", nargs="*", metavar="NETWORK")
    options = parser.parse_args()
    results = json.loads(options.json.read_text()) if options.json and options.json.exists() else {}
    for name in options.networks or SETTINGS:
        sizes = [part for key, value in SETTINGS[name].items() for part in ("--set", f"{key}={value}")] + [
            "--set", "rate=0.000001", "--model", "step"]
        row = results.setdefault(name, {})
        folder = options.fast or Path(tempfile.mkdtemp())
        folder.mkdir(parents=True, exist_ok=True)
        fast = folder / f"{name}.tg"
        if "fast" in options.only and not fast.exists():
            fast, row["opt"] = optimise(options, name, sizes, folder)
            print(name, "opt", row["opt"], flush=True)
        for _ in range(options.rounds):
            for how in options.only:
                source = ROOT / "examples" / "training" / f"{name}.tg"
                got = (tangram(options, source, sizes) if how == "source" else tangram(options, fast, [])
                       if how == "fast" else tangram(options, source, [*sizes, "--recompute", options.recompute])
                       if how == "recompute" else pytorch(options, name, how))
                row.setdefault(how, []).append(got)
                print(name, how, got, flush=True)
                if options.json:
                    options.json.write_text(json.dumps(results, indent=1) + "\n")
    print(f"\n{'':10} " + " ".join(f"{how:>22}" for how in options.only))
    for name, row in results.items():
        cells = [f"{statistics.median(g['step_ms'] for g in row[how]):10.1f} ms {max(g['peak_mb'] for g in row[how]):6.0f} MiB"
                 if how in row else "" for how in options.only]
        print(f"{name:10} " + " ".join(f"{cell:>22}" for cell in cells))
    return 0


if __name__ == "__main__":
    sys.exit(main())
