"""Published beside measured over all papers: cells once, judgements by hand, rows by setting."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tools.trials import arguments
from tools.trials import main as run_trial
from typer.main import get_command

from heedful.cli import Options, app, main, seeds, study
from heedful.data import CORPORA
from heedful.errors import HeedfulError
from heedful.experiments import PROBES
from heedful.specs import ModelSpec, ProbeSpec, TrainSpec
from heedful.store import Store, run_key
from heedful.studies import MODELS, STUDIES
from paper_tables import judge
from paper_tables.audits import COLUMNS as AUDITED
from paper_tables.audits import merged_audits
from paper_tables.compact import write_compact
from paper_tables.document import document, printed
from paper_tables.judge import Judged, judged
from paper_tables.published import Published, Reason, published_cells, read_reasons, reason_for
from paper_tables.rows import COLUMNS, KEYS, collect, merged, read_rows
from paper_tables.settings import asked, commands
from paper_tables.trials import TRIALS
from probe_runs import NONE, Facts, put_model, put_probe

CONTRAST = "delta_accuracy:uniform:infer"


def cell(metric: str = "accuracy", *values: float, paper: str = "vashishth2019") -> Published:
    versions = zip(("paper", "slides"), values or (83.0,), strict=False)
    return Published(paper, "1", "SST", "all", "bahdanau", metric, tuple(versions))


def test_two_printed_versions_are_one_cell() -> None:
    cells = published_cells()
    places = [(c.paper, c.table, c.dataset, c.label, c.model, c.metric) for c in cells]
    assert len(set(places)) == len(places)
    table = [c for c in cells if (c.paper, c.table, c.dataset) == ("jain2019", "2", "SST")]
    assert len(table) == 12
    assert all([name for name, _ in c.values] == ["paper", "slides"] for c in table)


def test_models_of_one_layer_count_once() -> None:
    """Table 6 of tutek2020 prints Table 1's models again: 36 cells a corpus, 12 of them."""
    deep = [c for c in published_cells() if (c.paper, c.table) == ("tutek2020", "6")]
    assert {c.model.partition("-")[0] for c in deep} == {"bilstm2", "bilstm3"}
    assert sum(c.dataset == "SST" for c in deep) == 24


def test_what_counts_by_hand() -> None:
    """jain2019 5 + 48, tutek2020 3 corpora × (24 + 8 + 8 + 24), vashishth2019 5 corpora × 12."""
    counted = [c.paper for c in published_cells() if c.counted]
    assert {name: counted.count(name) for name in set(counted)} == {
        "jain2019": 5 + 48,
        "tutek2020": 3 * (24 + 8 + 8 + 24),
        "vashishth2019": 5 * 12,
    }


def test_intervals_by_hand() -> None:
    """Of 1, 2, 3: mean 2, sd 1, and t with two degrees of freedom is 4.302653."""
    found = Judged(cell(), (1.0, 2.0, 3.0))
    assert (found.mean, found.sd) == (2.0, 1.0)
    assert found.of_mean == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)
    assert found.around == pytest.approx(4.302653 * math.sqrt(4 / 3), rel=1e-6)


