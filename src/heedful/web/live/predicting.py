"""A text, its prediction, the weights of every site and head, and explanations beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from heedful.auditing import fitted, named
from heedful.errors import HeedfulError
from heedful.models import TARGETS
from heedful.saliency import explain, fit_prior
from heedful.web.live.answers import answer
from heedful.web.live.presets import has_furthest
from heedful.web.live.seen import Seen, Sight
from heedful.words import word_mask


def predict(seen: Seen, explanations: Sequence[str]) -> dict[str, Any]:
    names = seen.subject.label_names
    return {
        "words": _words(seen),
        **answer(names, seen.p),
        "sites": [_site(seen, each) for each in seen.sights.values()],
        "explanations": {name: explained(seen, name) for name in explanations},
        "notes": list(seen.subject.notes),
    }


def params_of(explanations: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Of those that there are; why others are none is told beside the prediction."""
    for text in explanations:
        try:
            each = named(text)
        except (HeedfulError, ImportError):
            continue
        yield each.piece.name, each.params


def explained(seen: Seen, name: str) -> dict[str, Any]:
    """Scores for the predicted class, null for words that were cut off; or why there are none."""
    try:
        each = fitted(named(name), fit_prior([seen.batch]))
        label = seen.p.argmax(-1)[None]
        work = (each.piece, seen.subject.model, seen.batch, label, TARGETS["probability"])
        scores = explain(*work, **each.params)[0]
    except (HeedfulError, ImportError) as error:
        return {"scores": None, "reason": str(error), "signed": False}
    there = word_mask(seen.batch.texts["a"])[0].tolist()
    found = [float(score) if here else None for score, here in zip(scores, there, strict=True)]
    missing = seen.subject.documents[0].length - len(found)
    return {"scores": found + [None] * missing, "reason": None, "signed": each.piece.signed}


def _words(seen: Seen) -> list[dict[str, Any]]:
    """With the side each stands on, and whether the model saw it at all."""
    document = seen.subject.documents[0]
    there = word_mask(seen.batch.texts["a"])[0].tolist()
    sides = [side for side, spans in document.words.items() for _ in spans]
    return [
        {"text": word, "side": side, "read": place < len(there) and there[place]}
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
