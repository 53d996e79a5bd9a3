"""A corpus named on the command line, by name or file; and `heedful prepare`, which caches it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from heedful.cli.options import (
    DEFAULT_STORE,
    MOST,
    DataDirOption,
    JsonOption,
    StoreOption,
    check_data_dir,
    open_store,
    spread,
)
from heedful.cli.terminal import progress_bar, show, show_json
from heedful.data import CORPORA, given_spec
from heedful.errors import HeedfulError, listed, unknown_name
from heedful.parameters import value_of
from heedful.specs import CorpusSpec

Params = Annotated[
    list[str] | None,
    typer.Option("--param", help="name=value: a parameter of the corpus or its preparation."),
]
Limit = Annotated[
    int | None,
    typer.Option("--limit", min=1, max=MOST, help="At most that many texts of each split."),
]


@dataclass(frozen=True)
class FileColumns:
    """How a user's own file is to be read, as it was typed."""

    text_column: Annotated[str, typer.Option(help="Column that holds the text.")] = "text"
    label_column: Annotated[str, typer.Option(help="Column that holds the label.")] = "label"
    split_column: Annotated[str | None, typer.Option(help="Column with train, dev or test.")] = None
    dev: Annotated[Path | None, typer.Option(help="A separate file for dev.")] = None
    test: Annotated[Path | None, typer.Option(help="A separate file for test.")] = None


def corpus_spec(
    name: str,
    params: list[str] | None = None,
    limit: int | None = None,
    columns: FileColumns = FileColumns(),
) -> CorpusSpec:
    """The spec of a named corpus or of a file."""
    given = parameters(params)
    _check_once(given, columns, limit)
    if columns.text_column == columns.label_column:
        twice = repr(columns.text_column)
        raise HeedfulError(f"text and label are both read from {twice}: name two columns.")
    if name in CORPORA and name != "file":
        if columns != FileColumns():
            raise HeedfulError(
                f"{name!r} is a named corpus, and columns and files are for a file: leave them out."
            )
        spec = given_spec(name, given)
    elif name.strip() and (Path(name).suffix or Path(name).exists()):
        if "path" in given:
            raise HeedfulError("the file is named already: leave --param path=… out.")
        spec = given_spec("file", given, _file_params(name, columns))
    else:
        raise unknown_name("corpus", name, [*(n for n in CORPORA if n != "file"), "a file's path"])
    return replace(spec, prepare=replace(spec.prepare, limit=limit)) if limit else spec


def _check_once(given: Mapping[str, Any], columns: FileColumns, limit: int | None) -> None:
    """What has an option of its own is not also given by `--param`."""
    typed = {name for name, value in vars(columns).items() if value != getattr(FileColumns, name)}
    options = {name: f"--{name.replace('_', '-')}" for name in (*typed, *(["limit"] * bool(limit)))}
    for name in given:
        if name in options:
            raise HeedfulError(f"--param {name}=… and {options[name]} say the same: give one.")


def _file_params(name: str, columns: FileColumns) -> dict[str, Any]:
    given = {key: str(value) for key, value in vars(columns).items() if value is not None}
    return {"path": name, **given}


def parameters(texts: Sequence[str] | None) -> dict[str, Any]:
    """What `--param` gave, each once."""
    found: dict[str, Any] = {}
    for text in texts or ():
        name, value = parameter(text)
        if name in found:
            raise HeedfulError(f"--param gives {name!r} twice: give it once.")
        found[name] = value
    return found


def parameter(text: str) -> tuple[str, Any]:
    """`name=value` with the value's own type."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise HeedfulError(f"--param is {text!r}: write name=value.")
    return name, value_of(value)


@spread
def prepare(
    corpus: Annotated[str, typer.Argument(help="A corpus by name, or a CSV/JSONL/Parquet file.")],
    store: StoreOption = DEFAULT_STORE,
    data_dir: DataDirOption = None,
    columns: FileColumns = FileColumns(),
    param: Params = None,
    limit: Limit = None,
    as_json: JsonOption = False,
) -> None:
    """Split, tokenise, filter, look up word vectors, and store the result."""
    from heedful.data import Prepared
    from heedful.data import prepare as prepare_corpus

    spec = corpus_spec(corpus, param, limit, columns)
    with progress_bar() as progress:
        run = prepare_corpus(spec, open_store(store), check_data_dir(data_dir), progress)
    report = Prepared(run).report
    if as_json:
        show_json("prepare", {"run": run.key, "report": report})
        return
    classes = listed(report["labels"]) if report["labels"] else report["task"]
    show(f"{run.key}: {classes}; vocabulary {report['vocabulary']}")
    for name, split in report["splits"].items():
        counts = listed(split["by_class"]).replace(", ", "/")
        length = split["average_length"] or 0
        show(f"  {name:<6} {split['examples']} texts ({counts}), {length:.1f} tokens on average")
    for line in report["filters"]:
        if line["dropped"]:
            show(f"  dropped {line['dropped']} of {line['split']} by {line['filter']!r}")
