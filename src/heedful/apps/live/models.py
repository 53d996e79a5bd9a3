"""A model that is served: its facts, its last texts, and its answers about one of them."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch

from heedful.apps.live.editing import has_furthest
from heedful.apps.live.seen import Seen, Sight, answer, see
from heedful.attributions import SALIENCIES, explain, fit_prior
from heedful.auditing import answer_tokens, fitted, look, named, token_scores
from heedful.errors import HeedfulError
from heedful.models import TARGETS
from heedful.report import head_data
from heedful.targets import Asked, Document, one_text
from heedful.units import DOCUMENT, by_unit
from heedful.words import word_mask

MOST_LABELS = 50
_TRYING = 4.0  # seconds, in which explanations are tried before the page is served
_SLOW = ("lime", "kernel_shap", "contextcite")  # as many passes for one text as for a thousand


class NotThere(HeedfulError):
    """A model, a site or a head that does not exist."""


@dataclass(frozen=True)
class Limits:
    """Limits of a request: characters and words of a text, explanations at once, and the largest
    `number` that one of their parameters may be, such as LIME's samples. At most `waiting` calls
    wait for the model, and an answer takes at most `seconds`, waiting included."""

    characters: int = 40_000
    words: int = 512
    explanations: int = 6
    number: int = 1000
    waiting: int = 8
    seconds: float = 30.0

    def check_text(self, text: str, name: str) -> None:
        if not text.strip():
            raise HeedfulError(f"the {name} is empty: write at least one word.")
        if len(text) > self.characters:
            raise HeedfulError(
                f"the {name} has {len(text)} characters: at most {self.characters} are read."
            )
        if any("\ud800" <= c <= "\udfff" for c in text):
            raise HeedfulError(f"the {name} holds half of a character: write it again.")

    def check_documents(self, texts: Sequence[str]) -> None:
        """Of a list; together they may be as long as one text."""
        for place, text in enumerate(texts, 1):
            self.check_text(text, f"document {place}")
        self.check_text(" ".join(texts), "list of documents")

    def check_words(self, words: int, unit: str) -> None:
        if words > self.words:
            sentence = f"the text has {words} words: at most {self.words} are read here."
            raise HeedfulError(by_unit(sentence, unit))

    def check_params(self, explanation: str, params: Mapping[str, Any]) -> None:
        """One call with a million model runs would block all others."""
        for name, value in params.items():
            if name != "seed" and isinstance(value, int) and abs(value) > self.number:
                raise HeedfulError(
                    f"the parameter {name!r} of {explanation!r} is too large: at most "
                    f"{self.number} is served here."
                )


class Opened:
    """Its methods are called by one thread at a time."""

    def __init__(self, asked: Asked, limits: Limits = Limits()) -> None:
        self.asked, self.limits = asked, limits
        self._see = lru_cache(maxsize=16)(self._see_anew)

    def see(self, text: str | Sequence[str], text_b: str | None) -> Seen:
        """Cached, since dragging a weight asks for the same text again and again. A list is one of
        documents."""
        if isinstance(text, str):
            self.limits.check_text(text, "text")
        else:
            self.limits.check_documents(text)
        if text_b:
            self.limits.check_text(text_b, "second text")
        return self._see(text if isinstance(text, str) else tuple(text), text_b or None)

    def _see_anew(self, text: str | tuple[str, ...], text_b: str | None) -> Seen:
        subject = self.asked.about(text, text_b)
        self.limits.check_words(subject.documents[0].length, subject.unit)
        return see(subject)

    def facts(self) -> dict[str, Any]:
        """What does not depend on the text, measured on a first one."""
        subject, first = self.asked.subject, see(self.asked.subject)
        names = subject.label_names
        return {
            "name": self.asked.name,
            "family": subject.family,
            "device": subject.device,
            "labels": list(names) if len(names) <= MOST_LABELS else [],
            "of_labels": len(names),
            "pairs": self.asked.pairs,
            "unit": subject.unit,
            "sites": [
                {
                    "name": each.site.name,
                    "heads": each.heads,
                    "units": each.units.kind,
                    "linear": each.site.linear,
                    "main": each.site.main,
                    "normalised": each.site.normalised,
                }
                for each in first.sights.values()
            ],
            "main": _main(first),
            "explanations": fitting(first),
            "examples": [
                {"text": _text(document, subject.unit), "text_b": document.texts.get("b")}
                for document in subject.documents
            ],
            "notes": list(subject.notes),
        }


def _text(document: Document, unit: str) -> str | list[str]:
    """As it is asked for again."""
    whole = document.texts["a"]
    if unit != DOCUMENT:
        return whole
    return [whole[start:end] for start, end in document.words["a"]]


def sight_of(seen: Seen, site: str, head: int | None) -> Sight:
    if site not in seen.sights:
        raise NotThere(f"there is no site {site[:80]!r}: choose one of those /api/model lists.")
    each = seen.sights[site]
    if head is not None and head >= each.heads:
        raise NotThere(f"there is no head {head}: {site!r} has heads 0 to {each.heads - 1}.")
    return each


def fitting(seen: Seen) -> list[dict[str, Any]]:
    """Every explanation, with the reason where it does not fit this model. Slow ones are not
    tried before somebody asks for them."""
    until = time.monotonic() + _TRYING
    found = []
    for name in SALIENCIES:
        tried = name not in _SLOW and time.monotonic() < until
        reason = explained(seen, name)["reason"] if tried else None
        about = by_unit(_about(name), seen.subject.unit)
        found.append({"name": name, "reason": reason, "about": about})
    return found


def _about(name: str) -> str:
    """A plugin that cannot be loaded must not break the page."""
    try:
        return SALIENCIES[name].description
    except HeedfulError as error:
        return str(error)


def _main(seen: Seen) -> str:
    """The site a reader would be shown: the last over words, else the last of all."""
    words = [name for name, each in seen.sights.items() if each.units.kind == "words"]
    if not seen.sights:
        raise HeedfulError("this model has no attention: give one that has some.")
    return (words or list(seen.sights))[-1]


def predict(seen: Seen, explanations: Sequence[str]) -> dict[str, Any]:
    return {
        "words": _words(seen),
        **answer(seen),
        "tokens": list(answer_tokens(seen.subject)),
        "sites": [_site(seen, each) for each in seen.sights.values()],
        "explanations": {name: explained(seen, name) for name in explanations},
        "notes": list(seen.subject.notes),
    }


def by_token(seen: Seen, name: str) -> dict[str, Any]:
    """Scores of the words for each token of the answer, and for all of it; or why there are
    none."""
    found = explained(seen, name)
    rows: list[list[float | None]] | None = None
    if found["scores"] is not None:
        each = fitted(named(name), fit_prior([seen.batch]))
        tables = token_scores(seen.subject, 0, each, "probability")
        rows = [[None if math.isnan(score) else score for score in row] for row in tables]
    return {
        "tokens": list(answer_tokens(seen.subject)),
        "whole": found["scores"],
        "scores": rows,
        "reason": found["reason"],
    }


def heads(seen: Seen) -> dict[str, Any]:
    """For the head view."""
    return head_data(look(one_text(seen.subject)).as_parts())


def params_of(explanations: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Of explanations that exist; for others the reason is beside the prediction."""
    for text in explanations:
        try:
            each = named(text)
        except (HeedfulError, ImportError):
            continue
        yield each.piece.name, each.params


