"""What is true of a trained model, found by intervening on it.

None of this is what an audit measures. Words are exchanged for others of their family, so that
every text stays one the generator could have made; an audit deletes or masks them. Weights are
exchanged for those of another text; an audit permutes them or makes them uniform.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from heedful.attributions import explain, text_site
from heedful.benchmark.trained_texts import Corpus, Text, Word
from heedful.hashing import stable_hash
from heedful.models import probabilities
from heedful.targets import pad
from heedful.types import Batch, Model, SiteCall

DRAWS = 4
"""Exchanges of each word."""
LEARNED, DECIDES = 0.9, 0.9
"""A model whose decisions, or what turns them, are further from the grammar's does not count."""
USED, UNUSED = 0.10, 0.02
"""Mean change of the probability when a text gets the weights of another one."""
RIGHT, WRONG = 0.85, 0.35
"""Effect of the attended words' exchange, as a share of the largest possible."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Truth:
    """`learned`: decisions that are the grammar's. `decided`: decisions that turn when the words
    that decide are exchanged for their opposites. `used`: how far the output moves with the weights
    of another text. `found`: how much of the effect of the k words with the largest effects the
    k most attended words have."""

    learned: float
    decided: float
    used: float
    found: float

    @property
    def verified(self) -> bool:
        return self.learned >= LEARNED and self.decided >= DECIDES

    @property
    def answer(self) -> str:
        """Should attention be shown: `yes`, `no`, `partly`, or `unverified`."""
        if not self.verified:
            return "unverified"
        if self.used <= UNUSED or self.found <= WRONG:
            return "no"
        return "yes" if self.used >= USED and self.found >= RIGHT else "partly"

    def to_dict(self) -> dict[str, float | str]:
        return {**asdict(self), "truth": self.answer}


def verify(model: Model, corpus: Corpus, count: int = 300) -> Truth:
    """On texts of their own, which are not audited."""
    some = corpus.texts("verify", count)
    whole = outputs(model, corpus, [text.words for text in some])
    right = np.array([text.right for text in some])
    opposite = outputs(model, corpus, [_opposed(corpus, text) for text in some])
    turned = (opposite.argmax(-1) != whole.argmax(-1))[whole.argmax(-1) == right]
    return Truth(
        float((whole.argmax(-1) == right).mean()),
        float(turned.mean()) if len(turned) else 0.0,
        _used(model, corpus, some, whole),
        _found(model, corpus, some, whole),
    )


def outputs(model: Model, corpus: Corpus, texts: Sequence[Sequence[Word]]) -> Numbers:
    parts = []
    with torch.no_grad():
        for start in range(0, len(texts), 512):
            batch = _batch(corpus, texts[start : start + 512])
            parts.append(probabilities(model(batch).logits).numpy())
    return np.concatenate(parts)


def _batch(corpus: Corpus, texts: Sequence[Sequence[Word]]) -> Batch:
    ids = tuple(map(str, range(len(texts))))
    rows = pad([corpus.row(words) for words in texts])
    return Batch(ids, {"a": rows}, torch.zeros(len(texts), dtype=torch.long))


def _opposed(corpus: Corpus, text: Text) -> list[Word]:
    """Every word that decides becomes one of its family that the rule counts the other way."""
    draw = random.Random(stable_hash(corpus.seed, "opposite", text.id))
    return corpus.rule.opposed(draw, corpus.lexicon, text.words)


def _used(model: Model, corpus: Corpus, some: Sequence[Text], whole: Numbers) -> float:
    """The mean change of the output when a text gets the weights of another one, about as long."""
    site = text_site(model).name
    order = sorted(range(len(some)), key=lambda place: len(some[place].words))
    batch = _batch(corpus, [some[place].words for place in order])
    with torch.no_grad():
        weights = model(batch).weights[site].roll(1, 0)

        def exchanged(call: SiteCall) -> torch.Tensor:
            other = weights.to(call.weights) * call.mask
            total = other.sum(-1, keepdim=True)
            return torch.where(total > 0, other / total.clamp(min=1e-9), call.weights)

        after = probabilities(model(batch, {site: exchanged}).logits).numpy()
    return float((np.abs(after - whole[order]).sum(-1) / 2).mean())


def _found(model: Model, corpus: Corpus, some: Sequence[Text], whole: Numbers) -> float:
    batch = _batch(corpus, [text.words for text in some])
    label = torch.from_numpy(whole.argmax(-1))
    with torch.no_grad():
        weights = explain("attention", model, batch, label).numpy()
    shares = []
    for row, text in enumerate(some):
        effect = word_effects(model, corpus, text, whole[row])
        deciding = sum(corpus.decides(word) for word in text.words)
        if deciding and effect.sum() > 0:
            top = np.argsort(-weights[row, : len(effect)], kind="stable")[:deciding]
            shares.append(effect[top].sum() / np.sort(effect)[::-1][:deciding].sum())
    return float(np.mean(shares)) if shares else 0.0


def word_effects(model: Model, corpus: Corpus, text: Text, whole: Numbers) -> Numbers:
    """Of each word the mean change of the output when another of its family stands there: for
    one that speaks one that does not, or for the other side; for any other one as silent."""
    draw = random.Random(stable_hash(corpus.seed, "exchange", text.id))
    texts = []
    for place, word in enumerate(text.words):
        known = [other for other in corpus.lexicon[word.family] if other != word]
        others = [o for o in known if (o.sign != word.sign if word.sign else not o.sign)]
        for other in draw.choices(others, k=DRAWS):
            texts.append([*text.words[:place], other, *text.words[place + 1 :]])
    after = outputs(model, corpus, texts)
    effects: Numbers = (np.abs(after - whole).sum(-1) / 2).reshape(-1, DRAWS).mean(1)
    return effects
