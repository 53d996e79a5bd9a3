"""Corpora: data with splits, read from files or generated, and prepared once for models."""

from heedful.lazy import face

__all__ = face(__name__)
