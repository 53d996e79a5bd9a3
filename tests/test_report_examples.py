"""The texts of a page: words that models share, cells of studies and audits, and their data."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.auditing import experiments
from heedful.report import (
    MEASURED,
    WEIGHTS,
    Cell,
    Document,
    Map,
    Sorting,
    Span,
    audit_cells,
    averaged,
    common_axis,
    drawn,
    evidence_of,
    gather,
    put_examples,
    reach_of,
    shown_maps,
    study_cells,
    summed,
    text,
)
from heedful.report.cell_builder import AUDIT_FOUND, AUDIT_SPREAD
from heedful.report.cell_data import number
from heedful.report.cells import LEAST, Reading
from heedful.specs import ModelSpec
from test_report_audit import parts_of
from test_report_fake import Fake, fake_study
from verdict_tables import World

HOSTILE = (
    "<script>alert(1)</script>",
    "a\u202eb",
    "x" * 20_000,
    "👨‍👩‍👧",
    "\ud800",
    "</script>",
    "nul\x00l",
)


class Kept:
    """A sheet that only remembers, as JSON that a browser would read."""

    def __init__(self) -> None:
        self.blobs: dict[str, str] = {}

    def put(self, name: str, value: Any) -> None:
        assert name not in self.blobs
        written = json.dumps(value, allow_nan=False, ensure_ascii=False)
        self.blobs[name] = written.encode("utf8").decode("utf8")  # no half characters

    def __getitem__(self, name: str) -> Any:
        return json.loads(self.blobs[name])

    def examples(self, cell: Mapping[str, Any]) -> list[dict[str, Any]]:
        return list(self[cell["blob"]]["examples"])

    def texts(self, cell: Mapping[str, Any]) -> list[dict[str, Any]]:
        return list(self[f"texts-{cell['corpus']}"]["texts"])


def shown(cells: Sequence[Cell], most: int = 500) -> Kept:
    sheet = Kept()
    assert put_examples(sheet, cells, most)
    return sheet


# the axis


@st.composite
def tokenizations(draw: st.DrawFn) -> list[list[Span]]:
    """Each cuts a text of thirty characters into pieces of its own, and drops some of them."""
    found = []
    for _ in range(draw(st.integers(1, 4))):
        cuts = sorted(draw(st.sets(st.integers(0, 30), min_size=2, max_size=12)))
        pieces = list(pairwise(cuts))
        kept = draw(st.lists(st.booleans(), min_size=len(pieces), max_size=len(pieces)))
        found.append([piece for piece, keep in zip(pieces, kept, strict=True) if keep])
    return found


@given(tokenizations())
def test_every_token_lies_in_its_word_and_words_are_apart(given_spans: list[list[Span]]) -> None:
    axis = common_axis(given_spans)
    for tokens, places in zip(given_spans, axis.numbers, strict=True):
        assert len(tokens) == len(places)
        assert list(places) == sorted(places)
        for (start, end), place in zip(tokens, places, strict=True):
            low, high = axis.words[place]
            assert low <= start and end <= high
    for (_, end), (start, _) in pairwise(axis.words):
        assert end <= start
    covered = {c for tokens in given_spans for a, b in tokens for c in range(a, b)}
    assert covered == {c for a, b in axis.words for c in range(a, b)}


@given(tokenizations())
def test_tokens_share_a_word_if_and_only_if_overlaps_link_them(
    given_spans: list[list[Span]],
) -> None:
    axis = common_axis(given_spans)
    spans = [span for tokens in given_spans for span in tokens]
    places = [place for numbers in axis.numbers for place in numbers]
    linked = _components(spans)
    for i in range(len(spans)):
        for j in range(len(spans)):
            assert (places[i] == places[j]) == (linked[i] == linked[j])


def _components(spans: list[Span]) -> list[int]:
    """The slow way: names spread over overlaps until nothing changes."""
    names = list(range(len(spans)))
    for _ in spans:
        for i, (a, b) in enumerate(spans):
            for j, (c, d) in enumerate(spans):
                if a < d and c < b:
                    names[i] = names[j] = min(names[i], names[j])
    return names


@given(tokenizations())
def test_one_tokenization_alone_gives_itself(given_spans: list[list[Span]]) -> None:
    axis = common_axis(given_spans[:1])
    assert list(axis.words) == given_spans[0]
    assert axis.numbers == (tuple(range(len(given_spans[0]))),)


def test_words_by_hand() -> None:
    """'don't stop' cut as do|n't|stop and as don|'|t|stop, one of them with its blank."""
    axis = common_axis([[(0, 2), (2, 5), (6, 10)], [(0, 3), (3, 4), (4, 5), (5, 10)]])
    assert axis.words == ((0, 5), (5, 10))
    assert axis.numbers == ((0, 0, 1), (0, 0, 0, 1))


