"""The names of all corpora, each with its module, and how each is prepared by default."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from heedful.catalogue import OpenCatalogue, Range
from heedful.errors import HeedfulError
from heedful.parameters import check_parameters
from heedful.specs import LARGEST_DIMENSION, CorpusSpec, PrepareSpec

CORPORA = OpenCatalogue(
    "corpus",
    {
        "planted": "heedful.corpora.planted",
        "sst": "heedful.corpora.reviews:PIECES",
        "imdb": "heedful.corpora.reviews:PIECES",
        "agnews": "heedful.corpora.news_posts:PIECES",
        "20news": "heedful.corpora.news_posts:PIECES",
        "adr": "heedful.corpora.news_posts:PIECES",
        "hatexplain": "heedful.corpora.news_posts:PIECES",
        "movies": "heedful.corpora.reviews:PIECES",
        "tweets": "heedful.corpora.news_posts:PIECES",
        "toxicity": "heedful.corpora.news_posts:PIECES",
        "shortcuts": "heedful.corpora.shortcuts",
        "toytranslation": "heedful.corpora.toytranslation:PIECES",
        "multi30k": "heedful.corpora.translation:PIECES",
        "newscommentary": "heedful.corpora.translation:PIECES",
        "wmt13": "heedful.corpora.translation:PIECES",
        "parallel": "heedful.corpora.translation:PIECES",
        "snli": "heedful.corpora.inference:PIECES",
        "snli_cad": "heedful.corpora.inference:PIECES",
        "mnli": "heedful.corpora.inference:PIECES",
        "cnn": "heedful.corpora.cnn",
        "babi": "heedful.corpora.babi:PIECES",
        "babi1": "heedful.corpora.babi:PIECES",
        "babi2": "heedful.corpora.babi:PIECES",
        "babi3": "heedful.corpora.babi:PIECES",
        "aspects": "heedful.corpora.aspects",
        "imdb8": "heedful.corpora.reviews:PIECES",
        "imdb10": "heedful.corpora.reviews:PIECES",
        "yelp": "heedful.corpora.reviews:PIECES",
        "yelp_sentences": "heedful.corpora.reviews:PIECES",
        "yahoo": "heedful.corpora.reviews:PIECES",
        "yahoo2": "heedful.corpora.reviews:PIECES",
        "amazon": "heedful.corpora.reviews:PIECES",
        "diabetes": "heedful.corpora.mimic:PIECES",
        "anemia": "heedful.corpora.mimic:PIECES",
        "deception": "heedful.corpora.deception:PIECES",
        "deception_occupation": "heedful.corpora.deception:PIECES",
        "pronoun": "heedful.corpora.deception:PIECES",
        "occupation": "heedful.corpora.deception:PIECES",
        "sst_wiki": "heedful.corpora.deception:PIECES",
        "toy_copy": "heedful.corpora.toytranslation:PIECES",
        "toy_reverse": "heedful.corpora.toytranslation:PIECES",
        "toy_flip": "heedful.corpora.toytranslation:PIECES",
        "file": "heedful.corpora.file",
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
    """The same from what a user wrote as name=value."""
    for reserved in ("name", "params"):
        if reserved in given:
            raise HeedfulError(f"there is no parameter {reserved!r}: `heedful prepare --help`.")
    return default_spec(name, params, **given)


def default_prepare(name: str) -> PrepareSpec:
    """How a corpus says that it is to be prepared; one that says nothing is cut at non-words."""
    return CORPORA[name].prepare or PrepareSpec("words")
