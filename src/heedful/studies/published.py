"""The numbers the papers print, as a table; a study is read against them.

`published.csv` was copied by hand from the tables of the papers named in its first column
(jain2019 = Jain & Wallace 2019, "Attention is not Explanation", NAACL; Table 2 exists in two
printed versions, `2/paper` and `2/slides`). Scores of jain2019 are fractions, those of the
other papers per cent. `corpora.csv` has what the papers print of their corpora, as printed.
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
    "mnli": "MultiNLI",
    "multi30k": "Multi30k",
    "newscommentary": "News Commentary",
    "wmt13": "WMT13",
    "yahoo": "Yahoo",
    "imdb10": "IMDB-10",
    "amazon": "Amazon",
    "yelp": "Yelp",
}
"""Heedful's corpus name → the name printed in the papers."""

CONDITIONS = (
    "uniform:train+infer",
    "uniform:infer",
    "random:train+infer",
    "random:infer",
    "permute:infer",
)
"""What takes attention's place, and when: in training and afterwards, or afterwards only."""

FLIPS = ("both", "top_only", "random_only", "neither")
"""Whose erasure flips the decision: the heaviest item's, a random other's."""

METRICS = {
    "f1": ("score", "f1"),
    "accuracy": ("score", "accuracy"),
    "micro_f1": ("score", "accuracy"),  # with one label per example the two are equal
    "tau_gradient": ("correlation", "tau_gradient"),
    "tau_gradient_sig_fraction": ("correlation", "tau_gradient_significant"),
    "tau_loo": ("correlation", "tau_loo"),
    "tau_loo_sig_fraction": ("correlation", "tau_loo_significant"),
    "bleu": ("translation", "bleu"),
    **{
        f"delta_{score}:{condition}": ("substitution", f"delta:{condition}")
        for score in ("accuracy", "f1", "bleu")
        for condition in CONDITIONS
    },
    **{f"flip_percent:{cell}": ("flips", f"flip_{cell}") for cell in FLIPS},
    "mutual_information:most_frequent": ("mutual_information", "mutual_information:frequent"),
    "mutual_information:random_sample": ("mutual_information", "mutual_information:sampled"),
    "token_probability": ("token_probability", "token_probability"),
}
"""Published metric → the probe and the measure that reproduce it."""

FRACTIONS = ("jain2019",)
"""The papers that print scores as fractions; the others print them per cent."""
_PER_CENT = ("accuracy", "f1", "micro_f1", "delta_accuracy", "delta_f1", "flip_percent")


def published(paper: str, table_prefix: str = "") -> pd.DataFrame:
    """The published cells of one paper: table, dataset, class, model, metric, value, sd, note."""
    table = _everything()
    papers = printed_papers()
    if paper not in papers:
        raise unknown_name("paper with published numbers", paper, papers)
    kept = table[(table["paper"] == paper) & table["table"].str.startswith(table_prefix)]
    return kept.drop(columns="paper").reset_index(drop=True)


def printed_papers() -> list[str]:
    """The papers whose numbers are here."""
    return sorted(set(_everything()["paper"]))


def printed_corpora(paper: str) -> pd.DataFrame:
    """What a paper prints of its corpora, as texts: table, dataset, statistic, value, sd."""
    with files("heedful.studies").joinpath("corpora.csv").open(encoding="utf8") as stream:
        table = pd.read_csv(stream, dtype="str", keep_default_na=False)
    return table[table["paper"] == paper].drop(columns="paper").reset_index(drop=True)


def score_changed(metric: str) -> str:
    """Of `delta_accuracy:uniform:infer` the score, accuracy; empty for any other metric."""
    name = metric.partition(":")[0]
    return name.removeprefix("delta_") if name.startswith("delta_") else ""


def printed_scale(paper: str, metric: str) -> float:
    """What a measured number is multiplied by to be in the paper's unit: shares are
    fractions here, BLEU goes from 0 to 100 everywhere."""
    per_cent = paper not in FRACTIONS and metric.partition(":")[0] in _PER_CENT
    return 100.0 if per_cent else 1.0


def dataset_name(corpus: str) -> str:
    """The printed name of a corpus; one that no paper used keeps its own."""
    return DATASETS.get(corpus, corpus)


@cache
def _everything() -> pd.DataFrame:
    numbers = {"value": "float64", "sd": "float64"}
    texts = ("paper", "table", "dataset", "class", "model", "metric", "note")
    with files("heedful.studies").joinpath("published.csv").open(encoding="utf8") as stream:
        return pd.read_csv(
            stream,
            dtype={**dict.fromkeys(texts, "str"), **numbers},
            keep_default_na=False,
            na_values={name: [""] for name in numbers},
        )
