"""A sweep's YAML file, read with the line of everything, so that errors can say where."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from heedful.cli.options import MOST_SEEDS
from heedful.cli.yaml_lines import Check, Lines, line_of, unknown, whole
from heedful.errors import HeedfulError
from heedful.parameters import LARGEST_SEED
from heedful.schemas import check_version

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Entry:
    """One study of the file with its choices; `line` is where it begins, `params_line` where
    its parameters do."""

    line: int
    values: dict[str, Any]
    params_line: int


@dataclass(frozen=True)
class GridFile:
    """What a file asks for; `settings` are those of all studies together."""

    path: Path
    entries: list[Entry]
    settings: dict[str, Any] = field(default_factory=dict)

    def wrong(self, line: int, what: str) -> HeedfulError:
        return HeedfulError(f"{self.path.name}, line {line}: {what}")


def read(path: Path) -> GridFile:
    """Everything that can be wrong with the file itself is refused here."""
    reader = Lines(path)
    root = reader.root()
    top = reader.mapping(root, [*SETTINGS, "studies"], "setting")
    if "studies" not in top:
        raise reader.wrong(root, "there are no `studies`: name a list of them.")
    listed = reader.items(top.pop("studies"), "studies")
    entries = [_entry(reader, node) for node in listed]
    return GridFile(path, entries, reader.values(top, SETTINGS))


def _entry(reader: Lines, node: Any) -> Entry:
    nodes = reader.mapping(node, ENTRY, "key")
    if "study" not in nodes:
        raise reader.wrong(node, "no `study` is named: name one.")
    params = nodes.get("params", node)
    return Entry(line_of(node), reader.values(nodes, ENTRY), line_of(params))


def _text(reader: Lines, node: Any) -> str:
    return str(reader.scalar(node, str, "a text"))


def _name(kind: str, known: Callable[[], Iterable[str]]) -> Check:
    def check(reader: Lines, node: Any) -> str:
        name, names = _text(reader, node), list(known())
        if name not in names:
            raise reader.wrong(node, unknown(kind, name, names))
        return name

    return check


def _names(check: Check, what: str) -> Check:
    """A list of names, none twice; one alone may stand without brackets."""

    def checked(reader: Lines, node: Any) -> list[str]:
        nodes = [node] if node.id == "scalar" else reader.items(node, what)
        found: list[str] = []
        for each in nodes:
            name = check(reader, each)
            if name in found:
                raise reader.wrong(each, f"{name!r} is there twice: write it once.")
            found.append(name)
        return found

    return checked


def _corpus(reader: Lines, node: Any) -> str:
    from heedful.corpora import CORPORA

    name = _text(reader, node)
    if name in CORPORA or Path(name).suffix or Path(name).exists():
        return name
    raise reader.wrong(node, unknown("corpus", name, [each for each in CORPORA if each != "file"]))


def _encoder(reader: Lines, node: Any) -> str:
    """A wrapped one is checked part by part."""
    from heedful.models import ENCODERS, WRAPPERS

    name = _text(reader, node)
    base, *wrappers = name.split("+")
    if base not in ENCODERS:
        raise reader.wrong(node, unknown("encoder", base, ENCODERS))
    for wrapper in wrappers:
        if wrapper not in WRAPPERS:
            raise reader.wrong(node, unknown("wrapper", wrapper, WRAPPERS))
    return name


def _seeds(reader: Lines, node: Any) -> list[int]:
    """A count, or a list of seeds, as on the command line."""
    if node.id == "scalar":
        return list(range(whole(1, MOST_SEEDS)(reader, node)))
    found: list[int] = []
    for each in reader.items(node, "seeds"):
        seed = whole(0, LARGEST_SEED)(reader, each)
        if seed in found:
            raise reader.wrong(each, f"the seed {seed} is there twice: write it once.")
        found.append(seed)
    return found


def _params(reader: Lines, node: Any) -> list[str]:
    """As `--param name=value`."""
    if node.id != "mapping":
        raise reader.wrong(node, "write `params: {name: value}`.")
    found = []
    for key, value in node.value:
        if value.id != "scalar":
            raise reader.wrong(value, f"give one value for the parameter {key.value!r}.")
        given = reader.value(value)
        found.append(f"{key.value}={'none' if given is None else given}")
    return found


def _version(reader: Lines, node: Any) -> int:
    """May be left out: then it is that of this Heedful."""
    found = int(reader.scalar(node, int, "a whole number"))
    try:
        check_version("this file", found, SCHEMA_VERSION, "see `heedful schema grid`")
    except HeedfulError as error:
        raise reader.wrong(node, str(error)) from error
    return found


def _studies() -> Iterable[str]:
    from heedful.studies import STUDIES

    return STUDIES


def _attentions() -> Iterable[str]:
    from heedful.models import ATTENTIONS

    return ATTENTIONS


def _probes() -> Iterable[str]:
    from heedful.experiments import PROBES

    return PROBES


ENTRY: dict[str, Check] = {
    "study": _name("study", _studies),
    "corpora": _names(_corpus, "corpora"),
    "encoders": _names(_encoder, "encoders"),
    "attention": _names(_name("attention", _attentions), "attention"),
    "probes": _names(_name("probe", _probes), "probes"),
    "seeds": _seeds,
    "epochs": whole(1),
    "layers": whole(1),
    "limit": whole(1),
    "size": _name("size", lambda: ("full", "small")),
    "sizes": _name("sizes", lambda: ("code", "paper")),
    "params": _params,
}
SETTINGS: dict[str, Check] = {
    "schema_version": _version,
    "store": _text,
    "data_dir": _text,
    "precision": _name("precision", lambda: ("float32", "float64")),
}