@pytest.mark.parametrize(
    ("metric", "published", "measured", "expected"),
    [
        ("accuracy", 83.0, (81.1, 81.1, 81.1), judge.REPRODUCED),  # two points
        ("accuracy", 83.0, (80.9, 80.9, 80.9), judge.NOT),
        ("accuracy", 83.0, (75.0, 79.0, 83.0), judge.REPRODUCED),  # inside 79 ± 9.9
        ("accuracy", 92.0, (75.0, 79.0, 83.0), judge.UNCERTAIN),  # inside 79 ± 19.9 only
        ("accuracy", 99.0, (75.0, 79.0, 83.0), judge.NOT),
        (CONTRAST, -25.0, (-5.0, -9.0, -13.0), judge.UNCERTAIN),  # before a mere direction
        ("accuracy", 83.0, (81.1, 81.1), judge.FEW),
        (CONTRAST, -10.0, (-5.0, -5.1, -4.9), judge.DIRECTION),
        (CONTRAST, -10.0, (5.0, 5.1, 4.9), judge.NOT),
        (CONTRAST, 5.0, (-0.2, 0.1, 0.4), judge.NOT),  # zero is in our interval
        ("accuracy", -10.0, (-5.0, -5.1, -4.9), judge.NOT),  # no contrast
        (CONTRAST, 0.0, (-5.0, -5.1, -4.9), judge.NOT),  # no direction
    ],
)
def test_judgements(
    metric: str, published: float, measured: tuple[float, ...], expected: str
) -> None:
    assert Judged(cell(metric, published), measured).judgement == expected


def test_either_version_may_be_met() -> None:
    both = cell("tau_loo", 0.40, 0.30, paper="jain2019")
    found = Judged(both, (0.33, 0.33, 0.33))
    assert found.judgement == judge.REPRODUCED
    assert found.difference == pytest.approx(0.03)


def test_the_spread_that_a_paper_prints_counts() -> None:
    given = replace(cell("accuracy", 96.1), sd=4.3)
    assert Judged(given, (100.0, 100.0, 100.0)).judgement == judge.REPRODUCED
    assert Judged(replace(given, sd=3.8), (100.0, 100.0, 100.0)).judgement == judge.NOT


def test_seeds_that_are_wanted() -> None:
    """Of 82, 83, 84 the mean is known to 2.48, of four such numbers more to 0.9."""
    assert Judged(cell(), (82.0, 83.0, 84.0)).wanted == judge.MANY
    assert Judged(cell(), (82.0, 83.0, 84.0, 83.0, 83.0)).wanted == judge.ENOUGH
    assert Judged(cell(), (83.0,)).wanted == judge.MANY  # nothing is known of its spread


def test_tolerances_are_in_the_papers_unit() -> None:
    assert judge.tolerance(cell("f1", 0.8, paper="jain2019")) == 0.02
    assert judge.tolerance(cell("f1", 80.0, paper="tutek2020")) == 2.0
    assert judge.tolerance(cell("token_probability", 0.7, paper="tutek2020")) == 0.02
    assert judge.tolerance(cell("tau_gradient_sig_fraction", 0.7, paper="jain2019")) == 0.06


BASE = MODELS["bilstm-additive-base"]
TRAIN, SCORE = STUDIES["tutek2020"].make().settings[0].train, ProbeSpec("score")


def probed(
    store: Store,
    seed: int,
    model: ModelSpec = BASE,
    train: TrainSpec = TRAIN,
    probe: ProbeSpec = SCORE,
    other: Facts = NONE,
    **rest: Any,
) -> str:
    return put_probe(store, put_model(store, seed, model, train, **rest), probe, other=other)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def test_a_run_of_the_studys_own_setting_is_a_row(store: Store) -> None:
    key = probed(store, seed=3)
    table = collect(store)
    assert list(table.columns) == COLUMNS
    line = table.iloc[0].to_dict()
    assert (line["paper"], line["corpus"], line["model"]) == (
        "tutek2020",
        "sst",
        "bilstm-additive-base",
    )
    assert (line["size"], line["seed"], line["mean"], line["run"]) == ("full", 3, 0.8, key)


def test_deeper_models_have_the_names_of_table_6(store: Store) -> None:
    probed(store, 0, model=replace(BASE, layers=3))
    assert set(collect(store)["model"]) == {"bilstm3-additive-base"}


