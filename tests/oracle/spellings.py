"""The spellings of networks: one small network of each family, written by each exporter and changed by each simplifier.

`FAMILIES` names the networks, `forms(family)` the spellings of one. `prepare()` writes `FAMILY/FORM.onnx` into the
cache folder, with random weights; `export` and `compile`, the graphs that the Python package receives from torch.export
and torch.compile, become `FORM.tg` with `FORM.safetensors`. Beside the files of a family:

    inputs.npz       the inputs of the network, by name
    FORM.npz         the inputs of a `.tg` file, by position; FORM.outputs.npz: PyTorch's outputs
    composites.json  the composite operators that the modules of the network compute (`Census`)
    FORM.failed      the reason why an exporter or simplifier did not write a form

Networks of Keras, Flax and scikit-learn are in other_spellings.py, which needs other packages.

    tests/oracle/spellings.py [--force] [FAMILY | FORM...]     write the files that are missing
"""
import argparse
import contextlib
import functools
import json
import re
import sys
import warnings

import numpy as np
import onnx

import families
import networks
import other_spellings

FOLDER = other_spellings.FOLDER
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
#: Networks with one implementation of attention, or none: their forms differ in other things alone.
SINGLE = {"DeBERTa": "eager", "ConvNeXt": "eager", "Mamba": "eager", **dict.fromkeys(OTHERS), "Super-resolution": None}
FAMILIES = [*TRANSFORMERS, *OTHERS, "Super-resolution", *other_spellings.FAMILIES]

#: EXPORTER OPSET -ATTENTION +CHANGE.
FORMS = """
    script13-eager script17-eager script14-sdpa script17-sdpa
    dynamo18-eager dynamo18-sdpa dynamo20-sdpa dynamo21-eager dynamo23-sdpa dynamo23-eager dynamo24-sdpa
    script17-eager+onnxsim dynamo18-sdpa+onnxsim script17-sdpa+onnxslim dynamo18-eager+onnxslim
    script17-eager+session dynamo18-sdpa+session
    script17-eager+f16 script17-sdpa+f16 dynamo18-sdpa+f16 dynamo18-eager+casts
    export-eager export-sdpa compile-eager compile-sdpa""".split()


def forms(family):
    """The forms of a family, those that differ in the implementation of attention only once if it has one."""
    if family in other_spellings.FAMILIES:
        return other_spellings.forms(family)
    if family not in SINGLE:
        return FORMS
    return list(dict.fromkeys(re.sub("-(eager|sdpa)", "", form) for form in FORMS))


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


CHANGES = {"onnxsim": onnxsim, "onnxslim": onnxslim, "session": session_optimised, "f16": halves, "casts": mixed_halves}


# --- the networks ---------------------------------------------------------------------------------


def given(what):
    import torch
    if what not in ("mask", "types"):
        return families.given(what) % 128 if what[0] == "ids" else families.given(what)
    values = torch.ones(families.BATCH, families.SEQUENCE, dtype=torch.int64)
    values[1, 8:] = 0
    return values


def network(family, attention):
    """The network with an implementation of attention."""
    import torch
    torch.manual_seed(1)
    if family == "Super-resolution":
        return super_resolution()
    if family in OTHERS:
        return networks.TORCH_NETWORKS[OTHERS[family]]()
    model, config, options, inputs = TRANSFORMERS[family]
    module = families.configured(model, config, options | {"attn_implementation": SINGLE.get(family, attention)})
    return families.flat(module, {name: given(what) for name, what in inputs.items()})


def super_resolution():
    """Convolutions of an image of half the size, as ESPCN and its followers have them."""
    import torch
    from torch import nn
    layers = [nn.PixelUnshuffle(2), nn.Conv2d(12, 32, 5, padding=2), nn.Tanh(), nn.Conv2d(32, 32, 3, padding=1),
              nn.BatchNorm2d(32), nn.PReLU(), nn.Conv2d(32, 48, 3, padding=1), nn.PixelShuffle(4)]
    images = torch.randn(4, 3, 32, 32)
    return networks.Network(networks.randomise(nn.Sequential(*layers), images), {"image": images[:1]}, ["enlarged"])


# --- the composite operators that the modules compute ---------------------------------------------

FUNCTIONS = {"scaled_dot_product_attention": "attention", "layer_norm": "layer_norm", "group_norm": "group_norm",
             "rms_norm": "rms_norm", "batch_norm": "batch_norm", "silu": "silu", "hardswish": "hardswish",
             "hardsigmoid": "hard_sigmoid", "pixel_shuffle": "pixel_shuffle", "pixel_unshuffle": "pixel_shuffle"}
