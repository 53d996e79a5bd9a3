"""What is in the attended states: how alike they are, and how much of the words is left.

Conicity is how alike the attended states of a text are (mohankumar2020).

Where they all point one way, moving attention among them changes little.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from sklearn.cluster import MiniBatchKMeans

from heedful.data import Split
from heedful.entries import ANY, NOT_NEGATIVE, RESAMPLES, Experiment, Measure, share
from heedful.errors import HeedfulError, unknown_name
from heedful.experiments.evidence import Collector, Evidence, Findings, place_of
from heedful.experiments.score import Line, attended, example_rows, score_table
from heedful.hashing import stable_hash
from heedful.metrics import Contingency, contingency, entropy_of, mutual_information, summarise
from heedful.metrics import conicity as conicity_of
from heedful.randomness import example_keys, keyed_bits, keyed_uniform
from heedful.specs import UNKNOWN


def conicity(evidence: Evidence) -> Findings:
    """The mean over a text's states of |cos| with their mean: 1 where they lie on a line, as
    the only state of a text of one token does."""
    collector = Collector(evidence.data.ids)
    for forward in evidence.passes("conicity"):
        trace = forward.with_states().trace
        for site in evidence.sites:
            view = forward.rows(site).first()
            states = trace.states[site.name][view.example]
            collector.add(forward, site, view, {"conicity": conicity_of(states, view.mask)})
    return Findings(collector.rows())


CONICITY = Experiment(
    name="conicity",
    description="conicity of the attended states: how narrow the cone is that they lie in",
    make=conicity,
    by_text=True,
    paper="mohankumar2020",
    needs=("classes",),
    measures={"conicity": share("mean |cos| of a text's states with their mean", False)},
    formula="(1/n) Σ_t |cos(h_t, (1/n) Σ_s h_s)|",
    higher="states point more in one direction, so that moving attention changes less",
    cost="one pass over the texts",
    limits=(
        "It is about directions alone: a decoder may still read small differences, and the "
        "length of a state is not seen."
    ),
)


# How much of the words is left in the states above them (tutek2020, §3.4).
#
# The embedding of a token is a function of its word, so what is measured is the mutual information
# of words and states. States are cut into clusters first: of continuous vectors no count can be
# made. The paper clusters the embeddings too (`inputs="clusters"`), of as many words as there are
# clusters; here each word is a cluster of its own, which is what that comes to at best.
#
# The paper does not say which split's tokens it takes, whether words are drawn with replacement,
# whether clusters are fitted with anything but the usual settings, nor its unit. Here: the texts
# looked at (or, with `split="training"`, those it was trained on: there are more of them), without,
# scikit-learn's, nats. Which tokens are taken depends on the data and the seed, never on the model:
# variants are compared on the same ones.
#
# Few vectors in many cells give much information by chance. So there are at most a tenth as many
# clusters as vectors, and what clusters at random would give stands beside the number.


HOW = ("frequent", "sampled")
PER_CLUSTER = 10
SPLITS, INPUTS = ("given", "training"), ("words", "clusters")


def information(
    evidence: Evidence,
    words: int = 1000,
    how: str = "both",
    vectors: int = 1_000_000,
    clusters: int = 1000,
    batch: int = 100,
    resamples: int = 200,
    split: str = "given",
    inputs: str = "words",
) -> Findings:
    """`mutual_information:<how>` for the most frequent words, for some drawn by their frequency
    to the power of 3/4, or for both; `pointwise:<how>` is each example's share of it.

    The interval draws examples again and counts their tokens again; they are not clustered
    again. Texts drawn twice make the estimate larger, so the draws are moved to where their
    mean is the estimate: the interval is about the spread, not about what few vectors add.
    """
    if how not in (*HOW, "both"):
        raise unknown_name("way to choose words", how, [*HOW, "both"])
    if inputs not in INPUTS:
        raise unknown_name("kind of inputs", inputs, list(INPUTS))
    counts = {"words": words, "vectors": vectors, "clusters": clusters, "batch": batch}
    for name, count in counts.items():
        if count < 1:
            raise HeedfulError(f"the probe 'mutual_information' needs {name} of at least 1.")
    evidence = _seen(evidence, split)
    clustered = partial(_clustered, clusters=clusters, batch=batch)
    lines: list[Line] = []
    pointwise, notes = {}, {}
    for name in HOW if how == "both" else (how,):
        found = gather_tokens(evidence, name, words, vectors)
        label = clustered(found.states, stable_hash(evidence.seed, "clusters", name))
        if inputs == "clusters":  # the cluster of a word's embedding stands for the word
            seed = stable_hash(evidence.seed, "inputs", name)
            found = replace(found, word=clustered(embedded(evidence, found), seed))
        lines += _lines(found, label, evidence, name, resamples)
        pointwise[f"pointwise:{name}"] = _by_example(found, label, evidence)
        kind = "words" if inputs == "words" else "clusters of embeddings"
        notes[name] = (
            f"{len(np.unique(found.word)):,} {kind}, {len(label):,} vectors, "
            f"{len(np.unique(label)):,} clusters, nats"
        )
    rows = example_rows(evidence, "mutual_information", pointwise)
    parts = [score_table(lines, len(attended(evidence))), summarise(rows, evidence.seed)]
    return Findings(rows, summary=pd.concat(parts, ignore_index=True), notes=notes)


def _seen(evidence: Evidence, split: str) -> Evidence:
    if split not in SPLITS:
        raise unknown_name("split", split, list(SPLITS))
    if split == "given":
        return evidence
    if evidence.training is None:
        raise HeedfulError("the texts it was trained on are not here: use split=given.")
    return replace(evidence, data=evidence.training, _passes=[])


def _clustered(
    states: Float[np.ndarray, "n d"], seed: int, clusters: int, batch: int
) -> Int[np.ndarray, " n"]:
    count = min(clusters, len(states) // PER_CLUSTER)
    if count < 2:
        return np.zeros(len(states), np.int64)
    means = MiniBatchKMeans(count, batch_size=batch, random_state=seed % (1 << 32), n_init="auto")
    return np.asarray(means.fit_predict(states), dtype=np.int64)


def _lines(
    found: Tokens, label: Int[np.ndarray, " n"], evidence: Evidence, how: str, resamples: int
) -> Iterator[Line]:
    seed, nan = evidence.seed, float("nan")
    table = contingency(found.word, label)
    shuffled = np.random.default_rng(stable_hash(seed, "chance", how)).permutation(label)
    yield (f"mutual_information:{how}", *_spread(table, found, evidence, resamples))
    yield f"chance:{how}", mutual_information(contingency(found.word, shuffled)), nan, nan
    yield f"entropy:{how}", entropy_of(found.word), nan, nan
    yield f"vectors:{how}", float(len(label)), nan, nan
    yield f"clusters:{how}", float(len(np.unique(label))), nan, nan


def _spread(
    table: Contingency, found: Tokens, evidence: Evidence, resamples: int
) -> tuple[float, float, float]:
    """The estimate and its interval."""
    estimate, kept = mutual_information(table), attended(evidence)
    random = np.random.default_rng(evidence.seed)
    drawn = (random.choice(kept, len(kept)) for _ in range(resamples))
    times = (np.bincount(some, minlength=len(evidence.data)).astype(float) for some in drawn)
    values = np.array([mutual_information(table, each[found.example]) for each in times])
    values = values[np.isfinite(values)]
    if len(values) < 2:
        return estimate, float("nan"), float("nan")
    low, high = np.quantile(values - values.mean(), (0.025, 0.975))
    return estimate, estimate + float(low), estimate + float(high)


def _by_example(
    found: Tokens, label: Int[np.ndarray, " n"], evidence: Evidence
) -> NDArray[np.float64]:
    """The mean over an example's tokens of what the mutual information is the mean of."""
    table = contingency(found.word, label)
    pointwise = table.pointwise(table.counts())[table.cell]
    size = len(evidence.data)
    tokens = np.bincount(found.example, minlength=size).astype(float)
    total = np.bincount(found.example, pointwise, size)
    means = np.divide(total, tokens, out=np.full(size, np.nan), where=tokens > 0)
    return np.asarray(means[attended(evidence)], dtype=np.float64)


