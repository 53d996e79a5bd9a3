"""The optional packages of a report, asked for late and missed with a sentence."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from heedful.errors import HeedfulError

_PACKAGES = ("altair", "vl_convert", "jinja2")


def check_packages() -> None:
    """Before long work that ends with a report: better now than after it."""
    for package in _PACKAGES:
        need(package)


def need(module: str) -> Any:
    """Import a package of the extra `report`, or say how to get it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise HeedfulError(
            f'a report needs the package {error.name}: pip install "heedful[report]".'
        ) from error
