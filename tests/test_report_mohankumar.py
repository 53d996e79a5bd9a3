"""mohankumar2020's lines and figures, on numbers known exactly."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from heedful.report import EVEN, FIGURES, SUMMARIES, Evidence
from heedful.report.figures.bars import conicity_table as conicity_table
from heedful.report.figures.bars import parts_table as kinds_table
from heedful.report.summaries.mohankumar_tutek import kind_of
from heedful.store import Store
from heedful.studies import STUDIES

MODELS = {
    "lstm-additive": 0.6,
    "orthogonal-additive": 0.2,
    "lstm-additive+diversity0.5": 0.1,
}
SHARES = {"mass:punctuation": 0.1, "mass:function": 0.3, "mass:content": 0.6}
EVEN_SHARES = {"share:punctuation": 0.25, "share:function": 0.25, "share:content": 0.5}


def line(model: str, probe: str, measure: str, mean: float, n: int = 50) -> dict[str, object]:
    numbers = {"mean": mean, "low": mean - 0.01, "high": mean + 0.01, "median": mean, "sd": 0.1}
    place = {"corpus": "sst", "model": model, "probe": probe, "measure": measure, "group": "all"}
    return {**place, **numbers, "n": n, "seeds": 1, "undefined": 0}


def evidence(tmp_path: Path, n: int = 50) -> Evidence:
    lines = []
    for model, value in MODELS.items():
        lines.append(line(model, "conicity", "conicity", value, n))
        lines.append(line(model, "permutation", "tvd_median", 1 - value, n))
        for measure, mean in (SHARES | EVEN_SHARES).items():
            lines.append(line(model, "parts_of_speech", measure, mean, n))
        for measure in ("length", "kept", "kept_random", "mass_extracted"):
            lines.append(line(model, "extracted", measure, value, n))
    made = Evidence(Store(tmp_path), (), pd.DataFrame(), pd.DataFrame())
    vars(made)["together"] = pd.DataFrame(lines)
    return made


def test_models_are_told_by_their_names() -> None:
    assert list(map(kind_of, MODELS)) == ["vanilla", "orthogonal", "diversity"]
    names = {
        m.name for setting in STUDIES["mohankumar2020"].make().settings for m in setting.models
    }
    assert set(MODELS) <= names and {kind_of(name) for name in names} == set(map(kind_of, MODELS))


def test_five_lines_with_the_three_models_beside_each_other(tmp_path: Path) -> None:
    lines = SUMMARIES["mohankumar2020"].make(evidence(tmp_path))
    assert len(lines) == 5
    assert "vanilla LSTM 0.60 (0.59 to 0.61); orthogonal LSTM 0.20" in lines[1]
    assert "with the diversity loss 0.10 (0.09 to 0.11) (n 50)." in lines[1]
    assert "vanilla LSTM 0.40" in lines[2] and "with the diversity loss 0.90" in lines[2]
    assert "by attention: not measured." in lines[2] and "gradients: not measured." in lines[3]
    assert "Even attention has 25%" in lines[4] and "decision kept for 60.0%" in lines[4]


def test_few_texts_are_inconclusive(tmp_path: Path) -> None:
    lines = SUMMARIES["mohankumar2020"].make(evidence(tmp_path, n=9))
    assert all("inconclusive" in text or "not measured" in text for text in lines)


def test_the_bars_are_the_means(tmp_path: Path) -> None:
    made = evidence(tmp_path)
    bars = conicity_table(made.together)
    assert dict(zip(bars["model"], bars["mean"], strict=True)) == MODELS
    kinds = kinds_table(made.together)
    assert list(kinds["model"].unique()) == [*MODELS, EVEN]
    for model, part in kinds.groupby("model"):
        wanted = EVEN_SHARES if model == EVEN else SHARES
        assert part["value"].tolist() == pytest.approx(list(wanted.values()))
        assert part["end"].iloc[-1] == pytest.approx(1)
        assert part["start"].tolist()[1:] == part["end"].tolist()[:-1]


@pytest.mark.parametrize("name", ["conicity", "parts_of_speech"])
def test_figures_draw_and_say_what_they_show(name: str, tmp_path: Path) -> None:
    pytest.importorskip("altair")
    figure = FIGURES[name].make(evidence(tmp_path))
    assert figure.spec()["vconcat"] and not figure.missing
    (panel,) = figure.groups[0].panels
    assert all(model in panel.says for model in MODELS)
    empty = evidence(tmp_path)
    vars(empty)["together"] = empty.together.iloc[:0]
    assert "not measured" in FIGURES[name].make(empty).missing
