"""`heedful sweep`: several studies at once, from a file, on one machine or on many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heedful.cli.engine import WhereSwept, perform
from heedful.cli.options import (
    DEFAULT_STORE,
    DataDirOption,
    DryRunOption,
    JsonOption,
    MaybeStoreOption,
    check_data_dir,
    open_store,
    source,
    spread,
)
from heedful.cli.terminal import say, show, show_json
from heedful.errors import HeedfulError
from heedful.progress import duration

if TYPE_CHECKING:
    from heedful.cli.gridfile import GridFile
    from heedful.runner import Crew, Failure, Grid, Job
    from heedful.store import Run


@spread
def sweep(
    context: typer.Context,
    grid: Annotated[Path, typer.Argument(help="A YAML file with studies and choices.")],
    asked: WhereSwept = WhereSwept(),
    store: MaybeStoreOption = None,
    data_dir: DataDirOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Print the plan of a grid, then do what of it is not done. Started again, it goes on.

    `store` and `data_dir` of the grid count more than the environment, and options more than both.
    """
    from heedful.cli.gridfile import read
    from heedful.runner import jobs as jobs_of
    from heedful.runner import list_studies

    asked.check()
    file = read(grid)
    named = _places(context, file, {"store": store, "data_dir": data_dir})
    place = open_store(str(named["store"] or DEFAULT_STORE))
    folder = check_data_dir(Path(named["data_dir"]) if named["data_dir"] else None)
    plans = [asked.part(plan) for plan in _plans(file, folder)]
    here = asked.machine()
    jobs = jobs_of(plans, place, here, announce=say)
    hired = asked.hire(here.device)
    if not as_json:
        _show_plan(jobs, hired.crew)
    if dry_run:
        if as_json:
            show_json("sweep", _told(jobs, hired.crew) | {"dry_run": True})
        return
    failures = perform(jobs, place, here, hired)
    runs = [] if asked.shard else list_studies(plans, failures, place, here, say)
    _show_end(jobs, failures, runs, as_json)
    if asked.shard:
        rest = f"`heedful sweep {grid}` without --shard lists all of them"
        say(f"shard {asked.shard} is done: {rest}.")
    if failures:
        raise typer.Exit(1)


def _places(
    context: typer.Context, file: GridFile, given: Mapping[str, Any]
) -> dict[str, str | Path | None]:
    """What was typed, else what the file says, else what stands in the environment."""
    typed = [name for name in given if source(context, name) == "COMMANDLINE"]
    return {**given, **file.settings, **{name: given[name] for name in typed}}


def _plans(file: GridFile, folder: Path | None) -> list[Grid]:
    """A grid for each entry; what a study refuses is said with the entry's line."""
    from heedful.cli.study import plan_values
    from heedful.runner import check_size

    found: list[Grid] = []
    for entry in file.entries:
        try:
            plan = plan_values(entry.values, folder, file.settings.get("precision", "float32"))
            check_size(sum(len(each.cells) for each in [*found, plan]))
        except HeedfulError as error:
            raise file.wrong(entry.line, str(error)) from error
        try:
            _check_params(plan)
        except HeedfulError as error:
            raise file.wrong(entry.params_line, str(error)) from error
        found.append(plan)
    return found


def _check_params(plan: Grid) -> None:
    """Now, since a corpus would only say so when it is prepared."""
    from heedful.data import CORPORA, corpus_params

    for spec in {id(cell.corpus): cell.corpus for cell in plan.cells}.values():
        corpus_params(CORPORA[spec.name], spec.params)


def _show_plan(jobs: list[Job], crew: Crew) -> None:
    for job in jobs:
        state = "done" if job.done else f"about {duration(job.cost)}"
        needs = f"  needs {', '.join(job.needs)}" if job.needs else ""
        show(f"{job.name:<24} {state:>12}  {job.title}{needs}")
    told = _told(jobs, crew)
    wall = f", {duration(told['wall_seconds'])} with {crew.workers} workers"
    left = f"about {duration(told['seconds'])} of work{'' if crew.address else wall}"
    done = sum(job.done for job in jobs)
    show(f"{len(jobs)} jobs, {done} of them done: {left} (timed on a sample)")


def _told(jobs: list[Job], crew: Crew) -> dict[str, Any]:
    from heedful.runner import makespan

    return {
        "jobs": [_fields(job) for job in jobs],
        "seconds": sum(job.cost for job in jobs),
        "wall_seconds": makespan(jobs, crew.workers),
        "workers": crew.workers,
    }


def _fields(job: Job) -> dict[str, Any]:
    names = ("kind", "name", "title", "needs", "cost", "done")
    return {name: getattr(job, name) for name in names}


def _show_end(jobs: list[Job], failures: list[Failure], runs: list[Run], as_json: bool) -> None:
    if not as_json:
        show(*(f"{run.facts['piece']}: {run.key}" for run in runs))
        if runs:
            keys = " ".join(run.key for run in runs)
            show(f"`heedful report {keys} -o report` writes the page")
        return
    lost = {failure.job.name for failure in failures}
    ended = [_fields(replace(job, done=job.name not in lost)) for job in jobs]
    told = [{"job": f.job.name, "reason": f.reason, "skipped": f.skipped} for f in failures]
    studies = [{"study": run.facts["piece"], "run": run.key} for run in runs]
    performed = sum(not job.done for job in jobs) - len(failures)
    found = {"performed": performed, "failures": told, "studies": studies, "jobs": ended}
    show_json("sweep", found)
