"""`heedful benchmark`: verdict, explanations and measures on models whose truth is known."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from heedful.cli.options import (
    DEFAULT_STORE,
    DataDirOption,
    JsonOption,
    StoreOption,
    ThreadsOption,
    check_data_dir,
    given,
    given_options,
    maybe_names,
    open_store,
    option,
    set_threads,
    spread,
)
from heedful.cli.options import seeds as read_seeds
from heedful.cli.output import Output, check_outputs, next_step, say, show, show_result
from heedful.cli.tables import Table, show_prose, show_table
from heedful.errors import HeedfulError
from heedful.progress import progress_bar

if TYPE_CHECKING:
    import pandas as pd

SHORTCUTS, NEEDLES = "shortcuts", "needles"
SHARED_OPTIONS = ("part", "kinds", "seeds", "out", "threads")
MOST_TEXTS = 100_000


@dataclass(frozen=True)
class ShortcutOptions:
    """Options that only this part has."""

    corpora: str | None = option("For shortcuts: sst, imdb, toxicity.")
    models: str | None = option("For shortcuts: bilstm, minilm.")
    pretrained: Path | None = option("For shortcuts: the folder of MiniLM.")
    data_dir: DataDirOption = None
    store: StoreOption = DEFAULT_STORE


@dataclass(frozen=True)
class NeedleOptions:
    """Options that only this part has."""

    model: Path | None = option("For needles: the folder of a causal language model.")
    units: str | None = option("For needles: units, such as sentence,word.")
    prompts: int | None = option("For needles: prompts of each kind.", min=1, max=MOST_TEXTS)
    explanations: str | None = option("For needles: explanations instead of the usual set.")
    dtype: str | None = option("For needles: float32, float64 or bfloat16.")


ALONE: Mapping[str, type[Any]] = {SHORTCUTS: ShortcutOptions, NEEDLES: NeedleOptions}
"""Parts that are run alone, with the options that only they have."""


def check_given(parts: list[str], typed: list[str]) -> str | None:
    """The part that is run alone, if one is named, with no option of another part."""
    own = {part: [_typed(each.name) for each in fields(ALONE[part])] for part in ALONE}
    chosen = next((part for part in parts if part in ALONE), None)
    if chosen is not None and len(parts) > 1:
        raise HeedfulError(f"--part {chosen} is run alone: leave out the other parts.")
    for name in typed:
        other = next((part for part in own if name in own[part] and part != chosen), None)
        if other is not None:
            raise HeedfulError(f"{name} is of --part {other}: leave it out, or name that part.")
        if chosen and name not in (*own[chosen], *map(_typed, SHARED_OPTIONS)):
            raise HeedfulError(f"--part {chosen} has no use for {name}: leave it out.")
    return chosen


def _typed(name: str) -> str:
    return f"--{name.replace('_', '-')}"


@spread
def benchmark(
    context: typer.Context,
    part: str | None = option("Run only these parts: trained, compiled, shortcuts, or needles."),
    kinds: str | None = option("Run only these kinds, such as average,idle."),
    held_out: bool = option(
        "Held-out models instead of those of development.", False, "--held-out"
    ),
    seeds: str | None = option("Seeds of populations: a count (2) or a list (4,7)."),
    texts: int = option("Examples per model.", 5000, min=1, max=MOST_TEXTS),
    out: Path | None = option("Write rows here, as CSV; run again to resume.", None, "--out", "-o"),
    report: bool = option("Write docs/which-metric.md from the kept rows.", False, "--report"),
    dry_run: bool = option("Print the models and the cost without measuring.", False, "--dry-run"),
    shortcuts: ShortcutOptions = ShortcutOptions(),
    needles: NeedleOptions = NeedleOptions(),
    threads: ThreadsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Audit models whose truth is known.

    Scores the verdict, every explanation and every faithfulness measure. The exit code is 1 if
    verdicts contradict the verified truth, or the verdict on the whole population, in more than
    5% of the subsamples of a kind.

    With --part shortcuts, decisive words are planted in real corpora, and explanations are scored
    by finding them. It runs alone, needs data and takes hours; its --kinds are single_token,
    token_in_context, ordered_pair and xor.

    With --part needles, one sentence of a long prompt decides the next token, and explanations of
    a language model (--model) are scored by finding it. It runs alone; its --kinds are door, train,
    box and meeting.
    """
    from heedful.benchmark import PARTS, as_dict, broken, cases, estimate, run
    from heedful.benchmark.measure import ROWS

    if report:
        others = given_options(context, but=("report",))
        if others:
            raise HeedfulError(f"--report takes no other options: leave out {', '.join(others)}.")
        from heedful.cli.study import from_checkout

        for path in from_checkout("which_metric").write_page():
            say(f"page: {path}")
        return
    parts = maybe_names(part, "--part") or list(PARTS)
    alone = check_given(parts, given_options(context))
    if alone is not None:
        set_threads(threads)
        if alone == SHORTCUTS:
            _run_shortcuts(shortcuts, kinds, seeds, out)
        else:
            _run_needles(needles, kinds, seeds, out)
        return
    chosen = maybe_names(kinds, "--kinds") or []
    wanted = cases(parts, held_out, _seeds(seeds, held_out), texts, chosen)
    if dry_run:
        show("\n".join([estimate(wanted), *(case.name for case in wanted)]))
        return
    check_outputs(Output("-o", out, ROWS))
    set_threads(threads)
    with progress_bar() as progress:
        rows = run(wanted, out, progress=progress, announce=say)
    if out is not None:
        say(f"rows: {out}")
    if not show_result("benchmark", as_json, as_dict(rows)):
        _show(rows)
        if out is None:
            next_step("the same command with -o rows.csv keeps the rows, and resumes from them.")
    if broken(rows):
        raise typer.Exit(1)


