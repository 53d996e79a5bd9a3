"""What is asked for: the bodies of requests. Whatever they do not name is refused."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from heedful.parameters import LARGEST_SEED

MOST_UNITS = 4096
Written = Annotated[str, Field(max_length=300)]
Weight = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]


class Ask(BaseModel):
    """A text, or a pair, for one of the models."""

    model_config = ConfigDict(extra="forbid", strict=True)

    model: Annotated[int, Field(ge=0, description="0, or 1 where two are served.")] = 0
    text: str
    text_b: str | None = None


class Predict(Ask):
    explanations: Annotated[list[Written], Field(max_length=32)] = []


class Place(Ask):
    """A site by its name; a head by its number, all of them if it is left out."""

    site: Written
    head: Annotated[int | None, Field(ge=0)] = None


class Edit(Place):
    """Either the weights of the site's words (or sentences), or a kind of them."""

    queries: Literal["reading", "all"] = "reading"
    weights: Annotated[list[Weight] | None, Field(max_length=MOST_UNITS)] = None
    kind: Literal["uniform", "shuffled", "furthest"] | None = None
    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)] = 0


class Explain(Place):
    """`of` is the class whose logit is added up."""

    of: Written | None = None
