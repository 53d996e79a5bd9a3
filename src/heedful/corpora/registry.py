"""The names of all corpora, each with its module, and how each is prepared by default."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import fields, replace
from importlib import import_module
from typing import Any

from heedful.catalogue import Range
from heedful.errors import HeedfulError
from heedful.open_catalogue import OpenCatalogue
from heedful.parameters import check_parameters
from heedful.specs import LARGEST_DIMENSION, CorpusSpec, PrepareSpec

CORPORA = OpenCatalogue(
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
        "toxicity": "heedful.corpora.toxicity",
        "shortcuts": "heedful.corpora.shortcuts",
        "toytranslation": "heedful.corpora.toytranslation",
        "multi30k": "heedful.corpora.multi30k",
        "newscommentary": "heedful.corpora.newscommentary",
        "wmt13": "heedful.corpora.wmt13",
        "parallel": "heedful.corpora.parallel",
        "snli": "heedful.corpora.snli",
        "snli_cad": "heedful.corpora.snli_cad",
        "mnli": "heedful.corpora.mnli",
        "cnn": "heedful.corpora.cnn",
        "babi": "heedful.corpora.babi",
        "babi1": "heedful.corpora.babi1",
        "babi2": "heedful.corpora.babi2",
        "babi3": "heedful.corpora.babi3",
        "aspects": "heedful.corpora.aspects",
        "imdb8": "heedful.corpora.imdb8",
        "imdb10": "heedful.corpora.imdb10",
        "yelp": "heedful.corpora.yelp",
        "yelp_sentences": "heedful.corpora.yelp_sentences",
        "yahoo": "heedful.corpora.yahoo",
        "yahoo2": "heedful.corpora.yahoo2",
        "amazon": "heedful.corpora.amazon",
        "diabetes": "heedful.corpora.diabetes",
        "anemia": "heedful.corpora.anemia",
        "deception": "heedful.corpora.deception",
        "deception_occupation": "heedful.corpora.deception_occupation",
        "pronoun": "heedful.corpora.pronoun",
        "occupation": "heedful.corpora.occupation",
        "sst_wiki": "heedful.corpora.sst_wiki",
        "toy_copy": "heedful.corpora.toy_copy",
        "toy_reverse": "heedful.corpora.toy_reverse",
        "toy_flip": "heedful.corpora.toy_flip",
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
    piece = CORPORA[name]
    own = CORPORA.modules.get(name)
    defaults = import_module(own).DEFAULTS if own else piece.prepare or PrepareSpec("words")
    if not isinstance(defaults, PrepareSpec):
        raise HeedfulError(f"the corpus {name!r} states no DEFAULTS.")
    return defaults
