"""docs/reference/supported-models.md: families of Hugging Face models, each measured on a tiny one.

    python -m tools.supported_models

A random model of each family answers four texts twice: untouched, with transformers' own eager
attention, and attached, with every attention replaced by itself. The page has the largest
difference of the logits. A third answer, under uniform attention, shows that edits arrive.
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
from heedful.types import Batch, Edits, SiteCall, Text

PAGE = Path(__file__).parent.parent / "docs/reference/supported-models.md"
PAD, START, END, UNKNOWN, VOCABULARY = 1, 0, 2, 3, 50
CLASSES, CAUSAL, WRITES = "ForSequenceClassification", "ForCausalLM", "ForConditionalGeneration"
LENGTHS, TARGETS = (5, 1, 8, 3), (2, 4, 1, 3)

INTRO = """# Supported models

Any model that uses the attention interface of transformers can be read and changed: a fine-tuned
checkpoint of a family below, however large. Families that are not listed may work too.

`python -m tools.supported_models` makes this page, with transformers {version}. It builds a small
random model of each family, two layers deep, and asks it about four texts three times:

| column | compares the logits of the untouched model with |
|---|---|
| identity error | the attached model, with every attention replaced by itself |
| effect of uniform weights | the attached model, with uniform attention everywhere |

Both are the largest difference over texts and classes (or words), in float32. An identity error of
0 is the same, bit for bit. An effect of 0 would mean that changes do not arrive. A *site* is one
attention in one layer. Our own models are [another page](models.md), and any other torch module
needs [an adapter](../howto/audit-a-torch-module.md)."""
HEAD = """| model class | sites | identity error | effect of uniform weights |
|---|---|---|---|"""
REFUSED = """## Refused

