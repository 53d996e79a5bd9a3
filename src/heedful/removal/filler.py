"""Token ids that stand for nothing in particular."""

from __future__ import annotations

from heedful.errors import HeedfulError
from heedful.types import Model


def filler(model: Model, name: str) -> int:
    """The model's own; a model that was never shown a mask has its unknown word instead."""
    if name in model.fillers:
        return model.fillers[name]
    if name == "mask" and "unk" in model.fillers:
        return model.fillers["unk"]
    known = ", ".join(sorted(model.fillers)) or "none at all"
    raise HeedfulError(
        f"this model has no {name!r} token (its fillers: {known}): choose one of those, or zero."
    )
