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
        "sst": "heedful.corpora.reviews",
        "imdb": "heedful.corpora.reviews",
        "agnews": "heedful.corpora.news_posts",
        "20news": "heedful.corpora.news_posts",
        "adr": "heedful.corpora.news_posts",
        "hatexplain": "heedful.corpora.news_posts",
        "movies": "heedful.corpora.reviews",
        "tweets": "heedful.corpora.news_posts",
        "toxicity": "heedful.corpora.news_posts",
        "shortcuts": "heedful.corpora.shortcuts",
        "toytranslation": "heedful.corpora.toytranslation",
        "multi30k": "heedful.corpora.translation",
        "newscommentary": "heedful.corpora.translation",
        "wmt13": "heedful.corpora.translation",
        "parallel": "heedful.corpora.translation",
        "snli": "heedful.corpora.inference",
        "snli_cad": "heedful.corpora.inference",
        "mnli": "heedful.corpora.inference",
        "cnn": "heedful.corpora.cnn",
        "babi": "heedful.corpora.babi",
        "babi1": "heedful.corpora.babi",
        "babi2": "heedful.corpora.babi",
        "babi3": "heedful.corpora.babi",
        "aspects": "heedful.corpora.aspects",
        "imdb8": "heedful.corpora.reviews",
        "imdb10": "heedful.corpora.reviews",
        "yelp": "heedful.corpora.reviews",
        "yelp_sentences": "heedful.corpora.reviews",
        "yahoo": "heedful.corpora.reviews",
        "yahoo2": "heedful.corpora.reviews",
        "amazon": "heedful.corpora.reviews",
        "diabetes": "heedful.corpora.mimic",
        "anemia": "heedful.corpora.mimic",
        "deception": "heedful.corpora.deception",
        "deception_occupation": "heedful.corpora.deception",
        "pronoun": "heedful.corpora.deception",
        "occupation": "heedful.corpora.deception",
        "sst_wiki": "heedful.corpora.deception",
        "toy_copy": "heedful.corpora.toytranslation",
        "toy_reverse": "heedful.corpora.toytranslation",
        "toy_flip": "heedful.corpora.toytranslation",
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
