"""What models of generated texts share: texts as spans and tokens, small BERTs, subjects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from heedful.data import join_tokens
from heedful.errors import HeedfulError
from heedful.targets import AuditTarget, Document, Row, Span, Truncation
from heedful.types import Model

LABELS = ("negative", "positive")


def spelled(words: Sequence[str]) -> tuple[str, tuple[Span, ...]]:
    """The text of these words, and where each stands in it."""
    text, tokens = join_tokens(words)
    return text, tuple((start, end) for _, start, end in tokens)


def subject(
    model: Model,
    documents: Sequence[Document],
    rows: Sequence[Row],
    name: str,
    about: tuple[str, str],
) -> AuditTarget:
    """As an audit takes it; `about` are the model's family and a digest of its weights."""
    family, weights = about
    known = {"benchmark": name, "weights": weights}
    cut = Truncation(of_texts=len(documents))
    return AuditTarget(
        model, tuple(documents), LABELS, tuple(rows), cut, name, family, "cpu", known
    )


def bert(**options: Any) -> Any:
    """A BERT for two classes, with random weights."""
    try:
        import transformers
    except ImportError as error:
        raise HeedfulError(
            "the benchmark's transformers need transformers: pip install 'heedful[hf]'."
        ) from error
    config: Any = transformers.BertConfig
    kind: Any = transformers.BertForSequenceClassification
    return kind(config(num_labels=len(LABELS), **options))
