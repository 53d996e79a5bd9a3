"""One text explained: a score for every word, by every explanation asked for."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import torch

from heedful.auditing.explanations import all_named, fitted, names_in
from heedful.auditing.measure import check_finite
from heedful.errors import HeedfulError, meant, unknown_name
from heedful.experiments import interactions
from heedful.models import TARGETS, probabilities
from heedful.saliency import explain as scores_of
from heedful.saliency import fit_prior
from heedful.subjects import Subject, open_subject
from heedful.types import Batch
from heedful.words import word_mask


@dataclass(frozen=True)
class Explanation:
    """Scores are NaN for words that were cut off. `interactions` are pairs of the top words
    with what they do together beyond what each does alone (leave-two-out)."""

    words: tuple[str, ...]
    predicted: str
    explained: str
    probability: float
    scores: Mapping[str, tuple[float, ...]]
    interactions: tuple[tuple[str, str, float], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "words": list(self.words),
            "predicted": self.predicted,
            "explained": self.explained,
            "probability": self.probability,
            "scores": {name: list(values) for name, values in self.scores.items()},
            "interactions": [list(each) for each in self.interactions],
        }

    def _repr_html_(self) -> str:
        """Words shaded by score: purple for, orange against."""
        return "".join(self._row(name, values) for name, values in self.scores.items())

    def _row(self, name: str, values: tuple[float, ...]) -> str:
        largest = max((abs(v) for v in values if v == v), default=0.0) or 1.0
        spans = "".join(
            f'<span style="background:{_shade(value / largest)};padding:0 .15em">'
            f"{html.escape(word)}</span> "
            for word, value in zip(self.words, values, strict=True)
        )
        return f"<div><small>{html.escape(name)}</small><br>{spans}</div>"


def explain(
    model: Any,
    text: str,
    text_b: str | None = None,
    explanations: str | tuple[str, ...] = ("attention", "integrated_gradients"),
    target: str = "probability",
    of: str | None = None,
    pairs: int = 0,
    **options: Any,
) -> Explanation:
    """`of` is the class to explain by name; the predicted one if it is left out. `pairs` of
    the top words of the first explanation are taken out together, to see them interact."""
    if target not in TARGETS:
        raise unknown_name("target", target, list(TARGETS))
    if pairs < 0 or pairs == 1:
        raise HeedfulError(f"pairs is {pairs}: give 2 or more words, or 0.")
    names = names_in(explanations) if isinstance(explanations, str) else explanations
    wanted = all_named(names)
    pair = {} if text_b is None else {"text_b": text_b}
    options = {**options, "label_column": None, "n": None}
    if text_b is not None:
        options["text_b_column"] = "text_b"
    with open_subject(model, [{"text": text, **pair}], **options) as subject:
        batch = subject.encode([0])
        with torch.no_grad():
            p = probabilities(subject.model(batch).logits)
        check_finite(p, batch.ids)
        predicted = p.argmax(-1)
        label = torch.full_like(predicted, _class(subject.label_names, of, int(predicted[0])))
        prior = fit_prior([batch])
        there = word_mask(batch.texts["a"])[0]
        found: dict[str, tuple[float, ...]] = {}
        first: torch.Tensor | None = None
        for each in (fitted(one, prior) for one in wanted):
            work = (each.piece, subject.model, batch, label, TARGETS[target])
            scores = scores_of(*work, **each.params)
            first = scores if first is None else first
            shown = scores[0].masked_fill(~there, torch.nan).tolist()
            found[each.name] = tuple(_padded(shown, len(subject.documents[0].surface)))
        return Explanation(
            subject.documents[0].surface,
            _name(subject.label_names, int(predicted[0])),
            _name(subject.label_names, int(label[0])),
            float(p[0, int(label[0])]),
            found,
            _together(subject, batch, label, first, target, pairs),
        )


def _together(
    subject: Subject,
    batch: Batch,
    label: torch.Tensor,
    scores: torch.Tensor | None,
    target: str,
    top: int,
) -> tuple[tuple[str, str, float], ...]:
    """The strongest first."""
    if not top or scores is None:
        return ()
    found = interactions(subject.model, batch, label, scores.abs(), TARGETS[target], top)
    words, surface = found.words[0].tolist(), subject.documents[0].surface
    pairs = [
        (surface[words[i]], surface[words[j]], float(found.values[0, i, j]))
        for i, j in combinations(range(len(words)), 2)
        if words[i] >= 0 and words[j] >= 0
    ]
    return tuple(sorted(pairs, key=lambda pair: -abs(pair[2])))


def _class(names: tuple[str, ...], of: str | None, predicted: int) -> int:
    if of is None:
        return predicted
    if of not in names:
        shown = list(names)[:20]
        listed = ", ".join(shown)
        wrong = f"the model has no class {of!r}{meant(of, shown)}"
        raise HeedfulError(f"{wrong}: choose one of {listed}.")
    return names.index(of)


def _name(names: tuple[str, ...], index: int) -> str:
    return names[index] if index < len(names) else str(index)


def _padded(scores: list[float], length: int) -> list[float]:
    return scores[:length] + [float("nan")] * (length - len(scores))


def _shade(share: float) -> str:
    if share != share:
        return "transparent"
    color = "141,108,196" if share >= 0 else "210,120,26"
    return f"rgba({color},{min(1.0, abs(share)):.2f})"
