"""The data's labels against the model's classes: a silent mismatch would make every number
of an audit wrong, so what does not match by name or number is refused."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from heedful.errors import HeedfulError
from heedful.targets.disk_list import DOCUMENTS, ROWS, DiskList
from heedful.targets.document import Document
from heedful.targets.documents import Documents
from heedful.targets.options import LabelMap
from heedful.targets.target import AuditTarget
from heedful.targets.tokens import unseen


def match_labels(
    data: Sequence[str],
    model: Sequence[str],
    given: LabelMap | None = None,
    numbers: Sequence[str] = (),
) -> tuple[int, ...]:
    """The model's class of each of the data's labels.

    Labels match by `given` (data's name to model's name or number), else by name whatever the
    case, else as whole numbers. Where the model has no names for its classes but LABEL_0,
    LABEL_1, … and the data numbers its own (`numbers`: all its labels in that order),
    numbers decide too.
    """
    if given is not None:
        return _by_map(data, model, given)
    names = {_folded(name): index for index, name in enumerate(model)}
    if all(_folded(name) in names for name in data) and len(names) == len(model):
        return tuple(names[_folded(name)] for name in data)
    if all(name.isdecimal() and int(name) < len(model) for name in data):
        return tuple(int(name) for name in data)
    nameless = all(re.fullmatch(r"LABEL_\d+", name) for name in model)
    if nameless and len(numbers) == len(model):
        return tuple(list(numbers).index(name) for name in data)
    raise _mismatch(data, model)


def relabelled(documents: Sequence[Document], places: Sequence[int]) -> Sequence[Document]:
    """Labels as the model's classes."""
    if list(places) == list(range(len(places))):
        return documents
    old = (document.label for document in documents)
    return with_labels(documents, (None if label is None else places[label] for label in old))


def with_labels(documents: Iterable[Document], labels: Iterable[int | None]) -> Sequence[Document]:
    """The same documents with other labels."""
    pairs = zip(documents, labels, strict=True)
    return DiskList.of((replace(document, label=label) for document, label in pairs), DOCUMENTS)


def _by_map(data: Sequence[str], model: Sequence[str], given: LabelMap) -> tuple[int, ...]:
    wanted = {_folded(str(name)): place for name, place in given.items()}
    names = {_folded(name): index for index, name in enumerate(model)}
    places = []
    for name in data:
        place = wanted.get(_folded(name), name)
        index = place if isinstance(place, int) else names.get(_folded(place), -1)
        if not 0 <= index < len(model):
            raise _mismatch(data, model, given)
        places.append(index)
    return tuple(places)


def _folded(name: str) -> str:
    """Case, blanks, hyphens and underscores do not tell labels apart; a number's sign does."""
    sign = "-" if re.match(r"\s*-\s*[.\d]", name) else ""
    return sign + re.sub(r"[\s_-]+", "", name).casefold()


def _mismatch(
    data: Sequence[str], model: Sequence[str], given: LabelMap | None = None
) -> HeedfulError:
    ours, theirs = _listed(data), _listed(model)
    example = f'label_map={{"{data[0]}": CLASS, …}} (--label-map {data[0]}=CLASS,…)'
    if given is None:
        return HeedfulError(
            f"the labels do not match: the data has {ours}, the model has {theirs}; "
            f"say which is which with {example}."
        )
    return HeedfulError(
        f"the label_map {dict(given)!r} does not lead from the data's labels ({ours}) to the "
        f"model's ({theirs}): write {example}."
    )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return ", ".join(repr(name) for name in names[:12]) + more


UNSEEN = "without a token of any word"


def finish_labelled(
    subject: AuditTarget, documents: Documents, label_map: LabelMap | None = None
) -> AuditTarget:
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


def finish(subject: AuditTarget, data_digest: str) -> AuditTarget:
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


def _without(subject: AuditTarget, gone: list[int]) -> AuditTarget:
    kept = np.delete(np.arange(len(subject)), gone).tolist()
    return replace(
        subject,
        documents=DiskList.of((subject.documents[index] for index in kept), DOCUMENTS),
        rows=DiskList.of((subject.rows[index] for index in kept), ROWS),
        dropped={**subject.dropped, UNSEEN: len(gone)},
    )


def _check_single(documents: Documents) -> None:
    for index, mark in enumerate(documents.marks):
        if mark is not None and len(mark) != 1:
            raise HeedfulError(
                f"{documents[index].id!r} has {len(mark)} labels and the model chooses one class: "
                f"name a column with one label, or label_column=None."
            )


def _notes(subject: AuditTarget) -> list[str]:
    return [subject.truncated.sentence] if subject.truncated.sentence else []