# from tokens to words


@given(st.integers(1, 8), st.integers(1, 4), st.integers(1, 3), st.integers(0, 10**6))
def test_moving_to_words_leaves_the_prediction_as_it_is(
    tokens: int, width: int, logits: int, seed: int
) -> None:
    draw = np.random.default_rng(seed)
    places = sorted(draw.integers(0, width, tokens).tolist())
    weights, said = draw.dirichlet(np.ones(tokens)), draw.normal(size=(tokens, logits))
    by_word = summed(weights, places, width)
    words = averaged(said, weights, places, width)
    there = ~np.isnan(by_word)
    assert set(np.flatnonzero(there)) == set(places)
    np.testing.assert_allclose(by_word[there] @ words[there], weights @ said, atol=1e-12)


def test_a_word_without_weight_says_the_even_mean() -> None:
    said = np.array([[1.0], [3.0], [5.0]])
    found = averaged(said, np.array([0.0, 0.0, 1.0]), [0, 0, 1], 3)
    np.testing.assert_allclose(found[:2, 0], [2.0, 5.0])
    assert math.isnan(found[2, 0])
    assert np.isnan(summed(np.array([np.nan, np.nan]), [0, 0], 1)).all()
    assert summed(np.array([np.nan, 2.0]), [0, 0], 1).tolist() == [2.0]


def test_reach_by_hand() -> None:
    low, high = reach_of(np.array([[0.0], [math.log(3)]]), 1) or (0, 0)
    assert (low, high) == (pytest.approx(0.5), pytest.approx(0.75))
    two = reach_of(np.array([[1.0, 1.0], [0.0, math.log(3)]]), 0)
    assert two == (pytest.approx(0.25), pytest.approx(0.5))
    assert reach_of(np.zeros((2, 3)), 0) is None
    assert reach_of(np.array([[2000.0], [-2000.0]]), 1) == (0.0, 1.0)


# plain values


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_none(value: float) -> None:
    assert number(value) is None


@given(st.floats(-1e6, 1e6))
def test_digits(value: float) -> None:
    found = number(value, 9)
    assert found is not None and found == pytest.approx(value, rel=1e-8, abs=1e-300)
    json.dumps(found)


@given(st.text(max_size=300))
def test_any_text_can_be_written(value: str) -> None:
    assert len(text(value)) <= 200
    text(value).encode("utf8")


# made-up cells


def cell(
    texts: Mapping[str, str],
    cut: Callable[[str], list[Span]],
    corpus: str = "made up",
    **changed: Any,
) -> Cell:
    """Attention is even; each token says its own number."""
    documents = {
        name: Document(each, "", tuple(cut(each)), 1, None) for name, each in texts.items()
    }

    def reading(name: str) -> Reading:
        size = len(documents[name].spans)
        even, said = np.full(size, 1 / size), np.arange(size, dtype=float)[:, None]
        maps = {"attention": even, "other": -even}
        measures = {"jsd": math.nan, "length": float(size)}
        return Reading(1, 0.75, maps, said, measures, reach_of(said, 1))

    given_cell = Cell(
        corpus=corpus,
        classes=("no", "yes"),
        model="model",
        seed="0",
        source="study",
        names=tuple(texts),
        maps=(Map("attention", "attention", "attention"), Map("other", "other")),
        measures=(Sorting("jsd", "distance"), Sorting("length", "length")),
        means={"jsd": math.nan, "length": 3.0},
        documents=lambda names: {name: documents[name] for name in names},
        readings=lambda names: {name: reading(name) for name in names},
        logits=1,
    )
    return replace(given_cell, **changed)


def by_blanks(given_text: str) -> list[Span]:
    spans, start = [], 0
    for part in given_text.split(" "):
        spans.append((start, start + len(part)))
        start += len(part) + 1
    return [(a, b) for a, b in spans if b > a]


def by_characters(given_text: str) -> list[Span]:
    return [(i, i + 1) for i, c in enumerate(given_text) if c != " "]


