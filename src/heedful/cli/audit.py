"""`heedful audit`, `check`, `compare` and `explain`: what a model's attention explains."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli.audit_options import (
    DataArgument,
    MeasureOptions,
    ModelArgument,
    ModelOptions,
    SubjectOptions,
)
from heedful.cli.options import (
    DryRunOption,
    JsonOption,
    SeedOption,
    existing_store,
    numbers,
    open_store,
    set_threads,
    spread,
)
from heedful.cli.outputs import Output, check_outputs, drawn_later
from heedful.cli.terminal import progress_bar, say, show, show_json
from heedful.errors import HeedfulError, unknown_name
from heedful.progress import duration

if TYPE_CHECKING:
    import pandas as pd

    from heedful.auditing import Audit, AuditSpec
    from heedful.verdict import Verdict


USUAL = "attention,gradient_input,integrated_gradients,occlusion"
BAR = 24


@spread
def audit(
    model: ModelArgument,
    data: DataArgument = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A folder for verdict, tables and page.")
    ] = None,
    card: Annotated[
        Path | None, typer.Option(help="Also write a section for a model card.")
    ] = None,
    budget: Annotated[
        str | None, typer.Option(help="Stop when the verdict is clear or after this time: 5min.")
    ] = None,
    seed_model: Annotated[
        list[str] | None,
        typer.Option(help="The same model trained with another seed; repeatable."),
    ] = None,
    measured: MeasureOptions = MeasureOptions(),
    subject: SubjectOptions = SubjectOptions(),
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Audit a model: may its attention be shown as an explanation? Run it again to resume."""
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
    show(*found.verdict.lines(), *_layers(found))
    show(*(f"Note: {note}" for note in found.facts["notes"]))
    show(*(f"Left out: {name}: {why}" for name, why in found.facts["skipped"].items()))


def _layers(found: Audit) -> list[str]:
    """One line where layers were measured."""
    from heedful.report import evidence_of, layers_line

    line = layers_line(evidence_of(found.as_parts()))
    return [line] if line else []


