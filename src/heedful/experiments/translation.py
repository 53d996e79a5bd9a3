"""How well a model translates, and whether its cross-attention aligns the words.

BLEU of its own texts and how it reads the given targets; and whether the source tokens that
cross-attention weighs most translate the target's tokens.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from heedful.data import Split
from heedful.entries import PERCENT, RESAMPLES, Experiment, Measure, share
from heedful.errors import HeedfulError, unknown_name
from heedful.experiments.evidence import Collector, Evidence, Findings, ForwardBatch
from heedful.experiments.score import (
    Line,
    attended,
    example_rows,
    outcomes,
    score_table,
    summary_line,
)
from heedful.metrics import (
    COLUMNS,
    METRICS,
    SCORES,
    bleu_signature,
    bootstrap_statistic,
    link_counts,
)
from heedful.models import Search
from heedful.training import target_steps
from heedful.types import AttentionRows, Batch, Model, SiteSpec


def translation(evidence: Evidence, beam: int = 5, resamples: int = 1000) -> Findings:
    """BLEU of the whole split, from 0 to 100, with its signature among the notes; perplexity
    and the share of right tokens when every token is given the true ones before it."""
    written = outcomes(evidence, evidence.models["base"], search=Search(beam))
    read = _read(evidence)[attended(evidence)]
    tokens, right, likelihood = read.T
    rows = example_rows(
        evidence,
        "translation",
        {"token_accuracy": right / tokens, "log_likelihood": likelihood / tokens},
    )
    lines: list[Line] = [written.line("bleu", evidence.seed, resamples)]
    corpus: dict[str, Callable[[NDArray[np.float64]], float]] = {
        "token_accuracy": lambda read: float(read[:, 1].sum() / read[:, 0].sum()),
        "perplexity": lambda read: float(np.exp(-read[:, 2].sum() / read[:, 0].sum())),
    }
    for name, statistic in corpus.items():
        low, high = bootstrap_statistic(statistic, (read,), evidence.seed, resamples)
        lines.append((name, statistic(read), low, high))
    notes = {"bleu": f"{bleu_signature()}|beam:{beam}"}
    return Findings(rows, summary=score_table(lines, len(read)), notes=notes)


def _read(evidence: Evidence) -> NDArray[np.float64]:
    """Of each target: its tokens (the end among them), the right ones, their log-likelihood."""
    if evidence.whole is None:
        raise HeedfulError("the probe 'translation' needs whole targets: give a corpus of them.")
    model, found = evidence.models["base"], np.zeros((len(evidence.whole), 3))
    with torch.no_grad():
        for places, batch in evidence.batches(evidence.whole):
            logits, gold, there = target_steps(model(batch), batch)
            log_p = torch.log_softmax(logits.double(), -1)
            own = log_p.gather(-1, gold[..., None]).squeeze(-1)
            right = logits.argmax(-1) == gold
            counts = [(part * there).sum(-1).double() for part in (there, right, own)]
            found[places] = torch.stack(counts, -1).cpu().numpy()
    return found


TRANSLATION = Experiment(
    name="translation",
    description="BLEU of what the model writes; perplexity and token accuracy of given targets",
    make=translation,
    bounds={"beam": (1, 100), "resamples": RESAMPLES},
    version=2,
    paper="vashishth2019",
    needs=("generation",),
    measures={
        "bleu": Measure("corpus BLEU of the written targets, 0 to 100", True, range=PERCENT),
        "token_accuracy": share("share of right tokens, the true ones before each given", True),
        "perplexity": Measure(
            "of a target's token, the true ones before it given", False, range=(1.0, math.inf)
        ),
        "log_likelihood": Measure(
            "mean log-likelihood of the target's tokens", True, signed=True, range=(-math.inf, 0.0)
        ),
    },
    formula=(
        "BLEU of what beam search writes; perplexity = exp(−(1/N) Σ ln p(token | the true ones "
        "before it))"
    ),
    higher=(
        "of `bleu` and `token_accuracy`: better translations; of `perplexity`: targets are less "
        "expected"
    ),
    cost="writing every target: its length × the beam (5)",
    limits=(
        "BLEU counts words in common. Given the true tokens, a model never has to live with its "
        "own mistakes."
    ),
)


# Do the source tokens that cross-attention weighs most translate the target's tokens?
#
# The hard link of a target token goes to the real source token with most attention when it is
# written, the targets being given. Gold links are all taken as sure.


QUERIES = {"writing": 0, "reading": 1}


def alignment(evidence: Evidence, query: str = "writing", resamples: int = 1000) -> Findings:
    """Every cross-attention, by the mean over its heads and, where there are several, head by
    head (`…_head`). A target token's query is the one it is written from, or with
    `query=reading` the next, at which it is read."""
    if query not in QUERIES:
        raise unknown_name("query", query, list(QUERIES))
    split = _aligned(evidence)
    collector, counts = Collector(split.ids), Counts()
    for forward, gold in _passes(evidence, split):
        for site in cross_sites(forward.model):
            shown = forward.trace.weights[site.name].double()
            heads = {"": shown.mean(1, keepdim=True), "_head": shown}
            for name, weights in heads.items():
                if name and shown.shape[1] == 1:
                    continue
                view, found = _measured(forward, weights, gold, QUERIES[query])
                measures = {f"{key}{name}": score(found) for key, score in SCORES.items()}
                collector.add(forward, site, view, measures)
                counts.add(site, name, view, forward.batch.ids, found)
    return Findings(collector.rows(), summary=counts.summary(evidence.seed, resamples))


def cross_sites(model: Model) -> tuple[SiteSpec, ...]:
    """Where a target looks at its source: the main sites, and those on side a after a site on
    another side (an encoder's own come before)."""
    other = [number for number, site in enumerate(model.sites) if site.keys != "a"]
    first = other[0] if other else len(model.sites)
    return tuple(
        site
        for number, site in enumerate(model.sites)
        if site.keys == "a" and site.level == "tokens" and (site.main or number > first)
    )


def _aligned(evidence: Evidence) -> Split:
    """The examples that have gold links."""
    whole = evidence.whole
    kept = [i for i in range(len(whole)) if whole.alignment(i) is not None] if whole else []
    if whole is None or not kept:
        raise HeedfulError("no example has a gold alignment: choose another split or corpus.")
    return whole.subset(kept)


def _passes(evidence: Evidence, split: Split) -> Iterator[tuple[ForwardBatch, Tensor]]:
    model, done = evidence.models["base"], 0
    for places, batch in evidence.batches(split):
        with torch.no_grad():
            yield ForwardBatch(model, batch, model(batch)), _gold(split, places, batch)
        done += len(places)
        evidence.progress("alignment", done, len(split))


def _gold(split: Split, places: NDArray[np.int64], batch: Batch) -> Bool[Tensor, "b s t"]:
    """Which token of a (the last axis) goes with which of b, by their places in the batch;
    one start stands before the real tokens."""
    a, b = batch.texts["a"].tokens, batch.texts["b"].tokens
    gold = torch.zeros(len(a), b.shape[1], a.shape[1], dtype=torch.bool, device=a.device)
    for row, place in enumerate(places):
        links = split.alignment(int(place))
        if links is not None:
            one, other = torch.from_numpy(links.astype(np.int64)).T.to(a.device) + 1
            gold[row, other, one] = True
    return gold


def _measured(
    forward: ForwardBatch, weights: Float[Tensor, "b h q k"], gold: Tensor, late: int
) -> tuple[AttentionRows, Tensor]:
    """A row per example and head, and its counts."""
    b, h, q, k = weights.shape
    real, there = forward.batch.texts["a"].mask, forward.batch.texts["b"].mask
    # the token at place t is written from query t − 1 and read at query t
    shown = weights if late else torch.nn.functional.pad(weights, (0, 0, 1, 0))[:, :, :q]
    rows = shown.reshape(b * h, q, k)
    example = torch.arange(b, device=weights.device).repeat_interleave(h)
    head = torch.arange(h, device=weights.device).repeat(b)
    found = link_counts(rows, gold[example], there[example], real[example])
    heaviest = rows.amax(1) * real[example]
    view = AttentionRows(heaviest, real[example], example, head, torch.zeros_like(head))
    return view, found


# Alignment scores of a whole split: made of counts, not a mean over sentences.


Score = Callable[[Tensor], Tensor]


@dataclass
class Counts:
    """Counts of links by site, by head where heads are told apart, and by example."""

    _parts: dict[tuple[str, str, str], dict[str, np.ndarray]] = field(default_factory=dict)

    def add(
        self, site: SiteSpec, name: str, view: AttentionRows, ids: tuple[str, ...], found: Tensor
    ) -> None:
        """A group is `all`, or the head."""
        numbers = found.cpu().numpy()
        places = zip(view.example.tolist(), view.head.tolist(), strict=True)
        for (example, head), counts in zip(places, numbers, strict=True):
            group = f"head={head}" if name else "all"
            self._parts.setdefault((site.name, name, group), {})[ids[example]] = counts

    def summary(self, seed: int, resamples: int) -> pd.DataFrame:
        """Examples are drawn again by name, so batches and their order change no interval."""
        lines = [
            line for place in sorted(self._parts) for line in self._lines(place, seed, resamples)
        ]
        return pd.DataFrame(lines, columns=COLUMNS)

    def _lines(
        self, place: tuple[str, str, str], seed: int, resamples: int
    ) -> Iterator[dict[str, Any]]:
        site, name, group = place
        counts = np.stack([self._parts[place][example] for example in sorted(self._parts[place])])
        for measure, score in SCORES.items():
            pooled = _pooled(score)
            ends = bootstrap_statistic(pooled, (counts,), seed, resamples)
            place_of = (site, f"{measure}{name}", group)
            yield summary_line(place_of, len(counts), pooled(counts), ends)


def _pooled(score: Score) -> Callable[[np.ndarray], float]:
    """The score of all links together."""
    return lambda counts: float(score(torch.from_numpy(counts.sum(0))))


ALIGNED = METRICS["aligned"]
ALIGNMENT = Experiment(
    name="alignment",
    description="alignment error rate of cross-attention against gold alignments",
    make=alignment,
    bounds={"resamples": RESAMPLES},
    version=2,
    paper="och2003",
    needs=("generation", "alignment"),
    measures={
        f"{name}{where}": replace(one, description=f"{one.description}{what}")
        for where, what in (("", ", mean over heads"), ("_head", ", of a head"))
        for name, one in ALIGNED.measures.items()
    },
    formula=ALIGNED.formula,
    higher=ALIGNED.higher,
    cost="one pass over the texts that have gold links",
    limits=(
        "A model may look one step early or late (`query=reading`) and translate well. All gold "
        "links count as sure."
    ),
)
