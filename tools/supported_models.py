"""docs/reference/supported-models.md: families of Hugging Face models, each measured on a tiny one.

    python -m tools.supported_models

A random model of each family answers four texts: untouched, with transformers' own eager
attention, and attached, with every attention replaced by itself. The page has the largest
difference of the logits. An answer under uniform attention shows that edits arrive. The rest is
how texts may be padded, half precision, and how far the model's own fast attention is from ours.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from heedful.errors import HeedfulError
from heedful.interventions import uniform
from heedful.models import attach
from heedful.store import markdown_table
from heedful.types import Batch, Edit, SiteCall, Text

PAGE = Path(__file__).parent.parent / "docs/reference/supported-models.md"
PAD, START, END, UNKNOWN, VOCABULARY = 1, 0, 2, 3, 50
CLASSES, CAUSAL, WRITES = "ForSequenceClassification", "ForCausalLM", "ForConditionalGeneration"
LENGTHS, TARGETS = (5, 1, 8, 3), (2, 4, 1, 3)

INTRO = """# Supported models

A fine-tuned checkpoint of a family below can be read and changed, however large. Families that are
not listed may work too.

`python -m tools.supported_models` makes this page, with transformers {version}. It builds a small
random model of each family, two layers deep, and asks it about four texts again and again:

| column | compares the logits of the untouched model with |
|---|---|
| identity error | the attached model, with every attention replaced by itself |
| uniform weights | the attached model, with uniform attention everywhere |
| bfloat16 | the attached model, as in *identity error*, both in bfloat16 |
| sdpa | the attached model, where the untouched one computes its attention by `sdpa` |

All are the largest difference over texts and classes (or words), in float32 except for bfloat16.
An identity error of 0 means equal, bit for bit. If uniform weights had an effect of 0, changes
would not arrive. *sdpa* is a dash for families that have none. A *site* is one attention in one
layer.

*Padding* is the side on which padding leaves a text's answer as it is. Heedful pads on the right
unless only the left is possible.

{count} model classes are measured. {exact} of them have an identity error of 0 in float32, and
{half} in bfloat16.

Our own models are [another page](models.md), and any other torch module needs
[an adapter](../howto/audit-a-torch-module.md).

## How attention is reached

Most families compute their attention by the attention interface of transformers, where edits step
in. The others write it out in a module of their own: DeBERTa, XLNet, Bloom, Falcon and more. There,
Heedful watches for the softmax of the module while it runs. Its weights must be of each token by
each other, give padding exactly 0, and multiply values. Nothing outside of the model is patched.

- **BigBird** and BigBird-Pegasus attend fully from the first short text on, as transformers makes
  them do. Heedful asks a short text first, so longer texts are read with full attention, too.
- **XLNet** reads its last place, so its texts are padded on the left.
- The output projections of **SqueezeBERT**, **XLNet** and **I-BERT** are no linear maps that can be
  seen: `value_norm` is left out.
- **Longformer** and **LED**'s encoder attend within windows. Their weights are shown as a full
  matrix in which everything outside the window is masked. An edit that puts weight there is
  refused. Tokens with global attention, such as a classifier's first, mix other values. Methods
  that need the values, such as `value_norm`, are left out there.
- Half of the heads of **ConvBERT** are a convolution, which is neither shown nor changed. The
  output projection takes both halves, so `value_norm` is left out. On its own the model reads
  padding; attached, it does not. The table compares with texts that are read alone.
- **FSMT** is read without its cache, with which the decoder would see the words to come.
- **Jamba**, **MiniMax** and **Qwen3.5** attend in some layers only. State spaces and linear
  attention in the other layers are neither shown nor changed.
- Mixtures of experts, such as **Mixtral**, have an identity error if texts are padded. Padding goes
  to other experts than in the untouched model, and sums of other sizes round differently.
