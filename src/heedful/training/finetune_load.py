"""Open a folder with a pretrained Hugging Face model, offline and without pickle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from heedful.errors import HeedfulError
from heedful.models import (
    ModelFolder,
    opened,
    places,
    quiet,
    read_folder,
    token_embeddings,
    transformers,
)
from heedful.randomness import stable_hash


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
    most = min(places(model.config) or max_length, tokenizer.model_max_length)
    if max_length > most:
        raise HeedfulError(
            f"--max-length is {max_length}, and the model in {folder} reads at most {most} tokens: "
            f"give no more."
        )
