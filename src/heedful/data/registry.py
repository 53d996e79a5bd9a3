"""The names of all corpora, each with its module, and how each is prepared by default."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from heedful.entries import Corpus, Range
from heedful.errors import HeedfulError
from heedful.parameters import check_parameters
from heedful.registry import OpenRegistry, places
from heedful.specs import LARGEST_DIMENSION, CorpusSpec, PrepareSpec

CORPORA = OpenRegistry(
    "corpus",
    Corpus,
    places(
        "heedful.data",
        {
            "planted": "planted aspects",
            "reviews": "sst imdb imdb8 imdb10 movies yelp yelp_sentences yahoo yahoo2 amazon",
            "news_posts": "agnews 20news adr hatexplain tweets toxicity",
            "mimic": "diabetes anemia",
            "pairs": "snli snli_cad mnli cnn",
            "babi": "babi babi1 babi2 babi3",
            "deception": "deception deception_occupation pronoun occupation sst_wiki",
            "toytranslation": "toytranslation toy_copy toy_reverse toy_flip",
            "translation": "multi30k newscommentary wmt13 parallel",
            "shortcuts": "shortcuts",
        },
    )
    | {"file": "heedful.data.tables"},
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
