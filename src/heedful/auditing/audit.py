"""Put a model on trial: measure wave by wave, keep what is measured, judge."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import torch

from heedful.auditing.explained import Cost
from heedful.auditing.measure import Measurer, Part, health_texts
from heedful.auditing.named import named
from heedful.auditing.operators import distinct_operators, operator_notes
from heedful.auditing.pace import Pace
from heedful.auditing.parts import read_part, write_part
from heedful.auditing.result import Audit
from heedful.auditing.shown import MOST_TEXTS, together
from heedful.auditing.spec import AuditSpec
from heedful.auditing.stored import KIND, find_audit, store_audit
from heedful.auditing.table import ordered
from heedful.auditing.waves import FIRST, WAVE, batches, first_texts, waves
from heedful.errors import HeedfulError
from heedful.progress import Progress, silent
from heedful.removal import REMOVALS
from heedful.saliency.prior import fit_prior
from heedful.store import Run, Store, run_key
from heedful.subjects import Subject, open_subject
from heedful.subjects.document import Document
from heedful.types import Batch
from heedful.verdict.settings import Settings
from heedful.verdict.verdict import Verdict, judge
from heedful.words import word_mask

VERSION = 7
LOOKS = 4
MANY_CLASSES = 1000


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
    found = _measured(trial, settings)
    if plan.store is not None and found.facts["measured"] == len(subject):
        store_audit(plan.store, trial.identity, found)
    return found


def _measured(trial: _Trial, settings: Settings) -> Audit:
    """Wave by wave; with a budget until it is spent or the verdict is clear."""
    plan, parts = trial.plan, list[Part]()
    verdict: Verdict | None = None
    first = FIRST if plan.budget else WAVE
    steps = list(waves(trial.subject, trial.spec.seed, first=first))
    looks = _looks([len(each) for each in steps]) if plan.budget else {}
    done = 0
    for number, wave in enumerate(steps, 1):
        some = trial.pace.affordable(wave)
        for indices in batches(trial.subject, some):
            parts.append(trial.part(indices))
            done += len(indices)
            plan.progress("audit", done, len(trial.subject))
        look = looks.get(number) if len(some) == len(wave) else None
        verdict = trial.judge(parts, settings, look) if look is not None else None
        if len(some) < len(wave) or (verdict is not None and verdict.decided):
            break
    return trial.result(parts, verdict or trial.judge(parts, settings, LOOKS))


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
        checked = health_texts([each.id for each in subject.documents], spec.seed)
        kept = first_texts(subject, spec.seed, MOST_TEXTS)
        self.measure = Measurer(subject.model, spec, prior, checked, plan.must, kept)
        self.key = run_key(KIND, self.identity)
        self.rationales = any(each.rationale is not None for each in subject.documents)

    @property
    def identity(self) -> dict[str, Any]:
        """What names the audit: the same facts give the same rows."""
        spec = self.spec
        versions = {name: named(name).piece.version for name in spec.explanations}
        ways = {name: REMOVALS[name].version for name in spec.operators}
        own = {"version": VERSION, "spec": asdict(spec), "pieces": versions, "operators": ways}
        return {**own, **dict(self.subject.key)}

    def part(self, indices: np.ndarray) -> Part:
        """Measured now, or found where an earlier start left it."""
        batch = self.subject.encode(indices)
        folder = self.plan.store.scratch(self.key) if self.plan.store else None
        name = run_key("part", {"ids": list(batch.ids)})
        found = read_part(folder, name, batch.ids) if folder else None
        if found is None:
            clusters = tuple(self.subject.documents[i].cluster for i in indices)
            with self.pace.measuring(len(indices)):
                found = self.measure(batch, clusters, self._rationale(indices, batch))
            if folder:
                write_part(folder, name, found)
        self._refuse(found.skipped)
        return found

    def _refuse(self, skipped: Mapping[str, str]) -> None:
        """What was found may have left out what is now asked for by name."""
        for name in sorted(self.plan.must & set(skipped)):
            raise HeedfulError(skipped[name])

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
        chosen = replace(settings, look=min(look, looks), looks=looks)
        return judge_rows(_rows(parts), _costs(parts), self.facts(_skipped(parts), parts), chosen)

    def facts(self, skipped: Mapping[str, str], parts: list[Part] | None = None) -> dict[str, Any]:
        """`parts` are those measured so far, left out where all texts are."""
        subject = self.subject
        total = len(subject)
        measured = total if parts is None else sum(each.rows["example"].nunique() for each in parts)
        early = [f"stopped early: {measured} of {total} texts were measured."]
        return {
            "model": subject.family,
            "data": subject.source,
            "classes": list(subject.label_names),
            "texts": total,
            "measured": measured,
            "truncated": subject.truncated.texts / max(1, total),
            "words_lost": subject.truncated.share,
            "dropped": dict(subject.dropped),
            "notes": [*self.notes, *_left_out(subject), *(early if measured < total else ())],
            "skipped": dict(skipped),
            "explanations": list(self.spec.explanations),
            "operators": list(self.spec.operators),
            "spec": spec_digest(self.spec),
            "key": self.key,
            "device": subject.device,
        }

    def result(self, parts: list[Part], verdict: Verdict) -> Audit:
        rows = _rows(parts)
        maps = pd.concat([each.maps for each in parts], ignore_index=True)
        maps = maps.sort_values(["explanation", "example"], kind="stable").reset_index(drop=True)
        seen = set(rows["example"])
        documents = _documents([each for each in self.subject.documents if each.id in seen])
        facts = self.facts(_skipped(parts), parts)
        shown = together([each.shown for each in parts])
        return Audit(verdict, rows, maps, _costs(parts), documents, facts, shown)

    def again(self, run: Run, settings: Settings) -> Audit:
        """The measurements of a finished audit, judged by these settings, and as the last of
        as many looks as it took. Names of classes and of the data are no part of what was
        measured: they are today's."""
        skipped: Mapping[str, str] = run.json("facts")["skipped"]
        self._refuse(skipped)
        tables = (run.table(name) for name in ("rows", "maps", "costs", "shown"))
        rows, maps, costs, shown = tables
        facts = self.facts(skipped)
        looks = int(run.json("verdict")["settings"]["looks"])
        verdict = judge_rows(rows, costs, facts, replace(settings, look=looks, looks=looks))
        documents = _documents(self.subject.documents)
        return Audit(verdict, rows, maps, costs, documents, facts, shown)


