"""`heedful audit`, `check`, `compare` and `explain`: what the attention of a model explains."""

from __future__ import annotations

import json
import math
import re
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
)
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
from heedful.cli.output import (
    Output,
    check_outputs,
    drawn_later,
    progress_bar,
    say,
    show,
    show_json,
    show_result,
)
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
    out: Path | None = option(
        "Folder for the verdict, the tables and the page.", None, "--out", "-o"
    ),
    card: Path | None = option("Also write a section for a model card.", panel=OUTPUT),
    budget: str | None = option("Stop when the verdict is clear, or after this time: 5min."),
    seed_model: list[str] | None = option(
        "The same model trained with another seed; repeatable.", panel=MEASURED
    ),
    measured: MeasureOptions = MeasureOptions(),
    subject: SubjectOptions = SubjectOptions(),
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Audit a model: does its attention explain its predictions?

    Run the same command again to resume.

    Examples:
    heedful audit path/to/model reviews.csv --n 200 --dry-run
    heedful audit path/to/model reviews.csv --n 200 --text-column review -o audit
    heedful audit model-00c5 --quick --budget 5min -o audit
    """
    subject.check_data(model, data)
    from heedful.auditing import AUDIT, check_trainings, write_audit
    from heedful.store import write_file
    from heedful.verdict import CARD
    from heedful.verdict import card as write_card

    check_outputs(
        Output("-o", out, AUDIT),
        Output("--card", card, CARD),
        inputs=(model, data, *(seed_model or ())),
        store=subject.store,
    )
    if seed_model and budget is not None:
        raise HeedfulError("give either --seed-model or --budget: all seeds need the same texts.")
    limit, spec = seconds(budget), measured.spec(subject.seed)
    models = [model, *(seed_model or ())]
    if seed_model:
        check_trainings(models, existing_store(subject.store))
    if dry_run:
        _dry_run(models, data, spec, subject, as_json)
        return
    result = run_audits(models, data, measured, subject, limit)
    if out is not None:
        write_audit(result, out)
    if card is not None:
        write_file(card, write_card(result.verdict))
    if as_json:
        show_json("audit", {"verdict": json.loads(result.verdict.to_json())})
    else:
        show(*_lines(result))
    if out is not None:
        _draw(result, out)


def _lines(result: Audit) -> Iterator[str]:
    from heedful.report import evidence_of, layers_line

    yield from result.verdict.lines()
    if layers := layers_line(evidence_of(result.as_parts())):
        yield layers
    yield from (f"Note: {note}" for note in result.facts["notes"])
    yield from (f"Left out: {name}: {why}" for name, why in result.facts["skipped"].items())


def run_audits(
    models: Sequence[str],
    data: str | None,
    measured: MeasureOptions,
    subject: SubjectOptions,
    budget: float | None = None,
) -> Audit:
    """Of a model, or of several trainings of it together."""
    from heedful.auditing import Plan, over_seeds
    from heedful.auditing import audit as run

    spec, settings = measured.spec(subject.seed), measured.settings
    set_threads(subject.threads)
    audits = []
    for model in models:
        with progress_bar() as progress:
            plan = Plan(open_store(subject.store), budget, progress, measured.must, announce=say)
            audits.append(run(model, data, spec, settings, plan, **subject.given()))
    return over_seeds(audits, settings) if len(audits) > 1 else audits[0]


def seconds(text: str | None) -> float | None:
    """`90s`, `5min`, `2h`."""
    if text is None:
        return None
    time = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(s|min|h)\s*", text)
    if not time or not 0 < float(time[1]) < math.inf:
        raise HeedfulError(f"--budget is {text!r}: write a time such as 90s, 5min or 2h.")
    return float(time[1]) * {"s": 1, "min": 60, "h": 3600}[time[2]]


def _dry_run(
    models: list[str], data: str | None, spec: AuditSpec, subject: SubjectOptions, as_json: bool
) -> None:
    """Times the first model: other trainings of it take as long."""
    from heedful.auditing import estimate

    set_threads(subject.threads)
    with progress_bar() as progress:
        progress("timing a few texts", 0, 1)
        cost = estimate(models[0], data, spec, **subject.given())
        cost = replace(cost, seconds=cost.seconds * len(models))
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
    )


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
    from heedful.store import write_file
    from heedful.verdict import JUNIT, PROPERTIES, VERDICT, failures
    from heedful.verdict import check as compare
    from heedful.verdict import junit as as_junit

    thresholds = numbers(at_least or [], "--at-least")
    for name in thresholds:
        if name not in PROPERTIES:
            raise unknown_name("property", name, list(PROPERTIES))
    check_outputs(
        Output("--junit", junit, JUNIT),
        Output("--write-baseline", write_baseline, VERDICT),
        inputs=(model, data),
        store=subject.store,
    )
    old = _baseline(baseline, measured.spec(subject.seed)) if baseline is not None else None
    verdict = run_audits([model], data, measured, subject).verdict
    if baseline is not None and old is not None and old.facts["spec"] != verdict.facts["spec"]:
        raise _made_otherwise(baseline)
    outcomes = compare(verdict, thresholds, old)
    if junit is not None:
        write_file(junit, as_junit(outcomes))
    if write_baseline is not None:
        write_file(write_baseline, verdict.to_json())
    lines = (
        f"{'FAILED' if outcome.failure else 'ok':<7} {outcome.name}  {outcome.failure}".rstrip()
        for outcome in outcomes
    )
    show_result("check", as_json, {"outcomes": [vars(outcome) for outcome in outcomes]}, *lines)
    if failures(outcomes):
        raise typer.Exit(1)


def _baseline(path: Path, spec: AuditSpec) -> Verdict:
    """Refused before anything is measured where its numbers were measured with other settings;
    operators that are the same to a model count as one."""
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


@spread
def compare(
    audits: list[Path] = argument("Folders that `heedful audit -o` wrote.", ...),
    measure: str = option(
        "Such as auprc, comprehensiveness or tau:occlusion.", "comprehensiveness"
    ),
    operator: str | None = option("Removal operator, where there are several."),
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Compare explanations of several audits by one measure.

    Prints a Markdown table with 95% intervals over texts.
    """
    from heedful.auditing import Audit, made_with, to_markdown
    from heedful.auditing import compare as side_by_side

    names = [path.resolve().name for path in audits]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise HeedfulError(f"two of the folders have the same name {twice!r}: rename one of them.")
    loaded = {name: Audit.load(path) for name, path in zip(names, audits, strict=True)}
    table = side_by_side(loaded, measure, operator, seed)
    if as_json:
        show_json("compare", {"rows": table.to_dict("records")})
        return
    show(f"{_title(table, measure)}\n\n{to_markdown(table)}")
    operators = sorted(set(map(str, table["operator"])))
    if own := made_with(loaded, set(operators)):
        show(f"\nLeft out, as made with {', '.join(operators)}: {', '.join(own)}.")


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
    target: str = option("logit, probability or loss.", "probability"),
    of: str | None = option("Class to explain. [default: the predicted one]"),
    pairs: int = option("Top words whose pairwise interactions to score.", 0, min=0, max=20),
    asked: ModelOptions = ModelOptions(),
    as_json: JsonOption = False,
) -> None:
    """Score every word of a text.

    Examples:
    heedful explain path/to/model "a fine film"
    heedful explain path/to/model "a fine film" --explanations attention,lime --of positive
    """
    from heedful.auditing import explain as run

    if not text.strip():
        raise HeedfulError("the text is empty: give at least one word.")
    if text_b is not None and not text_b.strip():
        raise HeedfulError("the second text is empty: give at least one word, or leave it out.")
    set_threads(asked.threads)
    result = run(model, text, text_b, explanations, target, of, pairs, **asked.given())
    if as_json:
        show_json("explain", result.to_dict())
        return
    show(f"predicted: {result.predicted}")
    show(f"explained: {target} of {result.explained} (probability {result.probability:.3f})")
    for name, scores in result.scores.items():
        show("", name, *_bars(result.words, scores))
    if result.interactions:
        show("", "together, beyond what each does alone")
        show(*(f"  {one} + {other}  {value:+.4f}" for one, other, value in result.interactions))


def _bars(words: Sequence[str], scores: Sequence[float]) -> Iterator[str]:
    """A word, its score, and a bar in proportion to the largest score; words that the model does
    not read are only counted."""
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
