"""A model Heedful trained itself, with its own corpus or with new texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from heedful.data import (
    Prepared,
    Tokens,
    Vocabulary,
    normalise,
    sentence_numbers,
    tokenizer,
)
from heedful.errors import HeedfulError
from heedful.interventions import restored
from heedful.specs import UNKNOWN
from heedful.store import Run, Store, store_of
from heedful.targets.disk_list import DOCUMENTS, ROWS, DiskList
from heedful.targets.document import (
    Document,
    Row,
    Span,
    framed,
    on_trial,
    truncation,
    words_of,
)
from heedful.targets.documents import Documents, documents_of, find_records, prepared_records
from heedful.targets.options import ANSWERING, LONGEST, Loading, Reading
from heedful.targets.target import AuditTarget, finish_labelled, weights_digest

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
def open_run(run: Run, data: Any, reading: Reading, loading: Loading) -> Iterator[AuditTarget]:
    """`data` left out, or the name of its own corpus, is the corpus it was trained on."""
    if run.kind != "model":
        raise HeedfulError(f"{run.key} is of kind {run.kind}: give a run of kind model.")
    loading.refuse(f"run {run.key}", "label", "label_words", "template", *ANSWERING)
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
    cut = (
        (row, document, words_lost(row, document) > 0)
        for row, document in zip(rows, documents, strict=True)
    )
    draft = AuditTarget(
        model,
        documents.items,
        prepared.labels,
        rows,
        truncation(cut),
        documents.source,
        spec.name,
        loading.best_device,
        key,
        documents.dropped,
        unknown_note(rows),
        unit=documents.unit,
    )
    yield finish_labelled(draft, documents, loading.label_map)


def read_texts(
    run: Run, prepared: Prepared, data: Any, reading: Reading, limit: int
) -> tuple[Documents, DiskList[Row]]:
    """Texts as the model of the run reads them."""
    pair = reads_pairs(run)
    if reading.text_b_column is not None and not pair:
        raise HeedfulError(f"run {run.key} reads one text: leave text_b_column out.")
    read = _documents(prepared, data, reading)
    if pair and "b" not in read[0].texts:
        raise HeedfulError(
            f"run {run.key} reads pairs, and {read.source} has single texts: name the "
            f"column of the second text (--text-b-column)."
        )
    documents = read
    if "b" in read[0].texts:
        documents = replace(read, items=DiskList.of(map(on_trial, read), DOCUMENTS))
    vocabulary, labels = Vocabulary(tuple(prepared.words), ()), prepared.labels
    rows = DiskList.of((_row_of(each, vocabulary, labels, limit) for each in read), ROWS)
    return documents, rows


def words_lost(row: Row, document: Document) -> int:
    """Every word is one token, so a text was cut where it has fewer tokens than words."""
    return len(document.atoms["a"]) - int(row.mask.sum())


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


def _spans(cut: Tokenizer, text: str) -> tuple[Span, ...]:
    tokens = next(cut([text]))
    return tuple(zip(tokens.starts.tolist(), tokens.ends.tolist(), strict=True))


MANY_UNKNOWN = 0.1
_normalised = lru_cache(maxsize=1 << 16)(normalise)


def unknown_note(rows: Iterable[Row]) -> tuple[str, ...]:
    words = unknown = 0
    for row in rows:
        words += int(row.mask.sum())
        unknown += int((row.tokens[row.mask] == UNKNOWN).sum())
    share = unknown / words if words else 0.0
    if share <= MANY_UNKNOWN:
        return ()
    return (f"{share:.0%} of all words are unknown to the model and look the same to it.",)


def _row_of(document: Document, vocabulary: Vocabulary, labels: tuple[str, ...], limit: int) -> Row:
    """Side a, with side b beside it where there is one, and with the classes that can be the
    answer where the corpus says which."""
    sides = {
        side: _row(document.texts[side], document.atoms[side], vocabulary, limit)
        for side in document.texts
    }
    if document.pieces is not None:
        number = words_of(document.pieces["a"], document.words["a"])
        own = sides["a"].words
        sides["a"] = replace(sides["a"], words=np.where(own >= 0, number[own], -1))
    known = None
    if document.candidates is not None:
        places = {name: place for place, name in enumerate(labels)}
        known = tuple(places[name] for name in document.candidates if name in places)
    return replace(sides["a"], beside=sides.get("b"), candidates=known)


def _row(text: str, spans: tuple[Span, ...], vocabulary: Vocabulary, limit: int) -> Row:
    """Start, the words, end; every word is one token."""
    spans = spans[: limit - 2]
    row = framed(vocabulary.encode([_normalised(text[a:b]) for a, b in spans]))
    starts = np.array([start for start, _ in spans], dtype=np.int32)
    sentences = np.full(len(row), -1, dtype=np.int64)
    sentences[1:-1] = sentence_numbers(text, starts)
    return replace(row, sentences=sentences)
