"""How little of a text keeps the prediction? (Feng et al. 2018, input reduction)

The least important word is deleted, the explanation is made again on what is left, and so on for as
long as the prediction stays. What is left last is the reduced text. If it is one meaningless word
and the model is as sure of it as before, the words that an explanation calls unimportant are not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.attributions import explain
from heedful.entries import SHARE, Experiment, Measure, Range, share
from heedful.errors import HeedfulError
from heedful.experiments.evidence import Collector, Evidence, Findings, ForwardBatch
from heedful.experiments.faithfulness import ranking
from heedful.experiments.rationale import marked
from heedful.hashing import stable_hash
from heedful.perturbations import WordRemoval, as_operator
from heedful.randomness import example_keys, keyed_uniform
from heedful.types import Batch
from heedful.words import to_tokens, to_words, word_numbers

OPERATOR = "delete"
COUNT: Range = (1.0, math.inf)
Scores = Callable[[Batch, Int[Tensor, " n"]], Float[Tensor, "n _w"]]
"""What matters in some texts, most of all the word with the highest score; the class is given."""


@dataclass(frozen=True)
class Reduced:
    """The words that are left of each text, and the probability of the class to explain on them."""

    left: Bool[Tensor, "b w"]
    confidence: Float[Tensor, " b"]

    @property
    def words(self) -> Int[Tensor, " b"]:
        return self.left.sum(-1)


def reduced(removal: WordRemoval, scores: Scores, beam: int = 1, seed: int = 0) -> Reduced:
    """Every text reduced as far as its prediction stays, by at least one word at a time.

    Of each text up to `beam` partly reduced ones are kept at a time: those in which the prediction
    is likeliest, of all that lack one of the `beam` least important words more. With a beam of 1
    that is the least important word, and the end is where its removal changes the prediction. A
    text keeps its last word.
    """
    mask, b = removal.mask, len(removal.batch)
    gone = mask.new_zeros((b, 1, mask.shape[1]))
    held = mask.new_ones((b, 1))
    whole = removal.answers(gone)
    best, confidence = gone[:, 0], whole.value[:, 0]
    while bool(held.any()):
        tried, there = _without_one_more(removal, scores, gone, held, (beam, seed))
        found = removal.answers(tried)
        there &= found.decision == whole.decision
        value = found.value.masked_fill(~there, -torch.inf)
        order = value.argsort(dim=1, descending=True, stable=True)[:, :beam]
        gone = tried.gather(1, order[..., None].expand(-1, -1, mask.shape[1]))
        held, value = there.gather(1, order), value.gather(1, order)
        best = torch.where(held[:, :1], gone[:, 0], best)
        confidence = torch.where(held[:, 0], value[:, 0], confidence)
    return Reduced(mask & ~best, confidence)


def _without_one_more(
    removal: WordRemoval, scores: Scores, gone: Tensor, held: Tensor, how: tuple[int, int]
) -> tuple[Bool[Tensor, "b m w"], Bool[Tensor, "b m"]]:
    """Each set that is held with one more of its least important words, `beam` times; and which of
    these there are. Equal sets are there once."""
    beam, seed = how
    b, k, width = gone.shape
    example, slot = held.nonzero().T
    known, left = gone[example, slot], removal.mask[example] & ~gone[example, slot]
    ids = tuple(removal.batch.ids[i] for i in example.tolist())
    place = ranking(_scored(removal, scores, known, example), left, ids, seed)
    last = left.sum(-1, keepdim=True) - 1
    nth = torch.arange(beam, device=gone.device)
    chosen = place[:, None] == (last - nth)[..., None]
    tried = gone.new_zeros((b, k, beam, width))
    there = held.new_zeros((b, k, beam))
    tried[example, slot] = known[:, None] | (chosen & left[:, None])
    there[example, slot] = (last >= 1) & (nth <= last)
    tried, there = tried.flatten(1, 2), there.flatten(1, 2)
    same = (tried[:, :, None] == tried[:, None]).all(-1) & there[:, :, None] & there[:, None]
    return tried, there & ~same.tril(-1).any(-1)


def _scored(removal: WordRemoval, scores: Scores, gone: Tensor, example: Tensor) -> Tensor:
    """Scores of what is left, as wide as the whole text. Words keep their numbers."""
    some = removal.batch.take(example)
    text = some.texts["a"]
    numbered = replace(some, texts={**some.texts, "a": replace(text, words=word_numbers(text))})
    tokens = to_tokens(gone, numbered.texts["a"])
    shown = as_operator(OPERATOR).apply(removal.model, numbered, tokens).batch
    found = scores(shown, removal.label[example])
    return torch.nn.functional.pad(found.to(gone.device), (0, gone.shape[1] - found.shape[1]))


# What is told of one reduction.


KINDS: Mapping[str, tuple[str, bool | None, Range | None]] = {
    "words": ("words left of the text", None, COUNT),
    "share": ("share of the words that are left", None, SHARE),
    "confidence": ("probability of the prediction on what is left", None, SHARE),
    "top": ("share of what is left that the whole text's scores put first", True, SHARE),
    "alone": ("1 where as many of the whole text's top words keep the prediction", True, SHARE),
    "chance": ("1 where as many words drawn at random keep it", None, SHARE),
    "inside": ("share of what is left that is in the rationale", True, SHARE),
}
REDUCTION_MEASURES = {
    f"reduced_{kind}": Measure(words, better, range=limits, papers=("feng2018",))
    for kind, (words, better, limits) in KINDS.items()
}
"""Their names in the table of an audit."""


def told(
    removal: WordRemoval, found: Reduced, scores: Float[Tensor, "b w"] | None, seed: int = 0
) -> dict[str, Float[Tensor, " b"]]:
    """Each kind of number but `inside`; `scores` are those of the whole text, by which what is left
    last might have been expected. A random order has none."""
    count, words = found.words, removal.mask.sum(-1)
    drawn = _drawn(removal.batch, removal.mask, seed, "chance")
    orders = {"chance": drawn} if scores is None else {"alone": scores, "chance": drawn}
    tops = {
        name: (ranking(each, removal.mask, removal.batch.ids, seed) < count[:, None])
        for name, each in orders.items()
    }
    gone = torch.stack([removal.mask & ~top for top in tops.values()], 1)
    whole = removal.answers(torch.zeros_like(gone[:, :1])).decision
    kept = (removal.answers(gone).decision == whole).double()
    measures = {
        "words": count.double(),
        "share": count.double() / words,
        "confidence": found.confidence,
        **dict(zip(tops, kept.unbind(1), strict=True)),
    }
    if scores is not None:
        measures["top"] = (tops["alone"] & found.left).sum(-1).double() / count
    return measures


def _drawn(batch: Batch, mask: Tensor, seed: int, what: str) -> Float[Tensor, "b w"]:
    keys = example_keys(seed, batch.ids, "input_reduction", what).to(mask.device)
    return keyed_uniform(keys, (mask.shape[1],))


# The experiment of a study.


RANDOM = "random"
ORDERS = {
    "gradient_input": "gradient · embedding",
    "gradient": "norm of the gradient",
    "attention": "attention",
    RANDOM: "a random order",
}


def input_reduction(evidence: Evidence, beam: int = 1, limit: int = 500) -> Findings:
    """Of at most `limit` texts, drawn by the seed, reduced by each order."""
    if not 1 <= beam <= 20 or limit < 1:
        raise HeedfulError("the probe 'input_reduction' needs beam from 1 to 20, limit above 0.")
    ids, site = evidence.data.ids, evidence.sites[0]
    worded = [ids[i] for i in evidence.data.lengths.nonzero()[0]]
    chosen = set(sorted(worded, key=lambda name: stable_hash(evidence.seed, name))[:limit])
    collector = Collector(ids)
    for forward in evidence.passes("input_reduction"):
        some = _some(evidence, forward, chosen)
        if some is None:
            continue
        view = some.rows(site).first()
        found = _measured(evidence, some, beam).items()
        collector.add(some, site, view, {name: values[view.example] for name, values in found})
    rows = collector.rows()
    unknown = rows.groupby("measure")["value"].transform("count") == 0
    return Findings(rows[~unknown].reset_index(drop=True))


def _some(evidence: Evidence, forward: ForwardBatch, chosen: set[str]) -> ForwardBatch | None:
    """The texts that were chosen, in double precision: the end of a long search."""
    rows = [row for row, name in enumerate(forward.batch.ids) if name in chosen]
    if not rows:
        return None
    index = torch.tensor(rows, device=forward.batch.labels.device)
    return evidence.doubled(replace(forward, batch=forward.batch.take(index)))


def _measured(evidence: Evidence, forward: ForwardBatch, beam: int) -> dict[str, Tensor]:
    """Every measure of every order."""
    removal = WordRemoval(forward.model, forward.batch, forward.predicted, OPERATOR)
    inside = to_words(marked(evidence, forward).double(), forward.batch.texts["a"]) > 0
    measures = {"inside_text": inside_share(inside, removal.mask)}
    for order in ORDERS:
        scores = None if order == RANDOM else partial(explain, order, forward.model)
        found, numbers = reduction(removal, scores, beam, evidence.seed)
        numbers["inside"] = inside_share(inside, found.left)
        measures |= {f"{kind}_{order}": values for kind, values in numbers.items()}
    return measures


def reduction(
    removal: WordRemoval, scores: Scores | None, beam: int = 1, seed: int = 0
) -> tuple[Reduced, dict[str, Float[Tensor, " b"]]]:
    """The texts reduced by these scores, or in a random order, and what is told of it."""
    whole = None if scores is None else scores(removal.batch, removal.label)
    found = reduced(removal, scores or random_order(removal, seed), beam, seed)
    return found, told(removal, found, whole, seed)


def random_order(removal: WordRemoval, seed: int) -> Scores:
    """One order of each text's words, whichever of them are left."""
    every = _drawn(removal.batch, removal.mask, seed, "order")
    place = {name: row for row, name in enumerate(removal.batch.ids)}

    def scores(batch: Batch, label: Tensor) -> Tensor:
        return every[[place[name] for name in batch.ids]]

    return scores


