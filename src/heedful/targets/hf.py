"""A Hugging Face model with its texts: loaded or given, asked what it was made for. Models whose
outputs are no classes are asked a question with two answers: is the number above the usual one;
does this one label apply."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from heedful.data import tagged_records
from heedful.errors import HeedfulError
from heedful.models import (
    Head,
    answers,
    attach,
    classes,
    evaluating,
    fast_linear,
    label_words,
    one_label,
    one_token,
    regression,
    span,
)
from heedful.targets.answers import asked_for_answers, asks_for_answers
from heedful.targets.disk_list import DOCUMENTS, DiskList
from heedful.targets.document import on_trial
from heedful.targets.documents import Documents, documents_of, find_records
from heedful.targets.options import SECOND, LabelMap, Loading, Reading
from heedful.targets.places import asked_at_places
from heedful.targets.pretrained import (
    ANSWER,
    CLASSES,
    GAP,
    LABEL_WORDS,
    NEXT,
    NUMBER,
    SPAN,
    TAGGER,
    UNLABELLED,
    WORD_LABEL,
    Loaded,
    Task,
    check_tokens,
    fillers,
    longest,
    spelled,
    task_of,
    token_spans,
    tokenizer_tokens,
)
from heedful.targets.pretrained_writer import check_asked, encode, prompt_of
from heedful.targets.target import (
    AuditTarget,
    finish,
    finish_labelled,
    match_labels,
    tokenizer_digest,
    weights_digest,
    with_labels,
)
from heedful.types import Keep

YES = {"1": 1, "true": 1, "yes": 1, "0": 0, "false": 0, "no": 0}


@contextmanager
def open_hf(loaded: Loaded, data: Any, reading: Reading, loading: Loading) -> Iterator[AuditTarget]:
    """The module is lent: outside the block it is as it was."""
    answered = asks_for_answers(reading, loading)
    check_asked(loaded, answered, reading, loading)
    task = task_of(loaded, loading, answered)
    if task.kind in UNLABELLED:
        reading = replace(reading, label_column=None)
    documents = documents_as(loaded, data, reading, loading)
    encoded = encode(loaded, task, documents.items, loading, reading.seed)
    check_tokens(loaded, encoded.rows)
    draft = AuditTarget(
        loaded.module,
        encoded.documents,
        task.names,
        encoded.rows,
        encoded.truncated,
        documents.source,
        f"{type(loaded.module).__name__}{task.aside}",
        str(loaded.module.device),
        _key(loaded, task, loading),
        {**documents.dropped, **encoded.dropped},
        spell=partial(spelled, loaded.tokenizer),
        name=loaded.name if loaded.name != type(loaded.module).__name__ else "",
        unit=documents.unit,
        single_tokens=tokenizer_tokens(loaded.tokenizer),
    )
    with evaluating(loaded.module):
        filler = fillers(loaded)
        named = (document.asked or document.answer for document in documents)
        given = all(place is not None for place in named)
        draft = asked_at_places(draft, loaded, task, loading, given)
        head, asked = _question(loaded, task, draft, documents, loading)
        with attach(loaded.module, filler, head) as model, fast_linear(loaded.module):
            subject = replace(asked, model=model)
            if task.kind in (CLASSES, LABEL_WORDS, WORD_LABEL):
                yield finish_labelled(subject, documents, loading.label_map)
            else:
                yield finish(subject, documents.digest)


def documents_as(loaded: Loaded, data: Any, reading: Reading, loading: Loading) -> Documents:
    """The texts, in the tokens of the model where these are asked for. A second text that stands in
    the prompt is not on trial."""
    prompt = prompt_of(loaded, loading)
    reading = reading.by_tokens(partial(token_spans, loaded.tokenizer, prompt))
    tagged = partial(tagged_records, named=loading.at is not None)
    by_row = tagged if loaded.kind == TAGGER else None
    documents = documents_of(find_records(data, reading, by_row), reading)
    if not prompt.holds_b:
        return documents
    if "b" not in documents[0].texts:
        needs = (
            f"{loaded.name} reads a question" if prompt.question else f"the template holds {SECOND}"
        )
        raise HeedfulError(
            f"{needs}, and {documents.source} has single texts: name the column of the second text "
            f"(--text-b-column)."
        )
    return replace(documents, items=DiskList.of(map(on_trial, documents), DOCUMENTS))


def _question(
    loaded: Loaded, task: Task, draft: AuditTarget, documents: Documents, loading: Loading
) -> tuple[Head, AuditTarget]:
    """The head that asks, and the subject as it is asked; a question with two answers has labels 0
    and 1."""
    if task.kind == CLASSES:
        return classes, draft
    if task.kind == LABEL_WORDS:
        return label_words(task.tokens), draft
    if task.kind in (NEXT, GAP):
        nothing = itertools.repeat(None, len(draft))
        return one_token, replace(draft, documents=with_labels(draft.documents, nothing))
    if task.kind in (WORD_LABEL, SPAN):
        return one_token if task.kind == WORD_LABEL else span, draft
    if task.kind == ANSWER:
        return answers(loading.answer_score), asked_for_answers(draft, loading)
    if task.kind == NUMBER:
        return _above(loaded, draft, documents)
    return _one_of_many(loaded, task, draft, documents, loading)


def _key(loaded: Loaded, task: Task, loading: Loading) -> dict[str, Any]:
    chat = {"chat": vars(prompt_of(loaded, loading))} if loading.chat else {}
    return {
        "family": "hf",
        "model": type(loaded.module).__name__,
        "weights": weights_digest(loaded.module),
        "tokenizer": tokenizer_digest(loaded.tokenizer),
        "dtype": str(loaded.module.dtype).removeprefix("torch."),
        "task": task.kind,
        "label_tokens": list(task.tokens),
        "template": loading.template,
        "max_length": longest(loaded, loading.max_length),
        **chat,
    }


def _one_of_many(
    loaded: Loaded, task: Task, draft: AuditTarget, documents: Documents, loading: Loading
) -> tuple[Head, AuditTarget]:
    if loading.label:
        index = task.names.index(loading.label)
    else:  # the label with most positive predictions, of equals the one with larger outputs
        outputs = _outputs(loaded, draft).double()
        index = int(((outputs > 0).sum(0) + outputs.mean(0).sigmoid() / 2).argmax())
    name = task.names[index]
    labels = _applies(documents, task.names, index, loading.label_map)
    return (
        one_label(index),
        replace(
            draft,
            documents=with_labels(draft.documents, labels),
            label_names=(f"not {name}", name),
            key={**draft.key, "label": name},
            notes=(*draft.notes, f"of {len(task.names)} labels only {name!r} is on trial."),
        ),
    )


def _above(loaded: Loaded, draft: AuditTarget, documents: Documents) -> tuple[Head, AuditTarget]:
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
    return (
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


@torch.no_grad()
def _outputs(loaded: Loaded, draft: AuditTarget) -> Tensor:
    """The module's own outputs for all documents."""
    parts, order = [], []
    with attach(loaded.module, fillers(loaded), classes) as model:
        for indices, batch in draft.batches():
            parts.append(model(batch, keep=Keep(weights=False)).logits.cpu())
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
