"""Scores, correlations and reachability, each against an outside answer; and the rows' order."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats
from sklearn import metrics as sk

from heedful.attributions import gradient_input, leave_one_out
from heedful.data import Prepared
from heedful.experiments import PROBES
from heedful.interventions import frozen
from heedful.models import OneSequence, probabilities
from probing import FITTING, LENGTHS, evidence, find, map_of, table
from tiny import FAMILIES, tiny_model, tiny_split


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("encoder", "attention"), FAMILIES)
def test_correlations_are_scipys(encoder: str, attention: str, classes: int) -> None:
    model, split = tiny_model(encoder, attention, classes, double=True), tiny_split(LENGTHS)
    rows = table(find("correlation", model, split), split)
    for index, (name, size) in enumerate(zip(split.ids, split.lengths, strict=True)):
        batch = split.batch([index])
        with torch.no_grad():
            trace = model(batch)
        real = slice(1, size + 1)
        alpha = trace.weights["attention"][0, 0, 0, real].numpy()
        scores = {
            "gradient": gradient_input(
                model,
                batch,
                probabilities(trace.logits).argmax(-1),
                through_attention=False,
                magnitude=True,
            ),
            "loo": leave_one_out(model, batch),
        }
        numbers = {key: value[0, real].numpy() for key, value in scores.items()}
        for key, values in numbers.items():
            check_tau(rows.loc[name], key, alpha, values)
        if size > 1:
            both = stats.kendalltau(numbers["gradient"], numbers["loo"]).statistic
            assert rows.loc[name, "tau_gradient_loo"] == pytest.approx(both, abs=1e-9)


def check_tau(row: pd.Series, key: str, alpha: np.ndarray, scores: np.ndarray) -> None:
    if len(alpha) == 1:
        assert np.isnan(row[f"tau_{key}"]) and np.isnan(row[f"tau_{key}_significant"])
        return
    expected = stats.kendalltau(alpha, scores)
    assert row[f"tau_{key}"] == pytest.approx(expected.statistic, abs=1e-9)
    assert row[f"tau_{key}_significant"] == (expected.pvalue <= 0.05)
    k = min(5, len(alpha))
    both = set(np.argsort(-alpha, kind="stable")[:k]) & set(np.argsort(-scores)[:k])
    assert row[f"overlap_{key}_top5"] == pytest.approx(len(both) / k)
    zeros = int((alpha == 0).sum())  # sparse weights tie, and nothing else does
    tied = zeros * (zeros - 1) / (len(alpha) * (len(alpha) - 1))
    assert row[f"ties_{key}"] == 0 and row["ties_attention"] == pytest.approx(tied)


def test_the_maps_of_correlation_are_what_was_correlated() -> None:
    model, split = tiny_model("cnn", double=True), tiny_split(LENGTHS)
    found = find("correlation", model, split, batch_size=3)
    loo = map_of(found, "leave_one_out")
    for index, name in enumerate(split.ids):
        expected = leave_one_out(model, split.batch([index]))[0, 1:-1]
        np.testing.assert_allclose(loo[name], expected, atol=1e-6)
    assert set(found.maps["map"]) == {"attention", "gradient", "leave_one_out"}  # type: ignore[index]


def test_a_trained_models_attention_correlates(
    planted: Prepared, trained_model: OneSequence
) -> None:
    split = planted.split("test")
    scores = find("score", trained_model, split).summary.set_index("measure")["mean"]  # type: ignore[union-attr]
    assert scores["accuracy"] > scores["majority"] + 0.1


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("encoder", "attention"), FAMILIES)
def test_no_attention_leaves_what_is_reachable(encoder: str, attention: str, classes: int) -> None:
    split = tiny_split((3, 1, 8, 2, 5, 4, 2, 2, 3, 1, 2, 6), seed=4)
    model = tiny_model(encoder, attention, classes, double=True)
    batch = split.batch(range(len(split)))
    with torch.no_grad():  # near the threshold, where some decisions can be changed
        model.decoder.bias -= model(batch).logits.mean(0)
    rows = table(find("reachability", model, split), split)
    generator = np.random.default_rng(0)
    flipped = np.zeros(len(split), dtype=bool)
    with torch.no_grad():
        decided = probabilities(model(batch).logits).argmax(-1).numpy()
        for draw in range(60):
            weights = {
                name: corner(size, draw) if draw < 8 else generator.dirichlet([0.3] * size)
                for name, size in zip(split.ids, split.lengths, strict=True)
            }
            p = probabilities(model(batch, {"attention": frozen(weights)}).logits).numpy()
            flipped |= p.argmax(-1) != decided
            if classes == 2:
                assert (p[:, 1] >= rows["lowest"] - 1e-12).all()
                assert (p[:, 1] <= rows["highest"] + 1e-12).all()
    # the first eight draws were every single token, so what can be flipped has been
    assert (flipped == (rows["fixed"] == 0)).all()
    assert 0 < flipped.sum() < len(split)


def corner(size: int, token: int) -> np.ndarray:
    return np.eye(size)[min(token, size - 1)]


@pytest.mark.parametrize("classes", [2, 3])
def test_scores_are_scikit_learns(classes: int) -> None:
    split = tiny_split([*LENGTHS, *LENGTHS, *LENGTHS, *LENGTHS], classes=classes)
    model = tiny_model("cnn", classes=classes, double=True)
    found = find("score", model, split, batch_size=5, resamples=50)
    with torch.no_grad():
        p = probabilities(model(split.batch(range(len(split)))).logits).numpy()
    labels, predicted = split.labels.numpy(), p.argmax(1)
    average = "binary" if classes == 2 else "macro"
    shown = p[:, 1] if classes == 2 else p
    expected = {
        "accuracy": sk.accuracy_score(labels, predicted),
        "f1": sk.f1_score(labels, predicted, average=average),
        "roc_auc": sk.roc_auc_score(labels, shown, multi_class="ovr"),
        "majority": np.bincount(labels).max() / len(labels),
    }
    summary = found.summary.set_index("measure")  # type: ignore[union-attr]
    for name, value in expected.items():
        assert summary.loc[name, "mean"] == pytest.approx(value)
        assert summary.loc[name, "n"] == len(split)
        if name != "majority":
            assert summary.loc[name, "low"] <= value <= summary.loc[name, "high"]
    rows = table(found, split)
    np.testing.assert_array_equal(rows["correct"], predicted == labels)
    top = p[:, 1] if classes == 2 else p.max(1)
    np.testing.assert_allclose(rows["probability"], top, atol=1e-12)


# Intervals are no rows: few draws do.
FEWER = {name: {"resamples": 20} for name in ("guides", "substitution", "score")}


@pytest.mark.parametrize("name", FITTING)
def test_rows_follow_the_data_and_state_their_facts(name: str) -> None:
    model, split = tiny_model(double=True), tiny_split(LENGTHS)
    rows = find(name, model, split, batch_size=3, **FEWER.get(name, {})).rows
    with torch.no_grad():
        trace = model(split.batch(range(len(split))))
    predicted = probabilities(trace.logits).argmax(-1)
    assert not rows.duplicated(["example", "measure"]).any()
    for _, part in rows.groupby("measure"):
        assert part["example"].tolist() == list(split.ids)
        assert part["length"].tolist() == list(LENGTHS)
        assert part["label"].tolist() == split.labels.tolist()
        assert part["predicted"].tolist() == predicted.tolist()
        np.testing.assert_allclose(
            part["max_weight"], trace.weights["attention"].amax(-1).flatten(), atol=1e-12
        )
    named = set(PROBES[name].measures)
    extra = {m for m in rows["measure"] if m not in named and "diverse" not in m}
    assert not extra


def test_forward_passes_are_made_once_and_progress_is_told() -> None:
    told: list[tuple[str, int, int]] = []
    calls = 0
    model, split = tiny_model(), tiny_split(LENGTHS)
    forward = model.forward

    def counted(*args, **kwargs):  # type: ignore[no-untyped-def]
        nonlocal calls
        calls += 1
        return forward(*args, **kwargs)

    model.forward = counted  # type: ignore[method-assign]
    seen = evidence(model, split, batch_size=4)
    seen.progress = lambda label, done, total: told.append((label, done, total))
    first, again = list(seen.passes("one")), list(seen.passes("two"))
    assert first == again and calls == 2
    assert told == [("one", 4, 8), ("one", 8, 8), ("two", 4, 8), ("two", 8, 8)]
