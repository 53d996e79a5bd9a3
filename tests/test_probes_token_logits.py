"""What each token says by itself: enough to know the prediction under any attention."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from heedful.data import Prepared, Split
from heedful.experiments import Findings
from heedful.experiments import reachability as module
from heedful.interventions import frozen
from heedful.models import OneSequence, probabilities
from probing import LENGTHS, find, table
from reference.token_logits import said
from tiny import tiny_model, tiny_split


def by_text(found: Findings) -> pd.DataFrame:
    assert found.maps is not None
    return found.maps.pivot(index="example", columns="map", values="scores")


def logits_of(line: Any) -> np.ndarray:
    """`[k, c]` of one text."""
    names = sorted((n for n in line.index if n.startswith("logit:")), key=lambda n: int(n[6:]))
    return np.stack([line[name] for name in names], axis=1)


def predicted(weights: np.ndarray, logits: np.ndarray) -> np.ndarray:
    return probabilities(torch.from_numpy(weights @ logits)).numpy()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("encoder", ["bilstm", "cnn", "average"])
def test_every_number_is_the_slow_one(encoder: str, classes: int) -> None:
    split = tiny_split(LENGTHS, classes=classes)
    model = tiny_model(encoder, "additive", classes, double=True)
    with torch.no_grad():  # near the threshold, where tokens disagree
        model.decoder.bias -= model(split.batch(range(len(split)))).logits.mean(0)
    parameters = {name: value.tolist() for name, value in model.state_dict().items()}
    found = find("token_logits", model, split)
    maps, rows = by_text(found), table(found, split)
    assert 0 < rows["mass_agreeing"].iloc[2] < 1
    for name, tokens in zip(split.ids, split.tokens["a"], strict=True):
        slow = said(parameters, encoder, "additive", tokens.tolist())
        np.testing.assert_allclose(maps.loc[name, "attention"], slow.weights, atol=1e-12)
        np.testing.assert_allclose(logits_of(maps.loc[name]), slow.logits, atol=1e-10)
        assert rows.loc[name, "mass_agreeing"] == pytest.approx(slow.mass_agreeing(), abs=1e-12)
        assert rows.loc[name, "tokens_agreeing"] == pytest.approx(slow.tokens_agreeing())


def test_a_trained_model_is_repeated_to_a_millionth(
    planted: Prepared, trained_model: OneSequence
) -> None:
    """Under its own attention, and under any other that it is given."""
    split = planted.split("test")
    maps = by_text(find("token_logits", trained_model, split))
    assert apart(trained_model, split, maps, dict(maps["attention"])) < 1e-6
    draw = np.random.default_rng(0)
    other = {name: draw.dirichlet([0.3] * len(w)) for name, w in maps["attention"].items()}
    assert apart(trained_model, split, maps, other) < 1e-6


def apart(
    model: OneSequence, split: Split, maps: pd.DataFrame, weights: dict[Any, np.ndarray]
) -> float:
    batch = split.batch(range(len(split)))
    with torch.no_grad():
        p = probabilities(model(batch, {"attention": frozen(weights)}).logits).numpy()
    mine = [predicted(weights[name], logits_of(maps.loc[name])) for name in split.ids]
    return float(np.abs(p - np.stack(mine)).max())


def test_large_logits_that_cancel_need_double_precision() -> None:
    split, model = tiny_split(LENGTHS), tiny_model("bilstm", double=True)
    with torch.no_grad():
        model.decoder.weight *= 300
        model.decoder.bias -= 300 * model.decoder.bias
    maps = by_text(find("token_logits", model, split))
    assert {scores.dtype.name for name in maps for scores in maps[name]} == {"float64"}
    own = dict(maps["attention"])
    assert apart(model, split, maps, own) < 1e-9


def test_with_very_many_classes_only_attention_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    split, model = tiny_split(LENGTHS, classes=3), tiny_model(classes=3)
    assert not find("token_logits", model, split).notes
    monkeypatch.setattr(module, "MOST_LOGITS", 2)
    found = find("token_logits", model, split)
    assert list(by_text(found)) == ["attention"]
    assert "3 logits" in found.notes["token_logits"]


def test_padding_adds_no_token_and_no_number() -> None:
    split, model = tiny_split((2, 12)), tiny_model(double=True)
    both = by_text(find("token_logits", model, split))
    alone = by_text(find("token_logits", model, split.subset([0])))
    assert len(both.loc["text-0", "attention"]) == 2
    for name in ("attention", "logit:0"):
        np.testing.assert_allclose(both.loc["text-0", name], alone.loc["text-0", name], atol=1e-12)