@pytest.mark.parametrize(
    "other",
    [
        {"train": replace(TRAIN, learning_rate=0.1)},
        {"limit": 100},
        {"model": replace(BASE, hidden=64)},
        {"probe": ProbeSpec("score", {"resamples": 7})},
        {"probe": ProbeSpec("layers")},
        {"other": {"version": 1 + PROBES["score"].version}},
        {"other": {"precision": "float64"}},
        {"other": {"split": "dev"}},
        {"other": {"params": None}},
        {"corpus": {"params": {"classes": 5}}},
        {"corpus": {"version": 0}},
        {"corpus": {"prepare": None}},
        {"trained": {"versions": {"family": 0}}},
        {"trained": {"model": {**asdict(BASE), "shoes": 2}}},
        {"trained": {"model": None}},
    ],
)
def test_what_no_study_asks_for_is_no_row(store: Store, other: dict[str, Any]) -> None:
    probed(store, 0, **other)
    assert len(collect(store)) == 0


@pytest.mark.parametrize(("column", "text"), [("mean", "high"), ("n", "many"), ("group", None)])
def test_a_summary_that_cannot_be_used_is_named(
    store: Store, column: str, text: str | None
) -> None:
    probed(store, 0)
    run = next(store.runs("probe"))
    table = run.table("summary").drop(columns=column)
    if text is not None:
        table = table.assign(**{column: text})
    facts = {**run.facts, "seed": 9}
    with store.writing("probe", facts) as written:
        written.table("summary", table)
    with pytest.raises(HeedfulError, match=f"{run_key('probe', facts)} has no '{column}'"):
        collect(store)


def test_rows_are_written_and_read_back(store: Store, tmp_path: Path) -> None:
    probed(store, 0)
    path = tmp_path / "rows.csv"
    write_compact(collect(store), path)
    once = path.read_bytes()
    write_compact(read_rows(path), path)
    assert path.read_bytes() == once


def test_rows_of_a_study_that_has_changed_are_passed_over(store: Store, tmp_path: Path) -> None:
    probed(store, 0)
    table, path = collect(store), tmp_path / "rows.csv"
    others = [table.assign(**{name: "other"}) for name in ("paper", "model", "corpus")]
    others.append(table.assign(setting="other", seed=1))
    write_compact(pd.concat([*others, table]), path)
    assert read_rows(path)["run"].tolist() == table["run"].tolist()


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "\0", ",".join(COLUMNS) + '\n"'])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(text)
    with pytest.raises(HeedfulError, match="compact rows"):
        read_rows(path)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda line: line + ",1", "17 fields instead of 16"),
        (lambda line: line[:20], "fields instead of 16"),
        (lambda line: line.replace("all", "a\0l"), "characters that no text has"),
        (lambda line: line.replace("0.8", "high"), "mean in line 2 .* is 'high'"),
        (lambda line: line.replace("0.8", "inf"), "mean in line 2 .* is 'inf'"),
        (lambda line: line.replace("0.8", "1e308"), "mean in line 2 .* is '1e308'"),
        (lambda line: line.replace(",9,", ",-9,"), "n in line 2 .* is -9"),
        (lambda line: line.replace(",9,", ",9.5,"), "n in line 2 .* is 9.5"),
        (lambda line: line.replace(",9,", ",,"), "n in line 2 .* is nan"),
        (lambda line: f"{line}\n{line}", "line 3 .* repeats another"),
    ],
)
def test_spoilt_rows_are_refused(
    store: Store, tmp_path: Path, spoil: Callable[[str], str], words: str
) -> None:
    probed(store, 0)
    path = tmp_path / "rows.csv"
    write_compact(collect(store), path)
    head, line = path.read_text().splitlines()
    path.write_text(f"{head}\n{spoil(line)}\n")
    with pytest.raises(HeedfulError, match=words):
        read_rows(path)


def lines(model: str, values: list[float], size: str = "full") -> pd.DataFrame:
    one = {"paper": "tutek2020", "corpus": "sst", "model": model, "size": size}
    one |= {"probe": "score", "measure": "f1", "group": "all", "n": 9, "undefined": 0}
    made = [{**one, "seed": seed, "mean": value} for seed, value in enumerate(values)]
    return pd.DataFrame(made).reindex(columns=COLUMNS)