def test_hostile_words_are_only_text() -> None:
    texts = {f"<b>{i}\ud800": " ".join(HOSTILE[i:]) for i in range(3)}
    sheet = shown([cell(texts, by_blanks)])
    (found,) = sheet["examples"]["cells"]
    words = sheet.texts(found)
    assert {len(each["w"]) for each in words} == {7, 6, 5}
    assert max(len(word) for each in words for word in each["w"]) == 200
    assert all("👨‍👩‍👧" in each["w"] and "?" in each["w"] for each in words)
    assert found["measures"][0]["key"] == "jsd" and "jsd" not in found["means"]
    assert all(list(each["m"]) == ["length"] for each in sheet.examples(found))


def test_models_that_cut_texts_differently_share_words() -> None:
    texts = {"a": "ab cd", "b": "e f"}
    sheet = shown([cell(texts, by_blanks), cell(texts, by_characters, model="letters")])
    assert len(sheet["examples"]["corpora"]) == 1
    one, other = sheet["examples"]["cells"]
    assert sheet.texts(one) == sheet.texts(other)
    words = {each["id"]: each["w"] for each in sheet.texts(one)}
    assert words == {"a": ["ab", "cd"], "b": ["e", "f"]}
    place = next(i for i, each in enumerate(sheet.texts(one)) if each["id"] == "a")
    (whole,) = (e for e in sheet.examples(one) if e["t"] == place)
    (letters,) = (e for e in sheet.examples(other) if e["t"] == place)
    assert whole["maps"]["attention"] == letters["maps"]["attention"] == [0.5, 0.5]
    assert whole["z"] == [[0], [1]] and letters["z"] == [[0.5], [2.5]]
    assert letters["merged"] and "merged" not in whole
    assert letters["reach"] == [0.5, pytest.approx(1 / (1 + math.exp(-3)), abs=1e-4)]
    assert {each["key"]: each["signed"] for each in one["maps"]} == {
        "attention": False,
        "other": True,
    }


def test_a_word_that_a_model_did_not_read_has_no_number() -> None:
    texts = {"a": "ab cd ef"}
    short = cell(texts, lambda each: by_blanks(each)[:2], model="short")
    sheet = shown([cell(texts, by_blanks), short])
    (example,) = sheet.examples(sheet["examples"]["cells"][1])
    assert example["maps"]["attention"] == [0.5, 0.5, None]
    assert example["z"] == [[0], [1], None]


@pytest.mark.parametrize(
    "change",
    [
        {"corpus": "another"},
        {"documents": lambda names: {n: Document("zz", "", ((0, 2),), 1) for n in names}},
        {"documents": lambda names: {n: Document("ab cd", "", ((0, 2),), 0) for n in names}},
        {"classes": ("no", "yes", "maybe")},
    ],
)
def test_other_texts_labels_or_classes_are_another_corpus(change: dict[str, Any]) -> None:
    texts = {"a": "ab cd"}
    groups = [cell(texts, by_blanks), cell(texts, by_blanks, **change)]
    read = {"readings": lambda names: {n: Reading(1, 0.5, {}) for n in names}}
    sheet = shown([groups[0], replace(groups[1], **read)])
    assert len(sheet["examples"]["corpora"]) == 2


