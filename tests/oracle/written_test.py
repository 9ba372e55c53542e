#!/usr/bin/env python3
"""Checks files that `tg export` and `tg opt` write: `tg verify` must report that they are equal to their sources, and
optimising a file of `tg opt` again must not change a byte.

    tests/oracle/written_test.py [--tg build/tg] [--jobs N] [--keep FOLDER] [--networks] [NAME...]

The sources are the onnx package's node tests (operands that determine shapes are weights), models of written_forms.py,
and small networks of transformers and torchvision from PyTorch's exporter, if these packages are installed. The files
that `tg opt` writes for these networks are also simplified by onnxsim and by ONNX Runtime, and must still be equal.
With TANGRAM_FULL_TESTS the networks of families.py are added. --families tests only these, --networks only those of
networks.py. NAME selects files whose name contains it. The test fails if a file is not equal, or changes when it is
optimised again; with --networks, changes are only counted.
"""
import argparse
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from export_test import ROOT  # also skips this test if packages are missing
import import_nodes_test as nodes
import networks
import written_forms

import onnx

LIMIT_S = 300
UNDECIDED = 4  # exit code of `tg verify`
AGAIN = "again: "
# How many attention operators an optimised network must have, by name: one for each layer.
LAYERS = {"bert": 2, "bert_masked": 2, "gpt2": 2, "vit": 2, "llama": 2}