def test_what_is_measured_again_takes_the_place_of_what_was_there() -> None:
    old, new = lines("m", [0.1, 0.2]), lines("m", [0.9])
    together = merged(old, new)
    assert together["mean"].tolist() == [0.9, 0.2]
    assert not together.duplicated(KEYS).any()


def test_small_runs_are_never_mixed_with_full_ones() -> None:
    name = "bilstm-additive-base"
    both = pd.concat([lines(name, [0.5, 0.6], "small"), lines(name, [0.8])])
    found = judged(published_cells(), both)
    assert [each.measured for each in found] == [(80.0,)]  # per cent, as the paper prints


def test_the_document_says_what_it_is_made_of() -> None:
    rows = pd.concat([lines("bilstm-additive-base", [0.841, 0.842, 0.843])])
    rows = pd.concat([rows, lines("bilstm-dot-base", [0.5, 0.5, 0.5])])
    reasons = [Reason("tutek2020", "1", "*", "bilstm-dot-*", "f1", "", "Half of it | was lost.")]
    page = document(rows, reasons)
    assert (
        "| SST | bilstm-additive-base | F1 |  | 84.2 | 84.2 ± 0.2 [83.7, 84.7] | 3 of 5 | "
        "reproduced |" in page
    )
    assert (
        "| SST | bilstm-dot-base | F1 |  | 84.3 | 50.0 ± 0.0 [50.0, 50.0] | 3 of 5 | "
        "**not reproduced** |" in page
    )
    assert (
        "- Half of it | was lost.\n    - tutek2020, table 1: SST, bilstm-dot-base: F1 (not" in page
    )
    assert "| [tutek2020](#tutek2020) | 192 | 2 | 1 (50%) | 0 | 0 | 1 | 0 | 1 (50%) |" in page
    assert "| with 3 seeds |  | 2 | 1 (50%) | 0 | 0 | 1 | 0 | 1 (50%) |" in page
    assert "0 cells want 10, and 2 others 5." in page
    assert "| tutek2020 | 1 | SST | bilstm-dot-base | 3 of 5 | F1 ±0.0 |" in page
    assert "- `heedful study tutek2020 --corpora sst --encoders bilstm --seeds 5 --probes" in page
    assert "| tutek2020 | 1 | SST | bilstm-dot-base | 2 |" in page  # of its 3 cells one
    assert page == document(rows.iloc[::-1], reasons)


@pytest.mark.parametrize("name", TRIALS)
def test_a_trial_changes_every_model_of_its_paper_that_it_has(name: str) -> None:
    """Else its runs would be the study's own, and count for both."""
    trial = TRIALS[name]
    printed_models = {cell.model for cell in published_cells() if cell.paper == trial.paper}
    models = trial.study.settings[0].models
    assert {trial.study.names.get(model.name, model.name) for model in models} <= printed_models
    found = [{each.paper for each in place} for place in asked().values()]
    assert any(name in papers for papers in found)
    assert not any({name, trial.paper} <= papers for papers in found)


def test_a_trial_is_shown_and_not_counted(store: Store) -> None:
    """The same model, wider: of no paper's study, but of a trial."""
    key = probed(store, 1, model=replace(BASE, hidden=150))
    rows = merged(lines("bilstm-additive-base", [0.7, 0.7, 0.7]), collect(store))
    assert rows[rows["run"] == key]["paper"].tolist() == ["tutek2020-wide"]
    page = document(rows, [])
    assert "| SST | bilstm-additive-base | F1 |  | 84.2 | 70.0 | 80.0 | 1 |" in page
    assert "| [tutek2020](#tutek2020) | 192 | 1 | 0 (0%) | 0 | 0 | 1 | 0 | 0 (0%) |" in page
    assert "- `python -m tools.trials tutek2020-wide --corpora sst --attention additive" in page


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (cell("accuracy", 83.4), "83.4"),
        (replace(cell("accuracy", 83.4), sd=0.5), "83.4 ± 0.5"),
        (cell("tau_loo", 0.4, 0.34, paper="jain2019"), "0.40 / 0.34"),
        (cell("mutual_information:most_frequent", 3.985, paper="tutek2020"), "3.985"),
    ],
)
def test_published_numbers_are_shown_as_printed(given: Published, words: str) -> None:
    assert printed(given) == words


