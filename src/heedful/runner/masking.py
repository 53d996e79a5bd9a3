"""ROAR's masking: the words that an explanation names first, and those masked before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from heedful.attributions import SALIENCIES, explain
from heedful.data import SPLITS, Masked, Masks, Prepared, shown_to
from heedful.interventions import restored
from heedful.models import explained_class
from heedful.parameters import parameters_of
from heedful.progress import Progress, silent
from heedful.randomness import example_keys, keyed_uniform
from heedful.store import Run, store_of
from heedful.types import Batch, Keep, Model

MASKS = "masks"
"""The table of a model that learned from masked texts."""
_TEXTS, _TOKENS = 256, 1 << 12
"""Of a batch; not those of the machine, so that no machine changes what is masked."""


def seen_by(model: Run) -> Prepared:
    """The corpus as a trained model saw it: its marked tokens taken out, its words masked."""
    corpus = shown_to(model.spec, Prepared(store_of(model).open(model.source("corpus"))))
    if not model.has(f"{MASKS}.parquet"):
        return corpus
    table = model.table(MASKS)
    columns = zip(table["example"], table["masked"], strict=True)
    return Masked(corpus, {str(name): np.asarray(marks, dtype=bool) for name, marks in columns})


def masks_of(
    explained: Run,
    explanation: str,
    percent: int,
    device: str = "cpu",
    progress: Progress = silent,
) -> dict[str, NDArray[np.bool_]]:
    """The masks of all splits at a percentage of each text's words: what the explained model's own
    texts had masked already, and of the rest the words with the largest scores, by magnitude."""
    corpus, model = seen_by(explained), restored(explained, device)
    before = corpus.masks if isinstance(corpus, Masked) else {}
    found = {}
    for split in SPLITS:
        data, done = corpus.split(split), 0
        for _, batch in data.batches(_TEXTS, _TOKENS):
            scores = magnitudes(model, batch.to(device), explanation, explained.seed)
            for example, row in _rows(batch, scores):
                old = before.get(example, np.zeros(len(row), dtype=bool))
                found[example] = chosen(row, old, percent, _ties(explained.seed, example, len(row)))
            done += len(batch)
            progress(f"{explanation} of the {split} texts", done, len(data))
    return found


def magnitudes(model: Model, batch: Batch, explanation: str, seed: int = 0) -> NDArray[np.float64]:
    """The explanation of the predicted class, without signs, `[b, w]`. One that draws at random
    draws anew for each seed of training."""
    params: dict[str, Any] = (
        {"seed": seed} if "seed" in parameters_of(SALIENCIES[explanation].make) else {}
    )
    with torch.no_grad():
        label = explained_class(model(batch, keep=Keep(weights=False)).logits, batch)
    scores: NDArray[np.float64] = (
        explain(explanation, model, batch, label, **params).abs().cpu().numpy()
    )
    return scores


def chosen(
    scores: NDArray[np.float64], before: NDArray[np.bool_], percent: int, ties: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """⌊percent · n / 100⌋ of n words: those masked before, then the largest scores."""
    order = np.lexsort((ties, -scores, ~before))
    out = before.copy()
    out[order[: percent * len(scores) // 100]] = True
    return out


def masks_table(masks: Masks) -> pd.DataFrame:
    """A row for each example."""
    return pd.DataFrame({"example": list(masks), "masked": [list(m) for m in masks.values()]})


def _rows(batch: Batch, scores: NDArray[np.float64]) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Words of our own corpora are tokens."""
    lengths = batch.texts["a"].mask.sum(-1).tolist()
    for example, row, n in zip(batch.ids, scores, lengths, strict=True):
        yield example, row[:n]


def _ties(seed: int, example: str, n: int) -> NDArray[np.float64]:
    keys = example_keys(seed, (example,), "order of equal scores")
    return keyed_uniform(keys, (n,))[0].numpy()