def test_one_text_that_differs_is_not_shown_as_if_it_were_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only some are compared before two models count as being of one corpus."""
    monkeypatch.setattr(import_module("heedful.report.cells"), "LOOKED_AT", 1)
    texts = {"a": "ab cd", "b": "ef gh"}
    last = drawn(texts)[-1]
    sheet = shown([cell(texts, by_blanks), cell({**texts, last: "zzzzz"}, by_blanks)])
    assert len(sheet["examples"]["corpora"]) == 1
    assert [each["shown"] for each in sheet["examples"]["cells"]] == [2, 1]


def test_small_weights_keep_their_digits_and_small_scores_need_fewer() -> None:
    """As scores tie where τ is measured: within a share of each weight, or of the largest."""
    scores = np.array([0.123456789123, 1.23456789123e-5])
    maps = (Map("attention", "attention", "attention", weights=True), Map("other", "other"))
    read = {"attention": scores, "other": scores}
    made = cell({"a": "ab cd"}, by_blanks, maps=maps)
    sheet = shown([replace(made, readings=lambda names: {n: Reading(1, 0.5, read) for n in names})])
    (example,) = sheet.examples(sheet["examples"]["cells"][0])
    assert example["maps"] == {
        "attention": [0.123456789, 1.23456789e-5],
        "other": [0.123456789, 1.2346e-5],
    }


def test_numbers_for_names_of_classes_give_way() -> None:
    texts = {"a": "ab cd"}
    numbered = cell(texts, by_blanks, classes=("LABEL_0", "LABEL_1"))
    (corpus,) = shown([numbered, cell(texts, by_blanks)])["examples"]["corpora"]
    assert corpus["classes"] == ["no", "yes"]


def test_texts_are_drawn_the_same_for_all_models_and_those_all_know_come_first() -> None:
    texts = {f"t{i}": f"word {i}" for i in range(40)}
    some = {name: texts[name] for name in list(texts)[::2]}
    sheet = shown([cell(texts, by_blanks), cell(some, by_blanks, model="fewer")], most=20)
    one, other = sheet["examples"]["cells"]
    assert [each["id"] for each in sheet.texts(one)] == drawn(some)
    assert one["shown"] == other["shown"] == 20 and (one["of"], other["of"]) == (40, 20)
    again = shown([cell(texts, by_blanks), cell(some, by_blanks, model="fewer")], most=20)
    assert again.blobs == sheet.blobs
    assert drawn(texts) != list(texts)


def test_what_more_is_known_of_comes_first() -> None:
    texts = {f"t{i}": f"word {i}" for i in range(40)}
    sheet = shown([cell(texts, by_blanks, whole=frozenset({"t7", "t30"}))], most=3)
    names = [each["id"] for each in sheet.texts(sheet["examples"]["cells"][0])]
    assert set(names[:2]) == {"t7", "t30"} and len(names) == 3


def test_long_texts_make_it_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {f"t{i}": "word " * 50 + str(i) for i in range(100)}
    monkeypatch.setattr("heedful.report.cell_data.NUMBERS", 51 * 5 * 30)
    (found,) = shown([cell(texts, by_blanks)])["examples"]["cells"]
    assert found["shown"] == 30 and found["of"] == 100
    monkeypatch.setattr("heedful.report.cell_data.NUMBERS", 1)
    (found,) = shown([cell(texts, by_blanks)])["examples"]["cells"]
    assert found["shown"] == LEAST


def test_a_very_long_text_is_cut_and_cannot_be_dragged() -> None:
    sheet = shown([cell({"a": "w " * 3000 + "end"}, by_blanks)])
    (found,) = sheet["examples"]["cells"]
    (one,), (example,) = sheet.texts(found), sheet.examples(found)
    assert len(one["w"]) == 2000 and one["cut"] == 3001
    assert len(example["maps"]["attention"]) == 2000
    assert "z" not in example and "reach" not in example


def test_of_a_vocabulary_only_the_words_that_occur_are_named() -> None:
    classes = [f"word{i}" for i in range(5000)]
    made = cell({"a": "ab cd", "b": "ef"}, by_blanks)

    def far(names: Sequence[str]) -> dict[str, Reading]:
        return {n: replace(made.readings([n])[n], predicted=4321) for n in names}

    sheet = shown([replace(made, classes=classes, readings=far)])
    (corpus,) = sheet["examples"]["corpora"]
    assert corpus["classes"] == ["word1", "word4321"]
    (found,) = sheet["examples"]["cells"]
    assert {each["p"] for each in sheet.examples(found)} == {1}
    assert {each["y"] for each in sheet.texts(found)} == {0}


def test_nothing_to_show_puts_nothing() -> None:
    sheet = Kept()
    assert not put_examples(sheet, [])
    assert not sheet.blobs


# studies


def test_a_study_with_hostile_words(tmp_path: Path) -> None:
    fake = Fake(("sst", "imdb"), seeds=(0, 1), texts=16)
    store, run = fake_study(tmp_path, fake)
    cells = study_cells(gather(store, [run]))
    assert [(c.corpus, c.model, c.seed) for c in cells] == [
        (corpus, "bilstm-additive", seed) for corpus in ("sst", "imdb") for seed in ("0", "1")
    ]
    sheet = shown(cells, most=20)
    index = sheet["examples"]
    assert [each["name"] for each in index["corpora"]] == ["SST", "IMDB"]
    assert index["corpora"][0]["classes"] == ["negative", "posi<b>tive"]
    assert len(index["cells"]) == 4 and {each["shown"] for each in index["cells"]} == {10}
    first = index["cells"][0]
    maps = {each["key"]: each for each in first["maps"]}
    assert maps["attention"]["kind"] == "attention" and maps["adversary"]["kind"] == "furthest"
    assert maps["adversary"]["measure"] == "furthest" and "searched" not in maps["adversary"]
    assert {each["key"] for each in first["maps"]} <= set(sheet.examples(first)[0]["maps"])
    for each in index["cells"]:
        texts = sheet.texts(each)
        for example in sheet.examples(each):
            words = texts[example["t"]]["w"]
            assert words[0] == "<script>alert(1)</script>" and words[2] == "a\u202eb"
            assert {len(scores) for scores in example["maps"].values()} == {len(words)}
            assert sum(example["maps"]["attention"]) == pytest.approx(1, abs=0.01)


def test_means_are_over_all_texts(tmp_path: Path) -> None:
    store, run = fake_study(tmp_path, Fake(texts=50))
    evidence = gather(store, [run])
    sheet = shown(study_cells(evidence), most=5)
    (found,) = sheet["examples"]["cells"]
    rows = evidence.rows("adversarial", ["jsd_exact"])
    assert found["means"]["furthest"] == pytest.approx(rows["value"].mean(), rel=1e-5)
    tau = evidence.rows("correlation", ["tau_gradient"])["value"].mean()
    assert found["means"]["disagreement_gradient_fixed"] == pytest.approx(1 - tau, rel=1e-5)
    assert (found["shown"], found["of"]) == (5, 50)


def test_maps_of_sentences_are_not_taken_for_maps_of_tokens(tmp_path: Path) -> None:
    store, run = fake_study(tmp_path, Fake(texts=8))
    cells = gather(store, [run]).cells
    key = cells.loc[cells["probe"] == "adversarial", "run"].iloc[0]
    maps = store.open(key).table("maps")
    path = store.open(key).path / "maps.parquet"
    maps["scores"] = [scores[:-1] for scores in maps["scores"]]
    maps.to_parquet(path, index=False)
    (cell,) = study_cells(gather(store, [run]))
    assert not cell.maps and not cell.logits and len(cell.names) == 8
    (found,) = shown([cell])["examples"]["cells"]
    assert found["maps"] == [] and "add the experiment correlation" in found["note"]


def test_a_study_whose_experiments_keep_no_maps_shows_its_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those on pairs and on generation: words, predictions and what was measured."""
    store, run = fake_study(tmp_path, Fake(texts=8))
    monkeypatch.setattr("heedful.report.cell_builder.StudyModel._maps", lambda model: iter(()))
    cells = study_cells(gather(store, [run]))
    sheet = shown(cells)
    for cell in sheet["examples"]["cells"]:
        examples = sheet.examples(cell)
        assert len(examples) == 8 and all(not example["maps"] for example in examples)
        assert all(example["p"] in (0, 1) and example["m"] for example in examples)
        assert all(text["w"] for text in sheet.texts(cell))