These compute attention outside the interface, or embed something other than tokens. Heedful says
so before it measures anything."""
REFUSED_HEAD = """| what Heedful says | model classes |
|---|---|"""
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
    Family("encoders", "EuroBert", "eurobert"),
    Family("encoders", "FNet", "fnet"),
    Family("encoders", "Funnel", "funnel"),
    Family("encoders", "Longformer", "longformer"),
    Family("encoders", "MegatronBert", "megatron-bert"),
    Family("encoders", "MobileBert", "mobilebert"),
    Family("encoders", "ModernBert", "modernbert"),
    Family("encoders", "MPNet", "mpnet"),
    Family("encoders", "RemBert", "rembert"),
    Family("encoders", "Roberta", "roberta"),
    Family("encoders", "RoFormer", "roformer"),
    Family("encoders", "SqueezeBert", "squeezebert"),
    Family("encoders", "XLMRoberta", "xlm-roberta"),
    Family("encoders", "XLNet", "xlnet"),
    Family("decoders", "Bloom", "bloom"),
    Family("decoders", "Falcon", "falcon"),
    Family("decoders", "Gemma", "gemma"),
    Family("decoders", "Gemma2", "gemma2"),
    Family("decoders", "GPT2", "gpt2"),
    Family("decoders", "GPT2", "gpt2", "LMHeadModel"),
    Family("decoders", "GPTNeo", "gpt_neo"),
    Family("decoders", "GPTNeoX", "gpt_neox"),
    Family("decoders", "GPTJ", "gptj"),
    Family("decoders", "Llama", "llama"),
    Family("decoders", "Llama", "llama", CAUSAL),
    Family("decoders", "Mistral", "mistral"),
    Family("decoders", "Mixtral", "mixtral"),
    Family("decoders", "Mpt", "mpt"),
    Family("decoders", "Olmo2", "olmo2", CAUSAL),
    Family("decoders", "OPT", "opt"),
    Family("decoders", "Phi", "phi"),
    Family("decoders", "Phi3", "phi3"),
    Family("decoders", "Qwen2", "qwen2"),
    Family("decoders", "Qwen3", "qwen3"),
    Family("decoders", "SmolLM3", "smollm3"),
    Family("decoders", "StableLm", "stablelm"),
    Family("decoders", "Starcoder2", "starcoder2"),
    Family("both", "Bart", "bart"),
    Family("both", "Bart", "bart", WRITES),
    Family("both", "Blenderbot", "blenderbot", WRITES),
    Family("both", "LED", "led", WRITES),
    Family("both", "M2M100", "m2m_100", WRITES),
    Family("both", "Marian", "marian", "MTModel"),
    Family("both", "MBart", "mbart", WRITES),
    Family("both", "MT5", "mt5", WRITES),
    Family("both", "Pegasus", "pegasus", WRITES),
    Family("both", "ProphetNet", "prophetnet", WRITES),
    Family("both", "T5", "t5"),
    Family("both", "T5", "t5", WRITES),
)


@dataclass(frozen=True)
class Measured:
    """Attention sites, and how far the logits moved; or why the family is refused."""

    sites: int = 0
    identity: float = 0.0
    uniform: float = 0.0
    refused: str = ""


def page() -> str:
    """The whole page, of every family."""
    import transformers

    found = [(family, measured(family)) for family in FAMILIES]
    parts = [INTRO.format(version=transformers.__version__)]
    for kind, (title, words) in KINDS.items():
        lines = [row(*each) for each in found if each[0].kind == kind and not each[1].refused]
        parts += [f"## {title}", words, "\n".join([HEAD, *lines])]
    return "\n\n".join([*parts, REFUSED, "\n".join([REFUSED_HEAD, *_refused(found)])]) + "\n"


def _refused(found: Sequence[tuple[Family, Measured]]) -> Iterator[str]:
    """A line for each reason; its sentence begins with the name of a class."""
    by_reason: dict[str, list[str]] = {}
    for family, result in found:
        if result.refused:
            _, _, reason = result.refused.partition(" ")
            by_reason.setdefault(reason, []).append(family.title)
    for reason, titles in by_reason.items():
        yield f"| … {reason} | {', '.join(titles)} |"


def row(family: Family, result: Measured) -> str:
    same = f"{result.identity:.0e}" if result.identity else "0"
    return f"| {family.title} | {result.sites} | {same} | {result.uniform:.2g} |"


def measured(family: Family) -> Measured:
    module, batch = tiny(family), texts(family)
    expected = _untouched(module, batch)
    try:
        with attach(module, {"unk": UNKNOWN}) as model, torch.no_grad():
            names = [site.name for site in model.sites]
            same: Edits = dict.fromkeys(names, _itself)
            even: Edits = {name: uniform() for name in names}
            logits, moved = (model(batch, edits).logits for edits in (same, even))
    except HeedfulError as refusal:
        return Measured(refused=str(refusal))
    return Measured(len(names), _distance(logits, expected), _distance(moved, expected))


def _itself(call: SiteCall) -> Tensor:
    return call.weights.clone()


def _distance(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max())


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
OWN: dict[str, dict[str, Any]] = {
    "falcon": {"head_dim": None},
    "funnel": {"num_hidden_layers": None, "block_sizes": [1, 1]},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "gptj": {"rotary_dim": 4},
    "prophetnet": {"num_hidden_layers": None},
    "xlnet": {"max_position_embeddings": None, "n_positions": None},
}
"""What a family has of its own; sizes that it cannot be given are None."""
SPECIAL = {
    **dict.fromkeys(("bos_token_id", "cls_token_id"), START),
    **dict.fromkeys(("eos_token_id", "sep_token_id", "decoder_start_token_id"), END),
    "forced_eos_token_id": None,
    "pad_token_id": PAD,
}


def tiny(family: Family) -> Any:
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
            config, attn_implementation="eager"
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


def _untouched(module: Any, batch: Batch) -> Tensor:
    """The module's own logits: of the classes, or of the next word."""
    given = dict(_padded("", batch.texts["a"]))
    target = batch.texts.get("target")
    given |= dict(_padded("decoder_", target)) if target is not None else {}
    with torch.no_grad():
        output = module(**given)
    last = (batch.texts["a"] if target is None else target).lengths - 1
    logits: Tensor = output.logits
    return logits if logits.ndim == 2 else logits[torch.arange(len(last)), last]


def _padded(prefix: str, text: Text) -> Iterator[tuple[str, Tensor]]:
    real = torch.arange(text.tokens.shape[1]) < text.lengths[:, None]
    yield f"{prefix}input_ids", text.tokens.masked_fill(~real, PAD)
    yield f"{prefix}attention_mask", real.long()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
