"""ES modules as one script, so that a page which is a single file can have them.

Each module becomes a function of its own that returns what it exports, after those it
imports. Only what our modules use is understood: named imports and named exports.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files

from heedful.errors import HeedfulError

FOLDERS = (("heedful.report", "static"), ("heedful", "assets"))
_IMPORT = re.compile(r'^import\s*\{([^}]*)\}\s*from\s*"\./([a-z_]+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const|let) (\w+))", re.MULTILINE)
_REST = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


def bundle(entry: str) -> str:
    """The module of this name and all it needs."""
    done: dict[str, str] = {}
    _add(entry, done, ())
    parts = [f"const ${name} = (() => {{\n{body}}})();\n" for name, body in done.items()]
    return '"use strict";\n' + "".join(parts)


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
