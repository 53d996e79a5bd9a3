"""Needles: prompts by hand, what makes one count, and a tiny model asked."""

from __future__ import annotations

import random
from dataclasses import replace
from importlib import import_module
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

from tiny_hf import tiny_hf  # sets HF_HUB_OFFLINE, which must come before transformers

pytest.importorskip("transformers")

from heedful.benchmark import (
    NEEDLE_KINDS,
    Checked,
    NeedlePlan,
    needles_markdown,
    prompt,
    read_needles,
    run_needles,
)
from heedful.benchmark import needles_run as running
from heedful.benchmark.measure import COLUMNS as BENCHMARK_COLUMNS
from heedful.cli import main
from heedful.errors import HeedfulError
from heedful.metrics import best_of_true
from heedful.perturbations import removed
from heedful.targets import open_target, read_documents
from heedful.types import Batch
from paper_tables.which_metric import page
from tiny_tokenizers import byte_pairs, saved


@pytest.mark.parametrize("kind", NEEDLE_KINDS)
def test_a_prompt_says_the_answer_once(kind: str) -> None:
    for number in range(30):
        made = prompt(kind, 3, number)
        needle = made.sentences[made.needle]
        assert needle == f"{made.question} {made.answer}."
        others = [each for each in made.sentences if each != needle]
        assert len(others) == 19 == len(set(others))
        assert not any(made.answer in each or made.question in each for each in others)
        options: dict[str, Any] = {"rationale_column": "rationale", "label_column": None}
        read = read_documents([made.row], unit="sentence", **options)[0]
        assert read.surface == made.sentences
        assert read.rationale == tuple(place == made.needle for place in range(20))


def test_prompts_do_not_depend_on_how_many_are_drawn() -> None:
    assert prompt("door", 0, 4) == prompt("door", 0, 4)
    some = [prompt(kind, seed, n) for kind in NEEDLE_KINDS for seed in (0, 1) for n in range(9)]
    assert len({each.row["text"] for each in some}) == 72
    places = [prompt("box", 0, number).needle for number in range(400)]
    assert set(places) == set(range(20)) and 7 < sum(places) / 400 < 12


MADE = replace(prompt("door", 0, 0), needle=1)
FINE = Checked(MADE.answer, 0.8, (0.75, 0.1, 0.79), (False, True, False))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, ""),
        ({"answer": "x"}, "the model answers 'x'"),
        ({"without": (0.75, 0.44, 0.79)}, "without the needle the probability falls by 45%"),
        ({"changed": (False, False, False)}, "without the needle the answer is the same"),
        ({"without": (0.4, 0.1, 0.79)}, "another sentence matters as well"),
        ({"changed": (False, True, True)}, "without another sentence the answer is another"),
    ],
)
def test_what_a_prompt_needs_to_count(change: dict[str, Any], said: str) -> None:
    checked = replace(FINE, **change)
    assert "; ".join(checked.reasons(MADE)) == said
    assert checked.lowest(MADE) == min(checked.without[0], checked.without[2])


def slow(scores: list[float], truth: list[bool]) -> tuple[float, float]:
    """Over all orders that the sizes allow: is the first true, and where the first true one is."""
    size = [abs(score) for score in scores]
    allowed = [
        order
        for order in permutations(range(len(size)))
        if all(size[a] >= size[b] for a, b in pairwise(order))
    ]
    hits = [truth[order[0]] for order in allowed]
    best = max(size[i] for i in range(len(size)) if truth[i])
    ranks = [order.index(i) + 1 for order in allowed for i in order if size[i] == best]
    return sum(hits) / len(hits), sum(ranks) / len(ranks)


def test_the_best_true_word_is_that_of_every_order_that_is_allowed() -> None:
    draw = random.Random(0)
    for _ in range(60):
        n = draw.randint(1, 6)
        scores = [draw.choice((-2.0, -1.0, 0.0, 1.0, 2.0, 3.0)) for _ in range(n)]
        truth = [True] + [draw.random() < 0.4 for _ in range(n - 1)]
        padded = torch.tensor([[*scores, 9.0]], dtype=torch.float64)
        marks, mask = torch.tensor([[*truth, True]]), torch.tensor([[True] * n + [False]])
        first, rank = best_of_true(padded, marks, mask)
        assert (float(first), float(rank)) == pytest.approx(slow(scores, truth))
        assert all(each.isnan().all() for each in best_of_true(padded, ~mask, mask))


