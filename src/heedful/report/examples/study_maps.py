"""Which maps of a study are shown, in which order, and what they are called."""

from __future__ import annotations

from collections.abc import Iterable

from heedful.report.examples.cell import ATTENTION, FURTHEST, Map
from heedful.report.examples.sortings import FURTHEST_AWAY, searched, searched_as_spread
from heedful.report.examples.titles import title_of

PROBES = ("token_logits", "correlation", "adversarial")
"""Whose maps are shown; the first has attention with all its digits."""
LOGIT = "logit:"
FURTHEST_FOUND = "furthest attention found, same prediction (a lower bound)"
FURTHEST_OF_ALL = "furthest attention, same prediction (exact)"
SEARCHED = searched("study").key


def _far(key: str, title: str, measure: str, found: bool) -> Map:
    return Map(key, title, FURTHEST, measure, found, weights=True)


MAPS = {
    "attention": Map("attention", "attention", ATTENTION, weights=True),
    "gradient": Map("gradient_fixed", "gradient × input (attention held fixed)"),
    "leave_one_out": Map("leave_one_out", title_of("leave_one_out")),
    "integrated_gradients": Map("integrated_gradients_size", "integrated gradients (sizes)"),
    "adversary": _far("adversary", FURTHEST_OF_ALL, FURTHEST_AWAY.key, False),
    "adversary_entropy_matched": _far(
        "adversary_entropy_matched",
        "furthest found with the same spread (a lower bound)",
        searched_as_spread("study").key,
        True,
    ),
    "adversary_search": _far(
        "adversary_search", "furthest found by search (a lower bound)", SEARCHED, True
    ),
}
"""By the probes' names. What an audit calls so, but is something else, has a key of its own."""


def shown_maps(names: Iterable[str], exact: bool) -> list[Map]:
    """`exact`: the adversary is the furthest there is, and not only the furthest found. What was
    found is then another map; else it is the adversary itself, and stands there once."""
    there = set(names) - (set() if exact else {"adversary_search"})
    found = _far("adversary", FURTHEST_FOUND, SEARCHED, True)
    maps = MAPS if exact else {**MAPS, "adversary": found}
    return [maps[name] for name in MAPS if name in there]
