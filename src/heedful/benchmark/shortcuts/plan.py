"""What is trained on what: shortcuts, corpora, models and seeds, with their settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from heedful.auditing import EXPLANATIONS
from heedful.corpora import RULES
from heedful.errors import HeedfulError, unknown_name
from heedful.specs import ModelSpec, TrainSpec
from heedful.store import FileKind, begins
from heedful.training import FinetuneSpec

CORPORA = ("sst", "imdb", "toxicity")
BILSTM, MINILM = "bilstm", "minilm"
CELL = ["model", "corpus", "shortcut", "seed"]
COLUMNS = (
    *CELL,
    *("verified", "reason", "mixed", "original", "exchanged", "alone", "accuracy"),
    *("explanation", "texts", "precision", "precision_low", "precision_high"),
    *("rank", "rank_low", "rank_high", "n_train", "max_words", "epochs", "setting"),
)
"""Of the rows."""
ROWS = FileKind("rows of `heedful benchmark --part shortcuts`", begins(",".join(COLUMNS)))


@dataclass(frozen=True)
class Setting:
    """How one kind of model is trained, and how much of it is looked at. `corpus` are parameters
    of the corpus `shortcuts`, `texts` synthetic test texts are explained. With `model` it is
    trained from scratch, else a pretrained one is fine-tuned."""

    train: TrainSpec | FinetuneSpec
    model: ModelSpec | None = None
    corpus: Mapping[str, Any] = field(default_factory=dict)
    texts: int = 200


SETTINGS: Mapping[str, Setting] = {
    BILSTM: Setting(
        TrainSpec(epochs=12, learning_rate=3e-3, select="accuracy", patience=4),
        ModelSpec(BILSTM, "additive", hidden=64, train_embedding=False),
        {"n_train": 5000, "n_dev": 400, "n_test": 300, "max_words": 40, "vectors": "glove"},
    ),
    MINILM: Setting(
        FinetuneSpec(epochs=4, learning_rate=2e-4, patience=None),
        None,
        {"n_train": 5000, "n_dev": 400, "n_test": 300, "max_words": 40},
        texts=100,
    ),
}
"""A BiLSTM trains in half a minute on one core; MiniLM wants a GPU. Both see the same texts. The
BiLSTM's word vectors are not trained, else it learns rare words by heart instead of the
rule."""


@dataclass(frozen=True)
class Cell:
    """One mixed model, beside the one of the same corpus and seed without a shortcut."""

    shortcut: str
    corpus: str
    model: str
    seed: int

    @property
    def name(self) -> str:
        return f"{self.model} {self.corpus} {self.shortcut} seed {self.seed}"


@dataclass(frozen=True)
class ShortcutPlan:
    """`pretrained` is the folder of MiniLM; left out, that of the package `make pretrained`
    installs. The first cells are of the first model and the first seed."""

    shortcuts: tuple[str, ...] = tuple(RULES)
    corpora: tuple[str, ...] = CORPORA
    models: tuple[str, ...] = (BILSTM, MINILM)
    seeds: tuple[int, ...] = (0, 1, 2)
    explanations: tuple[str, ...] = (*EXPLANATIONS, "leave_one_out", "random")
    settings: Mapping[str, Setting] = field(default_factory=lambda: SETTINGS)
    data_dir: Path | None = None
    pretrained: Path | None = None

    def __post_init__(self) -> None:
        known = {"shortcut": tuple(RULES), "model": tuple(self.settings)}
        for kind, given in (("shortcut", self.shortcuts), ("model", self.models)):
            for name in given:
                if name not in known[kind]:
                    raise unknown_name(kind, name, list(known[kind]))
        if not all((self.shortcuts, self.corpora, self.models, self.seeds, self.explanations)):
            raise HeedfulError(
                "give at least one shortcut, corpus, model, seed and explanation each."
            )

    def cells(self) -> list[Cell]:
        """In the order they are run."""
        places = product(self.models, self.seeds, self.corpora, self.shortcuts)
        return [Cell(shortcut, corpus, model, seed) for model, seed, corpus, shortcut in places]
