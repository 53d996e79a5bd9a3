"""wiegreffe2019's tables, lines and figure, on numbers known exactly."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, cast

import pandas as pd

from heedful.report import (
    FIGURES,
    SUMMARIES,
    Evidence,
    frontier,
    guides,
    points,
    seeds,
    table_of,
    uniform,
)

SCORES = {"model": 0.8, "own": 0.7, "uniform": 0.69, "base": 0.77, "adversary": 0.6}


def together(adversary: float = 0.6, leak: float = 0.02) -> pd.DataFrame:
    """A model on SST: seeds at JSD 0.2, adversaries that get further the more λ counts. Words
    that occur tell the label at 0.5, and the adversary's choice of them so much more."""
    numbers = {
        ("substitution", "score"): 0.81,
        ("substitution", "score:uniform:train+infer"): 0.80,
        ("substitution", "delta:uniform:train+infer"): -0.01,
        ("seeds", "jsd_seeds"): 0.2,
        ("seeds", "jsd_seeds_max"): 0.3,
        ("seeds", "delta_seeds"): 0.1,
        ("adversarial", "jsd_adversary"): 0.65,
        ("adversarial", "tvd_adversary"): 0.01,
        **{("guides", f"score:{name}"): score for name, score in SCORES.items()},
        **{
            ("guides", f"delta:{name}:{other}"): SCORES[name] - SCORES[other]
            for name in ("own", "uniform", "base", "adversary")
            for other in ("own", "uniform")
            if name != other
        },
        ("guides", "attended:base"): 0.75,
        ("guides", "leak:base"): 0.03,
        ("guides", "attended:adversary"): 0.5 + leak,
        ("guides", "leak:adversary"): leak,
        ("frontier", "jsd:0"): 0.1,
        ("frontier", "tvd:0"): 0.02,
        ("frontier", "jsd:0.001"): adversary,
        ("frontier", "tvd:0.001"): 0.09,
        ("frontier", "jsd:1"): 0.69,
        ("frontier", "tvd:1"): 0.4,
        ("frontier", "jsd:labels0.01"): 0.5,
        ("frontier", "tvd:labels0.01"): 0.2,
    }
    return pd.DataFrame([_line(*names, value) for names, value in numbers.items()])


def _line(probe: str, measure: str, value: float) -> dict[str, Any]:
    return {
        "corpus": "sst",
        "model": "bilstm-additive",
        "probe": probe,
        "measure": measure,
        "group": "all",
        "mean": value,
        "low": value - 0.015,
        "high": value + 0.015,
        "sd": 0.1,
        "median": value,
        "n": 100,
        "undefined": 0,
        "seeds": 1,
        "seed_sd": math.nan,
        "interval": "over examples",
    }


def evidence(**numbers: float) -> Evidence:
    return cast(Evidence, SimpleNamespace(together=together(**numbers)))


def test_four_tables() -> None:
    table = together()
    (even,) = uniform(table).to_dict("records")
    assert even["jain2019"] == "0.81" and even["F1"] == "0.810" and even["Uniform"] == "0.800"
    assert even["Change"] == "−0.010" and even["Change, 95%"] == "−0.025 to +0.005".replace("+", "")
    (between,) = seeds(table).to_dict("records")
    assert (between["JSD"], between["Furthest"], between["Δp"]) == ("0.200", "0.300", "0.100")
    led = guides(table).set_index("Attention")
    assert led["F1"].tolist() == ["0.800", "0.700", "0.690", "0.770", "0.600"]
    assert led.loc["the model's", "− own"] == "+0.070" and led.loc["its own", "− own"] == ""
    assert led.loc["the adversary's", ["Attended word", "Leak"]].tolist() == ["0.520", "+0.020"]
    assert led.loc["uniform", "Leak"] == ""
    found = frontier(table)
    assert found["λ"].tolist() == ["0", "0.001", "1", "0.01"]
    assert found["Trained for"].tolist() == ["the model's outputs"] * 3 + ["the labels"]
    assert found["TVD"].tolist() == ["0.020", "0.090", "0.400", "0.200"]
    assert all(make(table[:0]).empty for make in (uniform, seeds, guides, frontier))


def test_adversaries_are_ordered_by_weight() -> None:
    measures = ["jsd:1e-05", "jsd:0.1", "tvd:0.1", "jsd:labels0.1", "jsd:0", "jsd:labels0.01"]
    assert points(measures) == ["0", "1e-05", "0.1", "labels0.01", "labels0.1"]


def test_lines_read_adversaries_against_seeds() -> None:
    """The furthest one whose outputs move no more than a seed's: λ = 1 has moved too far."""
    make = SUMMARIES["wiegreffe2019"].make
    even, between, led, trained, single = make(evidence())
    assert "cannot tell whether attention explains" in even and "−1.0" in even
    assert "JSD 0.20" in between
    assert "better than its own weights" in led and "better than even weights" in led
    assert "(λ 0.001) differs by JSD 0.60" in trained and "further than seeds" in trained
    assert "not clearly" not in trained and "0.65" in single
    assert "not clearly further than seeds" in make(evidence(adversary=0.21))[3]
    assert "less than seeds" in make(evidence(adversary=0.12))[3]


def test_guides_that_give_the_label_away_are_warned_of() -> None:
    """Where the whole interval is above a tenth."""
    make = SUMMARIES["wiegreffe2019"].make
    (warned,) = [line for line in make(evidence(leak=0.43)) if "Warning" in line]
    assert "the adversary's weights give the label away (bilstm-additive on SST)" in warned
    assert "an accuracy of 0.93 (0.91 to 0.94), +43.0 (+41.5 to +44.5) points more" in warned
    assert "the model's weights give" not in warned
    for little in (0.02, 0.11):
        assert not any("Warning" in line for line in make(evidence(leak=little)))


def test_nothing_measured_is_said() -> None:
    empty = cast(Evidence, SimpleNamespace(together=together()[:0]))
    for line in SUMMARIES["wiegreffe2019"].make(empty):
        assert "not measured" in line
    assert FIGURES["frontier"].make(empty).missing


def test_the_frontier_shows_every_kind_of_point() -> None:
    table = table_of(together())
    assert table["kind"].tolist() == ["teacher"] * 3 + ["labels", "seeds", "exact"]
    assert table.loc[1, ["tvd", "jsd"]].tolist() == [0.09, 0.6]
    assert table.loc[5, ["tvd", "jsd"]].tolist() == [0.01, 0.65]
    figure = FIGURES["frontier"].make(evidence())
    (group,) = figure.groups
    assert group.title == "SST" and "λ 0.001: JSD 0.60, TVD 0.09" in group.panels[0].says
    assert len(figure.spec()["datasets"]) >= 1


def test_adversaries_of_two_models_share_a_panel() -> None:
    """Of one model alone there is nothing to compare."""
    assert FIGURES["imitation"].make(evidence()).groups == ()
    one = together()
    other = one.assign(model="regularised", mean=one["mean"] + 0.01)
    both = SimpleNamespace(together=pd.concat([one, other], ignore_index=True))
    figure = FIGURES["imitation"].make(both)
    (group,) = figure.groups
    assert [name for name, _ in group.legend][1] == "regularised"
    (panel,) = group.panels
    assert "λ 0.001 0.09 and 0.60" in panel.says and "λ 0.001 0.10 and 0.61" in panel.says
    assert len(figure.spec()["datasets"]) >= 1
