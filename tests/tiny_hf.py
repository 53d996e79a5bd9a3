"""Tiny random Hugging Face models, never downloaded, and batches for them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from heedful.models import HuggingFace, attach
from heedful.types import Batch, Text

os.environ["HF_HUB_OFFLINE"] = "1"

VOCABULARY, SIZE, LAYERS, HEADS = 50, 16, 2, 2
PAD, START, END, UNKNOWN, MASK = 1, 0, 2, 3, 4
FILLERS = {"unk": UNKNOWN, "mask": MASK}

_SPECIAL = {
    "vocab_size": VOCABULARY,
    "pad_token_id": PAD,
    "bos_token_id": START,
    "eos_token_id": END,
}
_BERT = {
    **_SPECIAL,
    "hidden_size": SIZE,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": 32,
    "max_position_embeddings": 64,
}
_BOTH = {
    **_SPECIAL,
    "d_model": SIZE,
    "encoder_layers": LAYERS,
    "decoder_layers": LAYERS,
    "encoder_attention_heads": HEADS,
    "decoder_attention_heads": HEADS,
    "encoder_ffn_dim": 32,
    "decoder_ffn_dim": 32,
    "max_position_embeddings": 64,
    "decoder_start_token_id": END,
    "forced_eos_token_id": END,
}
_LIKE_LLAMA = ("Llama", "Mistral", "Qwen2", "Qwen3", "Gemma", "Gemma2", "Gemma3Text", "Phi", "Phi3")
_LIKE_LLAMA += ("Olmo2", "StableLm")
_GROUPED = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 4}
DECODERS = ("GPT2", "GPTNeoX", "OPT", *_LIKE_LLAMA)
"""They classify; each state sees the past only."""
_CONFIGS: dict[str, dict[str, Any]] = {
    "Bert": _BERT,
    "Roberta": {**_BERT, "type_vocab_size": 1},
    "DistilBert": {
        **_SPECIAL,
        "dim": SIZE,
        "n_layers": LAYERS,
        "n_heads": HEADS,
        "hidden_dim": 32,
        "max_position_embeddings": 64,
    },
    "Albert": {**_BERT, "embedding_size": 8},
    "IBert": {**_BERT, "type_vocab_size": 1},
    "DebertaV2": {**_BERT, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
    "SqueezeBert": {**_BERT, "embedding_size": SIZE},
    "FNet": {**_SPECIAL, "hidden_size": SIZE, "num_hidden_layers": LAYERS, "intermediate_size": 32},
    "XLNet": {
        **_SPECIAL,
        "d_model": SIZE,
        "n_layer": LAYERS,
        "n_head": HEADS,
        "d_inner": 32,
    },
    "ModernBert": {
        **_BERT,
        "num_hidden_layers": 3,
        "local_attention": 4,
        "global_attn_every_n_layers": 2,
        "cls_token_id": START,
        "sep_token_id": END,
    },
    "GPT2": {
        **_SPECIAL,
        "n_embd": SIZE,
        "n_layer": LAYERS,
        "n_head": HEADS,
        "n_inner": 32,
        "n_positions": 64,
    },
    **{name: {**_BERT, **_GROUPED} for name in _LIKE_LLAMA},
    "GPTNeoX": _BERT,
    "OPT": {**_BERT, "ffn_dim": 32, "word_embed_proj_dim": SIZE},
    "Longformer": {**_BERT, "attention_window": 4},
    "ConvBert": {**_BERT, "embedding_size": SIZE, "num_attention_heads": 4, "conv_kernel_size": 3},
    "Funnel": {
        **_SPECIAL,
        "d_model": SIZE,
        "block_sizes": [1, 1],
        "n_head": HEADS,
        "d_head": 8,
        "d_inner": 32,
    },
    "Bloom": {**_SPECIAL, "hidden_size": SIZE, "n_layer": LAYERS, "n_head": HEADS},
    "Marian": _BOTH,
    "Bart": _BOTH,
    "T5": {
        **_SPECIAL,
        "d_model": SIZE,
        "d_kv": 8,
        "d_ff": 32,
        "num_layers": LAYERS,
        "num_heads": HEADS,
        "decoder_start_token_id": PAD,
    },
}
_WRITERS = {
    "GPT2": "GPT2LMHeadModel",
    "Bloom": "BloomForCausalLM",
    "Llama": "LlamaForCausalLM",
    "Marian": "MarianMTModel",
    "Bart": "BartForConditionalGeneration",
    "T5": "T5ForConditionalGeneration",
    "Bert": "BertForMaskedLM",
}
_TASKS = {
    "classification": "SequenceClassification",
    "words": "TokenClassification",
    "span": "QuestionAnswering",
    "masked": "MaskedLM",
}


def tiny_hf(
    name: str = "Bert",
    task: str = "classification",
    classes: int = 2,
    double: bool = False,
    seed: int = 0,
    **config: Any,
) -> Any:
    """A random model by the name of its family; `task` is `classification`, `language`, or one of
    `_TASKS`.

    Weights are larger than a fresh model's, so that attention is uneven and outputs differ."""
    import transformers

    torch.manual_seed(seed)
    made = getattr(transformers, f"{name}Config")(
        **{**_CONFIGS[name], "num_labels": classes, **config}
    )
    kind = _WRITERS[name] if task == "language" else f"{name}For{_TASKS[task]}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # transformers' own, at import
        model = getattr(transformers, kind)(made)
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if parameter.ndim > 1:
                parameter.normal_(0, 0.6 if "embed" in key else 0.4)
            else:
                parameter += 0.1 * torch.randn_like(parameter)
    return (model.double() if double else model).eval()


