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
        "planted": "heedful.data.planted",
        "sst": "heedful.data.reviews:PIECES",
        "imdb": "heedful.data.reviews:PIECES",
        "agnews": "heedful.data.news_posts:PIECES",
        "20news": "heedful.data.news_posts:PIECES",
        "adr": "heedful.data.news_posts:PIECES",
        "hatexplain": "heedful.data.news_posts:PIECES",
        "movies": "heedful.data.reviews:PIECES",
        "tweets": "heedful.data.news_posts:PIECES",
        "toxicity": "heedful.data.news_posts:PIECES",
        "shortcuts": "heedful.data.shortcuts",
        "toytranslation": "heedful.data.toytranslation:PIECES",
        "multi30k": "heedful.data.translation:PIECES",
        "newscommentary": "heedful.data.translation:PIECES",
        "wmt13": "heedful.data.translation:PIECES",
        "parallel": "heedful.data.translation:PIECES",
        "snli": "heedful.data.inference:PIECES",
        "snli_cad": "heedful.data.inference:PIECES",
        "mnli": "heedful.data.inference:PIECES",
        "cnn": "heedful.data.cnn",
        "babi": "heedful.data.babi:PIECES",
        "babi1": "heedful.data.babi:PIECES",
        "babi2": "heedful.data.babi:PIECES",
        "babi3": "heedful.data.babi:PIECES",
        "aspects": "heedful.data.aspects",
        "imdb8": "heedful.data.reviews:PIECES",
        "imdb10": "heedful.data.reviews:PIECES",
        "yelp": "heedful.data.reviews:PIECES",
        "yelp_sentences": "heedful.data.reviews:PIECES",
        "yahoo": "heedful.data.reviews:PIECES",
        "yahoo2": "heedful.data.reviews:PIECES",
        "amazon": "heedful.data.reviews:PIECES",
        "diabetes": "heedful.data.mimic:PIECES",
        "anemia": "heedful.data.mimic:PIECES",
        "deception": "heedful.data.deception:PIECES",
        "deception_occupation": "heedful.data.deception:PIECES",
        "pronoun": "heedful.data.deception:PIECES",
        "occupation": "heedful.data.deception:PIECES",
        "sst_wiki": "heedful.data.deception:PIECES",
        "toy_copy": "heedful.data.toytranslation:PIECES",
        "toy_reverse": "heedful.data.toytranslation:PIECES",
        "toy_flip": "heedful.data.toytranslation:PIECES",
        "file": "heedful.data.file",
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
