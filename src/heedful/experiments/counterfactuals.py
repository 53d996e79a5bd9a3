"""Do explanations point at the words that people changed to flip a label? (kaushik2020)

A revision of a text differs from its original in few words and has another label, so these words
decide, at least for people. Asked is, of each pair of an original and a revision,

- how near to the top an explanation of the original has the words that the revision changed, where
  the model's prediction flips and where it stays;
- and whether the revisions that flip the prediction change more of the explanation's mass than
  those that do not.

Words of the original are marked. A revision that only adds words marks none, and says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.attributions import Prior, fit_prior
from heedful.entries import SHARE, Experiment, Measure, share
from heedful.experiments.evidence import (
    Evidence,
    Findings,
    ForwardBatch,
    SiteRows,
    by_rows,
    place_of,
)
from heedful.experiments.permutation import row_keys
from heedful.metrics import auprc, mass_inside, precision_at_k
from heedful.models import class_logits
from heedful.randomness import keyed_uniform
from heedful.types import Batch, Keep, Model
from heedful.words import word_numbers

FLIPS, STAYS = "flips", "stays"
"""Whether the prediction of the revision is another one than that of its original."""
WHERE = {FLIPS: "revisions that flip the prediction", STAYS: "revisions that leave it"}
EDIT_MEASURES = {
    "edit_auprc": Measure(
        "average precision of the words that a revision changed",
        True,
        range=SHARE,
        papers=("kaushik2020",),
    ),
    "edit_precision": Measure(
        "share of the top k words that a revision changed; it changed k",
        True,
        range=SHARE,
        papers=("kaushik2020",),
    ),
    "edit_auroc": Measure(
        "how often a revision that flips the prediction changed more of the mass than one that "
        "does not; of the same text",
        True,
        range=SHARE,
        papers=("kaushik2020",),
    ),
    "edit_flips": Measure(
        "share of a text's revisions that flip the prediction",
        range=SHARE,
        papers=("kaushik2020",),
    ),
}


def edited_words(before: Sequence[str], after: Sequence[str]) -> list[bool]:
    """Which words of `before` a difference of the two lists takes away or replaces, whatever their
    case. The others stand in `after`, in the same order."""
    one, other = ([word.casefold() for word in words] for words in (before, after))
    marks = [True] * len(one)
    for start, _, size in SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks():
        marks[start : start + size] = [False] * size
    return marks


@dataclass(frozen=True)
class Revisions:
    """Revisions of the texts of a batch: the row of the original of each, the words of the original
    that it `edited`, and what the model decides on it."""

    of: Int[Tensor, " r"]
    edited: Bool[Tensor, "r w"]
    decided: Int[Tensor, " r"]


def decisions(model: Model, batch: Batch) -> Int[Tensor, " b"]:
    """What the model decides, whatever it is asked to explain."""
    with torch.no_grad():
        return class_logits(model(batch, keep=Keep(weights=False)).logits).argmax(-1)


def edit_flips(forward: ForwardBatch, revisions: Revisions) -> Bool[Tensor, " r"]:
    """Which revisions flip the prediction."""
    return revisions.decided != _decided(forward)[revisions.of]


def found_edits(
    scores: Float[Tensor, "b w"],
    mask: Bool[Tensor, "b w"],
    revisions: Revisions,
    flips: Bool[Tensor, " r"],
) -> dict[tuple[str, str], Float[Tensor, " b"]]:
    """The measures of one explanation by name and, where they are told apart, by `WHERE`. Of a text
    with several revisions the mean; NaN where there is none to speak of."""
    of, count = revisions.of, len(mask)
    own, there = scores[of].abs(), mask[of]
    marks = revisions.edited & there
    known = marks.any(-1) & (marks != there).any(-1)
    values = {
        "edit_auprc": auprc(own, marks, there),
        "edit_precision": precision_at_k(own, marks, there),
    }
    found = {
        (name, where): mean_by(value, of, known & side, count)
        for name, value in values.items()
        for where, side in ((FLIPS, flips), (STAYS, ~flips))
    }
    mass = mass_inside(own, marks, there).masked_fill(~known, torch.nan)
    return {**found, ("edit_auroc", ""): auroc_by(mass, of, flips, count)}


def mean_by(
    values: Float[Tensor, " r"], of: Int[Tensor, " r"], among: Bool[Tensor, " r"], count: int
) -> Float[Tensor, " n"]:
    """The mean of some values by what they are of; values that are no numbers are left out."""
    among = among & values.isfinite()
    total, size = (torch.zeros(count, dtype=torch.float64, device=of.device) for _ in range(2))
    total.index_add_(0, of[among], values[among].double())
    size.index_add_(0, of[among], torch.ones_like(values[among].double()))
    return total / size  # 0/0 = NaN


def auroc_by(
    scores: Float[Tensor, " r"], of: Int[Tensor, " r"], positive: Bool[Tensor, " r"], count: int
) -> Float[Tensor, " n"]:
    """Of all pairs of a positive and a negative of the same: how often the positive has the higher
    score, ties counting half. NaN where there is no such pair."""
    known = scores.isfinite()
    first, second = ((each & known).nonzero()[:, 0] for each in (positive, ~positive))
    left, right = (of[first][:, None] == of[second]).nonzero().T
    higher, lower = scores[first[left]], scores[second[right]]
    wins = (higher > lower).double() + (higher == lower).double() / 2
    return mean_by(wins, of[first[left]], torch.ones_like(wins, dtype=torch.bool), count)


# On the attention of a study's model, beside the two baselines.


def counterfactuals(evidence: Evidence) -> Findings:
    """Measures each row of attention, and two baselines on the same words."""
    data, place = evidence.data, place_of(evidence.data.ids)
    decided: dict[str, int] = {}
    for forward in evidence.passes("predictions"):
        decided |= zip(forward.batch.ids, _decided(forward).tolist(), strict=True)
    revised: dict[str, list[str]] = {}
    for name, original in zip(data.ids, data.revises or (), strict=True):
        if original is not None:
            revised.setdefault(original, []).append(name)
    prior = fit_prior(batch for _, batch in evidence.batches(data))

    def revisions(forward: ForwardBatch) -> Revisions:
        real, ids = forward.batch.texts["a"].mask, forward.batch.ids
        pairs = [(row, name) for row, one in enumerate(ids) for name in revised.get(one, ())]
        edited = torch.zeros((len(pairs), real.shape[1]), dtype=torch.bool)
        for line, (row, name) in enumerate(pairs):
            marks = edited_words(*(data.surface(place[each]) for each in (ids[row], name)))
            edited[line, real[row].cpu()] = torch.tensor(marks, dtype=torch.bool)
        numbers = [[row, decided[name]] for row, name in pairs]
        of, classes = torch.tensor(numbers, dtype=torch.long).reshape(-1, 2).T.to(real.device)
        return Revisions(of, edited.to(real.device), classes)

    def measured(view: SiteRows) -> Mapping[str, Tensor]:
        found = revisions(view.forward)
        row, which = (view.example[:, None] == found.of).nonzero().T
        flips, mine = (
            edit_flips(view.forward, found)[which],
            replace(found, of=row, edited=found.edited[which], decided=found.decided[which]),
        )
        every = torch.ones_like(flips)
        values = {"flips": mean_by(flips.double(), row, every, len(view.mask))}
        for kind, scores in _scores(view, prior, evidence.seed).items():
            for (measure, where), value in found_edits(scores, view.mask, mine, flips).items():
                name = "_".join(filter(None, (measure.removeprefix("edit_"), where, kind)))
                values[name] = value
        return values

    return by_rows(evidence, evidence.passes("counterfactuals"), measured)


BASELINES = {"random": "noise", "frequency": "how rare a word is"}


def _scores(view: SiteRows, prior: Prior, seed: int) -> dict[str, Tensor]:
    """Attention and the baselines: rows of attention by tokens."""
    forward = view.forward
    keys = row_keys(view, seed, "counterfactuals")
    words = prior(forward.model, forward.batch, forward.predicted)
    rare = words.gather(1, word_numbers(forward.batch.texts["a"]).clamp_min(0))[view.example]
    noise = keyed_uniform(keys, (view.weights.shape[1],))
    return {"": view.weights.double(), "random": noise, "frequency": rare}


_KINDS = {
    f"auprc_{FLIPS}": f"average precision of the words changed, {WHERE[FLIPS]}",
    f"auprc_{STAYS}": f"the same, {WHERE[STAYS]}",
    f"precision_{FLIPS}": f"share of the top k that was changed, k of them; {WHERE[FLIPS]}",
    f"precision_{STAYS}": f"the same, {WHERE[STAYS]}",
    "auroc": "how often a revision that flips changed more mass than one that does not",
}


ENTRY = Experiment(
    name="counterfactuals",
    description="attention on the words that people changed to flip the label",
    make=counterfactuals,
    paper="kaushik2020",
    needs=("tokens", "classes", "revisions"),
    measures={
        "flips": share("share of the revisions that flip the prediction"),
        **{name: share(words, True) for name, words in _KINDS.items()},
        **{
            f"{name}_{kind}": share(f"{words}, by {scores}", True)
            for name, words in _KINDS.items()
            for kind, scores in BASELINES.items()
        },
    },
    formula=(
        "AUPRC and precision at k of α against the k words of the original that a revision "
        "replaces or takes away; AUROC of Σ α over them against whether the prediction flips, "
        "within a text"
    ),
    higher="the words that people changed have more attention",
    cost="one pass over the texts",
    limits=(
        "A revision that only adds words marks none. What people changed need not be what the "
        "model used: look at the revisions that flip its prediction. More words have more mass: "
        "compare the AUROC with the baselines'."
    ),
)


def _decided(forward: ForwardBatch) -> Int[Tensor, " b"]:
    return class_logits(forward.trace.logits).argmax(-1)
