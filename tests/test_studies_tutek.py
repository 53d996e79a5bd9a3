"""tutek2020 from the grid to the page, on texts that Heedful makes itself."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from heedful.cli import Options, plan_study
from heedful.data import default_spec
from heedful.report import (
    FIGURES,
    Evidence,
    changes,
    chosen_figures,
    five_lines,
    gather,
    places,
    printed,
    published_beside_measured,
    quarters,
    readable,
    typical,
)
from heedful.report.figures.curves import EXAMPLES, MOST_TOKENS
from heedful.runner import Choice, Machine, grid, run_study
from heedful.specs import ProbeSpec
from heedful.store import Store
from heedful.studies import MODELS, published
from heedful.studies.papers import TUTEK2020 as STUDY

SMALL = {
    "score": {"resamples": 5},
    "substitution": {"resamples": 5},
    "mutual_information": {"resamples": 5},
}
VARIANTS = ("base", "concat", "tying")


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """Three models of the study, trained for an epoch."""
    setting = STUDY.settings[0]
    probes = (ProbeSpec(p.name, {**p.params, **SMALL.get(p.name, {})}) for p in setting.probes)
    few = replace(
        setting,
        models=tuple(MODELS[f"bilstm-additive-{name}"] for name in VARIANTS),
        probes=tuple(probes),
        train=replace(setting.train, epochs=1),
    )
    corpus = default_spec("planted", n_train=64, n_dev=24, n_test=96)
    store = Store(tmp_path_factory.mktemp("tutek"))
    plan = grid(replace(STUDY, settings=(few,)), [corpus], seeds=[0])
    return gather(store, [run_study(plan, store, Machine())])


def test_a_model_for_each_name_in_the_paper() -> None:
    printed_models = set(published("tutek2020").query("table in ('1', '2', '3')")["model"])
    assert printed_models <= set(STUDY.names.values())
    assert STUDY.names["bilstm-dot+tying0.1"] == "bilstm-dot-tying"
    assert STUDY.names["bilstm+residual-additive"] == "bilstm-additive-residual"
    assert all(model.hidden == 50 for model in MODELS.values())
    kept = {name for name, model in MODELS.items() if not model.train_embedding}
    assert kept == {name for name in MODELS if name.endswith("-mlm")}


def test_one_attention_is_chosen_without_doubles() -> None:
    chosen = Choice(attentions=["additive"]).models(STUDY.settings[0].models)
    assert chosen == [model for model in MODELS.values() if model.attention == "additive"]


def test_seeds_are_the_studys_own_unless_given() -> None:
    for given, seeds in ((None, {0, 1, 2, 3, 4}), ([7], {7})):
        plan = plan_study("tutek2020", Options(["planted"], attention=["dot"], seeds=given))
        assert {cell.seed for cell in plan.cells} == seeds and len(plan.cells) == 5 * len(seeds)


def test_every_cell_is_measured_and_says_its_sizes(evidence: Evidence) -> None:
    assert evidence.skipped.empty
    frame = published_beside_measured(evidence, "tutek2020")
    assert frame["note"].str.contains("100-d vectors, 50 per direction").all()
    by_table = frame.groupby("table")["metric"].unique().map(set).to_dict()
    assert by_table == {
        "1": {"f1", "delta_f1:uniform:infer", "delta_f1:permute:infer"},
        "2": {"mutual_information:most_frequent", "mutual_information:random_sample"},
        "3": {"token_probability"},
    }
    assert set(frame["model"]) == {
        "bilstm-additive (bilstm-additive-base)",
        "bilstm+concat-additive (bilstm-additive-concat)",
        "bilstm-additive+tying0.1 (bilstm-additive-tying)",
    }
    counted = frame.loc[frame["table"] == "2", "note"]
    assert counted.str.contains(r"\d+ vectors, \d+ clusters", regex=True).all()


def test_printed_numbers_stand_beside_their_models(evidence: Evidence) -> None:
    """As if the corpus were SST: per cent as per cent, nats and probabilities as they are."""
    evidence = replace(evidence, cells=evidence.cells.assign(corpus="sst"))
    frame = published_beside_measured(evidence, "tutek2020")
    found = frame.set_index(["model", "metric"])["published_paper"]
    tying = "bilstm-additive+tying0.1 (bilstm-additive-tying)"
    assert found[tying, "delta_f1:permute:infer"] == -18.0
    assert found[tying, "mutual_information:most_frequent"] == 4.87
    assert found[tying, "token_probability"] == 0.586
    measured = frame.set_index(["model", "metric"])["measured"]
    assert 0 < measured[tying, "token_probability"] < 1 < abs(measured[:, "f1"]).max()
    texts = {table.name: table.table for table in readable(frame, "tutek2020", evidence)}
    assert "4.870" in set(texts["table2"]["Paper"]) and "83.5" in set(texts["table1"]["Paper"])
    paper = printed("tutek2020")
    place = next(p for p in places(evidence, "tutek2020", paper) if p.named.endswith("tying"))
    shown = {panel.title for panel in FIGURES["substitution"].make(evidence).groups[0].panels}
    assert tying in shown
    drawn = changes(evidence.together, place, paper).set_index("row")["printed"]
    assert drawn["shuffled, afterwards"] == -18.0 and math.isnan(drawn["random, afterwards"])


def test_models_of_several_layers_stand_in_table_6(
    evidence: Evidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the numbers printed there; what Table 6 does not have stands where it did, unprinted.
    The same rule for a variant that the table has not."""
    facts = Evidence.model_facts
    deep = {"layers": 2, "hidden": 50}
    monkeypatch.setattr(
        Evidence,
        "model_facts",
        lambda self, key: {**facts(self, key), "model": {**facts(self, key)["model"], **deep}},
    )
    labels = evidence.cells["label"].str.replace("bilstm", "bilstm2")
    labels = labels.str.replace("bilstm2+concat", "bilstm2+residual")
    cells = evidence.cells.assign(corpus="sst", label=labels)
    frame = published_beside_measured(replace(evidence, cells=cells), "tutek2020")
    shown = frame.groupby("table")["metric"].unique().map(set).to_dict()
    assert shown["6"] == {"f1", "delta_f1:uniform:infer", "delta_f1:permute:infer"}
    assert set(shown) == {"2", "3", "6"}
    found = frame.set_index(["model", "metric"])["published_paper"]
    paper = published("tutek2020").query("table == '6' and dataset == 'SST' and metric == 'f1'")
    printed_f1 = paper.set_index("model")["value"]
    for ours, name in (("bilstm2-additive", "base"), ("bilstm2-additive+tying0.1", "tying")):
        named = f"bilstm2-additive-{name}"
        assert found[f"{ours} ({named})", "f1"] == printed_f1[named]
        assert math.isnan(found[f"{ours} ({named})", "token_probability"])
    (unprinted,) = [name for name in set(frame["model"]) if "residual" in name]
    assert math.isnan(found[unprinted, "f1"])
    titles = [one.title for one in readable(frame, "tutek2020", evidence)]
    assert titles[:4] == [
        "Table 4: settings",
        "Table 2: mutual information of words and states",
        "Table 3: the predicted class by one token alone",
        "Table 6: encoders of several layers",
    ]


