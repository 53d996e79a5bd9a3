"""Put a model on trial: measure wave by wave, keep what is measured, judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from heedful.auditing.cost import estimate_subject, first_guess
from heedful.auditing.gathered import Gathered
from heedful.auditing.named import signed, uses_of
from heedful.auditing.operators import distinct_operators
from heedful.auditing.plan import LOOKS, Plan
from heedful.auditing.result import Audit
from heedful.auditing.spec import AuditSpec
from heedful.auditing.stored import find_audit, store_audit
from heedful.auditing.trial import Trial
from heedful.auditing.waves import FIRST, WAVE, batches, waves
from heedful.errors import HeedfulError
from heedful.progress import duration, silent
from heedful.store import PartGone
from heedful.subjects import Subject, open_subject
from heedful.verdict import Settings, Verdict

LONG = 60.0
"""Seconds, before which nobody is told how long it will take."""
FEW = 8
"""Texts, of which some more are not measured only to know."""


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
        uses=uses_of(subject.model, spec.explanations) | dict(settings.uses),
        signed=settings.signed or signed(spec.explanations),
    )
    alone = set(spec.only) == {"plausibility"}
    if (alone or "plausibility" in plan.must) and not subject.rationales:
        raise HeedfulError(
            "plausibility is measured against rationales, and the texts have none: name their "
            "column (--rationale-column), or leave plausibility out of --only."
        )
    trial, store = Trial(subject, spec, plan.started()), plan.opened
    known = find_audit(store, trial.identity)
    if known is not None:
        return trial.again(known, settings)
    try:
        found, verdict = _measured(trial, settings)
        tables = found.tables()
        facts = trial.facts(found.skipped, found.texts, tables["rows"])
        result = Audit(verdict, tables, facts)
        if store is None or found.texts < len(subject):
            return result
        return store_audit(store, trial.identity, result)
    except PartGone:  # whoever finished the same audit first has cleaned up
        known = find_audit(store, trial.identity)
        if known is None:
            raise
        return trial.again(known, settings)


def _measured(trial: Trial, settings: Settings) -> tuple[Gathered, Verdict]:
    """Wave by wave; with a budget until it is spent or the verdict is clear."""
    plan, found = trial.plan, trial.gathered()
    _forecast(trial, found)
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


def _forecast(trial: Trial, found: Gathered) -> None:
    """Say how long it will take, where somebody listens and it is long. Nothing is timed where a
    first guess says it is short, where time is limited anyway, or where a start was made before."""
    plan, subject = trial.plan, trial.subject
    heard = plan.announce is not None or plan.progress is not silent
    if not heard or plan.budget or len(subject) < FEW or found.begun:
        return
    plan.progress("timing a few texts", 0, len(subject))
    if first_guess(subject) < LONG / 3:  # right to an order of magnitude
        return
    cost = estimate_subject(subject, trial.spec)
    if cost.seconds >= LONG:
        line = f"about {duration(cost.seconds)} for {cost.texts} texts (timed on {cost.timed})"
        plan.progress(line, 0, len(subject))
        if plan.announce is not None:
            plan.announce(line)


def _looks(sizes: Sequence[int]) -> dict[int, int]:
    """After which waves the evidence is looked at, and which look that is: as soon as another
    quarter of the texts is there. A wave that completes several counts as the last of them."""
    ends, total = np.cumsum(sizes), sum(sizes)
    return {
        int(np.searchsorted(ends, total * look / LOOKS)) + 1: look for look in range(1, LOOKS + 1)
    }
