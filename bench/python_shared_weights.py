#!/usr/bin/env python3
"""Measures the memory of two programs of one module: the prompt and one token of a language model with 0.5 billion
weights (Qwen2's configuration, random weights).

    bench/python_shared_weights.py [--layers 24] [--prompt 64] [--threads 2] [--keep]

Prints Markdown: resident memory after each step. --keep: the module keeps its weights (`release_weights=False` in the
second call)."""
import argparse
import gc
import resource
from pathlib import Path


def resident_mb():
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=24)
    parser.add_argument("--prompt", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    import torch
    import transformers as hf

    import tangram

    torch.manual_seed(0)
    torch.set_num_threads(options.threads)
    begun = resident_mb()
    inner = hf.Qwen2ForCausalLM(hf.Qwen2Config(
        hidden_size=896, intermediate_size=4864, num_hidden_layers=options.layers, num_attention_heads=14,
        num_key_value_heads=2, vocab_size=151936, use_cache=False, tie_word_embeddings=True))

    class Logits(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return self.inner(x).logits

    module = Logits().eval().requires_grad_(False)
    weights = sum(p.numel() * p.element_size() for p in module.parameters()) / 2**20
    prompt, token = (torch.randint(0, 151936, (1, count)) for count in (options.prompt, 1))
    print(f"weights {weights:.0f} MiB\n\n| step | resident, MiB | above the interpreter |\n|---|--:|--:|")

    def say(step):
        now = resident_mb()
        print(f"| {step} | {now:.0f} | {now - begun:.0f} |", flush=True)

    say("the module")
    with torch.no_grad():
        expected = module(prompt), module(token)
        fast = tangram.compile(module, [prompt])
        say("and the program of the prompt")
        step = tangram.compile(module, [token], release_weights=not options.keep)
        say("and that of one token" + ("" if options.keep else ", `release_weights`"))
        differences = [float((found - one).abs().max() / one.abs().max())
                       for found, one in zip((fast(prompt), step(token)), expected)]
    del fast.model
    if not options.keep:
        say("without the first program's model")
    print(f"\ndifferences {', '.join(f'{one:.1e}' for one in differences)}; "
          f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
