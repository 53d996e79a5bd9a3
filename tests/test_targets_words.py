"""Where words stand, and which word a token belongs to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.targets import split_words, words_of
from reference.overlap import word_of

GOLDEN = {
    "Don't stop—it’s well-known!": ["Don't", "stop", "—", "it’s", "well-known", "!"],
    "e.g. 3.14 (x_1)": ["e", ".", "g", ".", "3", ".", "14", "(", "x_1", ")"],
    "'quoted' -- rock'n'roll": ["'", "quoted", "'", "-", "-", "rock'n'roll"],
    "我爱你 very much。": ["我", "爱", "你", "very", "much", "。"],
    "好film好": ["好", "film", "好"],
    "👩‍👩‍👧 ok ❤️love 👍🏽👍 🇩🇪🇫🇷 1️⃣": ["👩‍👩‍👧", "ok", "❤️", "love", "👍🏽", "👍", "🇩🇪", "🇫🇷", "1️⃣"],
    "हिन्दी भाषा": ["हिन्दी", "भाषा"],
    "e\u0301te\u0301 zero\u200bwidth \u200b": ["e\u0301te\u0301", "zero", "width"],
    "a\x00b": ["a", "b"],
    " \n\t": [],
    "": [],
}


@pytest.mark.parametrize("text", GOLDEN)
def test_golden_words(text: str) -> None:
    assert [text[start:end] for start, end in split_words(text)] == GOLDEN[text]


@given(st.text(max_size=40))
def test_words_are_in_order_apart_and_cover_what_can_be_read(text: str) -> None:
    spans = split_words(text)
    places = [place for span in spans for place in span]
    assert places == sorted(places) and all(start < end for start, end in spans)
    covered = {place for span in spans for place in range(*span)}
    assert all(place in covered for place, letter in enumerate(text) if letter.isalnum())
    assert not any(text[start:end].isspace() for start, end in spans)


def test_golden_overlaps() -> None:
    """ "un|likely |so": a token over two words goes where most of it is, the first on a tie."""
    words = [(0, 8), (9, 11)]
    tokens = [(0, 2), (2, 8), (7, 11), (6, 11), (7, 10), (8, 9), (3, 3), (20, 22)]
    assert words_of(tokens, words).tolist() == [0, 0, 1, 0, 0, -1, -1, -1]
    assert words_of([], words).tolist() == [] and words_of([(0, 1)], []).tolist() == [-1]


cuts = st.lists(st.integers(0, 30), max_size=16, unique=True).map(sorted)


@given(cuts, st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9)), max_size=12))
def test_overlaps_agree_with_their_definition(
    bounds: list[int], made: list[tuple[int, int]]
) -> None:
    words = list(zip(bounds[::2], bounds[1::2], strict=False))
    tokens = [(start, start + size) for start, size in made]
    assert words_of(tokens, words).tolist() == [word_of(token, words) for token in tokens]
