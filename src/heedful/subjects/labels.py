"""The data's labels against the model's classes: a silent mismatch would make every number
of an audit wrong, so what does not match by name or number is refused."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from heedful.errors import HeedfulError
from heedful.subjects.codecs import DOCUMENTS
from heedful.subjects.document import Document
from heedful.subjects.shelf import Shelf

LabelMap = Mapping[str, str | int]


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
    return Shelf.of((replace(document, label=label) for document, label in pairs), DOCUMENTS)


def mapping_warning(labels: Sequence[int], predicted: Sequence[int], classes: int) -> str | None:
    """A sentence where accuracy is far below chance, which no honest model is: labels are
    then probably mixed up. Chance is what predictions of these frequencies would hit by luck.
    """
    table = _confusion(labels, predicted, classes)
    n = int(table.sum())
    if not n:
        return None
    accuracy = float(np.trace(table)) / n
    chance = float(table.sum(1) @ table.sum(0)) / n**2
    error = (chance * (1 - chance) / n) ** 0.5
    if accuracy >= 0.8 * chance or accuracy >= chance - 3 * error:
        return None
    rows, columns = linear_sum_assignment(-table)
    best = float(table[rows, columns].sum()) / n
    return (
        f"accuracy is {accuracy:.0%} where chance is {chance:.0%}: labels may be shifted or "
        f"swapped (the best other assignment has {best:.0%}); give a label_map."
    )


def _confusion(
    labels: Sequence[int], predicted: Sequence[int], classes: int
) -> NDArray[np.float64]:
    table = np.zeros((classes, classes))
    for label, guess in zip(labels, predicted, strict=True):
        if label >= 0:
            table[label, guess] += 1
    return table


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
