"""A text as a model sees it: what it predicts, and how much each site looks at each unit.

Units are what a person moves at a site: words, sentences, or else positions. A word may be several
tokens; tokens of no word are one unit together. The weight of a word is the sum over
its tokens; a new weight is split among them in the proportions the model gave them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.attributions import readout_rows
from heedful.auditing import check_finite
from heedful.metrics import tvd
from heedful.models import probabilities
from heedful.targets import AuditTarget, Document
from heedful.types import Batch, Keep, SiteSpec, Text, TokenLogits, Trace
from heedful.units import TOKEN, by_unit
from heedful.words import word_numbers

WORDS, SENTENCES, POSITIONS = "words", "sentences", "positions"
OUTSIDE = "tokens of no word"
_LONGEST_LABEL = 80
MOST_CLASSES = 10


@dataclass(frozen=True)
class Sight:
    """One site. `rows` are each head's weights as the prediction is read from them, by key;
    `readers` how much each query counts for it."""

    site: SiteSpec
    rows: Float[Tensor, "h k"]
    readers: Float[Tensor, " q"]
    units: Units

    @property
    def heads(self) -> int:
        return len(self.rows)

    @property
    def reading(self) -> Bool[Tensor, " q"]:
        return self.readers > 0

    def shown(self, head: int | None = None) -> Float[Tensor, " u"]:
        """The weights of units: those of a head, or the mean over heads."""
        return self.units.total(self.rows.mean(0) if head is None else self.rows[head])


@dataclass(frozen=True)
class Seen:
    """One text. Only small parts of the trace are kept, so that many texts fit in memory."""

    subject: AuditTarget
    batch: Batch
    logits: Float[Tensor, " c"]
    sights: Mapping[str, Sight]
    token_logits: Mapping[str, TokenLogits]

    @property
    def p(self) -> Float[Tensor, " c"]:
        return probabilities(self.logits)

    def explained(self, p: Float[Tensor, " c"]) -> int:
        """The class that is explained, by the probabilities of all."""
        asked = self.batch.asked
        return int(p.argmax() if asked is None else asked[0])

    @property
    def names(self) -> tuple[str, ...]:
        return self.subject.names_of(0)


def see(subject: AuditTarget) -> Seen:
    """The first of the subject's texts."""
    batch = subject.encode([0])
    linear = any(site.linear for site in subject.model.sites)
    with torch.no_grad():
        trace = subject.model(batch, keep=Keep(readout_weights=True, token_logits=linear))
    check_finite(probabilities(trace.logits), batch.ids)
    sights = {site.name: sight(site, trace, batch, subject) for site in subject.model.sites}
    return Seen(subject, batch, trace.logits[0], sights, trace.token_logits)


def sight(site: SiteSpec, trace: Trace, batch: Batch, subject: AuditTarget) -> Sight:
    weights = trace.weights[site.name]
    mask = trace.masks[site.name].expand_as(weights)
    readers = _readers(trace, site)
    readable = (mask & (readers > 0)[:, None, :, None]).any(2).any(1)[0]
    units = units_of(site, readable, batch.texts["a"], subject.documents[0], subject.unit)
    return Sight(site, readout_rows(weights, readers)[0], readers[0], units)


def _readers(trace: Trace, site: SiteSpec) -> Float[Tensor, "b q"]:
    """Uniform over queries where it is not known which are read."""
    if site.name in trace.readout_weights:
        return trace.readout_weights[site.name].double()
    queries = trace.weights[site.name].shape[2]
    return trace.weights[site.name].new_full((1, queries), 1 / queries).double()


@dataclass(frozen=True)
class Units:
    """`of_key` is the unit of each key, −1 for keys that cannot be attended; `words` the number
    of each unit's word, −1 where it has none. `name` is what people call them: words may be longer
    units, which the kind does not tell."""

    kind: str
    name: str
    labels: tuple[str, ...]
    words: tuple[int, ...]
    of_key: Int[Tensor, " k"]

    def __len__(self) -> int:
        return len(self.labels)

    def total(self, keys: Float[Tensor, "*n k"]) -> Float[Tensor, "*n u"]:
        """The sum over each unit's keys, float64."""
        return keys.double() @ self.members

    @property
    def members(self) -> Float[Tensor, "k u"]:
        numbers = torch.arange(len(self), device=self.of_key.device)
        return (self.of_key[:, None] == numbers).double()