def hf_batch(
    lengths: tuple[int, ...] = (5, 1, 8, 3), seed: int = 0, pad: int = 0, classes: int = 2
) -> Batch:
    """Texts of so many tokens between start and end, every second and third token one word."""
    generator = np.random.default_rng(seed)
    rows = [
        [START, *generator.permutation(np.arange(5, VOCABULARY))[:n].tolist(), END] for n in lengths
    ]
    labels = torch.tensor(generator.integers(0, classes, len(rows)).tolist())
    ids = tuple(f"text-{i}" for i in range(len(rows)))
    return Batch(ids, {"a": text_of(rows, pad)}, labels)


def text_of(rows: list[list[int]], pad: int = 0) -> Text:
    """Rows between start and end as a side; tokens 1 and 2 of a text are one word, and so on."""
    width = max(map(len, rows)) + pad
    tokens = torch.tensor([row + [0] * (width - len(row)) for row in rows])
    lengths = torch.tensor([len(row) for row in rows])
    place = torch.arange(width)
    mask = (place > 0) & (place < lengths[:, None] - 1)
    words = ((place - 1) * 2 // 3).expand(len(rows), width).masked_fill(~mask, -1)
    return Text(tokens, lengths, mask, words)


def with_target(batch: Batch, lengths: tuple[int, ...] = (2, 4, 1, 3), start: int = END) -> Batch:
    """The batch with so many target tokens per text, the first of them the start token."""
    generator = np.random.default_rng(7)
    rows = [[start, *generator.integers(5, VOCABULARY, n - 1).tolist()] for n in lengths]
    return Batch(batch.ids, {**batch.texts, "target": text_of(rows)}, batch.labels)


@contextmanager
def attached_bert(
    classes: int = 2, double: bool = True, lengths: tuple[int, ...] = (5, 1, 8, 3)
) -> Iterator[tuple[HuggingFace, Batch]]:
    """A BERT of 2 layers and 2 heads, ready to be asked, and a batch with words of several
    sub-words."""
    batch = hf_batch(lengths, classes=classes)
    with attach(tiny_hf("Bert", classes=classes, double=double), FILLERS) as model:
        yield model, batch