def _show(rows: pd.DataFrame) -> None:
    from heedful.benchmark import broken, text_cells, text_tables, to_text

    if not sys.stdout.isatty():
        show(to_text(rows))
        return
    for name, table in text_tables(rows):
        columns, *cells = text_cells(table)
        numbers = [each for each in columns if table[each].dtype.kind in "if"]
        show_table(Table(columns, cells, name, numbers))
    show_prose(*broken(rows))


def _run_shortcuts(
    options: ShortcutOptions, kinds: str | None, seeds: str | None, out: Path | None
) -> None:
    """Every cell's rows are in the file as soon as it is done; models are kept in the store."""
    from heedful.benchmark import ShortcutPlan, run_shortcuts, to_markdown
    from heedful.benchmark.shortcuts import ROWS

    chosen = given(
        shortcuts=maybe_names(kinds, "--kinds"),
        corpora=maybe_names(options.corpora, "--corpora"),
        models=maybe_names(options.models, "--models"),
        seeds=None if seeds is None else read_seeds(seeds),
    )
    plan = ShortcutPlan(
        **{name: tuple(values) for name, values in chosen.items()},  # type: ignore[arg-type]
        data_dir=check_data_dir(options.data_dir),
        pretrained=options.pretrained,
    )
    check_outputs(Output("-o", out, ROWS), store=options.store)
    with progress_bar() as progress:
        rows = run_shortcuts(plan, open_store(options.store), out, progress)
    if out is not None:
        say(f"rows: {out}")
    show(to_markdown(rows))


def _run_needles(
    options: NeedleOptions, kinds: str | None, seeds: str | None, out: Path | None
) -> None:
    """Every prompt's rows are in the file as soon as it is done."""
    from heedful.auditing import names_in
    from heedful.benchmark import NeedlePlan, needles_markdown, run_needles
    from heedful.benchmark.needles import ROWS

    if options.model is None:
        raise HeedfulError(
            f"--part {NEEDLES} asks a causal language model: name its folder with --model."
        )
    chosen = given(
        kinds=maybe_names(kinds, "--kinds"),
        units=maybe_names(options.units, "--units"),
        seeds=None if seeds is None else read_seeds(seeds),
        explanations=None if options.explanations is None else names_in(options.explanations),
    )
    plain = given(prompts=options.prompts, dtype=options.dtype)
    listed = {name: tuple(values) for name, values in chosen.items()}
    plan = NeedlePlan(options.model, **listed, **plain)  # type: ignore[arg-type]
    check_outputs(Output("-o", out, ROWS))
    with progress_bar() as progress:
        rows = run_needles(plan, out, progress)
    if out is not None:
        say(f"rows: {out}")
    show(needles_markdown(rows))


def _seeds(text: str | None, held_out: bool) -> list[int]:
    """A count is that many seeds of the part that is run."""
    from heedful.benchmark import FIRST_HELD_OUT

    if text is None:
        return []
    numbers = read_seeds(text)
    counted = "," not in text
    return [number + FIRST_HELD_OUT for number in numbers] if held_out and counted else numbers
