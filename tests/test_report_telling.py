"""The example at the head of a page: chosen by rule from removals, told without overstatement."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from heedful.report import audit_page, evidence_of
from heedful.report.audit_telling import LEAST_GAP, MOST_GONE, SHORT, telling
from heedful.verdict import judge
from parsed_page import loads_nothing, parse
from verdict_tables import World, costs, rows_of

SHARES = np.array([0.0, 0.2, 0.4, 1.0])
"""Of five words: none, one, two, all. Two are more than may go."""


def parts_of(world: World, curves: dict[str, dict[str, list[float]]], size: int = 5) -> Any:
    """An audit whose first texts have these curves; attention puts the first word first, LRP the
    last, and gradient the last but one."""
    rows = rows_of(world)
    classes = ["alpha", "beta", "gamma", "delta"][: world.classes]
    facts = {"model": "tiny", "data": "made up", "classes": classes}
    names = sorted({example for each in curves.values() for example in each})
    falling = np.arange(size, 0.0, -1)
    scores = {
        "attention": falling / falling.sum(),
        "lrp": falling[::-1] - 1.5,
        "gradient": np.roll(falling[::-1], -1),
    }
    maps = [(name, each, values) for name in names for each, values in scores.items()]
    shown = [(name, "removed", "delete", SHARES) for name in names]
    shown += [
        (name, "curve", each, np.array(values))
        for each, found in curves.items()
        for name, values in found.items()
    ]
    words = [f"w{i}" for i in range(size)]
    documents = [(name, words, " ".join(words), "", 0, None) for name in names]
    return {
        "verdict": judge(rows, costs(), facts),
        "facts": facts,
        "rows": rows,
        "maps": pd.DataFrame(maps, columns=["example", "explanation", "scores"]),
        "costs": costs(),
        "documents": pd.DataFrame(
            documents, columns=["example", "words", "text", "text_b", "label", "rationale"]
        ),
        "shown": pd.DataFrame(shown, columns=["example", "kind", "name", "scores"]),
    }


FAILS = World(truth=0.1, examples=100)
CURVES = {
    "attention": {
        "e0000": [0.9, 0.88, 0.3, 0.5],
        "e0001": [0.9, 0.85, 0.1, 0.5],
        "e0002": [0.9, 0.2, 0.1, 0.5],
    },
    "lrp": {
        "e0000": [0.9, 0.1, 0.1, 0.5],
        "e0001": [0.9, 0.4, 0.1, 0.5],
        "e0002": [0.9, 0.1, 0.1, 0.5],
    },
}


def test_the_example_with_the_largest_difference_is_shown() -> None:
    found = telling(evidence_of(parts_of(FAILS, CURVES)))
    assert found is not None
    mine, other = found.sides
    assert (mine.title, other.title) == ("attention", "lrp")
    assert (mine.gone, other.gone) == (("w0",), ("w4",))
    assert (found.before, mine.after, other.after) == ("90%", "88%", "10%")
    assert (mine.kind, other.kind) == ("stays", "flips")
    assert found.lead == (
        "Without the words that attention puts first, the prediction stays. "
        "Without those that lrp puts first, it flips."
    )
    assert [word.kind for word in mine.words] == ["gone", "", "", "", ""]
    assert found.average.startswith("Over all examples, without the first 20% of the words")
    assert "falls by 26% for attention, by 70% for lrp" in found.average  # (.02 + .05 + .7) / 3


def test_attention_that_can_be_shown_stands_beside_the_explanation_that_misses_most() -> None:
    curves = {
        "attention": {"e0000": [0.9, 0.1, 0.1, 0.5]},
        "lrp": {"e0000": [0.9, 0.2, 0.1, 0.5]},
        "gradient": {"e0000": [0.9, 0.85, 0.1, 0.5]},
    }
    found = telling(evidence_of(parts_of(World(truth=0.95, examples=100), curves)))
    assert found is not None
    assert [side.title for side in found.sides] == ["attention", "gradient"]
    assert [side.kind for side in found.sides] == ["flips", "stays"]


def test_with_more_classes_a_middling_probability_says_nothing_of_the_decision() -> None:
    curves = {
        "attention": {"e0000": [0.9, 0.45, 0.3, 0.25]},
        "lrp": {"e0000": [0.9, 0.24, 0.1, 0.25]},
    }
    found = telling(evidence_of(parts_of(World(truth=0.1, examples=100, classes=4), curves)))
    assert found is not None
    assert [side.kind for side in found.sides] == ["falls", "flips"]
    assert found.sides[0].outcome == "The probability falls."


def test_the_second_text_and_the_answer_stand_beside_the_example() -> None:
    parts = parts_of(FAILS, CURVES)
    parts["documents"] = parts["documents"].assign(text_b="Which <b>word</b>?", answer="w1")
    found = telling(evidence_of(parts))
    assert found is not None and (found.context, found.asked) == ("Which <b>word</b>?", "“w1”")
    page = audit_page(parts)
    head = page[page.index('class="card telling"') :]
    assert "Beside the text: <bdi>Which &lt;b&gt;word&lt;/b&gt;?</bdi>" in head
    assert "Asked for: <bdi>“w1”</bdi>" in head


@pytest.mark.parametrize(
    "curves",
    [
        {},
        {"attention": CURVES["attention"]},
        {"attention": {"e0000": [0.9, 0.5, 0.1, 0.5]}, "lrp": {"e0000": [0.9, 0.45, 0.1, 0.5]}},
        {"attention": {"gone": [0.9, 0.9, 0.1, 0.5]}, "lrp": {"gone": [0.9, 0.1, 0.1, 0.5]}},
    ],
    ids=["nothing", "one explanation", "hardly different", "no such example"],
)
def test_where_nothing_is_telling_nothing_is_told(curves: Any) -> None:
    assert LEAST_GAP > 0.05
    parts = parts_of(FAILS, curves)
    assert telling(evidence_of(parts)) is None
    assert 'class="card telling"' not in audit_page(parts)


def test_ties_that_leave_open_which_words_went_are_passed_over() -> None:
    parts = parts_of(FAILS, CURVES)
    tied = parts["maps"]["explanation"].eq("attention") & parts["maps"]["example"].eq("e0000")
    parts["maps"].loc[tied, "scores"] = pd.Series(
        [np.full(5, 0.2)] * int(tied.sum()), index=parts["maps"].index[tied]
    )
    found = telling(evidence_of(parts))
    assert found is not None and found.sides[0].after == "85%"  # e0001 instead


def test_a_short_text_goes_before_a_long_one_that_differs_more() -> None:
    parts = parts_of(FAILS, CURVES)
    longer = [f"w{i}" for i in range(SHORT + 1)]
    at = parts["documents"].index[parts["documents"]["example"] == "e0000"]
    parts["documents"].loc[at, "words"] = pd.Series([longer] * len(at), index=at)
    found = telling(evidence_of(parts))
    assert found is not None and found.sides[0].after == "85%"
    assert f"at most {SHORT} words" in found.rule


def test_few_words_go() -> None:
    """The point at two of five words would differ more, but is beyond the limit."""
    curves = {
        "attention": {"e0000": [0.9, 0.8, 0.9, 0.5]},
        "lrp": {"e0000": [0.9, 0.5, 0.0, 0.5]},
    }
    assert SHARES[2] > MOST_GONE
    found = telling(evidence_of(parts_of(FAILS, curves)))
    assert found is not None and len(found.sides[0].gone) == 1


def test_it_stands_in_the_head_of_the_page_and_is_only_text() -> None:
    parts = parts_of(FAILS, CURVES)
    hostile = '<script>alert("x")</script>'
    words = [[hostile] + [f"w{i}" for i in range(1, 5)]] * len(parts["documents"])
    parts["documents"]["words"] = pd.Series(words, index=parts["documents"].index)
    html = audit_page(parts)
    head = html[: html.index('<h2 id="properties"')]
    assert 'class="card telling"' in head and "asked 0.67" not in head
    assert hostile not in html and "&lt;script&gt;alert" in head
    assert loads_nothing(parse(html))
