"""The audit: a model, its texts, every explanation, one verdict."""

from heedful.lazy import face

__all__ = face(__name__)
