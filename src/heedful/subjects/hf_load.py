"""A Hugging Face model and its tokenizer from a folder or the hub.

Only safetensors are read and no code that comes with a model is run: a pickle file or
`trust_remote_code` could do anything on the user's machine.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heedful.errors import HeedfulError
from heedful.models import find_folder, opened, transformers
from heedful.subjects.loading import DTYPES, Loading

CAUSAL, CLASSIFIER = "causal", "classifier"


@dataclass(frozen=True)
class Loaded:
    """`kind` is `causal` or `classifier`; `name` is what a page calls the model."""

    module: Any
    tokenizer: Any
    kind: str
    name: str


def load(source: str | Path, loading: Loading) -> Loaded:
    """From a folder that `save_pretrained` wrote, or by an id of the hub."""
    library = transformers()
    folder = find_folder(source)
    kind = kind_of(folder.config.get("architectures"), folder.name)
    auto = {
        CAUSAL: library.AutoModelForCausalLM,
        CLASSIFIER: library.AutoModelForSequenceClassification,
    }[kind]
    with opened(folder) as place:
        tokenizer = check_tokenizer(place.tokenizer(), folder.name)
        module, report = place.model(auto, dtype=loading.torch_dtype)
    missing = sorted(report["missing_keys"])
    if missing:
        raise HeedfulError(
            f"{folder.name} lacks the weights of {missing[0]} ({len(missing)} in all), which would "
            f"be random: give a model that was trained for this."
        )
    title = Path(source).resolve().name if Path(source).is_dir() else folder.name
    return Loaded(module.to(loading.best_device).eval(), tokenizer, kind, title)


def config_of(source: str | Path) -> Any:
    """The configuration alone."""
    transformers()
    with opened(find_folder(source)) as place:
        return place.config()


def adopt(module: Any, tokenizer: Any, loading: Loading) -> Loaded:
    """A model somebody already has. It is copied where another device or precision is asked
    for, never changed."""
    library = transformers()
    if not isinstance(module, library.PreTrainedModel):
        raise HeedfulError(
            f"{type(module).__name__} is no model of transformers: give a PreTrainedModel and "
            f"its tokenizer, or an Adapter (heedful.subjects.module)."
        )
    name = type(module).__name__
    kind = kind_of([each.__name__ for each in type(module).__mro__], name)
    dtype = DTYPES.get(loading.dtype or "", module.dtype)
    there = loading.device in ("auto", module.device.type, str(module.device))
    if not there or dtype != module.dtype:
        target = module.device if there else loading.device
        module = copy.deepcopy(module).to(device=target, dtype=dtype)
    return Loaded(module, check_tokenizer(tokenizer, name), kind, name)


def kind_of(architectures: Sequence[str] | None, name: str) -> str:
    """What the model was trained to do, by the class it was saved from: a head it was not
    saved with would have random weights."""
    from transformers.models.auto import modeling_auto

    architectures = architectures or ()
    for architecture in architectures:
        if architecture.endswith("ForSequenceClassification"):
            return CLASSIFIER
        if architecture in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values():
            return CAUSAL
    saved = architectures[0] if architectures else "no architecture"
    raise HeedfulError(
        f"{name} ({saved}) neither classifies texts nor writes them: give a model that was "
        f"saved for sequence classification or as a causal language model."
    )


def check_tokenizer(tokenizer: Any, name: str) -> Any:
    if tokenizer is None:
        raise HeedfulError(f"{name} comes without a tokenizer: give both as (model, tokenizer).")
    if not getattr(tokenizer, "is_fast", False):
        raise HeedfulError(
            f"the tokenizer of {name} is not a fast one and cannot say which characters its "
            f"tokens stand for: save it again with a tokenizer.json (AutoTokenizer, use_fast)."
        )
    if len(tokenizer) <= len(set(tokenizer.all_special_ids)):
        raise HeedfulError(
            f"{name} comes without a tokenizer's words: save its tokenizer beside it with "
            f"save_pretrained."
        )
    return tokenizer
