"""Training: an explicit loop that can be killed and resumed."""

from heedful.lazy import face

__all__ = face(__name__)
