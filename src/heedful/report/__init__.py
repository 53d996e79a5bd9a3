"""Reports: what the store holds, as a page, figures and tables. Needs no torch."""

from heedful.lazy import face

__all__ = face(__name__)