def tg(options, *arguments):
    """Returns (exit code, output with errors)."""
    try:
        done = subprocess.run([options.tg, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return 124, f"no end after {LIMIT_S} s"
    return done.returncode, (done.stdout + done.stderr).strip()


def operators(path):
    return [node.op_type for node in onnx.load(path, load_external_data=False).graph.node]


def in_two_files(options, fast, folder):
    """Optimises a result of `tg opt` with weights in a second file, as for more than 2 GB. Returns the fault or ""."""
    apart, again, last = (folder / f"{name}.onnx" for name in ("apart", "again_apart", "last_apart"))
    onnx.save(onnx.load(fast), apart, save_as_external_data=True, location="apart.bin", size_threshold=64)
    for source, made in ((apart, again), (again, last)):
        code, said = optimise(options, source, made)
        if code:
            return f"opt of {source.name}: exit code {code}: {said[:300]}"
    same = [onnx.load(path) for path in (fast, again)]
    for model in same:
        weights = sorted(model.graph.initializer, key=lambda tensor: tensor.name)
        del model.graph.initializer[:]
        model.graph.initializer.extend(weights)
    if same[0] != same[1] or again.read_bytes() != last.read_bytes():
        return f"{AGAIN}with weights in a second file, {operators(fast)} became {operators(again)}"
    return ""


def optimise(options, source, result, shapes=()):
    return tg(options, "opt", source, "-o", result, "--cost", "analytic:cpu", "--time-limit", "10", "--quiet", *shapes)


def check(options, model, folder):
    """Checks the files that are written for the model. Returns the fault, "" without one, None if it is rejected."""
    exported, fast, again = (folder / f"{stem}.onnx" for stem in ("exported", "fast", "again"))
    given = model.with_suffix(".npz")
    shapes = networks.shape_options(model, networks.inputs_of(model)) if given.exists() else []
    code, said = tg(options, "export", model, "-o", exported, "--quiet", *shapes)
    if code == 1:
        return None
    for step, (done, text) in (("export", (code, said)), ("opt", optimise(options, model, fast, shapes)),
                               ("opt of its result", optimise(options, fast, again))):
        if done:
            return f"{step}: exit code {done}: {text[:300]}"
    for a, b in ((model, exported), (model, fast), (fast, again)):
        done, text = tg(options, "verify", a, b)
        if done:
            return f"verify {a.name} {b.name}: {text[:300]}"
    if fast.read_bytes() != again.read_bytes():
        return f"{AGAIN}{operators(fast)} became {operators(again)}"
    return ""


def simplified(options, model, folder):
    """Checks the result of `tg opt` after other optimisers. Returns the fault or ""."""
    fast = folder / "fast.onnx"
    for name, simplify in (("onnxsim", by_onnxsim), ("ONNX Runtime", by_onnx_runtime)):
        path = folder / f"by_{name.split()[0]}.onnx"
        if not simplify(fast, path):
            continue
        for source, fine in ((fast, (0,)), (model, (0, UNDECIDED))):  # equal weights may have been merged
            done, text = tg(options, "verify", source, path)
            if done not in fine:
                return f"{name}: verify {source.name} {path.name}: {text[:300]}"
    return ""


def by_onnxsim(source, path):
    """Simplifies a model with onnxsim. Returns False if the package is missing."""
    try:
        import onnxsim
    except ImportError:
        return False
    onnx.save(onnxsim.simplify(onnx.load(source))[0], path)
    return True


def by_onnx_runtime(source, path):
    """Applies only basic optimisations: others introduce operators of ONNX Runtime."""
    import onnxruntime as ort
    how = ort.SessionOptions()
    how.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    how.optimized_model_filepath, how.log_severity_level = str(path), 3
    ort.InferenceSession(str(source), how, providers=["CPUExecutionProvider"])
    return True


def write_networks(folder):
    """Writes small networks and returns {name: file}, which is empty without the packages."""
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


def prepare_networks(wanted):
    """Returns {name: file} of the networks of networks.py, without those whose packages are missing."""
    files = {}
    for name in filter(wanted, networks.names()):
        try:
            files[name] = networks.prepare(name)
        except networks.Missing:
            pass
    return files


def has_families():
    return all(importlib.util.find_spec(name) for name in ("torch", "torchvision", "transformers", "timm", "onnxscript"))


def check_family(options, name, folder):
    """Like check(), but deletes the large file. A separate process exports, because the exporter leaks memory."""
    model = folder / "m.onnx"
    command = [sys.executable, __file__, "--export", name, str(model)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    if done.returncode:
        return f"not exported: {done.stderr[-300:]}"
    fault = check(options, model, folder)
    if not options.keep:
        for path in folder.iterdir():
            path.unlink()
    return fault


def attention_fault(options, name, model, folder):
    """Returns a fault unless the attention of each layer is one operator of the optimised model."""
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
    parser.add_argument("--networks", action="store_true", help="take large networks instead")
    parser.add_argument("--families", action="store_true", help="take the networks of families.py instead")
    parser.add_argument("--export", nargs=2, metavar=("NAME", "FILE"), help="only write a network of families.py")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    options.as_generated = False
    if options.export:
        import families
        families.export(options.export[0], families.network(options.export[0]), options.export[1])
        return
    wanted = lambda name: not options.names or any(part in name for part in options.names)
    instead = options.networks or options.families
    with tempfile.TemporaryDirectory() as scratch:
        root = options.keep or Path(scratch)
        files = {}
        for case in [] if instead else nodes.collect(options):
            if wanted(case.name):
                (root / case.name).mkdir(parents=True, exist_ok=True)
                files[case.name] = root / case.name / "m.onnx"
                files[case.name].write_bytes(case.model.SerializeToString())
        for folder in ("forms", "networks"):
            (root / folder).mkdir(parents=True, exist_ok=True)
        if instead:
            made, layered, forms = prepare_networks(wanted) if options.networks else {}, {}, {}
        else:
            asked = any(map(wanted, [*LAYERS, "mobilenet", "shufflenet"]))
            layered = write_networks(root / "networks") if asked else {}
            forms = written_forms.write(root / "forms")
            made = forms | layered
        for name, path in made.items():
            if wanted(name):
                (root / name).mkdir(parents=True, exist_ok=True)
                files[name] = path
        if has_families() and (options.families or (os.environ.get("TANGRAM_FULL_TESTS") and not instead)):
            import families
            for name in filter(wanted, families.FAMILIES):
                if name not in families.NOT_EXPORTED:
                    (root / name).mkdir(parents=True, exist_ok=True)
                    files[name] = None

        def run(item):
            name, path = item
            fault = check_family(options, name, root / name) if path is None else check(options, path, root / name)
            if path is None and fault is None:
                return "refused"
            if name in forms:
                fault = "refused" if fault is None else fault or in_two_files(options, root / name / "fast.onnx", root / name)
            if name in layered:
                fault = fault or simplified(options, path, root / name) or attention_fault(options, name, path, root / name)
            return fault

        with ThreadPoolExecutor(options.jobs) as pool:
            faults = dict(zip(files, pool.map(run, files.items())))
    taken = {name: fault for name, fault in faults.items() if fault is not None}
    unequal = [name for name, fault in taken.items() if fault and not fault.startswith(AGAIN)]
    changed = [name for name, fault in taken.items() if fault.startswith(AGAIN)]
    wrong = unequal + ([] if options.networks else changed)  # of --networks these are counted alone
    for name in wrong:
        print(f"[FAIL] {name}: {faults[name]}")
    print(f"{len(taken)} of {len(files)} files read, {len(unequal)} written files that differ from them, "
          f"{len(changed)} changed when optimised again")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