def run_audit(
    model: str,
    data: str | None,
    measured: MeasureOptions,
    subject: SubjectOptions,
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
    models: list[str], data: str | None, spec: AuditSpec, subject: SubjectOptions, as_json: bool
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


@spread
def check(
    model: ModelArgument,
    data: DataArgument = None,
    baseline: Annotated[
        Path | None, typer.Option(help="A verdict.json that may not get worse.")
    ] = None,
    at_least: Annotated[list[str] | None, typer.Option(help="property=number; repeatable.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML here.")] = None,
    write_baseline: Annotated[
        Path | None, typer.Option(help="Write this verdict, to be the next baseline.")
    ] = None,
    measured: MeasureOptions = MeasureOptions(),
    subject: SubjectOptions = SubjectOptions(),
    as_json: JsonOption = False,
) -> None:
    """Fail (exit code 1) where attention is refuted, below a threshold, or worse than before."""
    from heedful.store import write_file
    from heedful.verdict import JUNIT, VERDICT, failures
    from heedful.verdict import check as compare
    from heedful.verdict import junit as as_junit

    thresholds = _thresholds(at_least or [])
    check_outputs(
        Output("--junit", junit, JUNIT),
        Output("--write-baseline", write_baseline, VERDICT),
        inputs=(model, data),
        store=subject.store,
    )
    old = _baseline(baseline, measured.spec(subject.seed)) if baseline is not None else None
    found = run_audit(model, data, measured, subject).verdict
    if baseline is not None and old is not None and old.facts["spec"] != found.facts["spec"]:
        raise _made_otherwise(baseline)
    outcomes = compare(found, thresholds, old)
    if junit is not None:
        write_file(junit, as_junit(outcomes))
    if write_baseline is not None:
        write_file(write_baseline, found.to_json())
    if as_json:
        show_json("check", {"outcomes": [vars(each) for each in outcomes]})
    else:
        for each in outcomes:
            show(f"{'FAILED' if each.failure else 'ok':<7} {each.name}  {each.failure}".rstrip())
    if failures(outcomes):
        raise typer.Exit(1)


def _baseline(path: Path, spec: AuditSpec) -> Verdict:
    """Refused before anything is measured where its numbers were measured otherwise, whatever
    operators are the same to the model."""
    from heedful.auditing import merged, spec_digest
    from heedful.input_files import read_whole
    from heedful.verdict import Verdict

    if not path.is_file():
        raise HeedfulError(
            f"there is no baseline {path}: give a verdict.json, or make one with --write-baseline."
        )
    try:
        old = Verdict.from_json(read_whole(path))
    except UnicodeDecodeError as error:
        raise HeedfulError(f"{path} is no verdict: give a verdict.json of an audit.") from error
    except HeedfulError as error:
        raise HeedfulError(f"the baseline {path} cannot be used: {error}") from error
    possible = (spec, replace(spec, operators=merged(spec.operators)))
    if old.facts.get("spec", "") not in map(spec_digest, possible):
        raise _made_otherwise(path)
    return old


def _made_otherwise(path: Path) -> HeedfulError:
    return HeedfulError(
        f"the baseline {path} was made with other settings (such as --quick, --seed or "
        f"--explanations): make it again with these."
    )


def _thresholds(texts: list[str]) -> dict[str, float]:
    from heedful.verdict import PROPERTIES

    found = numbers(texts, "--at-least")
    for name in found:
        if name not in PROPERTIES:
            raise unknown_name("property", name, list(PROPERTIES))
    return found


def compare(
    audits: Annotated[list[Path], typer.Argument(help="Folders that `heedful audit -o` wrote.")],
    measure: Annotated[
        str, typer.Option(help="Such as auprc, comprehensiveness or tau:occlusion.")
    ] = "comprehensiveness",
    operator: Annotated[
        str | None, typer.Option(help="The removal operator, where there are several.")
    ] = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """One measure of every explanation, with 95% intervals over texts, as a Markdown table."""
    from heedful.auditing import Audit, made_with, to_markdown
    from heedful.auditing import compare as side_by_side

    names = [path.resolve().name for path in audits]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise HeedfulError(f"two of the folders have the same name {twice!r}: rename one of them.")
    found = {name: Audit.load(path) for name, path in zip(names, audits, strict=True)}
    table = side_by_side(found, measure, operator, seed)
    if as_json:
        show_json("compare", {"rows": table.to_dict("records")})
    else:
        ways = {str(each) for each in table["operator"]}
        own = made_with(found, ways)
        note = (
            f"\n\nLeft out, as made with {', '.join(sorted(ways))}: {', '.join(own)}."
            if own
            else ""
        )
        show(f"{_title(table, measure)}\n\n{to_markdown(table)}{note}")


def _title(table: pd.DataFrame, measure: str) -> str:
    """What the numbers are: a table alone does not say."""
    from heedful.auditing import LOWER_IS_BETTER

    ways = sorted({str(each) for each in table["operator"]} - {""})
    first = "lowest" if measure in LOWER_IS_BETTER else "highest"
    return f"{', '.join([measure, *ways])}: mean [95% interval], {first} first"


@spread
def explain(
    model: ModelArgument,
    text: Annotated[str, typer.Argument(help="The text to explain.")],
    text_b: Annotated[str | None, typer.Option(help="The second text of a pair.")] = None,
    explanations: Annotated[str, typer.Option(help="Names, comma-separated.")] = USUAL,
    target: Annotated[str, typer.Option(help="logit, probability or loss.")] = "probability",
    of: Annotated[
        str | None, typer.Option(help="The class to explain; else the predicted one.")
    ] = None,
    pairs: Annotated[
        int, typer.Option(min=0, max=20, help="Also how so many top words interact, in pairs.")
    ] = 0,
    asked: ModelOptions = ModelOptions(),
    as_json: JsonOption = False,
) -> None:
    """Score every word of a text."""
    from heedful.auditing import explain as run

    if not text.strip():
        raise HeedfulError("the text is empty: give at least one word.")
    if text_b is not None and not text_b.strip():
        raise HeedfulError("the second text is empty: give at least one word, or leave it out.")
    set_threads(asked.threads)
    found = run(model, text, text_b, explanations, target, of, pairs, **asked.given())
    if as_json:
        show_json("explain", found.to_dict())
        return
    show(f"predicted: {found.predicted}")
    show(f"explained: {target} of {found.explained} (probability {found.probability:.3f})")
    for name, scores in found.scores.items():
        show("")
        show(name)
        show(*_bars(found.words, scores))
    if found.interactions:
        show("")
        show("together, beyond what each does alone")
        show(*(f"  {one} + {other}  {value:+.4f}" for one, other, value in found.interactions))


def _bars(words: Sequence[str], scores: Sequence[float]) -> Iterator[str]:
    """A word, its score, and a bar as long as its share of the largest. Words that the model
    does not read are counted."""
    largest = max((abs(score) for score in scores if not math.isnan(score)), default=0.0)
    pairs = zip(words, scores, strict=True)
    for cut, some in groupby(pairs, key=lambda pair: math.isnan(pair[1])):
        if cut:
            count = sum(1 for _ in some)
            yield f"  ({count:,} word{'s' * (count > 1)} cut off)"
            continue
        for word, score in some:
            length = round(BAR * abs(score) / largest) if largest else 0
            yield f"  {word:<20} {score:+.4f} {('█' if score >= 0 else '░') * length}"