#: {method of a model's file: (composite, how many it computes)}.
METHODS = {"apply_rotary_pos_emb": ("rotary", 2), "window_partition": ("window", 1), "window_reverse": ("window", 1)}
#: {end of a module's class: composite}: classes that compute a composite in steps.
CLASSES = {"RMSNorm": "rms_norm", "T5LayerNorm": "rms_norm", "NewGELUActivation": "gelu_tanh",
           "SqueezeExcitation": "squeeze_excite"}


class Census:
    """Counts the composite operators in a run of the modules, from the calls of PyTorch's functions.

    Softmax within a module of attention is an attention; a convolution whose stride is the size of its kernel is an
    embedding of patches; a sum of embeddings adds their results, tables or positions, however many.
    """

    def __init__(self):
        self.counts, self.within = {}, []
        self.embedded = {}  # {id of a tensor: (the tensor, whether it is a sum)}

    def count(self, name, times=1):
        self.counts[name] = self.counts.get(name, 0) + times

    def function(self, name, args, kwargs, result):
        if name in FUNCTIONS:
            self.count(FUNCTIONS[name])
        elif name == "gelu":
            self.count("gelu_tanh" if kwargs.get("approximate") == "tanh" else "gelu")
        elif name == "softmax":
            self.count("attention" if any("Attention" in c for c in self.within) else "softmax")
        elif name == "conv2d":
            stride, kernel = args[3] if len(args) > 3 else kwargs.get("stride", 1), tuple(args[1].shape[2:])
            if max(kernel) > 1 and kernel == (stride if isinstance(stride, tuple) else (stride, stride)):
                self.count("patch_embedding")
        elif name == "embedding":
            self.embedded[id(result)] = result, False
        elif name == "__getitem__" and is_table(args[0]):
            self.embedded[id(result)] = result, False
        elif name in ("add", "__add__", "__iadd__", "add_", "__radd__"):
            self.sum(args, result)

    def sum(self, args, result):
        """A sum of two embeddings is one, as is that of anything and a table of positions."""
        known = [self.embedded.get(id(value)) for value in args[:2]]
        if any(map(is_table, args[:2])) or all(known):
            self.count("embedding_sum", 1 - any(value is not None and value[1] for value in known))
            self.embedded[id(result)] = result, True

    def run(self, net):
        """Returns {composite: how many the network computes}."""
        import torch
        from torch.overrides import TorchFunctionMode
        census = self

        class Mode(TorchFunctionMode):
            def __torch_function__(self, function, types, args=(), kwargs=None):
                result = function(*args, **(kwargs or {}))
                census.function(getattr(function, "__name__", ""), args, kwargs or {}, result)
                return result

        hooks = []
        for module in net.module.modules():
            kind = type(module).__name__
            hooks.append(module.register_forward_pre_hook(lambda *_, kind=kind: self.within.append(kind)))
            hooks.append(module.register_forward_hook(lambda *_: self.within.pop() and None))
            for end, composite in CLASSES.items():
                if kind.endswith(end):
                    hooks.append(module.register_forward_pre_hook(lambda *_, name=composite: self.count(name)))
        with self.counted_methods(net), torch.no_grad(), Mode():
            net.module(*net.inputs.values())
        for hook in hooks:
            hook.remove()
        return self.counts

    @contextlib.contextmanager
    def counted_methods(self, net):
        """Counts the calls of METHODS in the files of the model's classes."""
        places = {type(m).__module__ for m in net.module.modules()}
        originals = {(place, name): getattr(sys.modules[place], name) for place in places for name in METHODS
                     if hasattr(sys.modules[place], name)}

        def counted(original, composite, times):
            def call(*args, **kwargs):
                self.count(composite, times)
                return original(*args, **kwargs)
            return call

        for (place, name), original in originals.items():
            setattr(sys.modules[place], name, counted(original, *METHODS[name]))
        try:
            yield
        finally:
            for (place, name), original in originals.items():
                setattr(sys.modules[place], name, original)


def is_table(value):
    """Returns true for a parameter of embeddings: not for scales and shifts, which have one axis."""
    import torch
    return isinstance(value, torch.nn.Parameter) and sum(size > 1 for size in value.shape) > 1


# --- the files ------------------------------------------------------------------------------------


def to_onnx(net, path, exporter, opset):
    import torch
    common = {"input_names": list(net.inputs), "output_names": net.outputs, "verbose": False, "opset_version": opset}
    more = {"external_data": False} if exporter == "dynamo" else {}
    with torch.no_grad():
        torch.onnx.export(net.module, tuple(net.inputs.values()), str(path), dynamo=exporter == "dynamo", **more,
                          **common)
    onnx.checker.check_model(str(path))


def exported(net, path):
    """As the Python package receives the program of torch.export."""
    import torch
    from tangram.torch.exported import model_of
    with torch.no_grad():
        model_of(torch.export.export(net.module, tuple(net.inputs.values()))).save(path)
    save_arrays(path, net.inputs.values(), net)


