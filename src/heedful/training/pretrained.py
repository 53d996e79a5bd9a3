"""A pretrained Hugging Face classifier, opened offline without pickle, and texts encoded for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from heedful.data import SPLITS, Example, RawCorpus
from heedful.errors import HeedfulError
from heedful.hashing import stable_hash
from heedful.models import (
    ModelFolder,
    max_positions,
    opened,
    quiet,
    read_folder,
    token_embeddings,
    tokenizing,
    transformers,
)


@dataclass(frozen=True)
class Pretrained:
    """A classifier whose head may be fresh, its tokenizer, and whether the model tells the
    texts of a pair apart by token types."""

    model: Any
    tokenizer: Any
    segments: bool


def load_pretrained(folder: Path, labels: Sequence[str], seed: int, max_length: int) -> Pretrained:
    """A classifier for these labels. Weights that the folder lacks depend on the seed alone."""
    with opened(_checked(folder)) as place, torch.random.fork_rng(devices=[]):
        torch.manual_seed(stable_hash(seed, "head"))
        tokenizer = place.tokenizer()
        model, _ = place.model(
            transformers().AutoModelForSequenceClassification,
            num_labels=len(labels),
            id2label=dict(enumerate(labels)),
            label2id={label: number for number, label in enumerate(labels)},
            ignore_mismatched_sizes=True,  # the head of another task makes way for a fresh one
            dtype=torch.float32,
        )
    _check(folder, model, tokenizer, max_length)
    model.config.pad_token_id = tokenizer.pad_token_id
    segments = int(getattr(model.config, "type_vocab_size", 0)) > 1
    return Pretrained(model, tokenizer, segments)


def save_classifier(start: Pretrained, folder: Path) -> None:
    """A whole Hugging Face folder: configuration, safetensors, tokenizer."""
    start.model.config.problem_type = "single_label_classification"
    with quiet():
        start.model.save_pretrained(folder)
        start.tokenizer.save_pretrained(folder)


def pretrained_digests(folder: Path) -> dict[str, str]:
    """The digests of the files a model and its tokenizer are read from."""
    return _checked(folder).digests()


def _checked(folder: Path) -> ModelFolder:
    transformers()
    if not folder.is_dir():
        raise HeedfulError(f"there is no folder {folder}: give that of a Hugging Face model.")
    found = read_folder(folder)
    if not found.has_tokenizer:
        raise HeedfulError(f"{folder} has no tokenizer: it needs a tokenizer.json.")
    return found


def _check(folder: Path, model: Any, tokenizer: Any, max_length: int) -> None:
    if not tokenizer.is_fast:
        raise HeedfulError(
            f"{folder} has a slow tokenizer, which does not say where words begin: "
            f"it needs a tokenizer.json."
        )
    if tokenizer.pad_token_id is None:
        raise HeedfulError(
            f"{folder} has no padding token: set tokenizer.pad_token and save the tokenizer again."
        )
    if model.config.is_encoder_decoder:
        raise HeedfulError(f"{folder} is an encoder-decoder: choose an encoder or a decoder alone.")
    rows = token_embeddings(model).weight.shape[0]
    if len(tokenizer) > rows:
        raise HeedfulError(
            f"the tokenizer in {folder} has {len(tokenizer)} tokens, its model {rows}: "
            f"call model.resize_token_embeddings and save it again."
        )
    most = min(max_positions(model.config) or max_length, tokenizer.model_max_length)
    if max_length > most:
        raise HeedfulError(
            f"--max-length is {max_length}, and the model in {folder} reads at most {most} tokens: "
            f"give no more."
        )


Inputs = dict[str, Tensor]


@dataclass(frozen=True)
class Encoded:
    """Examples as token ids. `columns` holds, by the name of a model's input, one tensor per
    example, `padding` the value each column is filled up with; `cut` counts texts that lost
    their end."""

    ids: tuple[str, ...]
    columns: Mapping[str, Sequence[Tensor]]
    padding: Mapping[str, int]
    labels: Tensor
    cut: int = 0

    @property
    def lengths(self) -> np.ndarray:
        return np.array([len(tokens) for tokens in self.columns["input_ids"]])

    def batch(self, index: np.ndarray) -> Inputs:
        """The model's inputs, padded on the right."""
        return {
            name: pad_sequence([column[i] for i in index], True, self.padding[name])
            for name, column in self.columns.items()
        }

    def batches(self, size: int) -> Iterator[tuple[np.ndarray, Inputs]]:
        """Every example once, by length, with its place in the split."""
        order = np.argsort(self.lengths, kind="stable")
        for start in range(0, len(order), size):
            index = order[start : start + size]
            yield index, self.batch(index)

    def subset(self, index: np.ndarray) -> Encoded:
        columns = {name: [column[i] for i in index] for name, column in self.columns.items()}
        ids = tuple(self.ids[i] for i in index)
        return replace(self, ids=ids, columns=columns, labels=self.labels[index])

    def __len__(self) -> int:
        return len(self.ids)


def encode_splits(raw: RawCorpus, start: Pretrained, max_length: int) -> dict[str, Encoded]:
    """Every split, each with examples, and a training split with every class."""
    by_split = {name: [e for e in raw.examples if e.split == name] for name in SPLITS}
    for name, examples in by_split.items():
        if not examples:
            raise HeedfulError(f"the {name} split is empty: bring one, or a larger file.")
    missing = set(range(len(raw.labels))) - {example.label for example in by_split["train"]}
    if missing:
        raise HeedfulError(
            f"the train split lacks class {raw.labels[min(missing)]!r}: bring more texts."
        )
    return {name: encode(examples, start, max_length) for name, examples in by_split.items()}


def encode(examples: Sequence[Example], start: Pretrained, max_length: int) -> Encoded:
    """The texts as they are, punctuation and all: as an audit shows them to the model."""
    sides = [[example.texts[side] for example in examples] for side in sorted(examples[0].texts)]
    with tokenizing(start.tokenizer.name_or_path):
        found = deepcopy(start.tokenizer)(  # a call leaves its limit in a tokenizer
            *sides,
            truncation=True,
            max_length=max_length,
            return_token_type_ids=start.segments,
            return_attention_mask=True,
            return_overflowing_tokens=False,
        )
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if start.segments else [])]
    columns = {name: [torch.tensor(ids, dtype=torch.long) for ids in found[name]] for name in names}
    for example, tokens in zip(examples, columns["input_ids"], strict=True):
        if not len(tokens):
            raise HeedfulError(f"the text of example {example.id!r} has no tokens: leave it out.")
    padding = dict.fromkeys(names, 0) | {"input_ids": start.tokenizer.pad_token_id}
    labels = torch.tensor([example.label for example in examples])
    cut = sum(len(encoding.overflowing) > 0 for encoding in found.encodings)
    return Encoded(tuple(e.id for e in examples), columns, padding, labels, cut)


def data_facts(raw: RawCorpus) -> list[list[Any]]:
    """All that training sees of a corpus, to be hashed."""
    return [
        [e.id, e.split, e.label, *(e.texts[side] for side in sorted(e.texts))] for e in raw.examples
    ]
