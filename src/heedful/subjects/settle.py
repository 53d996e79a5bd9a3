"""The last step of every family: labels become the model's classes, texts that the model
sees nothing of are left out, and the key is completed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from heedful.errors import HeedfulError
from heedful.subjects.codecs import DOCUMENTS, ROWS
from heedful.subjects.documents import Documents
from heedful.subjects.encode import unseen
from heedful.subjects.labels import LabelMap, match_labels, relabelled
from heedful.subjects.shelf import Shelf
from heedful.subjects.subject import Subject

UNSEEN = "without a token of any word"


def settle(subject: Subject, documents: Documents, label_map: LabelMap | None = None) -> Subject:
    """`documents` are those of the subject as they were read."""
    places: tuple[int, ...] = ()
    if any(mark is not None for mark in documents.marks):
        _check_single(documents)
        there = {name for mark in documents.marks for name in mark or ()}
        used = [name for name in documents.label_names if name in there]
        numbers = documents.label_names if documents.numbered else ()
        matched = match_labels(used, subject.label_names, label_map, numbers)
        by_name = dict(zip(used, matched, strict=True))
        places = tuple(by_name.get(name, -1) for name in documents.label_names)
    elif label_map is not None:
        raise HeedfulError("the texts have no labels for a label_map (--label-map): leave it out.")
    return finish(
        replace(subject, documents=relabelled(subject.documents, places)), documents.digest
    )


def finish(subject: Subject, data_digest: str) -> Subject:
    gone = unseen(subject.rows)
    if len(gone) == len(subject):
        raise HeedfulError(
            f"the model's tokenizer finds no word in {subject.source}: check the text column."
        )
    seen = _without(subject, gone) if gone else subject
    labels = [None if label < 0 else label for label in seen.labels.tolist()]
    return replace(
        seen,
        notes=(*seen.notes, *_notes(seen)),
        key={**seen.key, "data": data_digest, "labels": labels},
    )


def _without(subject: Subject, gone: list[int]) -> Subject:
    kept = np.delete(np.arange(len(subject)), gone).tolist()
    return replace(
        subject,
        documents=Shelf.of((subject.documents[index] for index in kept), DOCUMENTS),
        rows=Shelf.of((subject.rows[index] for index in kept), ROWS),
        dropped={**subject.dropped, UNSEEN: len(gone)},
    )


def _check_single(documents: Documents) -> None:
    for index, mark in enumerate(documents.marks):
        if mark is not None and len(mark) != 1:
            raise HeedfulError(
                f"{documents[index].id!r} has {len(mark)} labels and the model chooses one class: "
                f"name a column with one label, or label_column=None."
            )


def _notes(subject: Subject) -> list[str]:
    return [subject.truncated.sentence] if subject.truncated.sentence else []
