"""Saliency: from a model and a batch to one score per token or word. Attention is one of them."""

from heedful.lazy import face

__all__ = face(__name__)
