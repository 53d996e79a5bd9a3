"""The texts of a named corpus, raw: no vocabulary is built and no length filtered."""

from __future__ import annotations

import inspect

import numpy as np

from heedful.corpora import CORPORA
from heedful.corpora.defaults import check_kind, default_prepare, default_spec
from heedful.corpora.example import Example, RawCorpus
from heedful.corpora.prepare import prepare
from heedful.corpora.prepared import Prepared
from heedful.corpora.sources import MissingData
from heedful.corpora.split import Split
from heedful.corpora.splitting import SPLITS, cut_splits
from heedful.errors import HeedfulError, unknown_name
from heedful.subjects.document import Span
from heedful.subjects.reading import Reading
from heedful.subjects.records import Record, Records


def named_records(name: str, reading: Reading) -> Records:
    """A split of the corpus, the same texts `prepare` would put into it. Where the files are
    not there, a prepared corpus in the store makes up for them."""
    if reading.split not in SPLITS:
        raise unknown_name("split", reading.split, list(SPLITS))
    try:
        raw: RawCorpus = CORPORA[name].make(reading.data_dir, **_params(name, reading))
    except MissingData:
        if reading.store is None:
            raise
        spec = default_spec(name, reading.params)
        return prepared_records(Prepared(prepare(spec, reading.store)), reading.split)
    examples = [
        example
        for example in cut_splits(raw.examples, default_prepare(name))
        if example.split == reading.split
    ]
    if not examples:
        raise HeedfulError(f"the corpus {name!r} has no texts in the split {reading.split!r}.")
    items = [_record(example, raw.labels) for example in examples]
    return Records(items, raw.labels, f"{name}, {reading.split} split", numbered=True)


def prepared_records(prepared: Prepared, split: str) -> Records:
    """The same from a prepared corpus: its words are its tokens."""
    part = prepared.split(split)
    items = []
    for index, name in enumerate(part.ids):
        spans = {side: _spans(part, index, side) for side in part.sides}
        marked = {side: part.rationale(index, side) for side in part.sides}
        rationales = {
            side: tuple(spans[side][i] for i in np.flatnonzero(marks))
            for side, marks in marked.items()
            if marks is not None
        }
        items.append(
            Record(
                name,
                {side: part.text(index, side) for side in part.sides},
                (prepared.labels[int(part.labels[index])],),
                spans,
                rationales or None,
            )
        )
    corpus = prepared.run.facts["piece"]
    return Records(items, prepared.labels, f"{corpus}, {split} split", numbered=True)


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
    return Record(example.id, example.texts, (labels[example.label],), words, rationales)


def _params(name: str, reading: Reading) -> dict[str, object]:
    known = dict(inspect.signature(CORPORA[name].make).parameters)
    known.pop("data_dir", None)
    for key, value in reading.params.items():
        if key not in known:
            raise unknown_name(f"parameter of corpus {name}", key, list(known) or ["(none)"])
        check_kind(key, value, known[key].default)
    return dict(reading.params)
