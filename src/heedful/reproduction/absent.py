"""Published corpora that are not at hand, or not whole, and the commands that would run them."""

from __future__ import annotations

PEOPLE = ("human_percent", "cohen_kappa")
"""Judgements by people; no probe measures them."""

ABSENT = {
    "Diabetes": "heedful study jain2019 --corpora diabetes --seeds 5",
    "Anemia": "heedful study jain2019 --corpora anemia --seeds 5",
    "CNN": "heedful study jain2019 --corpora cnn --seeds 3",
    "News Commentary": "heedful study vashishth2019 --corpora newscommentary --seeds 3",
    "WMT13": "heedful study vashishth2019 --corpora wmt13 --seeds 3",
    "Yelp": "heedful study serrano2019 --corpora yelp --seeds 3",
    "Yahoo": "heedful study serrano2019 --corpora yahoo --seeds 3",
    "Amazon": "heedful study serrano2019 --corpora amazon --seeds 3",
    "IMDB-10": "heedful study serrano2019 --corpora imdb10 --seeds 3",
}
"""By the dataset's printed name."""

PARTLY = {
    "AG News": "heedful study jain2019 --corpora agnews --seeds 5",
    "ADR Tweets": "heedful study jain2019 --corpora adr --seeds 5",
    "SNLI": "heedful study jain2019 --corpora snli --seeds 3",
    "MultiNLI": "heedful study vashishth2019 --corpora mnli --seeds 3",
    "bAbI 3": "heedful study jain2019 --corpora babi3 --seeds 3",
}
"""At hand in part: shown apart, never counted."""
