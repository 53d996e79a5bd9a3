"""The bibliography: one BibTeX file, read once, and entries written out again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from heedful import __version__
from heedful.errors import HeedfulError

OURSELVES = "heedful"
_ENTRY = re.compile(r"@(\w+)\{([a-z0-9]+),\n(.*?)^\}$", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"  (\w+) = \{(.*)\},")


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
    text = files("heedful.replication").joinpath("references.bib").read_text(encoding="utf8")
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