- In a module of its own, a score of −5,000 or less counts as **masked**."""
HEAD = (
    "model class", "sites", "identity error", "uniform weights", "padding", "bfloat16", "sdpa",
)  # fmt: skip
REFUSED = """## Refused

These attend by blocks, pools or streams, read padding, or embed something other than tokens.
Heedful says so before it measures anything."""
REFUSED_HEAD = ("what Heedful says", "model classes")
KINDS = {
    "encoders": (
        "Encoders",
        "Fine-tuned classifiers and regressors can be audited and explained.",
    ),
    "decoders": (
        "Decoders",
        "Audited with a classifier on top, or as language models: with `--label-words`, or about "
        "an answer (`--answer`, `--generate`).",
    ),
    "both": (
        "Encoder–decoders",
        "Attention is read and changed in encoder, decoder and between. `heedful audit` takes "
        "those that classify, and those that write, about an answer (`--answer`, `--generate`).",
    ),
}


@dataclass(frozen=True)
class Family:
    """The prefix of its classes in transformers, its model type there, and the class's end."""

    kind: str
    name: str
    model_type: str
    ends: str = CLASSES

    @property
    def title(self) -> str:
        return f"`{self.name}{self.ends}`"


FAMILIES = (
    Family("encoders", "Albert", "albert"),
    Family("encoders", "Bert", "bert"),
    Family("encoders", "BigBird", "big_bird"),
    Family("encoders", "Camembert", "camembert"),
    Family("encoders", "Canine", "canine"),
    Family("encoders", "ConvBert", "convbert"),
    Family("encoders", "Data2VecText", "data2vec-text"),
    Family("encoders", "Deberta", "deberta"),
    Family("encoders", "DebertaV2", "deberta-v2"),
    Family("encoders", "DistilBert", "distilbert"),
    Family("encoders", "Electra", "electra"),
    Family("encoders", "Ernie", "ernie"),
    Family("encoders", "Esm", "esm"),
    Family("encoders", "Esmc", "esmc"),
    Family("encoders", "EuroBert", "eurobert"),
    Family("encoders", "Flaubert", "flaubert"),
    Family("encoders", "FNet", "fnet"),
    Family("encoders", "Funnel", "funnel"),
    Family("encoders", "Gte", "gte"),
    Family("encoders", "IBert", "ibert"),
    Family("encoders", "JinaEmbeddingsV3", "jina_embeddings_v3"),
    Family("encoders", "LayoutLM", "layoutlm"),
    Family("encoders", "LayoutLMv3", "layoutlmv3"),
    Family("encoders", "Lilt", "lilt"),
    Family("encoders", "Longformer", "longformer"),
    Family("encoders", "Luke", "luke"),
    Family("encoders", "MarkupLM", "markuplm"),
    Family("encoders", "MegatronBert", "megatron-bert"),
    Family("encoders", "MobileBert", "mobilebert"),
    Family("encoders", "ModernBert", "modernbert"),
    Family("encoders", "MPNet", "mpnet"),
    Family("encoders", "Mra", "mra"),
    Family("encoders", "NomicBert", "nomic_bert"),
    Family("encoders", "Nystromformer", "nystromformer"),
    Family("encoders", "RemBert", "rembert"),
    Family("encoders", "Roberta", "roberta"),
    Family("encoders", "RobertaPreLayerNorm", "roberta-prelayernorm"),
    Family("encoders", "RoCBert", "roc_bert"),
    Family("encoders", "RoFormer", "roformer"),
    Family("encoders", "SqueezeBert", "squeezebert"),
    Family("encoders", "Tapas", "tapas"),
    Family("encoders", "Ultrabert", "ultrabert"),
    Family("encoders", "XLM", "xlm"),
    Family("encoders", "XLMRoberta", "xlm-roberta"),
    Family("encoders", "XLMRobertaXL", "xlm-roberta-xl"),
    Family("encoders", "XLNet", "xlnet"),
    Family("encoders", "Xmod", "xmod"),
    Family("encoders", "Yoso", "yoso"),
    Family("decoders", "Apertus", "apertus", CAUSAL),
    Family("decoders", "Arcee", "arcee"),
    Family("decoders", "BioGpt", "biogpt"),
    Family("decoders", "BitNet", "bitnet", CAUSAL),
    Family("decoders", "Bloom", "bloom"),
    Family("decoders", "Bloom", "bloom", CAUSAL),
    Family("decoders", "CodeGen", "codegen", CAUSAL),
    Family("decoders", "Cohere", "cohere", CAUSAL),
    Family("decoders", "Cohere2", "cohere2", CAUSAL),
    Family("decoders", "CTRL", "ctrl"),
    Family("decoders", "Cwm", "cwm", CAUSAL),
    Family("decoders", "DeepseekV2", "deepseek_v2"),
    Family("decoders", "DeepseekV3", "deepseek_v3"),
    Family("decoders", "DiffLlama", "diffllama"),
    Family("decoders", "Doge", "doge"),
    Family("decoders", "Ernie4_5", "ernie4_5", CAUSAL),
    Family("decoders", "Exaone4", "exaone4"),
    Family("decoders", "Falcon", "falcon"),
    Family("decoders", "Falcon", "falcon", CAUSAL),
    Family("decoders", "FlexOlmo", "flex_olmo", CAUSAL),
    Family("decoders", "Gemma", "gemma"),
    Family("decoders", "Gemma2", "gemma2"),
    Family("decoders", "Gemma3Text", "gemma3_text"),
    Family("decoders", "Glm", "glm"),
    Family("decoders", "Glm4", "glm4"),
    Family("decoders", "GPT2", "gpt2"),
    Family("decoders", "GPT2", "gpt2", "LMHeadModel"),
    Family("decoders", "GPTBigCode", "gpt_bigcode"),
    Family("decoders", "GPTJ", "gptj"),
    Family("decoders", "GPTJ", "gptj", CAUSAL),
    Family("decoders", "GPTNeo", "gpt_neo"),
    Family("decoders", "GPTNeo", "gpt_neo", CAUSAL),
    Family("decoders", "GPTNeoX", "gpt_neox"),
    Family("decoders", "GPTNeoXJapanese", "gpt_neox_japanese", CAUSAL),
    Family("decoders", "GptOss", "gpt_oss"),
    Family("decoders", "Granite", "granite", CAUSAL),
    Family("decoders", "Helium", "helium"),
    Family("decoders", "HunYuanDenseV1", "hunyuan_v1_dense"),
    Family("decoders", "HunYuanMoEV1", "hunyuan_v1_moe"),
    Family("decoders", "Jamba", "jamba"),
    Family("decoders", "JetMoe", "jetmoe"),
    Family("decoders", "Llama", "llama"),
    Family("decoders", "Llama", "llama", CAUSAL),
    Family("decoders", "MiniCPM3", "minicpm3"),
    Family("decoders", "MiniMax", "minimax"),
    Family("decoders", "Ministral", "ministral"),
    Family("decoders", "Ministral3", "ministral3"),
    Family("decoders", "Mistral", "mistral"),
    Family("decoders", "Mixtral", "mixtral"),
    Family("decoders", "ModernBertDecoder", "modernbert-decoder"),
    Family("decoders", "Mpt", "mpt"),
    Family("decoders", "Mpt", "mpt", CAUSAL),
    Family("decoders", "Nemotron", "nemotron"),
    Family("decoders", "Olmo", "olmo"),
    Family("decoders", "Olmo2", "olmo2"),
    Family("decoders", "Olmo2", "olmo2", CAUSAL),
    Family("decoders", "Olmo3", "olmo3"),
    Family("decoders", "OpenAIGPT", "openai-gpt"),
    Family("decoders", "OPT", "opt"),
    Family("decoders", "Persimmon", "persimmon"),
    Family("decoders", "Phi", "phi"),
    Family("decoders", "Phi3", "phi3"),
    Family("decoders", "Phimoe", "phimoe"),
    Family("decoders", "Qwen2", "qwen2"),
    Family("decoders", "Qwen2Moe", "qwen2_moe"),
    Family("decoders", "Qwen3", "qwen3"),
    Family("decoders", "Qwen3_5Text", "qwen3_5_text"),
    Family("decoders", "Qwen3Moe", "qwen3_moe"),
    Family("decoders", "SeedOss", "seed_oss"),
    Family("decoders", "SmolLM3", "smollm3"),
    Family("decoders", "StableLm", "stablelm"),
    Family("decoders", "Starcoder2", "starcoder2"),
    Family("decoders", "XGLM", "xglm", CAUSAL),
    Family("both", "Bart", "bart"),
    Family("both", "Bart", "bart", WRITES),
    Family("both", "BigBirdPegasus", "bigbird_pegasus"),
    Family("both", "BigBirdPegasus", "bigbird_pegasus", WRITES),
    Family("both", "Blenderbot", "blenderbot", WRITES),
    Family("both", "BlenderbotSmall", "blenderbot-small", WRITES),
    Family("both", "FSMT", "fsmt", WRITES),
    Family("both", "LED", "led", WRITES),
    Family("both", "LongT5", "longt5", WRITES),
    Family("both", "M2M100", "m2m_100", WRITES),
    Family("both", "Marian", "marian", "MTModel"),
    Family("both", "MBart", "mbart"),
    Family("both", "MBart", "mbart", WRITES),
    Family("both", "MT5", "mt5"),
    Family("both", "MT5", "mt5", WRITES),
    Family("both", "Mvp", "mvp"),
    Family("both", "Mvp", "mvp", WRITES),
    Family("both", "Pegasus", "pegasus", WRITES),
    Family("both", "PegasusX", "pegasus_x", WRITES),
    Family("both", "PLBart", "plbart"),
    Family("both", "ProphetNet", "prophetnet", WRITES),
    Family("both", "T5", "t5"),
    Family("both", "T5", "t5", WRITES),
    Family("both", "UMT5", "umt5"),
)


