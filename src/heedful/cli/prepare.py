"""`heedful prepare`: tokenise a corpus and cache it, which is all a bare GPU node needs."""

from __future__ import annotations

from typing import Annotated

import typer

from heedful.cli.corpus import FileColumns, Limit, Params, corpus_spec
from heedful.cli.options import (
    DEFAULT_STORE,
    DataDirOption,
    JsonOption,
    StoreOption,
    check_data_dir,
    open_store,
)
from heedful.cli.spread import spread
from heedful.cli.terminal import progress_bar, show, show_json
from heedful.errors import listed


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
    from heedful.corpora import Prepared
    from heedful.corpora import prepare as prepare_corpus

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
