"""One self-contained file: its style, its scripts by their hash, its data compressed.

The page may load nothing and run nothing but the scripts named by hash, so no text of the
data can ever act. ES modules become one script: each becomes a function that returns what it
exports, after those it imports. Only named imports and named exports are understood.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import Any, Protocol

from heedful.errors import HeedfulError
from heedful.report.formats import (
    bounds,
    capitalised,
    milliseconds,
    percent,
    plain,
    shown,
    visible,
)
from heedful.units import by_unit

# The optional packages of a report, imported late and missed with a sentence.

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


FOLDERS = (("heedful.report", "static"), ("heedful", "assets"))
_IMPORT = re.compile(r'^import\s*\{([^}]*)\}\s*from\s*"\./([a-z_]+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const|let) (\w+))", re.MULTILINE)
_REST = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


def bundle(entry: str) -> str:
    """The module of this name and all it needs, in a block of its own: pages have several."""
    done: dict[str, str] = {}
    _add(entry, done, ())
    parts = [f"const ${name} = (() => {{\n{body}}})();\n" for name, body in done.items()]
    return '"use strict";\n{\n' + "".join(parts) + "}\n"


def asset(name: str) -> str:
    """A file of the report's own, or one that all pages share."""
    for package, folder in FOLDERS:
        found = files(package).joinpath(folder, name)
        if found.is_file():
            return found.read_text(encoding="utf8")
    raise HeedfulError(f"the file {name} of the report is missing: install heedful again.")


def _add(name: str, done: dict[str, str], above: Sequence[str]) -> None:
    if name in above:
        raise ValueError(f"scripts import each other in a circle: {' → '.join((*above, name))}")
    if name in done:
        return
    source = asset(f"{name}.js")
    for found in _IMPORT.finditer(source):
        _add(found[2], done, (*above, name))
    done[name] = _scoped(source, name)


def _scoped(source: str, name: str) -> str:
    exported = _EXPORT.findall(source)
    body = _EXPORT.sub("", _IMPORT.sub(_taken, source))
    left = _REST.search(body)
    if left:
        raise ValueError(f"{name}.js has a line that cannot be bundled: {left[0]}")
    return f"{body}return {{ {', '.join(exported)} }};\n"


def _taken(found: re.Match[str]) -> str:
    names = ", ".join(
        part.strip().replace(" as ", ": ") for part in found[1].split(",") if part.strip()
    )
    return f"const {{ {names} }} = ${found[2]};\n"


def heedful_version() -> str:
    try:
        return version("heedful")
    except PackageNotFoundError:
        return "a checkout"


class Holder(Protocol):
    """Takes data for the page's scripts."""

    def put(self, name: str, value: Any) -> None: ...


class ScriptHolder(Holder, Protocol):
    """Also takes scripts, which a page may only run if it allows them by name."""

    def allow(self, script: str) -> None: ...


STYLES = (
    *("colours.css", "shades.css", "bars.css", "heads.css", "answers.css", "page.css"),
    *("chapters.css", "charts.css", "browser.css"),
)
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

    def render(self, name: str, entry: str = "page", **content: Any) -> str:
        """The HTML of a template that extends `base.html`, with the script `entry`."""
        markup = need("markupsafe").Markup
        script, theme = bundle(entry), bundle("theme")
        return str(
            _environment()
            .get_template(name)
            .render(
                csp=self._policy(script, theme),
                style=markup("".join(map(asset, STYLES))),
                script=markup(script),
                theme=markup(theme),
                blobs={name: markup(text) for name, text in self._blobs.items()},
                version=heedful_version(),
                **content,
            )
        )

    def _policy(self, *scripts: str) -> str:
        hashes = (*map(_hash, scripts), *self._hashes)
        sources = " ".join(f"'sha256-{each}'" for each in hashes)
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


def said(text: str, unit: str) -> Any:
    """A sentence of ours of the unit that is on trial; of a block, what is escaped stays so."""
    return type(text)(by_unit(text, unit))


@lru_cache(maxsize=1)
def _environment() -> Any:
    """Everything is escaped, and control characters are spelled out. Templates read results as
    they are, and write their numbers with the filters."""
    jinja2 = need("jinja2")
    folder = files("heedful.report").joinpath("templates")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: folder.joinpath(name).read_text(encoding="utf8")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    formats = (capitalised, milliseconds, percent, plain, said, shown)
    environment.filters |= {function.__name__: function for function in formats}
    environment.globals["bounds"] = bounds
    return environment
