"""Charts on the Python side: every spec travels, as plain data, with words for its numbers."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

import pytest

from charted import HOSTILE, every_figure, panels, templated
from heedful.report import DRAWING, FIGURES, NAMES, WORDS, Charts, Figure, fields, interactive, vega
from heedful.report.panels import Panel

pytest.importorskip("altair")
pytest.importorskip("vl_convert")
SAME_AS = {"seed_variance": "jsd_by_max", "token_examples": "token_curves"}
"""Drawn by the same function as another one."""


class Kept:
    """A page that only remembers."""

    def __init__(self) -> None:
        self.blobs: dict[str, Any] = {}
        self.scripts: list[str] = []

    def put(self, name: str, value: Any) -> None:
        self.blobs[name] = value

    def allow(self, script: str) -> None:
        self.scripts.append(script)


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Figure]:
    return every_figure(tmp_path_factory.mktemp("figures"))


@pytest.fixture(scope="module")
def kept(figures: dict[str, Figure]) -> Kept:
    charts, page = Charts(), Kept()
    for name, panel in panels(figures):
        charts.draw(panel, name)
    charts.finish(page)
    return page


def test_there_is_one_of_every_figure(figures: dict[str, Figure]) -> None:
    assert {SAME_AS.get(name, name) for name in FIGURES} <= set(figures)


def test_every_panel_has_its_spec_and_vega_comes_once(
    figures: dict[str, Figure], kept: Kept
) -> None:
    assert set(kept.blobs) == {"charts", "vega"}
    assert list(kept.blobs["charts"]) == [name for name, _ in panels(figures)]
    assert kept.scripts == [kept.blobs["vega"]]
    for name, panel in panels(figures):
        spec, told = kept.blobs["charts"][name], kept.blobs["charts"][name]["usermeta"]
        counts = {key: len(rows) for key, rows in panel.bare["datasets"].items()}
        assert {key: len(rows) for key, rows in spec["datasets"].items()} == counts
        assert told["says"].startswith(panel.says[:10])


def test_specs_are_json_without_nan_and_the_same_each_time(
    figures: dict[str, Figure], kept: Kept
) -> None:
    text = json.dumps(kept.blobs["charts"], allow_nan=False)
    again = {name: interactive(panel.spec(), panel) for name, panel in panels(figures)}
    assert json.dumps(again, allow_nan=False) == text


def test_numbers_keep_six_digits_and_what_is_none_is_null() -> None:
    values = [1 / 3, 123456789.0, math.nan, -math.inf, 0.0, 7]
    spec = {"datasets": {"d": [{"x": value} for value in values]}}
    plain = interactive(spec, Panel("title", None, "says"))
    found = [row["x"] for row in plain["datasets"]["d"]]
    assert found == [0.333333, 123457000.0, None, None, 0.0, 7]


def test_hostile_names_stay_data(kept: Kept) -> None:
    text = json.dumps(kept.blobs["charts"], ensure_ascii=False)
    assert "<img src=x onerror=alert(1)>⟨U+202E⟩" in text and HOSTILE not in text


def test_the_template_escapes_and_names() -> None:
    charts = Charts()
    panel = Panel(HOSTILE, _chart(), HOSTILE)
    html = templated(
        '{% from "chart.html" import chart %}{{ chart(drawn) }}', drawn=charts.draw(panel, "a-0")
    )
    assert 'data-chart="a-0"' in html and "<img" not in html and "&lt;img src=x" in html


def test_two_charts_of_one_name_are_refused() -> None:
    charts = Charts()
    charts.draw(Panel("a", _chart(), "a"), "same")
    with pytest.raises(ValueError, match="same"):
        charts.draw(Panel("b", _chart(), "b"), "same")


def test_a_page_without_charts_has_no_vega() -> None:
    page = Kept()
    Charts().finish(page)
    assert page.blobs == {} and page.scripts == []


def test_vega_is_the_same_each_time_and_cannot_end_its_element() -> None:
    first = vega()
    vega.cache_clear()
    assert hashlib.sha256(first.encode()).digest() == hashlib.sha256(vega().encode()).digest()
    assert "</script" not in first.lower() and first.count("window.vegaEmbed=") == 1


def test_every_column_is_told_or_only_draws(figures: dict[str, Figure]) -> None:
    """A column without words would show its name in the code."""
    for name, panel in panels(figures):
        told = fields(panel.bare)
        words = [title for _, title in told if title]
        assert told and len(set(words)) == len(words), name
        for column, title in told:
            known = column in NAMES or column in WORDS or title != column
            assert known and column not in DRAWING, (name, column)


def test_words_of_some_columns(figures: dict[str, Figure]) -> None:
    found = {name: dict(fields(panel.bare)) for name, panel in panels(figures)}
    assert found["tau_gradient-0-0"] == {
        "left": "Kendall τ, low",
        "right": "Kendall τ, high",
        "share": "share of texts",
    }
    assert found["lines-0-0"]["at"] == "layers shuffled"
    assert found["lines-0-0"]["high"] == "accuracy, high"
    assert found["frontier-0-0"]["tvd_low"] == "change of the output (TVD), low"
    assert found["dots-0-0"]["low"] == "interval, low" and found["dots-0-0"]["label"] == ""
    assert found["repair-0-0"]["x"] == "sufficiency"


def _chart() -> Any:
    import altair as alt
    import pandas as pd

    return alt.Chart(pd.DataFrame({"x": [1.0]})).mark_point().encode(x="x:Q")
