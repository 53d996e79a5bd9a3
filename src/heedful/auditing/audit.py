"""Put a model on trial: measure wave by wave, keep what is measured, judge."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from heedful.auditing.compare import check_trainings, over_seeds
from heedful.auditing.explanation import asked, distinct_operators, signed, uses_of
from heedful.auditing.heads import head_table
from heedful.auditing.options import Measuring, Running
from heedful.auditing.result import Audit, find_audit, store_audit
from heedful.auditing.schedule import (
    FIRST,
    WAVE,
    Estimate,
    Looks,
    Plan,
    batches,
    estimate_subject,
    first_guess,
    is_slow,
    waves,
)
from heedful.auditing.spec import AuditSpec
from heedful.auditing.tables import Measurements
from heedful.auditing.trial import Trial
from heedful.errors import HeedfulError
from heedful.keywords import taken, takes
from heedful.progress import duration, progress_bar, silent
from heedful.store import PartGone
from heedful.targets import AuditTarget, Loading, Reading, open_target
from heedful.verdict import Settings, Verdict

if TYPE_CHECKING:
    from heedful.auditing.workers import Workers

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
    It stops as soon as the answer is settled, or after five minutes; `all` measures every text.
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
    teams: list[Workers | None] = [None] * len(models)
    if running.by_workers:  # else their modules are not imported
        from heedful.auditing.workers import workers_of

        with running.limited():  # to plan for workers sets threads as theirs will be
            teams = [workers_of(running, each, data, (spec, plan), options) for each in models]
    audits: list[Audit] = []
    for each, team in zip(models, teams, strict=True):
        with running.watched(plan.started()) as watched, open_target(each, data, **options) as one:
            first = replace(watched, by_token=watched.by_token and not audits)
            audits.append(audit_subject(one, spec, settings, first, team))
    return over_seeds(audits, settings) if len(audits) > 1 else audits[0]


@takes(Reading, Measuring, Loading)
def estimate(
    model: Any, data: Any = None, spec: AuditSpec | None = None, **options: Any
) -> Estimate:
    """How long `heedful.audit` of the same would take on this machine, whatever the model is: an
    `Adapter` too. Takes as long as a few texts."""
    measuring = taken(Measuring, options)
    spec = measuring.spec(spec or AuditSpec(), options.get("seed"))
    with progress_bar() as progress, open_target(model, data, **options) as subject:
        progress("timing a few texts", 0, 1)
        tried = asked(subject, spec.explanations, measuring.must)
        return estimate_subject(subject, replace(spec, explanations=tried))


def audit_subject(
    subject: AuditTarget,
    spec: AuditSpec = AuditSpec(),
    settings: Settings = Settings(),
    plan: Plan = Plan(),
    workers: Workers | None = None,
) -> Audit:
    """With a store, finished batches are kept and a second start goes on after them; what is
    finished altogether is a run of kind `audit`, and only judged again. `workers` measure batches
    in processes of their own."""
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
    if "counterfactuals" in plan.must and subject.asked is not None:
        raise HeedfulError(
            "counterfactuals compare decisions, and here one answer is explained: leave "
            "counterfactuals out."
        )
    if "counterfactuals" in plan.must and not subject.revisions:
        raise HeedfulError(
            "counterfactuals are pairs of a text and its revision, and there are none: name their "
            "column (--pair-column), or leave counterfactuals out."
        )
    trial, store = Trial(subject, spec, plan.started()), plan.opened
    known = find_audit(store, trial.identity)
    if known is not None:
        return trial.again(known, settings)
    try:
        found, verdict = _measured(trial, settings, workers)
        tables = found.tables()
        facts = trial.facts(found.skipped, found.texts, tables["rows"])
        heads = head_table(subject, tables["rows"].first)
        result = trial.with_tokens(Audit.of(verdict, facts, heads=heads).with_tables(tables))
        if store is None or found.texts < len(subject):
            return result
        return store_audit(store, trial.identity, result)
    except PartGone:  # whoever finished the same audit first has cleaned up
        known = find_audit(store, trial.identity)
        if known is None:
            raise
        return trial.again(known, settings)


def _measured(
    trial: Trial, settings: Settings, workers: Workers | None
) -> tuple[Measurements, Verdict]:
    """Wave by wave, until the time is up or, if the plan stops then, the answer is settled."""
    plan, store, subject = trial.plan, trial.plan.opened, trial.subject
    found = Measurements.temporary() if store is None else Measurements(store.scratch(trial.key))
    _forecast(trial, found, 1 if workers is None else workers.count)
    looks, label = _looks(trial, found), "audit"
    first = FIRST if looks.slowly else WAVE
    steps = list(waves(subject, trial.spec.seed, first=first, ends=looks.sizes))
    if workers is not None:
        workers.measure(trial, found.folder, [p for s in steps for p in batches(subject, s)])
    for wave in steps:
        some = trial.pace.affordable(wave)
        for indices in batches(subject, some):
            trial.add(found, indices)
            plan.progress(label, found.texts, len(subject))
        if len(some) < len(wave) or found.texts == len(subject):
            break
        if plan.stops and found.texts in looks.sizes:
            verdict = trial.judge(found, looks.at(found.texts, settings))
            _tell(plan, verdict, found.texts, len(subject))
            if verdict.decided:
                return found, verdict
            label = f"audit ({verdict.answer} after {found.texts:,})"
    return found, trial.judge(found, looks.at(found.texts, settings))


def _looks(trial: Trial, found: Measurements) -> Looks:
    """Those of an earlier start, or new ones. Where time is short, a start begins with few texts:
    nobody knows how long one takes."""
    plan, looks = trial.plan, Looks.kept(found.folder, len(trial.subject))
    if looks.slowly is None and plan.budget is not None:
        looks.begun(slowly=is_slow(trial.subject))
    return looks


def _tell(plan: Plan, verdict: Verdict, measured: int, total: int) -> None:
    """The running answer."""
    if plan.announce is not None:
        settled = " (settled; --all measures the rest)" if verdict.decided else ""
        plan.announce(f"after {measured:,} of {total:,} examples: {verdict.answer}{settled}")


def _forecast(trial: Trial, found: Measurements, workers: int) -> None:
    """Say how long it will take, where somebody listens and it is long. Nothing is timed where a
    first guess says it is short, where time is limited anyway, or where a start was made before."""
    plan, subject = trial.plan, trial.subject
    heard = plan.announce is not None or plan.progress is not silent
    if not heard or plan.budget or len(subject) < FEW or found.begun:
        return
    plan.progress("timing a few texts", 0, len(subject))
    if first_guess(subject) / workers < LONG / 3:  # right to an order of magnitude
        return
    cost = estimate_subject(subject, trial.measure.spec)
    seconds = cost.seconds / workers
    if seconds >= LONG:
        line = f"about {duration(seconds)} for {cost.texts} texts (timed on {cost.timed})"
        plan.progress(line, 0, len(subject))
        if plan.announce is not None:
            plan.announce(line)
