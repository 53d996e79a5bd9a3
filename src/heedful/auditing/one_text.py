"""One text explained: a score for every word, by every explanation asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from heedful.attributions import fit_prior
from heedful.auditing.explanation import (
    Decisions,
    all_named,
    check_finite,
    explanation,
    fitted,
    names_in,
)
from heedful.auditing.options import Running
from heedful.auditing.view import open_page
from heedful.errors import HeedfulError, meant, unknown_name
from heedful.experiments import interactions
from heedful.keywords import taken, takes
from heedful.models import TARGETS, explained_class, probabilities
from heedful.perturbations import WordRemoval
from heedful.progress import notebook
from heedful.report import explanation_bundle, standalone
from heedful.targets import Loading, Reading, open_target
from heedful.units import DOCUMENT, WORD
from heedful.words import word_mask

HEAVIEST = 5
"""Words of an explanation that are written out."""
USUAL = ("attention", "gradient_input", "integrated_gradients", "occlusion")
"""Explanations of a text, where none are named."""
ONE_TEXT = (
    *(each.name for each in fields(Loading)),
    *("seed", "store", "words", "unit", "separator", "threads"),
)
"""What may be said of a model and of one text."""


@dataclass(frozen=True, repr=False)
class Explanation:
    """Scores are NaN for words that were cut off. `interactions` are pairs of the top words
    with what they do together beyond what each does alone (leave-two-out). The words are those of
    the `unit`: maybe sentences. `answer` is what a model that writes is asked about; its
    probability is explained, whether or not it is predicted."""

    words: tuple[str, ...]
    predicted: str
    explained: str
    probability: float
    scores: Mapping[str, tuple[float, ...]]
    interactions: tuple[tuple[str, str, float], ...] = ()
    unit: str = WORD
    answer: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "words": list(self.words),
            "predicted": self.predicted,
            "explained": self.explained,
            "probability": self.probability,
            "scores": {name: list(values) for name, values in self.scores.items()},
            "interactions": [list(each) for each in self.interactions],
            "unit": self.unit,
            **({} if self.answer is None else {"answer": self.answer}),
        }

    @property
    def headline(self) -> str:
        """The answer that is asked about, or else the prediction."""
        if self.answer is None:
            return f"predicted: {self.predicted}"
        return f"answer: {self.answer.strip()}"

    def __repr__(self) -> str:
        what = self.headline.replace(":", "", 1)
        return f"<Explanation of {len(self.words)} {self.unit}s: {what}>"

    def __str__(self) -> str:
        """The prediction, and the heaviest words of every explanation."""
        lines = [self.headline]
        lines.append(f"explained: {self.explained} (probability {self.probability:.3f})")
        for name, scores in self.scores.items():
            known = [place for place, score in enumerate(scores) if score == score]
            first = sorted(known, key=lambda place: -abs(scores[place]))[:HEAVIEST]
            lines.append(
                f"{name}: "
                + ", ".join(f"{' '.join(self.words[i].split())} {scores[i]:+.3f}" for i in first)
            )
        return "\n".join(lines)

    def show(self) -> Path | None:
        """In a notebook right here; elsewhere in a browser: then the path of the page."""
        publish, bundle = notebook(), self._repr_mimebundle_()
        if publish is None:
            return open_page(standalone(bundle["text/html"], f"Explained: {self.predicted}"))
        publish(bundle)
        return None

    def _repr_html_(self) -> str:
        return self._repr_mimebundle_()["text/html"]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """What a notebook shows: the words as the page shows them, and a still picture."""
        return explanation_bundle(self.to_dict(), str(self))


@takes(Loading, Reading, Running, only=ONE_TEXT)
def explain(
    model: Any,
    text: str | Sequence[str],
    text_b: str | None = None,
    explanations: str | Sequence[str] = USUAL,
    target: str = "probability",
    of: str | None = None,
    pairs: int = 0,
    **options: Any,
) -> Explanation:
    """A score for every word of a text, or another `unit`, by several explanations.

    `model` is what `heedful.audit` takes. A list of texts is one of documents, each of which is a
    unit if no other is named. `text_b` is the second text of a pair. `explanations` are names: a
    list, or one text with commas. `target` is what is explained: probability, logit, loss, or
    contrast, which is the class's logit less that of the strongest other class. `of` is a class by
    name (left out: the predicted one). `pairs` of the top words of the
    first explanation are taken out together, to see them interact."""
    if target not in TARGETS:
        raise unknown_name("target", target, list(TARGETS))
    if pairs < 0 or pairs == 1:
        raise HeedfulError(f"pairs is {pairs}: give 2 or more words, or 0.")
    names = names_in(explanations) if isinstance(explanations, str) else explanations
    wanted = all_named(names)
    pair = {} if text_b is None else {"text_b": text_b}
    running = taken(Running, options)
    given: Any = text
    if not isinstance(text, str):
        given, options = list(text), {"unit": DOCUMENT, **options}
    options |= {"label_column": None}
    if text_b is not None:
        options["text_b_column"] = "text_b"
    with running.limited(), open_target(model, [{"text": given, **pair}], **options) as subject:
        batch = subject.encode([0])
        with torch.no_grad():
            logits = subject.model(batch).logits
        p, predicted = probabilities(logits), explained_class(logits, batch)
        names = subject.names_of(0)
        check_finite(p, batch.ids)
        label = torch.full_like(predicted, _class(names, of, int(predicted[0])))
        prior, work = fit_prior([batch]), Decisions(subject.model, batch, label)
        maps = {one.name: explanation(work, fitted(one, prior), target) for one in wanted}
        surface, missing = subject.documents[0].surface, ~word_mask(batch.texts["a"])[0]
        shown: dict[str, tuple[float, ...]] = {}
        for name, scores in maps.items():
            values = scores[0].masked_fill(missing, torch.nan).tolist()[: len(surface)]
            shown[name] = (*values, *[float("nan")] * (len(surface) - len(values)))
        together: tuple[tuple[str, str, float], ...] = ()
        if pairs and maps:
            removal = WordRemoval(subject.model, batch, label, "mask", TARGETS[target])
            together = _together(removal, maps[wanted[0].name], pairs, surface)
        return Explanation(
            surface,
            _name(names, int(predicted[0])),
            _name(names, int(label[0])),
            float(p[0, int(label[0])]),
            shown,
            together,
            subject.unit,
            subject.documents[0].answer,
        )


def _together(
    removal: WordRemoval, scores: Tensor, top: int, surface: tuple[str, ...]
) -> tuple[tuple[str, str, float], ...]:
    """Pairs of the top words, and what they do together; the strongest first."""
    found = interactions(removal, scores.abs(), top)
    words = found.words[0].tolist()
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
        wrong = f"the model has no class {of!r}{meant(of, shown)}"
        raise HeedfulError(f"{wrong}: choose one of {', '.join(shown)}.")
    return names.index(of)


def _name(names: tuple[str, ...], index: int) -> str:
    return names[index] if index < len(names) else str(index)
