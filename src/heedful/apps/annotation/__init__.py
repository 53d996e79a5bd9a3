"""Human evaluation: people judge what attention points at, or mark what they would point at."""

from heedful.lazy import face

__all__ = face(__name__)
