"""Specs: plain values that say what is to be made. Their hash names a run.

Nothing here imports torch, so a report can read a spec on a machine without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar

__all__ = ["CorpusSpec", "ModelSpec", "PrepareSpec", "ProbeSpec", "TermSpec", "TrainSpec"]

PAD, UNKNOWN, START, END = range(4)
"""Ids every vocabulary of ours begins with."""
LARGEST_DIMENSION = 4096
"""Numbers of a word vector; those of published files have some hundreds."""


@dataclass(frozen=True)
class PrepareSpec:
    """How raw texts become token ids.

    `tokenizer` is `spacy` (blank English), `words` (runs of word characters), `whitespace`, or
    `given` (the corpus brings tokens), or `bpe`: `pieces` sub-words learned on the training
    split of all sides together, case kept. Length bounds count real tokens and are inclusive;
    `counting="authors"` applies jain2019's own filter instead, strict on both sides with bounds
    from the data.
    `vectors` is `glove` (the npz in the data folder), `glove300` (the same, lifted to 300 numbers
    by an orthonormal map), a path to a text file, or `random`.
    `impermissible` marks tokens that attention must not be seen on (pruthi2020): words
    with commas between them, or `/a pattern/` of Python's `re`, which is given up where it takes
    more than ten seconds and one for each million characters; empty leaves the marks the corpus
    brings.
    """

    tokenizer: str = "spacy"
    min_df: int = 1
    min_length: int = 1
    max_length: int | None = None
    counting: str = "inclusive"
    vectors: str = "random"
    dimension: int = 100
    dev_fraction: float = 0.15
    test_fraction: float = 0.2
    limit: int | None = None
    seed: int = 0
    pieces: int = 8000
    impermissible: str = ""


@dataclass(frozen=True)
class CorpusSpec:
    """A corpus by catalogue name (or `file`), its own parameters, and how to prepare it."""

    name: str
    params: Mapping[str, Any] = field(default_factory=dict)
    prepare: PrepareSpec = PrepareSpec()

    @property
    def title(self) -> str:
        """What tables call it: a user's file by its whole name, so never like a named corpus."""
        return Path(str(self.params["path"])).name if "path" in self.params else self.name


Params = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class TermSpec:
    """A term of the loss by catalogue name, how much it counts, and its own parameters."""

    name: str
    weight: float = 1.0
    params: Params = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", float(self.weight))
        object.__setattr__(self, "params", tuple((key, value) for key, value in self.params))

    @property
    def title(self) -> str:
        """`tying10`, `mlm0.3`."""
        return f"{self.name}{self.weight:g}"


GOALS = ("labels", "teacher")


@dataclass(frozen=True)
class ModelSpec:
    """A model of one of the families. `sizes` is `code` or `paper` (protocols of jain2019
    differ); `hidden` overrides the encoder's size. An encoder may be wrapped, as in
    `bilstm+residual`.

    `decoder` names one of a family's several (pairs: `context` or `query`; "" where there is
    one). With a `train_edit` the model never has attention of its own: the edit takes its
    place in training and afterwards; `frozen` brings the weights of a teacher, another model
    of the same corpus.

    What it was trained for is a part of the model too: its `goal` is to say the `labels`, or
    what a `teacher` says, and `terms` are added to that loss. A `blind` model never sees the
    corpus's impermissible tokens.
    """

    encoder: str = "bilstm"
    attention: str = "additive"
    layers: int = 1
    sizes: str = "code"
    hidden: int | None = None
    train_embedding: bool = True
    family: str = "one_sequence"
    decoder: str = ""
    dropout: float = 0.0
    train_edit: str = ""
    goal: str = "labels"
    terms: tuple[TermSpec, ...] = ()
    blind: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "dropout", float(self.dropout))  # read back from JSON it is 0
        terms = (TermSpec(**t) if isinstance(t, Mapping) else t for t in self.terms)
        object.__setattr__(self, "terms", tuple(terms))

    @property
    def name(self) -> str:
        """`bilstm-additive`, `bilstm2-dot`, `pair-bilstm-additive-context`, `…+uniform`,
        `…+tying10+diversity0.5`."""
        family = "" if self.family == "one_sequence" else f"{self.family}-"
        layers = str(self.layers) if self.layers > 1 else ""
        decoder = f"-{self.decoder}" if self.decoder else ""
        extra = [self.train_edit, "" if self.goal == "labels" else self.goal]
        extra += [term.title for term in self.terms] + ["blind" if self.blind else ""]
        ending = "".join(f"+{part}" for part in extra if part)
        return f"{family}{self.encoder}{layers}-{self.attention}{decoder}{ending}"


@dataclass(frozen=True)
class TrainSpec:
    """jain2019's training by default: Adam with AMSGrad, weight decay off attention.

    `select` is the dev metric the best checkpoint is chosen by: `roc_auc`, `accuracy`, `f1`,
    `likelihood` (of the targets; generation has no other), `loss` (the whole training loss,
    terms and all), or `auto` (ROC-AUC for two classes, accuracy for more). `ties` says which of
    several epochs with the same dev score is kept: the one with the lowest dev `loss`, of equal
    losses the latest, or the `first`. `patience` stops after that many epochs without
    improvement. With `warmup` steps the learning rate rises to its value and then falls as
    1/√step; with `smoothing` a target's loss counts that much for all other tokens together.
    """

    epochs: int = 8
    batch_size: int = 32
    learning_rate: float = 1e-3
    weight_decay: float = 1e-5
    decay_attention: bool = False
    amsgrad: bool = True
    clip: float | None = None
    class_weights: bool = True
    select: str = "auto"
    patience: int | None = None
    warmup: int = 0
    smoothing: float = 0.0
    ties: str = "loss"


@dataclass(frozen=True)
class ProbeSpec:
    """One experiment by catalogue name with its parameters."""

    name: str
    params: Mapping[str, Any] = field(default_factory=dict)


_S = TypeVar("_S", ModelSpec, PrepareSpec, TermSpec)
_KINDS: Mapping[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "bool": (bool,),
    "float": (float, int),
    "int | None": (int, NoneType),
    "float | None": (float, int, NoneType),
    "Params": (list, tuple),
    "tuple[TermSpec, ...]": (list, tuple),
}


def spec_from_plain(kind: type[_S], value: object) -> _S:
    """A spec as JSON holds it; ValueError says what is not one's."""
    if not isinstance(value, Mapping):
        raise ValueError(f"no {kind.__name__}")
    known = {each.name: _KINDS[str(each.type)] for each in fields(kind)}
    for name, given in value.items():
        wanted = known.get(name, ())
        if not isinstance(given, wanted) or (isinstance(given, bool) and bool not in wanted):
            raise ValueError(f"{name!r} is {str(given)[:40]!r}")
    parts = dict(value)
    if "terms" in parts:
        parts["terms"] = tuple(spec_from_plain(TermSpec, term) for term in parts["terms"])
    try:
        return kind(**parts)
    except (TypeError, OverflowError) as error:  # a name is missing, a pair is none
        raise ValueError(f"no whole {kind.__name__}") from error