def test_spreads_over_texts_are_not_shown_as_those_of_scores() -> None:
    """jain2019 prints one beside each τ, vashishth2019 beside each score."""
    shown = {(c.paper, c.metric.partition("_")[0]) for c in published_cells() if c.sd is not None}
    assert shown == {("vashishth2019", "accuracy"), ("vashishth2019", "bleu")}


def test_what_hangs_on_the_second_version() -> None:
    place = {"paper": "jain2019", "probe": "correlation", "measure": "tau_gradient"}
    rows = lines("bilstm-additive", [0.33] * 3).assign(**place, group="class=0")
    assert "1 values were published twice with different numbers; for 1 of them only" in document(
        rows, []
    )


def test_small_runs_are_called_so() -> None:
    rows = lines("bilstm-additive-base", [0.842, 0.842, 0.842])
    assert "| SST, run small |" in document(rows.assign(size="small"), [])
    assert "run small |" not in document(rows, [])


def test_a_command_does_not_promise_more_seeds_than_a_probe_had() -> None:
    five = lines("bilstm-additive-base", [0.8] * 5)
    three = lines("bilstm-additive-base", [0.8] * 3).assign(probe="substitution")
    found = commands(pd.concat([five, three], ignore_index=True))
    assert [line.partition("--seeds ")[2] for line in found] == [
        "3 --probes substitution",
        "5 --probes score",
    ]


def test_wide_intervals_are_not_called_close() -> None:
    found = Judged(cell("accuracy", 83.0), (75.0, 79.0, 83.0))
    assert found.judgement == judge.REPRODUCED and not found.close
    assert Judged(cell("accuracy", 83.0), (82.0, 82.0, 82.0)).close
    assert not Judged(cell("accuracy", 83.0), (82.0, 82.0)).close  # too few seeds


def test_commands_that_make_the_rows() -> None:
    deep = lines("bilstm2-additive-base", [0.1, 0.2])
    some = pd.concat([lines("bilstm-dot-base", [0.1, 0.2, 0.3]), deep])
    both = pd.concat([some, some.assign(corpus="imdb")])
    assert commands(both) == [
        "heedful study tutek2020 --corpora imdb,sst --encoders bilstm --attention dot --seeds 3 "
        "--probes score",
        "heedful study tutek2020 --corpora imdb,sst --layers 2 --encoders bilstm "
        "--attention additive --seeds 2 --probes score",
    ]
    crossed = pd.concat([both, lines("bilstm-dot-concat", [0.1]), lines("bilstm-dot-mlm", [0.1])])
    wider = next(line for line in commands(crossed) if "--corpora sst --attention dot" in line)
    assert "--encoders" not in wider  # concat with masked words is no model of the study
    later = lines("bilstm-dot-base", [0.1, 0.2]).assign(seed=[3, 7], size="small")
    assert "--preset small --encoders bilstm --attention dot --seeds 3,7 " in commands(later)[0]


