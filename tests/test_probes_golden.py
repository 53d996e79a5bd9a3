"""Rows that are kept by version: whoever changes them has to say so."""

from __future__ import annotations

import hashlib
from typing import Any

import pandas as pd
import pytest

from heedful.probes import PROBES
from probing import FITTING, LENGTHS, find
from tiny import tiny_model, tiny_split

PARAMS: dict[str, dict[str, Any]] = {
    "adversarial": {"search_steps": 20, "search_candidates": 2, "k": 2},
    "permutation": {"permutations": 11},
    "substitution": {"resamples": 20},
    "score": {"resamples": 25},
}

# probe: (version, digest for two classes, digest for three)
GOLDEN = {
    "score": (1, "b25b1c49cf465063", "28bdc7b718543f91"),
    "correlation": (1, "f22319af7603d91f", "aac7e27c4d7b1006"),
    "permutation": (1, "984dba64f84ed65c", "c7163f7c3cfc4747"),
    "adversarial": (1, "d15587de9fc09aae", "089cfcfe8d89b373"),
    "reachability": (1, "7d767ff27c25c318", "fe765599c3728779"),
    "erasure": (1, "f101f6efbafef00b", "8bf6de986389da96"),
    "flips": (1, "4be9311accb6ce4c", "c2694b600a57ff2d"),
    "importance_sets": (1, "2ace86415741f1ff", "9f671416bdd034c6"),
    "substitution": (1, "bbd2b19ce709d98c", "6a01d528c65eb521"),
}


@pytest.mark.parametrize("name", FITTING)
def test_rows_change_with_the_version_only(name: str) -> None:
    found = (PROBES[name].version, *(digest(name, classes) for classes in (2, 3)))
    assert GOLDEN.get(name) == found, (
        f"the rows of the probe {name!r} are not what they were for this version: if that is "
        f"meant, raise the version in its PIECE and put {found} into GOLDEN."
    )


def test_the_digest_sees_every_column() -> None:
    rows = find("reachability", tiny_model(double=True), tiny_split(LENGTHS)).rows
    whole = text(rows)
    for column in rows:
        assert text(rows.drop(columns=column)) != whole
    assert text(rows.assign(value=rows["value"] + 1e-5)) != whole


def digest(name: str, classes: int) -> str:
    """Of a double-precision model, so that six decimals are the same on every machine."""
    split = tiny_split(LENGTHS, classes=classes)
    model = tiny_model("bilstm", "dot", classes, double=True)
    found = find(name, model, split, **PARAMS.get(name, {}))
    tables = [found.rows] if found.summary is None else [found.rows, found.summary]
    return hashlib.sha256("".join(map(text, tables)).encode()).hexdigest()[:16]


def text(table: pd.DataFrame) -> str:
    # + 0.0 turns −0.0 into 0.0
    numbers = table.select_dtypes("float").columns
    rounded = table.assign(**{name: table[name].round(6) + 0.0 for name in numbers})
    return rounded.to_csv(index=False, float_format="%.6f")
