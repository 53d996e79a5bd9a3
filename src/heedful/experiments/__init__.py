"""Experiments on a trained model, by tokens (studies) or by words (audits): one file each."""

from heedful.lazy import face

__all__ = face(__name__)
