"""The published numbers are read as printed."""

import pytest

from heedful.errors import HeedfulError
from heedful.studies import DATASETS, METRICS, dataset_name, printed_scale, published, score_changed


def test_cells_are_as_printed() -> None:
    table = published("jain2019", "2/paper").set_index(["dataset", "class", "model", "metric"])
    cell = table.loc[("SST", "0", "bilstm-additive", "tau_gradient")]
    assert (cell["value"], cell["sd"]) == (0.40, 0.21)
    slides = published("jain2019", "2/slides").set_index(["dataset", "class", "model", "metric"])
    assert slides.loc[("SST", "0", "bilstm-additive", "tau_gradient"), "value"] == 0.34


def test_every_table_of_jain2019_is_there() -> None:
    assert len(published("jain2019", "1/")) == 12
    assert len(published("jain2019", "2/")) == 252
    assert set(published("jain2019")["dataset"]) <= set(DATASETS.values())
    assert set(published("jain2019")["metric"]) <= set(METRICS)


def test_every_number_that_a_probe_can_measure_is_named() -> None:
    by_people = ("human_percent", "cohen_kappa")
    for paper in ("serrano2019", "vashishth2019"):
        table = published(paper)
        metrics = table.loc[~table["metric"].str.startswith(by_people), "metric"]
        assert len(metrics) and set(metrics) <= set(METRICS)
        datasets = set(table.loc[metrics.index, "dataset"])
        assert datasets <= set(DATASETS.values())
    assert METRICS["delta_bleu:uniform:train+infer"] == (
        "substitution",
        "delta:uniform:train+infer",
    )
    assert METRICS["flip_percent:top_only"] == ("flips", "flip_top_only")


def test_units_are_the_papers() -> None:
    assert printed_scale("jain2019", "accuracy") == 1 and printed_scale("jain2019", "f1") == 1
    assert printed_scale("vashishth2019", "accuracy") == 100
    assert printed_scale("vashishth2019", "delta_accuracy:permute:infer") == 100
    assert printed_scale("vashishth2019", "delta_bleu:permute:infer") == 1
    assert printed_scale("vashishth2019", "bleu") == 1
    assert printed_scale("serrano2019", "flip_percent:both") == 100
    assert score_changed("delta_bleu:permute:infer") == "bleu" and score_changed("bleu") == ""


def test_a_wrong_paper_lists_the_right_ones() -> None:
    with pytest.raises(HeedfulError, match="jain2019, serrano2019"):
        published("jain2091")


def test_an_unpublished_corpus_keeps_its_name() -> None:
    assert (dataset_name("adr"), dataset_name("mine")) == ("ADR Tweets", "mine")
