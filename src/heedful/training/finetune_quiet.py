"""Transformers without its own reports and bars."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from heedful.errors import HeedfulError


@contextmanager
def quiet() -> Iterator[None]:
    """Silence while a model is opened or saved: that its head is fresh is what is meant."""
    try:
        logging: Any = import_module("transformers.utils.logging")
    except ImportError as error:
        raise HeedfulError("fine-tuning needs transformers: pip install 'heedful[hf]'.") from error
    before, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(before)
        if bars:
            logging.enable_progress_bar()
