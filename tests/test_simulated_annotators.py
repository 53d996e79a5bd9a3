"""Simulated annotators: their rule by hand, and that results name them so."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.simulated_annotators import simulate, spoken

from annotating import make_study
from heedful.apps.annotation import RATIONALE, lines, results
from heedful.data import Example
from heedful.errors import HeedfulError


def example(number: int, text: str, label: int) -> Example:
    return Example(f"{number}", "train", {"a": text}, label)


def test_what_words_speak_for_by_hand() -> None:
    """Half of all texts are of each class. `fine` is in five texts of one and one of the other,
    5/6 against a half; `film` is in all; `dull` is in four texts only, too few."""
    texts = [("fine film", 1)] * 5 + [("Fine film", 0), *[("dull film", 0)] * 4]
    found = spoken([example(i, *each) for i, each in enumerate(texts)], ("no", "yes"))
    assert found == {"no": frozenset(), "yes": frozenset({"fine"})}


def test_answers_follow_the_rule(tmp_path: Path) -> None:
    """Text 0 shows “a fine” and predicts yes, text 2 “good …” and no, which these words speak for;
    the others show no such word."""
    study = make_study(tmp_path / "study.db")
    known = {"yes": frozenset({"fine"}), "no": frozenset({"good"})}
    assert simulate(study, known, 2, 0.0) == 8
    assert simulate(study, known, 2, 0.0) == 0  # they are there already
    answers = study.everybody()
    assert set(answers) == {"simulated 1", "simulated 2"}
    assert answers["simulated 1"] == {0: "yes", 1: "no", 2: "yes", 3: "no"}
    assert "simulated 1" in "\n".join(lines(results(study)))
    other = make_study(tmp_path / "other.db", count=4)
    simulate(other, known, 1, 1.0)
    assert other.everybody()["simulated 1"] == {0: "no", 1: "yes", 2: "no", 3: "yes"}


def test_what_cannot_be_simulated_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HeedfulError, match="--task relevance"):
        simulate(make_study(tmp_path / "words.db", RATIONALE), {}, 1, 0.0)
    with pytest.raises(HeedfulError, match="from 0 to 1"):
        simulate(make_study(tmp_path / "study.db"), {}, 1, 2.0)
