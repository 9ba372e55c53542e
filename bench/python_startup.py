#!/usr/bin/env python3
"""Measures the seconds from a PyTorch module to its first output: by tangram.compile, by
torch.compile(backend="tangram"), and by an export to ONNX and an ONNX Runtime session.

    bench/python_startup.py [--networks gpt2,bert,vit] [--ways tangram,torch,onnxruntime] [--threads 2]

Prints Markdown. The networks are configurations of transformers with random weights. Each way runs in its own process.
Tangram's ways run twice, first with an empty cache folder, then with the filled one. The clock starts when the module
is built and its packages are imported. "processor" is the user and system time of the process, which other load changes
less."""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WAYS = ("tangram", "torch", "onnxruntime")


def network(name):
    import torch
    import transformers as hf

    torch.manual_seed(0)
    words = lambda vocabulary, count: torch.randint(0, vocabulary, (1, count))
    qwen = dict(hidden_size=896, intermediate_size=4864, num_hidden_layers=24, num_attention_heads=14,
                num_key_value_heads=2, vocab_size=151936, use_cache=False, tie_word_embeddings=True)
    make = {"gpt2": lambda: (hf.GPT2LMHeadModel(hf.GPT2Config(use_cache=False)), words(50257, 64)),
            "bert": lambda: (hf.BertModel(hf.BertConfig()), words(30000, 128)),
            "vit": lambda: (hf.ViTModel(hf.ViTConfig()), torch.randn(1, 3, 224, 224)),
            "qwen2_0.5b": lambda: (hf.Qwen2ForCausalLM(hf.Qwen2Config(**qwen)), words(151936, 64)),
            "qwen2_0.5b_token": lambda: (hf.Qwen2ForCausalLM(hf.Qwen2Config(**qwen)), words(151936, 1))}
    module, x = make[name]()

    class Answer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = module

        def forward(self, x):
            found = self.inner(x)
            return found.logits if hasattr(found, "logits") else found.last_hidden_state

    return Answer().eval().requires_grad_(False), x


def first_answer(way, module, x, folder):
    import torch

    if way == "tangram":
        import tangram

        return tangram.compile(module, [x])(x)
    if way == "torch":
        return torch.compile(module, backend="tangram")(x)
    import onnxruntime

    path = str(Path(folder, "module.onnx"))
    torch.onnx.export(module, (x,), path, dynamo=True, external_data=True, verbose=False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return torch.from_numpy(session.run(None, {session.get_inputs()[0].name: x.numpy()})[0])


def child(way, name, threads):
    import torch

    import onnxruntime  # noqa: F401
    import tangram  # noqa: F401

    torch.set_num_threads(threads)
    module, x = network(name)
    used = lambda: sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        start, cpu = time.perf_counter(), used()
        found = first_answer(way, module, x, folder)
        row = {"s": time.perf_counter() - start, "cpu_s": used() - cpu,
               "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}
        expected = module(x)
        row["difference"] = float((found - expected).abs().max() / expected.abs().max())
    print("row " + json.dumps(row))


def run(way, name, threads, cache):
    done = subprocess.run([sys.executable, __file__, "--child", way, name, "--threads", str(threads)], text=True,
                          capture_output=True, check=False, env={**os.environ, "XDG_CACHE_HOME": cache})
    rows = [line[4:] for line in done.stdout.splitlines() if line.startswith("row ")]
    if not rows:
        return f"failed: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else done.returncode}"
    return json.loads(rows[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", default="gpt2,bert,vit")
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(*options.child, options.threads)
        return
    print("| network | way | cache | seconds | processor, s | peak, MiB | difference |\n|---|---|---|--:|--:|--:|--:|")
    for name in options.networks.split(","):
        for way in options.ways.split(","):
            with tempfile.TemporaryDirectory() as cache:
                for kept in ("empty", "kept") if way != "onnxruntime" else ("–",):
                    row = run(way, name, options.threads, cache)
                    text = row if isinstance(row, str) else (f"{row['s']:.1f} | {row['cpu_s']:.1f} | "
                                                             f"{row['peak_mb']:.0f} | {row['difference']:.1e}")
                    print(f"| {name} | {way} | {kept} | {text} |", flush=True)


if __name__ == "__main__":
    main()
