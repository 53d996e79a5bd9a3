"""A Hugging Face model and its tokenizer from a folder or the hub, how long a text it reads, and
what it is asked: classes, a number, one of many labels, the next token.

Only safetensors are read and no code that comes with a model is run: a pickle file or
`trust_remote_code` could do anything on the user's machine.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heedful.errors import HeedfulError, unknown_name
from heedful.models import find_folder, opened, places, token_embeddings, transformers
from heedful.targets.document import Row
from heedful.targets.options import DTYPES, LONGEST, Loading

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
            f"its tokenizer, or an Adapter (heedful.Adapter)."
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


def longest(loaded: Loaded, wanted: int | None) -> int:
    """The most tokens of a text: as many as are wanted, the model has places for, and the
    tokenizer was made for."""
    limits = [loaded.tokenizer.model_max_length, LONGEST if wanted is None else wanted]
    room = places(loaded.module.config)
    if room is not None:
        limits.append(room)
    return int(min(limits))


def check_tokens(loaded: Loaded, rows: Sequence[Row]) -> None:
    """A tokenizer may know more tokens than its model, as long as no text has them."""
    size = token_embeddings(loaded.module).weight.shape[0]
    if len(loaded.tokenizer) <= size:
        return
    for row in rows:
        if row.tokens.max(initial=0) >= size:
            raise HeedfulError(
                f"the tokenizer of {loaded.name} gives token {row.tokens.max()}, and the model "
                f"knows {size}: give the tokenizer it was trained with."
            )


def fillers(loaded: Loaded) -> dict[str, int]:
    """`unk` and, where there is one, `mask`. Byte-level tokenizers know every text and have
    no unknown token: the mask, the end or a full stop takes its place. Never padding, which
    says where a text ends."""
    tokenizer, padding = loaded.tokenizer, loaded.module.config.pad_token_id
    special = (tokenizer.unk_token_id, tokenizer.mask_token_id, tokenizer.eos_token_id)
    plain = (tokenizer(mark, add_special_tokens=False)["input_ids"] for mark in (".", "_", " "))
    stand_ins = [*special, *(ids[0] for ids in plain if len(ids) == 1)]
    unknown = next((token for token in stand_ins if token not in (None, padding)), None)
    if unknown is None:
        raise HeedfulError(
            f"the tokenizer of {loaded.name} has no token to put in a word's place that is not "
            f"padding: set tokenizer.unk_token."
        )
    mask = tokenizer.mask_token_id
    return {"unk": int(unknown)} | ({} if mask in (None, padding) else {"mask": int(mask)})


CLASSES, NUMBER, MANY, NEXT, LABEL_WORDS = (
    "classes", "number", "many labels", "next token", "label words",
)  # fmt: skip
_ASKED = {
    NUMBER: "a number",
    MANY: "one of many labels",
    NEXT: "the next token",
    LABEL_WORDS: "label words",
}


@dataclass(frozen=True)
class Task:
    """`names` are the model's labels; `tokens` the label words' ids."""

    kind: str
    names: tuple[str, ...]
    tokens: tuple[int, ...] = ()

    @property
    def aside(self) -> str:
        """What a reader is told after the model's name, where its classes are not its own."""
        return "" if self.kind == CLASSES else f" (asked for {_ASKED[self.kind]})"


def task_of(loaded: Loaded, loading: Loading) -> Task:
    task = _writer(loaded, loading) if loaded.kind == CAUSAL else _classifier(loaded, loading)
    if loading.label is not None and task.kind != MANY:
        raise HeedfulError(
            f"{loaded.name} has no several labels at once to choose {loading.label!r} from: "
            f"leave label out."
        )
    if loading.template != "{text}" and loaded.kind != CAUSAL:
        raise HeedfulError("a template is for causal language models: leave it out.")
    if loading.label_map is not None and task.kind in (NEXT, NUMBER):
        raise HeedfulError(
            f"{loaded.name} is asked for {_ASKED[task.kind]}, and a label_map is for classes: "
            f"leave it (--label-map) out."
        )
    return task


def _classifier(loaded: Loaded, loading: Loading) -> Task:
    config = loaded.module.config
    if loading.label_words is not None:
        raise HeedfulError("label_words are for causal language models: leave them out.")
    names = class_names(config)
    problem = config.problem_type
    if problem == "multi_label_classification":
        if loading.label is not None and loading.label not in names:
            raise unknown_name("label", loading.label, list(names))
        return Task(MANY, names)
    if problem == "regression" or (problem is None and len(names) == 1):
        return Task(NUMBER, names)
    return Task(CLASSES, names)


def _writer(loaded: Loaded, loading: Loading) -> Task:
    if loading.label_words is None:
        size = loaded.module.config.get_text_config().vocab_size
        known = loaded.tokenizer.convert_ids_to_tokens(range(min(size, len(loaded.tokenizer))))
        rest = [f"token {i}" for i in range(len(known), size)]
        return Task(NEXT, tuple(str(token) for token in (*known, *rest)))
    tokens = label_tokens(loaded.tokenizer, loading.label_words)
    return Task(LABEL_WORDS, tuple(loading.label_words), tuple(tokens.values()))


def class_names(config: Any) -> tuple[str, ...]:
    return tuple(str(config.id2label[i]) for i in range(config.num_labels))


def label_tokens(tokenizer: Any, words: Mapping[str, str]) -> dict[str, int]:
    """The token of each label's word: one each, and no two the same."""
    tokens: dict[str, int] = {}
    for label, word in words.items():
        ids = tokenizer(word, add_special_tokens=False)["input_ids"]
        if len(ids) != 1:
            pieces = tokenizer.convert_ids_to_tokens(ids)
            raise HeedfulError(
                f"the label word {word!r} for {label!r} is {len(ids)} tokens ({pieces}): choose "
                f"a word that is one token, often one with a blank before it."
            )
        tokens[label] = ids[0]
    if len(tokens) < 2 or len(set(tokens.values())) < len(tokens):
        raise HeedfulError("label_words must be at least two different words, one per class.")
    return tokens
