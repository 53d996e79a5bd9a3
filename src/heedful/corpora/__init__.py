"""Corpora: data with splits, read from files or generated, and prepared once for models."""

from heedful.catalogue import Catalogue

CORPORA = Catalogue(
    "corpus",
    {
        "planted": "heedful.corpora.planted",
        "sst": "heedful.corpora.sst",
        "imdb": "heedful.corpora.imdb",
        "agnews": "heedful.corpora.agnews",
        "20news": "heedful.corpora.newsgroups",
        "adr": "heedful.corpora.adr",
        "hatexplain": "heedful.corpora.hatexplain",
        "movies": "heedful.corpora.movies",
        "tweets": "heedful.corpora.tweets",
        "file": "heedful.corpora.file",
    },
)
