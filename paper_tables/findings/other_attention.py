"""What other attention could do: how far away the same answer still holds, and for which texts
any attention could change it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from heedful.report import Estimate, Picture, Row, difference, estimate
from heedful.report.figures.dots import Panel
from paper_tables.findings.evidence import (
    ROWS,
    Evidence,
    Finding,
    Place,
    Told,
    backed,
    basis,
    counted,
    listed,
    measured,
    said,
    sentence,
    share,
    tallied,
)

PAPER, ADVERSARIAL, EXACT = "jain2019", "adversarial", "jsd_exact"
TRIAL = "jain2019-search"
"""The study has one search only; the authors' own, which is long, is in a trial beside it."""
SEARCHES = {
    "jsd_search": "the search of the paper that asked first (Jain and Wallace) finds",
    "jsd_entropy_matched": "a search that keeps the weights as sharp finds",
}
SHORT = {
    EXACT: "exact",
    "jsd_search": "the authors' search",
    "jsd_entropy_matched": "a search that stays as sharp",
}
"""In the picture."""
QUARTERS = {
    "length=1": "shortest quarter",
    "length=2": "second quarter",
    "length=3": "third quarter",
    "length=4": "longest quarter",
}
Part = tuple[Place, pd.DataFrame]


def tell_distance(evidence: Evidence) -> Told | None:
    parts = [part for part in _places(evidence) if _has(part[1], EXACT) and _found_by([part])]
    if not parts:
        return None
    searches = _found_by(parts)
    papers = tuple(sorted({str(paper) for _, part in parts for paper in part["paper"]}))
    backing = backed(ROWS, paper=papers, probe=ADVERSARIAL, measure=(EXACT, *searches))
    gaps = [_gap(name, [part for part in parts if _has(part[1], name)]) for name in searches]
    return Told((_far(parts), *gaps, _by_length(parts)), _picture(parts), (backing,))


def _places(evidence: Evidence) -> list[Part]:
    """With the authors' search where it was run."""
    found = {place.title: (place, part) for place, part in evidence.places(PAPER, ADVERSARIAL)}
    found |= {place.title: (place, part) for place, part in evidence.places(TRIAL, ADVERSARIAL)}
    return [found[title] for title in sorted(found)]


def _has(part: pd.DataFrame, measure: str) -> bool:
    return len(measured(part, measure)) > 0


def _found_by(parts: list[Part]) -> list[str]:
    """The searches that were run, in their order."""
    return [name for name in SEARCHES if any(_has(part, name) for _, part in parts)]


def _far(parts: list[Part]) -> str:
    found = {place.title: estimate(measured(part, EXACT)) for place, part in parts}
    told = [f"{said(each)} for {title} ({basis(each)})" for title, each in found.items()]
    return sentence(f"computed exactly, the distance is on average {listed(told)}")


def _gap(search: str, parts: list[Part]) -> str:
    """Where a search falls short most and least."""
    gaps = {
        place.title: difference(measured(part, EXACT), measured(part, search))
        for place, part in parts
    }
    least, most = (pick(gaps, key=lambda name: gaps[name].mean) for pick in (min, max))
    ends = f"between {said(gaps[least])} ({least}) and {said(gaps[most])} ({most})"
    if least == most:
        ends = f"{said(gaps[most])} ({most})"
    signs = [each.sign for each in gaps.values()]
    above, below = (f"{counted(signs.count(sign))} of {counted(len(signs))}" for sign in (1, -1))
    return sentence(
        f"what {SEARCHES[search]} is a lower bound; the exact distance less that is {ends}, with "
        f"intervals above zero for {above} and below zero for {below}"
    )


def _by_length(parts: list[Part]) -> str:
    signs = {}
    for place, part in parts:
        ends = [measured(part, EXACT, group) for group in ("length=4", "length=1")]
        if all(len(each) for each in ends):
            signs[place.title] = difference(*ends).sign
    if not signs:
        return sentence("lengths were not told apart")
    words = (
        "the exact distance is larger",
        "the exact distance is smaller",
        "no difference can be told",
    )
    return sentence(
        f"in the longest quarter of the texts, against the shortest: {tallied(signs, *words)}"
    )


