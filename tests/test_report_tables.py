"""Measured beside published on numbers small enough to do by hand, and the five formats."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from heedful.report import (
    gather,
    interval,
    latex_escape,
    number,
    over_seeds,
    published_beside_measured,
    to_html,
    to_json,
    to_latex,
    to_text,
    with_sd,
)
from heedful.store import to_csv
from test_report_fake import Fake, fake_study, write


def one(seed: int, mean: float) -> dict[str, object]:
    place = {"corpus": "sst", "model": "m", "seed": seed, "probe": "p", "measure": "x"}
    numbers = {"sd": 0.2, "median": mean, "low": mean - 0.1, "high": mean + 0.1}
    return {**place, "group": "all", "mean": mean, **numbers, "n": 10, "undefined": 1}


def test_one_seed_keeps_its_interval_over_examples() -> None:
    line = over_seeds(pd.DataFrame([one(0, 0.4)])).iloc[0]
    assert (line["interval"], line["seeds"]) == ("over examples", 1)
    assert (line["mean"], line["low"], line["high"]) == pytest.approx((0.4, 0.3, 0.5))


def test_several_seeds_give_students_interval() -> None:
    means = [0.3, 0.4, 0.5]
    line = over_seeds(pd.DataFrame([one(seed, mean) for seed, mean in enumerate(means)])).iloc[0]
    expected = stats.t.interval(0.95, 2, np.mean(means), stats.sem(means))
    assert (line["low"], line["high"]) == pytest.approx(expected)
    assert line["high"] == pytest.approx(0.4 + 4.302653 * 0.1 / math.sqrt(3), abs=1e-6)  # by hand
    assert (line["seed_sd"], line["sd"]) == pytest.approx((0.1, 0.2))
    assert (line["n"], line["undefined"], line["interval"]) == (30, 3, "over seeds")


def test_an_undefined_seed_is_left_out_and_all_undefined_stays_undefined() -> None:
    some = over_seeds(pd.DataFrame([one(0, 0.4), one(1, math.nan)])).iloc[0]
    assert (some["mean"], some["seeds"], some["interval"]) == (0.4, 1, "over examples")
    none = over_seeds(pd.DataFrame([one(0, math.nan), one(1, math.nan)])).iloc[0]
    assert math.isnan(none["mean"]) and none["seeds"] == 0


def test_differences_are_measured_minus_published(tmp_path: Path) -> None:
    models = (("bilstm", "additive"), ("cnn", "dot"))
    store, study = fake_study(tmp_path, Fake(("sst", "mine"), models, (0, 1)))
    evidence = gather(store, [study])
    frame = published_beside_measured(evidence)
    keys = ["table", "dataset", "class", "model", "metric"]
    cells = frame.set_index(keys)
    assert cells.index.is_unique
    cell = cells.loc[("2", "SST", "0", "bilstm-additive", "tau_gradient")]
    each = evidence.summaries.query(
        "corpus == 'sst' and label == 'bilstm-additive' and measure == 'tau_gradient' "
        "and group == 'class=0'"
    )
    assert cell["measured"] == pytest.approx(each["mean"].mean())
    assert cell["difference"] == pytest.approx(each["mean"].mean() - 0.40)
    assert cell["difference_slides"] == pytest.approx(each["mean"].mean() - 0.34)
    assert cell["published_paper_sd"] == 0.21 and cell["seeds"] == 2
    undefined = int(each["undefined"].sum())
    note = "subset of the training data" + (f"; undefined: {undefined}" if undefined else "")
    assert cell["note"] == note
    blank = cells.loc[("2", "SST", "0", "cnn-dot", "tau_gradient")]
    assert math.isnan(blank["published_paper"]) and math.isnan(blank["difference"])
    assert not math.isnan(blank["measured"])
    assert set(frame["dataset"]) == {"SST", "mine"}
    assert cells.loc[("1", "SST", "all", "bilstm-additive", "f1"), "published_paper"] == 0.81


def test_numbers_are_written_the_same_everywhere() -> None:
    assert number(-0.004) == "0.00" and number(-0.25, 1, signed=True) in ("−0.2", "−0.3")
    assert number(math.nan) == number(math.inf) == "" and number(0.5, signed=True) == "+0.50"
    assert with_sd(0.4, 0.2) == "0.40 ± 0.20" and with_sd(0.4, math.nan) == "0.40"
    assert interval(0.1, 0.2) == "0.10 to 0.20" and interval(math.nan, 0.2) == ""


TABLE = pd.DataFrame({"Data": ["a_b & <i>", "c"], "τ": [0.5, math.nan]})


def test_formats() -> None:
    assert to_text(TABLE).splitlines()[2] == "a_b & <i>  0.500"
    assert "<td>a_b &amp; &lt;i&gt;</td>" in to_html(TABLE) and "<i>" not in to_html(TABLE)
    assert to_csv(TABLE).splitlines()[2] == "c,"
    assert r"a\_b \& \textless{}i\textgreater{} & 0.500 \\" in to_latex(TABLE)
    value = json.loads(to_json(TABLE, "t"))
    assert value["schema_version"] == 1 and value["rows"][1] == {"Data": "c", "τ": None}


def test_empty_tables_do_not_crash() -> None:
    empty = TABLE.iloc[:0]
    assert to_text(empty) == "(nothing measured)"
    assert "<tbody></tbody>" in to_html(empty) and r"\bottomrule" in to_latex(empty)
    assert json.loads(to_json(empty, "t"))["rows"] == []


def test_latex_commands_do_not_survive() -> None:
    escaped = latex_escape("\\input{x}%$#_&~^\u202e\n")
    assert escaped == (r"\textbackslash{}input\{x\}\%\$\#\_\&\textasciitilde{}\textasciicircum{}")


def test_settings_are_never_averaged_as_seeds(tmp_path: Path) -> None:
    store, study = fake_study(tmp_path, Fake(texts=8))
    cells = gather(store, [study]).cells
    probe = store.open(str(cells.loc[cells["probe"] == "permutation", "run"].iloc[0]))
    tables = {"rows": probe.table("rows"), "summary": probe.table("summary")}
    other = write(store, "probe", {**probe.facts, "params": {"draws": 7}}, tables)
    together = gather(store, [study, other]).together
    lines = together[(together["measure"] == "tvd_median") & (together["group"] == "all")]
    assert len(lines) == 2
    assert set(lines["seeds"]) == {1}
    assert all("[" in name for name in lines["model"])