def test_without_the_corpus_there_is_nothing_to_show(tmp_path: Path) -> None:
    store, run = fake_study(tmp_path, Fake(texts=8))
    evidence = gather(store, [run])
    lost = evidence.cells.assign(corpus_run="corpus-0000000000000000")
    assert study_cells(replace(evidence, cells=lost)) == []


def test_two_settings_of_one_name_are_told_apart(tmp_path: Path) -> None:
    spec = ModelSpec("bilstm", "additive")
    wider = replace(spec, hidden=64)
    store, run = fake_study(tmp_path, Fake(texts=8, specs=(spec, wider)))
    names = [each.model for each in study_cells(gather(store, [run]))]
    assert len(set(names)) == 2 and all(name.startswith("bilstm-additive") for name in names)


# audits


@cache
def judged() -> dict[str, Any]:
    return parts_of(World(truth=0.2, examples=12), data="made up, test split")


def made_up_audit() -> dict[str, Any]:
    parts = judged()
    documents = parts["documents"].assign(
        starts=[by_starts(w)[0] for w in parts["documents"]["words"]],
        ends=[by_starts(w)[1] for w in parts["documents"]["words"]],
        words_a=[len(w) for w in parts["documents"]["words"]],
    )
    return {**parts, "documents": documents}


def by_starts(words: Sequence[str]) -> tuple[list[int], list[int]]:
    ends = np.cumsum([len(word) + 1 for word in words]) - 1
    return [int(end) - len(word) for end, word in zip(ends, words, strict=True)], ends.tolist()


