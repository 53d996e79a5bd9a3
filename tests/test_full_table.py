"""The tables in one command: what it is asked, what it costs, and whose its rows are."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from tools.full_table import Speed, behind_the_rows, main, plan_of, wanted

from heedful.errors import HeedfulError
from heedful.studies import MODELS
from paper_tables import rows as rows_module
from paper_tables.rows import COLUMNS, as_today
from paper_tables.settings import Asked
from paper_tables.trials import TRIALS


def test_a_name_says_which_corpora_seeds_models_and_probes() -> None:
    asked = wanted("tutek2020:sst,20news:3-4:bilstm-dot-*:score")
    assert asked.corpora == ("sst", "20news") and asked.seeds == (3, 4)
    plan = plan_of(asked, None)
    dots = {model for name, model in MODELS.items() if name.startswith("bilstm-dot-")}
    assert {cell.model for cell in plan.cells} == dots
    assert [cell.seed for cell in plan.cells] == [3] * 10 + [4] * 10
    assert {probe.name for cell in plan.cells for probe in cell.probes} == {"score"}
    everything = plan_of(wanted("tutek2020:sst:1"), None)
    assert len(everything.cells) == len(MODELS)
    assert "conicity" not in {probe.name for probe in everything.cells[0].probes}


def test_deeper_models_are_known_by_their_names() -> None:
    (cell, other) = plan_of(wanted("tutek2020:sst:1:bilstm[23]-additive-base:score"), None).cells
    assert (cell.model.layers, other.model.layers) == (2, 3)


def test_a_trials_corpus_is_prepared_as_the_trial_has_it() -> None:
    cell = plan_of(wanted("tutek2020-300:sst:1:bilstm-additive-base"), None).cells[0]
    assert cell.corpus == TRIALS["tutek2020-300"].corpus("sst") and cell.model.hidden == 150


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tutek", "unknown study or trial 'tutek'"),
        ("tutek2020:sts", "unknown corpus 'sts'"),
        ("tutek2020:sst:1:a:b:c", "too many colons"),
    ],
)
def test_a_name_that_means_nothing_is_refused(text: str, said: str) -> None:
    with pytest.raises(HeedfulError, match=said):
        wanted(text)


def test_models_that_a_study_has_not_are_refused() -> None:
    with pytest.raises(HeedfulError, match="no such models: gru"):
        plan_of(wanted("tutek2020:sst:1:gru"), None)


def test_without_a_name_it_does_what_the_rows_were_made_of() -> None:
    line = {"paper": "tutek2020", "corpus": "sst", "size": "full"}
    model = {**line, "model": "bilstm-dot-base"}
    some = pd.DataFrame(
        [{**model, "seed": seed, "probe": probe} for seed in (0, 1) for probe in ("score", "x")]
        + [{**model, "model": "bilstm2-additive-base", "seed": 0, "probe": "score"}]
    )
    found = {asked.models: asked for asked in behind_the_rows(some)}
    dot = found["bilstm-dot-base",]
    assert (dot.seeds, dot.probes, dot.size) == ((0, 1), ("score", "x"), "full")
    assert found["bilstm2-additive-base",].seeds == (0,)


def test_an_update_costs_a_line_in_the_length_of_the_texts(tmp_path: Path) -> None:
    training = [
        {"model": "CNN", "corpus": corpus, "batch": batch, "ms_per_update": ms}
        for corpus, batch, ms in (("SST", 32, 4.8), ("IMDb", 32, 39.0), ("SST", 256, 99.0))
    ]
    several = [{"workers": 1, "ratio": 1.0}, {"workers": 4, "ratio": 1.9}]
    path = tmp_path / "gpu.json"
    path.write_text(json.dumps({"training": training, "several": several}), encoding="utf8")
    speed = Speed.measured(path)
    start, slope = speed.lines["CNN"]
    assert (start, slope) == pytest.approx((1.0, 0.2))  # 1 + 0.2 · 19 = 4.8, 1 + 0.2 · 190 = 39
    assert [speed.faster(workers) for workers in (1, 3, 14)] == [1.0, 1.0, 1.9]


def test_the_cost_is_printed_and_nothing_is_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["jain2019:planted:1:average-additive:score", "--store", str(tmp_path)]
    assert main([*given, "--dry-run", "--device", "cpu"]) == 0
    told = capsys.readouterr().err
    assert "planted: 1 trainings, about" in told and "1 of them done" in told
    assert not list((tmp_path / "runs").glob("model-*"))
    assert main(["tutek2020:sts"]) == 2


def test_rows_go_to_the_studies_that_ask_for_their_setting_today(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A study that takes a trial's setting takes its rows."""
    known = {("sst", "score", "1f"): (Asked("p", "new", "full"), Asked("trial", "new", "full"))}
    monkeypatch.setattr(rows_module, "asked", lambda: known)
    line = dict.fromkeys(COLUMNS, "") | {"corpus": "sst", "probe": "score", "setting": "1f"}
    lines = pd.DataFrame([{**line, "paper": "trial", "model": "old", "seed": 0}])
    lost = lines.assign(setting="2f", seed=1)
    found = as_today(pd.concat([lines, lost], ignore_index=True))
    assert found[["paper", "model", "seed"]].to_numpy().tolist() == [
        ["p", "new", 0],
        ["trial", "new", 0],
    ]
