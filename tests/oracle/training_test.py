#!/usr/bin/env python3
"""Compares training steps (examples/training) with PyTorch's: ResNet-50 (batch norms with stored statistics), and
BERT-base and an LSTM with a classifier, from the same weights on the same batch, as written and optimised. Compared are
the losses of one and of three steps, the weights after three steps, the whole gradient of one step (norm of the
difference over its norm, within 1e-4), and the gradient of each weight with PyTorch's in f64.

    tests/oracle/training_test.py [--full] [--tg build/tg] [NETWORK...]

Without --full BERT has two narrow layers, batches are small, and ResNet-50 runs only if it is named. Without PyTorch
the test is skipped.
"""
import argparse
import copy
import json
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    import torch
    import torch.nn.functional as F
    import torchvision
    from transformers import BertConfig, BertModel

    from compare_torch import (Case, difference, in_order_of_definition, in_our_layout, randomise, tame, tool,
                               write_weights)
except ImportError as missing:
    print(f"[SKIP] {missing.name} is not installed")
    sys.exit(77)

ROOT = Path(__file__).resolve().parents[2]
TOLERANCE = 1e-4


class Classifier(torch.nn.Module):
    """A network with a linear classifier on the features that `features` computes from its results."""

    def __init__(self, body, features, width, classes):
        super().__init__()
        self.body, self.features, self.classifier = body, features, torch.nn.Linear(width, classes)

    def forward(self, *inputs):
        return self.classifier(self.features(self.body, *inputs))


def settings(**values):
    return [part for name, value in values.items() for part in ("--set", f"{name}={value}")]


def resnet50(full):
    batch = 4 if full else 2
    module = torchvision.models.resnet50(weights=None)
    randomise(module)
    image = torch.randn(batch, 3, 224, 224)
    with torch.no_grad():
        tame(module, image)
    return module, {"image": image}, 1000, settings(N=batch)