@dataclass(frozen=True)
class Measured:
    """Attention sites, how far the logits moved, and where texts may be padded; or why the family
    is refused. `sdpa` is None where the family has none."""

    sites: int = 0
    identity: float = 0.0
    uniform: float = 0.0
    half: float = 0.0
    sdpa: float | None = None
    padding: tuple[str, ...] = ()
    refused: str = ""


def page() -> str:
    """The whole page, of every family."""
    import transformers

    found = [(family, measured(family)) for family in FAMILIES]
    reached = [result for _, result in found if not result.refused]
    counts = {
        "count": len(reached),
        "exact": sum(not result.identity for result in reached),
        "half": sum(not result.half for result in reached),
    }
    parts = [INTRO.format(version=transformers.__version__, **counts)]
    for kind, (title, words) in KINDS.items():
        lines = [row(*each) for each in found if each[0].kind == kind and not each[1].refused]
        parts += [f"## {title}", words, markdown_table(HEAD, lines)]
    return "\n\n".join([*parts, REFUSED, markdown_table(REFUSED_HEAD, _refused(found))]) + "\n"


def _refused(found: Sequence[tuple[Family, Measured]]) -> Iterator[tuple[str, str]]:
    """A line for each reason; its sentence begins with the name of a class."""
    by_reason: dict[str, list[str]] = {}
    for family, result in found:
        if result.refused:
            _, _, reason = result.refused.partition(" ")
            by_reason.setdefault(reason, []).append(family.title)
    for reason, titles in by_reason.items():
        yield f"… {reason}", ", ".join(titles)


