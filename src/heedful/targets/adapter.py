"""Any torch module of one's own: a small adapter says how to ask it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np
from torch import nn

from heedful.errors import HeedfulError
from heedful.models import evaluating
from heedful.targets.disk_list import ROWS, DiskList
from heedful.targets.document import Document, Row, Span, apart, truncation, words_of
from heedful.targets.documents import Documents, documents_of, find_records
from heedful.targets.options import ANSWERING, ANSWERING_COLUMNS, Loading, Reading
from heedful.targets.target import AuditTarget, finish_labelled, tokens_digest, weights_digest
from heedful.types import Model


@runtime_checkable
class Adapter(Protocol):
    """What Heedful must know of a model it has never seen.

    `model` is a torch module that keeps the contract of `heedful.types.Model`: it names its
    attention sites, applies edits to their weights and returns a `Trace`. `tokenise` gives a
    text's token ids and for each the [start, end) characters it stands for; start, end and
    other special tokens stand for none, (0, 0).

        class Mine:
            model = MyClassifier.load("weights.safetensors")   # a torch.nn.Module
            label_names = ("negative", "positive")

            def tokenise(self, text):
                found = list(re.finditer(r"\\w+", text))
                ids = [START, *(vocabulary.get(m.group(), UNKNOWN) for m in found), END]
                return ids, [(0, 0), *(m.span() for m in found), (0, 0)]

        with open_target(Mine(), "reviews.csv") as subject:
            ...
    """

    @property
    def model(self) -> Any: ...

    @property
    def label_names(self) -> Sequence[str]: ...

    def tokenise(self, text: str) -> tuple[Sequence[int], Sequence[Span]]: ...


@contextmanager
def open_module(
    adapter: Adapter, data: Any, reading: Reading, loading: Loading
) -> Iterator[AuditTarget]:
    """The module stays where it is and as it is; only one text at a time is read."""
    model = adapter.model
    with _todays_names(model):
        if not isinstance(model, nn.Module) or not isinstance(model, Model):
            raise HeedfulError(
                f"the adapter's model, a {type(model).__name__}, must be a torch module that keeps "
                f"heedful.types.Model (sites, fillers, forward, embed, resume, "
                f"leave_one_out_logits)."
            )
        loading.refuse("an adapter", "label", "label_words", "template", "dtype", *ANSWERING)
        reading.refuse("an adapter", *ANSWERING_COLUMNS)
        reading = reading.by_tokens(partial(_token_spans, adapter))
        documents = documents_of(find_records(data, reading), reading)
        if "b" in documents[0].texts:
            raise HeedfulError("an adapter reads one text: leave text_b_column out.")
        with evaluating(model):
            yield _subject(adapter, model, documents, loading)


@contextmanager
def _todays_names(model: Any) -> Iterator[None]:
    """In version 0.1 `leave_one_out_logits` was `without_each`: a model may still call it so."""
    former = getattr(model, "without_each", None)
    if former is None or hasattr(model, "leave_one_out_logits"):
        yield
        return
    model.leave_one_out_logits = former
    try:
        yield
    finally:
        del model.leave_one_out_logits


def _subject(adapter: Adapter, model: Any, documents: Documents, loading: Loading) -> AuditTarget:
    whole = DiskList.of((_row(adapter, document) for document in documents), ROWS)
    limit = loading.max_length
    cut = [limit is not None and len(row) > limit for row in whole]
    rows = whole if limit is None else DiskList.of((row.cut(limit) for row in whole), ROWS)
    tensor = next(model.parameters(), None)
    key = {
        "family": "module",
        "weights": weights_digest(model),
        "tokens": tokens_digest(rows),
        "dtype": "none" if tensor is None else str(tensor.dtype).removeprefix("torch."),
    }
    return finish_labelled(
        AuditTarget(
            model,
            documents.items,
            tuple(adapter.label_names),
            rows,
            truncation(zip(rows, documents, cut, strict=True)),
            documents.source,
            type(model).__name__,
            "cpu" if tensor is None else str(tensor.device),
            key,
            documents.dropped,
            unit=documents.unit,
        ),
        documents,
        loading.label_map,
    )


def _token_spans(adapter: Adapter, text: str) -> tuple[Span, ...]:
    return apart(text, adapter.tokenise(text)[1])


def _row(adapter: Adapter, document: Document) -> Row:
    text = document.texts["a"]
    ids, spans = adapter.tokenise(text)
    if len(ids) != len(spans) or any(not 0 <= start <= end <= len(text) for start, end in spans):
        raise HeedfulError(
            f"the adapter's tokens of {document.id!r} do not fit its text: give one [start, end) "
            f"span of characters per token."
        )
    words = words_of(spans, document.words["a"])
    mask = np.array([end > start for start, end in spans], dtype=bool)
    return Row(np.array(ids, dtype=np.int64), mask, words)
