"""A draft of a study to be registered: a small YAML or JSON file, read with its lines.

title: Does attention explain these reviews?
hypotheses: [Attention ranks words better than chance.]
audits:
  - {model: bert, data: reviews.csv, n: 200, alpha: 0.05, smallest: {importance: 0.5}}
studies:
  - {study: jain2019, corpora: planted, seeds: 3}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from heedful.cli.audit_options import MeasureOptions, SubjectOptions
from heedful.cli.gridfile import ENTRY, Check, Lines, whole
from heedful.parameters import LARGEST_SEED

AUDITS, STUDIES = "audits", "studies"


@dataclass(frozen=True)
class Draft:
    """What is asked, as plain values: what a command line would have been given."""

    title: str
    hypotheses: tuple[str, ...]
    asked: dict[str, list[dict[str, Any]]]


def read(path: Path) -> Draft:
    reader = Lines(path)
    root = reader.root()
    top = reader.mapping(root, [*_TOP, AUDITS, STUDIES], "setting")
    found = {name: _entries(reader, top.pop(name, None), name) for name in (AUDITS, STUDIES)}
    if not any(found.values()):
        raise reader.wrong(root, "nothing is asked: name `audits`, `studies` or both.")
    said = reader.values(top, _TOP)
    title = said.get("title", path.stem)
    return Draft(title, tuple(said.get("hypotheses", ())), found)


def options(asked: Mapping[str, Any]) -> tuple[SubjectOptions, MeasureOptions]:
    """The options of an audit that a draft asked for, as its verb would have them."""
    subject, measured = (_only(kind, asked) for kind in (SubjectOptions, MeasureOptions))
    return SubjectOptions(**subject), MeasureOptions(**measured)


def _only(kind: type[Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    known = {each.name for each in fields(kind)}
    return {name: value for name, value in asked.items() if name in known}


def _entries(reader: Lines, node: Any, name: str) -> list[dict[str, Any]]:
    if node is None:
        return []
    checks, first = (AUDIT, "model") if name == AUDITS else (_STUDY, "study")
    found = []
    for each in reader.items(node, name):
        nodes = reader.mapping(each, checks, "key")
        if first not in nodes:
            raise reader.wrong(each, f"no `{first}` is named.")
        found.append(reader.values(nodes, checks))
    return found


def _text(reader: Lines, node: Any) -> str:
    """Also a number, which is a good name of a column or a label."""
    value = reader.value(node) if node.id == "scalar" else None
    if value is None or isinstance(value, (list, dict)):
        raise reader.wrong(node, "give a text here.")
    return str(value)


def _texts(reader: Lines, node: Any) -> list[str]:
    nodes = [node] if node.id == "scalar" else reader.items(node, "this")
    return [_text(reader, each) for each in nodes]


def _joined(reader: Lines, node: Any) -> str:
    """As names are written on the command line."""
    return ",".join(_texts(reader, node))


def _pairs(sign: str = "=") -> Callable[[Lines, Any], list[str]]:
    def check(reader: Lines, node: Any) -> list[str]:
        if node.id != "mapping":
            raise reader.wrong(node, "write `{name: value}` here.")
        return [f"{_text(reader, key)}{sign}{_text(reader, value)}" for key, value in node.value]

    return check


def _words(reader: Lines, node: Any) -> str:
    return ",".join(_pairs()(reader, node))


def _number(reader: Lines, node: Any) -> float:
    return float(reader.scalar(node, (int, float), "a number"))


def _flag(reader: Lines, node: Any) -> bool:
    return bool(reader.scalar(node, bool, "true or false"))


_TOP: dict[str, Check] = {"title": _text, "hypotheses": _texts}
_STUDY: dict[str, Check] = {
    **ENTRY,
    "precision": _text,
}
AUDIT: dict[str, Check] = {
    "model": _text,
    "data": _text,
    "seed_models": _texts,
    "n": whole(1),
    "seed": whole(0, LARGEST_SEED),
    "split": _text,
    "alpha": _number,
    "smallest": _pairs(),
    "explanations": _joined,
    "also": _joined,
    "operators": _joined,
    "only": _joined,
    "extra": _joined,
    "quick": _flag,
    **dict.fromkeys(
        ("text_column", "text_b_column", "label_column", "rationale_column", "id_column"), _text
    ),
    "cluster_column": _text,
    "label": _text,
    "label_words": _words,
    "label_map": _words,
    "template": _text,
    "max_length": whole(3),
    "dtype": _text,
    "param": _pairs(),
}
