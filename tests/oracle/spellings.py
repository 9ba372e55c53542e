"""The spellings of networks: one small network of each family, written by each exporter and changed by each simplifier.

`FAMILIES` has a builder for each network, `FORMS` the spellings. `prepare()` writes `FAMILY/FORM.onnx` into the cache
folder, with random weights, and beside the files of a family:

    inputs.npz      the inputs of the network
    modules.json    the composite operators that the modules of the network compute (`Census`)
    FORM.failed     the reason why an exporter or simplifier did not write a form

    tests/oracle/spellings.py [--force] [FAMILY | FORM...]     write the files that are missing
"""
import argparse
import contextlib
import json
import sys
import warnings

import numpy as np
import onnx

import families
import networks

FOLDER = networks.CACHE.parent / "spellings"
WIDTHS = {"vocab_size": 128, "hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4,
          "intermediate_size": 128, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
DECODER = WIDTHS | {"num_key_value_heads": 2, "head_dim": 16, "use_cache": False, "max_position_embeddings": 64}
IMAGES = families.PATCHES | {"num_hidden_layers": 1}
TOKENS = {"input_ids": ("ids", families.SEQUENCE)}
MASKED = TOKENS | {"attention_mask": "mask"}

#: {family: (model, configuration, its options, inputs)}, as families.OTHERS has them; "mask" hides the last places of
#: one sequence.
TRANSFORMERS = {
    "BERT": ("BertModel", "BertConfig", WIDTHS, MASKED | {"token_type_ids": "types"}),
    "ModernBERT": ("ModernBertModel", "ModernBertConfig",
                   WIDTHS | families.ENCODERS["ModernBert"] | {"num_hidden_layers": 2}, MASKED),
    "DeBERTa": ("DebertaV2Model", "DebertaV2Config", WIDTHS | families.ENCODERS["DebertaV2"], MASKED),
    "T5": ("T5Model", "T5Config", families.OTHERS["T5Model"][1] | {"num_layers": 1, "vocab_size": 128},
           families.OTHERS["T5Model"][2]),
    "GPT-2": ("GPT2Model", "GPT2Config", {"vocab_size": 128, "n_embd": 64, "n_layer": 1, "n_head": 4, "n_positions": 64,
                                          "use_cache": False, "bos_token_id": 1, "eos_token_id": 2}, MASKED),
    "Llama": ("LlamaModel", "LlamaConfig", DECODER, MASKED),
    "Qwen 3": ("Qwen3Model", "Qwen3Config", DECODER, MASKED),
    "Gemma 3": ("Gemma3TextModel", "Gemma3TextConfig",
                DECODER | {"num_hidden_layers": 2, "sliding_window": 8, "query_pre_attn_scalar": 16,
                           "layer_types": ["sliding_attention", "full_attention"]}, MASKED),
    "ViT": ("ViTModel", "ViTConfig", IMAGES, families.IMAGE),
    "Swin": ("SwinModel", "SwinConfig", {"embed_dim": 24, "depths": [2], "num_heads": [2], "window_size": 4,
                                         "image_size": 32}, {"pixel_values": (1, 3, 32, 32)}),
    "Whisper": ("WhisperModel", "WhisperConfig",
                families.OTHERS["WhisperModel"][1] | {"encoder_layers": 1, "decoder_layers": 1, "vocab_size": 128},
                families.OTHERS["WhisperModel"][2]),
    "ConvNeXt": ("ConvNextModel", "ConvNextConfig", {"hidden_sizes": [16, 32], "depths": [1, 1], "num_stages": 2},
                 families.IMAGE),
    "SegFormer": ("SegformerModel", "SegformerConfig",
                  {"hidden_sizes": [16, 32], "depths": [1, 1], "num_encoder_blocks": 2, "num_attention_heads": [1, 2],
                   "sr_ratios": [4, 2], "patch_sizes": [7, 3], "strides": [4, 2], "mlp_ratios": [4, 4]},
                  families.IMAGE),
    "Mamba": ("MambaModel", "MambaConfig", {"vocab_size": 128, "hidden_size": 32, "num_hidden_layers": 1,
                                            "state_size": 4, "use_cache": False}, {"input_ids": ("ids", 4)}),
}
#: {family: builder of networks.py}; their attention, if any, is scaled_dot_product_attention.
OTHERS = {"U-Net": "diffusion_unet", "MobileNet": "mobilenet_v3_small"}
FAMILIES = [*TRANSFORMERS, *OTHERS]

#: {form: (exporter, operator set, attention implementation)}.
EXPORTED = {
    "script13-eager": ("script", 13, "eager"),
    "script17-eager": ("script", 17, "eager"),
    "script14-sdpa": ("script", 14, "sdpa"),
    "script17-sdpa": ("script", 17, "sdpa"),
    "dynamo18-eager": ("dynamo", 18, "eager"),
    "dynamo18-sdpa": ("dynamo", 18, "sdpa"),
    "dynamo20-sdpa": ("dynamo", 20, "sdpa"),
    "dynamo21-eager": ("dynamo", 21, "eager"),
    "dynamo23-sdpa": ("dynamo", 23, "sdpa"),
    "dynamo23-eager": ("dynamo", 23, "eager"),
}


def onnxsim(source, target):
    import onnxsim as package
    simplified, fine = package.simplify(onnx.load(source))
    if not fine:
        raise ValueError("onnxsim's own check failed")
    onnx.save(simplified, target)


def onnxslim(source, target):
    import onnxslim as package
    onnx.save(package.slim(onnx.load(source)), target)


def session_optimised(source, target, level="BASIC"):
    """As the session of ONNX Runtime optimises the file."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, f"ORT_ENABLE_{level}")
    options.optimized_model_filepath = str(target)
    onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])


def halves(source, target, kept=()):
    """In f16 with inputs and outputs in f32, and casts around the operators `kept`."""
    from onnxruntime.transformers import float16
    from onnxruntime.transformers.onnx_model import OnnxModel
    model = onnx.shape_inference.infer_shapes(onnx.load(source))
    blocked = [*float16.DEFAULT_OP_BLOCK_LIST, *kept]
    changed = OnnxModel(float16.convert_float_to_float16(model, keep_io_types=True, op_block_list=blocked))
    changed.topological_sort()
    del changed.model.graph.value_info[:]  # the converter leaves types of weights that it has not changed
    changed.save_model_to_file(str(target))


def mixed_halves(source, target):
    halves(source, target, ("Softmax", "LayerNormalization", "ReduceMean", "Pow", "Erf"))


#: {form: (the form that it is made of, program)}.
CHANGED = {
    "script17-eager+onnxsim": ("script17-eager", onnxsim),
    "dynamo18-sdpa+onnxsim": ("dynamo18-sdpa", onnxsim),
    "script17-sdpa+onnxslim": ("script17-sdpa", onnxslim),
    "dynamo18-eager+onnxslim": ("dynamo18-eager", onnxslim),
    "script17-eager+session": ("script17-eager", session_optimised),
    "dynamo18-sdpa+session": ("dynamo18-sdpa", session_optimised),
    "script17-eager+f16": ("script17-eager", halves),
    "script17-sdpa+f16": ("script17-sdpa", halves),
    "dynamo18-sdpa+f16": ("dynamo18-sdpa", halves),
    "dynamo18-eager+casts": ("dynamo18-eager", mixed_halves),
}
FORMS = [*EXPORTED, *CHANGED]


# --- the networks ---------------------------------------------------------------------------------


def given(what):
    import torch
    if what not in ("mask", "types"):
        return families.given(what) % 128 if what[0] == "ids" else families.given(what)
    values = torch.ones(families.BATCH, families.SEQUENCE, dtype=torch.int64)
    values[1, 8:] = 0
    return values


def network(family, attention):
    """The network with an attention implementation. Errors: ValueError if the family does not have it."""
    import torch
    torch.manual_seed(1)
    if family in OTHERS:
        if attention != "sdpa":
            raise ValueError(f"{family} has no eager attention")
        return networks.TORCH_NETWORKS[OTHERS[family]]()
    model, config, options, inputs = TRANSFORMERS[family]
    module = families.configured(model, config, options | {"attn_implementation": attention})
    return families.flat(module, {name: given(what) for name, what in inputs.items()})


# --- the composite operators that the modules compute ---------------------------------------------

#: Without batch norms, which exporters fold into convolutions.
FUNCTIONS = {"scaled_dot_product_attention": "attention", "layer_norm": "layer_norm", "group_norm": "group_norm",
             "rms_norm": "rms_norm", "silu": "silu", "hardswish": "hardswish", "hardsigmoid": "hard_sigmoid"}


def census(net):
    """{composite: how many the network computes}, counted in a run of the modules.

    Functions of PyTorch are counted as they are called. Softmax within a module of attention is an attention. Classes
    of transformers that compute a composite in steps are counted by their names.
    """
    import torch
    from torch.overrides import TorchFunctionMode
    counts, within = {}, []

    def count(name, times=1):
        counts[name] = counts.get(name, 0) + times

    class Census(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            name, kwargs = getattr(function, "__name__", ""), kwargs or {}
            if name in FUNCTIONS:
                count(FUNCTIONS[name])
            elif name == "gelu":
                count("gelu_tanh" if kwargs.get("approximate") == "tanh" else "gelu")
            elif name == "softmax":
                count("attention" if any("Attention" in c for c in within) else "softmax")
            return function(*args, **kwargs)

    hooks = []
    for module in net.module.modules():
        kind = type(module).__name__
        hooks.append(module.register_forward_pre_hook(lambda *_, kind=kind: within.append(kind)))
        hooks.append(module.register_forward_hook(lambda *_: within.pop() and None))
        if kind.endswith("RMSNorm") or kind == "T5LayerNorm":
            hooks.append(module.register_forward_pre_hook(lambda *_: count("rms_norm")))
        if kind == "NewGELUActivation":
            hooks.append(module.register_forward_pre_hook(lambda *_: count("gelu_tanh")))
    with counted_rotary(net, count), torch.no_grad(), Census():
        net.module(*net.inputs.values())
    for hook in hooks:
        hook.remove()
    return counts


@contextlib.contextmanager
def counted_rotary(net, count):
    """Counts two rotations for each call of a model's `apply_rotary_pos_emb`."""
    name = "apply_rotary_pos_emb"
    places = {type(m).__module__ for m in net.module.modules()}
    originals = {p: getattr(sys.modules[p], name) for p in places if hasattr(sys.modules[p], name)}

    def counted(original):
        def call(*args, **kwargs):
            count("rotary", 2)
            return original(*args, **kwargs)
        return call

    for place, original in originals.items():
        setattr(sys.modules[place], name, counted(original))
    try:
        yield
    finally:
        for place, original in originals.items():
            setattr(sys.modules[place], name, original)


# --- the files ------------------------------------------------------------------------------------


def export(net, path, exporter, opset):
    import torch
    common = {"input_names": list(net.inputs), "output_names": net.outputs, "verbose": False, "opset_version": opset}
    more = {"external_data": False} if exporter == "dynamo" else {}
    with torch.no_grad():
        torch.onnx.export(net.module, tuple(net.inputs.values()), str(path), dynamo=exporter == "dynamo", **more,
                          **common)


def write(family, form, path):
    if form in CHANGED:
        source, program = CHANGED[form]
        program(prepare(family, source), path)
    else:
        exporter, opset, attention = EXPORTED[form]
        export(network(family, attention), path, exporter, opset)
    onnx.checker.check_model(str(path))


def describe(family, folder):
    """Writes the inputs and the modules' composites."""
    nets = {}
    for attention in ("sdpa", "eager"):
        with contextlib.suppress(ValueError):
            nets[attention] = network(family, attention)
    net = next(iter(nets.values()))
    np.savez(folder / "inputs.npz", **{name: value.numpy() for name, value in net.inputs.items()})
    (folder / "modules.json").write_text(json.dumps(census(net)))


class NotWritten(Exception):
    """The program that makes a form fails on the family."""


def prepare(family, form):
    """The path of a form of a family, written if it is missing. Errors: NotWritten."""
    folder = FOLDER / family.replace(" ", "-")
    folder.mkdir(parents=True, exist_ok=True)
    path, failed = folder / f"{form}.onnx", folder / f"{form}.failed"
    if failed.exists():
        raise NotWritten(failed.read_text())
    if path.exists():
        return path
    unfinished = folder / f"unfinished-{form}.onnx"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if not (folder / "modules.json").exists():
                describe(family, folder)
            write(family, form, unfinished)
    except Exception as error:  # noqa: BLE001: programs of others fail in all ways
        unfinished.unlink(missing_ok=True)
        failed.write_text(f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0][:200]}")
        raise NotWritten(failed.read_text()) from error
    unfinished.rename(path)
    return path


def modules(family):
    """{composite: how many the modules of a prepared family compute}."""
    return json.loads((FOLDER / family.replace(" ", "-") / "modules.json").read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--force", action="store_true", help="write forms again that could not be written")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    import torch
    torch.set_num_threads(1)
    torch.backends.mha.set_fastpath_enabled(False)
    chosen = [n for n in FAMILIES if n in options.names] or FAMILIES
    forms = [n for n in FORMS if n in options.names] or FORMS
    for family in chosen:
        for form in forms:
            failed = FOLDER / family.replace(" ", "-") / f"{form}.failed"
            if options.force:
                failed.unlink(missing_ok=True)
            try:
                print(f"{family:<12} {form:<24} {prepare(family, form).stat().st_size // 1024} KiB", flush=True)
            except NotWritten as error:
                print(f"{family:<12} {form:<24} not written: {error}", flush=True)


if __name__ == "__main__":
    main()