def bert_base(full):
    batch, length, words = (4, 128, 30522) if full else (2, 24, 500)
    sizes = {} if full else {"layers": 2, "width": 64, "heads": 4, "vocabulary": words}
    config = BertConfig(attn_implementation="eager") if full else BertConfig(
        attn_implementation="eager", vocab_size=words, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=256)
    bert = BertModel(config)
    inputs = {"ids": torch.randint(0, words, (batch, length)),
              "types": (torch.arange(length) >= length // 2).long().repeat(batch, 1),
              "mask": (torch.arange(length) < length - 5).float().repeat(batch, 1)}
    features = lambda body, ids, types, mask: body(ids, attention_mask=mask, token_type_ids=types).pooler_output
    module = Classifier(bert, features, config.hidden_size, 2)
    randomise(module)
    return module, inputs, 2, settings(N=batch, S=length, **sizes)


def lstm(full):
    batch = 32 if full else 4
    module = Classifier(torch.nn.LSTM(128, 256, num_layers=2), lambda body, x: body(x)[1][0][1], 256, 10)
    return module, {"x": torch.randn(16, batch, 128)}, 10, settings(N=batch)


NETWORKS = {"resnet50": resnet50, "bert_base": bert_base, "lstm": lstm}


def torch_steps(module, inputs, label, rate, steps):
    """Returns the losses of all steps, and the gradients of the first step by name."""
    losses, gradients = [], {}
    for _ in range(steps):
        module.zero_grad()
        loss = F.cross_entropy(module(*inputs.values()), label)
        loss.backward()
        losses.append(loss.item())
        if not gradients:
            gradients = {name: value.grad.clone() for name, value in module.named_parameters()}
        with torch.no_grad():
            for value in module.parameters():
                value -= rate * value.grad
    return losses, gradients


def compare(name, options, optimised):
    torch.manual_seed(1)
    module, inputs, classes, sizes = NETWORKS[name](options.full)
    module.eval()
    label = torch.randint(0, classes, (next(iter(inputs.values())).shape[1 if name == "lstm" else 0],))
    file = ROOT / "examples" / "training" / f"{name}.tg"
    model = ["--model", "step", *sizes]
    case = Case(module, inputs, None, settings=model)
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        weights, given, outputs = (Path(folder, f) for f in ("w.safetensors", "in.npz", "out.npz"))
        with torch.no_grad():
            write_weights(options.tg, file, case, weights)
        ours_of = paths(options.tg, file, module, model)
        before = {n: v.detach().clone() for n, v in module.named_parameters()}
        np.savez(given, label=label.numpy(), **{k: v.numpy() for k, v in inputs.items()})
        search = ["--opt", "--cost", "analytic:cpu"] if optimised else []

        def run(rate, steps):
            tool(options.tg, "run", file, *model, "--set", f"rate={rate}", "--steps", steps, "--weights", weights,
                 "--input", given, "--output", outputs, "--quiet", *search)
            return np.load(outputs)

        rate = 1e-8 if name == "resnet50" else 0.01  # its gradients are large
        exact = torch_steps(copy.deepcopy(module).double(), as_doubles(inputs), label, rate, 1)[1]
        losses, gradients = torch_steps(module, inputs, label, rate, 3)
        stepped, trained = dict(run(1.0, 1)), dict(run(rate, 3))
        worst = max(abs(float(stepped["loss"]) - losses[0]), abs(float(trained["loss"]) - losses[2])) / losses[0]
        if worst > TOLERANCE:
            faults.append(f"losses {float(stepped['loss'])} and {float(trained['loss'])}, PyTorch's {losses}")
        last, apart, length = dict(module.named_parameters()), 0.0, 0.0
        # If a relu or a pool compares nearly equal numbers, a rounding error can move whole elements of gradients. The
        # allowed distance from the gradient in f64 is therefore three times PyTorch's largest, and rounding in w - g.
        allowed = max(TOLERANCE, 3 * max(off(gradients[n].numpy(), exact[n].numpy()) for n in gradients))
        for theirs, path in ours_of.items():
            ours = lambda of, path=path, flipped=is_flipped(module, theirs): of[path].T if flipped else of[path]
            w, gradient = before[theirs].numpy(), gradients[theirs].numpy()
            got = w.astype(np.float64) - ours(stepped)
            apart += float(((got - gradient) ** 2).sum())
            length += float((gradient ** 2).sum())
            rounding = 2 * float(np.spacing(np.abs(w).max())) / float(np.abs(gradient).max())
            far = max(off(got, exact[theirs].numpy()) - rounding,
                      difference(ours(trained), last[theirs].detach().numpy()) - TOLERANCE)
            if far > allowed:
                faults.append(f"{path}: {far:.1e} of its gradient, where {allowed:.1e} may be")
        worst = max(worst, (apart / length) ** 0.5)
        if worst > TOLERANCE:
            faults.append(f"the whole gradient: {(apart / length) ** 0.5:.1e}")
    return worst, faults


def as_doubles(inputs):
    return {name: value.double() if value.is_floating_point() else value for name, value in inputs.items()}


def off(got, wanted):
    return float(np.abs(got - wanted).max() / np.abs(wanted).max())


def is_flipped(module, name):
    owner = module.get_submodule(name.rpartition(".")[0])
    return (isinstance(owner, torch.nn.Linear) and name.endswith("weight")) or ".weight_" in name


def paths(tg, file, module, model):
    """Returns {parameter name: path in the .tg file}, matched by order as in compare_torch.py."""
    known = in_our_layout(module)
    names = [n for n in in_order_of_definition(module) if n in known]
    listed = [w["path"] for w in json.loads(tool(tg, "weights", file, *model, "--json"))["weights"]]
    trained = dict(module.named_parameters())
    return {name: path for name, path in zip(names, listed) if name in trained}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tg", default=str(ROOT / "build" / "tg"))
    parser.add_argument("--full", action="store_true")
    parser.add_argument("networks", nargs="*", metavar="NETWORK")
    options = parser.parse_args()
    failed = 0
    for name in options.networks or (NETWORKS if options.full else ("bert_base", "lstm")):
        for optimised in (False, True):
            worst, faults = compare(name, options, optimised)
            failed += bool(faults)
            print(f"{name:10} {'optimised' if optimised else 'as written':10} {worst:8.1e}  "
                  f"{'DIFFERS' if faults else 'agrees'}", flush=True)
            for fault in faults[:10]:
                print(f"  {fault}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
