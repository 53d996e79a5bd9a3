"""The command line: a file per verb, or per group of verbs that are alike."""

from heedful.lazy import face

__all__ = face(__name__)
