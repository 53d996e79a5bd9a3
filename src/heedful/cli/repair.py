"""`heedful repair`: train so that attention explains more, and see what it costs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from heedful.cli.engines import EngineOptions
from heedful.cli.options import (
    DEFAULT_STORE,
    MOST,
    CorpusOptions,
    DryRunOption,
    JsonOption,
    MachineOptions,
    QuickOption,
    SeedsOption,
    StoreOption,
    given,
    names,
    open_store,
    option,
    seeds,
    spread,
)
from heedful.cli.output import Output, check_outputs, drawn_later, next_step, say, show, show_result
from heedful.cli.tables import Table, show_prose, show_table
from heedful.cli.train import EncoderOptions, OptimizerOptions
from heedful.progress import duration, progress_bar

if TYPE_CHECKING:
    from heedful.auditing import Repair, RepairWork
    from heedful.runner import Machine
    from heedful.specs import CorpusSpec
    from heedful.store import Store


@spread
def repair(
    corpus: str = option("A corpus by name, or a file.", ...),
    methods: str | None = option(
        "Comma-separated: tying, mlm, concat, residual, diversity, orthogonal, "
        "sparsemax, entmax, hard, rationale, supervised, or several at once: tying+diversity. "
        "[default: the first six, as far as they fit the corpus]"
    ),
    seeds_: SeedsOption = "3",
    n: int = option("Texts of the test split to audit.", 200, min=1, max=MOST),
    out: Path | None = option("Folder for the page, the table, the model.", None, "--out", "-o"),
    within: float = option("Score the model may lose: 0.03 is 3 points.", 0.03, "--max-score-drop"),
    score: str = option("accuracy, f1 or roc_auc.", "accuracy"),
    quick: QuickOption = False,
    base: EncoderOptions = EncoderOptions(),
    training: OptimizerOptions = OptimizerOptions(),
    store: StoreOption = DEFAULT_STORE,
    data: CorpusOptions = CorpusOptions(),
    where: MachineOptions = MachineOptions(),
    engine: EngineOptions = EngineOptions(),
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train models whose attention explains more.

    Trains a base model and one per method, audits all of them, and chooses one. Run the same
    command again to resume.

    Examples:
    heedful repair --corpus planted --quick --dry-run
    heedful repair --corpus sst --methods tying,mlm -o repair
    """
    spec = data.spec(corpus)
    from heedful.auditing import REPAIR, REPAIR_SPEC, RepairWork
    from heedful.report import check_packages
    from heedful.runner import corpus_kind, usual
    from heedful.specs import TrainSpec
    from heedful.training.loop import check

    if out is not None:
        check_packages()
    check_outputs(Output("-o", out, REPAIR), inputs=(corpus,), store=store)
    measured = REPAIR_SPEC
    if quick:
        measured = replace(REPAIR_SPEC, exact=8, search_steps=20, permutations=10)
    asked = engine.asked(where.device, where.threads)
    asked.check()
    place, here, folder = open_store(store), asked.machine(), data.folder
    train = TrainSpec(**given(**vars(training)))
    check(train)  # before the corpus is prepared
    chosen = _fitting(spec, place, folder) if methods is None else names(methods, "--methods")
    work = RepairWork(
        spec,
        replace(usual(corpus_kind(spec), None), **given(**vars(base))),
        tuple(chosen),
        train=train,
        spec=measured,
        seeds=tuple(seeds(seeds_)),
        texts=n,
        score=score,
        within=within,
        data_dir=folder,
        engine=asked,
    )
    if dry_run:
        _dry_run(work, place, here, as_json)
        return
    with progress_bar() as progress:
        from heedful.auditing import repair as run

        result = run(work, place, here, progress, say)
    _show(result, store, out, as_json)
    if out is not None:
        with drawn_later():
            result.save(out)
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


def _dry_run(work: RepairWork, store: Store, where: Machine, as_json: bool) -> None:
    from heedful.auditing import repair_costs

    costs = repair_costs(work, store, where)
    total = sum(cost.train_seconds + cost.audit_seconds for cost in costs)
    lines = [
        f"{cost.method:<20} {cost.model:<36} "
        f"train {duration(cost.train_seconds)}, audit {duration(cost.audit_seconds)}"
        for cost in costs
    ]
    count = f"{len(costs)} models, {len(work.seeds)} seeds each"
    lines.append(f"{count}: about {duration(total)} on this machine (timed on a sample)")
    document = {"dry_run": True, "methods": [vars(cost) for cost in costs], "seconds": total}
    show_result("repair", as_json, document, *lines)


def _show(result: Repair, store: str, out: Path | None, as_json: bool) -> None:
    from heedful.auditing import CHOSEN_MODEL, load_line
    from heedful.report import careful, table_cells

    load = load_line(store if out is None else out / CHOSEN_MODEL, result.model)
    parts = {**result.as_parts(), "table": result.table.to_dict("records")}
    if show_result("repair", as_json, {**parts, "model": result.model.key, "load": load}):
        return
    columns, *rows = table_cells(result.table, result.chosen.method)
    show_table(Table(columns, rows))
    show_prose(
        f"* dominated: {result.facts['pareto']}",
        result.chosen.sentence,
        *careful(result.facts),
        f"Rule: {result.facts['rule']}",
        f"Chosen: {result.model.key}",
    )
    show(f"  {load}")
    next_step(f"heedful audit {result.model.key} -o audit")
