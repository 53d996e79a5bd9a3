"""The bibliography: one BibTeX file, and the works that a text or a piece names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from heedful import __version__
from heedful.entries import Entry as RegistryEntry
from heedful.errors import HeedfulError

OURSELVES = "heedful"
_ENTRY = re.compile(r"@(\w+)\{([a-z0-9]+),\n(.*?)^\}$", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"  (\w+) = \{(.*)\},")


ALIASES = {"maggie2020": "kaggle2020"}
"""Works that are named in two ways."""
_KEY = re.compile(r"\b[a-z]+[12][0-9]{3}\b")
_AUTHORS = re.compile(
    r"([^\W\d_][\w'’-]*)"  # the first author
    r"(?:(?:, [^\W\d_][\w'’-]*)*,? (?:&|and) [^\W\d_][\w'’-]*| et al\.)?"
    r",? \(?([12][0-9]{3})\b"
)


@dataclass(frozen=True)
class Entry:
    """One work, by the key that pieces name it by."""

    key: str
    kind: str
    fields: Mapping[str, str]

    @property
    def bibtex(self) -> str:
        lines = [f"  {name} = {{{value}}}," for name, value in self.fields.items()]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"])

    @property
    def words(self) -> str:
        """`Kaplan & Meier 1958, Nonparametric Estimation …`, for a line of text."""
        names = [each.partition(",")[0] for each in self.fields["author"].split(" and ")]
        by = " & ".join(names) if len(names) < 3 else f"{names[0]} et al."
        parts = (f"{by} {self.fields.get('year', '')}".strip(), self.fields["title"])
        return ", ".join(parts).replace("{", "").replace("}", "")


@lru_cache(maxsize=1)
def bibliography() -> Mapping[str, Entry]:
    """Every entry by its key, in the order of the file, Heedful's own first."""
    text = files("heedful.preregistration").joinpath("references.bib").read_text(encoding="utf8")
    found = {OURSELVES: _ourselves()}
    for entry in read(text):
        if entry.key in found:
            raise HeedfulError(f"the bibliography has {entry.key!r} twice: rename one.")
        found[entry.key] = entry
    return found


def read(text: str) -> Iterator[Entry]:
    """The entries of a file that has one field on each line, as ours."""
    for kind, key, body in _ENTRY.findall(text):
        yield Entry(key, kind, dict(_FIELD.findall(body)))


def in_order(keys: Iterable[str]) -> list[Entry]:
    """Entries as the bibliography has them, each once."""
    wanted = set(keys)
    return [entry for key, entry in bibliography().items() if key in wanted]


def _ourselves() -> Entry:
    """The version is that of what runs; there is no year, since a checkout has none."""
    fields = {
        "author": "{The Heedful developers}",
        "title": "Heedful: attention on trial",
        "howpublished": "Computer software",
        "note": f"Version {__version__}",
    }
    return Entry(OURSELVES, "misc", fields)


def keys_in(text: str) -> list[str]:
    """The works a text names, each once, whether or not the bibliography has them."""
    found = [(match.start(), match.group()) for match in _KEY.finditer(text)]
    found += [(match.start(), _key(*match.groups())) for match in _AUTHORS.finditer(text)]
    return list(dict.fromkeys(ALIASES.get(key, key) for _, key in sorted(found)))


def known(text: str) -> list[str]:
    return [key for key in keys_in(text) if key in bibliography()]


def _key(author: str, year: str) -> str:
    plain = unicodedata.normalize("NFKD", author).encode("ascii", "ignore").decode()
    return f"{re.sub('[^A-Za-z]', '', plain).lower()}{year}"


@dataclass(frozen=True)
class Use:
    """`what` is in words; `keys` are those of works; `missing` says what cannot be cited."""

    what: str
    keys: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def entry_use(kind: str, entry: RegistryEntry) -> Use:
    """A piece names its own works: the paper it is from, and where the method is from. Those of
    a stranger need no entry of ours: they are said as they stand."""
    what = f"{kind} {entry.name}"
    keys = [*keys_in(entry.paper), *keys_in(entry.citation)]
    return Use(what, tuple(dict.fromkeys(keys)))


def named(kind: str, name: str) -> Use:
    return Use(f"{kind} {name}", missing=(f"{kind} {name} is not installed here",))
