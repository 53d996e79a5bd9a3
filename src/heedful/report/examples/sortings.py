"""What texts can be put in order by, in words, where audits and studies measure the same.

Two searches are not the same measure: what each finds is a lower bound of its own.
"""

from __future__ import annotations

from heedful.report.examples.cell import Sorting

FURTHEST_AWAY = Sorting("furthest", "furthest attention, same prediction (JSD)")
SHUFFLED = Sorting("shuffled", "output moved by shuffling")
MARKED = Sorting("plausible", "attention finds what people marked (AUPRC)", descending=False)


def disagreement(name: str, title: str) -> Sorting:
    """Of attention with a map."""
    return Sorting(f"disagreement_{name}", f"attention against {title} (1 − τ)")


def searched(by: str) -> Sorting:
    """What an audit or a study found."""
    title = f"furthest found by the {by}, same prediction: a lower bound (JSD)"
    return Sorting(f"furthest_found_{by}", title)


def searched_as_spread(by: str) -> Sorting:
    """The same among attention that is as spread out as the learned one."""
    title = f"furthest found by the {by}, as spread out: a lower bound (JSD)"
    return Sorting(f"furthest_spread_{by}", title)
