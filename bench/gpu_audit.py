"""Whole audits on a device, and how far their numbers move in another precision."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from bench import gpu_models as models
from bench.gpu_bound import rates
from bench.gpu_flops import counted
from bench.gpu_moved import moved
from bench.gpu_time import kernels
from heedful.auditing import WAVE, Audit, AuditSpec, audit_subject
from heedful.subjects import open_subject

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
        with open_subject(data=self.texts, **options) as subject:
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
        texts = models.reviews(4 if quick else TEXTS[kind])
        for precision in precisions:
            trial = Trial(given, precision, texts, device, quick)
            found, seconds = trial.run(trial.spec)
            first = first or found
            away = {} if found is first else {"moved": moved(first, found)}
            yield {**facts, **_row(trial, found, seconds), **_rates(trial, card), **away}


def _model(kind: str, device: str, quick: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """What `open_subject` is given, and what is said of it."""
    if kind == "encoder":
        size = models.TINY_ENCODER if quick else models.ENCODER
        module, tokenizer, accuracy = models.encoder(size, device)
        return {"model": (module, tokenizer)}, {"model": size.name, "accuracy": accuracy}
    size = models.TINY_DECODER if quick else models.DECODER
    asked = {"label_words": models.LABEL_WORDS, "template": "{text} it was"}
    return {"model": models.decoder(size, device), **asked}, {"model": size.name, "accuracy": None}


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