def _picture(parts: list[Part]) -> Picture:
    series = {name: SHORT[name] for name in (EXACT, *_found_by(parts))}
    panels = tuple(
        Panel(place.title, "distance of attention (JSD, nats)", tuple(_rows(part, series)))
        for place, part in parts
    )
    title = "Exact and searched distance of attention, by length of text"
    return Picture(title, tuple(series.values()), panels)


def _rows(part: pd.DataFrame, series: Mapping[str, str]) -> Iterator[Row]:
    for group, label in QUARTERS.items():
        lines = {title: measured(part, name, group) for name, title in series.items()}
        yield Row(
            label, tuple((title, estimate(each)) for title, each in lines.items() if len(each))
        )


EXACT_AND_SEARCH = Finding(
    name="exact-and-search",
    title="How different could attention be, with the same answer?",
    question=(
        "Attention gives each word of a text a weight, and the weights add up to one: if quite "
        "other weights lead to the same answer, the weights alone are not the reason for it. "
        "How far away are the furthest weights that move the answer by no more than one "
        "percentage point? Distance is the Jensen–Shannon divergence (JSD): zero for equal "
        "weights, and at most the logarithm of two, about seven tenths, where no word has weight "
        "in both."
    ),
    limits=(
        "That far-away weights exist does not say that a training would produce them, and it "
        "can grow with the number of words alone. A search that has to keep the weights as sharp "
        "(of about the same entropy) looks among fewer weights, so its gap is not the search's "
        "failure alone."
    ),
    commands=(
        "heedful study jain2019 --corpora sst,20news --probes score,adversarial --seeds 5",
        "python -m tools.trials jain2019-search --corpora 20news,sst --seeds 3",
    ),
    tell=tell_distance,
)


# How many decisions of a corpus no attention can change.


REACHABILITY, MEASURE = "reachability", "fixed"
HALF = 0.5


def tell_fixed(evidence: Evidence) -> Told | None:
    parts = [
        (place.title, measured(part, MEASURE))
        for place, part in evidence.places(PAPER, REACHABILITY)
    ]
    found = {title: estimate(lines, share=True) for title, lines in parts if len(lines)}
    if not found:
        return None
    rows = tuple(Row(title, (("fixed", each),)) for title, each in found.items())
    panel = Panel(
        "Decisions that no attention can change", "per cent of the test texts", rows, scale=100.0
    )
    backing = backed(ROWS, paper=PAPER, probe=REACHABILITY, measure=MEASURE)
    says = "Share of decisions that no attention can change, by corpus and model"
    return Told((_shares(found), _most(found)), Picture(says, ("fixed",), (panel,)), (backing,))


def _shares(found: dict[str, Estimate]) -> str:
    parts = [f"{share(each)} for {title} ({basis(each)})" for title, each in found.items()]
    return sentence(f"of the test decisions no attention whatever can change {listed(parts)}")


def _most(found: dict[str, Estimate]) -> str:
    """Which side of a half, by the intervals."""
    sides = {
        "for most texts some attention would have changed the decision": [
            title for title, each in found.items() if each.high < HALF
        ],
        "for most texts the decision was made before attention": [
            title for title, each in found.items() if each.low > HALF
        ],
        "it cannot be told on which side of a half the share lies": [
            title for title, each in found.items() if each.low <= HALF <= each.high
        ],
    }
    told = [f"{phrase} ({listed(titles)})" for phrase, titles in sides.items() if titles]
    return sentence(f"so {'; '.join(told)}")


FIXED_DECISIONS = Finding(
    name="fixed-decisions",
    title="Which decisions can attention change at all?",
    question=(
        "If each single word, given all the weight, leads to the same decision, then so does "
        "every mixture of them: on such texts attention decides nothing. How many are there?"
    ),
    limits=(
        "A decision that some attention could change need not hang on the attention the model "
        "has. It is known only for models whose last step is linear, which those of stories with "
        "questions (bAbI) have not, and an encoder that mixes words beforehand may have put the "
        "decision into every one of them."
    ),
    commands=(
        "heedful study jain2019 --corpora sst,20news --probes score,reachability --seeds 5",
        "heedful study jain2019 --corpora imdb --probes score,reachability --seeds 3",
    ),
    tell=tell_fixed,
)
