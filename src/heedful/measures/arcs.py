"""Does a head of self-attention look at what a word hangs on, or at whom it names?

Attention between words: what a word's tokens attend, on average, summed over the tokens of the
other word (Clark et al. 2019). The word that gets most of it, itself and tokens of no word left
out, is compared with the word's syntactic head, or with other mentions of the same entity.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.corpora.conllu import Sentence
from heedful.errors import HeedfulError
from heedful.saliency.rollout import self_sites
from heedful.types import Batch, Model, Text
from heedful.words import word_mask, word_numbers

COREFERENCE = "(coreference)"
COLUMNS = ["example", "site", "head", "relation", "words", "hits"]


def agreement_with_arcs(model: Model, batch: Batch, sentences: Sequence[Sentence]) -> pd.DataFrame:
    """Words and hits per example, self-attention site, head and relation. The batch holds the
    sentences in this order, its words numbered as theirs; words that have no token, and those
    whose targets have none, are left out."""
    if len(sentences) != len(batch):
        raise HeedfulError("the batch and the list of sentences differ in length: give one each.")
    with torch.no_grad():
        trace = model(batch)
    text = batch.texts["a"]
    links = _links(sentences, word_mask(text))
    parts = []
    for site in self_sites(model, trace):
        between = between_words(trace.weights[site.name].double(), text)
        hits = _hits(between, links)
        parts.append(_frame(batch, site.name, links, hits))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=COLUMNS)


def shares(agreement: pd.DataFrame) -> pd.DataFrame:
    """The share of hits by site, head and relation, over all words of all examples."""
    by = ["site", "head", "relation"]
    found = agreement.groupby(by, sort=True)[["words", "hits"]].sum().reset_index()
    return found.assign(share=found["hits"] / found["words"])


def offset_baseline(sentences: Sequence[Sentence]) -> dict[str, float]:
    """What the best fixed distance would hit, for each relation: a head that only looks, say,
    one word back knows nothing of syntax."""
    offsets: dict[str, Counter[int]] = defaultdict(Counter)
    for sentence in sentences:
        for word, (head, relation) in enumerate(
            zip(sentence.heads, sentence.relations, strict=True)
        ):
            if head >= 0:
                offsets[relation][head - word] += 1
    return {name: max(found.values()) / found.total() for name, found in sorted(offsets.items())}


def between_words(weights: Float[Tensor, "b h t t"], text: Text) -> Float[Tensor, "b h w w"]:
    """From each word to each word: the mean over the one's tokens of the sum over the other's."""
    numbers, width = word_numbers(text), word_mask(text).shape[1]
    member = (numbers[..., None] == torch.arange(width, device=numbers.device)).to(weights.dtype)
    size = member.sum(1).clamp_min(1)
    seen = torch.einsum("btw,bhtk->bhwk", member, weights) / size[:, None, :, None]
    return torch.einsum("bhwk,bkv->bhwv", seen, member)


@dataclass(frozen=True)
class Links:
    """Words to look from, with the words that are right and those that take no part."""

    example: Int[Tensor, " l"]
    word: Int[Tensor, " l"]
    right: Bool[Tensor, "l w"]
    out: Bool[Tensor, "l w"]
    relation: tuple[str, ...]


def _links(sentences: Sequence[Sentence], there: Bool[Tensor, "b w"]) -> Links:
    width, rows = there.shape[1], []
    for number, sentence in enumerate(sentences):
        present = set(there[number].nonzero().squeeze(-1).tolist())
        for word, relation, right, out in (*_arcs(sentence), *_coreferent(sentence)):
            if word in present and right & present:
                rows.append((number, word, relation, right & present, out))
    example = torch.tensor([row[0] for row in rows], dtype=torch.long, device=there.device)
    return Links(
        example,
        torch.tensor([row[1] for row in rows], dtype=torch.long, device=there.device),
        _marked([row[3] for row in rows], width).to(there.device),
        _marked([row[4] for row in rows], width).to(there.device) | ~there[example],
        tuple(row[2] for row in rows),
    )


def _marked(chosen: Sequence[set[int]], width: int) -> Bool[Tensor, "l w"]:
    marks = torch.zeros(len(chosen), width, dtype=torch.bool)
    for row, words in enumerate(chosen):
        marks[row, [word for word in words if word < width]] = True
    return marks


_Link = tuple[int, str, set[int], set[int]]


def _arcs(sentence: Sentence) -> Iterator[_Link]:
    for word, (head, relation) in enumerate(zip(sentence.heads, sentence.relations, strict=True)):
        if head >= 0:
            yield word, relation, {head}, {word}


def _coreferent(sentence: Sentence) -> Iterator[_Link]:
    """From every word of a mention to any word of another mention of the entity."""
    for mention in sentence.mentions:
        own = set(range(mention.start, mention.end))
        others = [m for m in sentence.mentions if m.entity == mention.entity and m != mention]
        right = {word for m in others for word in range(m.start, m.end)} - own
        for word in sorted(own):
            yield word, COREFERENCE, right, own


def _hits(between: Float[Tensor, "b h w w"], links: Links) -> Bool[Tensor, "l h"]:
    scores = between[links.example, :, links.word].masked_fill(links.out[:, None], -1.0)
    heaviest = scores.argmax(-1)
    return links.right.gather(1, heaviest)


def _frame(batch: Batch, site: str, links: Links, hits: Bool[Tensor, "l h"]) -> pd.DataFrame:
    found = pd.DataFrame(hits.cpu().numpy()).assign(
        example=[batch.ids[i] for i in links.example.tolist()], relation=links.relation
    )
    long = found.melt(["example", "relation"], var_name="head", value_name="hit")
    long["hit"] = long["hit"].astype("int64")
    counted = long.groupby(["example", "head", "relation"], sort=True)["hit"]
    table = counted.agg(words="size", hits="sum").reset_index()
    return table.assign(site=site, head=table["head"].astype("int64"))[COLUMNS]
