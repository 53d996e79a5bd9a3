"""Audit targets: a model and its examples, opened from whatever the user names."""

from heedful.lazy import face

__all__ = face(__name__)
