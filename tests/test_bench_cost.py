"""`bench.cost`: constants found again, the grid counted, sums by hand, a page of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench import cost, cost_apply
from bench.cost_model import (
    FEATURES,
    SIZES,
    WORK,
    Fit,
    Point,
    checked,
    dev,
    dimension,
    fit,
    needs,
    probed_alike,
    standing_in,
    trained_alike,
)
from bench.cost_page import page
from bench.cost_times import QUICK, probings, trainings

from heedful.models import build
from heedful.runner import Recipe
from heedful.specs import ModelSpec, TermSpec, TrainSpec
from heedful.studies import STUDIES, TRAINING

SIZE = {"memory_bytes": 8e9, "disk_bytes": 1e12}
MACHINE = {"device": "CPU", "cores": 2, "threads": 1, "torch": "2", **SIZE}


def test_constants_are_found_again() -> None:
    true = Fit(dict(zip(WORK, (2.0, 0.5, 0.1, 0.01, 0.003), strict=True)))
    sizes = [(8, 4), (64, 4), (8, 16), (64, 16), (32, 40)]
    points = [Point(texts, length) for texts, length in sizes]
    found = fit([(point, true.predict(point)) for point in points], WORK)
    assert found.constants == pytest.approx(true.constants, rel=1e-6)
    larger = Point(5000, 300)
    assert checked(found, larger, true.predict(larger))["ratio"] == pytest.approx(1.0)


def test_no_constant_is_negative() -> None:
    falling = [(Point(1, 1), 5.0), (Point(10, 1), 4.0)]
    assert min(fit(falling, ("once", "text")).constants.values()) >= 0


def test_products_by_hand() -> None:
    point = Point(texts=3, length=5, second=2)
    assert FEATURES["token"](point) == 3 * 7
    assert FEATURES["pair"](point) == pytest.approx(3 * 25 * 13 / 12)
    assert FEATURES["word"](Point(0, 5, 2, batch=4, vocabulary=10)) == 4 * 2 * 10


@pytest.mark.parametrize(("corpus", "second"), [("sst", 0), ("snli", 8), ("toy_copy", 20)])
def test_texts_that_stand_in_have_the_sides_of_their_corpus(corpus: str, second: int) -> None:
    """What is fitted on them is applied to the corpus, so both must count the same tokens."""
    data = standing_in(corpus, 4, 20, 50)
    assert data.shape.second == second
    assert ("b" in data.split("test").sides) == bool(second)


def test_the_spread_of_lengths_is_the_made_up_texts_own() -> None:
    lengths = standing_in("sst", 4000, 40, 50).split("test").lengths.astype(float)
    mean = lengths.mean()
    assert FEATURES["pair"](Point(1, 40)) == pytest.approx((lengths**2).mean(), rel=0.03)
    assert mean == pytest.approx(40, rel=0.03)


def test_every_corpus_of_every_study_has_a_size() -> None:
    for name in STUDIES:
        for corpus in STUDIES[name].make().corpora:
            assert SIZES[corpus].train > 0 and dimension(corpus) > 0 and dev(corpus) > 0


def test_what_studies_share_is_counted_once() -> None:
    alone = [needs(name) for name in ("jain2019", "wiegreffe2019")]
    both = needs("jain2019", "wiegreffe2019")
    assert set(both.models) == {key for each in alone for key in each.models}
    base = Recipe(ModelSpec(), TRAINING, 0)  # jain2019's BiLSTM is wiegreffe2019's too
    for corpus in STUDIES["wiegreffe2019"].make().corpora:
        assert all((corpus, base) in each.models for each in alone)
        assert both.models[corpus, base] == "jain2019"
    assert sum(both.cells.values()) == 36 + 7


def test_teachers_are_trained_too() -> None:
    models = needs("wiegreffe2019").models
    teachers = [(corpus, each.teacher) for corpus, each in models if each.teacher]
    assert teachers and all(teacher in models for teacher in teachers)


def test_models_that_take_as_long_are_one() -> None:
    told = ModelSpec(terms=(TermSpec("impermissible", 0.1),))
    assert trained_alike(told) == trained_alike(ModelSpec(terms=(TermSpec("impermissible", 1.0),)))
    assert trained_alike(told) != trained_alike(ModelSpec())
    assert probed_alike(told) == probed_alike(ModelSpec(attention="dot"))


def test_a_training_by_hand() -> None:
    recipe = Recipe(ModelSpec(), TrainSpec(epochs=3, batch_size=32), 0)
    updates = -(-6355 // 32) + dev("sst") / 32 / 3
    assert cost_apply.training_seconds("sst", recipe, Fit({"once": 2.0})) == 3 * updates * 2
    token = cost_apply.training_seconds("sst", recipe, Fit({"token": 1.0}))
    assert token == pytest.approx(3 * updates * 32 * 19)


def test_numbers_of_a_model_are_those_of_one_that_is_built() -> None:
    data = standing_in("deception", 4, 6, SIZES["deception"].vocabulary)
    model = build(ModelSpec("cnn"), data.vectors, 2, 0)
    expected = sum(each.numel() for each in model.parameters())
    assert cost_apply.numbers("deception", ModelSpec("cnn")) == expected


def test_very_many_texts_by_hand() -> None:
    facts = {**_light(), "machines": {"memory": MACHINE}}
    assert cost_apply.audit(facts)["seconds"] == 2e9
    enough = {row["width"]: row["texts"] for row in cost_apply.enough(facts)}
    assert enough[0.01] == round((1.96 * 0.5 / 0.01) ** 2)
    ends = {row["what"]: row["at"] for row in cost_apply.breaks(facts)}
    assert ends["memory of opened texts"] == 8e6
    assert ends["files of an unfinished audit in one folder"] == pytest.approx(8e7)
    assert ends["memory of the audit beside them"] is None
    assert next(iter(ends)) == "a month of the device"


def _light() -> dict[str, Any]:
    check = {"at": vars(Point(10, 5)), "predicted": 3.0, "measured": 2.0, "ratio": 1.5}
    memory = {"opened bytes": 1000.0, "audit peak bytes": 0.0, "unfinished files": 0.125}
    rows = [{"what": name, "each": each, "checks": [check]} for name, each in memory.items()]
    audit = {"model": "m", "constants": {"text": 2.0}, "bytes": {"text": 500.0}, "checks": [check]}
    return {"audit": [{**audit, "spread": {"tau": 0.5, "tvd": 0.1}}], "memory": rows}


def _measured() -> dict[str, Any]:
    """One model and one probe, measured at the smallest sizes."""
    found = needs("jain2019")
    shuffled = {k: v for k, v in found.probes.items() if v[1].probe.name == "permutation"}
    once = {"seconds": 1.0, "files": 3.0, "bytes": 900.0}
    return {
        "machines": {"training": MACHINE, "memory": MACHINE},
        "runs": [once],
        "training": list(trainings(found, replace(QUICK, most=1), "cpu")),
        "probes": list(probings(replace(found, probes=shuffled), replace(QUICK, most=1), "cpu")),
        **_light(),
    }


def test_a_few_constants_measured_and_a_page_of_them() -> None:
    facts, found = _measured(), needs("jain2019")
    rows = cost_apply.studies(found, facts)
    facts["studies"] = [*rows, cost_apply.total(rows)]
    facts["longest"] = cost_apply.longest(found, facts)
    facts["billion"], facts["enough"] = cost_apply.audit(facts), cost_apply.enough(facts)
    facts["breaks"] = cost_apply.breaks(facts)
    known = sum(trained_alike(each.model) == trained_alike(ModelSpec()) for _, each in found.models)
    asked = sum(
        each.probe.name == "permutation" and probed_alike(each.model) == probed_alike(ModelSpec())
        for _, each in found.probes.values()
    )
    assert rows[0]["models"] == 36
    assert rows[0]["unknown"] == 36 - known + len(found.probes) - asked
    shown = page(json.loads(json.dumps(facts)), None)
    assert "| jain2019 | 36 | 36 |" in shown and "have no constant" in shown
    assert "does not grow" in shown and "## On the card" not in shown


def test_the_page_without_measurements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cost, "MEASURED", tmp_path)
    cost.main(["--page", "--page-out", str(tmp_path / "cost.md")])
    assert "Nothing has been measured yet." in (tmp_path / "cost.md").read_text()
    assert "gpu.json is not there" in capsys.readouterr().err


def test_a_card_alone_has_its_part(tmp_path: Path) -> None:
    several = {"workers": 2, "cells": 4, "seconds": 8.0, "cells_per_minute": 30.0, "ratio": 1.5}
    assert "1.50×" in page(None, {"several": [several]})
