"""`heedful compare`: several audits side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli.options import JsonOption, SeedOption
from heedful.cli.terminal import show, show_json
from heedful.errors import HeedfulError

if TYPE_CHECKING:
    import pandas as pd


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
