"""What other attention could do: how far away the same answer still holds, and for which
examples any attention could change it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import pandas as pd

from heedful.report import Estimate, Picture, Row, difference, estimate
from heedful.report.figures.dots import Panel
from paper_tables.findings.evidence import (
    BASIS,
    ROWS,
    Evidence,
    Finding,
    Place,
    Table,
    Told,
    backed,
    basis,
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
    "jsd_search": "Jain and Wallace's search",
    "jsd_entropy_matched": "the search that keeps the weights as sharp",
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
Gaps = dict[str, Estimate]


def tell_distance(evidence: Evidence) -> Told | None:
    parts = [part for part in _places(evidence) if _has(part[1], EXACT) and _found_by([part])]
    if not parts:
        return None
    searches = _found_by(parts)
    papers = tuple(sorted({str(paper) for _, part in parts for paper in part["paper"]}))
    backing = backed(ROWS, paper=papers, probe=ADVERSARIAL, measure=(EXACT, *searches))
    gaps = {name: _gaps(name, parts) for name in searches}
    table = Table(
        ("model and corpus", "exact distance", *(_less(name) for name in searches), *BASIS),
        tuple(_line(place.title, part, gaps) for place, part in parts),
    )
    sentences = (*(_short(name, own) for name, own in gaps.items()), _by_length(parts))
    return Told(_far(parts), _picture(parts), (table,), (backing,), sentences)


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


def _less(search: str) -> str:
    return f"exact distance minus that of {SEARCHES[search]}"


def _line(title: str, part: pd.DataFrame, gaps: Mapping[str, Gaps]) -> tuple[str, ...]:
    exact = estimate(measured(part, EXACT))
    apart = [said(own[title]) if title in own else "" for own in gaps.values()]
    return (title, said(exact), *apart, *basis(exact))


def _far(parts: list[Part]) -> str:
    """On which side of half the largest distance, by the intervals."""
    found = {place.title: estimate(measured(part, EXACT)) for place, part in parts}
    means = sorted(found.values(), key=lambda each: each.mean)
    ends = " to ".join(dict.fromkeys(said(each) for each in (means[0], means[-1])))
    half = math.log(2) / 2
    if all(each.low > half for each in means):
        return sentence(
            f"it could be very different: on average {ends} away, over half the largest distance"
        )
    if all(each.high < half for each in means):
        return sentence(f"only a little: on average {ends} away, under half the largest distance")
    return sentence(f"on average {ends} away: not always clearly over half the largest distance")


def _gaps(search: str, parts: list[Part]) -> Gaps:
    return {
        place.title: difference(measured(part, EXACT), measured(part, search))
        for place, part in parts
        if _has(part, search)
    }


def _short(search: str, gaps: Gaps) -> str:
    """Where a search falls short."""
    signs = {title: each.sign for title, each in gaps.items()}
    words = (
        "finds less than the exact distance",
        "finds more than the exact distance",
        "cannot be told apart from the exact distance",
    )
    return sentence(f"{SEARCHES[search]} {tallied(signs, *words)}")


def _by_length(parts: list[Part]) -> str:
    signs = {}
    for place, part in parts:
        ends = [measured(part, EXACT, group) for group in ("length=4", "length=1")]
        if all(len(each) for each in ends):
            signs[place.title] = difference(*ends).sign
    if not signs:
        return sentence("lengths were not compared")
    words = ("the distance is larger", "the distance is smaller", "no difference can be told")
    return sentence(
        f"in the longest quarter of the examples, against the shortest, {tallied(signs, *words)}"
    )


def _picture(parts: list[Part]) -> Picture:
    series = {name: SHORT[name] for name in (EXACT, *_found_by(parts))}
    panels = tuple(
        Panel(place.title, "distance of attention (JSD, nats)", tuple(_rows(part, series)))
        for place, part in parts
    )
    title = "Exact and searched distance of attention, by length of example"
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
        "Attention gives each word of an example a weight, and the weights add up to one. If very "
        "different weights lead to the same answer, the weights alone do not explain it. Here the "
        "answer may move by one percentage point at most, and the weights as far as they can. "
        "Distance is the Jensen–Shannon divergence (JSD): zero for equal weights, about seven "
        "tenths where no word has weight in both."
    ),
    limits=(
        "A training need not produce such weights, even though they exist. The distance can grow "
        "with the number of words alone. A search that keeps the weights as sharp (of about the "
        "same entropy) has fewer weights to choose from. So its gap is not only its own failure."
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
        "Decisions that no attention can change", "per cent of the test examples", rows, scale=100.0
    )
    table = Table(
        ("model and corpus", "decisions that no attention can change", *BASIS),
        tuple((title, share(each), *basis(each)) for title, each in found.items()),
    )
    backing = backed(ROWS, paper=PAPER, probe=REACHABILITY, measure=MEASURE)
    says = "Share of decisions that no attention can change, by corpus and model"
    picture = Picture(says, ("fixed",), (panel,))
    return Told(_shares(found), picture, (table,), (backing,), _sides(found))


def _shares(found: dict[str, Estimate]) -> str:
    """Most of them, where every interval is on one side of a half."""
    least, most = (pick(found, key=lambda name: found[name].mean) for pick in (min, max))
    ends = " to ".join(f"{share(found[name])} ({name})" for name in dict.fromkeys((least, most)))
    if all(each.high < HALF for each in found.values()):
        return sentence(f"attention can change most decisions: all but {ends}")
    if all(each.low > HALF for each in found.values()):
        return sentence(f"attention can change fewer than half: all but {ends}")
    return sentence(f"not clearly most decisions everywhere: all but {ends}")


def _sides(found: dict[str, Estimate]) -> tuple[str, ...]:
    """Which models are on which side of a half, by the intervals, where they differ."""
    sides = {
        "in most examples some other attention would change the decision": [
            title for title, each in found.items() if each.high < HALF
        ],
        "in most examples the decision was made before attention": [
            title for title, each in found.items() if each.low > HALF
        ],
        "it cannot be told on which side of a half the share lies": [
            title for title, each in found.items() if each.low <= HALF <= each.high
        ],
    }
    told = [f"{phrase}: {listed(titles)}" for phrase, titles in sides.items() if titles]
    return tuple(map(sentence, told)) if len(told) > 1 else ()


FIXED_DECISIONS = Finding(
    name="fixed-decisions",
    title="Which decisions can attention change at all?",
    question=(
        "If each single word, given all the weight, leads to the same decision, so does every "
        "mixture of them. In such examples attention decides nothing."
    ),
    limits=(
        "A decision that some attention could change need not depend on the attention the model "
        "has. The share is known only for models whose last step is linear, which excludes those "
        "of bAbI. An encoder that mixes words may have put the decision into every word before "
        "attention."
    ),
    commands=(
        "heedful study jain2019 --corpora sst,20news --probes score,reachability --seeds 5",
        "heedful study jain2019 --corpora imdb --probes score,reachability --seeds 3",
    ),
    tell=tell_fixed,
)
