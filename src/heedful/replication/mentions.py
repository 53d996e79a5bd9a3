"""From how pieces name works (`jain2019, Table 2`, `Abnar & Zuidema 2020`) to keys."""

from __future__ import annotations

import re
import unicodedata

from heedful.replication.bibliography import bibliography

ALIASES = {"maggie2020": "kaggle2020"}
"""Works that are named in two ways."""

_KEY = re.compile(r"\b[a-z]+[12][0-9]{3}\b")
_AUTHORS = re.compile(
    r"([^\W\d_][\w'’-]*)"  # the first author
    r"(?:(?:, [^\W\d_][\w'’-]*)*,? (?:&|and) [^\W\d_][\w'’-]*| et al\.)?"
    r",? \(?([12][0-9]{3})\b"
)


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
