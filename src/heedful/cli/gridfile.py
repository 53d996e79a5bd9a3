"""A sweep's YAML file, read with the line of everything, so that errors can say where."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heedful.cli.catalogue import catalogues
from heedful.cli.options import MOST_SEEDS
from heedful.errors import HeedfulError, unknown_name
from heedful.parameters import LARGEST_SEED
from heedful.schemas import check_version

SCHEMA_VERSION = 1
LARGEST, MOST = 1 << 16, 1000
"""Bytes, and items of a list: what is read here is written by hand."""


@dataclass(frozen=True)
class Entry:
    """One study of the file with its choices; `params` is the node of its parameters."""

    node: Any
    values: dict[str, Any]
    params: Any


@dataclass(frozen=True)
class GridFile:
    """What a file asks for; `settings` are those of all studies together."""

    lines: Lines
    entries: list[Entry]
    settings: dict[str, Any]


def read(path: Path) -> GridFile:
    """Everything that can be wrong with the file itself is refused here."""
    lines = Lines(path)
    root = lines.root()
    top = lines.mapping(root, [*SETTINGS, "studies"], "setting")
    if "studies" not in top:
        raise lines.wrong(root, "there are no `studies`: name a list of them.")
    entries = []
    for node in lines.items(top.pop("studies"), "studies"):
        nodes = lines.mapping(node, ENTRY, "key")
        if "study" not in nodes:
            raise lines.wrong(node, "no `study` is named: name one.")
        entries.append(Entry(node, lines.values(nodes, ENTRY), nodes.get("params", node)))
    return GridFile(lines, entries, lines.values(top, SETTINGS))


@dataclass(frozen=True)
class Lines:
    """A YAML file as nodes, not values: a node has a line that an error can name."""

    path: Path

    def root(self) -> Any:
        yaml = _yaml()
        name = self.path.name
        if not self.path.is_file():
            raise HeedfulError(f"there is no file {self.path}: check the path, and give a file.")
        try:
            if self.path.stat().st_size > LARGEST:
                raise HeedfulError(f"{name} is larger than {LARGEST:,} bytes: give a smaller file.")
            node = yaml.compose(self.path.read_text(encoding="utf8"), yaml.SafeLoader)
        except UnicodeDecodeError as error:
            raise HeedfulError(f"{name} is not UTF-8 text: save it as such.") from error
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = mark.line + 1 if mark else 1
            raise HeedfulError(
                f"{name}, line {line}: this is not YAML ({error.problem}): fix it."
            ) from error
        except yaml.YAMLError as error:
            reason = str(error).split("\n")[0].rstrip(".")
            raise HeedfulError(f"{name} is not YAML ({reason}): fix or remove that.") from error
        except RecursionError as error:
            raise HeedfulError(f"{name} is nested too deep: fix it.") from error
        if node is None:
            raise HeedfulError(f"{name}, line 1: the file is empty: name `studies`.")
        return node

    def wrong(self, node: Any, what: str) -> HeedfulError:
        return HeedfulError(f"{self.path.name}, line {node.start_mark.line + 1}: {what}")

    def unknown(self, node: Any, kind: str, name: str, known: Iterable[str]) -> HeedfulError:
        return self.wrong(node, str(unknown_name(kind, name, list(known))))

    def mapping(self, node: Any, known: Collection[str], kind: str) -> dict[str, Any]:
        """The value nodes by key: each known, and there once."""
        if node.id != "mapping":
            raise self.wrong(node, "write `name: value` lines here.")
        nodes: dict[str, Any] = {}
        for key, value in node.value:
            name = str(key.value)
            if name not in known:
                raise self.unknown(key, kind, name, known)
            if name in nodes:
                raise self.wrong(key, f"`{name}` is there twice: write it once.")
            nodes[name] = value
        return nodes

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


Check = Callable[[Lines, Any], Any]
"""Makes a value of a node, or refuses it."""


def _yaml() -> Any:
    try:
        import yaml
    except ImportError as error:
        raise HeedfulError(
            "this file is read as YAML: pip install 'heedful[scale]' brings what that needs."
        ) from error
    return yaml


def whole(low: int, high: int = 10**9) -> Check:
    def check(lines: Lines, node: Any) -> int:
        value = int(lines.scalar(node, int, "a whole number"))
        if not low <= value <= high:
            raise lines.wrong(node, f"{value} does not do: give a number from {low} to {high}.")
        return value

    return check


def _text(lines: Lines, node: Any) -> str:
    return str(lines.scalar(node, str, "a text"))


def _one_of(kind: str, known: Collection[str] = ()) -> Check:
    """One of the known names, else of the pieces of a kind."""

    def check(lines: Lines, node: Any) -> str:
        name, names = _text(lines, node), known or catalogues()[kind]
        if name not in names:
            raise lines.unknown(node, kind, name, names)
        return name

    return check


def _list_of(check: Check, what: str, item_name: str = "{!r}") -> Check:
    """A list without repetition; one name alone may stand without brackets."""

    def checked(lines: Lines, node: Any) -> list[Any]:
        values: list[Any] = []
        for item in [node] if node.id == "scalar" else lines.items(node, what):
            value = check(lines, item)
            if value in values:
                said = item_name.format(value)
                raise lines.wrong(item, f"{said} is there twice: write it once.")
            values.append(value)
        return values

    return checked


def _corpus(lines: Lines, node: Any) -> str:
    from heedful.data import CORPORA

    name = _text(lines, node)
    if name in CORPORA or Path(name).suffix or Path(name).exists():
        return name
    raise lines.unknown(node, "corpus", name, [known for known in CORPORA if known != "file"])


def _encoder(lines: Lines, node: Any) -> str:
    """`bilstm+residual` is checked part by part."""
    from heedful.models import ENCODERS, WRAPPERS

    name = _text(lines, node)
    base, *wrappers = name.split("+")
    if base not in ENCODERS:
        raise lines.unknown(node, "encoder", base, ENCODERS)
    for wrapper in wrappers:
        if wrapper not in WRAPPERS:
            raise lines.unknown(node, "wrapper", wrapper, WRAPPERS)
    return name


def _seeds(lines: Lines, node: Any) -> list[int]:
    """A count, or a list of seeds, as on the command line."""
    if node.id == "scalar":
        return list(range(whole(1, MOST_SEEDS)(lines, node)))
    seeds: list[int] = _list_of(whole(0, LARGEST_SEED), "seeds", "the seed {}")(lines, node)
    return seeds


def _params(lines: Lines, node: Any) -> list[str]:
    """As `--param name=value`."""
    if node.id != "mapping":
        raise lines.wrong(node, "write `params: {name: value}`.")
    texts = []
    for key, item in node.value:
        if item.id != "scalar":
            raise lines.wrong(item, f"give one value for the parameter {key.value!r}.")
        value = lines.value(item)
        texts.append(f"{key.value}={'none' if value is None else value}")
    return texts


def _version(lines: Lines, node: Any) -> int:
    """May be left out: then it is that of this Heedful."""
    version = int(lines.scalar(node, int, "a whole number"))
    try:
        check_version("this file", version, SCHEMA_VERSION, "see `heedful schema grid`")
    except HeedfulError as error:
        raise lines.wrong(node, str(error)) from error
    return version


ENTRY: dict[str, Check] = {
    "study": _one_of("study"),
    "corpora": _list_of(_corpus, "corpora"),
    "encoders": _list_of(_encoder, "encoders"),
    "attention": _list_of(_one_of("attention"), "attention"),
    "family": _one_of("family"),
    "probes": _list_of(_one_of("probe"), "probes"),
    "seeds": _seeds,
    "epochs": whole(1),
    "layers": whole(1),
    "limit": whole(1),
    "size": _one_of("size", ("full", "small")),
    "sizes": _one_of("sizes", ("code", "paper")),
    "params": _params,
}
SETTINGS: dict[str, Check] = {
    "schema_version": _version,
    "store": _text,
    "data_dir": _text,
    "precision": _one_of("precision", ("float32", "float64")),
}
