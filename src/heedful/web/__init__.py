"""Pages that are served: a model to be asked, its attention to be moved by hand."""

from heedful.lazy import face

__all__ = face(__name__)