def row(family: Family, result: Measured) -> tuple[str, ...]:
    padding = "both" if len(result.padding) == 2 else result.padding[0]
    return (
        family.title,
        str(result.sites),
        _error(result.identity),
        f"{result.uniform:.2g}",
        padding,
        _error(result.half),
        "–" if result.sdpa is None else _error(result.sdpa),
    )


def _error(size: float) -> str:
    return f"{size:.0e}" if size else "0"


def measured(family: Family) -> Measured:
    module, batch = tiny(family), texts(family)
    try:
        with attach(module, {"unk": UNKNOWN}) as model:
            sites = len(model.sites)
    except HeedfulError as refusal:
        return Measured(refused=str(refusal))
    sides = tuple(side for side in ("right", "left") if _takes(module, side))
    left = sides == ("left",)
    expected = _untouched(module, batch, left)
    same, moved = (_attached(module, batch, edit) for edit in (_itself, uniform()))
    fast = None
    if module._supports_sdpa:
        fast = _distance(_untouched(tiny(family, "sdpa"), batch, left), same)
    module.bfloat16()
    half = _distance(_attached(module, batch, _itself), _untouched(module, batch, left))
    identity, effect = _distance(same, expected), _distance(moved, expected)
    return Measured(sites, identity, effect, half, fast, sides)


