"""`heedful audit`, `check`, `compare` and `explain`: what the attention of a model explains."""

from __future__ import annotations

import json
import math
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from heedful.cli.audit_options import (
    DataArgument,
    MeasureOptions,
    ModelArgument,
    ModelOptions,
    SubjectOptions,
    TokenOption,
)
from heedful.cli.engines import EngineOptions
from heedful.cli.help import MEASURED, OUTPUT
from heedful.cli.options import (
    DryRunOption,
    JsonOption,
    SeedOption,
    argument,
    existing_store,
    numbers,
    open_store,
    option,
    set_threads,
    spread,
)
from heedful.cli.output import Output, check_outputs, drawn_later, next_step, say, show, show_result
from heedful.cli.tables import Table, show_prose, show_table
from heedful.errors import HeedfulError
from heedful.progress import duration
from heedful.units import DOCUMENT, TOKEN, WORD

if TYPE_CHECKING:
    import pandas as pd

    from heedful.auditing import Audit, Explanation, Plan
    from heedful.verdict import Outcome, Statement, Verdict


USUAL = "attention,gradient_input,integrated_gradients,occlusion"
BAR = 24


@spread
def audit(
    model: ModelArgument,
    data: DataArgument = None,
    out: Path | None = option(
        "Folder for the verdict, the tables and the page.", None, "--out", "-o"
    ),
    card: Path | None = option("Also write a section for a model card.", panel=OUTPUT),
    reader: str | None = option("Who reads the explanation: developer or user.", panel=OUTPUT),
    goal: str | None = option("For what: debugging, understanding or trust.", panel=OUTPUT),
    every: bool = option("Measure all texts, also after the answer is settled.", False, "--all"),
    budget: str | None = option(
        "Stop after this time if the answer is not settled before: 30min. [default: 5min]"
    ),
    seed_model: list[str] | None = option(
        "The same model trained with another seed; repeatable.", panel=MEASURED
    ),
    measured: MeasureOptions = MeasureOptions(),
    by_token: bool = option(
        "Explain answers token by token, for the texts that the page shows with maps.",
        True,
        "--by-token/--no-by-token",
        panel=MEASURED,
    ),
    subject: SubjectOptions = SubjectOptions(),
    engine: EngineOptions = EngineOptions(),
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Audit a model: does its attention explain its predictions?

    Stops as soon as the answer is settled, or when the time is up. Run the same command again to
    resume.

    Examples:
    heedful audit path/to/model reviews.csv --n 200 --dry-run
    heedful audit path/to/model reviews.csv --n 200 --text-column review -o audit
    heedful audit model-00c5 --all -o audit
    """
    subject.check_data(model, data)
    from heedful.auditing import AUDIT, Plan, Running, write_audit
    from heedful.auditing import audit as run
    from heedful.verdict import CARD

    check_outputs(
        Output("-o", out, AUDIT),
        Output("--card", card, CARD),
        inputs=(model, data, *(seed_model or ())),
        store=subject.store,
    )
    if dry_run:
        several, aim = seed_model or [], Running(reader=reader, goal=goal)
        running = replace(aim, all=every, budget=budget, seed_model=several, **engine.given())
        planned = running.plan(Plan())  # bad values are refused in a dry run, too
        _dry_run([model, *(seed_model or ())], data, measured, subject, planned, as_json)
        return
    set_threads(subject.threads)
    plan, trained = Plan(open_store(subject.store), announce=say), seed_model or []
    given = {**measured.given(), **subject.given(), "budget": budget, "seed_model": trained}
    given |= {**engine.given(subject.threads), "all": every, "by_token": by_token}
    given |= {"reader": reader, "goal": goal}
    result = run(model, data, plan=plan, **given)
    if out is not None:
        write_audit(result, out)
    if card is not None:
        result.to_card(card)
    if not show_result("audit", as_json, {"verdict": json.loads(result.verdict.to_json())}):
        _show(result)
    if out is not None:
        _draw(result, out)
    elif not as_json:
        next_step("the same command with -o audit also writes the page and the tables.")


def _show(result: Audit) -> None:
    """The answer in words, the table of the properties, and what else is to be said."""
    lines, count = list(_lines(result)), len(result.verdict.statements)
    show_prose(*lines[:2])
    show_table(_properties(result.verdict), plain=lines[2 : 2 + count])
    if sys.stdout.isatty():
        show_prose("", *_reasons(result.verdict))
    show_prose(*lines[2 + count :])


def _properties(verdict: Verdict) -> Table:
    columns = ("property", "decision", "estimate", "bounds", "asked", "examples")
    return Table(columns, [_cells(each) for each in verdict.statements], numbers=columns[2:6])


def _cells(each: Statement) -> list[str]:
    from heedful.verdict import number

    start = [each.property, str(each.decision)]
    if math.isnan(each.estimate):
        return [*start, "", "", "", ""]
    asked = "" if math.isnan(each.threshold) else number(each.threshold)
    bounds = f"{number(each.low)} to {number(each.high)}"
    return [*start, number(each.estimate), bounds, asked, str(each.n)]


def _reasons(verdict: Verdict) -> Iterator[str]:
    """Why a property has no decision, which the plain lines have in place."""
    from heedful.verdict import why

    for each in verdict.statements:
        if reason := each.blocked if math.isnan(each.estimate) else why(each):
            yield f"  {each.property + ':':<14}{reason}"


def _lines(result: Audit) -> Iterator[str]:
    from heedful.report import evidence_of, layers_line

    yield from result.verdict.lines()
    if layers := layers_line(evidence_of(result.as_parts())):
        yield layers
    yield from (f"Note: {note}" for note in result.facts["notes"])
    yield from (f"Left out: {name}: {why}" for name, why in result.facts["skipped"].items())


def _dry_run(
    models: list[str],
    data: str | None,
    measured: MeasureOptions,
    subject: SubjectOptions,
    plan: Plan,
    as_json: bool,
) -> None:
    """Times the first model: other trainings of it take as long."""
    from heedful.auditing import Measuring, check_trainings, estimate

    set_threads(subject.threads)
    if len(models) > 1:
        check_trainings(models, existing_store(subject.store))
    cost = estimate(models[0], data, **measured.given(), **subject.given())
    cost = replace(cost, seconds=cost.seconds * len(models))
    spec = Measuring(**measured.given()).spec(seed=subject.seed)
    explanations, operators = len(spec.explanations), len(spec.operators)
    several = [f"{len(models)} trainings of the model"] if len(models) > 1 else []
    show_result(
        "audit",
        as_json,
        {"dry_run": True, **vars(cost)},
        f"{cost.texts} texts, {explanations} explanations, {operators} removal operators",
        *several,
        f"about {cost.passes_per_text:.0f} runs of the model per text",
        f"about {duration(cost.seconds)} on this machine (timed on {cost.timed} texts)",
        *_ends(plan, cost.texts),
    )


def _ends(plan: Plan, texts: int) -> Iterator[str]:
    """When it ends earlier."""
    from heedful.verdict import look_sizes

    if not plan.stops or plan.budget is None:
        return
    *early, _ = look_sizes(texts)
    if early:
        yield f"stops when the answer is settled after {', '.join(map(str, early))} texts"
    yield f"stops after {duration(plan.budget)}; --all measures all texts"


def _draw(result: Audit, out: Path) -> None:
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
        result.to_html(page)
    say(f"page: {page}")
    next_step(f"open {page} in a browser.")


@spread
def check(
    model: ModelArgument,
    data: DataArgument = None,
    baseline: Path | None = option("A verdict.json that must not get worse."),
    at_least: list[str] | None = option("property=number; repeatable."),
    junit: Path | None = option("Write JUnit XML here."),
    write_baseline: Path | None = option("Write this verdict as the next baseline."),
    measured: MeasureOptions = MeasureOptions(),
    subject: SubjectOptions = SubjectOptions(),
    engine: EngineOptions = EngineOptions(),
    as_json: JsonOption = False,
) -> None:
    """Fail where attention is refuted, or worse than before.

    Also where a property is below a threshold of --at-least. The exit code is then 1.

    Examples:
    heedful check path/to/model reviews.csv --write-baseline verdict.json
    heedful check path/to/model reviews.csv --baseline verdict.json --junit check.xml
    heedful check path/to/model reviews.csv --at-least importance=0.6
    """
    subject.check_data(model, data)
    from heedful.auditing import Plan
    from heedful.auditing import check as run
    from heedful.verdict import JUNIT, VERDICT

    check_outputs(
        Output("--junit", junit, JUNIT),
        Output("--write-baseline", write_baseline, VERDICT),
        inputs=(model, data),
        store=subject.store,
    )
    given = {**measured.given(), **subject.given(), "junit": junit, "baseline": baseline}
    given |= {"at_least": numbers(at_least or [], "--at-least"), "write_baseline": write_baseline}
    given |= engine.given(subject.threads)
    set_threads(subject.threads)
    plan = Plan(open_store(subject.store), announce=say)
    result = run(model, data, plan=plan, **given)
    outcomes = [vars(outcome) for outcome in result.outcomes]
    if not show_result("check", as_json, {"outcomes": outcomes}):
        show_table(_outcomes(result.outcomes), result.lines())
        again = "heedful audit of the same, with -o audit, shows why."
        kept = "keep this verdict for the next time: --write-baseline verdict.json."
        if not result.passed or write_baseline is None:
            next_step(kept if result.passed else again)
    if not result.passed:
        raise typer.Exit(1)


def _outcomes(outcomes: Sequence[Outcome]) -> Table:
    rows = [("FAILED" if each.failure else "ok", each.name, each.failure) for each in outcomes]
    return Table(("", "checked", "why"), rows)


@spread
def compare(
    audits: list[Path] = argument("Folders that `heedful audit -o` wrote.", ...),
    measure: str = option(
        "Such as auprc, comprehensiveness or tau:occlusion.", "comprehensiveness"
    ),
    operator: str | None = option(
        "How words were removed: delete; needed where there are several."
    ),
    markdown: bool = option("Print a Markdown table.", False, "--markdown"),
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Compare explanations of several audits by one measure.

    Prints means with 95% intervals over texts, the best explanation first.

    Examples:
    heedful compare audit-a audit-b --operator delete
    heedful compare audit-a audit-b --measure auprc --markdown
    """
    from heedful.auditing import Audit, comparison_cells, made_with, to_markdown
    from heedful.auditing import compare as side_by_side

    names = [path.resolve().name for path in audits]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise HeedfulError(f"two of the folders have the same name {twice!r}: rename one of them.")
    loaded = {name: Audit.load(path) for name, path in zip(names, audits, strict=True)}
    table = side_by_side(loaded, measure, operator, seed)
    if show_result("compare", as_json, {"rows": table.to_dict("records")}):
        return
    if markdown:
        show(f"{_title(table, measure)}\n\n{to_markdown(table)}")
    else:
        show_prose(_title(table, measure), "")
        columns, *rows = comparison_cells(table)
        show_table(Table(columns, rows))
    operators = sorted(set(map(str, table["operator"])))
    if own := made_with(loaded, set(operators)):
        show_prose("", f"Left out, as made with {', '.join(operators)}: {', '.join(own)}.")
    next_step(f"{shlex.join(['heedful', 'report', *map(str, audits), '-o', 'both.html'])}")


def _title(table: pd.DataFrame, measure: str) -> str:
    """What the numbers are, which a table alone does not say."""
    from heedful.auditing import LOWER_IS_BETTER

    operators = sorted(set(map(str, table["operator"])) - {""})
    first = "lowest" if measure in LOWER_IS_BETTER else "highest"
    return f"{', '.join([measure, *operators])}: mean [95% interval], {first} first"


@spread
def explain(
    model: ModelArgument,
    text: str = argument("The text to explain.", ...),
    text_b: str | None = option("The second text of a pair."),
    explanations: str = option("Names, comma-separated.", USUAL),
    target: str = option(
        "probability, logit, loss, or contrast (with the runner-up class).", "probability"
    ),
    of: str | None = option("Class to explain. [default: the predicted one]"),
    pairs: int = option("Top words whose pairwise interactions to score.", 0, min=0, max=20),
    token: TokenOption = None,
    by_token: bool = option(
        "Also explain each token of an answer: a table of words and tokens.", False, "--by-token"
    ),
    out: Path | None = option("Also write a page, such as page.html.", None, "--out", "-o"),
    asked: ModelOptions = ModelOptions(),
    as_json: JsonOption = False,
) -> None:
    """Score every word of a text, or another --unit.

    With --unit document, the text is split at the --separator (a blank line).

    Examples:
    heedful explain path/to/model "a fine film"
    heedful explain path/to/model "a fine film" --explanations attention,lime --of positive
    heedful explain path/to/writer "The capital of France is" --generate 5 --by-token -o page.html
    """
    from heedful.auditing import explain as run
    from heedful.report import PAGE_FILE, check_packages

    if not text.strip():
        raise HeedfulError("the text is empty: give at least one word.")
    if text_b is not None and not text_b.strip():
        raise HeedfulError("the second text is empty: give at least one word, or leave it out.")
    if out is not None:
        check_packages()
        check_outputs(Output("-o", out, PAGE_FILE), inputs=(model,), store=asked.store)
    set_threads(asked.threads)
    given = {**asked.given(), "token": token}
    several = text.split(asked.separator) if asked.unit == DOCUMENT else text
    result = run(model, several, text_b, explanations, target, of, pairs, by_token, **given)
    if out is not None:
        result.to_html(out)
    if not show_result("explain", as_json, result.to_dict()):
        _show_scores(result, target)
        if out is not None:
            show("", f"page: {out}")
        next_step("`heedful audit MODEL DATA` tells whether such scores can be trusted.")


def _show_scores(result: Explanation, target: str) -> None:
    show(result.headline)
    show(f"explained: {target} of {result.explained} (probability {result.probability:.3f})")
    for name, scores in result.scores.items():
        show("", name, *_bars(result, scores))
    for name, table in result.by_token.items():
        show("", f"{name} by the tokens of the answer", *_columns(result, table))
    if result.interactions:
        show("", "together, beyond what each does alone")
        show(*(f"  {one} + {other}  {value:+.4f}" for one, other, value in result.interactions))


WIDE = 8
"""Characters of a token at the head of a column."""


def _columns(result: Explanation, table: Sequence[Sequence[float]]) -> Iterator[str]:
    """A line for each word, a column for each token of the answer."""
    yield " " * 22 + "".join(f"{token[:WIDE]:>{WIDE + 2}}" for token in result.tokens)
    for place, word in enumerate(result.words):
        scores = (row[place] for row in table)
        cells = ("–" if math.isnan(score) else f"{score:+.4f}" for score in scores)
        yield f"  {word:<20}" + "".join(f"{cell:>{WIDE + 2}}" for cell in cells)


def _bars(result: Explanation, scores: Sequence[float]) -> Iterator[str]:
    """A word, its score, and a bar in proportion to the largest score; longer units stand behind
    their bars. Words that are asked about have none, and words that the model does not read are
    only counted."""
    largest = max((abs(score) for score in scores if not math.isnan(score)), default=0.0)
    places = 4 if largest >= 0.01 or not largest else 2 - math.floor(math.log10(largest))
    numbered = list(enumerate(zip(result.words, scores, strict=True)))
    for cut, some in groupby(numbered, key=lambda each: math.isnan(each[1][1])):
        if cut:
            yield from _unscored(result, [place for place, _ in some])
            continue
        for _, (word, score) in some:
            length = round(BAR * abs(score) / largest) if largest else 0
            bar = ("█" if score >= 0 else "░") * length
            if result.unit in (TOKEN, WORD):
                yield f"  {word:<20} {score:+.{places}f} {bar}"
            else:
                yield f"  {score:+.{places}f} {bar:<{BAR}} {' '.join(word.split())}"


def _unscored(result: Explanation, places: Sequence[int]) -> Iterator[str]:
    for place in places:
        if place in result.about:
            yield f"  {' '.join(result.words[place].split()):<20} (asked about)"
    count = sum(place not in result.about for place in places)
    if count:
        yield f"  ({count:,} {result.unit}{'s' * (count > 1)} cut off)"
