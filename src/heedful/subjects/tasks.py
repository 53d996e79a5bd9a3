"""What a Hugging Face model is asked: classes, a number, one of many labels, the next token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heedful.errors import HeedfulError, unknown_name
from heedful.subjects.hf_load import CAUSAL, Loaded
from heedful.subjects.loading import Loading

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
