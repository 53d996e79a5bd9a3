"""English words whose full stop may not end a sentence, and words that begin one."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEVER_END = _words(
    "mr mrs ms mx dr prof gen sen rep gov capt cpt lt col sgt maj cmdr rev hon st mt messrs mme "
    "mlle pres supt e.g eg i.e ie cf vs viz approx ca esp incl"
)
"""Something always follows these: a name, a case, an example."""

BEFORE_NUMBERS = _words("no nos nr fig figs p pp vol vols ch sec eq art op")
"""Abbreviations only where a number follows."""

MAY_END = _words(
    "etc inc corp co ltd jr sr bros dept est assn ave blvd rd al ph.d m.d b.a m.a a.m p.m a.d b.c "
    "jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thurs fri sat sun"
)
"""Abbreviations that also stand at the end: what follows decides."""

BEGINNERS = _words(
    "the a an this that these those he she it they we you i my his her its our their your there "
    "here in on at but and so or if when while as after before for with what who why how where "
    "not no yes then now one some most all many however although because since to from by is are "
    "was"
)
"""Words that, with a capital, are far more often the first of a sentence than a name."""
