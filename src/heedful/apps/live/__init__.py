"""A page on which a model is asked, and its attention moved by hand."""

from heedful.lazy import face

__all__ = face(__name__)