MUTUAL_INFORMATION = Experiment(
    name="mutual_information",
    description="mutual information of words and their states: what encoding leaves of the input",
    make=information,
    version=2,
    bounds={
        "words": (1, 10**6),
        "vectors": (1, 10**8),
        "clusters": (1, 10**5),
        "batch": (1, 10**5),
        "resamples": RESAMPLES,
    },
    paper="tutek2020",
    needs=("classes", "tokens"),
    measures={
        name: measure
        for how, words in zip(HOW, ("the most frequent words", "words by frequency^¾"), strict=True)
        for name, measure in {
            f"mutual_information:{how}": Measure(
                f"nats that states tell about {words}", True, range=NOT_NEGATIVE
            ),
            f"chance:{how}": Measure("the same with the clusters shuffled", range=NOT_NEGATIVE),
            f"entropy:{how}": Measure(
                "the most there is to tell about these words, in nats", range=NOT_NEGATIVE
            ),
            f"vectors:{how}": Measure("tokens that were looked at", range=NOT_NEGATIVE),
            f"clusters:{how}": Measure("clusters their states were cut into", range=NOT_NEGATIVE),
            f"pointwise:{how}": Measure(
                "an example's mean of what is averaged", signed=True, range=ANY
            ),
        }.items()
    },
    formula=(
        "I(W; K) = Σ p(w, k) ln [p(w, k) / (p(w) p(k))]: W the word of a token, K the cluster "
        "of its state"
    ),
    higher="states tell more about the words below them",
    cost="one pass, and clustering: vectors × clusters",
    limits=(
        "It depends on how many vectors and clusters there are: read it between `chance` and "
        "`entropy`. A state may keep its word and attention still not explain."
    ),
)


