"""`heedful study`: a paper's experiments, published numbers beside measured ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli.corpus import Limit, Params
from heedful.cli.engine import (
    AddressOption,
    EngineOption,
    GpuFractionOption,
    ShardOption,
    Where,
    WorkersOption,
    perform,
)
from heedful.cli.options import (
    DEFAULT_STORE,
    BatchOption,
    DataDirOption,
    DeviceOption,
    DryRunOption,
    JsonOption,
    StoreOption,
    ThreadsOption,
    check_data_dir,
    names,
    open_store,
    seeds,
)
from heedful.cli.plan import Options, plan_study
from heedful.cli.terminal import duration, progress_bar, say, show, show_json

if TYPE_CHECKING:
    from heedful.runner.machine import Machine
    from heedful.runner.study import Grid
    from heedful.store import Run, Store


def study(
    name: Annotated[str, typer.Argument(help="A study by name, such as jain2019.")],
    corpora: Annotated[str | None, typer.Option(help="Corpora, comma-separated.")] = None,
    encoders: Annotated[str | None, typer.Option(help="Encoders, comma-separated.")] = None,
    attention: Annotated[str | None, typer.Option(help="Attentions, comma-separated.")] = None,
    layers: Annotated[int | None, typer.Option(help="Layers of the encoder.")] = None,
    sizes: Annotated[
        str | None, typer.Option(help="Sizes of the authors' code or of the paper.")
    ] = None,
    size: Annotated[
        str, typer.Option(help="full, or small: the study's own, printed, by corpus.")
    ] = "full",
    seeds_: Annotated[
        str | None,
        typer.Option("--seeds", help="A count (3) or a list (0,7) instead of the study's own."),
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Instead of the paper's.")] = None,
    probes: Annotated[str | None, typer.Option(help="Only these probes, comma-separated.")] = None,
    param: Params = None,
    limit: Limit = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Also write the report.")] = None,
    store: StoreOption = DEFAULT_STORE,
    data_dir: DataDirOption = None,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    batch_size: BatchOption = 1024,
    precision: Annotated[
        str, typer.Option(help="float32, or float64: results then never depend on the batch.")
    ] = "float32",
    engine: EngineOption = None,
    workers: WorkersOption = None,
    address: AddressOption = None,
    gpu_fraction: GpuFractionOption = None,
    shard: ShardOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train and probe a paper's grid. Started again, it goes on where it was stopped."""
    asked = Where(engine, workers, address, gpu_fraction, device, threads, batch_size)
    asked.check()
    place = open_store(store)
    if out is not None:
        from heedful.report.build import check_target

        check_target(out)
    plan = plan_study(
        name,
        names(corpora, "--corpora") if corpora is not None else None,
        names(encoders, "--encoders") if encoders is not None else None,
        names(attention, "--attention") if attention is not None else None,
        seeds(seeds_) if seeds_ is not None else None,
        check_data_dir(data_dir),
        Options(
            layers,
            sizes,
            size,
            epochs,
            limit,
            precision,
            names(probes, "--probes") if probes is not None else None,
            param,
        ),
    )
    plan, where = _part(plan, shard), asked.machine()
    if dry_run:
        _dry_run(plan, place, where, as_json)
        return
    if engine or shard:
        plan = _elsewhere(plan, place, where, asked)
    if shard:
        say(f"shard {shard} is done: the same command without --shard lists all cells.")
    if shard or (plan.failed and plan.hopeless):
        raise typer.Exit(1 if plan.failed else 0)
    with progress_bar() as progress:
        from heedful.runner.study import run_study

        run = run_study(plan, place, where, progress, say)
    _show(place, run, as_json)
    if out is not None:
        from heedful.report.build import build_report

        say(f"report: {build_report(place, [run], out).page}")
    if plan.failed:
        raise typer.Exit(1)


def _part(plan: Grid, text: str | None) -> Grid:
    from heedful.runner.shard import shard

    return shard(text).cut(plan) if text else plan


def _elsewhere(plan: Grid, store: Store, machine: Machine, asked: Where) -> Grid:
    """All of it done by an engine, so that it only has to be listed; with what failed."""
    from heedful.runner.jobs import jobs
    from heedful.runner.sweep import with_failures

    found = jobs([plan], store, machine, timed=False, announce=say)
    return with_failures(plan, perform(found, store, machine, asked.hire(machine.device)))


def _dry_run(plan: Grid, store: Store, machine: Machine, as_json: bool) -> None:
    from heedful.corpora.sources import MissingData
    from heedful.runner.cost import estimate

    costs, left_out = [], {}
    for cell in plan.cells:
        try:
            costs.append(estimate(plan, cell, store, machine))
        except MissingData as missing:
            if not plan.lenient:
                raise
            left_out[cell.title] = str(missing)
            say(f"{cell.title} is left out: {missing}")
    total = sum(cost.train_seconds + cost.probe_seconds for cost in costs)
    if as_json:
        cells = [vars(cost) for cost in costs]
        found = {"dry_run": True, "cells": cells, "seconds": total, "left_out": left_out}
        show_json("study", found)
        return
    for cost in costs:
        spent = f"train {duration(cost.train_seconds)}, probe {duration(cost.probe_seconds)}"
        show(f"{cost.title:<36} {spent}")
    show(f"{len(costs)} cells, about {duration(total)} on this machine (timed on a sample)")


def _show(store: Store, run: Run, as_json: bool) -> None:
    from heedful.report.evidence import gather
    from heedful.report.formats import to_text
    from heedful.report.measured import measured
    from heedful.report.readable import readable
    from heedful.report.summary import five_lines
    from heedful.report.tables import published_beside_measured

    evidence = gather(store, [run])
    table = published_beside_measured(evidence, str(run.facts["piece"]))
    if as_json:
        import json

        records = json.loads(table.to_json(orient="records"))
        found = json.loads(measured(evidence).to_json(orient="records"))
        lines = five_lines(evidence)
        show_json("study", {"run": run.key, "summary": lines, "cells": records, "measured": found})
        return
    if len(table):
        show(to_text(table))
    else:  # a paper without published numbers has tables of its own
        for one in readable(table, str(run.facts["piece"]), evidence):
            show(f"{one.title}\n{to_text(one.table)}\n")
    for line in five_lines(evidence):
        show(line)
    show(f"run: {run.key}")
