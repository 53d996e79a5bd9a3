"""What Heedful writes for machines: a JSON Schema for each, and which versions are read."""

from heedful.lazy import face

__all__ = face(__name__)
