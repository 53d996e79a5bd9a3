"""Repair: models trained so that their attention may explain more, and what that costs."""

from heedful.lazy import face

__all__ = face(__name__)
