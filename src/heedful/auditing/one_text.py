"""One text explained: a score for every word, by every explanation asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import combinations
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from heedful.attributions import SALIENCIES, fit_prior
from heedful.auditing.answer_tokens import Rows, answer_tokens, token_scores, word_scores
from heedful.auditing.explanation import (
    Decisions,
    Named,
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
from heedful.report import PAGE_FILE, explanation_bundle, explanation_page
from heedful.store import check_file, refusals, write_file
from heedful.targets import AuditTarget, Loading, Reading, open_target
from heedful.types import Keep
from heedful.units import DOCUMENT, WORD

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
    """Scores are NaN for words that were cut off, and for those that the prediction is `about` (by
    number). `interactions` are pairs of the top words
    with what they do together beyond what each does alone (leave-two-out). The words are those of
    the `unit`: maybe sentences. `answer` is what a model that writes is asked about; its
    probability is explained, whether or not it is predicted. `by_token` has, for each explanation,
    a list of scores for each of the answer's `tokens`."""

    words: tuple[str, ...]
    predicted: str
    explained: str
    probability: float
    scores: Mapping[str, tuple[float, ...]]
    interactions: tuple[tuple[str, str, float], ...] = ()
    unit: str = WORD
    answer: str | None = None
    tokens: tuple[str, ...] = ()
    by_token: Mapping[str, tuple[tuple[float, ...], ...]] = field(default_factory=dict)
    about: tuple[int, ...] = ()

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
            **({"about": list(self.about)} if self.about else {}),
            **({"tokens": list(self.tokens), "by_token": self._tables()} if self.tokens else {}),
        }

    def _tables(self) -> dict[str, list[list[float]]]:
        return {name: [list(row) for row in rows] for name, rows in self.by_token.items()}

    @property
    def headline(self) -> str:
        """The answer that is asked about, or else the prediction."""
        if self.answer is None:
            about = " ".join(self.words[place] for place in self.about)
            return f"predicted: {self.predicted}" + (f" for {about}" if about else "")
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

    def to_html(self, path: str | Path) -> Path:
        """One page that opens without a network."""
        out = Path(path)
        check_file(out, PAGE_FILE)
        with refusals(f"write the page to {out}", "make room or give another place"):
            write_file(out, explanation_page(self.to_dict()))
        return out

    def show(self) -> Path | None:
        """In a notebook right here; elsewhere in a browser: then the path of the page."""
        publish = notebook()
        if publish is None:
            return open_page(explanation_page(self.to_dict()))
        publish(self._repr_mimebundle_())
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
    by_token: bool = False,
    **options: Any,
) -> Explanation:
    """A score for every word of a text, or another `unit`, by several explanations.

    `model` is what `heedful.audit` takes. A list of texts is one of documents, each of which is a
    unit if no other is named. `text_b` is the second text of a pair. `explanations` are names: a
    list, or one text with commas. `target` is what is explained: probability, logit, loss, or
    contrast, which is the class's logit less that of the strongest other class. `of` is a class by
    name (left out: the predicted one). `pairs` of the top words of the first explanation are taken
    out together, to see them interact. `by_token` also explains each token of an answer by
    itself."""
    if target not in TARGETS:
        raise unknown_name("target", target, list(TARGETS))
    if pairs < 0 or pairs == 1:
        raise HeedfulError(f"pairs is {pairs}: give 2 or more words, or 0.")
    _check_second(text_b)
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
            logits = subject.model(batch, keep=Keep(weights=False)).logits
        p, predicted = probabilities(logits), explained_class(logits, batch)
        names = subject.names_of(0)
        check_finite(p, batch.ids)
        label = torch.full_like(predicted, _class(names, of, int(predicted[0])))
        prior, work = fit_prior([batch]), Decisions(subject.model, batch, label)
        chosen = [fitted(one, prior) for one in wanted]
        maps = {one.name: explanation(work, one, target) for one in chosen}
        surface = subject.documents[0].surface
        shown = {name: word_scores(each, batch, len(surface))[0] for name, each in maps.items()}
        tokens, tables = _each_token(subject, chosen, target) if by_token else ((), {})
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
            tokens,
            tables,
            subject.documents[0].about,
        )


def _check_second(text_b: str | None) -> None:
    """Names of explanations are not taken for the second text of a pair."""
    words = [word.strip().partition(":")[0] for word in (text_b or "").split(",")]
    if all(word in SALIENCIES for word in words):
        raise HeedfulError(
            f"the second text is {text_b!r}, which names explanations: write "
            f"explanations={text_b!r}."
        )


def _each_token(
    subject: AuditTarget, chosen: Sequence[Named], target: str
) -> tuple[tuple[str, ...], dict[str, Rows]]:
    """The tokens of the answer, and by explanation the scores of the words for each of them."""
    tokens = answer_tokens(subject)
    if not tokens:
        raise HeedfulError(
            "there is no answer to explain by its tokens: give one (--answer), let the model write "
            "one (--generate), or leave --by-token out."
        )
    return tokens, {one.name: token_scores(subject, 0, one, target) for one in chosen}


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
