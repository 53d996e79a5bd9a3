"""Attention that is told where to look: at human rationales, or at syntactic heads.

The loss is −log of the share of a row's weight that lies on the right tokens. A divergence from
equal weights on them would ask more than people said: that every word they marked counts
alike; and it is infinite as soon as a sparse attention leaves one of them out.

A share below 1e-12 counts as that much. There no slope is left, as sparse weights of 0 have
none anyway: what they leave out altogether they learn from the task alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from heedful.catalogue import Piece
from heedful.corpora import heads_by_id, load_conllu
from heedful.errors import HeedfulError, unknown_name
from heedful.models import Transformer
from heedful.training.term import Lesson, Term
from heedful.types import Batch, Keep, SiteSpec, Text, Trace

SPLITS = ("train", "dev")
_FLOOR = 1e-12

Marks = Mapping[str, NDArray[np.bool_]]
"""By example: what is right, for its real tokens."""


def supervised(lesson: Lesson, arcs: str = "", site: str = "", head: int = 0) -> Term:
    """By the corpus's rationales; or, with the CoNLL-U file `arcs`, one `head` of one `site`
    of a Transformer's encoder, which is to attend from each word to its syntactic head."""
    if arcs:
        return _by_arcs(lesson, arcs, site, head)
    if site or head:
        raise HeedfulError(
            "the term supervised takes site and head with arcs only: leave them out."
        )
    return _by_rationales(lesson)


def missed(weights: Float[Tensor, "b q k"], right: Bool[Tensor, "b q k"]) -> Float[Tensor, " b"]:
    """The mean of −log share over the queries that have right keys; 0 where none has. Gates are
    compared with their own sum."""
    total = weights.sum(-1).clamp_min(_FLOOR)
    share = torch.where(right, weights, 0.0).sum(-1) / total
    told = right.any(-1)
    logs = torch.where(told, share.clamp_min(_FLOOR), 1.0).log()
    return -logs.sum(-1) / told.sum(-1).clamp_min(1)


def _by_rationales(lesson: Lesson) -> Term:
    site, marks = _text_site(lesson), _rationales(lesson)

    def value(batch: Batch, trace: Trace) -> Tensor:
        weights = trace.weights[site.name].mean(1)
        row = torch.einsum("bq,bqk->bk", trace.readers[site.name].to(weights.dtype), weights)
        right = _laid_out(marks, batch)
        return missed(row[:, None], right[:, None]).mean()

    return Term(value, Keep(readers=True))


def _by_arcs(lesson: Lesson, arcs: str, site: str, head: int) -> Term:
    name, marks = _encoder_site(lesson, site), _heads(lesson, arcs)

    def value(batch: Batch, trace: Trace) -> Tensor:
        weights = trace.weights[name]
        if not 0 <= head < weights.shape[1]:
            raise HeedfulError(f"there is no head {head}: choose one below {weights.shape[1]}.")
        return missed(weights[:, head], _laid_out_pairs(marks, batch)).mean()

    return Term(value)


def _rationales(lesson: Lesson) -> Marks:
    splits = [lesson.corpus.split(name) for name in SPLITS]
    found = {
        name: marks
        for split in splits
        for i, name in enumerate(split.ids)
        if (marks := split.rationale(i)) is not None
    }
    if not any(name in found for name in splits[0].ids):
        raise HeedfulError(
            "the term supervised needs human rationales, and the training texts have none: "
            "choose a corpus with rationales (movies, hatexplain, planted), or give arcs."
        )
    return found


def _heads(lesson: Lesson, arcs: str) -> Marks:
    sentences = load_conllu(Path(arcs))
    train, dev = (heads_by_id(lesson.corpus.split(name), sentences) for name in SPLITS)
    if not train:
        raise HeedfulError(
            f"no sentence of {arcs} is a text of the training split: parse the corpus's own "
            "texts, one sentence each."
        )
    return {**dev, **train}


def _text_site(lesson: Lesson) -> SiteSpec:
    """The last attention over the text's tokens: in a hierarchy, that within sentences."""
    sites = [s for s in lesson.model.sites if s.keys == "a" and s.level == "tokens"]
    if lesson.corpus.task != "classification" or not sites:
        raise HeedfulError(
            "rationales are reasons for a class, and this corpus has none: choose a corpus for "
            "classification, or give arcs."
        )
    return sites[-1]


def _encoder_site(lesson: Lesson, site: str) -> str:
    if not isinstance(lesson.model, Transformer):
        raise HeedfulError(
            "arcs lead from word to word, and this model has no self-attention: choose the "
            "family transformer."
        )
    names = [each.name for each in lesson.model.encoder.sites]
    if site and site not in names:
        raise unknown_name("site of the encoder", site, names)
    return site or names[0]


def _laid_out(marks: Marks, batch: Batch) -> Bool[Tensor, "b t"]:
    text = batch.texts["a"]
    right = torch.zeros_like(text.mask)
    for row, places, known in _known(marks, batch.ids, text):
        right[row, places] = known
    return right


def _laid_out_pairs(marks: Marks, batch: Batch) -> Bool[Tensor, "b t t"]:
    text = batch.texts["a"]
    right = torch.zeros_like(text.mask)[:, None].repeat(1, text.mask.shape[1], 1)
    for row, places, known in _known(marks, batch.ids, text):
        right[row, places[:, None], places] = known
    return right


def _known(marks: Marks, ids: tuple[str, ...], text: Text) -> list[tuple[int, Tensor, Tensor]]:
    """For each example that has any: its row, where its real tokens stand, and its marks."""
    device = text.mask.device
    known = {row: marks[name] for row, name in enumerate(ids) if name in marks}
    return [
        (row, text.mask[row].nonzero().squeeze(-1), torch.tensor(np.asarray(own), device=device))
        for row, own in known.items()
    ]


PIECE = Piece(
    name="supervised",
    description="−log of attention's share on human rationales, or on syntactic heads (arcs=FILE)",
    make=supervised,
    bounds={"head": (0, 10_000)},
    citation="rationales: Zhong et al. 2019; syntactic heads: Strubell et al. 2018",
)
