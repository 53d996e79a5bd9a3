"""Removal: ways to take words out of a text and ask the model again."""

from heedful.lazy import face

__all__ = face(__name__)
