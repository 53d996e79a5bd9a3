"""`heedful repair`: train so that attention explains more, and see what it costs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli.options import (
    DEFAULT_STORE,
    MOST,
    CorpusOptions,
    DeviceOption,
    DryRunOption,
    JsonOption,
    QuickOption,
    SeedsOption,
    StoreOption,
    ThreadsOption,
    given,
    names,
    open_store,
    seeds,
    spread,
)
from heedful.cli.output import (
    Output,
    check_outputs,
    drawn_later,
    progress_bar,
    say,
    show,
    show_json,
)
from heedful.cli.train import EncoderOptions, OptimizerOptions
from heedful.progress import duration

if TYPE_CHECKING:
    from heedful.auditing import Repair, RepairWork
    from heedful.runner import Machine
    from heedful.specs import CorpusSpec, ModelSpec, TrainSpec
    from heedful.store import Store


@spread
def repair(
    corpus: Annotated[str, typer.Option(help="A corpus by name, or a file.")],
    methods: Annotated[
        str | None,
        typer.Option(
            help="Comma-separated: tying, mlm, concat, residual, diversity, orthogonal, "
            "sparsemax, entmax, supervised, or several at once: tying+diversity. [default: the "
            "first six, as far as they fit the corpus]"
        ),
    ] = None,
    seeds_: SeedsOption = "3",
    n: Annotated[
        int, typer.Option(min=1, max=MOST, help="Texts of the test split to audit.")
    ] = 200,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for the page, the table, the model.")
    ] = None,
    within: Annotated[
        float,
        typer.Option("--max-score-drop", help="Score the model may lose: 0.03 is 3 points."),
    ] = 0.03,
    score: Annotated[str, typer.Option(help="accuracy, f1 or roc_auc.")] = "accuracy",
    quick: QuickOption = False,
    base: EncoderOptions = EncoderOptions(),
    training: OptimizerOptions = OptimizerOptions(),
    store: StoreOption = DEFAULT_STORE,
    data: CorpusOptions = CorpusOptions(),
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train models whose attention explains more.

    Trains a base model and one per method, audits all of them, and chooses one. Run the same
    command again to resume.
    """
    from heedful.auditing import REPAIR, REPAIR_SPEC, RepairWork
    from heedful.report import check_packages
    from heedful.runner import machine

    if out is not None:
        check_packages()
    check_outputs(Output("-o", out, REPAIR), inputs=(corpus,), store=store)
    spec = data.spec(corpus)
    measured = REPAIR_SPEC
    if quick:
        measured = replace(REPAIR_SPEC, exact=8, search_steps=20, permutations=10)
    place, where, folder = open_store(store), machine(device, threads), data.folder
    chosen = _fitting(spec, place, folder) if methods is None else names(methods, "--methods")
    work = RepairWork(
        spec,
        _base(spec, base),
        tuple(chosen),
        train=_training(training),
        spec=measured,
        seeds=tuple(seeds(seeds_)),
        texts=n,
        score=score,
        within=within,
        data_dir=folder,
    )
    if dry_run:
        _dry_run(work, place, where, as_json)
        return
    with progress_bar() as progress:
        from heedful.auditing import repair as run

        found = run(work, place, where, progress, say)
    _show(found, store, out, as_json)
    if out is not None:
        with drawn_later():
            found.save(out)
        say(f"page: {out / 'repair.html'}")


def _fitting(spec: CorpusSpec, store: Store, data_dir: Path | None) -> list[str]:
    """The usual methods, less those the corpus has nothing for, which is said."""
    from heedful.auditing import USUAL_METHODS, unfit
    from heedful.data import Prepared, prepare

    corpus = Prepared(prepare(spec, store, data_dir))
    reasons = {name: unfit(name, corpus) for name in USUAL_METHODS}
    for name, reason in reasons.items():
        if reason:
            say(f"{name} is left out: {reason}")
    return [name for name, reason in reasons.items() if not reason]


def _base(spec: CorpusSpec, options: EncoderOptions) -> ModelSpec:
    from heedful.runner import corpus_kind, usual

    return replace(usual(corpus_kind(spec), None), **given(**vars(options)))


def _training(options: OptimizerOptions) -> TrainSpec:
    from heedful.specs import TrainSpec
    from heedful.training.loop import check

    spec = TrainSpec(**given(**vars(options)))
    check(spec)  # before the corpus is prepared
    return spec


def _dry_run(work: RepairWork, store: Store, where: Machine, as_json: bool) -> None:
    from heedful.auditing import repair_costs

    costs = repair_costs(work, store, where)
    total = sum(cost.train_seconds + cost.audit_seconds for cost in costs)
    if as_json:
        show_json(
            "repair", {"dry_run": True, "methods": [vars(c) for c in costs], "seconds": total}
        )
        return
    for cost in costs:
        spent = f"train {duration(cost.train_seconds)}, audit {duration(cost.audit_seconds)}"
        show(f"{cost.method:<20} {cost.model:<36} {spent}")
    count = f"{len(costs)} models, {len(work.seeds)} seeds each"
    show(f"{count}: about {duration(total)} on this machine (timed on a sample)")


def _show(found: Repair, store: str, out: Path | None, as_json: bool) -> None:
    from heedful.auditing import CHOSEN_MODEL, load_line
    from heedful.report import careful, text_lines

    load = load_line(store if out is None else out / CHOSEN_MODEL, found.model)
    if as_json:
        parts = {**found.as_parts(), "table": found.table.to_dict("records")}
        show_json("repair", {**parts, "model": found.model.key, "load": load})
        return
    show(*text_lines(found.table, found.chosen.method))
    show(f"* dominated: {found.facts['pareto']}")
    show(found.chosen.sentence, *careful(found.facts))
    show(f"Rule: {found.facts['rule']}")
    show(f"Chosen: {found.model.key}")
    show(f"  {load}")
