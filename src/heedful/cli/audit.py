"""`heedful audit`: does the attention of this model explain these predictions?"""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli import subject as on
from heedful.cli.measured import MeasureOptions
from heedful.cli.options import (
    DryRunOption,
    JsonOption,
    existing_store,
    open_store,
    set_threads,
)
from heedful.cli.outputs import Output, check_outputs, drawn_later
from heedful.cli.spread import spread
from heedful.cli.terminal import progress_bar, say, show, show_json
from heedful.errors import HeedfulError
from heedful.progress import duration

if TYPE_CHECKING:
    from heedful.auditing import Audit, AuditSpec

Budget = Annotated[
    str | None, typer.Option(help="Stop when the verdict is clear or after this time: 5min.")
]
SeedModels = Annotated[
    list[str] | None,
    typer.Option("--seed-model", help="The same model trained with another seed; repeatable."),
]


@spread
def audit(
    model: on.ModelArgument,
    data: on.DataArgument = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A folder for verdict, tables and page.")
    ] = None,
    card: Annotated[
        Path | None, typer.Option("--card", help="Also write a section for a model card.")
    ] = None,
    budget: Budget = None,
    seed_model: SeedModels = None,
    measured: MeasureOptions = MeasureOptions(),
    subject: on.SubjectOptions = on.SubjectOptions(),
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Put a model on trial. Started again after a kill, it goes on where it was."""
    from heedful.auditing import AUDIT
    from heedful.verdict import CARD

    check_outputs(
        Output("-o", out, AUDIT),
        Output("--card", card, CARD),
        inputs=(model, data, *(seed_model or ())),
        store=subject.store,
    )
    if seed_model and budget is not None:
        raise HeedfulError("give either --seed-model or --budget: all seeds need the same texts.")
    limit, spec, settings = seconds(budget), measured.spec(subject.seed), measured.settings
    if seed_model:
        from heedful.auditing import check_trainings

        check_trainings([model, *seed_model], existing_store(subject.store))
    if dry_run:
        _dry_run([model, *(seed_model or ())], data, spec, subject, as_json)
        return
    found = run_audit(model, data, measured, subject, limit)
    if seed_model:
        from heedful.auditing import over_seeds

        others = [run_audit(each, data, measured, subject) for each in seed_model]
        found = over_seeds([found, *others], settings)
    _write(found, out, card)
    if as_json:
        show_json("audit", {"verdict": json.loads(found.verdict.to_json())})
    else:
        _show(found)
    if out is not None:
        _draw(found, out)


def _show(found: Audit) -> None:
    for line in [*found.verdict.lines(), *_layers(found)]:
        show(line)
    for note in found.facts["notes"]:
        show(f"Note: {note}")
    for name, why in found.facts["skipped"].items():
        show(f"Left out: {name}: {why}")


def _layers(found: Audit) -> list[str]:
    """One line where layers were measured."""
    from heedful.report import evidence_of, layers_line

    line = layers_line(evidence_of(found.as_parts()))
    return [line] if line else []


def run_audit(
    model: str,
    data: str | None,
    measured: MeasureOptions,
    subject: on.SubjectOptions,
    budget: float | None = None,
) -> Audit:
    from heedful.auditing import Plan
    from heedful.auditing import audit as run

    spec, settings = measured.spec(subject.seed), measured.settings
    set_threads(subject.threads)
    with progress_bar() as progress:
        plan = Plan(open_store(subject.store), budget, progress, measured.must, announce=say)
        return run(model, data, spec, settings, plan, **subject.given())


def seconds(text: str | None) -> float | None:
    """`90s`, `5min`, `2h`."""
    if text is None:
        return None
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(s|min|h)\s*", text)
    if not found or not 0 < float(found[1]) < math.inf:
        raise HeedfulError(f"--budget is {text!r}: write a time such as 90s, 5min or 2h.")
    return float(found[1]) * {"s": 1, "min": 60, "h": 3600}[found[2]]


def _dry_run(
    models: list[str], data: str | None, spec: AuditSpec, subject: on.SubjectOptions, as_json: bool
) -> None:
    """The first is timed: trainings of one model take alike."""
    from heedful.auditing import estimate

    set_threads(subject.threads)
    with progress_bar() as progress:
        progress("timing a few texts", 0, 1)
        cost = estimate(models[0], data, spec, **subject.given())
        cost = replace(cost, seconds=cost.seconds * len(models))
    if as_json:
        show_json("audit", {"dry_run": True, **vars(cost)})
        return
    maps, ways = len(spec.explanations), len(spec.operators)
    show(f"{cost.texts} texts, {maps} explanations, {ways} removal operators")
    if len(models) > 1:
        show(f"{len(models)} trainings of the model")
    show(f"about {cost.passes_per_text:.0f} runs of the model per text")
    show(f"about {duration(cost.seconds)} on this machine (timed on {cost.timed} texts)")


def _write(found: Audit, out: Path | None, card: Path | None) -> None:
    from heedful.auditing import write_audit
    from heedful.store import write_file
    from heedful.verdict import card as write_card

    if out is not None:
        write_audit(found, out)
    if card is not None:
        write_file(card, write_card(found.verdict))


def _draw(found: Audit, out: Path) -> None:
    """Last: the tables are there, and a page can be made of them at any time."""
    from heedful.report import check_packages

    page = out / "page.html"
    try:
        check_packages()
    except HeedfulError as error:  # the tables need no extra
        say(f"no page was written: {error}")
        say(f"tables: {out}")
        return
    with drawn_later("heedful", "report", out, "-o", page):
        found.to_html(page)
    say(f"page: {page}")
