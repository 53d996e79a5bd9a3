"""Models whose outputs are no classes, asked a question with two answers: is the number above
the usual one; does this one label apply."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from heedful.errors import HeedfulError
from heedful.models import Head, attach, classes, one_label, regression
from heedful.subjects.documents import Documents
from heedful.subjects.hf_load import Loaded
from heedful.subjects.labels import LabelMap, match_labels, with_labels
from heedful.subjects.limits import fillers
from heedful.subjects.loading import Loading
from heedful.subjects.subject import Subject
from heedful.subjects.tasks import NUMBER, Task

YES = {"1": 1, "true": 1, "yes": 1, "0": 0, "false": 0, "no": 0}


@dataclass(frozen=True)
class Question:
    head: Head
    subject: Subject


def yes_no(
    loaded: Loaded, task: Task, draft: Subject, documents: Documents, loading: Loading
) -> Question:
    """The head that asks, and the subject with labels 0 and 1."""
    if task.kind == NUMBER:
        return _above(loaded, draft, documents)
    index = task.names.index(loading.label) if loading.label else _commonest(loaded, draft)
    name = task.names[index]
    labels = _applies(documents, task.names, index, loading.label_map)
    return Question(
        one_label(index),
        replace(
            draft,
            documents=with_labels(draft.documents, labels),
            label_names=(f"not {name}", name),
            key={**draft.key, "label": name},
            notes=(*draft.notes, f"of {len(task.names)} labels only {name!r} is on trial."),
        ),
    )


def _above(loaded: Loaded, draft: Subject, documents: Documents) -> Question:
    """Centre and scale are the median and the standard deviation of the predictions; a
    single text has no spread, and its number is taken as it is."""
    numbers = _outputs(loaded, draft)[:, 0].double()
    centre, scale = float(numbers.quantile(0.5)), float(numbers.std(correction=0))
    if len(numbers) == 1:
        centre, scale = 0.0, 1.0
    if not scale > 0:
        raise HeedfulError(
            f"{loaded.name} predicts {centre:g} for every text: there is nothing to explain."
        )
    labels = [
        _number(mark, document.id)
        for mark, document in zip(documents.marks, documents, strict=True)
    ]
    return Question(
        regression(centre, scale),
        replace(
            draft,
            documents=with_labels(
                draft.documents, [None if y is None else int(y > centre) for y in labels]
            ),
            label_names=(f"at most {centre:.4g}", f"above {centre:.4g}"),
            key={**draft.key, "centre": centre, "scale": scale},
            notes=(
                *draft.notes,
                f"the model predicts a number: explained is whether it is above {centre:.4g}"
                f"{', the median of its predictions' if len(numbers) > 1 else ''}.",
            ),
        ),
    )


def _commonest(loaded: Loaded, draft: Subject) -> int:
    """The label with most positive predictions, of equals the one with larger outputs."""
    outputs = _outputs(loaded, draft).double()
    return int(((outputs > 0).sum(0) + outputs.mean(0).sigmoid() / 2).argmax())


@torch.no_grad()
def _outputs(loaded: Loaded, draft: Subject) -> Tensor:
    """The module's own outputs for all documents."""
    parts, order = [], []
    with attach(loaded.module, fillers(loaded), classes) as model:
        for indices, batch in draft.batches():
            parts.append(model(batch).logits.cpu())
            order += indices.tolist()
    return torch.cat(parts)[torch.tensor(order).argsort()]


def _applies(
    documents: Documents, names: tuple[str, ...], index: int, label_map: LabelMap | None
) -> list[int | None]:
    """Whether each document has the label. A column that is named like it answers by itself."""
    given = {name for mark in documents.marks for name in mark or ()}
    if documents.label_column and documents.label_column.casefold() == names[index].casefold():
        if not all(name.casefold() in YES for name in given):
            raise HeedfulError(
                f"the label column {documents.label_column!r} must hold 0 and 1, not "
                f"{', '.join(sorted(given)[:5])}."
            )
        return [None if m is None else YES[m[0].casefold()] for m in documents.marks]
    known = sorted(given)
    numbers = documents.label_names if documents.numbered else ()
    places = dict(zip(known, match_labels(known, names, label_map, numbers), strict=True))
    return [
        None if mark is None else int(any(places[name] == index for name in mark))
        for mark in documents.marks
    ]


def _number(mark: tuple[str, ...] | None, name: str) -> float | None:
    if mark is None:
        return None
    try:
        (text,) = mark
        return float(text)
    except ValueError as error:
        raise HeedfulError(
            f"{name!r} has the label {', '.join(mark)!r} and the model predicts a number: name a "
            f"column of numbers, or label_column=None."
        ) from error
