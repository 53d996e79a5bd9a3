"""Whole audits on a device, and how far their numbers move in another precision."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.stats import kendalltau

from bench import made_up_models
from bench.gpu_rates import counted, kernels, rates
from heedful.auditing import WAVE, Audit, AuditSpec, audit_subject
from heedful.targets import open_target
from heedful.verdict import Verdict

KEYS = ["model", "example", "explanation", "operator", "measure"]
SAME = 1e-6


def moved(first: Audit, other: Audit) -> dict[str, Any]:
    """Predictions, rankings of words, the measures of single texts and of all, decisions."""
    a, b = first.rows, other.rows
    predicted = [rows.groupby("example")["predicted"].first() for rows in (a, b)]
    return {
        "predictions_changed": float((predicted[0] != predicted[1]).mean()),
        "ranking": rankings(first.maps, other.maps),
        "measures": measures(a, b),
        "statements": statements(first.verdict, other.verdict),
    }


def rankings(first: pd.DataFrame, other: pd.DataFrame) -> dict[str, float]:
    """Of each explanation the mean τ-b between its two rankings of a text's words: 1 says that
    not one pair changed places."""
    both = first.merge(other, on=["example", "explanation"], suffixes=("", "_other"))
    both["tau"] = [_tau(x, y) for x, y in zip(both["scores"], both["scores_other"], strict=True)]
    means = both.groupby("explanation")["tau"].mean()
    return {str(name): float(value) for name, value in means.items()}


def measures(first: pd.DataFrame, other: pd.DataFrame) -> dict[str, dict[str, float]]:
    """By measure: how far single values are apart on the mean, the largest difference of a mean
    over texts (of any explanation and operator), and the spread over texts to hold it against."""
    both = first.merge(other, on=KEYS, suffixes=("", "_other"))
    both = both[both["model"] == "base"].dropna(subset=["value", "value_other"])
    both["gap"] = both["value_other"] - both["value"]
    return {str(name): _gaps(some) for name, some in both.groupby("measure")}


def _gaps(some: pd.DataFrame) -> dict[str, float]:
    cells = some.groupby(["explanation", "operator"])
    return {
        "each": float(some["gap"].abs().mean()),
        "mean": float(cells["gap"].mean().abs().max()),
        "spread": float(cells["value"].std().mean()),
    }


def statements(first: Verdict, other: Verdict) -> dict[str, dict[str, Any]]:
    """By property what was decided and estimated, first and then."""
    pairs = {each.property: (each, other[each.property]) for each in first.statements}
    return {
        name: {
            "decisions": [str(each.decision) for each in pair],
            "estimates": [_number(each.estimate) for each in pair],
        }
        for name, pair in pairs.items()
    }


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _tau(x: Any, y: Any) -> float:
    """Words that differ by rounding alone are tied; two texts without any order agree."""
    pair = [np.asarray(each, dtype=np.float64) for each in (x, y)]
    known = np.isfinite(pair[0]) & np.isfinite(pair[1])
    one, two = (np.round(each[known] / SAME) for each in pair)
    if len(one) < 2 or (np.ptp(one) == 0 and np.ptp(two) == 0):
        return 1.0
    found = kendalltau(one, two).statistic
    return 0.0 if np.isnan(found) else float(found)


TEXTS = {"encoder": 64, "decoder": 32}
PRECISIONS = {"encoder": ("float32", "bfloat16", "float64"), "decoder": ("float32", "bfloat16")}
PEAKS = {"float32": "fp32", "bfloat16": "bf16", "float64": "fp64"}
FEW: Mapping[str, Any] = {"ceiling": 20, "search_steps": 6, "permutations": 5}
"""Of what makes an audit long: few enough of it for a profiler, the same kinds of work."""
QUICK = AuditSpec(("attention", "occlusion", "integrated_gradients"), **FEW)


@dataclass(frozen=True)
class Trial:
    """A model in one precision, on these texts."""

    given: Mapping[str, Any]
    precision: str
    texts: list[dict[str, Any]]
    device: str
    quick: bool

    @property
    def spec(self) -> AuditSpec:
        return QUICK if self.quick else AuditSpec()

    def run(self, spec: AuditSpec) -> tuple[Audit, float]:
        """And the seconds from an opened model to its verdict."""
        options = {"dtype": self.precision, "id_column": "id", **self.given}
        with open_target(data=self.texts, **options) as subject:
            if self.device == "cuda":
                torch.cuda.synchronize()
                torch.cuda.reset_peak_memory_stats()
            started = time.perf_counter()
            found = audit_subject(subject, spec)
            return found, time.perf_counter() - started


def audits(card: Mapping[str, Any], device: str, quick: bool) -> Iterator[dict[str, Any]]:
    """Each model in several precisions; float32 comes first, and the others are held against
    it: float64 says how far float32 itself is off."""
    for kind, precisions in PRECISIONS.items():
        given, facts = _model(kind, device, quick)
        first: Audit | None = None
        texts = made_up_models.reviews(4 if quick else TEXTS[kind])
        for precision in precisions:
            trial = Trial(given, precision, texts, device, quick)
            found, seconds = trial.run(trial.spec)
            first = first or found
            away = {} if found is first else {"moved": moved(first, found)}
            yield {**facts, **_row(trial, found, seconds), **_rates(trial, card), **away}


def _model(kind: str, device: str, quick: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """What `open_target` is given, and what is said of it."""
    if kind == "encoder":
        size = made_up_models.TINY_ENCODER if quick else made_up_models.ENCODER
        module, tokenizer, accuracy = made_up_models.encoder(size, device)
        return {"model": (module, tokenizer)}, {"model": size.name, "accuracy": accuracy}
    size = made_up_models.TINY_DECODER if quick else made_up_models.DECODER
    asked = {"label_words": made_up_models.LABEL_WORDS, "template": "{text} it was"}
    return {"model": made_up_models.decoder(size, device), **asked}, {
        "model": size.name,
        "accuracy": None,
    }


def _row(trial: Trial, found: Audit, seconds: float) -> dict[str, Any]:
    return {
        "precision": trial.precision,
        "texts": len(trial.texts),
        "words": float(found.rows.groupby("example")["length"].first().mean()),
        "seconds": seconds,
        "texts_per_second": len(trial.texts) / seconds,
        "peak_bytes": torch.cuda.max_memory_allocated() if trial.device == "cuda" else None,
    }


def _rates(trial: Trial, card: Mapping[str, Any]) -> dict[str, Any]:
    """Of a shorter audit of a wave of the texts."""
    short = replace(trial, texts=trial.texts[:WAVE])
    spec = replace(trial.spec, **FEW)
    seconds = min(short.run(spec)[1] for _ in range(2))
    flops = counted(lambda: short.run(spec))
    seen = kernels(lambda: short.run(spec), trial.device)
    return rates(card, seconds, flops, 0.0, seen, PEAKS[trial.precision])
