"""`heedful study`: a paper's experiments, published numbers beside measured ones."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from heedful.cli.options import (
    DEFAULT_STORE,
    DataDirOption,
    DryRunOption,
    EpochsOption,
    HiddenSizesOption,
    JsonOption,
    LimitOption,
    MaybeSeedsOption,
    ParamOption,
    StoreOption,
    argument,
    check_data_dir,
    corpus_spec,
    dotted_parameters,
    given,
    given_options,
    known_fields,
    maybe_names,
    needed_store,
    open_store,
    option,
    seeds,
    spread,
    was_given,
)
from heedful.cli.output import Output, check_outputs, drawn_later, next_step, say, show, show_result
from heedful.cli.sweep import Where, run_shown
from heedful.cli.tables import show_frame, show_prose
from heedful.errors import HeedfulError
from heedful.progress import duration, progress_bar

if TYPE_CHECKING:
    from heedful.runner import Grid, Machine
    from heedful.store import Run, Store
    from heedful.studies import Study

ALL = "all"


@dataclass(frozen=True)
class Options:
    """A choice from the grid of a study, and settings of every cell; None is the study's own."""

    corpora: list[str] | None = None
    encoders: list[str] | None = None
    attention: list[str] | None = None
    seeds: list[int] | None = None
    layers: int | None = None
    sizes: str | None = None
    size: str = "full"
    epochs: int | None = None
    limit: int | None = None
    probes: list[str] | None = None
    params: list[str] | None = None
    probe_params: list[str] | None = None
    family: str | None = None


def plan_studies(name: str, options: Options, data_dir: Path | None, precision: str) -> list[Grid]:
    """One study, or with `all` every one that has one of the corpora."""
    from heedful.studies import STUDIES

    if name != ALL:
        return [plan_study(name, options, data_dir, precision)]
    corpora = {study: STUDIES[study].make().corpora for study in STUDIES}
    if options.corpora is None:
        return [plan_study(study, options, data_dir, precision) for study in corpora]
    known = {corpus for those in corpora.values() for corpus in those}
    if strange := [corpus for corpus in options.corpora if corpus not in known]:
        raise HeedfulError(
            f"no paper has {', '.join(strange)}: name the study that is to be run on it."
        )
    plans = []
    for study, those in corpora.items():
        if shared := [corpus for corpus in options.corpora if corpus in those]:
            chosen = replace(options, corpora=shared)
            plans.append(plan_study(study, chosen, data_dir, precision))
    return plans


def plan_study(
    name: str,
    options: Options = Options(),
    data_dir: Path | None = None,
    precision: str = "float32",
) -> Grid:
    from heedful.runner import Choice, grid
    from heedful.studies import STUDIES

    study = STUDIES[name].make()
    choice = Choice(
        options.encoders,
        options.attention,
        tuple(given(layers=options.layers, sizes=options.sizes).items()),
        tuple(given(epochs=options.epochs).items()),
        options.probes,
        options.size,
        dotted_parameters(options.probe_params, "--probe-param"),
        options.family,
    )
    specs = [
        corpus_spec(corpus, options.params, limit=_limit(study, corpus, options))
        for corpus in options.corpora or study.corpora
    ]
    plan = grid(study, specs, choice, options.seeds, data_dir, precision)
    return replace(plan, lenient=options.corpora is None)


def plan_values(values: Mapping[str, Any], data_dir: Path | None, precision: str) -> Grid:
    """The same from the values of a file: those of one entry of a sweep."""
    options = Options(**known_fields(Options, values))
    return plan_study(values["study"], options, data_dir, precision)


def _limit(study: Study, corpus: str, options: Options) -> int | None:
    """The user's limit, else that of the study's small preset, which is printed."""
    small = study.small.get(corpus)
    if options.size != "small" or small is None:
        return options.limit
    limit = small.limit if options.limit is None else options.limit
    parts = [f"at most {limit:,} examples of a split"] if limit else []
    parts += [f"{small.epochs} epochs"] if small.epochs and options.epochs is None else []
    for probe in small.probes:
        values = ", ".join(f"{name}={value}" for name, value in probe.params.items())
        parts.append(f"{probe.name} with {values}")
    say(f"{corpus}, small: {', '.join(parts) or 'as in full'}")
    return limit


