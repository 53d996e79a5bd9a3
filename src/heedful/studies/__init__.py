"""Studies: papers as values, no logic."""

from heedful.lazy import face

__all__ = face(__name__)
