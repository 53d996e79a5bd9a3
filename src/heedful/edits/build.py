"""From a spec to an edit."""

from __future__ import annotations

from heedful.edits import EDITS
from heedful.errors import HeedfulError
from heedful.types import Edit, EditSpec


def build_edit(spec: EditSpec) -> Edit:
    """The edit a spec describes; wrong parameters are named."""
    piece = EDITS[spec.name]
    try:
        edit: Edit = piece.make(**dict(spec.params))
    except TypeError as error:
        raise HeedfulError(
            f"the edit {spec.name!r} was given wrong parameters: {error}."
        ) from error
    return edit