def test_an_audit_is_one_cell() -> None:
    parts = made_up_audit()
    names = sorted(parts["documents"]["example"])
    lists = [
        (names[0], "weights", "attention", None),
        (names[0], "logit", "0", None),
        (names[0], "furthest", "searched", None),
        (names[0], "removed", "delete", [0.0, 0.5, 1.0]),
        (names[0], "curve", "attention", [0.9, 0.4, 0.5]),
        (names[0], "curve", "gone", [0.9, 0.4, 0.5]),
    ]
    size = len(parts["documents"].set_index("example").loc[names[0], "words"])
    parts["shown"] = pd.DataFrame(
        [(n, k, m, np.full(size, 1 / size) if s is None else s) for n, k, m, s in lists],
        columns=["example", "kind", "name", "scores"],
    )
    sheet = shown(audit_cells(evidence_of(parts), 3))
    index = sheet["examples"]
    assert [each["name"] for each in index["corpora"]] == ["made up"]
    assert index["cells"][0]["audit"] == 3 and index["cells"][0]["run"] == "audit of 12 texts"
    (found,) = index["cells"]
    assert found["source"] == "audit" and found["of"] == 12
    kinds = [(each["key"], each["kind"]) for each in found["maps"]]
    assert kinds == [("attention", "attention"), ("lrp", "explanation"), ("furthest", "furthest")]
    far = found["maps"][2]
    assert "a lower bound" in far["title"] and far["searched"]
    assert far["measure"] == "furthest_found_audit"
    first, *rest = sheet.examples(found)
    assert sheet.texts(found)[first["t"]]["id"] == names[0]
    assert first["curves"] == {"attention": [[0, 0.9], [0.5, 0.4], [1, 0.5]]}
    assert first["operator"] == "delete"
    assert len(first["z"]) == size and "reach" in first
    assert first["maps"]["attention"][0] == pytest.approx(1 / size, rel=1e-8)
    assert not any({"z", "curves", "reach"} & set(each) for each in rest)
    assert any("r" in each for each in sheet.texts(found))
    keys = {each["key"] for each in found["measures"]}
    assert {"comprehensiveness_attention", "shuffled", "even", "confidence", "length"} <= keys
    assert found["means"].keys() <= keys


def test_importance_measures_come_before_other_explanations() -> None:
    """What is shown beside attention where nothing is recommended is no kind of attention."""
    parts = made_up_audit()
    names = sorted(parts["documents"]["example"])
    wanted = ("attention", "effective_attention", "gradient_input", "occlusion", "random")
    lines = [(name, key, [0.5, 0.5]) for name in names for key in wanted]
    maps = pd.DataFrame(lines, columns=["example", "explanation", "scores"])
    settings = {**parts["verdict"]["settings"], "importance": ["occlusion"], "floors": ["random"]}
    nothing = {**parts["verdict"]["recommendation"], "best": ""}
    verdict = {**parts["verdict"], "settings": settings, "recommendation": nothing}
    (made,) = audit_cells(evidence_of({**parts, "maps": maps, "verdict": verdict}))
    assert [each.key for each in made.maps] == [
        *("attention", "occlusion", "effective_attention", "gradient_input", "random")
    ]
    assert {each.title for each in made.maps} >= {"gradient × input", "effective attention"}
    assert [each.key for each in made.maps if each.weights] == ["attention"]


def test_flips_are_those_of_the_curves_that_were_recorded() -> None:
    parts = made_up_audit()
    names = sorted(parts["documents"]["example"])
    first = parts["rows"].iloc[0]
    added = [
        {**first, "example": name, "explanation": "attention", "operator": operator,
         "measure": "flip_share", "value": value}
        for i, name in enumerate(names)
        for operator, value in (("delete", 0.9), ("mask", 0.25 if i else np.nan))
    ]  # fmt: skip
    rows = parts["rows"][parts["rows"]["measure"] != "flip_share"]
    rows = pd.concat([rows, pd.DataFrame(added)], ignore_index=True)
    shown_too = pd.DataFrame(
        [(names[0], "removed", "mask", [0.0, 1.0])],
        columns=["example", "kind", "name", "scores"],
    )
    (made,) = audit_cells(evidence_of({**parts, "rows": rows, "shown": shown_too}))
    (sorting,) = (each for each in made.measures if each.key == "flip_share_attention")
    assert "(mask)" in sorting.title and not sorting.descending
    read = made.readings(names)
    assert [read[name].measures.get(sorting.key) for name in names[:2]] == [None, 0.25]


