"""Made-up texts and models for times alone: random words, pretrained sizes, no download."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from heedful.data import CORPORA, Example, Side, Split
from heedful.models import transformers
from heedful.specs import END, START

RESERVED = 4
SENTENCE = 18  # words


@dataclass(frozen=True)
class Shape:
    """Of a corpus: `length` and `second` are the mean tokens of its two sides, lengths are
    spread evenly from half of that to half as much again."""

    kind: str = "single"
    length: int = 19
    second: int = 0
    vocabulary: int = 14_000
    dimension: int = 300
    classes: int = 2
    marks: tuple[str, ...] = ()  # rationales, impermissible, alignment


@dataclass(frozen=True)
class Made:
    """What training and probes ask of a corpus."""

    shape: Shape
    splits: Mapping[str, Split]

    @property
    def task(self) -> str:
        return "generation" if self.shape.kind == "generation" else "classification"

    @property
    def classes(self) -> int:
        shape = self.shape
        return shape.vocabulary if shape.kind == "generation" else shape.classes

    @property
    def words(self) -> list[str]:
        return [f"w{number}" for number in range(self.shape.vocabulary)]

    @cached_property
    def vectors(self) -> Tensor:
        generator = torch.Generator().manual_seed(0)
        return torch.randn(self.shape.vocabulary, self.shape.dimension, generator=generator) * 0.1

    def split(self, name: str) -> Split:
        return self.splits[name]


def made(shape: Shape, sizes: Mapping[str, int]) -> Made:
    """So many texts of each split."""
    return Made(shape, {name: _split(shape, name, size) for name, size in sizes.items()})


def _split(shape: Shape, name: str, size: int) -> Split:
    draw = np.random.default_rng([len(name), size, shape.length])
    sides = {"a": _side(draw, shape.length, size, shape)}
    if shape.kind != "single":
        sides["b"] = _side(draw, shape.second or shape.length, size, shape)
    labels = torch.arange(size) % max(2, shape.classes)
    ids = tuple(f"{name}-{number}" for number in range(size))
    if shape.kind != "generation":
        return Split(ids, labels, sides)
    pairs = zip(sides["a"].tokens, sides["b"].tokens, strict=True)
    aligned: list[NDArray[np.int32] | None] = [_links(a, b) for a, b in pairs]
    given = aligned if "alignment" in shape.marks else None
    return Split(ids, torch.zeros(size, dtype=torch.long), sides, alignments=given)


def _links(a: NDArray[np.int32], b: NDArray[np.int32]) -> NDArray[np.int32]:
    both = np.arange(min(len(a), len(b)) - 2, dtype=np.int32)
    return np.stack([both, both], -1)


def _side(draw: np.random.Generator, length: int, size: int, shape: Shape) -> Side:
    low, high = max(2, length // 2), max(3, length + length // 2)
    lengths = draw.integers(low, high + 1, size)
    rows = [draw.integers(RESERVED, shape.vocabulary, n, dtype=np.int32) for n in lengths]
    tokens = [np.array([START, *row, END], dtype=np.int32) for row in rows]
    words = [[f"w{number}" for number in row] for row in rows]
    ends = [np.cumsum([len(word) + 1 for word in some], dtype=np.int32) - 1 for some in words]
    starts = [end - [len(word) for word in some] for end, some in zip(ends, words, strict=True)]
    forbidden: list[NDArray[np.bool_] | None] = [draw.random(n) < 0.1 for n in lengths]
    marked: list[NDArray[np.bool_] | None] = [draw.random(n) < 0.1 for n in lengths]
    return Side(
        tokens,
        [" ".join(some) for some in words],
        [start.astype(np.int32) for start in starts],
        ends,
        marked if "rationales" in shape.marks else [None] * size,
        [np.arange(n, dtype=np.int32) // SENTENCE for n in lengths],
        impermissible=forbidden if "impermissible" in shape.marks else None,
    )


# Pretrained-size models without a download: random weights, or a few steps of training.
#
# Both read generated reviews, whose decisive words are known, through a tokenizer of whole words.


SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PAD, UNKNOWN, CLS, SEP, MASK = range(5)
LABEL_WORDS = {"negative": "bad", "positive": "good"}


@dataclass(frozen=True)
class ModelSize:
    """Of a model; the vocabulary counts for memory and for what a decoder writes."""

    name: str
    layers: int
    width: int
    heads: int
    inner: int
    vocabulary: int
    steps: int = 0


ENCODER = ModelSize("BERT 6×384 (as MiniLM)", 6, 384, 12, 1536, 30_522, steps=300)
DECODER = ModelSize("Llama 30×576 (as SmolLM2-135M)", 30, 576, 9, 1536, 49_152)
TINY_ENCODER = ModelSize("BERT 2×16", 2, 16, 2, 32, 2000, steps=3)
TINY_DECODER = ModelSize("Llama 2×18", 2, 18, 9, 32, 2000)


def reviews(count: int, length: int = 19, split: str = "test") -> list[dict[str, Any]]:
    """Texts of about so many tokens, with labels."""
    sizes: dict[str, Any] = {"n_train": 1, "n_dev": 0, "n_test": 0, f"n_{split}": count}
    low, high = max(6, length // 2), max(6, length + length // 2)
    raw = CORPORA["planted"].make(None, min_length=low, max_length=high, **sizes)
    return [_record(each, raw.labels) for each in raw.examples if each.split == split]


def encoder(size: ModelSize, device: str) -> tuple[Any, Any, float]:
    """A classifier trained on such reviews, its tokenizer, and its accuracy on others."""
    library = transformers()
    torch.manual_seed(0)
    config = library.BertConfig(
        **_shape(size),
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        id2label=dict(enumerate(LABEL_WORDS)),
        label2id={name: number for number, name in enumerate(LABEL_WORDS)},
    )
    module = library.BertForSequenceClassification(config).to(device)
    tokenizer = words_tokenizer()
    return module, tokenizer, _trained(module, tokenizer, size.steps)


def decoder(size: ModelSize, device: str) -> tuple[Any, Any]:
    """A language model that has learned nothing, and its tokenizer."""
    library = transformers()
    torch.manual_seed(0)
    config = library.LlamaConfig(
        **_shape(size),
        num_key_value_heads=size.heads // 3,
        tie_word_embeddings=True,
        initializer_range=0.05,
        bos_token_id=CLS,
        eos_token_id=SEP,
    )
    return library.LlamaForCausalLM(config).to(device).eval(), words_tokenizer()


def _shape(size: ModelSize) -> dict[str, int]:
    """What a BERT's configuration and a Llama's have in common."""
    return {
        "vocab_size": size.vocabulary,
        "hidden_size": size.width,
        "num_hidden_layers": size.layers,
        "num_attention_heads": size.heads,
        "intermediate_size": size.inner,
        "pad_token_id": PAD,
    }


def words_tokenizer() -> Any:
    """Lower-cased words and marks, each a token of its own."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    split = pre_tokenizers.BertPreTokenizer()
    seen = (split.pre_tokenize_str(each["text"].lower()) for each in reviews(2000, split="train"))
    words = dict.fromkeys([*LABEL_WORDS.values(), *(word for some in seen for word, _ in some)])
    known = {word: number for number, word in enumerate([*SPECIALS, *words])}
    raw = Tokenizer(models.WordLevel(known, unk_token="[UNK]"))
    raw.normalizer, raw.pre_tokenizer = normalizers.Lowercase(), split
    raw.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", CLS), ("[SEP]", SEP)]
    )
    roles = dict(zip(("pad", "unk", "cls", "sep", "mask"), SPECIALS, strict=True))
    named = {f"{role}_token": token for role, token in roles.items()}
    inputs = ["input_ids", "attention_mask"]
    return transformers().PreTrainedTokenizerFast(
        tokenizer_object=raw, model_input_names=inputs, **named
    )


def _trained(module: Any, tokenizer: Any, steps: int) -> float:
    texts = reviews(2000, split="train")
    optimizer = torch.optim.AdamW(module.parameters(), lr=2e-4)
    draw = random.Random(0)
    module.train()
    for _ in range(steps):
        some = draw.sample(texts, min(64, len(texts)))
        loss = module(**_inputs(tokenizer, some, module.device)).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimizer.step()
    return _accuracy(module.eval(), tokenizer, reviews(256))


@torch.no_grad()
def _accuracy(module: Any, tokenizer: Any, texts: list[dict[str, Any]]) -> float:
    given = _inputs(tokenizer, texts, module.device)
    return float((module(**given).logits.argmax(-1) == given["labels"]).float().mean())


def _inputs(tokenizer: Any, texts: list[dict[str, Any]], device: Any) -> dict[str, Any]:
    found = tokenizer([each["text"] for each in texts], padding=True, return_tensors="pt")
    labels = torch.tensor([list(LABEL_WORDS).index(each["label"]) for each in texts])
    return {**found.to(device), "labels": labels.to(device)}


def _record(each: Example, labels: tuple[str, ...]) -> dict[str, Any]:
    return {"id": each.id, "text": each.texts["a"], "label": labels[each.label]}
