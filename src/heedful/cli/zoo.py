"""`heedful zoo`: does the verdict find the truth where the truth was planted?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from heedful.cli.options import JsonOption, SeedOption, ThreadsOption, names, set_threads
from heedful.cli.outputs import Output, check_outputs
from heedful.cli.terminal import progress_bar, say, show, show_json

PerKind = Annotated[
    int, typer.Option("--per-kind", max=1000, help="Models of each kind in each family.")
]
Families = Annotated[
    str | None, typer.Option(help="Only these, comma-separated: one-sequence, transformer.")
]
Kinds = Annotated[
    str | None, typer.Option(help="Only these, comma-separated, such as decision,misleading.")
]


def zoo(
    per_kind: PerKind = 20,
    families: Families = None,
    kinds: Kinds = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write all tables here, as Markdown.")
    ] = None,
    seed: SeedOption = 0,
    threads: ThreadsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Audit planted models whose truth is known. Exit code 1 where the verdict breaks a
    promise: under 95% right, a verdict that is the opposite of the truth, or a score that does
    not rise with the truth."""
    from heedful.store.outputs import write_file
    from heedful.zoo.gallery import FAMILIES, KINDS
    from heedful.zoo.run import run_zoo
    from heedful.zoo.show import TABLES, to_markdown, to_text

    check_outputs(Output("-o", out, TABLES))
    chosen = names(families, "--families") if families is not None else list(FAMILIES)
    wanted = names(kinds, "--kinds") if kinds is not None else list(KINDS)
    set_threads(threads)
    with progress_bar() as progress:
        result = run_zoo(wanted, chosen, per_kind, progress=progress, seed=seed)
    if out is not None:
        write_file(out, to_markdown(result))
        say(f"tables: {out}")
    if as_json:
        show_json("zoo", result.to_dict())
    else:
        show(to_text(result))
    if result.broken:
        raise typer.Exit(1)