def test_changes_by_quarters_are_shown(evidence: Evidence) -> None:
    table = quarters(evidence.together)
    assert len(table) == 3 * 2 * 2
    together = evidence.together
    cell = together[
        (together["measure"] == "changed:permute:infer")
        & (together["group"] == "confidence=1")
        & (together["model"] == "bilstm-additive")
    ].iloc[0]
    line = table[
        (table["Model"] == "bilstm-additive")
        & (table["Attention"] == "shuffled afterwards")
        & table["Quarters by"].str.startswith("confidence")
    ].iloc[0]
    assert line["First"].startswith(f"{100 * cell['mean']:+.1f}".replace("-", "−"))
    frame = published_beside_measured(evidence, "tutek2020")
    names = [one.name for one in readable(frame, "tutek2020", evidence)]
    assert names == [
        "table4", "table1", "table2", "table3", "mutual_information", "quarters"
    ]  # fmt: skip


def test_five_lines_speak_of_the_variants(evidence: Evidence) -> None:
    lines = five_lines(evidence)
    assert len(lines) == 5
    for line in lines[:4]:
        assert [line.index(f"{name} ") for name in VARIANTS] == sorted(
            line.index(f"{name} ") for name in VARIANTS
        )
    assert "interval below the base’s in" in lines[1] and "By chance" in lines[2]


def test_the_text_of_the_curves_is_read_right_by_all(evidence: Evidence) -> None:
    cells = evidence.cells[evidence.cells["probe"] == "token_probability"]
    found = typical(evidence, cells)
    assert found is not None
    assert [reading.label for reading in found.readings] == list(dict.fromkeys(cells["label"]))
    for reading in found.readings:
        assert len(reading.by_token) == len(found.tokens) <= MOST_TOKENS
        assert 0.5 <= reading.final <= 1 and all(0 <= p <= 1 for p in reading.by_token)
    assert found.tokens[0].startswith("1 ") and len(set(found.tokens)) == len(found.tokens)


def rows_of(model: dict[str, tuple[float, float, float]]) -> pd.DataFrame:
    """Of texts by name: mean over tokens, confidence, length."""
    columns = ["value", "confidence", "length"]
    return pd.DataFrame.from_dict(model, orient="index", columns=columns)


def test_texts_are_chosen_by_rule() -> None:
    """Of five texts, one of them longer than can be shown and one misread by the second model."""
    first = rows_of(
        {
            "decided": (0.40, 0.90, 9),
            "clear": (0.80, 0.99, 9),
            "long": (0.90, 0.995, 99),
            "misread": (0.10, 0.51, 9),
            "unclear": (0.55, 0.55, 9),
        }
    )
    second = first.assign(confidence=[0.95, 0.97, 0.99, 0.5, 0.57])
    second.loc["misread", "value"] = math.nan
    found = [choose([first, second]) for choose in EXAMPLES.values()]
    assert found == ["decided", "clear", "long", "unclear", "decided"]
    assert EXAMPLES["surer than the first model (Figure 7)"]([second, second]) is None
    assert all(choose([first.iloc[:0], second.iloc[:0]]) is None for choose in EXAMPLES.values())


def test_figures_are_drawn(evidence: Evidence, tmp_path: Path) -> None:
    pytest.importorskip("altair")
    assert {"token_curves", "substitution"} <= set(chosen_figures(evidence))
    figure = FIGURES["token_curves"].make(evidence)
    for group in figure.groups:
        assert [name for name, _ in group.legend] == ["bilstm", "bilstm+concat", "bilstm+tying0.1"]
        for panel in group.panels:
            panel.chart.to_dict(validate=True)
            assert panel.title == "additive" and "on average" in panel.says
    more = FIGURES["token_examples"].make(evidence).groups
    assert len(more) >= 4 and all("(Figure" in group.title for group in more)
    nothing = replace(evidence, cells=evidence.cells.iloc[:0])
    for name in ("token_curves", "token_examples"):
        assert "was not run" in FIGURES[name].make(nothing).missing
