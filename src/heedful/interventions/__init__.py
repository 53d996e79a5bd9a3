"""Edits: the one way attention is changed, in probes, studies and training alike."""

from heedful.lazy import face

__all__ = face(__name__)
