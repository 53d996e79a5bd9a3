"""A model Heedful trained itself, with its own corpus or with new texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from heedful.corpora import Prepared, Tokens, tokenizer
from heedful.edits import restored
from heedful.errors import HeedfulError
from heedful.store import Run, Store, store_of
from heedful.subjects.codecs import DOCUMENTS
from heedful.subjects.digest import weights_digest
from heedful.subjects.document import Document, Span
from heedful.subjects.documents import Documents, documents_of, find_records
from heedful.subjects.limits import LONGEST
from heedful.subjects.loading import Loading
from heedful.subjects.named import prepared_records
from heedful.subjects.reading import Reading
from heedful.subjects.row import Row, truncation
from heedful.subjects.run_rows import compared, encode_texts, unknown_note
from heedful.subjects.settle import settle
from heedful.subjects.shelf import Shelf
from heedful.subjects.subject import Subject

Tokenizer = Callable[[Iterable[str]], Iterator[Tokens]]
_KEY = r"(model|corpus|probe|study|audit)-[0-9a-f]{1,16}"


def find_run(source: str | Path | Run, store: Store | None) -> Run | None:
    """The run a user means by its folder, or by a key of the store; None for anything else."""
    if isinstance(source, Run):
        return source
    path = Path(source).expanduser()
    if path.name == "hf" and (path.parent / "run.json").is_file():
        path = path.parent
    if (path / "run.json").is_file():
        return Store(path.resolve().parent.parent).open(path.resolve().name)
    if re.fullmatch(_KEY, str(source)):
        if store is None:
            raise HeedfulError(
                f"{source} looks like the key of a run: name the store it is in "
                "(--store, in Python store='heedful-store')."
            )
        return store.resolve(str(source))
    return None


@contextmanager
def open_run(run: Run, data: Any, reading: Reading, loading: Loading) -> Iterator[Subject]:
    """`data` left out, or the name of its own corpus, is the corpus it was trained on."""
    if run.kind != "model":
        raise HeedfulError(f"{run.key} is of kind {run.kind}: give a run of kind model.")
    loading.refuse(f"run {run.key}", "label", "label_words", "template")
    corpus, spec = store_of(run).open(run.source("corpus")), run.spec
    prepared = Prepared(corpus)
    if prepared.task == "generation":
        raise HeedfulError(
            f"run {run.key} writes texts, and an audit needs a decision: use `heedful study` or "
            f"probes on it, or audit a classifier."
        )
    if corpus.fact("prepare.tokenizer", str) == "bpe":
        raise HeedfulError(
            f"run {run.key} reads sub-words, and an audit is of words: train one with another "
            f"tokenizer than bpe."
        )
    if spec.blind:
        raise HeedfulError(
            f"run {run.key} never sees impermissible tokens, and an audit shows whole texts: use "
            f"`heedful study` or probes on it, or audit a model that is not blind."
        )
    limit = LONGEST if loading.max_length is None else loading.max_length
    documents, rows = read_texts(run, prepared, data, reading, limit)
    model = restored(run, loading.best_device).to(loading.torch_dtype)
    key = {
        "family": spec.family,
        "run": run.key,
        "weights": weights_digest(model),
        "tokenizer": corpus.key,
        "dtype": loading.dtype or "float32",
        "max_length": limit,
    }
    draft = Subject(
        model,
        documents.items,
        prepared.labels,
        rows,
        truncation(compared(rows, documents)),
        documents.source,
        spec.name,
        loading.best_device,
        key,
        documents.dropped,
        unknown_note(rows),
    )
    yield settle(draft, documents, loading.label_map)


def read_texts(
    run: Run, prepared: Prepared, data: Any, reading: Reading, limit: int
) -> tuple[Documents, Shelf[Row]]:
    """Texts as the model of the run reads them."""
    pair = reads_pairs(run)
    if reading.text_b_column is not None and not pair:
        raise HeedfulError(f"run {run.key} reads one text: leave text_b_column out.")
    read = _documents(prepared, data, reading)
    _check_sides(run, read, pair)
    documents = read
    if "b" in read[0].texts:
        documents = replace(read, items=Shelf.of(map(_on_trial, read), DOCUMENTS))
    return documents, encode_texts(read, prepared, limit)


def reads_pairs(run: Run) -> bool:
    return run.spec.family == "pair"


def _documents(prepared: Prepared, data: Any, reading: Reading) -> Documents:
    """Words are the model's tokens: new texts are cut as its corpus was."""
    if data is None or data == prepared.run.fact("piece", str):
        reading.refuse_params("the corpus of a run, as it was prepared,")
        reading.refuse_columns("the corpus of a run")
        return documents_of(prepared_records(prepared, reading.part), reading)
    name = prepared.run.fact("prepare.tokenizer", str)
    if name != "given":
        reading = replace(reading, words=partial(_spans, tokenizer(name)))
    return documents_of(find_records(data, reading), reading)


def _check_sides(run: Run, documents: Documents, pair: bool) -> None:
    if pair and "b" not in documents[0].texts:
        raise HeedfulError(
            f"run {run.key} reads pairs, and {documents.source} has single texts: name the "
            f"column of the second text (--text-b-column)."
        )


def _on_trial(document: Document) -> Document:
    """Attention is over side a, so its words are the ones on trial; side b is only given."""
    words = {"a": document.words["a"]}
    marks = document.rationale
    return replace(
        document, words=words, rationale=None if marks is None else marks[: len(words["a"])]
    )


def _spans(cut: Tokenizer, text: str) -> tuple[Span, ...]:
    tokens = next(cut([text]))
    return tuple(zip(tokens.starts.tolist(), tokens.ends.tolist(), strict=True))
