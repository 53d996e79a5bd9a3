"""Small audits that several files of tests share."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

import pandas as pd

from heedful.auditing import (
    Audit,
    AuditSpec,
    Plan,
)
from heedful.data import default_spec, prepare
from heedful.runner import Machine, Recipe, trained
from heedful.specs import ModelSpec, TrainSpec
from heedful.store import Run, Store
from heedful.verdict import Settings
from tiny_hf import tiny_hf
from tiny_tokenizers import word_pieces

auditing = import_module("heedful.auditing.audit")
wave_settings = import_module("heedful.auditing.schedule")


PLANTED = default_spec("planted", n_train=60, n_dev=10, n_test=12, dimension=8)
EXPLANATIONS = ("attention", "gradient_input", "integrated_gradients", "occlusion")
SMALL = AuditSpec(EXPLANATIONS, permutations=2, ceiling=6, orders=4, exact=5, search_steps=2)
AGREE = replace(SMALL, only=("interventions", "agreement"))
MOVED = replace(SMALL, explanations=("attention",), only=("interventions",))
ONE = ("gradient_input",)
LEAST = replace(SMALL, explanations=("attention", *ONE), importance=ONE, only=("agreement",))
WORDS = [
    "good", "bad", "film", "the", "a", "is", "very", "not", "unlike", "story", "plot", "it", "was",
    "great", "dull",
]  # fmt: skip
ERASURE = {
    "comprehensiveness", "sufficiency", "deletion_auc", "insertion_auc", "flip_share",
    "flip_censored",
}  # fmt: skip
IMPORTANCE = {"importance_captured", "importance_tau"}
PLAUSIBLE = {"auprc", "token_f1", "iou_f1", "mass_inside"}
FEW = Settings(resamples=100)


def audit(
    model: Any,
    data: Any = None,
    spec: AuditSpec = SMALL,
    settings: Settings = FEW,
    plan: Plan = Plan(),
    **options: Any,
) -> Audit:
    return auditing.audit(model, data, spec, settings, plan, **options)


def texts(n: int, classes: int = 2, seed: int = 0) -> list[dict[str, Any]]:
    draw = random.Random(seed)
    return [
        {"text": " ".join(draw.sample(WORDS, draw.randint(3, 9))), "label": i % classes}
        for i in range(n)
    ]


def bert(**model: Any) -> tuple[Any, Any]:
    """The plain one is shared: an audit gives it back as it was."""
    return (tiny_hf(**model), word_pieces()) if model else plain()


@cache
def plain() -> tuple[Any, Any]:
    return tiny_hf(), word_pieces()


def planted_run(store: Store) -> Run:
    """A model of the generated reviews."""
    corpus = prepare(PLANTED, store)
    return trained(store, corpus, Recipe(ModelSpec(hidden=8), TrainSpec(epochs=1), 0), Machine())


def values(found: Audit) -> pd.Series:
    keys = ["model", "example", "explanation", "operator", "measure"]
    return found.rows.set_index(keys)["value"].sort_index()
