"""The names of all corpora, each with its module, and how each is prepared by default."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from heedful.entries import Corpus, Range
from heedful.errors import HeedfulError
from heedful.parameters import check_parameters
from heedful.registry import OpenRegistry
from heedful.specs import LARGEST_DIMENSION, CorpusSpec, PrepareSpec

CORPORA = OpenRegistry(
    "corpus",
    Corpus,
    {
        "planted": "heedful.data.planted:ENTRIES",
        "sst": "heedful.data.reviews:ENTRIES",
        "imdb": "heedful.data.reviews:ENTRIES",
        "agnews": "heedful.data.news_posts:ENTRIES",
        "20news": "heedful.data.news_posts:ENTRIES",
        "adr": "heedful.data.news_posts:ENTRIES",
        "hatexplain": "heedful.data.news_posts:ENTRIES",
        "movies": "heedful.data.reviews:ENTRIES",
        "tweets": "heedful.data.news_posts:ENTRIES",
        "toxicity": "heedful.data.news_posts:ENTRIES",
        "shortcuts": "heedful.data.shortcuts",
        "toytranslation": "heedful.data.toytranslation:ENTRIES",
        "multi30k": "heedful.data.translation:ENTRIES",
        "newscommentary": "heedful.data.translation:ENTRIES",
        "wmt13": "heedful.data.translation:ENTRIES",
        "parallel": "heedful.data.translation:ENTRIES",
        "snli": "heedful.data.pairs:ENTRIES",
        "snli_cad": "heedful.data.pairs:ENTRIES",
        "mnli": "heedful.data.pairs:ENTRIES",
        "cnn": "heedful.data.pairs:ENTRIES",
        "babi": "heedful.data.babi:ENTRIES",
        "babi1": "heedful.data.babi:ENTRIES",
        "babi2": "heedful.data.babi:ENTRIES",
        "babi3": "heedful.data.babi:ENTRIES",
        "aspects": "heedful.data.planted:ENTRIES",
        "imdb8": "heedful.data.reviews:ENTRIES",
        "imdb10": "heedful.data.reviews:ENTRIES",
        "yelp": "heedful.data.reviews:ENTRIES",
        "yelp_sentences": "heedful.data.reviews:ENTRIES",
        "yahoo": "heedful.data.reviews:ENTRIES",
        "yahoo2": "heedful.data.reviews:ENTRIES",
        "amazon": "heedful.data.reviews:ENTRIES",
        "diabetes": "heedful.data.mimic:ENTRIES",
        "anemia": "heedful.data.mimic:ENTRIES",
        "deception": "heedful.data.deception:ENTRIES",
        "deception_occupation": "heedful.data.deception:ENTRIES",
        "pronoun": "heedful.data.deception:ENTRIES",
        "occupation": "heedful.data.deception:ENTRIES",
        "sst_wiki": "heedful.data.deception:ENTRIES",
        "toy_copy": "heedful.data.toytranslation:ENTRIES",
        "toy_reverse": "heedful.data.toytranslation:ENTRIES",
        "toy_flip": "heedful.data.toytranslation:ENTRIES",
        "file": "heedful.data.tables",
    },
)


BOUNDS: Mapping[str, Range] = {
    "dimension": (1, LARGEST_DIMENSION),
    "min_df": (1, 10**9),
    "min_length": (1, 10**9),
    "max_length": (1, 10**9),
    "limit": (1, 10**9),
    "pieces": (1, 10**6),
}


def default_spec(
    name: str, params: Mapping[str, Any] | None = None, **overrides: Any
) -> CorpusSpec:
    """The spec of a corpus with its paper's treatment.

    Overrides named like a field of `PrepareSpec` change the treatment, all others are the
    corpus's own parameters. Where both have the name it is the corpus's own, and a `seed` is
    of both; what `params` say of it counts more.
    """
    defaults = default_prepare(name)
    known = {field.name for field in fields(PrepareSpec)}
    shared = known & set(inspect.signature(CORPORA[name].make).parameters)
    treated = known - shared | {"seed"}
    prepare = {key: value for key, value in overrides.items() if key in treated}
    both = {key: value for key, value in overrides.items() if key in shared}
    own = {key: value for key, value in overrides.items() if key not in known}
    check_parameters(f"corpus {name}", PrepareSpec, prepare, BOUNDS)
    return CorpusSpec(name, {**both, **(params or {}), **own}, replace(defaults, **prepare))


def given_spec(
    name: str, given: Mapping[str, Any], params: Mapping[str, Any] | None = None
) -> CorpusSpec:
    """The spec of a corpus from what a user wrote as name=value (see `default_spec`)."""
    for reserved in ("name", "params"):
        if reserved in given:
            raise HeedfulError(f"there is no parameter {reserved!r}: `heedful prepare --help`.")
    return default_spec(name, params, **given)


def default_prepare(name: str) -> PrepareSpec:
    """How a corpus says that it is to be prepared; one that says nothing is cut at non-words."""
    return CORPORA[name].prepare or PrepareSpec("words")
