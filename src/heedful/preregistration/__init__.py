"""Replication: what a run rests on (citations), and studies that are registered before they run."""

from heedful.lazy import face

__all__ = face(__name__)
