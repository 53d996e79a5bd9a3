"""States of the attended tokens beside something of the tokens' embeddings: widths must agree."""

from __future__ import annotations

from functools import singledispatch

from heedful.edits import Edited
from heedful.errors import HeedfulError
from heedful.models import Family, OneSequence, Pair, Separate, how_to_fit, main_site


def check_tokens(term: str, model: Family) -> None:
    """Refuse attention over anything but the tokens of side a."""
    site = main_site(model)
    if site.level != "tokens" or site.keys != "a":
        raise HeedfulError(
            f"{term} is about states of the tokens of side a, and this model's main attention "
            f"is over {site.level} of side {site.keys}: choose another family."
        )


def check_widths(term: str, model: Family, states: int, embeddings: int) -> None:
    if states != embeddings:
        raise HeedfulError(
            f"{term} needs states as wide as the embeddings, and they are {states} and "
            f"{embeddings}: {remedy(model, embeddings)}."
        )


@singledispatch
def remedy(model: object, width: int) -> str:
    """What makes a model's attended states so wide: `hidden`, where it says just that."""
    return f"give --hidden {width}"


@remedy.register
def remedy_of_one(model: OneSequence, width: int) -> str:
    return how_to_fit(model.encoder, width)


@remedy.register
def remedy_of_pairs(model: Pair, width: int) -> str:
    encoder = model.encoder
    return how_to_fit(encoder.a, width) if isinstance(encoder, Separate) else remedy(encoder, width)


@remedy.register
def remedy_inside(model: Edited, width: int) -> str:
    return remedy(model.model, width)
