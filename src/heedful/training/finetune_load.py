"""Open a folder with a pretrained Hugging Face model, offline and without pickle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from heedful.errors import HeedfulError
from heedful.models.hf.places import places
from heedful.randomness import stable_hash
from heedful.store.keys import file_digest
from heedful.training.finetune_quiet import quiet

# transformers makes an empty tokenizer up where it finds none of these
_TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")
_READ = (
    "config.json", "*.safetensors", "*.safetensors.index.json", *_TOKENIZERS,
    "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "merges.txt",
)  # fmt: skip


@dataclass(frozen=True)
class Pretrained:
    """A classifier whose head may be fresh, its tokenizer, and whether the model tells the
    texts of a pair apart by token types."""

    model: Any
    tokenizer: Any
    segments: bool


def load_pretrained(folder: Path, labels: Sequence[str], seed: int, max_length: int) -> Pretrained:
    """A classifier for these labels. Weights that the folder lacks depend on the seed alone."""
    check_folder(folder)
    with quiet(), torch.random.fork_rng(devices=[]), _readable(folder):
        torch.manual_seed(stable_hash(seed, "head"))
        tokenizer = _tokenizer(folder)
        model = _model(folder, labels)
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
    check_folder(folder)
    files = {path for pattern in _READ for path in folder.glob(pattern)}
    return {path.name: file_digest(path) for path in sorted(files)}


def check_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise HeedfulError(f"there is no folder {folder}: give that of a Hugging Face model.")
    if not (folder / "config.json").is_file():
        raise HeedfulError(f"{folder} has no config.json: give the folder of a Hugging Face model.")
    if not any(any(folder.glob(name)) for name in _TOKENIZERS):
        raise HeedfulError(f"{folder} has no tokenizer: it needs a tokenizer.json.")
    if any(folder.glob("*.safetensors")):
        return
    if any(folder.glob("*.bin")):
        raise HeedfulError(
            f"{folder} holds pickled weights only, which may run code: "
            f"save the model as safetensors with save_pretrained."
        )
    raise HeedfulError(f"{folder} holds no weights: it needs a model.safetensors.")


def _model(folder: Path, labels: Sequence[str]) -> Any:
    from transformers import AutoModelForSequenceClassification

    return AutoModelForSequenceClassification.from_pretrained(
        folder,
        num_labels=len(labels),
        id2label=dict(enumerate(labels)),
        label2id={label: number for number, label in enumerate(labels)},
        ignore_mismatched_sizes=True,  # the head of another task makes way for a fresh one
        dtype=torch.float32,
        use_safetensors=True,
        trust_remote_code=False,
        local_files_only=True,
    )


def _tokenizer(folder: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(
        folder, use_fast=True, trust_remote_code=False, local_files_only=True
    )


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
    rows = model.get_input_embeddings().weight.shape[0]
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


@contextmanager
def _readable(folder: Path) -> Iterator[None]:
    """What a wrong folder makes transformers raise, as one sentence."""
    try:
        yield
    except ImportError as error:
        raise HeedfulError(
            f"{folder} cannot be opened because a package is missing ({_first_line(error)}): "
            f"pip install 'heedful[hf]'."
        ) from error
    except Exception as error:
        raise HeedfulError(
            f"{folder} is no text classifier with a tokenizer that transformers can open "
            f"without code of its own ({_first_line(error)}): give a whole folder that "
            f"save_pretrained wrote."
        ) from error


def _first_line(error: BaseException) -> str:
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return line.partition(". ")[0].rstrip(".:!")[:200]
