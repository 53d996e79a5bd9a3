"""Probes: experiments on a trained model. Each sees attention through `heedful.types.rows`."""

from heedful.lazy import face

__all__ = face(__name__)
