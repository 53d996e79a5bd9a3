"""The store: one folder per run, named by the hash of what made it."""

from heedful.lazy import face

__all__ = face(__name__)
