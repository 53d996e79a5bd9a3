"""A model that is served: its facts, and the texts it has just seen."""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any

from heedful.errors import HeedfulError
from heedful.saliency import SALIENCIES
from heedful.subjects import Asked, Document
from heedful.web.failures import NotThere
from heedful.web.live.limits import Limits
from heedful.web.live.predicting import explained
from heedful.web.live.seen import Seen, Sight, see

MOST_LABELS = 50
_TRYING = 4.0  # seconds, in which explanations are tried before the page is served
_SLOW = ("lime", "kernel_shap")  # as many passes for one text as for a thousand


class Opened:
    """Its methods are called by one thread at a time."""

    def __init__(self, asked: Asked, limits: Limits = Limits()) -> None:
        self.asked, self.limits = asked, limits
        self._see = lru_cache(maxsize=16)(self._see_anew)

    def see(self, text: str, text_b: str | None) -> Seen:
        """The same text is not run twice in a row: dragging asks again and again."""
        text_b = text_b or None
        self.limits.check_text(text, "text")
        if text_b is not None:
            self.limits.check_text(text_b, "second text")
        return self._see(text, text_b)

    def _see_anew(self, text: str, text_b: str | None) -> Seen:
        subject = self.asked.about(text, text_b)
        self.limits.check_words(subject.documents[0].length)
        return see(subject)

    def first(self) -> Seen:
        return see(self.asked.subject)

    def facts(self) -> dict[str, Any]:
        """What does not depend on a text, found with a first one."""
        subject, first = self.asked.subject, self.first()
        names = subject.label_names
        return {
            "name": self.asked.name,
            "family": subject.family,
            "device": subject.device,
            "labels": list(names) if len(names) <= MOST_LABELS else [],
            "of_labels": len(names),
            "pairs": self.asked.pairs,
            "sites": [_site(each) for each in first.sights.values()],
            "main": _main(first),
            "explanations": fitting(first),
            "examples": [_example(document) for document in subject.documents],
            "notes": list(subject.notes),
        }


def sight_of(seen: Seen, site: str, head: int | None) -> Sight:
    if site not in seen.sights:
        raise NotThere(f"there is no site {site[:80]!r}: choose one of those /api/model lists.")
    each = seen.sights[site]
    if head is not None and head >= each.heads:
        raise NotThere(f"there is no head {head}: {site!r} has heads 0 to {each.heads - 1}.")
    return each


def fitting(seen: Seen) -> list[dict[str, Any]]:
    """Every explanation, with the reason where it does not fit this model. What takes long is
    not tried before somebody asks."""
    until = time.monotonic() + _TRYING
    found = []
    for name in SALIENCIES:
        tried = name not in _SLOW and time.monotonic() < until
        reason = explained(seen, name)["reason"] if tried else None
        found.append({"name": name, "reason": reason, "about": _about(name)})
    return found


def _about(name: str) -> str:
    """A package whose piece cannot be loaded costs that piece, not the page."""
    try:
        return SALIENCIES[name].description
    except HeedfulError as error:
        return str(error)


def _site(each: Sight) -> dict[str, Any]:
    spec = each.site
    return {
        "name": spec.name,
        "heads": each.heads,
        "units": each.units.kind,
        "linear": spec.linear,
        "main": spec.main,
        "normalised": spec.normalised,
    }


def _main(seen: Seen) -> str:
    """The last site over the words, else the last: what a reader would be shown."""
    words = [name for name, each in seen.sights.items() if each.units.kind == "words"]
    if not seen.sights:
        raise HeedfulError("this model has no attention: give one that has some.")
    return (words or list(seen.sights))[-1]


def _example(document: Document) -> dict[str, str | None]:
    return {"text": document.texts["a"], "text_b": document.texts.get("b")}
