"""The removal operators of an audit, each of them once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from heedful.types import Model
from heedful.verdict import Settings

SAME = (
    "this model has no mask token of its own, so mask and unk are the same removal operator: "
    "it counts once, as mask."
)


def distinct_operators(model: Model, names: Sequence[str]) -> tuple[str, ...]:
    """Two names of one operator would agree with each other and decide as if they were two.
    The one name is `mask`, so that what was made by masking is known to be made by it."""
    return merged(names) if masks_with_unknown(model) else tuple(dict.fromkeys(names))


def merged(names: Sequence[str]) -> tuple[str, ...]:
    """As a model has them to which a masked word is an unknown one."""
    return tuple(dict.fromkeys("mask" if name == "unk" else name for name in names))


def operator_notes(model: Model, names: Sequence[str]) -> tuple[str, ...]:
    """What a reader should know of the operators that were asked for."""
    return (SAME,) if "unk" in names and masks_with_unknown(model) else ()


def masks_with_unknown(model: Model) -> bool:
    """Whether a masked word is an unknown one."""
    unknown = model.fillers.get("unk")
    return unknown is not None and model.fillers.get("mask", unknown) == unknown


def not_by_own(rows: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """The rows in which no explanation is scored by an operator that made it."""
    pairs = zip(rows["explanation"], rows["operator"], strict=True)
    own = [operator in settings.made_with(str(name)) for name, operator in pairs]
    return rows[~np.array(own, dtype=bool)]
