"""The verdict: from the table of measurements to decisions with intervals. No torch, no models."""

from heedful.lazy import face

__all__ = face(__name__)