def compiled(net, path):
    """As the Python package receives the graph of torch.compile, with the inputs of its first call.
    Errors: ValueError if a part of the graph stays with PyTorch."""
    import tangram.torch
    import torch
    from unittest import mock
    dynamo, models, calls = tangram.torch.dynamo, [], []
    written, call = dynamo.model_of_graph, dynamo.Part.__call__

    def record_model(*arguments):
        result = written(*arguments)
        models.append(result[0])
        return result

    def record_call(part, *arguments):
        calls.append([*part._inputs(arguments)])
        return call(part, *arguments)

    torch._dynamo.reset()
    backend = functools.partial(tangram.torch.backend,
                                options={"cost": "analytic:cpu", "finalists": 0, "search": "none"})
    with mock.patch.object(dynamo, "model_of_graph", record_model), torch.no_grad(), \
         mock.patch.object(dynamo.Part, "__call__", record_call):
        torch.compile(net.module, backend=backend)(*net.inputs.values())
    if len(calls) != 1:
        raise ValueError(f"torch.compile makes {len(calls)} parts")
    models[-1].save(path)
    save_arrays(path, calls[0], net)


def save_arrays(path, inputs, net):
    """Writes the inputs and the outputs of a `.tg` file."""
    import torch
    with torch.no_grad():
        outputs = net.module(*net.inputs.values())
    for suffix, values in ((".npz", inputs), (".outputs.npz", outputs if isinstance(outputs, tuple) else [outputs])):
        np.savez(path.with_suffix(suffix), *[value.numpy() for value in values])


def parts(form):
    """(exporter, operator set, attention implementation, change) of a form."""
    exporter, opset, attention, change = re.fullmatch(r"([a-z]+)(\d*)-?(\w*)\+?(\w*)", form).groups()
    return exporter, int(opset or 0), attention, change


def write(family, form, path):
    exporter, opset, attention, change = parts(form)
    if change:
        CHANGES[change](prepare(family, form.partition("+")[0]), path)
        onnx.checker.check_model(str(path))
    elif exporter in ("export", "compile"):
        {"export": exported, "compile": compiled}[exporter](network(family, attention), path)
    else:
        to_onnx(network(family, attention), path, exporter, opset)


def describe(family, folder):
    """Writes the inputs and the composites of the modules."""
    net = network(family, "sdpa")
    np.savez(folder / "inputs.npz", **{name: value.numpy() for name, value in net.inputs.items()})
    (folder / "composites.json").write_text(json.dumps(Census().run(net)))


class NotWritten(Exception):
    """The program that makes a form fails on the family."""


def prepare(family, form):
    """The path of a form of a family, written if it is missing. Errors: NotWritten."""
    folder = other_spellings.folder_of(family)
    folder.mkdir(parents=True, exist_ok=True)
    name = form + (".tg" if form.startswith(("export", "compile")) else ".onnx")
    path, failed = folder / name, folder / f"{form}.failed"
    if failed.exists():
        raise NotWritten(failed.read_text())
    if family in other_spellings.FAMILIES and not other_spellings.is_installed(family):
        raise NotWritten("its converter is not installed (other_spellings.py --install)")
    if path.exists() and (folder / "composites.json").exists():
        return path
    unfinished = folder / f"unfinished-{name}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if family in other_spellings.FAMILIES:
                other_spellings.write_family(family)
            elif not (folder / "composites.json").exists():
                describe(family, folder)
            if not path.exists():
                write(family, form, unfinished)
    except Exception as error:  # noqa: BLE001: programs of others fail in all ways
        failed.write_text(f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0][:200]}")
        raise NotWritten(failed.read_text()) from error
    finally:
        for part in folder.glob(f"{unfinished.stem}.*"):
            part.unlink() if failed.exists() else part.rename(folder / part.name.removeprefix("unfinished-"))
    return path


def modules(family):
    """{composite: how many the modules of a prepared family compute}."""
    return json.loads((other_spellings.folder_of(family) / "composites.json").read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--force", action="store_true", help="write forms again that could not be written")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    import torch
    torch.set_num_threads(1)
    torch.backends.mha.set_fastpath_enabled(False)
    for family, form in selected(options.names):
        if options.force:
            (other_spellings.folder_of(family) / f"{form}.failed").unlink(missing_ok=True)
        try:
            print(f"{family:<16} {form:<24} {prepare(family, form).stat().st_size // 1024} KiB", flush=True)
        except NotWritten as error:
            print(f"{family:<16} {form:<24} not written: {error}", flush=True)


def selected(names):
    """The (family, form) that the names of families and forms select; without names of a kind, all of that kind."""
    wanted = {form for family in FAMILIES for form in forms(family)}.intersection(names)
    return [(family, form) for family in [n for n in FAMILIES if n in names] or FAMILIES
            for form in forms(family) if form in wanted or not wanted]


if __name__ == "__main__":
    main()
