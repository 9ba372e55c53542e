#!/usr/bin/env python3
"""Compares the complete networks of examples/ with PyTorch's.

    tests/oracle/compare_torch.py [--tg build/tg] [--opt] [--tolerance 1e-4] [NETWORK...]

For each network, the module of torchvision, transformers or torch.nn runs with random weights (including batch norm
statistics) on a random input. Its weights are written as safetensors with the paths of the .tg file, and `tg run
--weights` runs on the same input. For every output, max |a - b| / max |b| must be within the tolerance; for
probabilities also that of their logarithms. With --opt the .tg network is optimised first, and written and read again
with `tg opt --weights-out`.

Weights are matched by order: of definition in the module, and of the text in the .tg file. A network for which these
differ has an `order` below. The shapes of each pair must be equal, and a wrong pair gives wrong outputs.

Requires `pip install torch torchvision transformers safetensors numpy`. It is not part of `./dev test`.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file

ROOT = Path(__file__).resolve().parents[2]


class Case:
    """A network: its module, its inputs by their names in the .tg file, and a function that computes its outputs."""

    def __init__(self, module, inputs, run, order=None, settings=()):
        self.module, self.inputs, self.run = module.eval(), inputs, run
        self.order = order or (lambda names: names)
        self.settings = list(settings)


# --- weights ------------------------------------------------------------------------------------


def randomise(module):
    """Sets statistics and scales that are not neutral, so that a missing one is detected."""
    with torch.no_grad():
        for part in module.modules():
            if isinstance(part, torch.nn.BatchNorm2d):
                part.running_mean.normal_(0, 0.1)
                part.running_var.uniform_(0.5, 1.5)
        for name, value in module.named_parameters():
            if value.dim() == 1 and name.endswith("weight"):
                value.uniform_(0.5, 1.5)
            elif value.dim() == 1:
                value.normal_(0, 0.1)


def in_our_layout(module):
    """Returns {name: array}. Matrices that torch stores transposed are transposed back."""
    flipped = set()
    for name, part in module.named_modules():
        if isinstance(part, torch.nn.Linear):
            flipped.add(f"{name}.weight" if name else "weight")
    arrays = {}
    for name, value in [*module.named_parameters(), *module.named_buffers()]:
        if name.endswith(("num_batches_tracked", "inv_freq", "position_ids", ".attn.bias",
                          ".attn.masked_bias", "token_type_ids")):
            continue
        last = name.rsplit(".", 1)[-1]
        transpose = name in flipped or last == "in_proj_weight" or last.startswith("weight_")
        arrays[name] = (value.T if transpose else value).detach().contiguous().numpy()
    return arrays


def in_order_of_definition(module):
    """Returns the names of parameters and buffers, module by module, so that the four of a batch norm are adjacent."""
    seen, names = set(), []
    for prefix, part in module.named_modules():
        own = [*part.named_parameters(recurse=False), *part.named_buffers(recurse=False)]
        for name, value in own:
            if id(value) in seen:
                continue  # tied
            seen.add(id(value))
            names.append(f"{prefix}.{name}" if prefix else name)
    return names


def write_weights(tg, file, case, path):
    arrays = in_our_layout(case.module)
    names = case.order([n for n in in_order_of_definition(case.module) if n in arrays])
    listed = json.loads(tool(tg, "weights", file, *case.settings, "--json"))["weights"]
    if len(names) != len(listed):
        raise SystemExit(f"{file.name}: {len(listed)} weights here, {len(names)} in torch")
    tensors = {}
    for name, ours in zip(names, listed):
        if list(arrays[name].shape) != ours["shape"]:
            raise SystemExit(f"{file.name}: {ours['path']} is {ours['shape']}, "
                             f"torch's {name} is {list(arrays[name].shape)}")
        tensors[ours["path"]] = arrays[name]
    save_file(tensors, path)


# --- networks -----------------------------------------------------------------------------------


def tame(module, image):
    """Scales the classifier so that logits are of magnitude 1 and no probability is 0."""
    last = [part for part in module.modules() if isinstance(part, (torch.nn.Linear, torch.nn.Conv2d))][-1]
    scale = module.eval()(image).std()
    last.weight /= scale
    last.bias /= scale


def image_case(build, size=224, order=None):
    module = build()
    randomise(module)
    image = torch.randn(1, 3, size, size)
    with torch.no_grad():
        tame(module, image)
    run = lambda: {"probabilities": torch.softmax(module(image), -1)}
    return Case(module, {"image": image}, run, order)


def vision(name, size=224, order=None, **options):
    def build():
        import torchvision
        return getattr(torchvision.models, name)(weights=None, **options)
    return lambda: image_case(build, size, order)


def class_token_later(names):
    """Moves the class token behind the patches, as in the .tg file."""
    rest = [n for n in names if n != "class_token"]
    at = rest.index("conv_proj.bias") + 1
    position = [n for n in rest if n.endswith("pos_embedding")]
    rest = [n for n in rest if n not in position]
    return rest[:at] + ["class_token"] + position + rest[at:]


def bert():
    from transformers import BertConfig, BertModel
    module = BertModel(BertConfig(attn_implementation="eager"))
    randomise(module)
    ids = torch.randint(0, 30522, (1, 128))
    types = (torch.arange(128) >= 60).long()[None]
    mask = (torch.arange(128) < 100).float()[None]
    def run():
        out = module(ids, attention_mask=mask, token_type_ids=types)
        return {"tokens": out.last_hidden_state, "pooled": out.pooler_output}
    return Case(module, {"ids": ids, "types": types, "mask": mask}, run)


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel
    module = GPT2LMHeadModel(GPT2Config(attn_implementation="eager"))
    randomise(module)
    ids = torch.randint(0, 50257, (1, 64))
    return Case(module, {"ids": ids}, lambda: {"logits": module(ids).logits})


def llama(width=4096, heads=32, kv_heads=8, hidden=14336, length=32):
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaDecoderLayer, LlamaRotaryEmbedding
    config = LlamaConfig(hidden_size=width, num_attention_heads=heads, intermediate_size=hidden,
                         num_key_value_heads=kv_heads, rope_theta=500000.0, rms_norm_eps=1e-5,
                         attn_implementation="eager")
    module = LlamaDecoderLayer(config, 0)
    randomise(module)
    x = torch.randn(1, length, width)
    places = torch.arange(length)[None]
    turn = LlamaRotaryEmbedding(config=config)(x, places)
    mask = torch.full((length, length), torch.finfo(torch.float32).min).triu(1)[None, None]
    def run():
        return {"y": module(x, attention_mask=mask, position_ids=places,
                            position_embeddings=turn)[0]}
    def order(names):
        norms = [n for n in names if "layernorm" in n]
        attention = [n for n in names if "self_attn" in n]
        return [norms[0], *attention, norms[1], *(n for n in names if "mlp" in n)]
    return Case(module, {"x": x}, run, order)


def lstm():
    module = torch.nn.LSTM(128, 256, num_layers=2)
    x = torch.randn(16, 1, 128)
    def run():
        sequence, (h, c) = module(x)
        return {"sequence": sequence, "h": h, "c": c}
    return Case(module, {"x": x}, run)


NETWORKS = {
    "resnet50": vision("resnet50"),
    "mobilenetv2": vision("mobilenet_v2"),
    "squeezenet": vision("squeezenet1_1"),
    "inceptionv3": vision("inception_v3", 299, aux_logits=False, init_weights=False),
    "vit_base": vision("vit_b_16", order=class_token_later),
    "bert_base": bert,
    "gpt2": gpt2,
    "llama_block": llama,
    "lstm": lstm,
}


# --- comparison ---------------------------------------------------------------------------------


def tool(tg, *arguments):
    done = subprocess.run([tg, *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        why = next(iter(done.stderr.splitlines()), f"exit {done.returncode}")
        raise SystemExit(f"tg {arguments[0]}: {why}")
    return done.stdout


def difference(ours, theirs):
    if ours.shape != theirs.shape or not np.isfinite(ours).all():
        return float("inf")
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


def compare(name, options):
    torch.manual_seed(1)
    case = NETWORKS[name]()
    file = ROOT / "examples" / f"{name}.tg"
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        weights, inputs, outputs = (Path(folder, f) for f in ("w.safetensors", "in.npz", "out.npz"))
        expected = {k: v.numpy() for k, v in case.run().items()}
        write_weights(options.tg, file, case, weights)
        np.savez(inputs, **{k: v.numpy() for k, v in case.inputs.items()})
        source = file
        if options.opt:
            source, folded = Path(folder, "fast.tg"), Path(folder, "fast.safetensors")
            tool(options.tg, "opt", file, *case.settings, "--weights", weights, "-o", source,
                 "--weights-out", folded, "--quiet")
            weights, case.settings = folded, []
        tool(options.tg, "run", source, *case.settings, "--backend", options.backend, "--runs", 1,
             "--weights", weights, "--input", inputs, "--output", outputs, "--quiet")
        got = np.load(outputs)
        worst = 0.0
        for output, theirs in expected.items():
            worst = max(worst, difference(got[output], theirs))
            if output == "probabilities":
                worst = max(worst, difference(np.log(got[output]), np.log(theirs)))
    return worst


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tg", default=str(ROOT / "build" / "tg"))
    parser.add_argument("--opt", action="store_true")
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("networks", nargs="*", metavar="NETWORK")
    options = parser.parse_args()
    unknown = [n for n in options.networks if n not in NETWORKS]
    if unknown:
        parser.error(f"no network {unknown[0]}; there are {', '.join(NETWORKS)}")
    failed = 0
    for name in options.networks or NETWORKS:
        worst = compare(name, options)
        agrees = worst <= options.tolerance
        failed += not agrees
        print(f"{name:14} {worst:9.1e}  {'agrees' if agrees else 'DIFFERS'}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
