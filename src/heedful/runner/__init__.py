"""The runner: from specs to finished runs in the store. Finished work is never redone."""

from heedful.lazy import face

__all__ = face(__name__)
