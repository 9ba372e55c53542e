"""Published networks for families_test.py: a small one of each family of transformers, and those of timm and
torchvision in their published sizes. Weights are random, so that nothing is downloaded.

`FAMILIES` has a builder for each name, which returns a module and its inputs by name. Networks of transformers are
called with these names, the others by position.
"""
import networks

#: Networks that no exporter of PyTorch can write.
NOT_EXPORTED = {"Mixtral", "DeepseekV2"}
#: Networks for which PyTorch's newer exporter fails; the older one is used.
BY_SCRIPT = {"Longformer", "hiera_tiny_224", "nest_tiny", "twins_svt_small"}

BATCH, SEQUENCE, VOCABULARY = 2, 12, 256
PATCHES = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128,
           "image_size": 64, "patch_size": 16}
LEVELS = {"hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 1, 1]}
HEADS = {"num_attention_heads": [1, 2, 3, 4]}
SHORT = {"max_position_embeddings": 64}
GROUPED = {"num_key_value_heads": 2}
WINDOWED = {"num_key_value_heads": 2, "sliding_window": 8}
LATENT = {"num_key_value_heads": 4, "q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8,
          "v_head_dim": 16, "first_k_dense_replace": 2}
SOUND = {"vocab_size": 32, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
         "intermediate_size": 128, "conv_dim": [32] * 7, "num_conv_pos_embeddings": 16,
         "num_conv_pos_embedding_groups": 4}
BOTH_SIDES = {"vocab_size": VOCABULARY, "d_model": 64, "encoder_layers": 2, "decoder_layers": 2,
              "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 128,
              "decoder_ffn_dim": 128, "use_cache": False}

#: Text encoders: {family: options of its configuration, in addition to those of `text`}.
ENCODERS = {
    "MobileBert": {"embedding_size": 32, "true_hidden_size": 32, "intra_bottleneck_size": 32},
    "Electra": {"embedding_size": 32},
    "Roberta": {"max_position_embeddings": 40},
    "XLMRoberta": {"max_position_embeddings": 40},
    "Deberta": {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], **SHORT},
    "DebertaV2": {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_buckets": 16, **SHORT},
    "MPNet": {},
    "ConvBert": {"embedding_size": 64},
    "SqueezeBert": {"embedding_size": 64},
    "RoFormer": SHORT,
    "ModernBert": {"local_attention": 4, "global_attn_every_n_layers": 2, "pad_token_id": 0, "cls_token_id": 1,
                   "sep_token_id": 2, "bos_token_id": 1, "eos_token_id": 2},
    "Esm": {"position_embedding_type": "rotary", "pad_token_id": 1, "mask_token_id": 4, "token_dropout": True},
    "Ernie": {},
    "MegatronBert": {},
    "BigBird": {"attention_type": "original_full"},
    "Longformer": {"attention_window": [4, 4], **SHORT},
    "RemBert": {"input_embedding_size": 32},
    "IBert": {"quant_mode": False, "max_position_embeddings": 40},
}

#: Text decoders, without a cache. None removes an option.
DECODERS = {
    "Phi": {}, "Phi3": {"pad_token_id": 0, **GROUPED}, "Mistral": WINDOWED, "Olmo2": {}, "StableLm": GROUPED,
    "Gemma": {"head_dim": 16, "num_key_value_heads": 1},
    "Gemma2": {"head_dim": 16, "query_pre_attn_scalar": 16, **WINDOWED},
    "Gemma3": {"config": "Gemma3TextConfig", "head_dim": 16, "query_pre_attn_scalar": 16, **WINDOWED},
    "Qwen3": {"head_dim": 16, **GROUPED},
    "Falcon": {"intermediate_size": None, "alibi": True},
    "OPT": {"ffn_dim": 128, "word_embed_proj_dim": 64, **SHORT},
    "GPTNeoX": {"rotary_pct": 0.5},
    "Mamba": {"num_attention_heads": None, "state_size": 8},
    "Mamba2": {"num_attention_heads": None, "state_size": 8, "num_heads": 8, "head_dim": 16, "n_groups": 1,
               "chunk_size": 8},
    "Rwkv": {"num_attention_heads": None, "attention_hidden_size": 64},
    "Mixtral": {"num_local_experts": 4, **GROUPED},
    "Cohere": GROUPED, "Starcoder2": GROUPED, "Granite": GROUPED, "Persimmon": {}, "BitNet": GROUPED,
    "DeepseekV2": {"n_routed_experts": 4, **LATENT}, "DeepseekV3": LATENT,
    "SmolLM3": {"pad_token_id": 0, **GROUPED},
    "Lfm2": {"layer_types": ["conv", "full_attention"], **GROUPED},
    "RecurrentGemma": {"num_key_value_heads": 1, "block_types": ["recurrent", "attention"],
                       "attention_window_size": 8, "lru_width": 64},
}

#: Other networks of transformers: {model: (configuration, its options, inputs)}. An input is the shape of a float
#: tensor, or ("ids", count) for integers of at least 5.
IDS, IMAGE = {"input_ids": ("ids", SEQUENCE)}, {"pixel_values": (1, 3, 64, 64)}
OTHERS = {
    "FNetModel": ("FNetConfig", {"vocab_size": VOCABULARY, "hidden_size": 64, "num_hidden_layers": 2,
                                 "intermediate_size": 128, **SHORT}, {"input_ids": ("ids", 16)}),
    "XLNetModel": ("XLNetConfig", {"vocab_size": VOCABULARY, "d_model": 64, "n_layer": 2, "n_head": 4, "d_inner": 128},
                   IDS),
    "FunnelBaseModel": ("FunnelConfig", {"vocab_size": VOCABULARY, "d_model": 64, "block_sizes": [1, 1], "n_head": 4,
                                         "d_head": 16, "d_inner": 128}, IDS),
    "BloomForCausalLM": ("BloomConfig", {"vocab_size": VOCABULARY, "hidden_size": 64, "n_layer": 2, "n_head": 4,
                                         "use_cache": False}, IDS),
    "MptForCausalLM": ("MptConfig", {"vocab_size": VOCABULARY, "d_model": 64, "n_layers": 2, "n_heads": 4,
                                     "max_seq_len": 64, "use_cache": False}, IDS),
    "GPTNeoForCausalLM": ("GPTNeoConfig", {"vocab_size": VOCABULARY, "hidden_size": 64, "num_layers": 2,
                                           "attention_types": [[["global", "local"], 1]], "num_heads": 4,
                                           "intermediate_size": 128, "window_size": 4, "use_cache": False, **SHORT},
                          IDS),
    "GPTJForCausalLM": ("GPTJConfig", {"vocab_size": VOCABULARY, "n_embd": 64, "n_layer": 2, "n_head": 4,
                                       "rotary_dim": 8, "n_positions": 64, "use_cache": False}, IDS),
    "BartModel": ("BartConfig", BOTH_SIDES | SHORT, IDS | {"decoder_input_ids": ("ids", 7)}),
    "T5Model": ("T5Config", {"vocab_size": VOCABULARY, "d_model": 64, "num_layers": 2, "num_heads": 4, "d_kv": 16,
                             "d_ff": 128, "feed_forward_proj": "gated-gelu", "use_cache": False},
                IDS | {"decoder_input_ids": ("ids", 7)}),
    "WhisperModel": ("WhisperConfig", BOTH_SIDES | {"num_mel_bins": 16, "max_source_positions": 50,
                                                    "max_target_positions": 32, "pad_token_id": 0,
                                                    "decoder_start_token_id": 1, "bos_token_id": 1, "eos_token_id": 2,
                                                    "suppress_tokens": None, "begin_suppress_tokens": None},
                     {"input_features": (BATCH, 16, 100), "decoder_input_ids": ("ids", 7)}),
    "Wav2Vec2ForCTC": ("Wav2Vec2Config", SOUND, {"input_values": (1, 8000)}),
    "Wav2Vec2ConformerForCTC": ("Wav2Vec2ConformerConfig", SOUND | {"position_embeddings_type": "relative"},
                                {"input_values": (1, 8000)}),
    "WavLMModel": ("WavLMConfig", SOUND, {"input_values": (1, 8000)}),
    "ASTModel": ("ASTConfig", {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
                               "intermediate_size": 128, "max_length": 128, "num_mel_bins": 64},
                 {"input_values": (1, 128, 64)}),
    "SpeechT5HifiGan": ("SpeechT5HifiGanConfig", {"model_in_dim": 20, "upsample_initial_channel": 64},
                        {"spectrogram": (30, 20)}),
    "SiglipVisionModel": ("SiglipVisionConfig", PATCHES, IMAGE),
    "ViTMSNModel": ("ViTMSNConfig", PATCHES, IMAGE),
    "Dinov2Model": ("Dinov2Config", PATCHES | {"image_size": 56, "patch_size": 14}, {"pixel_values": (1, 3, 70, 70)}),
    "YolosForObjectDetection": ("YolosConfig", PATCHES | {"image_size": [64, 64], "num_detection_tokens": 10}, IMAGE),
    "DPTForDepthEstimation": ("DPTConfig", PATCHES | {"num_hidden_layers": 4, "backbone_out_indices": [0, 1, 2, 3],
                                                      "neck_hidden_sizes": [16, 32, 48, 64], "fusion_hidden_size": 32},
                              IMAGE),
    "SegformerForSemanticSegmentation": ("SegformerConfig", LEVELS | HEADS | {"decoder_hidden_size": 64}, IMAGE),
    "GLPNForDepthEstimation": ("GLPNConfig", LEVELS | HEADS | {"decoder_hidden_size": 32}, IMAGE),
    "PvtModel": ("PvtConfig", LEVELS | HEADS | {"image_size": 64}, IMAGE),
    "ConvNextV2Model": ("ConvNextV2Config", LEVELS, IMAGE),
    "Swinv2Model": ("Swinv2Config", {"embed_dim": 24, "depths": [2, 2], "num_heads": [2, 4], "window_size": 4,
                                     "image_size": 64}, IMAGE),
    "Swin2SRForImageSuperResolution": ("Swin2SRConfig", {"embed_dim": 24, "depths": [2, 2], "num_heads": [2, 2],
                                                         "window_size": 4, "image_size": 32, "upscale": 2},
                                       {"pixel_values": (1, 3, 32, 32)}),
    "MobileNetV1Model": ("MobileNetV1Config", {"depth_multiplier": 0.25}, IMAGE),
    "PatchTSTForPrediction": ("PatchTSTConfig", {"num_input_channels": 3, "context_length": 32, "patch_length": 4,
                                                 "patch_stride": 4, "d_model": 32, "num_attention_heads": 4,
                                                 "ffn_dim": 64, "num_hidden_layers": 2, "prediction_length": 8},
                              {"past_values": (2, 32, 3)}),
}

#: Networks of timm; those of the first list use smaller images than published.
SMALLER = 128
TIMM_SMALLER = """cspdarknet53 dla34 dpn68 eca_nfnet_l0 inception_resnet_v2 inception_v4 res2net50_14w_8s resnetv2_50
    tresnet_m xception41"""
TIMM = """bat_resnext26ts beit_base_patch16_224 cait_xxs24_224 coat_lite_tiny coatnet_nano_rw_224 convit_tiny
    convnextv2_atto crossvit_tiny_240 csatv2 cspresnet50 davit_tiny deit3_small_patch16_224 edgenext_x_small
    efficientformer_l1 efficientformerv2_s0 efficientnetv2_rw_t efficientvit_b0 efficientvit_m0 ese_vovnet19b_dw
    eva02_tiny_patch14_224 fastvit_t8 focalnet_tiny_srf gcresnet33ts gernet_s ghostnetv2_100 gmixer_24_224 gmlp_s16_224
    halonet26t hardcorenas_a hgnetv2_b0 hiera_tiny_224 hrnet_w18_small inception_next_atto lambda_resnet26t lcnet_050
    levit_128s mambaout_femto maxvit_nano_rw_256 mobilenetv4_hybrid_medium mobileone_s0 mobilevit_xxs mobilevitv2_050
    mvitv2_tiny nest_tiny nextvit_small pit_ti_224 pvt_v2_b0 regnetz_b16 repghostnet_050 repvit_m0_9 resnest14d
    resnet26t rexnet_100 sebotnet33ts_256 selecsls42b sequencer2d_s shvit_s1 skresnet18 starnet_s1 swiftformer_xs
    swinv2_tiny_window8_256 tiny_vit_5m_224 tnt_s_patch16_224 twins_svt_small visformer_tiny
    vit_relpos_small_patch16_224 vit_small_patch14_dinov2 vit_tiny_patch16_224 vitamin_small_224 volo_d1_224
    xcit_nano_12_p16_224"""

#: Networks of torchvision: {name: (submodule of torchvision.models, shapes of inputs)}.
TORCHVISION = {
    "deeplabv3_mobilenet_v3_large": ("segmentation", [(1, 3, 96, 96)]),
    "lraspp_mobilenet_v3_large": ("segmentation", [(1, 3, 96, 96)]),
    "fcn_resnet50": ("segmentation", [(1, 3, 64, 64)]),
    "r3d_18": ("video", [(1, 3, 8, 32, 32)]),
    "mc3_18": ("video", [(1, 3, 8, 32, 32)]),
    "swin3d_t": ("video", [(1, 3, 8, 64, 64)]),
    "raft_small": ("optical_flow", [(1, 3, 128, 128)] * 2),
    "maxvit_t": ("", [(1, 3, 224, 224)]),
    "efficientnet_v2_s": ("", [(1, 3, 96, 96)]),
    "resnext50_32x4d": ("", [(1, 3, 96, 96)]),
    "swin_v2_t": ("", [(1, 3, 224, 224)]),
}


def given(what):
    import torch
    return torch.randint(5, VOCABULARY, (BATCH, what[1])) if what[0] == "ids" else torch.randn(*what)


def configured(model, config, options):
    import transformers
    options = {name: value for name, value in options.items() if value is not None or name.endswith("tokens")}
    return getattr(transformers, model)(getattr(transformers, config)(**options))


def text(model, config, options):
    base = {"vocab_size": VOCABULARY, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
            "intermediate_size": 128}
    module = configured(model, config, base | options)
    module.config.use_cache = False
    return module


def encoder(family):
    import torch
    ids = given(("ids", SEQUENCE))
    mask = torch.ones_like(ids)
    mask[1, 8:] = 0
    return text(f"{family}Model", f"{family}Config", ENCODERS[family]), {"input_ids": ids, "attention_mask": mask}


def decoder(family):
    options = dict(DECODERS[family])
    config = options.pop("config", f"{family}Config")
    return text(f"{family}ForCausalLM", config, options), {"input_ids": given(("ids", SEQUENCE))}


def other(model):
    config, options, inputs = OTHERS[model]
    return configured(model, config, options), {name: given(what) for name, what in inputs.items()}


def from_timm(name):
    import timm
    module = timm.create_model(name, pretrained=False)
    size = SMALLER if name in TIMM_SMALLER.split() else module.default_cfg["input_size"][-1]
    return module, {"image": given((1, 3, size, size))}


def from_torchvision(name):
    import torchvision
    where, inputs = TORCHVISION[name]
    place = getattr(torchvision.models, where) if where else torchvision.models
    options = {"weights_backbone": None} if where == "segmentation" else {}
    return getattr(place, name)(weights=None, **options), {f"x{i}": given(what) for i, what in enumerate(inputs)}


FAMILIES = {
    **{family: encoder for family in ENCODERS}, **{family: decoder for family in DECODERS},
    **{model: other for model in OTHERS}, **{name: from_timm for name in [*TIMM_SMALLER.split(), *TIMM.split()]},
    **{name: from_torchvision for name in TORCHVISION},
}


def tensors(value):
    """Returns the tensors of a module's output, in order."""
    import torch
    if isinstance(value, torch.Tensor):
        return [value]
    if hasattr(value, "to_tuple"):
        value = value.to_tuple()
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [tensor for part in parts for tensor in tensors(part)]


def export(name, net, path):
    networks.export(net, path, "script" if name in BY_SCRIPT else "dynamo")


def network(name):
    """Returns a Network, whose module takes and returns only tensors."""
    import torch
    torch.manual_seed(1)
    module, inputs = FAMILIES[name](name)
    return flat(module, inputs, FAMILIES[name] not in (from_timm, from_torchvision))


def flat(module, inputs, named=True):
    """A module that takes and gives tensors alone; the inner one is called with inputs by name or by position."""
    import torch

    class Flat(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.module = module

        def forward(self, *values):
            found = self.module(**dict(zip(inputs, values))) if named else self.module(*values)
            return tuple(tensors(found))

    network = Flat().eval()
    with torch.no_grad():
        for parameter in network.parameters():  # so that scales and shifts are not neutral
            if parameter.dim() == 1 or not parameter.any():
                parameter.add_(torch.randn_like(parameter) * 0.05)
        count = len(network(*inputs.values()))
    return networks.Network(network, inputs, [f"y{i}" for i in range(count)])
