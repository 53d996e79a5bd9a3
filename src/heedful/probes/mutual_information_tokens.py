"""Which tokens stand for the words whose mutual information with states is measured.

The choice depends on the data and the seed alone, so that all models are asked about the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray

from heedful.corpora import Split
from heedful.probes.evidence import Evidence
from heedful.randomness import example_keys, keyed_bits, keyed_uniform, stable_hash
from heedful.specs import UNKNOWN

HOW = ("frequent", "sampled")
POWER = 0.75


@dataclass(frozen=True)
class Tokens:
    """Those of the chosen words: the place of their example, their word and their state. States
    are rounded from double precision, so that batches do not matter: clusters hang on every bit."""

    example: Int[np.ndarray, " n"]
    word: Int[np.ndarray, " n"]
    states: Float[np.ndarray, "n d"]


def gather_tokens(evidence: Evidence, how: str, words: int, vectors: int) -> Tokens:
    """In the order of the examples' names: neither batches nor the data's order matter."""
    split, seed = evidence.data, evidence.seed
    chosen = chosen_words(split, how, words, seed)
    positions = _positions(split, chosen, vectors, seed)
    parts = list(_states(evidence, positions))
    example, word, states = (np.concatenate(column) for column in zip(*parts, strict=True))
    rank = np.argsort(np.argsort(np.array(split.ids)))
    order = np.argsort(rank[example], kind="stable")
    return Tokens(example[order], word[order], states[order])


def embedded(evidence: Evidence, found: Tokens) -> Float[np.ndarray, "n d"]:
    """The embeddings of the tokens: of each word that of its first token, since it is the same
    in every place."""
    words, back = np.unique(found.word, return_inverse=True)
    vectors: dict[int, NDArray[np.floating]] = {}
    site, wanted = evidence.sites[0], set(words.tolist())
    for each in evidence.passes("embeddings"):
        tokens = each.batch.texts[site.keys].tokens.cpu().numpy()
        new, place = np.unique(tokens, return_index=True)
        missing = [n for n, word in enumerate(new) if word in wanted and word not in vectors]
        if missing:
            found_here = each.model.embed(each.batch)[site.keys].flatten(0, 1).cpu().numpy()
            vectors |= {int(new[n]): found_here[place[n]] for n in missing}
    return np.stack([vectors[int(word)] for word in words])[back]


def chosen_words(split: Split, how: str, count: int, seed: int) -> NDArray[np.int64]:
    """Ids of known words that occur, in ascending order. Of words that are equally frequent
    the first in the vocabulary is taken."""
    occurring = np.bincount(np.concatenate([np.zeros(0, np.int64), *_real(split)]))
    occurring[: UNKNOWN + 1] = 0
    if how == "frequent":
        order = np.argsort(-occurring, kind="stable")
    else:
        order = np.argsort(-_keys(occurring, seed), kind="stable")
    return np.sort(order[: min(count, int((occurring > 0).sum()))])


def _keys(occurring: NDArray[np.int64], seed: int) -> NDArray[np.float64]:
    """The largest are a sample without replacement (Efraimidis & Spirakis 2006)."""
    key = torch.tensor([stable_hash(seed, "words")])
    drawn = keyed_uniform(key, (len(occurring),))[0].numpy()
    weight = np.where(occurring > 0, occurring, 1) ** POWER
    return np.where(occurring > 0, np.log(drawn) / weight, -np.inf)


def _positions(
    split: Split, words: NDArray[np.int64], vectors: int, seed: int
) -> list[NDArray[np.int64]]:
    """Of each example the positions that are taken: all of them, or so many drawn."""
    found = [1 + np.flatnonzero(np.isin(ids, words)) for ids in _real(split)]
    if sum(map(len, found)) <= vectors:
        return found
    keys = example_keys(seed, split.ids, "vectors")
    bits = [
        keyed_bits(key[None], (len(ids) + 1,))[0].numpy()[some]
        for key, ids, some in zip(keys, _real(split), found, strict=True)
    ]
    bound = np.partition(np.concatenate(bits), vectors)[vectors]
    return [some[drawn < bound] for some, drawn in zip(found, bits, strict=True)]


def _real(split: Split) -> list[NDArray[np.int32]]:
    """Tokens of side a without start and end."""
    return [ids[1:-1] for ids in split.sides["a"].tokens]


def _states(
    evidence: Evidence, positions: list[NDArray[np.int64]]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.floating]]]:
    place = {example: number for number, example in enumerate(evidence.data.ids)}
    site = evidence.sites[0]
    for each in evidence.passes("states"):
        places = [place[name] for name in each.batch.ids]
        counts = [len(positions[number]) for number in places]
        rows = np.repeat(np.arange(len(places)), counts)
        columns = np.concatenate([positions[number] for number in places])
        found = evidence.doubled(each).trace.states[site.name]
        states = found.to(each.trace.logits.dtype).cpu().numpy()
        tokens = each.batch.texts[site.keys].tokens.cpu().numpy()
        yield np.array(places, np.int64)[rows], tokens[rows, columns], states[rows, columns]
