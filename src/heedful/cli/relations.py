"""`heedful relations`: which heads attend along relations that are known."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.cli.audit_options import ModelArgument
from heedful.cli.help import MODEL
from heedful.cli.options import (
    DEFAULT_STORE,
    MOST,
    DeviceOption,
    JsonOption,
    StoreOption,
    ThreadsOption,
    argument,
    existing_store,
    given,
    option,
    set_threads,
    spread,
)
from heedful.cli.output import Output, check_outputs, next_step, say, show_result
from heedful.cli.tables import Table, show_prose, show_table

if TYPE_CHECKING:
    from heedful.auditing import Relations


@spread
def relations(
    model: ModelArgument,
    file: Path | None = argument(
        "Dependencies as .conllu, or coreference as .conll, .gold_conll or .jsonl. "
        "[default: generated sentences]",
        None,
    ),
    csv: Path | None = option("Also write every head and position, by half."),
    least: int = option("Cases of a relation that each half needs.", 20, min=1, max=MOST),
    max_length: int | None = option("Maximum tokens per text.", max=MOST, panel=MODEL),
    dtype: str | None = option("float32, float64 or bfloat16.", panel=MODEL),
    store: StoreOption = DEFAULT_STORE,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find heads that attend along known relations.

    The best head of each relation is chosen on one half of the texts and reported on the other.

    Examples:
    heedful relations path/to/model
    heedful relations path/to/model en_ewt-ud-dev.conllu --csv heads.csv
    heedful relations path/to/model dev.english.v4_gold_conll
    """
    from heedful.auditing import RELATION_ROWS
    from heedful.auditing import relations as run

    check_outputs(Output("--csv", csv, RELATION_ROWS), inputs=(model, file), store=store)
    set_threads(threads)
    loading = {"max_length": max_length, "dtype": dtype, "device": device}
    found = run(model, file, least, **loading, **given(store=existing_store(store)))
    if csv is not None:
        found.save(csv)
        say(f"rows: {csv}")
    if show_result("relations", as_json, found.to_dict()):
        return
    _show(found)
    if csv is None:
        next_step("the same command with --csv heads.csv also writes every head.")


def _show(found: Relations) -> None:
    show_prose(
        f"{found.model} on {found.data}, {found.texts} texts: how often the most attended word is "
        "the right one [95% interval], chosen on one half and reported on the other",
        "",
    )
    columns = ("relation", "direction", "head", "right", "position", "right there", "cases")
    show_table(Table(columns, [_cells(line) for line in found.table.to_dict("records")]))
    show_prose(*(f"Note: {note}" for note in found.notes))


def _cells(line: Mapping[Hashable, Any]) -> list[str]:
    def told(prefix: str) -> str:
        value, low, high = (line[f"{prefix}{name}"] for name in ("accuracy", "low", "high"))
        return f"{value:.2f} [{low:.2f}, {high:.2f}]"

    place = f"layer {line['layer']}, head {line['head']}"
    start = [str(line["relation"]), str(line["direction"]), place, told("")]
    return [*start, f"{line['position']:+d}", told("position_"), str(line["cases"])]
