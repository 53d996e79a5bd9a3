"""Heedful puts attention on trial: do these weights explain these predictions?"""

__version__ = "0.1.0"

__all__ = ["__version__"]