def test_what_was_searched_is_called_a_lower_bound_and_searches_are_told_apart() -> None:
    mine, theirs = ({each.key: each.title for each in found} for found in _searched())
    assert not set(mine) & set(theirs)
    assert all("a lower bound" in title for title in (*mine.values(), *theirs.values()))
    maps = shown_maps(["adversary", "adversary_search", "adversary_entropy_matched"], exact=True)
    assert [each.searched for each in maps] == [False, True, True]
    assert all(each.searched == ("a lower bound" in each.title) for each in maps)
    (found,) = shown_maps(["adversary", "adversary_search"], exact=False)
    assert found.searched and "a lower bound" in found.title
    assert found.measure in theirs and maps[1].measure in theirs


def _searched() -> tuple[list[Sorting], list[Sorting]]:
    audits = [AUDIT_FOUND, AUDIT_SPREAD]
    names = ("jsd_search", "jsd_entropy_matched")
    return audits, [each.sorting for each in MEASURED if each.measure in names]


def test_weights_tie_as_where_they_were_measured() -> None:
    assert WEIGHTS == experiments.WEIGHTS


def test_audits_of_one_model_are_named_by_what_differs() -> None:
    few, many = made_up_audit(), parts_of(World(truth=0.2, examples=14), data="made up, test split")
    pages = [few, many, few]
    cells = [c for i, each in enumerate(pages) for c in audit_cells(evidence_of(each), i)]
    found = {each["audit"]: each["run"] for each in shown(cells)["examples"]["cells"]}
    assert found == {
        0: "audit of 12 texts, no. 1",
        1: "audit of 14 texts",
        2: "audit of 12 texts, no. 2",
    }
    several = {**few, "facts": {**few["facts"], "checkpoints": 3}}
    assert [each.run for each in audit_cells(evidence_of(several))] == [
        "audit of 12 texts, 3 seeds"
    ]


def test_an_audit_of_an_earlier_version_is_shown_too() -> None:
    parts = judged()
    assert "starts" not in parts["documents"] and "shown" not in parts
    sheet = shown(audit_cells(evidence_of(parts)))
    (found,) = sheet["examples"]["cells"]
    words = parts["documents"].set_index("example")["words"]
    assert all(each["w"] == words[each["id"]] for each in sheet.texts(found))


def test_a_pair_read_as_one_text_has_the_words_of_both() -> None:
    parts = made_up_audit()
    documents = parts["documents"]
    words = [["ab", "cd", "ef"] for _ in range(len(documents))]
    parts["documents"] = documents.assign(
        words=words, text="ab", text_b="cd  ef", rationale=None, words_a=1,
        starts=[[0, 0, 4]] * len(documents), ends=[[2, 2, 6]] * len(documents),
    )  # fmt: skip
    sheet = shown(audit_cells(evidence_of(parts)))
    (found,) = sheet["examples"]["cells"]
    assert all(each["w"] == ["ab", "cd", "ef"] and "b" not in each for each in sheet.texts(found))
    assert all(each["a"] == 1 for each in sheet.texts(found))
    both = parts["documents"]
    parts["documents"] = parts["documents"].assign(
        words=[["ab"]] * len(documents), starts=[[0]] * len(documents), ends=[[2]] * len(documents)
    )
    sheet = shown(audit_cells(evidence_of(parts)))
    texts = sheet.texts(sheet["examples"]["cells"][0])
    assert {each["b"] for each in texts} == {"cd  ef"} and not any("a" in each for each in texts)
    alone = audit_cells(evidence_of(parts))
    sheet = shown([*audit_cells(evidence_of({**parts, "documents": both}), 1), *alone])
    texts = sheet.texts(sheet["examples"]["cells"][0])
    assert all((each["a"], each["b"]) == (1, "cd  ef") for each in texts)


def test_empty_tables_are_no_cell() -> None:
    parts = made_up_audit()
    empty = {name: parts[name].iloc[:0] for name in ("rows", "maps", "documents")}
    assert audit_cells(evidence_of({**parts, **empty})) == []
    assert audit_cells(evidence_of({**parts, "maps": None})) == []


def test_nothing_of_it_needs_torch() -> None:
    code = "import sys, heedful.report.cell_builder; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
