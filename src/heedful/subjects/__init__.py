"""Subjects: from what a user types to a model on trial with its texts."""

from heedful.lazy import face

__all__ = face(__name__)
