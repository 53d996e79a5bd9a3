"""Attention of every layer and head on a page: the data of the component, and a page of its own."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heedful.report.formats import clipped, visible
from heedful.report.sheet import Sheet

LEVELS = 255
"""Weights are bytes on a page: the square root of each, in so many steps. That is off by at most
0.004 where a weight is near 1, and by far less where it is small."""
LONGEST_TOKEN = 60


def head_data(parts: Mapping[str, Any]) -> dict[str, Any]:
    """What `heads.js` shows, from what `HeadView.as_parts` tells."""
    sites = [_site(site) for site in parts["sites"]]
    weights = b"".join(_bytes(site["weights"]) for site in parts["sites"])
    return {
        "model": clipped(parts["model"]),
        "sides": {name: _side(side) for name, side in parts["sides"].items()},
        "sites": sites,
        "weights": base64.b64encode(weights).decode("ascii"),
        "notes": [visible(note) for note in parts["notes"]],
    }


def heads_page(parts: Mapping[str, Any]) -> str:
    """The HTML of a page that shows nothing else."""
    sheet, data = Sheet(), head_data(parts)
    sheet.put("heads", data)
    return sheet.render("heads.html", entry="heads_page", title=data["model"])


def _site(site: Mapping[str, Any]) -> dict[str, Any]:
    own = {name: site[name] for name in ("name", "queries", "keys", "normalised")}
    return {**own, "heads": len(site["weights"])}


def _side(side: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "tokens": [_token(token) for token in side["tokens"]],
        "words": list(side["words"]),
        "surface": [_token(word) for word in side["surface"]],
        "special": [int(special) for special in side["special"]],
        "parts": list(side["parts"]),
    }


def _token(text: str) -> str:
    """Control characters are spelled out, and what somebody wrote without a blank is shortened."""
    return visible(text if len(text) <= LONGEST_TOKEN else f"{text[: LONGEST_TOKEN - 1]}…")


def _bytes(weights: NDArray[np.float32]) -> bytes:
    steps: NDArray[np.uint8] = np.rint(LEVELS * np.sqrt(np.clip(weights, 0, 1))).astype(np.uint8)
    return steps.tobytes()