def test_every_command_of_the_page_is_one() -> None:
    """Options are parsed and names known; nothing is run."""
    page = (Path(__file__).parent.parent / "docs/reproduction.md").read_text(encoding="utf8")
    found = re.findall(r"`heedful (study [^`]+)`", page)
    asked = [line for line in found if "all --report" not in line]
    assert len(asked) > 10
    command: Any = get_command(app)
    for line in asked:
        given = command.commands["study"].make_context("study", shlex.split(line)[1:]).params
        study = STUDIES[given["name"]].make()
        models = [model for one in study.settings for model in one.models]
        probes = {probe.name for one in study.settings for probe in one.probes}
        assert set(given["corpora"].split(",")) <= {*CORPORA}
        assert set((given["probes"] or "score").split(",")) <= probes
        assert _names(given["encoders"]) <= {model.encoder for model in models}
        assert _names(given["attention"]) <= {model.attention for model in models}


def _names(text: str | None) -> set[str]:
    return set(text.split(",")) if text else set()


def test_commands_of_trials_are_understood_by_their_tool() -> None:
    some = lines("bilstm-additive-base", [0.1, 0.2]).assign(seed=[3, 7])
    (command,) = commands(some.assign(paper="tutek2020-information"))
    asked = arguments(shlex.split(command)[3:])
    assert asked.trial == "tutek2020-information" and asked.corpora == "sst"
    assert asked.encoders == "bilstm" and seeds(asked.seeds) == [3, 7]


def test_an_audit_is_kept_once_whatever_its_model_is_called() -> None:
    one = {"model": "Bert (classes)", "weights": "1f", "data": "sst", "kind": "verdict"}
    old = pd.DataFrame([{**one, "measure": "importance", "run": "audit-1", "mean": 0.1}])
    old = old.reindex(columns=AUDITED)
    again = merged_audits(old, old.assign(model="Bert", mean=0.2))
    assert again[["model", "mean"]].to_numpy().tolist() == [["Bert", 0.2]]
    assert len(merged_audits(old, old.assign(weights="2f", run="audit-2"))) == 2


def test_a_cell_of_which_nothing_is_known_is_unexplained() -> None:
    page = document(lines("bilstm-dot-base", [0.5, 0.5, 0.5]), [])
    assert "### Unexplained\n\n1 cell." in page and "- Nothing was tried yet.\n" in page
    assert "### A trial comes nearer" not in page


@pytest.mark.parametrize(
    ("trial", "rows", "explained"),
    [
        ("tutek2020-wide", [0.6, 0.6, 0.6], True),
        ("tutek2020-wide", [0.59, 0.6, 0.61], True),  # nearer by 0.1, known to 0.025
        ("tutek2020-wide", [0.5, 0.6, 0.7], False),  # nearer by 0.1, known to 0.25
        ("tutek2020-wide", [0.6], False),  # one training says little
        ("tutek2020-wide", [0.4, 0.4, 0.4], False),  # further off than without
        ("tutek2020-long", [0.6, 0.6, 0.6], False),  # another trial's rows
        ("", [0.6, 0.6, 0.6], False),
    ],
)
def test_a_reason_holds_where_its_trial_comes_nearer(
    trial: str, rows: list[float], explained: bool
) -> None:
    own = lines("bilstm-dot-base", [0.5, 0.5, 0.5])
    of_trial = lines("bilstm-dot-base", rows).assign(paper="tutek2020-wide")
    reason = Reason("tutek2020", "1", "*", "*", "f1", trial, "Wider is better.")
    page = document(pd.concat([own, of_trial]), [reason])
    head, other = "### A trial comes nearer", "### Unexplained"
    assert (head in page, other in page) == (explained, not explained)
    assert "- Wider is better.\n    - tutek2020, table 1: SST, bilstm-dot-base: F1" in page


def test_uncertain_cells_are_not_counted_as_reproduced() -> None:
    page = document(lines("bilstm-additive-base", [0.67, 0.71, 0.75]), [])
    assert "| [tutek2020](#tutek2020) | 192 | 1 | 0 (0%) | 1 | 0 | 0 | 0 | 0 (0%) |" in page
    assert "bilstm-additive-base: F1 (consistent but uncertain)" in page


