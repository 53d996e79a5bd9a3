"""Put a model on trial: measure wave by wave, keep what is measured, judge."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from heedful.auditing.explained import Cost
from heedful.auditing.measure import Measurer, Part
from heedful.auditing.result import Audit
from heedful.auditing.spec import AuditSpec
from heedful.auditing.table import ordered
from heedful.auditing.waves import waves
from heedful.errors import HeedfulError
from heedful.progress import Progress, silent
from heedful.saliency.prior import fit_prior
from heedful.store import Store, run_key
from heedful.subjects import Subject, open_subject
from heedful.types import Batch
from heedful.verdict.settings import Settings
from heedful.verdict.verdict import Verdict, judge
from heedful.words import word_mask

VERSION = 1
LOOKS = 4


@dataclass(frozen=True)
class Plan:
    """How an audit is run; none of it changes what is measured on a text.

    With a `budget` in seconds the evidence is looked at four times on the way, each look at a
    price in alpha, and the audit ends when the verdict is clear or the time is up."""

    store: Store | None = None
    budget: float | None = None
    progress: Progress = silent
    must: frozenset[str] = frozenset()


def audit(
    model: Any,
    data: Any = None,
    spec: AuditSpec = AuditSpec(),
    settings: Settings = Settings(),
    plan: Plan = Plan(),
    **options: Any,
) -> Audit:
    """The verdict on a model's attention on these texts. `options` are `open_subject`'s."""
    with open_subject(model, data, **options) as subject:
        return audit_subject(subject, spec, settings, plan)


def audit_subject(
    subject: Subject,
    spec: AuditSpec = AuditSpec(),
    settings: Settings = Settings(),
    plan: Plan = Plan(),
) -> Audit:
    """With a store, finished waves are kept, and a second start goes on after them."""
    if not len(subject):
        raise HeedfulError("there are no texts to audit: check the data.")
    trial = _Trial(subject, spec, plan)
    start = time.monotonic()
    verdict: Verdict | None = None
    parts: list[Part] = []
    done = 0
    settings = replace(settings, importance=settings.importance or spec.importance)
    steps = list(waves(subject, spec.seed))
    looks = _looks(len(steps)) if plan.budget else {}
    for number, batches in enumerate(steps, 1):
        for indices in batches:
            parts.append(trial.part(indices))
            done += len(indices)
            plan.progress("audit", done, len(subject))
        if number in looks:
            verdict = trial.judge(parts, settings, looks[number])
            if verdict.decided:
                break
        if plan.budget and time.monotonic() - start > plan.budget:
            break
    if verdict is None or number not in looks:
        verdict = trial.judge(parts, settings, len(looks) or 1)
    return trial.result(parts, verdict)


def _looks(steps: int) -> dict[int, int]:
    """After which waves the evidence is looked at, and which look that is."""
    places = sorted({max(1, round(steps * look / LOOKS)) for look in range(1, LOOKS + 1)})
    return {place: LOOKS - len(places) + look for look, place in enumerate(places, 1)}


class _Trial:
    def __init__(self, subject: Subject, spec: AuditSpec, plan: Plan) -> None:
        self.subject, self.spec, self.plan = subject, spec, plan
        prior = fit_prior(batch for _, batch in subject.batches())
        self.measure = Measurer(subject.model, spec, prior, plan.must)
        self.key = run_key("audit", self.identity())
        self.rationales = any(each.rationale is not None for each in subject.documents)

    def identity(self) -> dict[str, Any]:
        """What names the audit: the same facts give the same rows."""
        return {"version": VERSION, "spec": asdict(self.spec), **dict(self.subject.key)}

    def part(self, indices: np.ndarray) -> Part:
        """Measured now, or found where an earlier start left it."""
        batch = self.subject.encode(indices)
        folder = self.plan.store.scratch(self.key) if self.plan.store else None
        name = run_key("part", {"ids": list(batch.ids)})
        found = _read(folder, name) if folder else None
        if found is None:
            clusters = tuple(self.subject.documents[i].cluster for i in indices)
            found = self.measure(batch, clusters, self._rationale(indices, batch))
            if folder:
                _write(folder, name, found)
        return found

    def _rationale(self, indices: np.ndarray, batch: Batch) -> torch.Tensor | None:
        """Marked words; a text without a rationale has none, and no measure of it."""
        if not self.rationales:
            return None
        marks = torch.zeros_like(word_mask(batch.texts["a"]))
        for row, index in enumerate(indices):
            given = self.subject.documents[index].rationale or ()
            width = min(len(given), marks.shape[1])
            marks[row, :width] = torch.tensor(given[:width], dtype=torch.bool)
        return marks

    def judge(self, parts: list[Part], settings: Settings, look: int) -> Verdict:
        looks = LOOKS if self.plan.budget else 1
        rows = ordered(pd.concat([each.rows for each in parts], ignore_index=True))
        chosen = replace(settings, look=min(look, looks), looks=looks)
        return judge(rows, _costs(parts), self.facts(parts), chosen)

    def facts(self, parts: list[Part]) -> dict[str, Any]:
        subject = self.subject
        skipped = {name: why for each in parts for name, why in each.skipped.items()}
        return {
            "model": subject.family,
            "data": subject.source,
            "classes": list(subject.label_names),
            "texts": len(subject),
            "truncated": subject.truncated.texts / max(1, len(subject)),
            "words_lost": subject.truncated.share,
            "dropped": dict(subject.dropped),
            "notes": list(subject.notes),
            "skipped": skipped,
            "explanations": list(self.spec.explanations),
            "operators": list(self.spec.operators),
            "key": self.key,
            "device": subject.device,
        }

    def result(self, parts: list[Part], verdict: Verdict) -> Audit:
        rows = ordered(pd.concat([each.rows for each in parts], ignore_index=True))
        maps = pd.concat([each.maps for each in parts], ignore_index=True)
        maps = maps.sort_values(["explanation", "example"], kind="stable").reset_index(drop=True)
        seen = set(rows["example"])
        documents = [each for each in self.subject.documents if each.id in seen]
        return Audit(verdict, rows, maps, _costs(parts), _documents(documents), self.facts(parts))


def _costs(parts: list[Part]) -> pd.DataFrame:
    totals: dict[str, Cost] = {}
    for part in parts:
        for name, cost in part.costs.items():
            totals.setdefault(name, Cost()).add(cost)
    rows = [
        (name, 1000 * each.seconds / max(1, each.texts), each.passes / max(1, each.texts))
        for name, each in totals.items()
    ]
    return pd.DataFrame(rows, columns=["explanation", "milliseconds_per_text", "passes_per_text"])


def _documents(documents: list[Any]) -> pd.DataFrame:
    columns: Mapping[str, list[Any]] = {
        "example": [each.id for each in documents],
        "words": [list(each.surface) for each in documents],
        "text": [each.texts["a"] for each in documents],
        "text_b": [each.texts.get("b", "") for each in documents],
        "label": [-1 if each.label is None else each.label for each in documents],
        "rationale": [None if e.rationale is None else list(e.rationale) for e in documents],
    }
    return pd.DataFrame(columns)


def _write(folder: Path, name: str, part: Part) -> None:
    """Costs last: a part is there when they are."""
    part.rows.to_parquet(folder / f"{name}.rows.parquet", index=False)
    part.maps.to_parquet(folder / f"{name}.maps.parquet", index=False)
    costs = pd.DataFrame(
        [(n, c.seconds, c.passes, c.texts, "") for n, c in part.costs.items()]
        + [(n, 0.0, 0, 0, why) for n, why in part.skipped.items()],
        columns=["explanation", "seconds", "passes", "texts", "skipped"],
    )
    building = folder / f"{name}.costs.writing"
    costs.to_parquet(building, index=False)
    building.rename(folder / f"{name}.costs.parquet")


def _read(folder: Path, name: str) -> Part | None:
    if not (folder / f"{name}.costs.parquet").is_file():
        return None
    rows, maps, costs = (
        pd.read_parquet(folder / f"{name}.{kind}.parquet") for kind in ("rows", "maps", "costs")
    )
    done = costs[costs["skipped"] == ""]
    skipped = costs[costs["skipped"] != ""]
    return Part(
        rows,
        maps,
        {
            str(name): Cost(float(seconds), int(passes), int(texts))
            for name, seconds, passes, texts in zip(
                *(done[c] for c in ("explanation", "seconds", "passes", "texts")), strict=True
            )
        },
        dict(zip(skipped["explanation"], skipped["skipped"], strict=True)),
    )