def explained(seen: Seen, name: str) -> dict[str, Any]:
    """Scores for the class that is explained, null for truncated words; or why there are none."""
    try:
        each = fitted(named(name), fit_prior([seen.batch]))
        label = torch.tensor([seen.explained(seen.p)], device=seen.p.device)
        work = (each.piece, seen.subject.model, seen.batch, label, TARGETS["probability"])
        scores = explain(*work, **each.params)[0]
    except (HeedfulError, ImportError) as error:
        return {"scores": None, "reason": str(error), "signed": False}
    there = word_mask(seen.batch.texts["a"])[0].tolist()
    found = [float(score) if here else None for score, here in zip(scores, there, strict=True)]
    missing = seen.subject.documents[0].length - len(found)
    return {"scores": found + [None] * missing, "reason": None, "signed": each.piece.signed}


def _words(seen: Seen) -> list[dict[str, Any]]:
    """Each with its side, whether the model read it, and whether it is asked about."""
    document = seen.subject.documents[0]
    there = word_mask(seen.batch.texts["a"])[0].tolist()
    sides = [side for side, spans in document.words.items() for _ in spans]
    return [
        {
            "text": word,
            "side": side,
            "read": place < len(there) and there[place],
            "asked": place in document.about,
        }
        for place, (word, side) in enumerate(zip(document.surface, sides, strict=True))
    ]


def _site(seen: Seen, each: Sight) -> dict[str, Any]:
    rows = each.units.total(each.rows)
    return {
        "name": each.site.name,
        "heads": each.heads,
        "units": each.units.kind,
        "labels": list(each.units.labels),
        "words": list(each.units.words),
        "weights": rows.tolist(),
        "mean": torch.mean(rows, 0).tolist(),
        "queries": len(each.readers),
        "reading": int(each.reading.sum()),
        "furthest": has_furthest(seen, each),
    }