@spread
def study(
    context: typer.Context,
    name: str = argument("A study by name, such as jain2019, or all.", ...),
    corpora: str | None = option("Corpora, comma-separated."),
    encoders: str | None = option("Encoders, comma-separated."),
    attention: str | None = option("Attentions, comma-separated."),
    family: str | None = option("Family of all models, such as hierarchical or biattention."),
    layers: int | None = option("Layers of the encoder."),
    sizes: HiddenSizesOption = None,
    size: str = option(
        "full, or small: fewer examples and epochs, as printed.", "full", "--preset"
    ),
    seeds_: MaybeSeedsOption = None,
    epochs: EpochsOption = None,
    probes: str | None = option("Only these probes, comma-separated."),
    probe_param: list[str] | None = option(
        "probe.name=value: a parameter of a probe, such as adversarial.epsilon=0.05."
    ),
    param: ParamOption = None,
    limit: LimitOption = None,
    out: Path | None = option("Also write the report.", None, "--out", "-o"),
    store: StoreOption = DEFAULT_STORE,
    data_dir: DataDirOption = None,
    precision: str = option(
        "float32, or float64: any batch size gives the same to 1e-9.", "float32"
    ),
    asked: Where = Where(),
    report: bool = option(
        "With all: write docs/reproduction.md, findings.md and tables-and-figures.md.",
        False,
        "--report",
    ),
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run the experiments of a paper.

    Trains and measures its grid of corpora, models and seeds, and prints published numbers beside
    measured ones. Run the same command again to resume.

    Examples:
    heedful study jain2019 --corpora planted --encoders average --epochs 2
    heedful study jain2019 --corpora sst --encoders bilstm,cnn,average -o report
    heedful study jain2019 --corpora sst --probe-param adversarial.epsilon=0.05
    heedful study all --dry-run
    """
    if report:
        _reproduction(context, name, store if was_given(context, "store") else None)
        return
    asked.check()
    _check_alone(name, out, as_json, asked.shard)
    place = open_store(store)
    if out is not None:
        from heedful.report import check_packages, kind_of

        check_packages()
        check_outputs(Output("-o", out, kind_of(out)), store=store)
    options = Options(
        maybe_names(corpora, "--corpora"),
        maybe_names(encoders, "--encoders"),
        maybe_names(attention, "--attention"),
        seeds(seeds_) if seeds_ is not None else None,
        layers,
        sizes,
        size,
        epochs,
        limit,
        maybe_names(probes, "--probes"),
        param,
        probe_param,
        family,
    )
    plans = plan_studies(name, options, check_data_dir(data_dir), precision)
    if dry_run:
        for plan in plans:
            _dry_run(asked.part(plan), place, asked.machine(), as_json)
        return
    done = [_done(asked.part(plan), place, asked, out, as_json) for plan in plans]
    if not all(done):
        raise typer.Exit(1)


def _check_alone(name: str, out: Path | None, as_json: bool, shard: str | None) -> None:
    shown = out is not None or as_json
    if shard and shown:
        raise HeedfulError(
            "-o and --json are of all cells, and --shard does a part of them: give them to the "
            "same command without --shard, once every shard is done."
        )
    if name == ALL and shown:
        raise HeedfulError(
            "-o and --json are of one study: name it, or put the runs of all of them into one "
            "page by `heedful report`."
        )


def _done(plan: Grid, place: Store, asked: Where, out: Path | None, as_json: bool) -> bool:
    """Train and probe what is missing, and show it; False where something failed."""
    here = asked.machine()
    if asked.engine or asked.shard:
        from heedful.runner import jobs, with_failures

        work = jobs([plan], place, here, timed=False, announce=say)
        engine = asked.chosen_engine(here.device)
        plan = with_failures(plan, run_shown(work, place, here, engine))
    if asked.shard:
        say(f"shard {asked.shard} is done: the same command without --shard lists all cells.")
    if asked.shard or (plan.failed and plan.hopeless):
        return not plan.failed
    with progress_bar() as progress:
        from heedful.runner import run_study

        run = run_study(plan, place, here, progress, say)
    _show(place, run, as_json)
    if out is not None:
        from heedful.report import build_report

        with drawn_later("heedful", "report", run.key, "--store", place.place, "-o", out):
            page = build_report(place, [run], out).page
            say(f"report: {page}")
            next_step(f"open {page} in a browser.")
    elif not as_json:
        next_step(f"`heedful report {run.key} -o report` writes the page.")
    return not plan.failed


def _reproduction(context: typer.Context, name: str, store: str | None) -> None:
    """Write the pages of all studies from their kept rows, and from those of a store if given."""
    if name != ALL:
        raise HeedfulError("--report is of all studies: `heedful study all --report`.")
    if others := given_options(context, but=("name", "report", "store")):
        raise HeedfulError(f"--report goes with --store alone: leave out {', '.join(others)}.")
    place = None if store is None else needed_store(store)
    checkout = from_checkout("checkout")
    kept = checkout.read_kept()
    if kept.dropped:
        say(f"{kept.dropped} rows are of settings that no study has any more: left out.")
    tables: dict[Path, str] = {}
    if place is not None:
        kept = checkout.added(kept, place)
        tables = checkout.tables(kept)
    files = {**tables, **checkout.made_of(kept)}
    there = [path for path in files if path.parent.is_dir()]
    check_outputs(*(Output("--report", path, checkout.KEPT) for path in there))
    checkout.write(files)
    say(f"document: {checkout.DOCUMENT}")
    say(f"findings: {checkout.FINDINGS}")
    say(f"figures: {checkout.FIGURES}")
    say(f"tables and figures: {checkout.PLACES}")


def from_checkout(name: str) -> Any:
    """A module that writes pages; it lies beside `src/` and is not part of the wheel."""
    root = Path(__file__).resolve().parents[3]
    if not (root / "paper_tables" / f"{name}.py").is_file():
        raise HeedfulError(
            "--report writes this repository's own pages: it needs a checkout, and Heedful "
            "installed from it (`pip install -e .`)."
        )
    if str(root) not in sys.path:
        sys.path.append(str(root))
    return import_module(f"paper_tables.{name}")


def _dry_run(plan: Grid, store: Store, machine: Machine, as_json: bool) -> None:
    from heedful.data import MissingData
    from heedful.runner import estimate

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
    cells = [vars(cost) for cost in costs]
    lines = (
        f"{cost.title:<36} "
        f"train {duration(cost.train_seconds)}, probe {duration(cost.probe_seconds)}"
        for cost in costs
    )
    show_result(
        "study",
        as_json,
        {"dry_run": True, "cells": cells, "seconds": total, "left_out": left_out},
        *lines,
        f"{len(costs)} cells, about {duration(total)} on this machine (timed on a sample)",
    )


def _show(store: Store, run: Run, as_json: bool) -> None:
    from heedful.report import (
        five_lines,
        gather,
        measured,
        published_beside_measured,
        readable,
    )

    evidence = gather(store, [run])
    paper = str(run.facts["piece"])
    table = published_beside_measured(evidence, paper)
    summary = five_lines(evidence)
    document = {"run": run.key, "summary": summary}
    if as_json:
        for name, frame in (("cells", table), ("measured", measured(evidence))):
            document[name] = json.loads(frame.to_json(orient="records"))
    if show_result("study", as_json, document):
        return
    if len(table):
        show_frame(table)
    else:  # a paper without published numbers has tables of its own
        for own in readable(table, paper, evidence):
            show_frame(own.table, own.title)
            show("")
    show_prose(*summary, f"run: {run.key}")
