"""The texts of a named corpus, raw: no vocabulary is built and no length filtered."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from heedful.corpora import (
    CORPORA,
    SPLITS,
    Example,
    MissingData,
    Prepared,
    RawCorpus,
    Split,
    check_raw,
    corpus_params,
    cut_splits,
    given_spec,
    limit_splits,
    prepare,
)
from heedful.errors import HeedfulError, unknown_name
from heedful.specs import CorpusSpec
from heedful.store import Run
from heedful.subjects.codecs import RECORDS
from heedful.subjects.document import Span
from heedful.subjects.reading import Reading
from heedful.subjects.records import Record, Records
from heedful.subjects.shelf import Shelf

CUTTING = ("dev_fraction", "test_fraction", "limit", "seed")
"""What of a preparation decides which texts are in a split."""


def named_records(name: str, reading: Reading) -> Records:
    """A split of the corpus, the same texts `prepare` would put into it. Where the files are
    not there, a prepared corpus in the store makes up for them."""
    if reading.part not in SPLITS:
        raise unknown_name("split", reading.part, list(SPLITS))
    reading.refuse_columns(f"the corpus {name!r}")
    piece, spec = CORPORA[name], corpus_of(name, reading)
    if piece.kind == "generation":
        raise HeedfulError(f"the corpus {name!r} is for generation: choose one that has classes.")
    try:
        raw: RawCorpus = piece.make(reading.data_dir, **corpus_params(piece, spec.params))
    except MissingData:
        if reading.opened is None:
            raise
        return prepared_records(Prepared(prepare(spec, reading.opened)), reading.part)
    check_raw(raw)
    cut = limit_splits(cut_splits(raw.examples, spec.prepare), spec.prepare)
    examples = [example for example in cut if example.split == reading.part]
    if not examples:
        raise HeedfulError(f"the corpus {name!r} has no texts in the split {reading.part!r}.")
    items = Shelf.of((_record(example, raw.labels) for example in examples), RECORDS)
    return Records(items, raw.labels, f"{spec.title}, {reading.part} split", numbered=True)


def corpus_of(name: str, reading: Reading) -> CorpusSpec:
    """Cut as the user says, else as for the model's training, else as is usual: otherwise
    texts a model was trained on would be among those it is tried on."""
    spec, known = given_spec(name, reading.params), reading.trained
    made = [each for each in inspect.signature(CORPORA[name].make).parameters if each != "data_dir"]
    for key in reading.params:
        if key not in (*spec.params, *CUTTING):
            raise unknown_name(f"parameter of corpus {name}", key, [*made, *CUTTING])
    if known.get("piece") != name:
        return spec
    own = [key for key in CUTTING if key in known["prepare"]]
    cut = {key: known["prepare"][key] for key in own if key not in ("limit", *reading.params)}
    return CorpusSpec(name, {**known["params"], **spec.params}, replace(spec.prepare, **cut))


def prepared_records(prepared: Prepared, split: str) -> Records:
    """The same from a prepared corpus: its words are its tokens."""
    items = Shelf.of(_prepared(prepared.split(split), prepared.labels), RECORDS)
    where = f"{corpus_name(prepared.run)}, {split} split"
    return Records(items, prepared.labels, where, numbered=True)


def corpus_name(run: Run) -> str:
    """A corpus by its name, a file by its own: `file` would not say which."""
    name = run.fact("piece", str)
    return Path(run.fact("params.path", str)).name if name == "file" else name


def _prepared(part: Split, labels: tuple[str, ...]) -> Iterator[Record]:
    for index, name in enumerate(part.ids):
        spans = {side: _spans(part, index, side) for side in part.sides}
        marked = {side: part.rationale(index, side) for side in part.sides}
        rationales = {
            side: tuple(spans[side][i] for i in np.flatnonzero(marks))
            for side, marks in marked.items()
            if marks is not None
        }
        yield Record(
            name,
            {side: part.text(index, side) for side in part.sides},
            (labels[int(part.labels[index])],),
            spans,
            rationales or None,
            None if part.clusters is None else part.clusters[index],
            _candidates(part, index, labels),
        )


def _candidates(part: Split, index: int, labels: tuple[str, ...]) -> tuple[str, ...] | None:
    if part.candidates is None:
        return None
    return tuple(labels[place] for place in part.candidates[index].nonzero().flatten().tolist())


def _spans(part: Split, index: int, side: str) -> tuple[Span, ...]:
    column = part.sides[side]
    return tuple(zip(column.starts[index].tolist(), column.ends[index].tolist(), strict=True))


def _record(example: Example, labels: tuple[str, ...]) -> Record:
    words = rationales = None
    if example.tokens is not None:
        words = {
            side: tuple((start, end) for _, start, end in tokens if start < end)
            for side, tokens in example.tokens.items()
        }
    if example.rationales is not None:
        rationales = {side: tuple(spans) for side, spans in example.rationales.items()}
    candidates = example.candidates
    return Record(
        example.id,
        example.texts,
        (labels[example.label],),
        words,
        rationales,
        example.cluster,
        None if candidates is None else tuple(labels[place] for place in candidates),
    )
