"""Attention of every layer and head on a page: the data of the component, and a page of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from heedful.errors import HeedfulError
from heedful.report.formats import clipped, visible
from heedful.report.sheet import Holder, Sheet
from heedful.units import WORD, check_unit

LONGEST_TOKEN = 60


def head_data(parts: Mapping[str, Any]) -> dict[str, Any]:
    """What `heads.js` shows, from what `HeadView.as_parts` tells or an audit has stored. Raises
    ValueError where that is something else."""
    try:
        return {
            "model": clipped(visible(parts["model"])),
            "sides": {name: _side(side) for name, side in parts["sides"].items()},
            "sites": [_site(site) for site in parts["sites"]],
            "weights": str(parts["weights"]),
            "unit": check_unit(parts.get("unit", WORD)),
            "notes": [visible(note) for note in parts["notes"]],
        }
    except (KeyError, TypeError, AttributeError, HeedfulError) as error:
        raise ValueError("a head view of another kind") from error


def stored_views(table: pd.DataFrame | None) -> tuple[dict[str, Any], ...]:
    """The texts of an audit's table, each with the reason it was chosen for; `data` is None where
    a text had no room. Raises ValueError where something else stands there."""
    if table is None:
        return ()
    views = []
    for line in table.reindex(columns=["example", "why", "view"]).to_dict("records"):
        data = head_data(json.loads(str(line["view"]))) if line["view"] else None
        own = {name: clipped(visible(str(line[name]))) for name in ("example", "why")}
        views.append({**own, "data": data})
    return tuple(views)


def heads_page(parts: Mapping[str, Any]) -> str:
    """The HTML of a page that shows nothing else."""
    sheet, data = Sheet(), head_data(parts)
    sheet.put("heads", data)
    return sheet.render("heads.html", entry="heads_page", title=data["model"])


def put_heads(sheet: Holder, audits: Sequence[Any]) -> None:
    """The views of each audit of a page, under the name that its chapter has."""
    for number, evidence in enumerate(audits):
        views = [view for view in evidence.heads if view["data"]]
        if views:
            sheet.put(f"heads-audit{number}", views)


def _site(site: Mapping[str, Any]) -> dict[str, Any]:
    names = {name: visible(site[name]) for name in ("name", "queries", "keys")}
    return {**names, "normalised": bool(site["normalised"]), "heads": int(site["heads"])}


def _side(side: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "tokens": [_token(token) for token in side["tokens"]],
        "words": [int(word) for word in side["words"]],
        "surface": [_token(word) for word in side["surface"]],
        "special": [int(special) for special in side["special"]],
        "parts": [int(part) for part in side["parts"]],
    }


def _token(text: str) -> str:
    """Control characters are spelled out, and what somebody wrote without a blank is shortened."""
    return visible(text if len(text) <= LONGEST_TOKEN else f"{text[: LONGEST_TOKEN - 1]}…")
