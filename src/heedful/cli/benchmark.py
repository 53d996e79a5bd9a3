"""`heedful benchmark`: verdict, explanations and measures on models whose truth is known."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from heedful.cli.options import (
    DEFAULT_STORE,
    DataDirOption,
    JsonOption,
    StoreOption,
    ThreadsOption,
    check_data_dir,
    given_options,
    maybe_names,
    names,
    open_store,
    seeds,
    set_threads,
)
from heedful.cli.options import seeds as read_seeds
from heedful.cli.output import Output, check_outputs, progress_bar, say, show, show_json
from heedful.errors import HeedfulError

SHORTCUTS = "shortcuts"
SHORTCUT_OPTIONS = ("corpora", "models", "pretrained", "data_dir", "store")
"""Options that only this part has."""
SHARED_OPTIONS = ("part", "kinds", "seeds", "out", "threads")
MOST_TEXTS = 100_000


@dataclass(frozen=True)
class ShortcutOptions:
    """As they were typed; `kinds` are shortcuts."""

    kinds: str | None
    corpora: str | None
    models: str | None
    seeds: str | None
    data_dir: Path | None
    pretrained: Path | None
    store: str
    out: Path | None


def check_given(part: str | None, given: list[str]) -> bool:
    """Whether this part is to be run: alone, and with no option of another part."""
    parts = maybe_names(part, "--part") or []
    own = {f"--{name.replace('_', '-')}" for name in SHORTCUT_OPTIONS}
    if SHORTCUTS not in parts:
        for option in given:
            if option in own:
                raise HeedfulError(
                    f"{option} is of --part {SHORTCUTS}: leave it out, or name that part."
                )
        return False
    if len(parts) > 1:
        raise HeedfulError(f"--part {SHORTCUTS} is run alone: leave out the other parts.")
    known = own | {f"--{name}" for name in SHARED_OPTIONS}
    for option in given:
        if option not in known:
            raise HeedfulError(f"--part {SHORTCUTS} has no use for {option}: leave it out.")
    return True


def run_part(options: ShortcutOptions) -> None:
    """Every cell's rows are in the file as soon as it is done; models are kept in the store."""
    from heedful.benchmark import ShortcutPlan, run_shortcuts, to_markdown
    from heedful.benchmark.shortcuts import ROWS

    lists = {"shortcuts": options.kinds, "corpora": options.corpora, "models": options.models}
    chosen = {
        name: tuple(names(text, "--kinds" if name == SHORTCUTS else f"--{name}"))
        for name, text in lists.items()
        if text is not None
    }
    numbers = {} if options.seeds is None else {"seeds": tuple(seeds(options.seeds))}
    folders = {"data_dir": check_data_dir(options.data_dir), "pretrained": options.pretrained}
    plan = ShortcutPlan(**chosen, **numbers, **folders)  # type: ignore[arg-type]
    check_outputs(Output("-o", options.out, ROWS), store=options.store)
    with progress_bar() as progress:
        rows = run_shortcuts(plan, open_store(options.store), options.out, progress)
    if options.out is not None:
        say(f"rows: {options.out}")
    show(to_markdown(rows))


def benchmark(
    context: typer.Context,
    part: Annotated[
        str | None, typer.Option(help="Run only these parts: trained, compiled, or shortcuts.")
    ] = None,
    kinds: Annotated[
        str | None, typer.Option(help="Run only these kinds, such as average,idle.")
    ] = None,
    held_out: Annotated[
        bool, typer.Option("--held-out", help="Held-out models instead of those of development.")
    ] = False,
    seeds: Annotated[
        str | None, typer.Option(help="Seeds of populations: a count (2) or a list (4,7).")
    ] = None,
    texts: Annotated[int, typer.Option(min=1, max=MOST_TEXTS, help="Examples per model.")] = 5000,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write rows here, as CSV; run again to resume."),
    ] = None,
    report: Annotated[
        bool, typer.Option("--report", help="Write docs/which-metric.md from the kept rows.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the models and the cost without measuring.")
    ] = False,
    corpora: Annotated[str | None, typer.Option(help="For shortcuts: sst, imdb, toxicity.")] = None,
    models: Annotated[str | None, typer.Option(help="For shortcuts: bilstm, minilm.")] = None,
    pretrained: Annotated[
        Path | None, typer.Option(help="For shortcuts: the folder of MiniLM.")
    ] = None,
    data_dir: DataDirOption = None,
    store: StoreOption = DEFAULT_STORE,
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
    """
    from heedful.benchmark import PARTS, as_dict, broken, cases, estimate, run, to_text, write_page
    from heedful.benchmark.measure import ROWS

    if report:
        others = given_options(context, but=("report",))
        if others:
            raise HeedfulError(f"--report takes no other options: leave out {', '.join(others)}.")
        for path in write_page():
            say(f"page: {path}")
        return
    if check_given(part, given_options(context)):
        set_threads(threads)
        run_part(ShortcutOptions(kinds, corpora, models, seeds, data_dir, pretrained, store, out))
        return
    parts = maybe_names(part, "--part") or list(PARTS)
    chosen = maybe_names(kinds, "--kinds") or []
    numbers = _seeds(seeds, held_out)
    wanted = cases(parts, held_out, numbers, texts, chosen)
    if dry_run:
        show("\n".join([estimate(wanted), *(case.name for case in wanted)]))
        return
    check_outputs(Output("-o", out, ROWS))
    set_threads(threads)
    with progress_bar() as progress:
        rows = run(wanted, out, progress=progress, announce=say)
    if out is not None:
        say(f"rows: {out}")
    if as_json:
        show_json("benchmark", as_dict(rows))
    else:
        show(to_text(rows))
    if broken(rows):
        raise typer.Exit(1)


def _seeds(text: str | None, held_out: bool) -> list[int]:
    """A count is that many seeds of the part that is run."""
    from heedful.benchmark import FIRST_HELD_OUT

    if text is None:
        return []
    numbers = read_seeds(text)
    counted = "," not in text
    return [number + FIRST_HELD_OUT for number in numbers] if held_out and counted else numbers
