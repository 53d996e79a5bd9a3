"""Put a model on trial: measure wave by wave, keep what is measured, judge."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
import torch

from heedful.auditing.documents import documents_table
from heedful.auditing.gathered import BLOCK, Gathered, Home
from heedful.auditing.measure import Measurer, Part, health_texts
from heedful.auditing.named import named
from heedful.auditing.operators import distinct_operators, operator_notes
from heedful.auditing.pace import Pace
from heedful.auditing.parts import read_part, write_part
from heedful.auditing.result import Audit
from heedful.auditing.shown import MOST_TEXTS
from heedful.auditing.spec import AuditSpec
from heedful.auditing.stored import KIND, find_audit, looks_of, store_audit, stored_tables
from heedful.auditing.waves import FIRST, WAVE, batches, first_texts, waves
from heedful.errors import HeedfulError
from heedful.progress import Progress, silent
from heedful.removal import REMOVALS
from heedful.saliency.prior import fit_prior
from heedful.store import Frames, Run, Store, run_key
from heedful.store.frames import PartGone
from heedful.subjects import Subject, open_subject
from heedful.subjects.document import Document
from heedful.types import Batch
from heedful.verdict.settings import Settings
from heedful.verdict.verdict import Verdict, judge
from heedful.words import word_mask

VERSION = 7
LOOKS = 4
MANY_CLASSES = 1000
MOST_JUDGED = 10 * BLOCK
"""Where more texts would hardly narrow an interval, and would be paid for in memory."""


@dataclass(frozen=True)
class Plan:
    """How an audit is run; none of it changes what is measured on a text.

    With a `budget` in seconds the evidence is looked at four times on the way, each look at a
    price in alpha, and the audit ends when the verdict is clear or the time is up: at
    `deadline`, by the `clock`, which runs from before the model is loaded."""

    store: Store | None = None
    budget: float | None = None
    progress: Progress = silent
    must: frozenset[str] = frozenset()
    clock: Callable[[], float] = time.monotonic
    deadline: float | None = None

    def started(self) -> Plan:
        """From now on time counts, unless it does already."""
        if self.budget is None or self.deadline is not None:
            return self
        return replace(self, deadline=self.clock() + self.budget)


def audit(
    model: Any,
    data: Any = None,
    spec: AuditSpec = AuditSpec(),
    settings: Settings = Settings(),
    plan: Plan = Plan(),
    **options: Any,
) -> Audit:
    """The verdict on a model's attention on these texts. `options` are `open_subject`'s."""
    plan = plan.started()
    with open_subject(model, data, **options) as subject:
        return audit_subject(subject, spec, settings, plan)


def audit_subject(
    subject: Subject,
    spec: AuditSpec = AuditSpec(),
    settings: Settings = Settings(),
    plan: Plan = Plan(),
) -> Audit:
    """With a store, finished batches are kept and a second start goes on after them; what is
    finished altogether is a run of kind `audit`, and only judged again."""
    if not len(subject):
        raise HeedfulError("there are no texts to audit: check the data.")
    settings = replace(
        settings,
        importance=settings.importance or spec.importance,
        operators=distinct_operators(subject.model, settings.operators),
    )
    trial = _Trial(subject, spec, plan.started())
    known = find_audit(plan.store, trial.identity)
    if known is not None:
        return trial.again(known, settings)
    try:
        found, verdict = _measured(trial, settings)
        result = Audit(verdict, found.tables(), trial.facts(found.skipped, found.texts))
        if plan.store is None or found.texts < len(subject):
            return result
        return store_audit(plan.store, trial.identity, result)
    except PartGone:  # whoever finished the same audit first has cleaned up
        known = find_audit(plan.store, trial.identity)
        if known is None:
            raise
        return trial.again(known, settings)


def identity(subject: Subject, spec: AuditSpec) -> dict[str, Any]:
    """What names an audit: the same facts give the same rows. Nothing has to be measured."""
    spec = replace(spec, operators=distinct_operators(subject.model, spec.operators))
    pieces = {name: named(name).piece for name in spec.explanations}
    versions = {name: piece.version for name, piece in pieces.items()}
    origins = {name: piece.origin for name, piece in pieces.items() if piece.origin}
    ways = {name: REMOVALS[name].version for name in spec.operators}
    own = {"version": VERSION, "spec": asdict(spec), "pieces": versions, "operators": ways}
    strangers = {"origins": origins} if origins else {}
    return {**own, **strangers, **dict(subject.key)}


def _measured(trial: _Trial, settings: Settings) -> tuple[Gathered, Verdict]:
    """Wave by wave; with a budget until it is spent or the verdict is clear."""
    plan, found = trial.plan, trial.gathered()
    verdict: Verdict | None = None
    first = FIRST if plan.budget else WAVE
    steps = list(waves(trial.subject, trial.spec.seed, first=first))
    looks = _looks([len(each) for each in steps]) if plan.budget else {}
    for number, wave in enumerate(steps, 1):
        some = trial.pace.affordable(wave)
        for indices in batches(trial.subject, some):
            trial.add(found, indices)
            plan.progress("audit", found.texts, len(trial.subject))
        look = looks.get(number) if len(some) == len(wave) else None
        verdict = trial.judge(found, settings, look) if look is not None else None
        if len(some) < len(wave) or (verdict is not None and verdict.decided):
            break
    return found, verdict or trial.judge(found, settings, LOOKS)


def _looks(sizes: Sequence[int]) -> dict[int, int]:
    """After which waves the evidence is looked at, and which look that is: as soon as another
    quarter of the texts is there. A wave that completes several counts as the last of them."""
    ends, total = np.cumsum(sizes), sum(sizes)
    return {
        int(np.searchsorted(ends, total * look / LOOKS)) + 1: look for look in range(1, LOOKS + 1)
    }


class _Trial:
    def __init__(self, subject: Subject, spec: AuditSpec, plan: Plan) -> None:
        self.notes = (*subject.notes, *operator_notes(subject.model, spec.operators))
        spec = replace(spec, operators=distinct_operators(subject.model, spec.operators))
        self.subject, self.spec, self.plan = subject, spec, plan
        self.pace = Pace(plan.clock, plan.deadline)
        prior = fit_prior(batch for _, batch in subject.batches())
        checked = health_texts(subject.ids, spec.seed)
        kept = first_texts(subject, spec.seed, MOST_TEXTS)
        self.measure = Measurer(subject.model, spec, prior, checked, plan.must, kept)
        self.key = run_key(KIND, self.identity)
        self.rationales = subject.rationales

    @property
    def identity(self) -> dict[str, Any]:
        return identity(self.subject, self.spec)

    def gathered(self) -> Gathered:
        """Nothing yet. Without a store parts are kept in a folder that goes with the result."""
        if self.plan.store is not None:
            return Gathered(self.plan.store.scratch(self.key))
        home = Home()
        return Gathered(home.path, home)

    def add(self, found: Gathered, indices: np.ndarray) -> None:
        """Measured now, or found where an earlier start left it."""
        batch = self.subject.encode(indices)
        name = run_key("part", {"ids": list(batch.ids)})
        part = read_part(found.folder, name, batch.ids)
        if part is None:
            part = self._measured(indices, batch)
            write_part(found.folder, name, part)
        self._refuse(part.skipped)
        found.add(name, part, len(indices))

    def _measured(self, indices: np.ndarray, batch: Batch) -> Part:
        documents = [self.subject.documents[int(i)] for i in indices]
        clusters = tuple(each.cluster for each in documents)
        with self.pace.measuring(len(indices)):
            found = self.measure(batch, clusters, self._rationale(documents, batch))
        return replace(found, documents=documents_table(documents).assign(place=indices))

    def _refuse(self, skipped: Mapping[str, str]) -> None:
        """What was found may have left out what is now asked for by name."""
        for name in sorted(self.plan.must & set(skipped)):
            raise HeedfulError(skipped[name])

    def _rationale(self, documents: Sequence[Document], batch: Batch) -> torch.Tensor | None:
        """Marked words; a text without a rationale has none, and no measure of it."""
        if not self.rationales:
            return None
        marks = torch.zeros_like(word_mask(batch.texts["a"]))
        for row, document in enumerate(documents):
            given = document.rationale or ()
            width = min(len(given), marks.shape[1])
            marks[row, :width] = torch.tensor(given[:width], dtype=torch.bool)
        return marks

    def judge(self, found: Gathered, settings: Settings, look: int) -> Verdict:
        looks = LOOKS if self.plan.budget else 1
        chosen = replace(settings, look=min(look, looks), looks=looks)
        facts = self.facts(found.skipped, found.texts)
        return judge_rows(found.tables()["rows"], found.costs(), facts, chosen)

    def facts(self, skipped: Mapping[str, str], measured: int) -> dict[str, Any]:
        subject = self.subject
        total = len(subject)
        return {
            "model": subject.family,
            "data": subject.source,
            "classes": list(subject.label_names),
            "texts": total,
            "measured": measured,
            "truncated": subject.truncated.texts / max(1, total),
            "words_lost": subject.truncated.share,
            "dropped": dict(subject.dropped),
            "notes": [*self.notes, *_left_out(subject), *_counted(measured, total)],
            "skipped": dict(skipped),
            "explanations": list(self.spec.explanations),
            "operators": list(self.spec.operators),
            "spec": spec_digest(self.spec),
            "key": self.key,
            "device": subject.device,
        }

    def again(self, run: Run, settings: Settings) -> Audit:
        """The measurements of a finished audit, judged by these settings, and as the last of
        as many looks as it took. Names of classes and of the data are no part of what was
        measured: they are today's."""
        skipped: Mapping[str, str] = run.json("facts")["skipped"]
        self._refuse(skipped)
        tables = stored_tables(run)
        facts = self.facts(skipped, len(self.subject))
        looks = looks_of(run)
        chosen = replace(settings, look=looks, looks=looks)
        verdict = judge_rows(tables["rows"], tables["costs"].whole, facts, chosen)
        return Audit(verdict, tables, facts)


