"""CoNLL-2012 as it is read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.data import Case, Part, load_conll2012, load_relations, read_conll2012
from heedful.errors import HeedfulError

BEGIN, END = "#begin document (bc/cctv/00/cctv_0001); part 002", "#end document"


def row(number: int, word: str, mentions: str = "-") -> str:
    """With all columns of the shared task, and two of arguments."""
    columns = ("bc/cctv/00/cctv_0001", 2, number, word, "NN", "*", "-", "-", "-", "A", "*")
    return "   ".join(map(str, (*columns, "*", "(V*)", mentions)))


def document(*sentences: str) -> list[str]:
    """Words with their mentions after a slash: `Ann/(1)`."""
    lines = [BEGIN]
    for sentence in sentences:
        for number, word in enumerate(sentence.split()):
            form, _, mentions = word.rpartition("/") if "/" in word else (word, "", "-")
            lines.append(row(number, form, mentions))
        lines.append("")
    return [*lines, END]


def spans(part: Part) -> dict[str, set[tuple[int, int]]]:
    return {name: {(a, b) for a, b in found} for name, found in part.clusters.items()}


def test_mentions_are_nested_overlap_and_end_together() -> None:
    """Cluster 0 is inside of one of its own, 1 and 2 overlap, 3 and 4 end in one word."""
    (part,) = read_conll2012(
        document(
            "a/(0|(1 b/(0 c/(2|0) d/1) e/2) f/0)",
            "g/(3|(4) h/- i/(4 j/4)|3)",
        )
    )
    assert part.words == list("abcdefghij")
    assert spans(part) == {
        "0": {(1, 2), (0, 5)},
        "1": {(0, 3)},
        "2": {(2, 4)},
        "3": {(6, 9)},
        "4": {(6, 6), (8, 9)},
    }


def test_parts_have_clusters_of_their_own() -> None:
    first, second = read_conll2012([*document("Ann/(1) left"), "", *document("Bob/(1) came/(1)")])
    assert first.id == "bc/cctv/00/cctv_0001 part 2"
    assert spans(first) == {"1": {(0, 0)}} and spans(second) == {"1": {(0, 0), (1, 1)}}


def test_words_are_as_people_write_them() -> None:
    words = ("-LRB-", "/.", "and/or", "-RRB-", "x-")
    (part,) = read_conll2012([BEGIN, *(row(n, word) for n, word in enumerate(words)), END])
    assert part.words == ["(", ".", "and/or", ")", "x-"]


def test_short_rows_and_files_of_every_name_are_read(tmp_path: Path) -> None:
    lines = [
        "#begin document (wiki); part 000",
        "w 0 0 Ann (1)",
        "w\t0\t1\tknows\t-",
        "w 0 2 her (1)",
    ]
    for name in ("a.conll", "a.gold_conll", "dev.english.v4_gold_conll", "b.v9_auto_conll"):
        path = tmp_path / name
        path.write_text("\ufeff" + "\r\n".join([*lines, END]), encoding="utf8", newline="")
        (part,) = load_conll2012(path)
        assert part.words == ["Ann", "knows", "her"] and spans(part) == {"1": {(0, 0), (2, 2)}}
        (found,) = load_relations(path)
        assert found.cases == (Case("coreference", "to antecedent", 2, (0,), (0,)),)
        assert found.text == "Ann knows her" and found.id == "wiki part 0"


def test_a_conll_file_may_still_have_dependencies(tmp_path: Path) -> None:
    path = tmp_path / "some.conll"
    rows = [("1", "Rain", "2", "nsubj"), ("2", "fell", "0", "root")]
    path.write_text("\n".join("\t".join([n, w, *"____", h, r, *"__"]) for n, w, h, r in rows))
    (found,) = load_relations(path)
    assert {case.relation for case in found.cases} == {"nsubj"}


def test_two_mentions_that_end_in_one_word_are_both_asked(tmp_path: Path) -> None:
    """ "Spain … Its king … the king of Spain": the last word ends a mention of each cluster."""
    path = tmp_path / "some.conll"
    path.write_text("\n".join(document("Spain/(7) : his/(5) , the/(5 king of Spain/(7)|5)")))
    (found,) = load_relations(path)
    ask = "coreference", "to antecedent"
    assert set(found.cases) == {Case(*ask, 7, (0,), (2, 0)), Case(*ask, 7, (2,), (2, 0))}


DAMAGED: Mapping[str, tuple[list[str], str]] = {
    "an open mention": (document("a/(1 b", "c/(1)"), "cluster 1 that begins in line 2 never ends"),
    "the inner one is open": (document("a/(1 b/(1 c/1)"), "that begins in line 2 never ends"),
    "a mention over two parts": (document("a/(1") + document("b/1)"), "in line 2 never ends"),
    "a closed mention": (document("a/(1)", "b/1)"), "line 4 ends a mention of cluster 1"),
    "another cluster": (document("a/(1 b/11)"), "line 3 ends a mention of cluster 11"),
    "no bracket": (document("a/1"), "line 2 has '1' for a mention"),
    "no number": (document("a/(x)"), r"line 2 has '\(x\)' for a mention"),
    "half a row": ([BEGIN, "cctv_0001 2 0", END], "line 2 has 3 columns"),
    "no word number": ([BEGIN, "c 2 x a -", END], "line 2 has the word number 'x' where a number"),
    "a lost row": (
        [BEGIN, row(0, "a"), row(2, "c"), END],
        "line 3 has the word number '2' where 1",
    ),
    "a lost blank": (
        [BEGIN, row(0, "a"), row(0, "b"), END],
        "line 3 has the word number '0' where 1",
    ),
    "no end": ([BEGIN, row(0, "a")], "line 2 comes before the end"),
    "no end before another": ([BEGIN, row(0, "a"), *document("b")], "line 3 comes before the end"),
    "no beginning": ([row(0, "a"), END], "line 1 is in no document"),
    "an end alone": ([*document("a"), END], "line 5 ends a document that never began"),
    "no name": (["#begin document", END], "line 1 begins a document without its name"),
    "no words": ([BEGIN, row(0, "[WORD]"), END], r"line 2 has \[WORD\]"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_files_are_refused_by_line(name: str) -> None:
    lines, sentence = DAMAGED[name]
    with pytest.raises(HeedfulError, match=sentence):
        list(read_conll2012(lines))


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 8), st.integers(0, 8)), max_size=8, unique=True
    )
)
def test_what_is_written_is_read(mentions: list[tuple[int, int, int]]) -> None:
    """Of one cluster, mentions that cross cannot be told from nested ones."""
    wanted: dict[int, set[tuple[int, int]]] = {}
    for cluster, one, other in mentions:
        first, last = sorted((one, other))
        crossing = any(
            a < first <= b < last or first < a <= last < b for a, b in wanted.get(cluster, ())
        )
        if not crossing:
            wanted.setdefault(cluster, set()).add((first, last))
    cells: list[list[str]] = [[] for _ in range(9)]
    every = sorted((a, -b, c) for c, found in wanted.items() for a, b in found)
    for first, last, cluster in every:  # the longest begins first
        cells[first].append(f"({cluster})" if first == -last else f"({cluster}")
    for first, last, cluster in reversed(every):  # and ends last
        if first != -last:
            cells[-last].append(f"{cluster})")
    lines = [BEGIN, *(row(n, "w", "|".join(cell) or "-") for n, cell in enumerate(cells)), END]
    (part,) = read_conll2012(lines)
    assert {int(name): found for name, found in spans(part).items()} == wanted
