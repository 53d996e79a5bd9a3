"""What a page needs to show single texts, beside the maps; nothing of it is a measurement.

One list of numbers per text, kind and name:

    weights   attention    attention by word, to the last digit
    logit     0, 1, …      what each word alone says of a logit, bias included
    furthest  exact …      the attention furthest away that keeps the output, by word
    removed   an operator  the shares of words taken away at the points of a curve
    curve     a map        the explained probability at these points
    pairs     an operator  two words and their interaction, of the pairs that interact most
    left      a map        1 for each word that keeps the prediction, with the others gone

It is no part of `maps`: whoever looks for explanations there must not find an adversary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.attributions import readout_weights, text_site, text_sites
from heedful.auditing.spec import ATTENTION, BASELINES
from heedful.experiments import MOST_LOGITS, Adversary, Curves, Interactions, Reduced
from heedful.targets import Document
from heedful.types import Batch, Keep, Model, SiteSpec, TokenLogits, Trace
from heedful.words import to_words, word_mask

COLUMNS = ("example", "kind", "name", "scores")
MOST_TEXTS = 1000
"""A page shows fewer, and of very many texts the rest would be paid for in disk."""
OUTSIDE = 1e-9
PAIRS = 5


def nothing() -> pd.DataFrame:
    return pd.DataFrame(columns=list(COLUMNS))


def together(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """In an order that does not depend on batches."""
    some = [part for part in parts if len(part)]
    if not some:
        return nothing()
    whole = pd.concat(some, ignore_index=True)
    return whole.sort_values(["kind", "name", "example"], kind="stable").reset_index(drop=True)


@dataclass
class PageData:
    """Gathers what is shown of one batch: of the texts in `kept`, or of all."""

    batch: Batch
    kept: frozenset[str] | None = None
    _parts: list[tuple[str, str, str, np.ndarray]] = field(default_factory=list)

    def linear(self, model: Model, trace: Trace) -> None:
        """Weights and token logits, where they are all there is between a text's words and the
        decision. Tokens of a word keep their proportions when the word is moved."""
        site = text_site(model)
        known = trace.token_logits.get(site.name)
        if known is None or not site.normalised or known.bias.shape[0] > MOST_LOGITS:
            return
        weights = trace.weights[site.name][:, 0, 0].double()
        by_word = to_words(weights, self.batch.texts["a"])
        whole = (by_word.sum(-1) - weights.sum(-1)).abs() <= OUTSIDE
        self._add("weights", ATTENTION, self._of_words(by_word), whole)
        for c, said in enumerate(_by_word(known, weights, self.batch).unbind(-1)):
            self._add("logit", str(c), self._of_words(said), whole)

    def furthest(self, found: Adversary) -> None:
        by_word = to_words(found.weights, self.batch.texts["a"])
        name = "exact" if found.exact else "searched"
        self._add("furthest", name, self._of_words(by_word), found.within)

    def curves(self, found: Mapping[str, Curves], operator: str) -> None:
        """Of all explanations but the floors; words go in the order each gives them."""
        known = {name: each for name, each in found.items() if name not in BASELINES}
        for each in list(known.values())[:1]:  # where the points are is the same for all
            self._add("removed", operator, each.shares)
        for name, each in known.items():
            points = each.curve.removed
            self._add("curve", name, points, points.isfinite().all(-1))

    def left(self, found: Reduced, explanation: str) -> None:
        self._add("left", explanation, self._of_words(found.left.double()))

    def pairs(self, found: Interactions, operator: str) -> None:
        """The pairs with the largest interactions, the largest first."""
        first, second = found.pairs
        values = found.values[:, first, second]
        order = values.abs().nan_to_num(-1).argsort(dim=-1, descending=True, stable=True)[:, :PAIRS]
        columns = (found.words[:, first], found.words[:, second], values)
        chosen = torch.stack([each.double().gather(1, order) for each in columns], -1)
        known = chosen.isfinite().all(-1, keepdim=True)
        self._add("pairs", operator, torch.where(known, chosen, torch.nan).flatten(1))

    def table(self) -> pd.DataFrame:
        return pd.DataFrame(self._parts, columns=list(COLUMNS))

    def _of_words(self, scores: Float[Tensor, "b w"]) -> Float[Tensor, "b w"]:
        return scores.masked_fill(~word_mask(self.batch.texts["a"]), torch.nan)

    def _add(
        self,
        kind: str,
        name: str,
        scores: Float[Tensor, "b n"],
        defined: Bool[Tensor, " b"] | None = None,
    ) -> None:
        rows = scores.detach().double().cpu().numpy()
        there = np.ones(len(rows), dtype=bool) if defined is None else defined.cpu().numpy()
        for example, row, known in zip(self.batch.ids, rows, there, strict=True):
            if known and (self.kept is None or example in self.kept):
                self._parts.append((example, kind, name, row[: last(row)]))


def last(row: np.ndarray) -> int:
    """The length of a row without the NaN at its end, which are of longer texts."""
    there = np.flatnonzero(~np.isnan(row))
    return int(there[-1]) + 1 if len(there) else 0


def _by_word(
    known: TokenLogits, weights: Float[Tensor, "b t"], batch: Batch
) -> Float[Tensor, "b w c"]:
    """The mean over a word's tokens by weight; evenly where it has none."""
    text = batch.texts["a"]
    logits = known.values.double() + known.bias.double()
    total, even = to_words(weights, text), text.mask.double()
    found = []
    for each in logits.unbind(-1):
        each = each.masked_fill(~text.mask, 0.0)
        weighted = to_words(weights * each, text) / torch.where(total > 0, total, 1.0)
        mean = to_words(each, text) / to_words(even, text).clamp_min(1.0)
        found.append(torch.where(total > 0, weighted, mean))
    return torch.stack(found, -1)


