"""The command line: one file per verb."""

from heedful.lazy import face

__all__ = face(__name__)
