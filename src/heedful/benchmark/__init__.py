"""Models whose truth is known, and how verdicts, explanations and measures do on them."""

from heedful.lazy import face

__all__ = face(__name__)
