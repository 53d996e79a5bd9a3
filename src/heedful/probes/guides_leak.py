"""Does attention give the label away by which word it is on?

A frozen guide was made by a model that reads the whole text. It may put its weight on "." in
texts of one class and on "The" in those of the other: an MLP without context then reads the
label off the weights, though neither word says anything.

So the label is guessed from the most attended word alone, in two ways, both learned from the
training texts: by the texts in which that word was the most attended (`attended`), and by all
texts it occurs in (`occurring`). An informative word says the same in both ways. What the first
says beyond the second is in the choice of the word: the `leak`.

All of it is accuracy, whatever the MLP is scored by: of guesses that are all one class F1 is 0 or
high, depending on which class that is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from heedful.corpora import Split
from heedful.errors import HeedfulError
from heedful.metrics import TOLERANCE, first_largest
from heedful.probes.evidence import Evidence
from heedful.probes.outcomes import Outcomes, class_score
from heedful.probes.score import Line
from heedful.types import Model, rows

METRIC = "accuracy"
LOOKED_AT = {"own": "mlp_own", "base": "base", "adversary": "adversary"}
"""Guides whose weights could tell something, and the model that made them."""
Ids = NDArray[np.int64]


@dataclass(frozen=True)
class _Looks:
    """Of the texts of a split that can be attended: their labels, the most attended word of
    each, and all of its words."""

    labels: Ids
    attended: Ids
    occurring: list[Ids]


def leak_lines(evidence: Evidence, resamples: int) -> Iterator[Line]:
    """The accuracy of the label as the most attended word tells it, guide by guide, and that of
    the largest class."""
    training = evidence.training
    if training is None:
        raise HeedfulError("the probe 'guides' needs the texts of training: run it by a study.")
    score, seed = class_score(METRIC, evidence), evidence.seed

    def guessed(labels: Ids, guesses: Ids) -> Outcomes:
        both = np.stack([labels, guesses], -1).astype(np.float64)
        return Outcomes(METRIC, both, score, (labels == guesses).astype(np.float64))

    for name, role in LOOKED_AT.items():
        model = evidence.models[role]
        learned, shown = (_looks(evidence, model, split) for split in (training, evidence.data))
        by_choice = [each[None] for each in learned.attended]
        attended, occurring = (
            guessed(shown.labels, _guesses(shown.attended, words, learned.labels))
            for words in (by_choice, learned.occurring)
        )
        yield attended.line(f"attended:{name}", seed, resamples)
        yield occurring.line(f"occurring:{name}", seed, resamples)
        yield attended.line_against(occurring, f"leak:{name}", seed, resamples)
    largest = np.full_like(shown.labels, np.bincount(learned.labels).argmax())
    yield guessed(shown.labels, largest).line("attended:majority", seed, resamples)


def _guesses(asked: Ids, words: Sequence[Ids], labels: Ids) -> Ids:
    """For each word the commonest label of the texts that have it. The larger class is taken
    where two are as common, and for words that no text has."""
    size, classes = 1 + max(map(int, (asked.max(), *(w.max() for w in words)))), labels.max() + 1
    counts = np.zeros((size, classes))
    np.add.at(counts, (np.concatenate(words), np.repeat(labels, list(map(len, words)))), 1.0)
    shares = np.bincount(labels) / (len(labels) + 1)  # less than one text
    guesses: Ids = (counts[asked] + shares).argmax(-1)
    return guesses


def _looks(evidence: Evidence, model: Model, split: Split) -> _Looks:
    """In the split's order."""
    site = next(each for each in model.sites if each.main)
    found: dict[int, tuple[int, int, Ids]] = {}
    with torch.no_grad():
        for places, batch in evidence.batches(split):
            view = rows(model(batch), site.name).first()
            tokens = batch.texts[site.keys].tokens[view.example]
            top = first_largest(view.weights, view.mask, TOLERANCE[view.weights.dtype])
            chosen = tokens.gather(1, top[:, None])[:, 0].tolist()
            labels = batch.labels[view.example].tolist()
            pairs = zip(tokens.cpu().numpy(), view.mask.cpu().numpy(), strict=True)
            texts = (np.unique(row[mask]) for row, mask in pairs)
            where = places[view.example.cpu().numpy()].tolist()
            found |= dict(zip(where, zip(labels, chosen, texts, strict=True), strict=True))
    columns = zip(*(found[place] for place in sorted(found)), strict=True)
    given, attended, occurring = columns
    return _Looks(np.array(given), np.array(attended), list(occurring))
