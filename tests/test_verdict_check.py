"""A verdict as a gate, as JUnit, and as a section of a model card."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.errors import HeedfulError
from heedful.verdict import Outcome, Settings, Verdict, card, check, escape, failures, judge, junit
from verdict_tables import World, costs, rows_of

QUICK = Settings(resamples=200)


@pytest.fixture(scope="module")
def good() -> Verdict:
    return judge(rows_of(World(examples=120)), costs(), settings=QUICK)


@pytest.fixture(scope="module")
def bad() -> Verdict:
    return judge(rows_of(World(examples=120, truth=0.1)), costs(), settings=QUICK)


def test_thresholds(good: Verdict, bad: Verdict) -> None:
    assert failures(check(good, {"importance": 0.8, "agreement": 0.8})) == []
    assert len(check(good, {"importance": 0.8, "agreement": 0.8})) == 3
    failed = failures(check(bad, {"importance": 0.8, "use": 0.01}))
    assert [each.name for each in failed] == ["overall", "importance at least 0.8"]
    assert "below 0.8" in failed[1].failure


def test_what_was_not_measured_fails_its_threshold(good: Verdict) -> None:
    assert "no estimate" in failures(check(good, {"stability": 0.1}))[0].failure
    with pytest.raises(HeedfulError, match="choose one of"):
        check(good, {"beauty": 1.0})


def test_a_baseline(good: Verdict, bad: Verdict) -> None:
    assert failures(check(good, baseline=good)) == []
    assert failures(check(bad, baseline=bad)) == []
    worse = failures(check(bad, baseline=good))
    assert {"overall", "importance no worse than it was"} <= {each.name for each in worse}
    assert failures(check(good, baseline=bad)) == []
    again = Verdict.from_json(good.to_json())
    assert failures(check(good, baseline=again)) == []


def test_other_settings_are_no_baseline(good: Verdict) -> None:
    with pytest.raises(HeedfulError, match="other settings"):
        check(good, baseline=replace(good, digest="0"))


@given(st.text(), st.text())
def test_junit_is_xml_whatever_the_text(name: str, failure: str) -> None:
    text = junit([Outcome(name, failure), Outcome("fine")], suite=name)
    root = ElementTree.fromstring(text.encode())
    assert root.attrib["tests"] == "2"
    assert root.attrib["failures"] == str(int(bool(failure)))
    assert len(root.findall("testcase/failure")) == int(bool(failure))


def test_junit_escapes() -> None:
    text = junit([Outcome('a<b & "c"', "x < y\x00")])
    assert "a&lt;b &amp; &quot;c&quot;" in text
    assert "\x00" not in text


def test_the_card(good: Verdict) -> None:
    text = card(good, title="A <b>model</b> | *mine*")
    assert text.startswith("## A &lt;b&gt;model&lt;/b&gt; \\| \\*mine\\*\n")
    assert "**SUPPORTED**: yes, show attention" in text
    assert "| importance | SUPPORTED | 0.9" in text or "| importance | SUPPORTED | 0.8" in text
    assert good.digest in text
    widths = {line.count("|") for line in text.splitlines() if line.startswith("| importance")}
    assert widths == {8}


@given(st.text())
def test_escaped_text_stays_on_its_line_and_is_no_html(text: str) -> None:
    safe = escape(text)
    assert "\n" not in safe
    assert "<" not in safe
    assert "|" not in safe.replace("\\|", "")
