"""The numbers the papers print, as a table; a study is read against them.

`published.csv` was copied by hand from the tables of the papers named in its first column
(jain2019 = Jain & Wallace 2019, "Attention is not Explanation", NAACL; Table 2 exists in two
printed versions, `2/paper` and `2/slides`). Scores of jain2019 are fractions.
Nothing here needs torch, so a report can be built on any machine.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import pandas as pd

from heedful.errors import unknown_name

DATASETS = {
    "sst": "SST",
    "imdb": "IMDB",
    "adr": "ADR Tweets",
    "20news": "20News",
    "agnews": "AG News",
    "anemia": "Anemia",
    "diabetes": "Diabetes",
    "cnn": "CNN",
    "snli": "SNLI",
    "babi1": "bAbI 1",
    "babi2": "bAbI 2",
    "babi3": "bAbI 3",
}
"""Heedful's corpus name → the name printed in the papers."""

METRICS = {
    "f1": ("score", "f1"),
    "accuracy": ("score", "accuracy"),
    "micro_f1": ("score", "accuracy"),  # with one label per example the two are equal
    "tau_gradient": ("correlation", "tau_gradient"),
    "tau_gradient_sig_fraction": ("correlation", "tau_gradient_significant"),
    "tau_loo": ("correlation", "tau_loo"),
    "tau_loo_sig_fraction": ("correlation", "tau_loo_significant"),
}
"""Published metric → the probe and the measure that reproduce it."""


def published(paper: str, table_prefix: str = "") -> pd.DataFrame:
    """The published cells of one paper: table, dataset, class, model, metric, value, sd, note."""
    table = _everything()
    papers = sorted(set(table["paper"]))
    if paper not in papers:
        raise unknown_name("paper with published numbers", paper, papers)
    kept = table[(table["paper"] == paper) & table["table"].str.startswith(table_prefix)]
    return kept.drop(columns="paper").reset_index(drop=True)


def dataset_name(corpus: str) -> str:
    """The printed name of a corpus; one that no paper used keeps its own."""
    return DATASETS.get(corpus, corpus)


@cache
def _everything() -> pd.DataFrame:
    numbers = {"value": "float64", "sd": "float64"}
    texts = ("paper", "table", "dataset", "class", "model", "metric", "note")
    with files("heedful.studies").joinpath("published.csv").open(encoding="utf8") as stream:
        table = pd.read_csv(
            stream,
            dtype={**dict.fromkeys(texts, "str"), **numbers},
            keep_default_na=False,
            na_values={name: [""] for name in numbers},
        )
    return pd.DataFrame(table)