# Which attention is on trial, in words: the claim is about this one and no other.


ALL = 0.99
"""The share of a prediction that is read from one query, to say so."""
WRITTEN = "read where the answer is written"


def site_words(model: Model, batch: Batch) -> str:
    """Layer, heads and query, as far as there are several: `batch` is any text of the model's."""
    site, layers = text_site(model), len(text_sites(model))
    with torch.no_grad():
        trace = model(batch, keep=Keep(readout_weights=True))
    heads = trace.weights[site.name].shape[1]
    layer = f" of layer {layers - 1}" if layers > 1 else ""  # counted from 0, as names of sites are
    how = [f"the last of {layers}"] if layers > 1 else []
    how += [f"mean over {heads} heads"] if heads > 1 else []
    how += _query(trace, site, batch)
    return f"{ATTENTION}{layer}" + (f" ({', '.join(how)})" if how else "")


def _query(trace: Trace, site: SiteSpec, batch: Batch) -> list[str]:
    """Where the prediction is read from, where there is more than one place."""
    if batch.answer is not None and batch.texts["a"].read_at is None:
        return [WRITTEN]
    read = readout_weights(trace, site)[0]
    if len(read) < 2 or not float(read.sum()) > 0:
        return []
    share = read / read.sum()
    marks = batch.texts["a"].read_at
    fits = marks is not None and marks.shape[1:] == share.shape
    if marks is not None and fits and float(share[marks[0] > 0].sum()) >= ALL:
        return ["read at the token that is asked about"]
    there = trace.masks[site.name][0, 0].any(-1).nonzero().flatten().tolist()
    place = int(share.argmax())
    if float(share[place]) < ALL:
        return ["all tokens read"]
    named = {0: "read at the first token", there[-1] if there else -1: "read at the last token"}
    return [named.get(place, f"read at token {place + 1}")]


# The texts of an audit with their words, as a table.


def documents_table(documents: Sequence[Document]) -> pd.DataFrame:
    columns: Mapping[str, list[Any]] = {
        "example": [each.id for each in documents],
        "words": [list(each.surface) for each in documents],
        "starts": [[start for start, _ in _spans(each)] for each in documents],
        "ends": [[end for _, end in _spans(each)] for each in documents],
        "words_a": [len(each.words["a"]) for each in documents],
        "text": [each.texts["a"] for each in documents],
        "text_b": [each.texts.get("b", "") for each in documents],
        "label": [-1 if each.label is None else each.label for each in documents],
        "rationale": [None if e.rationale is None else list(e.rationale) for e in documents],
    }
    answers = {
        "answer": [each.answer for each in documents],
        "instead": [each.instead or "" for each in documents],
    }
    about = {"about": [list(each.about) for each in documents]}
    answered = any(each.answer is not None for each in documents)
    asked = any(each.about for each in documents)
    more = {**(answers if answered else {}), **(about if asked else {})}
    return pd.DataFrame({**columns, **more})


def _spans(document: Document) -> list[tuple[int, int]]:
    """Of all words, each in the text of its side."""
    return [span for spans in document.words.values() for span in spans]