def _takes(module: Any, side: str) -> bool:
    try:
        with attach(module, {"unk": UNKNOWN}, padding=side):
            return True
    except HeedfulError:
        return False


def _attached(module: Any, batch: Batch, edit: Edit) -> Tensor:
    with attach(module, {"unk": UNKNOWN}) as model, torch.no_grad():
        return model(batch, {site.name: edit for site in model.sites}).logits


def _itself(call: SiteCall) -> Tensor:
    return call.weights.clone()


def _distance(one: Tensor, other: Tensor) -> float:
    return float((one.float() - other.float()).abs().max())


# A tiny model: whichever of these sizes its configuration knows.


SIZES = {
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "dim", "embedding_size"), 16),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers"), 2),
    **dict.fromkeys(("encoder_layers", "decoder_layers", "num_decoder_layers"), 2),
    **dict.fromkeys(("num_encoder_layers", "num_attention_heads", "n_head", "n_heads"), 2),
    **dict.fromkeys(("num_heads", "num_key_value_heads"), 2),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 2),
    **dict.fromkeys(("num_encoder_attention_heads", "num_decoder_attention_heads"), 2),
    **dict.fromkeys(("intermediate_size", "ffn_dim", "d_ff", "n_inner", "hidden_dim"), 32),
    **dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim", "d_inner"), 32),
    **dict.fromkeys(("max_position_embeddings", "n_positions", "max_seq_len"), 64),
    **dict.fromkeys(("d_kv", "head_dim", "d_head"), 8),
    "vocab_size": VOCABULARY,
    "word_embed_proj_dim": 16,
    "num_labels": 2,
}
LATENT = {
    **dict.fromkeys(("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "v_head_dim"), 8),
    **dict.fromkeys(("n_routed_experts", "qk_rope_head_dim"), 4),
    **dict.fromkeys(("n_group", "topk_group", "first_k_dense_replace"), 1),
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 16,
    "head_dim": None,
}
LINEAR = {
    **dict.fromkeys(("linear_num_value_heads", "linear_num_key_heads"), 2),
    **dict.fromkeys(("linear_key_head_dim", "linear_value_head_dim"), 8),
    "layer_types": ["linear_attention", "full_attention"],
}
OWN: dict[str, dict[str, Any]] = {
    "codegen": {"num_attention_heads": None, "n_head": 4, "rotary_dim": 4},
    "deepseek_v2": LATENT,
    "deepseek_v3": LATENT,
    "falcon": {"head_dim": None},
    "fsmt": {"use_cache": False},
    "funnel": {"num_hidden_layers": None, "block_sizes": [1, 1]},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "gptj": {"rotary_dim": 4},
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1, "num_experts": 2},
    "layoutlmv3": {"coordinate_size": 3, "shape_size": 2, "visual_embed": False},
    "led": {"num_hidden_layers": None, "attention_window": 4},
    "lilt": {"hidden_size": 24},
    "longformer": {"attention_window": 4},
    "prophetnet": {"num_hidden_layers": None},
    "qwen3_5_text": LINEAR,
    "xlnet": {"max_position_embeddings": None, "n_positions": None},
    "xmod": {"default_language": "en_XX"},
}
"""What a family has of its own; sizes that it cannot be given are None."""
SPECIAL = {
    **dict.fromkeys(("bos_token_id", "cls_token_id"), START),
    **dict.fromkeys(("eos_token_id", "sep_token_id", "decoder_start_token_id"), END),
    "forced_eos_token_id": None,
    "pad_token_id": PAD,
}


def tiny(family: Family, attention: str = "eager") -> Any:
    """Random, with weights large enough for uneven attention."""
    import transformers

    os.environ["HF_HUB_OFFLINE"] = "1"
    kind = getattr(transformers, f"{family.name}Config")
    known = kind()
    given = {name: value for name, value in SIZES.items() if hasattr(known, name)}
    given |= OWN.get(family.model_type, {})
    given = {name: value for name, value in given.items() if value is not None}
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        config = kind(**{**SPECIAL, **given})
        module = getattr(transformers, family.name + family.ends)._from_config(
            config, attn_implementation=attention
        )
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if parameter.ndim > 1:
                parameter.normal_(0, 0.6 if "embed" in name else 0.4)
    return module.eval()


def texts(family: Family) -> Batch:
    """Four texts of different lengths; for models that write, with the words written so far."""
    sides = {"a": _text(LENGTHS, START)}
    if family.kind == "both" and family.ends != CLASSES:
        sides["target"] = _text(TARGETS, END)
    return Batch(tuple("abcd"), sides, torch.zeros(4, dtype=torch.long))


def _text(lengths: tuple[int, ...], first: int) -> Text:
    generator = torch.Generator().manual_seed(len(lengths) + first)
    width = max(lengths) + 2
    tokens = torch.randint(5, VOCABULARY, (len(lengths), width), generator=generator)
    tokens[:, 0] = first
    ends = torch.tensor(lengths) + 1
    tokens[torch.arange(len(lengths)), ends] = END
    places = torch.arange(width)
    mask = (places > 0) & (places < ends[:, None])
    return Text(tokens, ends + 1, mask)


ALONE = ("convbert",)
"""By themselves these read padding: their own answer to a text is the one that it has alone."""


def _untouched(module: Any, batch: Batch, left: bool) -> Tensor:
    """The module's own logits: of the classes, or of the next word."""
    if module.config.model_type in ALONE and len(batch) > 1:
        rows = [batch.take(torch.tensor([row])) for row in range(len(batch))]
        return torch.cat([_untouched(module, row, left) for row in rows])
    given = dict(_padded("", batch.texts["a"], left))
    target = batch.texts.get("target")
    given |= dict(_padded("decoder_", target)) if target is not None else {}
    with torch.no_grad():
        output = module(**given)
    text = batch.texts["a"] if target is None else target
    last = torch.full_like(text.lengths, -1) if left else text.lengths - 1
    logits: Tensor = output.logits
    return logits if logits.ndim == 2 else logits[torch.arange(len(last)), last]


def _padded(prefix: str, text: Text, left: bool = False) -> Iterator[tuple[str, Tensor]]:
    width = text.tokens.shape[1]
    places = torch.arange(width) - (width - text.lengths[:, None] if left else 0)
    real = (places >= 0) & (places < text.lengths[:, None])
    tokens = text.tokens.gather(1, places.expand_as(text.tokens) % width)
    yield f"{prefix}input_ids", tokens.masked_fill(~real, PAD)
    yield f"{prefix}attention_mask", real.long()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
