"""Measures: numbers about a model's attention and its explanations, one per example."""

from heedful.lazy import face

__all__ = face(__name__)
