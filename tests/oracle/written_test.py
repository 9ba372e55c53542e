#!/usr/bin/env python3
"""What `tg export` and `tg opt` write against what they were given, from the files alone: `tg verify` says "equal" of both, and
a file that `tg opt` wrote has no more operators where it is optimised again.

    tests/oracle/written_test.py [--tg build/tg] [--jobs N] [--keep FOLDER] [NAME...]

The files are the onnx package's node tests, with operands that decide shapes as weights, and small networks of transformers and
torchvision by PyTorch's exporter, where these packages are installed. NAME selects files whose name holds it. The test
fails if a file that is not listed in EXPECTED is not equal.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from export_test import ROOT  # skips this test too where packages are missing
import import_nodes_test as nodes

import onnx

LIMIT_S = 300
# How many attention operators an optimised network must have, by name: one for each layer.
LAYERS = {"bert": 2, "bert_masked": 2, "gpt2": 2, "vit": 2, "llama": 2}

# What is not equal yet, by the names of node tests.
EXPECTED = {
    "a list of rows that data select": "test_nonmaxsuppression",
    "quotients, remainders and powers": "test_(mod_|div_int|pow_types|maxpool_with_argmax_2d_precomputed)",
    "casts of floats to integers": "test_(gridsample|onehot_with_(axis|negative))",
    "an element for each index": "test_(maxunpool|scatter_(elements_)?with)",
    "more axes than the check has time for": "test_nllloss_NCd1d2d3d4d5_",
    "products of matrices with a bias": "test_(lstm|simple_rnn)_with_initial_bias",
    "weights of a file that were folded, and stay in the next one": "test_(dft_inverse|attention_.*fp16_expanded)",
    "frames of a signal": "test_stft_with_window",
}


def tg(options, *arguments):
    """(exit code, all that was printed)"""
    try:
        done = subprocess.run([options.tg, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return 124, f"no end after {LIMIT_S} s"
    return done.returncode, (done.stdout + done.stderr).strip()


def operators(path):
    return [node.op_type for node in onnx.load(path, load_external_data=False).graph.node]


def optimise(options, source, result):
    return tg(options, "opt", source, "-o", result, "--cost", "analytic:cpu", "--time-limit", "10", "--quiet")


def check(options, model, folder):
    """What is wrong with what is written of the model; empty if nothing is, None if it is refused."""
    exported, fast, again = (folder / f"{stem}.onnx" for stem in ("exported", "fast", "again"))
    code, said = tg(options, "export", model, "-o", exported, "--quiet")
    if code == 1:
        return None
    for step, (done, text) in (("export", (code, said)), ("opt", optimise(options, model, fast)),
                               ("opt of its result", optimise(options, fast, again))):
        if done:
            return f"{step}: exit code {done}: {text[:300]}"
    for a, b in ((model, exported), (model, fast), (fast, again)):
        done, text = tg(options, "verify", a, b)
        if done:
            return f"verify {a.name} {b.name}: {text[:300]}"
    if len(operators(fast)) < len(operators(again)):
        return f"again: {operators(fast)} became {operators(again)}"
    return ""


def write_networks(folder):
    """{name: file} of small networks; none without the packages."""
    try:
        import torch
        import torchvision
        import transformers as t
    except ImportError:
        return {}
    torch.manual_seed(0)
    size = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
    ids, image = torch.randint(0, 90, (1, 8)), torch.randn(1, 3, 32, 32)

    class First(torch.nn.Module):
        def __init__(self, module):
            super().__init__()
            self.module = module.eval()

        def forward(self, *inputs):
            outputs = self.module(*inputs)
            return outputs if isinstance(outputs, torch.Tensor) else outputs[0]

    bert = t.BertModel(t.BertConfig(vocab_size=100, max_position_embeddings=32, **size))
    made = {
        "bert": (bert, (ids,)),
        "bert_masked": (bert, (ids, torch.ones(1, 8, dtype=torch.long))),
        "gpt2": (t.GPT2Model(t.GPT2Config(vocab_size=100, n_embd=32, n_layer=2, n_head=4, n_positions=32, use_cache=False)), (ids,)),
        "vit": (t.ViTModel(t.ViTConfig(image_size=32, patch_size=8, **size)), (image,)),
        "llama": (t.LlamaModel(t.LlamaConfig(vocab_size=100, num_key_value_heads=2, use_cache=False, **size)), (ids,)),
        "mobilenet": (torchvision.models.mobilenet_v3_small(), (torch.randn(1, 3, 64, 64),)),
        "shufflenet": (torchvision.models.shufflenet_v2_x0_5(), (torch.randn(1, 3, 64, 64),)),
    }
    files = {}
    for name, (module, inputs) in made.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = torch.onnx.export(First(module), inputs, dynamo=True, verbose=False)
        files[name] = folder / f"{name}.onnx"
        program.save(files[name])
    return files


def attention_fault(options, name, model, folder):
    """Whether each layer's attention is one operator of the optimised model, where that has attention."""
    if name not in LAYERS:
        return ""
    text = folder / "fast.tg"
    code, said = tg(options, "opt", model, "-o", text, "--cost", "analytic:cpu", "--quiet")
    found = len(re.findall(r"(?<!_)attention\(", text.read_text(encoding="utf-8"))) if code == 0 else said[:200]
    return "" if found == LAYERS[name] else f"attention operators: {found}, expected {LAYERS[name]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tg", default=str(ROOT / "build/tg"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", type=Path, help="a folder for the files")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    options.as_generated = False
    wanted = lambda name: not options.names or any(part in name for part in options.names)
    with tempfile.TemporaryDirectory() as scratch:
        root = options.keep or Path(scratch)
        files = {}
        for case in nodes.collect(options):
            if wanted(case.name):
                (root / case.name).mkdir(parents=True, exist_ok=True)
                files[case.name] = root / case.name / "m.onnx"
                files[case.name].write_bytes(case.model.SerializeToString())
        (root / "networks").mkdir(parents=True, exist_ok=True)
        networks = write_networks(root / "networks") if any(map(wanted, [*LAYERS, "mobilenet", "shufflenet"])) else {}
        for name, path in networks.items():
            if wanted(name):
                (root / name).mkdir(parents=True, exist_ok=True)
                files[name] = path

        def run(item):
            name, path = item
            fault = check(options, path, root / name)
            return fault or (attention_fault(options, name, path, root / name) if name in networks else fault)

        with ThreadPoolExecutor(options.jobs) as pool:
            faults = dict(zip(files, pool.map(run, files.items())))
    known = {name for name in files for pattern in EXPECTED.values() if re.match(pattern, name)}
    taken = [name for name, fault in faults.items() if fault is not None]
    wrong = [name for name in taken if faults[name] and name not in known]
    for name in wrong:
        print(f"[FAIL] {name}: {faults[name]}")
    print(f"{len(taken)} files taken, {len(taken) - sum(bool(faults[n]) for n in taken)} equal and the same when written again, "
          f"{sum(bool(faults[n]) for n in known if n in taken)} known not to be")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
