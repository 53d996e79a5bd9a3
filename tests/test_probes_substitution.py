"""Replaced attention: scores example by example, their paired intervals, and written texts."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import f1_score

from counted import count_by_blanks, counts
from heedful.data import Split
from heedful.entries import Role
from heedful.errors import HeedfulError
from heedful.experiments import (
    CONDITIONS,
    EDITS,
    PROBES,
    Evidence,
    Findings,
    outcomes,
    replacing,
    written_texts,
)
from heedful.interventions import edited
from heedful.metrics import bleu
from heedful.models import Search, generate, probabilities
from heedful.runner import Recipe, recipes
from heedful.specs import ModelSpec, ProbeSpec, TermSpec, TrainSpec
from probing import LENGTHS, evidence, find, table
from reference import substitution as reference
from tiny import tiny_model, tiny_split
from tiny_pairs import tiny_writer
from translations import VOCABULARY, tiny_translations, writing_evidence


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> None:
    count_by_blanks(monkeypatch)


def measured(found: Findings) -> pd.DataFrame:
    assert found.summary is not None
    return found.summary.set_index("measure")


def near_the_threshold(classes: int) -> tuple[torch.nn.Module, Split]:
    split = tiny_split([*LENGTHS, *LENGTHS, *LENGTHS], seed=7, classes=classes)
    model = tiny_model("bilstm", "additive", classes, double=True)
    with torch.no_grad():
        model.decoder.bias -= model(split.batch(range(len(split)))).logits.mean(0)
    return model, split


@pytest.mark.parametrize("classes", [2, 3])
def test_scores_are_those_of_one_example_at_a_time(classes: int) -> None:
    model, split = near_the_threshold(classes)
    found = measured(find("substitution", model, split, 5, resamples=50))  # type: ignore[arg-type]
    base = reference.accuracy(model, split)  # type: ignore[arg-type]
    even = reference.accuracy(model, split, reference.even)  # type: ignore[arg-type]
    assert found.loc["score", "mean"] == pytest.approx(base)
    assert found.loc["score:uniform:infer", "mean"] == pytest.approx(even)
    assert {found.loc[f"delta:{edit}:infer", "mean"] for edit in ("uniform", "permute")} != {0}
    for name in CONDITIONS:
        if name.endswith("train+infer"):
            assert f"score:{name}" not in found.index
            continue
        line = found.loc[f"delta:{name}"]
        score = found.loc[f"score:{name}", "mean"]
        assert line["mean"] == pytest.approx(score - base)
        assert line["low"] <= line["mean"] <= line["high"] and line["n"] == len(split)


def test_rows_say_what_is_right() -> None:
    model, split = near_the_threshold(2)
    found = find("substitution", model, split, resamples=10)  # type: ignore[arg-type]
    rows, lines = table(found, split), measured(found)
    assert set(rows) == {
        "correct",
        *(f"{m}:{e}:infer" for m in ("correct", "changed") for e in EDITS),
    }
    for name in rows.filter(like="correct"):
        score = lines.loc[name.replace("correct", "score"), "mean"]
        assert rows[name].mean() == pytest.approx(score)


def test_differences_are_drawn_in_pairs() -> None:
    """A model against itself differs by nothing in every draw."""
    model, split = near_the_threshold(2)
    seen = Evidence({"base": model, "uniform": model}, split, 5)  # type: ignore[dict-item]
    found: Findings = PROBES["substitution"].make(seen, resamples=50)
    line = measured(found).loc["delta:uniform:train+infer"]
    assert line["mean"] == line["low"] == line["high"] == 0


def test_trained_roles_stand_beside_the_base() -> None:
    model, split = near_the_threshold(2)
    other = edited(tiny_model(seed=3, double=True), ModelSpec(train_edit="uniform"), 0)
    seen = Evidence({"base": model, "uniform": other}, split, 5)  # type: ignore[dict-item]
    found = measured(PROBES["substitution"].make(seen, resamples=10))
    expected = reference.accuracy(tiny_model(seed=3, double=True), split, reference.even)
    assert found.loc["score:uniform:train+infer", "mean"] == pytest.approx(expected)
    assert PROBES["substitution"].roles()["random"] == Role({"train_edit": "random"})


def test_where_attention_is_replaced_nothing_is_taught_about_it() -> None:
    """A model's gates are its attention's own; its states are there whatever attends to them."""
    kept, own = TermSpec("tying", 2), TermSpec("sparsity", 1)
    base = Recipe(ModelSpec(attention="hard", terms=(kept, own)), TrainSpec(), 0)
    for recipe in recipes(base, ProbeSpec("substitution")).values():
        assert recipe.model.terms == (kept,)
    for recipe in recipes(base, ProbeSpec("seeds")).values():
        assert recipe.model.terms == (kept, own)


def test_an_edited_model_has_the_attentions_of_the_model() -> None:
    model = tiny_model()
    assert edited(model, ModelSpec(train_edit="permute"), 0).attentions == model.attentions != {}


def test_f1_instead_of_accuracy() -> None:
    model, split = near_the_threshold(2)
    found = measured(find("substitution", model, split, metric="f1", resamples=10))  # type: ignore[arg-type]
    with torch.no_grad():
        p = probabilities(model(split.batch(range(len(split)))).logits)
    expected = f1_score(split.labels, p.argmax(-1))
    assert found.loc["score", "mean"] == pytest.approx(expected)
    with pytest.raises(HeedfulError, match="accuracy"):
        find("substitution", model, split, metric="bleu")  # type: ignore[arg-type]


def test_a_text_without_tokens_is_not_scored() -> None:
    split, model = tiny_split((4, 0, 6, 3)), tiny_model(double=True)
    found = outcomes(evidence(model, split), model)
    assert len(found.each) == 3


@pytest.mark.parametrize("name", ["additive", "prenorm"])
@pytest.mark.usefixtures("counted")
def test_written_targets_are_scored_by_bleu(name: str) -> None:
    split, model = tiny_translations(), tiny_writer(name)
    found: Findings = PROBES["substitution"].make(
        writing_evidence(model, split, 4), beam=2, resamples=20
    )
    lines, search = measured(found), Search(2)
    references = [split.text(i, "b") for i in range(len(split))]
    for measure, edits in (
        ("score", None),
        ("score:permute:infer", replacing(writing_evidence(model, split), "permute")),
    ):
        written = [generate(model, split.batch([i]), edits, search)[0] for i in range(len(split))]
        texts = [" ".join(VOCABULARY[word] for word in ids) for ids in written]
        expected = bleu(counts(texts, references))
        assert lines.loc[measure, "mean"] == pytest.approx(expected)
    assert found.notes == {"score": "bleu"}
    assert set(found.rows["value"]) <= {0.0, 1.0}


def test_sub_words_are_joined() -> None:
    split, model = tiny_translations(), tiny_writer("additive")
    seen = writing_evidence(model, split)
    seen.words = ["", "?", "", "", *(f"▁w{i}" if i % 2 else f"w{i}" for i in range(4, 12))]
    plain = written_texts(writing_evidence(model, split), model)
    for joined, apart in zip(written_texts(seen, model), plain, strict=True):
        assert joined.replace(" ", "") == apart.replace(" ", "")
        assert not any(word.startswith("▁") for word in joined.split())


@pytest.mark.usefixtures("counted")
def test_reading_given_targets() -> None:
    split, model = tiny_translations(), tiny_writer("dot")
    found: Findings = PROBES["translation"].make(
        writing_evidence(model, split, 2), beam=1, resamples=20
    )
    lines, wide = measured(found), table(found, split)
    total, right, count = 0.0, 0, 0
    for index, name in enumerate(split.ids):
        tokens = split.sides["b"].tokens[index].tolist()
        with torch.no_grad():
            steps = model(split.batch([index])).step_logits[0]  # type: ignore[index]
        logs = [
            torch.log_softmax(steps[t], -1)[tokens[t + 1]].item() for t in range(len(tokens) - 1)
        ]
        hits = [int(steps[t].argmax()) == tokens[t + 1] for t in range(len(tokens) - 1)]
        assert wide.loc[name, "log_likelihood"] == pytest.approx(np.mean(logs))
        assert wide.loc[name, "token_accuracy"] == pytest.approx(np.mean(hits))
        total, right, count = total + sum(logs), right + sum(hits), count + len(hits)
    assert lines.loc["perplexity", "mean"] == pytest.approx(math.exp(-total / count))
    assert lines.loc["token_accuracy", "mean"] == pytest.approx(right / count)
    assert lines.loc["bleu", "low"] <= lines.loc["bleu", "mean"] <= lines.loc["bleu", "high"]
    assert "nrefs:1" in found.notes["bleu"] and found.notes["bleu"].endswith("beam:1")
