"""Model families. Each names its sites and honours the contract of `heedful.types.Model`."""

from heedful.lazy import face

__all__ = face(__name__)
