"""YAML of which every value knows its line."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heedful.errors import HeedfulError, unknown_name

LARGEST, MOST = 1 << 16, 1000
"""Bytes, and items of a list: what is read here is written by hand."""


Check = Callable[["Lines", Any], Any]
"""What makes a value of a node, or refuses it."""


@dataclass(frozen=True)
class Lines:
    """A file as nodes, not values: a node has a line that an error can name."""

    path: Path

    def root(self) -> Any:
        yaml = _yaml()
        if not self.path.is_file():
            raise HeedfulError(f"there is no file {self.path}: check the path, and give a file.")
        try:
            if self.path.stat().st_size > LARGEST:
                raise HeedfulError(
                    f"{self.path.name} is larger than {LARGEST:,} bytes: give a smaller file."
                )
            node = yaml.compose(self.path.read_text(encoding="utf8"), yaml.SafeLoader)
        except UnicodeDecodeError as error:
            raise HeedfulError(f"{self.path.name} is not UTF-8 text: save it as such.") from error
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = mark.line + 1 if mark else 1
            raise HeedfulError(
                f"{self.path.name}, line {line}: this is not YAML ({error.problem}): mend it."
            ) from error
        except yaml.YAMLError as error:
            raise HeedfulError(
                f"{self.path.name} is not YAML ({_first_line(error)}): mend or remove that."
            ) from error
        except RecursionError as error:
            raise HeedfulError(f"{self.path.name} is nested too deep: mend it.") from error
        if node is None:
            raise HeedfulError(f"{self.path.name}, line 1: the file is empty: name `studies`.")
        return node

    def wrong(self, node: Any, what: str) -> HeedfulError:
        return HeedfulError(f"{self.path.name}, line {line_of(node)}: {what}")

    def mapping(self, node: Any, known: Collection[str], kind: str) -> dict[str, Any]:
        """The value nodes by key: each known, and there once."""
        if node.id != "mapping":
            raise self.wrong(node, "write `name: value` lines here.")
        found: dict[str, Any] = {}
        for key, value in node.value:
            name = str(key.value)
            if name not in known:
                raise self.wrong(key, unknown(kind, name, known))
            if name in found:
                raise self.wrong(key, f"`{name}` is there twice: write it once.")
            found[name] = value
        return found

    def items(self, node: Any, name: str) -> list[Any]:
        if node.id != "sequence" or not node.value:
            raise self.wrong(node, f"`{name}` must be a list that is not empty.")
        if len(node.value) > MOST:
            raise self.wrong(node, f"`{name}` lists {len(node.value):,}: give at most {MOST:,}.")
        return list(node.value)

    def values(self, nodes: dict[str, Any], checks: dict[str, Check]) -> dict[str, Any]:
        return {name: checks[name](self, node) for name, node in nodes.items()}

    def scalar(self, node: Any, kind: type | tuple[type, ...], like: str) -> Any:
        """`true` is a number for Python only."""
        value = self.value(node) if node.id == "scalar" else None
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.wrong(node, f"give {like} here.")
        return value

    def value(self, node: Any) -> Any:
        """A scalar as YAML types it: `3` is a number, `"3"` a text, and so is what only looks
        like a date. A tag that was written down must fit."""
        loader = _yaml().SafeLoader("")
        try:
            value = loader.construct_object(node)
        except Exception as error:  # each tag's constructor raises what it likes: `!!bool maybe`
            if node.tag == loader.resolve(type(node), node.value, (True, False)):
                return str(node.value)
            tag = str(node.tag).replace("tag:yaml.org,2002:", "!!")
            raise self.wrong(node, f"{node.value!r} is no {tag}: leave the tag out.") from error
        large = isinstance(value, int) and value.bit_length() > 64  # no number of ours is
        return str(node.value) if large else value


def whole(low: int, high: int = 10**9) -> Check:
    def check(reader: Lines, node: Any) -> int:
        value = int(reader.scalar(node, int, "a whole number"))
        if not low <= value <= high:
            raise reader.wrong(node, f"{value} does not do: give a number from {low} to {high}.")
        return value

    return check


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    return str(unknown_name(kind, name, list(known)))


def line_of(node: Any) -> int:
    return int(node.start_mark.line) + 1


def _first_line(error: Exception) -> str:
    return str(error).split("\n")[0].rstrip(".")


def _yaml() -> Any:
    try:
        import yaml
    except ImportError as error:
        raise HeedfulError(
            "this file is read as YAML: pip install 'heedful[scale]' brings what that needs."
        ) from error
    return yaml
