"""One self-contained file: its style, its scripts by their hash, its data compressed.

The page may load nothing and run nothing but the scripts named by hash, so no text of the
data can ever act.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from functools import lru_cache
from importlib.resources import files
from typing import Any

from heedful.report.bundle import asset, bundle
from heedful.report.display import visible
from heedful.report.extra import need
from heedful.report.provenance import heedful_version

STYLES = ("colours.css", "shades.css", "bars.css", "page.css", "charts.css", "browser.css")
_NAME = re.compile(r"[\w:.-]+")


class Sheet:
    """Data and permissions are gathered while a page is made; `render` puts all into one file."""

    def __init__(self) -> None:
        self._blobs: dict[str, str] = {}
        self._hashes: list[str] = []

    def put(self, name: str, value: Any) -> None:
        """Data for the page's scripts: JSON, or a text as it is. The same value gives the same
        bytes; a number that is none (NaN) is refused."""
        if not _NAME.fullmatch(name) or name in self._blobs:
            raise ValueError(f"{name!r} is no name for a new blob")
        self._blobs[name] = _script(value) if isinstance(value, str) else _packed(_json(value))

    def allow(self, script: str) -> None:
        """A script that the page may run beside its own."""
        self._hashes.append(_hash(script))

    def render(self, name: str, **content: Any) -> str:
        """The HTML of a template that extends `base.html`."""
        markup = need("markupsafe").Markup
        script = bundle("page")
        return str(
            _environment()
            .get_template(name)
            .render(
                csp=self._policy(script),
                style=markup("".join(map(asset, STYLES))),
                script=markup(script),
                blobs={name: markup(text) for name, text in self._blobs.items()},
                version=heedful_version(),
                **content,
            )
        )

    def _policy(self, script: str) -> str:
        sources = " ".join(f"'sha256-{each}'" for each in (_hash(script), *self._hashes))
        return (
            f"default-src 'none'; script-src {sources}; style-src 'unsafe-inline'; "
            "img-src data: blob:; base-uri 'none'; form-action 'none'"
        )


def piece(name: str, **content: Any) -> str:
    """The HTML of a part of a page."""
    return str(_environment().get_template(name).render(**content))


@lru_cache(maxsize=1)
def _script(text: str) -> str:
    """Pages that are made one after the other share their largest text."""
    return _packed(text)


def _packed(text: str) -> str:
    packed = gzip.compress(text.encode("utf8", "replace"), 9, mtime=0)
    return base64.b64encode(packed).decode("ascii")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode("utf8")).digest()
    return base64.b64encode(digest).decode("ascii")


def _environment() -> Any:
    """Everything is escaped, and control characters are spelled out."""
    jinja2 = need("jinja2")
    folder = files("heedful.report").joinpath("templates")
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: folder.joinpath(name).read_text(encoding="utf8")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