def test_reasons_by_pattern(tmp_path: Path) -> None:
    path = tmp_path / "reasons.csv"
    head = "paper,table,dataset,model,metric,trial,text\n"
    path.write_text(f"{head}jain2019,*,*,*,*,,Other.\nvashishth2019,1,S*,*,acc*,,Vectors.\n")
    reasons = read_reasons(path)
    assert reason_for(cell(), reasons) == reasons[1] and reasons[1].text == "Vectors."
    assert reason_for(cell("f1"), reasons) is None
    spoilt = {
        "text\nno\n": "columns of reasons",
        "": "columns of reasons",
        f"{head}jain2019,*,*\n": "3 fields instead of 7",
        f"{head}nobody2019,*,*,*,*,,Why.\n": "line 2 .* for no published cell",
        f"{head}jain2019,*,*,*,*,, \n": "line 2 .* gives no reason",
        f"{head}jain2019,*,*,*,*,wider,Why.\n": "trial in line 2",
        f'{head}jain2019,*,*,*,*,,"# A\nB"\n': "characters that no text has",
        f'{head}jain2019,*,*,*,*,,"open\n': "cannot be read as reasons",
    }
    for text, words in spoilt.items():
        path.write_text(text)
        with pytest.raises(HeedfulError, match=words):
            read_reasons(path)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with kept rows, as the repository is one."""
    monkeypatch.chdir(tmp_path)
    for folder in ("reproduction", "docs"):
        (tmp_path / folder).mkdir()
    (tmp_path / "reproduction/reasons.csv").write_text(
        "paper,table,dataset,model,metric,trial,text\n"
    )
    probed(Store(tmp_path / "before"), seed=0, model=MODELS["bilstm-dot-base"])
    write_compact(collect(Store(tmp_path / "before")), tmp_path / "reproduction/rows.csv")
    return tmp_path


def test_the_command_adds_the_stores_rows_and_writes_the_page(checkout: Path) -> None:
    probed(Store(checkout / "store"), seed=0)
    assert main(["study", "all", "--report", "--store", "store"]) == 0
    kept = read_rows(checkout / "reproduction/rows.csv")
    assert set(kept["model"]) == {"bilstm-dot-base", "bilstm-additive-base"}
    page = (checkout / "docs/reproduction.md").read_bytes()
    assert page.decode() == document(kept, [])
    assert main(["study", "all", "--report"]) == 0
    assert (checkout / "docs/reproduction.md").read_bytes() == page


def test_the_wheel_alone_says_that_the_pages_need_a_checkout(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    installed = checkout / "lib" / "heedful" / "cli" / "study.py"
    monkeypatch.setattr(import_module("heedful.cli.study"), "__file__", str(installed))
    assert main(["study", "all", "--report"]) == 2
    said = capsys.readouterr().err
    assert "needs a checkout" in said and said.count("\n") == 1
    assert not list((checkout / "docs").iterdir())


def test_only_a_store_that_is_named_is_read(checkout: Path) -> None:
    probed(Store(checkout / "heedful-store"), seed=0)
    assert main(["study", "all", "--report"]) == 0
    assert set(read_rows(checkout / "reproduction/rows.csv")["model"]) == {"bilstm-dot-base"}


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (["--store", "elsewhere"], "no store at elsewhere"),
        (["--store", "file"], "no store at file"),
        (["--dry-run"], "leave out --dry-run"),
        (["--json", "--preset", "tiny", "--engine", "x"], "leave out --preset, --engine, --json"),
    ],
)
def test_a_report_takes_a_store_and_nothing_else(
    checkout: Path, capsys: pytest.CaptureFixture[str], typed: list[str], words: str
) -> None:
    (checkout / "file").write_text("")
    assert main(["study", "all", "--report", *typed]) == 2
    assert words in capsys.readouterr().err
    assert not list((checkout / "docs").iterdir())


def test_nothing_is_written_where_something_cannot_be_read(checkout: Path) -> None:
    before = (checkout / "reproduction/rows.csv").read_bytes()
    probed(Store(checkout / "store"), seed=0)
    for name in ("audits", "reasons"):
        path = checkout / f"reproduction/{name}.csv"
        kept = path.read_text() if path.exists() else None
        path.write_text("junk\n")
        assert main(["study", "all", "--report", "--store", "store"]) == 2
        path.unlink() if kept is None else path.write_text(kept)
    assert (checkout / "reproduction/rows.csv").read_bytes() == before
    assert not list((checkout / "docs").iterdir())


def test_nothing_is_written_where_something_cannot_be(checkout: Path) -> None:
    (checkout / "docs/findings.md").mkdir()
    assert main(["study", "all", "--report"]) == 2
    assert [path.name for path in (checkout / "docs").iterdir()] == ["findings.md"]


def test_pictures_of_what_is_not_told_go(checkout: Path) -> None:
    old = checkout / "docs/figures/findings/fixed-decisions.svg"
    old.parent.mkdir(parents=True)
    old.write_text("<svg/>")
    assert main(["study", "all", "--report"]) == 0 and not old.exists()


def test_rows_that_no_study_has_any_more_are_told_of(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = checkout / "reproduction/rows.csv"
    head, line = path.read_text().splitlines()
    path.write_text(f"{head}\n{line}\n{line.replace('tutek2020', 'other2020')}\n")
    assert main(["study", "all", "--report"]) == 0
    assert "1 rows are of settings that no study has any more" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (["--corpora", "planted"], "planted"),
        (["--corpora", "sst,"], "--corpora"),
        (["--seeds", "x"], "seeds"),
        (["--device", "tpu"], "tpu"),
        (["--data-dir", "nowhere"], "nowhere"),
        (["--store", "file"], "file"),
    ],
)
def test_a_trial_refuses_in_a_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    typed: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    assert run_trial(["tutek2020-wide", *typed]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ") and said.count("\n") == 1 and words in said


def test_the_committed_page_is_what_the_committed_rows_say() -> None:
    here = Path(__file__).parent.parent
    rows = read_rows(here / "reproduction/rows.csv")
    made = document(rows, read_reasons(here / "reproduction/reasons.csv"))
    assert (here / "docs/reproduction.md").read_text(encoding="utf8") == made


def test_all_studies_of_a_corpus_are_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[tuple[str, Any]] = []

    def plan(name: str, options: Options, *_: object) -> None:
        planned.append((name, options.corpora))

    def plan_all(*corpora: str) -> None:
        study.plan_studies("all", Options(list(corpora)), None, "float32")

    monkeypatch.setattr(study, "plan_study", plan)
    plan_all("snli", "sst")
    with pytest.raises(HeedfulError, match="no paper has nope"):
        plan_all("sst", "nope")
    assert ("jain2019", ["snli", "sst"]) in planned
    assert ("tutek2020", ["sst"]) in planned
    assert "serrano2019" not in dict(planned)
    with pytest.raises(HeedfulError, match="no paper has planted"):
        plan_all("planted")


def test_a_trial_is_judged_by_all_of_its_cells_beside_the_study_with_the_same_seeds() -> None:
    """F1 of the dot model is 84.3: trial's seeds 0 to 2 give it, the study's give 50. The study's
    fourth seed, which the trial has not, is left out."""
    own = lines("bilstm-dot-base", [0.5, 0.5, 0.5, 0.84])
    tried = lines("bilstm-dot-base", [0.84, 0.84, 0.84]).assign(paper="tutek2020-unit")
    page = document(pd.concat([own, tried]), [])
    assert "| `tutek2020-unit` | 1 | 1 | 0 | 1 |" in page
    assert "where they have three seeds (1 of 1), 1 cells would be reproduced instead of 1." in page
    few = tried[tried["seed"] < 2]
    assert "would be reproduced" not in document(pd.concat([own, few]), [])
