"""From a spec to an edit."""

from __future__ import annotations

from heedful.edits.registry import EDITS
from heedful.errors import HeedfulError
from heedful.parameters import check_parameters, parameters_of
from heedful.types import Edit, EditSpec


def build_edit(spec: EditSpec) -> Edit:
    """The edit a spec describes; wrong parameters are named."""
    piece, given = EDITS[spec.name], dict(spec.params)
    check_parameters(f"the edit {spec.name}", piece.make, given, piece.bounds)
    for name, parameter in parameters_of(piece.make).items():
        if parameter.default is parameter.empty and name not in given:
            raise HeedfulError(f"the edit {spec.name!r} needs the parameter {name!r}: give it.")
    edit: Edit = piece.make(**given)
    return edit
