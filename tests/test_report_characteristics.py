"""Corpora and settings beside those that the papers print, on numbers counted by hand."""

from __future__ import annotations

import inspect
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from heedful.report import gather, published_beside_measured, readable
from heedful.report.characteristics import SETTINGS, STATISTICS, corpora_table, settings_table
from heedful.report.evidence import Evidence
from heedful.report.readable import by_epsilon
from heedful.specs import ModelSpec, TermSpec
from heedful.store import Store
from heedful.studies import DATASETS, STUDIES, printed_corpora
from heedful.training.loss import TERMS
from test_report_fake import Fake, fake_study, write

SPLITS = {
    "train": {"by_class": [30, 33], "average_length": 18.6},
    "dev": {"by_class": [3, 4]},
    "test": {"by_class": [8, 9]},
}
REPORT = (("splits", SPLITS), ("vocabulary", 16184))


def evidence_of(root: Path, fake: Fake) -> Evidence:
    store, run = fake_study(root, fake)
    return gather(store, [run])


def test_sizes_stand_beside_the_printed_ones_by_class(tmp_path: Path) -> None:
    table, _, frame = corpora_table(evidence_of(tmp_path, Fake(report=REPORT)), "jain2019")
    assert table == "1"
    assert frame.to_dict("records") == [
        {
            "Data": "SST",
            "words known, paper": "16175",
            "Words known": "16184",
            "length, paper": "19",
            "Length": "19",
            "training, paper": "3034 / 3321",
            "Training": "30 / 33",
            "test, paper": "863 / 862",
            "Test": "8 / 9",
            "Note": "",
        }
    ]


def test_sizes_are_added_up_where_the_paper_does(tmp_path: Path) -> None:
    fake = Fake(("babi1",), report=REPORT)
    _, _, frame = corpora_table(evidence_of(tmp_path, fake), "jain2019")
    line = frame.iloc[0]
    assert (line["training, paper"], line["Training"], line["Test"]) == ("10000", "63", "17")


def test_a_substitute_is_called_so(tmp_path: Path) -> None:
    han = ModelSpec("bigru", "additive", family="hierarchical")
    report = (*REPORT, ("stands_for", "IMDB-10"))
    fake = Fake(("imdb8",), paper="serrano2019", specs=(han,), report=report)
    _, _, frame = corpora_table(evidence_of(tmp_path, fake), "serrano2019")
    line = frame.iloc[0]
    assert (line["Data"], line["Note"]) == ("imdb8", "substitute for IMDB-10")
    assert (line["length, paper"], line["Length"]) == ("395 (259)", "")  # no sentences are here
    assert (line["training and dev, paper"], line["Training and dev"]) == ("122121", "70")
    assert (line["classes, paper"], line["Classes"]) == ("10", "2")


def test_words_and_sentences_of_texts_that_are_here(tmp_path: Path) -> None:
    """Two texts: 3 words in 2 sentences, 5 words in 1. Means 4 and 1.5; √2 and √½ apart."""
    store = Store(tmp_path)
    examples = pd.DataFrame(
        {"starts_a": [[0, 2, 4], [0, 1, 2, 3, 4]], "sentences_a": [[0, 0, 1], [0] * 5]}
    )
    tables: dict[str, Any] = {"examples": examples, "report": {"labels": ["a", "b"]}}
    corpus = write(store, "corpus", {"piece": "yelp", "params": {}}, tables)
    cells = pd.DataFrame([{"corpus": "yelp", "corpus_run": corpus.key}])
    _, _, frame = corpora_table(Evidence(store, (), cells, pd.DataFrame()), "serrano2019")
    line = frame.iloc[0]
    assert (line["Length"], line["Sentences"]) == ("4 (1)", "1.5 (0.7)")
    assert line["sentences, paper"] == "7.0 (5.6)"


def test_a_corpus_that_the_paper_has_not_is_left_out(tmp_path: Path) -> None:
    _, _, frame = corpora_table(evidence_of(tmp_path, Fake(("mine",), report=REPORT)), "jain2019")
    assert frame.empty


@pytest.mark.parametrize("paper", ["vashishth2019", "mohankumar2020", "nobody"])
def test_other_papers_have_no_such_table(tmp_path: Path, paper: str) -> None:
    _, _, frame = corpora_table(evidence_of(tmp_path, Fake(report=REPORT)), paper)
    assert frame.empty


def test_nothing_is_shown_where_nothing_was_carried_along(tmp_path: Path) -> None:
    store = Store(tmp_path)
    cells = pd.DataFrame([{"corpus": "sst", "corpus_run": ""}])
    _, _, frame = corpora_table(Evidence(store, (), cells, pd.DataFrame()), "jain2019")
    assert frame.empty


def test_settings_of_all_models_stand_beside_the_papers(tmp_path: Path) -> None:
    base = ModelSpec("bilstm", hidden=50)
    specs = (base, replace(base, hidden=150, terms=(TermSpec("mlm", 0.3),)))
    report = (*REPORT, ("dimension", 100))
    frame = settings_table(evidence_of(tmp_path, Fake(specs=specs, report=report)))
    found = {line["Setting"]: (line["Paper"], line["Here"]) for line in frame.to_dict("records")}
    assert found[SETTINGS["embedding"][0]] == ("300", "100")
    assert found[SETTINGS["hidden"][0]] == ("150", "50, 150")
    assert found[SETTINGS["mlm"][0]] == ("0.1, 0.3, 1, 3, 5", "0.3")
    assert SETTINGS["tying"][0] not in found


def test_the_share_of_masked_words_is_the_terms_own() -> None:
    default = inspect.signature(TERMS["mlm"].make).parameters["share"].default
    assert default == 0.15 == float(SETTINGS["share"][1])


def test_printed_corpora_are_of_papers_and_statistics_that_are_known() -> None:
    for paper in ("jain2019", "serrano2019", "tutek2020"):
        printed = printed_corpora(paper)
        assert set(printed["dataset"]) <= {*DATASETS.values()} and paper in STUDIES
        assert set(printed["statistic"]) <= {*STATISTICS}
        assert not printed.duplicated(["dataset", "statistic"]).any()
    assert printed_corpora("jain2019").shape == (12 * 4, 5)


def test_the_report_shows_them_first(tmp_path: Path) -> None:
    evidence = evidence_of(tmp_path, Fake(report=REPORT))
    tables = readable(published_beside_measured(evidence, "jain2019"), "jain2019", evidence)
    assert (tables[0].name, tables[0].title) == ("table1_corpora", "Table 1: corpora")


def test_distances_by_epsilon_are_a_column_each() -> None:
    """From the smallest ε on; a model that was asked for fewer has blanks."""
    one = {"corpus": "sst", "probe": "adversarial", "group": "all", "low": 0.1, "high": 0.3}
    lines = [("m", "0.1", 0.25), ("m", "0.01", 0.2), ("n", "0.1", 0.3)]
    made = [{**one, "model": m, "measure": f"jsd_epsilon:{e}", "mean": v} for m, e, v in lines]
    table = by_epsilon(pd.DataFrame([*made, {**one, "model": "n", "measure": "jsd_exact"}]))
    assert list(table.columns) == ["Data", "Model", "ε = 0.01", "ε = 0.1"]
    shown = "0.20 (0.10 to 0.30)", "0.25 (0.10 to 0.30)"
    assert table.to_numpy().tolist() == [
        ["SST", "m", *shown],
        ["SST", "n", "", "0.30 (0.10 to 0.30)"],
    ]
    assert by_epsilon(pd.DataFrame(made[:0], columns=list(made[0]))).empty
