"""Templates of pages, all filled in the same safe way."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from heedful.report.display import visible
from heedful.report.extra import need


def template(name: str) -> Any:
    """Everything is escaped, and control characters are spelled out."""
    environment = need("jinja2").Environment(
        autoescape=True,
        undefined=need("jinja2").StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    source = files("heedful.report").joinpath(name).read_text(encoding="utf8")
    return environment.from_string(source)
