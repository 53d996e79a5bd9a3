"""The published numbers are read as printed."""

import pytest

from heedful.errors import HeedfulError
from heedful.studies.published import DATASETS, METRICS, dataset_name, published


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
    assert set(published("jain2019")["metric"]) == set(METRICS)


def test_a_wrong_paper_lists_the_right_ones() -> None:
    with pytest.raises(HeedfulError, match="jain2019, serrano2019"):
        published("jain2091")


def test_an_unpublished_corpus_keeps_its_name() -> None:
    assert (dataset_name("adr"), dataset_name("mine")) == ("ADR Tweets", "mine")
