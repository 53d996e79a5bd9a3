"""Is attention of use to a model that has nothing else to go by? (wiegreffe2019, test 3)

A token-level MLP sees no context; its attention is fixed to weights made by another model.
Where the base's weights serve it better than its own and than even ones, they carry
information about single tokens. An adversary's weights should then serve it worse, unless
they give the label away (see `leak_lines`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from heedful.data import Split
from heedful.entries import (
    NOT_NEGATIVE,
    RESAMPLES,
    SHARE,
    SIGNED,
    Experiment,
    Measure,
    Role,
    share,
    signed_share,
)
from heedful.errors import HeedfulError
from heedful.experiments.evidence import Evidence, Findings
from heedful.experiments.other_models import Schooling, adversary, check_weight
from heedful.experiments.score import (
    Line,
    Outcomes,
    class_score,
    example_rows,
    outcomes,
    score_table,
)
from heedful.metrics import TOLERANCE, first_largest
from heedful.types import Model, rows

MLP: Mapping[str, Any] = {
    "encoder": "average",
    "attention": "additive",
    "layers": 1,
    "sizes": "code",
    "hidden": None,
    "dropout": 0.0,
    "train_edit": "",
    "goal": "labels",
    "terms": (),
}

GUIDES = ("own", "uniform", "base", "adversary")

AGAINST = ("own", "uniform")


def guides(
    evidence: Evidence,
    weight: float = 1e-3,
    epochs: int = 80,
    metric: str = "f1",
    resamples: int = 1000,
) -> Findings:
    """The score of an MLP under each guide, and how far that is from its own attention's and
    from even attention's; `model` is the base itself. Beside it what the most attended word
    alone says of the label. `weight` and `epochs` are the adversary's."""
    found = {name: _outcomes(evidence, f"mlp_{name}", metric) for name in GUIDES}
    lines = [_outcomes(evidence, "base", metric).line("score:model", evidence.seed, resamples)]
    lines += _lines(found, evidence.seed, resamples)
    lines += leak_lines(evidence, resamples)
    correct = {f"correct:{name}": each.correct for name, each in found.items()}
    rows = example_rows(evidence, "guides", correct)
    size = len(found["own"].each)
    return Findings(rows, summary=score_table(lines, size), notes={"score": metric})


def roles(weight: float = 1e-3, epochs: int = 80, **others: Any) -> Mapping[str, Role]:
    return {
        "adversary": adversary(check_weight(weight), Schooling(epochs)),
        "mlp_own": Role(MLP),
        "mlp_uniform": Role({**MLP, "train_edit": "uniform"}),
        "mlp_base": Role({**MLP, "train_edit": "frozen"}, teacher="base"),
        "mlp_adversary": Role({**MLP, "train_edit": "frozen"}, teacher="adversary"),
    }


def _outcomes(evidence: Evidence, role: str, metric: str) -> Outcomes:
    if role not in evidence.models:
        raise HeedfulError(f"the probe 'guides' needs the model {role!r}: run it by a study.")
    return outcomes(evidence, evidence.models[role], metric=metric)


def _lines(found: Mapping[str, Outcomes], seed: int, resamples: int) -> Iterator[Line]:
    for name, each in found.items():
        yield each.line(f"score:{name}", seed, resamples)
        for other in AGAINST:
            if other != name:
                yield each.line_against(found[other], f"delta:{name}:{other}", seed, resamples)


# Does attention give the label away by which word it is on?
#
# A frozen guide was made by a model that reads the whole text. It may put its weight on "." in
# texts of one class and on "The" in those of the other: an MLP without context then reads the
# label off the weights, though neither word says anything.
#
# So the label is guessed from the most attended word alone, in two ways, both learned from the
# training texts: by the texts in which that word was the most attended (`attended`), and by all
# texts it occurs in (`occurring`). An informative word says the same in both ways. What the first
# says beyond the second is in the choice of the word: the `leak`.
#
# All of it is accuracy, whatever the MLP is scored by: of guesses that are all one class F1 is 0 or
# high, depending on which class that is.


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


ENTRY = Experiment(
    name="guides",
    description="a token-level MLP whose attention is its own, even, the base's, an adversary's",
    make=guides,
    version=2,
    bounds={"weight": NOT_NEGATIVE, "epochs": (1, 10_000), "resamples": RESAMPLES},
    paper="wiegreffe2019",
    needs=("classes", "tokens", "normalised"),
    roles=roles,
    measures={
        "score:model": share("the base model's own score", True),
        **{f"score:{name}": share(f"score of the MLP, attention: {name}", True) for name in GUIDES},
        **{
            f"delta:{name}:{other}": signed_share(f"{name} less {other}, paired")
            for name in GUIDES
            for other in AGAINST
            if name != other
        },
        **{f"correct:{name}": share(f"1 where right, attention: {name}") for name in GUIDES},
        **{
            f"{kind}:{name}": Measure(f"{words}, attention: {name}", signed=signed, range=limits)
            for kind, words, signed, limits in (
                (
                    "attended",
                    "accuracy of the label guessed from the most attended word",
                    False,
                    SHARE,
                ),
                ("occurring", "the same word, by all texts it occurs in", False, SHARE),
                ("leak", "attended less occurring, paired", True, SIGNED),
            )
            for name in LOOKED_AT
        },
        "attended:majority": share("accuracy of the largest class of training"),
    },
    formula=(
        "score of a decoder on Σ_t α_t tanh(W e_t + b), α fixed: its own, 1/n, the base's, an "
        "adversary's; delta paired by example; leak: accuracy of argmax_y N(y, word attended "
        "most) less that of argmax_y N(y, word occurs), counted on training texts"
    ),
    higher="of `delta:base:…`: the base's weights say more about single tokens than the others",
    cost="the training of four small models and one adversary",
    limits=(
        "That weights serve a model without context does not show that the base uses them so. "
        "Where `leak:…` is high, the weights give the label away and `score:…` says nothing."
    ),
)
