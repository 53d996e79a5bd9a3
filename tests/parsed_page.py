"""A page as a browser would see it: tags, attributes, text; scripts and styles apart."""

from __future__ import annotations

import base64
import gzip
import json
import re
from html.parser import HTMLParser
from typing import Any

Attributes = list[tuple[str, str | None]]


class Tags(HTMLParser):
    """`scripts` are those that a browser would run; what carries data is in `blobs`."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: Attributes = []
        self.words: list[str] = []
        self.scripts: list[str] = []
        self.blobs: dict[str, str] = {}
        self._inside: Any = None

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        self._inside = (tag, dict(attrs)) if tag in ("script", "style") else None
        if tag == "script":
            self._script(dict(attrs))
        else:
            self.tags.add(tag)
        self.attributes += attrs

    def _script(self, attrs: dict[str, str | None]) -> None:
        data = attrs.get("type") == "text/plain" and set(attrs) == {"type", "data-blob"}
        if attrs and not data:
            self.tags.add("script")  # none of ours

    def handle_endtag(self, tag: str) -> None:
        self._inside = None

    def handle_data(self, data: str) -> None:
        tag, attrs = self._inside or ("", {})
        if tag == "script" and attrs:
            self.blobs[attrs["data-blob"]] = data
        elif tag == "script":
            self.scripts.append(data)
        elif not tag:
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.words))

    @property
    def policy(self) -> str:
        return next(
            value or "" for name, value in self.attributes if "default-src" in (value or "")
        )

    def blob(self, name: str) -> Any:
        return json.loads(gzip.decompress(base64.b64decode(self.blobs[name])))


def parse(page: str) -> Tags:
    tags = Tags()
    tags.feed(page)
    return tags


def loads_nothing(tags: Tags) -> bool:
    """Two scripts, named in the policy by their hashes; links within the page only."""
    links = [value for name, value in tags.attributes if name in ("src", "href", "xlink:href")]
    inside = all(value and value.startswith(("#", "data:,")) for value in links)
    sources = tags.policy.startswith("default-src 'none'; script-src 'sha256-")
    return inside and sources and len(tags.scripts) == 2 and "unsafe-eval" not in tags.policy
