"""Snapshots of what is public: names with their signatures, and commands with their options.

`python -m tools.public_api` writes them; a test holds the code to them. So nothing public
changes without somebody who meant it: see docs/stability.md.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields
from enum import Enum
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

FOLDER = Path(__file__).parent.parent / "tests" / "golden"
MODULES = (
    "heedful",
    "heedful.types",
    "heedful.specs",
    "heedful.studies",
    "heedful.errors",
    "heedful.extending",
    "heedful.schemas",
    "heedful.cli.main",
)
"""Public is what is in their `__all__`, and nothing else."""
PROMISED = {
    "heedful.studies": ("STUDIES",),
}
"""Packages of which only these are public; their other names are for Heedful's own packages."""
OFFERED = (staticmethod, property, cached_property)
LONGEST = 300
WORDS = (type(None), bool, int, float, str)


def names() -> str:
    """One line per name, constructor, method and property."""
    return "\n".join([*_modules(), *_options()]) + "\n"


def commands() -> str:
    """One line per verb, argument and option."""
    from heedful.cli import app

    return "\n".join(_verbs("heedful", typer.main.get_command(app))) + "\n"


def public() -> Iterator[tuple[str, str, Any]]:
    """Module, name and value."""
    for module in MODULES:
        found = import_module(module)
        for name in sorted(PROMISED.get(module, found.__all__)):
            yield module, name, getattr(found, name)


def members(kind: type) -> Iterator[tuple[str, Any]]:
    """What a class and its bases in Heedful offer, as it was written."""
    seen = set(getattr(kind, "__dataclass_fields__", ()))
    for base in kind.__mro__:
        if not base.__module__.startswith("heedful"):
            continue
        for name, value in sorted(vars(base).items()):
            offered = isinstance(value, OFFERED) or inspect.isfunction(value)
            if offered and name not in seen and _is_public(name):
                seen.add(name)
                yield name, value


def written(value: Any) -> Any:
    """The function behind a member."""
    if isinstance(value, property):
        return value.fget
    if isinstance(value, cached_property):
        return value.func
    return value.__func__ if isinstance(value, staticmethod) else value


def _modules() -> Iterator[str]:
    for module in MODULES:
        yield f"# {module}"
        found = import_module(module)
        for name in sorted(PROMISED.get(module, found.__all__)):
            yield from _described(name, getattr(found, name))
        yield ""


def _described(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, type) and issubclass(value, Enum):
        yield f"{name}: {', '.join(each.name for each in value)}"
    elif isinstance(value, type):
        yield f"class {name}{_constructor(value)}"
        for member, each in members(value):
            yield f"  .{_member(member, each)}"
    elif inspect.isfunction(value):
        yield f"{name}{_call(value)}"
    else:
        yield f"{name}"


def _constructor(kind: type) -> str:
    """Protocols are kept, and errors raised, not made."""
    if getattr(kind, "_is_protocol", False) or issubclass(kind, BaseException):
        return ""
    return _call(kind).removesuffix(" -> None")


def _member(name: str, value: Any) -> str:
    found = inspect.signature(written(value))
    if isinstance(value, (property, cached_property)):
        return f"{name}: {_annotation(found.return_annotation)}"
    return f"{name}{_call(written(value))}"


def _call(function: Callable[..., Any]) -> str:
    found = inspect.signature(function)
    shown = ", ".join(_parameter(each) for each in found.parameters.values())
    return f"({shown}) -> {_annotation(found.return_annotation)}"


def _parameter(each: inspect.Parameter) -> str:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    typed = "" if each.annotation is each.empty else f": {_annotation(each.annotation)}"
    default = "" if each.default is each.empty else f" = {_default(each.default)}"
    return f"{stars.get(each.kind, '')}{each.name}{typed}{default}"


def _annotation(value: Any) -> str:
    if value is inspect.Signature.empty:
        return "?"
    return value if isinstance(value, str) else inspect.formatannotation(value)


def _default(value: Any) -> str:
    plain = isinstance(value, WORDS) or (
        isinstance(value, tuple) and all(isinstance(each, WORDS) for each in value)
    )
    return repr(value) if plain and len(repr(value)) <= LONGEST else "…"


def _options() -> Iterator[str]:
    """What `**options` of audit, explain and open_target may be."""
    from heedful.targets import Loading, Reading

    yield "# **options of audit, explain and open_target"
    for each in (*fields(Reading), *fields(Loading)):
        yield f"{each.name}: {each.type}"


def _is_public(name: str) -> bool:
    return not name.startswith("_") or name in ("__getitem__", "__len__", "__call__")


def _verbs(path: str, command: Any) -> Iterator[str]:
    yield path
    for each in command.params:
        for name in (*each.opts, *each.secondary_opts):
            option = name.startswith("-")
            yield f"{path} {name if option else name.upper()}{_variable(each)}"
    for name, inner in sorted(getattr(command, "commands", {}).items()):
        yield from _verbs(f"{path} {name}", inner)


def _variable(each: Any) -> str:
    return f" ({each.envvar})" if each.envvar else ""


if __name__ == "__main__":
    (FOLDER / "public_api.txt").write_text(names(), encoding="utf8")
    (FOLDER / "commands.txt").write_text(commands(), encoding="utf8")
