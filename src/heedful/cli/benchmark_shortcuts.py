"""`heedful benchmark --part shortcuts`: do explanations find words that were planted to decide?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from heedful.cli.options import check_data_dir, names, open_store, seeds
from heedful.cli.outputs import Output, check_outputs
from heedful.cli.terminal import progress_bar, say, show
from heedful.errors import HeedfulError

PART = "shortcuts"
OWN = ("corpora", "models", "pretrained", "data_dir", "store")
"""Options that only this part has."""
SHARED = ("part", "kinds", "seeds", "out", "threads")


@dataclass(frozen=True)
class Options:
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
    parts = names(part, "--part") if part is not None else []
    own = {f"--{name.replace('_', '-')}" for name in OWN}
    if PART not in parts:
        for option in given:
            if option in own:
                raise HeedfulError(
                    f"{option} is of --part {PART}: leave it out, or name that part."
                )
        return False
    if len(parts) > 1:
        raise HeedfulError(f"--part {PART} is run alone: leave out the other parts.")
    known = own | {f"--{name}" for name in SHARED}
    for option in given:
        if option not in known:
            raise HeedfulError(f"--part {PART} has no use for {option}: leave it out.")
    return True


def run_part(options: Options) -> None:
    """Every cell's rows are in the file as soon as it is done; models are kept in the store."""
    from heedful.benchmark import ShortcutPlan, run_shortcuts, to_markdown
    from heedful.benchmark.shortcuts.plan import ROWS

    lists = {"shortcuts": options.kinds, "corpora": options.corpora, "models": options.models}
    chosen = {
        name: tuple(names(text, "--kinds" if name == PART else f"--{name}"))
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
