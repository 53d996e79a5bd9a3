"""pruthi2020 on the page: accuracy and attention by λ, and sentences that say who is flagged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heedful.experiments import score_table
from heedful.report import (
    FIGURES,
    SUMMARIES,
    Evidence,
    build_report,
    by_weight,
    chosen_figures,
    gather,
    stem,
)
from heedful.report.figures.curves import weight
from heedful.specs import ModelSpec, TermSpec
from heedful.store import Run, Store
from test_report_fake import Fake, fake_corpus, fake_model, probe_facts, write

MASS = {0.0: 0.6, 0.1: 0.05, 1.0: 0.004}


def told_off(weight: float) -> ModelSpec:
    return ModelSpec(terms=(TermSpec("impermissible", weight),) if weight else ())


def summary(values: dict[str, float], texts: int) -> Any:
    lines = [(name, value, value - 0.01, value + 0.01) for name, value in values.items()]
    return score_table(lines, texts)


@pytest.fixture
def seen(tmp_path: Path) -> Evidence:
    store, runs = Store(tmp_path / "store"), []
    corpus, _ = fake_corpus(store, "pronoun", Fake(), np.random.default_rng(0))
    for value, mass in MASS.items():
        runs += probes(store, fake_model(store, corpus, told_off(value), 0), value, mass)
    return gather(store, runs)


def probes(store: Store, model: Run, value: float, mass: float) -> list[Run]:
    deception = {"mass": mass, "accuracy": 0.95 - value / 100, "accuracy:control": 0.6}
    deception |= {"delta:control": -0.35, "delta:zeroed": -0.02, "accuracy:zeroed": 0.93}
    detector = {"flagged": float(value > 0), "tau_loo": 0.5 - value, "delta:uniform": -0.1}
    detector["overlooked"] = 0.1 if value == 0.1 else 0.2
    tables = {"deception": deception, "detector": detector}
    return [
        write(store, "probe", probe_facts(model, name), {"summary": summary(numbers, 60)})
        for name, numbers in tables.items()
    ]


def test_lambda_is_read_off_the_name() -> None:
    names = [told_off(value).name for value in (0.0, 0.1, 1.0, 1e-5)]
    assert [weight(name) for name in names] == [0.0, 0.1, 1.0, 1e-5]
    assert {stem(name) for name in names} == {"bilstm-additive"}
    assert stem("bilstm-additive+impermissible0.1+blind [ab12]") == "bilstm-additive+blind [ab12]"


def test_the_figure_has_a_point_for_each_weight(seen: Evidence) -> None:
    assert "deception" in chosen_figures(seen)
    table = by_weight(seen.together)
    mass = table[table["measure"] == "mass"].set_index("weight")["mean"]
    assert mass.to_dict() == MASS
    figure = FIGURES["deception"].make(seen)
    ((panel,),) = [group.panels for group in figure.groups]
    assert "λ = 0.1: accuracy 0.95, accuracy, never shown the tokens 0.60" in panel.says
    assert len(next(iter(panel.bare["datasets"].values()))) == 9


def test_five_lines(seen: Evidence) -> None:
    honest, told, zeroed, flags, signals = SUMMARIES["pruthi2020"].make(seen)
    assert "60.0% (59.0% to 61.0%)" in honest and "−35.0 (−36.0 to −34.0) points" in honest
    assert "0.4% (−0.6% to 1.4%) up to 5.0%" in told and "n 60" in told
    assert "−2.0" in zeroed
    assert "flags 0 of 1 honest models and 2 of 2 told-off models (bilstm-" in flags
    assert "−0.50 to 0.40 against 0.50, which separates them" in signals
    assert "0.10 to 0.20 against 0.20, which does not separate them" in signals


def test_little_data_is_inconclusive(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    corpus, _ = fake_corpus(store, "pronoun", Fake(), np.random.default_rng(0))
    model = fake_model(store, corpus, told_off(0.0), 0)
    few = summary({"mass": 0.5, "accuracy": 1.0}, 8)
    run = write(store, "probe", probe_facts(model, "deception"), {"summary": few})
    lines = SUMMARIES["pruthi2020"].make(gather(store, [run]))
    assert "inconclusive" in lines[0]
    assert all("not measured" in line for line in lines[1:4])
    assert "nothing flagged" in lines[4]


def test_the_page_is_built(seen: Evidence, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    made = build_report(seen.store, list(seen.store.runs("probe")), tmp_path / "page")
    assert "figures/deception.svg" in {f"figures/{path.name}" for path in made.figures}
    page = made.page.read_text(encoding="utf8")
    assert "A flag is about the tokens that were named" in page