def units_of(
    site: SiteSpec, readable: Bool[Tensor, " k"], text: Text, document: Document, unit: str
) -> Units:
    """`readable` are the keys that may be attended; the text is the only one of its batch."""
    if site.level == "sentences":
        names = _sentences(text, document, len(readable))
        return _each(SENTENCES, readable, names)
    if site.keys == "a" and len(readable) == text.tokens.shape[1]:
        return _words(readable, word_numbers(text)[0], document, unit)
    names = [f"position {place + 1}" for place in range(len(readable))]
    return _each(POSITIONS, readable, names)


def spread(
    shown: Float[Tensor, " u"],
    units: Units,
    learned: Float[Tensor, "b h q k"],
    mask: Bool[Tensor, "b h q k"],
    normalised: bool,
) -> Float[Tensor, "b h q k"]:
    """Every row with these weights of units, in float64: masked, then normalised to a sum of 1
    again. A row that is left with nothing stays as it was."""
    own, there = learned.double() * mask, mask.double()
    total, count = units.total(own), units.total(there)
    place = units.of_key.clamp_min(0)
    of_unit, of_count = total[..., place], count[..., place].clamp_min(1)
    share = torch.where(of_unit > 0, own / of_unit.clamp_min(1e-300), there / of_count)
    rows = shown.double()[place] * share * there * (units.of_key >= 0)
    if not normalised:
        return rows
    left = rows.sum(-1, keepdim=True)
    return torch.where(left > 0, rows / left.clamp_min(1e-300), learned.double())


def _words(readable: Tensor, numbers: Tensor, document: Document, unit: str) -> Units:
    """Words in their order, then all other keys that may be attended as one unit."""
    of_word = torch.where(readable, numbers, -1)
    known = sorted(set(of_word.tolist()) - {-1})
    place_of = {number: place for place, number in enumerate(known)}
    outside = bool((readable & (numbers < 0)).any())
    spare = len(known) if outside else -1
    places = [
        place_of.get(number, spare if there else -1)
        for number, there in zip(of_word.tolist(), readable.tolist(), strict=True)
    ]
    labels = [document.surface[number] for number in known]
    return Units(
        WORDS,
        by_unit(WORDS, unit),
        (*labels, *([_outside(unit)] if outside else [])),
        (*known, *([-1] if outside else [])),
        torch.tensor(places, device=readable.device),
    )


def _outside(unit: str) -> str:
    return "other tokens" if unit == TOKEN else by_unit(OUTSIDE, unit)


def _each(kind: str, readable: Tensor, names: list[str]) -> Units:
    """Every key that may be attended is a unit."""
    labels = tuple(name for name, there in zip(names, readable.tolist(), strict=True) if there)
    places = torch.where(readable, readable.long().cumsum(0) - 1, -1)
    return Units(kind, kind, labels, (-1,) * len(labels), places)


def _sentences(text: Text, document: Document, count: int) -> list[str]:
    """Each sentence as it stands in the text."""
    if text.sentences is None:
        return [f"sentence {number + 1}" for number in range(count)]
    spans = document.words["a"]
    numbers, sentences = word_numbers(text)[0], text.sentences[0]
    names = []
    for sentence in range(count):
        words = numbers[(sentences == sentence) & (numbers >= 0)].tolist()
        whole = document.texts["a"][spans[words[0]][0] : spans[words[-1]][1]] if words else ""
        names.append(whole if len(whole) <= _LONGEST_LABEL else f"{whole[: _LONGEST_LABEL - 1]}…")
    return names


def answer(seen: Seen, after: Float[Tensor, " c"] | None = None) -> dict[str, Any]:
    """The likeliest classes, now or before, in the model's order; `moved` is the total variation
    distance between the two. An answer that is asked about stands in the prediction's place."""
    names, was = seen.names, seen.p
    p = was if after is None else after
    top = torch.maximum(p, was).topk(min(MOST_CLASSES, len(p))).indices.sort().values.tolist()
    classes = [
        {"name": name_of(names, i), "probability": float(p[i]), "before": float(was[i])}
        for i in top
    ]
    return {
        "predicted": name_of(names, seen.explained(p)),
        "predicted_before": name_of(names, seen.explained(was)),
        "answer": seen.subject.documents[0].answer,
        "classes": classes,
        "of_classes": len(p),
        "moved": float(tvd(p[None], was[None])[0]),
    }


def name_of(names: tuple[str, ...], index: int) -> str:
    return names[index] if index < len(names) else str(index)
