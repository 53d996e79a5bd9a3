"""How data is read and how a model is loaded and asked: two values that travel from the user."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from heedful.errors import HeedfulError, unknown_name
from heedful.keywords import keyword
from heedful.store import Store, store_at
from heedful.targets.document import Span
from heedful.units import DOCUMENT, TOKEN, WORD, check_unit


@dataclass(frozen=True)
class Reading:
    """Columns are for tables, `split` for corpora and dataset dicts (without one it is `test`),
    `params` for corpora."""

    n: int | None = keyword("A random sample of this many texts, drawn by a hash of their ids.")
    split: str | None = keyword("Split of a named corpus or a run: train, dev or test (the usual).")
    text_column: str = keyword("Column of the text.", "text")
    text_b_column: str | None = keyword("Column of the second text of a pair.")
    label_column: str | None = keyword("Column of the label; None: there are no labels.", "label")
    id_column: str | None = keyword("Column of ids.")
    rationale_column: str | None = keyword("Column of [start, end) spans that people marked.")
    answer_column: str | None = keyword("Column of the answers of a model that writes.")
    contrast_column: str | None = keyword("Column of answers to contrast those with.")
    position_column: str | None = keyword(
        "Column of the words whose labels are explained, or of answers in a text: [start, end) "
        "characters, or the number of a word, from 1."
    )
    cluster_column: str | None = keyword("Column of what texts share, such as their author.")
    pair_column: str | None = keyword(
        "Column that a text shares with its revisions; the first of them is the original."
    )
    seed: int = keyword("Random seed, of the sample and of all that is drawn.", 0)
    data_dir: Path | None = keyword("Folder with the real corpora.")
    store: Store | str | Path | None = keyword(
        "Folder or URL of runs: models are found there, and an audit is kept there, so that the "
        "same call resumes."
    )
    params: Mapping[str, Any] = keyword("Parameters of the corpus or of its preparation.", {})
    words: Callable[[str], tuple[Span, ...]] | None = keyword(
        "Where a text's words stand: a function from a text to [(start, end), …]. Left out: the "
        "tokens that a corpus brings, else words and punctuation marks."
    )
    unit: str = keyword(
        "What is scored and removed: token, word, sentence, line, paragraph or document.", WORD
    )
    separator: str = keyword("Text between the documents of a list (unit='document').", "\n\n")
    trained: Mapping[str, Any] = keyword(
        "Facts of the corpus that a fine-tuned model was trained on; a run brings them itself.", {}
    )

    def __post_init__(self) -> None:
        whole = isinstance(self.n, int) and not isinstance(self.n, bool)
        if self.n is not None and (not whole or self.n < 1):
            raise HeedfulError(f"n is {self.n!r}: give at least 1 text, or leave it out for all.")
        check_unit(self.unit)
        if self.separator != Reading.separator and self.unit != DOCUMENT:
            raise HeedfulError(
                "a separator (--separator) joins documents: leave it out, or ask for them with "
                "unit='document' (--unit document)."
            )

    def by_tokens(self, spans: Callable[[str], tuple[Span, ...]]) -> Reading:
        """In a model's own tokens, if these are asked for; `spans` says where they stand."""
        if self.unit != TOKEN:
            return self
        if self.words is not None:
            raise HeedfulError("the unit token is the model's own: leave words out.")
        return replace(self, words=spans)

    @cached_property
    def opened(self) -> Store | None:
        """The store, wherever it is."""
        return None if self.store is None else store_at(self.store)

    @property
    def part(self) -> str:
        """The split that is read of what has several."""
        return "test" if self.split is None else self.split

    @property
    def columns(self) -> dict[str, str]:
        """The named columns by role."""
        roles = (
            "text", "text_b", "label", "id", "rationale", "cluster", "answer", "contrast",
            "position", "pair",
        )  # fmt: skip
        named = {role: getattr(self, f"{role}_column") for role in roles}
        return {role: column for role, column in named.items() if column is not None}

    def refuse_columns(self, source: str) -> None:
        """Of what is no table, so that no option is silently without effect."""
        usual = Reading().columns
        for role, column in self.columns.items():
            if column != usual.get(role):
                raise HeedfulError(f"{source} is no table of columns: leave {role}_column out.")

    def refuse(self, who: str, *roles: str) -> None:
        """Of a model that has no use for some columns."""
        for role in roles:
            if role in self.columns:
                option = f"--{role}-column"
                raise HeedfulError(f"{who} takes no {role}_column: leave it ({option}) out.")

    def refuse_params(self, source: str) -> None:
        """Of what is not read by a corpus's own reader."""
        for name in self.params:
            raise HeedfulError(f"{source} has no parameter {name!r}: leave it (--param) out.")


def reading_of(**options: Any) -> Reading:
    """The same, with a sentence for an unknown option."""
    _check_options(options, [field.name for field in fields(Reading)])
    return Reading(**options)


def _check_options(options: Mapping[str, Any], known: list[str]) -> None:
    for name in options:
        if name not in known:
            raise unknown_name("option", name, known)