def _left_out(subject: Subject) -> Iterator[str]:
    """Texts that could not be used are said, not only counted."""
    for why, count in subject.dropped.items():
        yield f"{count} text{'s' * (count != 1)} left out: {why}."


def spec_digest(spec: AuditSpec) -> str:
    """The same for audits whose numbers may be compared."""
    return run_key("spec", asdict(spec)).removeprefix("spec-")


def judge_rows(
    rows: pd.DataFrame, costs: pd.DataFrame, facts: dict[str, Any], settings: Settings
) -> Verdict:
    """A vocabulary as classes would make up most of a verdict; the audit's facts have it."""
    many = len(facts["classes"]) > MANY_CLASSES
    shown = {name: facts[name] for name in facts if not (many and name == "classes")}
    return judge(rows, costs, shown, settings)


def _rows(parts: list[Part]) -> pd.DataFrame:
    """Without those of explanations that were skipped on some texts: an explanation is
    measured on all texts or on none."""
    rows = pd.concat([each.rows for each in parts], ignore_index=True)
    return ordered(rows[~rows["explanation"].isin(list(_skipped(parts)))])


def _skipped(parts: list[Part]) -> dict[str, str]:
    return {name: why for each in parts for name, why in each.skipped.items()}


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


def _documents(documents: Sequence[Document]) -> pd.DataFrame:
    columns: Mapping[str, list[Any]] = {
        "example": [each.id for each in documents],
        "words": [list(each.surface) for each in documents],
        "starts": [_characters(each, 0) for each in documents],
        "ends": [_characters(each, 1) for each in documents],
        "words_a": [len(each.words["a"]) for each in documents],
        "text": [each.texts["a"] for each in documents],
        "text_b": [each.texts.get("b", "") for each in documents],
        "label": [-1 if each.label is None else each.label for each in documents],
        "rationale": [None if e.rationale is None else list(e.rationale) for e in documents],
    }
    return pd.DataFrame(columns)


def _characters(document: Document, end: int) -> list[int]:
    """Where each word begins (0) or ends (1) in the text of its side."""
    return [span[end] for spans in document.words.values() for span in spans]