def inside_share(inside: Bool[Tensor, "b w"], words: Bool[Tensor, "b w"]) -> Float[Tensor, " b"]:
    """How many of some words are in the rationale; NaN where nobody marked a word."""
    found = (inside & words).sum(-1).double() / words.sum(-1)
    return torch.where(inside.any(-1), found, torch.nan)


ENTRY = Experiment(
    name="input_reduction",
    description="how few words keep the prediction, the least important ones deleted first",
    make=input_reduction,
    bounds={"beam": (1, 20), "limit": (1, 10**6)},
    paper="feng2018",
    needs=("classes",),
    measures={
        "inside_text": share("share of the text's words in the rationale"),
        **{
            f"{kind}_{order}": Measure(f"{words}, by {said}", better, range=limits)
            for kind, (words, better, limits) in KINDS.items()
            for order, said in ORDERS.items()
            if order != RANDOM or kind not in ("top", "alone")
        },
    },
    formula=(
        "x ← x without argmin_w g(w | x) for as long as argmax p(y | x) is that of the whole text; "
        "g is made again at each step"
    ),
    higher="more words are left, or the model is surer of them",
    cost="a gradient and a pass for each word of a text and each of 4 orders, of up to 500 texts",
    limits=(
        "A text cut to pieces is read out of its training distribution, and the order is greedy: "
        "it need not find the shortest text. A prediction that needs no words keeps one."
    ),
)
