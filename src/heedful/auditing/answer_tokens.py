"""An answer token by token: what each rests on, for one text and for those of a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from heedful.auditing.explanation import Decisions, Named, explanation, named
from heedful.errors import HeedfulError
from heedful.report import beside, chosen_texts, evidence_of
from heedful.targets import AuditTarget
from heedful.types import Batch
from heedful.words import word_mask

Rows = tuple[tuple[float, ...], ...]
COLUMNS = ("example", "explanation", "token", "of", "text", "scores")
MOST_TOKENS = 64
"""Of an answer, on the page of an audit: its first ones."""


def answer_tokens(subject: AuditTarget, index: int = 0) -> tuple[str, ...]:
    """The tokens of a document's answer, as they are read; none where no answer is asked for."""
    several = subject.by_token(index)
    return tuple(several.names_of(place)[-1] for place in range(len(several)))


def token_scores(
    subject: AuditTarget, index: int, wanted: Named, target: str, most: int | None = None
) -> Rows:
    """The scores of all words for each token of an answer, or for the first so many: of the
    token's own probability, after those before it."""
    several = subject.by_token(index)
    several = replace(several, documents=several.documents[:most], rows=several.rows[:most])
    found: dict[int, tuple[float, ...]] = {}
    for indices, batch in several.batches():
        work = Decisions(several.model, batch, torch.ones_like(batch.labels))
        scores = explanation(work, wanted, target)
        words = several.documents[0].length
        found |= dict(zip(indices.tolist(), word_scores(scores, batch, words), strict=True))
    return tuple(found[place] for place in range(len(several)))


def word_scores(scores: Tensor, batch: Batch, words: int) -> Rows:
    """Of all words of each text, NaN for those that were cut off."""
    values = scores.masked_fill(~word_mask(batch.texts["a"]), torch.nan)
    short = words - values.shape[1]
    every = torch.nn.functional.pad(values, (0, short), value=torch.nan)
    return tuple(tuple(row) for row in every.tolist())


def no_tokens() -> pd.DataFrame:
    return pd.DataFrame(columns=list(COLUMNS))


def token_table(
    subject: AuditTarget,
    parts: Mapping[str, Any],
    target: str,
    late: Callable[[], bool] = lambda: False,
) -> pd.DataFrame:
    """Of the texts that the page of an audit (its `parts`) shows with maps, a row for each token
    and each of the two explanations; none where an answer has a single token. What an explanation
    cannot do here is left out, and so are texts that come when it is `late`."""
    evidence, tables = evidence_of(parts), [no_tokens()]
    places = {name: place for place, name in enumerate(subject.ids)}
    names = [name for name in (evidence.on_trial, beside(evidence)) if name]
    for example in chosen_texts(evidence) if subject.asked is not None else ():
        if late():
            break
        tokens = answer_tokens(subject, places[example])
        for name in names if len(tokens) > 1 else ():
            with suppress(HeedfulError):
                rows = token_scores(subject, places[example], named(name), target, MOST_TOKENS)
                tables.append(_lines(example, name, tokens, rows))
    return pd.concat(tables, ignore_index=True)


def _lines(example: str, name: str, tokens: tuple[str, ...], rows: Rows) -> pd.DataFrame:
    count = len(tokens)
    known = [(example, name, n, count, tokens[n], list(row)) for n, row in enumerate(rows)]
    return pd.DataFrame(known, columns=list(COLUMNS))