def _left_out(subject: Subject) -> Iterator[str]:
    """Texts that could not be used are said, not only counted."""
    for why, count in subject.dropped.items():
        yield f"{count} text{'s' * (count != 1)} left out: {why}."


def _counted(measured: int, total: int) -> Iterator[str]:
    """What was not measured, decided on or shown."""
    if measured < total:
        yield f"stopped early: {measured} of {total} texts were measured."
    if measured > MOST_JUDGED:
        yield f"decided on {MOST_JUDGED:,} of the {measured:,} texts measured, a random sample."
    if measured > BLOCK:
        yield f"single texts and charts are of {BLOCK:,} of the texts, a random sample."


def spec_digest(spec: AuditSpec) -> str:
    """The same for audits whose numbers may be compared."""
    return run_key("spec", asdict(spec)).removeprefix("spec-")


def judge_rows(
    rows: Frames, costs: pd.DataFrame, facts: dict[str, Any], settings: Settings
) -> Verdict:
    """Of very many texts the first ones, which are a random sample. A vocabulary as classes
    would make up most of a verdict; the audit's facts have it."""
    many = len(facts["classes"]) > MANY_CLASSES
    shown = {name: facts[name] for name in facts if not (many and name == "classes")}
    return judge(islice(rows, MOST_JUDGED // BLOCK), costs, shown, settings)
