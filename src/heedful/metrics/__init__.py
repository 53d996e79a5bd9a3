"""Measures of distance, agreement and quality, and their intervals.

Importing this package, `summary` or `bootstrap` needs no torch: the report reads them.
"""

from heedful.lazy import face

__all__ = face(__name__)
