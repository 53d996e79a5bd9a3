"""Put a model on trial: measure wave by wave, keep what is measured, judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from heedful.attributions import fit_prior
from heedful.auditing.compare import check_trainings, over_seeds
from heedful.auditing.experiments import GAP
from heedful.auditing.explanation import distinct_operators, operator_notes, signed, uses_of
from heedful.auditing.heads import head_table
from heedful.auditing.measure import (
    Measurer,
    checked_texts,
    marked_words,
    punctuation_marks,
)
from heedful.auditing.options import Measuring, Running
from heedful.auditing.page_data import MOST_TEXTS, documents_table, site_words
from heedful.auditing.result import (
    KIND,
    Audit,
    find_audit,
    identity,
    spec_digest,
    store_audit,
    stored_tables,
)
from heedful.auditing.schedule import (
    FIRST,
    LOOKS,
    WAVE,
    Estimate,
    Pace,
    Plan,
    ablation_means,
    batches,
    estimate_subject,
    first_guess,
    first_texts,
    waves,
)
from heedful.auditing.spec import EXTRA, GROUPS, AuditSpec, group_name
from heedful.auditing.tables import (
    Measurements,
    Part,
    counted,
    judge_rows,
    read_part,
    write_part,
)
from heedful.errors import HeedfulError
from heedful.keywords import taken, takes
from heedful.progress import duration, progress_bar, silent
from heedful.store import Frames, PartGone, Run, run_key
from heedful.targets import AuditTarget, Loading, Reading, open_target
from heedful.types import Batch
from heedful.units import WORD
from heedful.verdict import Settings, Verdict, stored_verdict
from heedful.words import word_mask

LONG = 60.0
"""Seconds, before which nobody is told how long it will take."""
FEW = 8
"""Texts, of which some more are not measured only to know."""


@takes(Reading, Measuring, Running, Loading)
def audit(
    model: Any,
    data: Any = None,
    spec: AuditSpec | None = None,
    settings: Settings | None = None,
    plan: Plan | None = None,
    **options: Any,
) -> Audit:
    """The verdict on a model's attention on these texts.

    `model` is a Hugging Face folder or hub id, a pipeline, a (model, tokenizer) pair, a run of
    kind `model` (its key with `store=`, its folder, or the run), or an `Adapter`.
    `data` is a table (a data frame, a dataset, a list of dicts), a CSV, TSV, JSONL or Parquet
    file, or a corpus by name; a run may do without and uses its own corpus.
    `spec`, `settings` and `plan` are for what keywords do not reach; keywords come on top of them.
    """
    measuring, running = taken(Measuring, options), taken(Running, options)
    spec = measuring.spec(spec or AuditSpec(), options.get("seed"))
    settings = measuring.settings(settings or Settings())
    plan = running.plan(plan or Plan(), options.get("store"))
    plan = replace(plan, must=plan.must | measuring.must)
    models = [model, *running.others]
    if running.others:
        check_trainings(models, Reading(store=options.get("store")).opened)
    audits = []
    for each in models:
        with running.watched(plan.started()) as watched, open_target(each, data, **options) as one:
            audits.append(audit_subject(one, spec, settings, watched))
    return over_seeds(audits, settings) if len(audits) > 1 else audits[0]


@takes(Reading, Measuring, Loading)
def estimate(
    model: Any, data: Any = None, spec: AuditSpec | None = None, **options: Any
) -> Estimate:
    """How long `heedful.audit` of the same would take on this machine, whatever the model is: an
    `Adapter` too. Takes as long as a few texts."""
    spec = taken(Measuring, options).spec(spec or AuditSpec(), options.get("seed"))
    with progress_bar() as progress, open_target(model, data, **options) as subject:
        progress("timing a few texts", 0, 1)
        return estimate_subject(subject, spec)


def audit_subject(
    subject: AuditTarget,
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
        unit=subject.unit,
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
        heads = head_table(subject, tables["rows"].first)
        result = Audit(verdict, {**tables, "heads": Frames.of(heads)}, facts)
        if store is None or found.texts < len(subject):
            return result
        return store_audit(store, trial.identity, result)
    except PartGone:  # whoever finished the same audit first has cleaned up
        known = find_audit(store, trial.identity)
        if known is None:
            raise
        return trial.again(known, settings)


def _measured(trial: Trial, settings: Settings) -> tuple[Measurements, Verdict]:
    """Wave by wave; with a budget until it is spent or the verdict is clear."""
    plan, store = trial.plan, trial.plan.opened
    found = Measurements.temporary() if store is None else Measurements(store.scratch(trial.key))
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


def _forecast(trial: Trial, found: Measurements) -> None:
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


# One subject on trial: its batches measured or found again, its facts, and its verdict.


class Trial:
    def __init__(self, subject: AuditTarget, spec: AuditSpec, plan: Plan) -> None:
        self.notes = (*subject.notes, *operator_notes(subject.model, spec.operators))
        spec = replace(spec, operators=distinct_operators(subject.model, spec.operators))
        self.subject, self.spec, self.plan = subject, spec, plan
        self.pace = Pace(plan.clock, plan.deadline)
        self.measure = Measurer(
            subject.model,
            spec,
            fit_prior(batch for _, batch in subject.batches()),
            checked_texts(subject.ids, spec.seed),
            plan.must,
            first_texts(subject, spec.seed, MOST_TEXTS),
            subject.marked_share,
            ablation_means(subject, spec),
        )
        self._refuse(self.measure.skipped)
        self.identity = identity(subject, spec)
        self.key = run_key(KIND, self.identity)

    @cached_property
    def site(self) -> str:
        """The attention on trial, in words."""
        return site_words(self.subject.model, self.subject.encode(np.array([0])))

    def add(self, found: Measurements, indices: np.ndarray) -> None:
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
            mask = word_mask(batch.texts["a"])
            rationale = marked_words(documents, mask) if self.subject.rationales else None
            punctuation = punctuation_marks(documents, mask)
            found = self.measure(batch, clusters, rationale, punctuation)
        return replace(found, documents=documents_table(documents).assign(place=indices))

    def _refuse(self, skipped: Mapping[str, str]) -> None:
        """What was found may have left out what is now asked for by name."""
        skipped = {group_name(name): why for name, why in skipped.items()}
        for name in sorted(set(map(group_name, self.plan.must)) & set(skipped)):
            group = name in (*GROUPS, *EXTRA)
            leave = f"leave out {name}, which cannot be measured here: " if group else ""
            raise HeedfulError(f"{leave}{skipped[name]}")

    def judge(self, found: Measurements, settings: Settings, look: int) -> Verdict:
        """At this look of `LOOKS`, or once and for all where time is not limited."""
        looks = LOOKS if self.plan.budget else 1
        chosen = replace(settings, look=min(look, looks), looks=looks)
        rows = found.tables()["rows"]
        facts = self.facts(found.skipped, found.texts, rows)
        return judge_rows(rows, found.costs(), facts, chosen)

    def facts(self, skipped: Mapping[str, str], measured: int, rows: Frames) -> dict[str, Any]:
        subject = self.subject
        total = len(subject)
        left_out = (
            f"{count} text{'s' * (count != 1)} left out: {why}."
            for why, count in subject.dropped.items()
        )
        oracle = search_facts(rows.first, self.spec.exact)  # of very many texts the first ones
        return {
            "model": subject.family,
            **({"name": subject.name} if subject.name else {}),
            **({"asked": subject.question} if subject.question else {}),
            "site": self.site,
            "data": subject.source,
            **({} if subject.unit == WORD else {"unit": subject.unit}),
            "classes": list(subject.label_names),
            "texts": total,
            "measured": measured,
            "truncated": subject.truncated.texts / max(1, total),
            "words_lost": subject.truncated.share,
            "dropped": dict(subject.dropped),
            "notes": [*self.notes, *left_out, *counted(measured, total)],
            "skipped": dict(skipped),
            "explanations": list(self.spec.explanations),
            "operators": list(self.spec.operators),
            "spec": spec_digest(self.spec),
            "key": self.key,
            "device": subject.device,
            **({"oracle": oracle} if oracle else {}),
        }

    def again(self, run: Run, settings: Settings) -> Audit:
        """The measurements of a finished audit, judged by these settings, and as the last of
        as many looks as it took. Names of classes and of the data are no part of what was
        measured: they are today's."""
        skipped: Mapping[str, str] = run.json("facts")["skipped"]
        self._refuse(skipped)
        tables = stored_tables(run)
        facts = self.facts(skipped, len(self.subject), tables["rows"])
        looks = stored_verdict(run).asked.looks
        chosen = replace(settings, look=looks, looks=looks)
        verdict = judge_rows(tables["rows"], tables["costs"].whole, facts, chosen)
        return Audit(verdict, tables, facts)


SAME = 1e-6
"""A gap that is none."""


def search_facts(rows: pd.DataFrame, exact: int) -> dict[str, Any]:
    """How often the search for the best order reaches the optimum, and by how much it misses it, on
    the texts of at most `exact` words; nothing where there are none."""
    found = rows[rows["measure"].str.startswith(GAP) & (rows["model"] == "base")].dropna()
    if found.empty:
        return {}
    by_measure = found.groupby(found["measure"].str.removeprefix(GAP))["value"]
    return {
        "exact_words": exact,
        "examples": int(found["example"].nunique()),
        "equal": float((found["value"] <= SAME).mean()),
        "equal_by_measure": {str(name): float((part <= SAME).mean()) for name, part in by_measure},
        "gap_by_measure": {str(name): float(part.mean()) for name, part in by_measure},
    }
