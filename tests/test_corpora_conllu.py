"""CoNLL-U as it is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from heedful.data import load_conllu, read_conllu
from heedful.errors import HeedfulError


def line(number: str, form: str, head: str) -> str:
    return "\t".join([number, form, "_", "_", "_", "_", head, "_", "_", "_"])


SAMPLE = [
    "# sent_id = garden",
    "# text = The gardener's dog saw her.",
    line("1", "The", "2"),
    line("2", "gardener", "4"),
    line("3", "'s", "2"),
    line("4", "dog", "5"),
    line("5", "saw", "0"),
    line("6-7", "herself", "_"),
    line("6", "her", "5"),
    line("6.1", "left", "_"),
    line("7", ".", "5"),
    "",
    line("1", "Rain", "0"),
    line("2", "fell", "1"),
]


def test_words_and_heads_are_read() -> None:
    first, second = read_conllu(SAMPLE)
    assert first.words == ("The", "gardener", "'s", "dog", "saw", "her", ".")
    assert first.heads == (1, 3, 1, 4, -1, 4, 4)
    assert second.words == ("Rain", "fell") and second.heads == (-1, 0)


def test_only_a_line_feed_ends_a_line(tmp_path: Path) -> None:
    """Other characters that Python takes for line ends may be in a word."""
    path = tmp_path / "some.conllu"
    path.write_text(line("1", "in\u2028side", "0") + "\r\n", encoding="utf8", newline="")
    assert [each.words for each in load_conllu(path)] == [("in\u2028side",)]


def test_the_file_is_read_and_bad_lines_are_named(tmp_path: Path) -> None:
    path = tmp_path / "some.conllu"
    path.write_text("\n".join(SAMPLE), encoding="utf8")
    assert load_conllu(path) == list(read_conllu(SAMPLE))
    with pytest.raises(HeedfulError, match="there is no file"):
        load_conllu(tmp_path / "none.conllu")
    for bad, message in (
        (["1 The _"], "line 1 has 1 columns"),
        ([line("1", "The", "x")], "no number"),
        ([line("1", "The", "7")], "in sentence '1' is no other word"),
        (["# sent_id = rain", line("1", "The", "1")], "in sentence 'rain' is no other word"),
        ([line("2", "The", "0")], "not numbered"),
    ):
        with pytest.raises(HeedfulError, match=message):
            list(read_conllu(bad))