# A tiny model, which knows nothing: what it is asked, and what is written of it.


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("gpt2") / "tiny"
    model: dict[str, Any] = {"name": "GPT2", "task": "language", "vocab_size": 290}
    return saved(place, byte_pairs(), **model, n_positions=1024)


@pytest.fixture
def plan(folder: Path) -> NeedlePlan:
    names = ("attention", "occlusion", "random")
    return NeedlePlan(folder, ("box",), prompts=2, explanations=names)


def test_a_model_that_knows_nothing_counts_no_prompt(plan: NeedlePlan, tmp_path: Path) -> None:
    rows = run_needles(plan, tmp_path / "rows.csv")
    assert len(rows) == 2 and not rows["verified"].any() and set(rows["unit"]) == {""}
    assert rows["reason"].str.contains("the model answers").all()
    told = needles_markdown(rows)
    assert "0 of 2 prompts count" in told and "the model answers … (2)" in told


def test_removal_is_that_of_each_sentence(plan: NeedlePlan) -> None:
    made = plan.drawn()[1]
    model = tiny_hf("GPT2", "language", vocab_size=290, n_positions=1024), byte_pairs()
    with open_target(model, [made.row], unit="sentence", **running._OPTIONS) as target:
        checked = running.check_prompt(target, 0)
        batch: Batch = target.encode([0])
        whole = removed(target.model, batch, torch.zeros(1, 20, dtype=torch.bool))[0].softmax(-1)
        assert checked.probability == pytest.approx(float(whole.max()), abs=1e-6)
        for place in (0, 7, 19):
            gone = torch.arange(20)[None] == place
            p = removed(target.model, batch, gone)[0].softmax(-1)
            assert checked.without[place] == pytest.approx(float(p[whole.argmax()]), abs=1e-6)
            assert checked.changed[place] == bool(p.argmax() != whole.argmax())


@pytest.fixture
def counted(plan: NeedlePlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    fine = replace(FINE, without=(0.1,) * 20, changed=(True,) * 20)
    monkeypatch.setattr(running, "check_prompt", lambda target, place: fine)
    monkeypatch.setattr(Checked, "reasons", lambda self, made: ())
    return run_needles(plan, tmp_path / "rows.csv")


def test_explanations_are_scored_by_sentence_and_by_word(
    counted: pd.DataFrame, plan: NeedlePlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(counted) == 2 * 2 * 3 and counted["verified"].all()
    sentences = counted[counted["unit"] == "sentence"]
    assert set(sentences["units"]) == {20} and sentences["rank"].between(1, 20).all()
    assert (counted[counted["unit"] == "word"]["units"] > 60).all()
    assert ((counted["first"] == 1) == (counted["rank"] == 1)).all()
    file = tmp_path / "rows.csv"
    pd.testing.assert_frame_equal(read_needles(file), counted, check_dtype=False)
    monkeypatch.setattr(running, "check_prompt", lambda *_: pytest.fail("made again"))
    again = run_needles(plan, file)
    pd.testing.assert_frame_equal(again, counted, check_dtype=False)
    with pytest.raises(pytest.fail.Exception, match="made again"):  # other numbers, so again
        run_needles(replace(plan, dtype="float64"), file)


def test_the_page_has_a_section_of_needles(counted: pd.DataFrame) -> None:
    nothing = pd.DataFrame(columns=list(BENCHMARK_COLUMNS))
    made = page(nothing, needles=counted)
    assert "## Needles" in made and needles_markdown(counted) in made
    assert "2 of 2 prompts count" in made and "| `occlusion` |" in made
    assert "## Needles" not in page(nothing)


def test_the_command_writes_rows_and_a_table(folder: Path, tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "rows.csv"
    typed = ["benchmark", "--part", "needles", "--model", str(folder), "--kinds", "door"]
    assert main([*typed, "--prompts", "1", "--units", "sentence", "-o", str(out)]) == 0
    assert "0 of 1 prompts count" in capsys.readouterr().out
    assert list(read_needles(out)["kind"]) == ["door"]
    out.write_text("model\n", encoding="utf8")
    with pytest.raises(HeedfulError, match="no column 'kind': make it again"):
        read_needles(out)


def test_by_words_nothing_is_run_for_each_of_them(folder: Path) -> None:
    plan = NeedlePlan(folder)
    assert {"occlusion", "contextcite"} <= set(plan.explained("sentence"))
    assert set(plan.explained("sentence")) - set(plan.explained("word")) == {
        *("occlusion", "occlusion:operator=mask", "leave_one_out"),
    }
    assert import_module("heedful.benchmark.needles").SENTENCES == 20