# Which tokens stand for the words whose mutual information with states is measured.
#
# The choice depends on the data and the seed alone, so that all models are asked about the same.


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
    for forward in evidence.passes("embeddings"):
        tokens = forward.batch.texts[site.keys].tokens.cpu().numpy()
        new, place = np.unique(tokens, return_index=True)
        missing = [n for n, word in enumerate(new) if word in wanted and word not in vectors]
        if missing:
            found_here = forward.model.embed(forward.batch)[site.keys].flatten(0, 1).cpu().numpy()
            vectors |= {int(new[n]): found_here[place[n]] for n in missing}
    return np.stack([vectors[int(word)] for word in words])[back]


def chosen_words(split: Split, how: str, count: int, seed: int) -> NDArray[np.int64]:
    """Ids of known words that occur, in ascending order. Of words that are equally frequent
    the first in the vocabulary is taken."""
    occurring = np.bincount(np.concatenate([np.zeros(0, np.int64), *_real(split)]))
    occurring[: UNKNOWN + 1] = 0
    keys = occurring if how == "frequent" else _keys(occurring, seed)
    order = np.argsort(-keys, kind="stable")
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
    site, place = evidence.sites[0], place_of(evidence.data.ids)
    for forward in evidence.passes("states"):
        examples = np.array([place[name] for name in forward.batch.ids], np.int64)
        counts = [len(positions[number]) for number in examples]
        rows = np.repeat(np.arange(len(examples)), counts)
        columns = np.concatenate([positions[number] for number in examples])
        found = evidence.doubled(forward).trace.states[site.name]
        states = found.to(forward.trace.logits.dtype).cpu().numpy()
        tokens = forward.batch.texts[site.keys].tokens.cpu().numpy()
        yield examples[rows], tokens[rows, columns], states[rows, columns]