DTYPES = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16}
DEVICES = ("auto", "cpu", "cuda")
LabelMap = Mapping[str, str | int]
SECOND = "{text_b}"
"""Where the second text of an example stands in a template."""
MASK = "{mask}"
"""Where the mask of a masked language model stands in one."""
ANSWER_SCORES = ("mean", "sum")
ANSWERING = (
    "at", "chat", "answer", "contrast", "generate", "temperature", "answer_score", "token",
)  # fmt: skip
ANSWERING_COLUMNS = ("answer", "contrast", "position")
"""What is only asked of models that write, or that label words."""
LONGEST = 1024  # longer texts take memory or hours (by the square), whatever the model allows


@dataclass(frozen=True)
class Prompt:
    """What stands before and after the text, for a model that has to be asked; `special` where that
    brings all the special tokens there are. The second text of an example may stand in either, and
    is not on trial; or it is a `question`, which is read before the text as a text of its own."""

    before: str = ""
    after: str = ""
    special: bool = False
    question: bool = False

    @property
    def holds_b(self) -> bool:
        return self.question or SECOND in self.before or SECOND in self.after

    def of(self, texts: Mapping[str, str]) -> Prompt:
        """With the second text of an example in its place."""
        if not self.holds_b:
            return self
        before, after = (part.replace(SECOND, texts["b"]) for part in (self.before, self.after))
        return replace(self, before=before, after=after)

    def around(self, text: str) -> str:
        return f"{self.before}{text}{self.after}"


@dataclass(frozen=True)
class Loading:
    """How a model is loaded and asked."""

    device: str = keyword("auto, cpu or cuda; a model in memory keeps its own.", "auto")
    dtype: str | None = keyword("float32, float64 or bfloat16; a model in memory keeps its own.")
    label: str | None = keyword("Label to explain of a multi-label model.")
    label_words: Mapping[str, str] | None = keyword(
        "Answers of a language model by label: {'positive': ' good', 'negative': ' bad'}."
    )
    label_map: Mapping[str, str | int] | None = keyword("From the data's labels to the model's.")
    template: str = keyword(
        "Prompt of a language model: '{text} It was'; the second text is {text_b}, the mask of a "
        "masked one {mask}.",
        "{text}",
    )
    at: str | int | None = keyword(
        "Word whose label is explained, as it stands in the text, or its number, from 1."
    )
    chat: bool = keyword("Ask through the tokenizer's chat template.", False)
    answer: str | None = keyword("Answer of a model that writes: which words made it say this?")
    contrast: str | None = keyword("Another answer: why not this one?")
    generate: int | None = keyword(
        "Let the model write the answer, of at most this many tokens; it is then held fixed."
    )
    temperature: float | None = keyword(
        "Sample the written answer at this temperature; left out: the likeliest token each time."
    )
    answer_score: str = keyword(
        "mean: the geometric mean of the probabilities of an answer's tokens; sum: the "
        "probability of the whole answer.",
        "mean",
    )
    token: int | None = keyword("Explain this token of the answer alone; the first is 1.")
    max_length: int | None = keyword("Maximum tokens per text.")
    infill: str | Path | None = keyword(
        "Folder of a masked language model, which the perturbation infill draws words from."
    )

    def __post_init__(self) -> None:
        kind = self.device.partition(":")[0]
        if kind not in DEVICES:
            raise unknown_name("device", self.device, list(DEVICES))
        if kind == "cuda" and not torch.cuda.is_available():
            raise HeedfulError(f"no CUDA device was found for {self.device!r}: use the device cpu.")
        if self.dtype is not None and self.dtype not in DTYPES:
            raise unknown_name("dtype", self.dtype, list(DTYPES))
        if self.max_length is not None and self.max_length < 3:
            raise HeedfulError(f"max_length is {self.max_length}: give at least 3 tokens.")
        if self.template.count("{text}") != 1:
            raise HeedfulError(f"the template {self.template!r} must hold {{text}} once.")
        for name, least in (("generate", self.generate), ("token", self.token)):
            if least is not None and least < 1:
                raise HeedfulError(f"{name} (--{name}) is {least}: give 1 or more.")
        if self.temperature is not None and not 0 < self.temperature < math.inf:
            raise HeedfulError(
                f"temperature (--temperature) is {self.temperature:g}: give a number above 0."
            )
        if self.answer_score not in ANSWER_SCORES:
            raise unknown_name("answer score", self.answer_score, list(ANSWER_SCORES))

    def refuse(self, who: str, *names: str) -> None:
        """Of a model that has no use for some options, so that none is silently without effect."""
        for name in names:
            if getattr(self, name) != getattr(Loading, name):
                option = f"--{name.replace('_', '-')}"
                raise HeedfulError(f"{who} takes no {name}: leave it ({option}) out.")

    @property
    def prompt(self) -> Prompt:
        before, _, after = self.template.partition("{text}")
        return Prompt(before, after)

    @property
    def torch_dtype(self) -> torch.dtype:
        return DTYPES[self.dtype or "float32"]

    @property
    def best_device(self) -> str:
        if self.device != "auto":
            return self.device
        return "cuda" if torch.cuda.is_available() else "cpu"


def reading_and_loading(options: dict[str, Any]) -> tuple[Reading, Loading]:
    reading, loading = ({each.name for each in fields(kind)} for kind in (Reading, Loading))
    _check_options(options, sorted(reading | loading))
    return (
        Reading(**{name: value for name, value in options.items() if name in reading}),
        Loading(**{name: value for name, value in options.items() if name in loading}),
    )
