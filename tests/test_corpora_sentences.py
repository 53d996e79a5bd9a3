"""Sentences: golden cases, and properties that hold for any text whatever."""

from __future__ import annotations

import re
import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.data import sentence_numbers, sentence_starts


def sentences(text: str) -> list[str]:
    starts = [*sentence_starts(text), len(text)]
    return [text[start:end] for start, end in pairwise(starts)]


GOLDEN = {
    "abbreviations": [
        "Mr. Smith met Dr. Jones. |They talked.",
        "Prof.Smith came late. |St. Mary is near.",
        "Use one, e.g. This one, i.e. That. |See Fig. 3 and No. 5. |No. |That is wrong.",
        "Apples, pears, etc. are good. |Apples etc. |The rest is not.",
        "Acme Inc. Chairman Bob left. |He sold Acme Inc. |The price fell.",
        "At 5 p.m. Monday he came. |It was 5 p.m. |He left.",
        "Ph.D. students at 3 a.m. sleep.",
    ],
    "initials": [
        "J. R. Smith wrote it. |So did I. |Then we left.",
        "He lives in the U.S. and likes it. |The U.S. |The end.",
        "He (the U.S. Senate) won. |(No one knew.) |It ended.",
    ],
    "numbers": [
        "It costs 3.5 dollars. |Version 2.10 came. |Done.",
        "1. First item. |2. Second item.",
        "I gave it 10/10. |5 stars.",
    ],
    "ellipses": [
        "Well... maybe not. |But... |He left … and she came.",
        "wait ... and then . . . he left . . . |The end .",
        "... so it began. |Really.",
    ],
    "quotes": [
        '"What?" he said. |"No!" |She left.',
        'He said "Stop." |Then he left.',
        "“Why?” she asked. |‘Go.’ |He went.",
        "he said `` stop . '' |then he left .",
        'he said " stop . " |then he left . |" why ? " he asked .',
        "( He left . ) |She stayed .",
    ],
    "lines": [
        "One.<br /><br />|Two<br/>|three",
        "He ran. <br /> |Two.  \n  |three. \n\n|Four",
        "Mary went home.\n|John slept.",
        "\n\n Hello there\n\n|You",
    ],
    "tokenised or small": [
        "a film . |but what joy ! |it 's great .",
        "mr . smith came . |he left .",
        "the food was great. |we loved it. |dr. goldberg is nice.",
        "So good! |loved it. |Really?! |Yes!! |ok",
        "Great ! ! ! |The end . . . ! |Yes",
        "Bad.|The end!|Really",
    ],
    "nothing to split": ["", "  ", "No end", "Visit example.com today", "The file.txt. and more"],
}  # fmt: skip


@pytest.mark.parametrize("case", [case for cases in GOLDEN.values() for case in cases])
def test_golden(case: str) -> None:
    assert sentences(case.replace("|", "")) == case.split("|")


def test_tokens_are_numbered_without_gaps() -> None:
    text = "One. <br />\n\nTwo three. Four"
    starts = np.array([match.start() for match in re.finditer(r"\w+", text)], dtype=np.int32)
    words = re.findall(r"\w+", text)
    assert words == ["One", "br", "Two", "three", "Four"]
    assert sentence_numbers(text, starts).tolist() == [0, 0, 1, 1, 2]
    assert sentence_numbers("", np.zeros(0, dtype=np.int32)).tolist() == []


pieces = st.sampled_from(
    ["Mr.", "e.g.", "A.", "the", "He", " ", "  ", "\n", "<br />", ".", "!", "?", "…", '"', "''",
     "'", " . ", "(", ")", "3.5", "1.", "U.S.", "end", "é", "字", "\t", "-RRB-"]
)  # fmt: skip
texts = st.one_of(
    st.text(max_size=60), st.lists(pieces, max_size=25).map("".join),
    st.lists(pieces, max_size=25).map(" ".join),
)  # fmt: skip


@given(text=texts)
def test_every_character_is_in_one_sentence(text: str) -> None:
    starts = sentence_starts(text)
    assert starts[0] == 0
    assert all(one < other for one, other in pairwise(starts))
    assert starts[-1] < max(1, len(text))
    assert "".join(sentences(text)) == text
    assert all(part.strip() for part in sentences(text)) or not text.strip()


@given(text=texts)
def test_numbers_rise_by_one(text: str) -> None:
    tokens = np.array([match.start() for match in re.finditer(r"\S+", text)], dtype=np.int32)
    numbers = sentence_numbers(text, tokens).tolist()
    assert numbers[:1] in ([], [0])
    assert all(other - one in (0, 1) for one, other in pairwise(numbers))


@given(parts=st.lists(texts, min_size=1, max_size=4))
def test_a_line_break_always_splits(parts: list[str]) -> None:
    """Nothing is joined across lines: lines split alone give the same sentences."""
    lines = [" ".join(part.replace("<", "").split()) for part in parts]
    lines = [line for line in lines if line and line == line.lower()]
    if lines:
        alone = [sentence.strip() for line in lines for sentence in sentences(line)]
        assert [each.strip() for each in sentences("\n".join(lines))] == alone


def test_no_text_takes_long() -> None:
    bad = ["a. " * 9999, '" . ' * 9999, " " * 99999, "\n" * 99999, "'" * 99999 + "x",
           "<br " * 9999, "x." + ")" * 99999, ". " + " ." * 9999, "!" * 99999,
           ". " * 99999, "! " * 9999 + "x"]  # fmt: skip
    start = time.perf_counter()
    for text in bad:
        sentence_starts(text)
    assert time.perf_counter() - start < 5
