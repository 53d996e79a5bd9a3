"""Rows that are kept by version: whoever changes them has to say so."""

from __future__ import annotations

import hashlib
from typing import Any

import pandas as pd
import pytest

from heedful.experiments import PROBES
from probing import FITTING, LENGTHS, find
from tiny import tiny_model, tiny_split

PARAMS: dict[str, dict[str, Any]] = {
    "extracted": {"epochs": 40, "sparsity": 0.2},
    "adversarial": {"search_steps": 20, "search_candidates": 2, "k": 2},
    "permutation": {"permutations": 11},
    "substitution": {"resamples": 20},
    "guides": {"resamples": 20},
    "seeds": {"count": 3},
    "frontier": {"weights": (0.0, 1.0), "labels": (1.0,)},
    "score": {"resamples": 25},
    "fragility": {"steps": 2, "swaps": 2},
}

# probe: (version, digest for two classes, digest for three)
GOLDEN = {
    "score": (2, "07cbbcb0ed90b0a3", "ddf4bcacc80f02ff"),
    "correlation": (3, "ed7d09964779ccae", "83984e4ac5ba76de"),
    "permutation": (2, "f05fcc6ea1159620", "888e2dbb6399e1a6"),
    "adversarial": (3, "c60880eb6047513d", "c4089a86527ef066"),
    "reachability": (2, "1feb1e613a848fd7", "ebdd5685ed3e342b"),
    "token_logits": (1, "d3c5fb69773a23e1", "2a98b301370d97e2"),
    "erasure": (3, "247a608c9c5c61c2", "65f960a322b850c5"),
    "flips": (3, "1a9cfcb32ac73e88", "6a90bb0c3849bf6a"),
    "importance_sets": (3, "853f23e087304164", "b0e02bd61343ae55"),
    "substitution": (2, "1859ebb1e0c39ece", "acda995a68ff6708"),
    "seeds": (1, "fc0e90896a805374", "d4b236c2ab727377"),
    "guides": (2, "2a93ebce0bb66f92", "a1a8d99b908125d1"),
    "frontier": (1, "90a410df5561c332", "7badd0fd254f51ff"),
    "mutual_information": (2, "efda53aaa2a4356c", "443e54eeb7fdcc95"),
    "token_probability": (1, "aa0484043ce7c573", "e1f71ae3151fdde5"),
    "conicity": (1, "412a3381af83585b", "7d59f9be61b4e068"),
    "parts_of_speech": (1, "b2e2461fbddbbb10", "694bb894e15167b8"),
    "extracted": (1, "614301f76b695996", "96e72433b03f92c0"),
    "input_reduction": (1, "ea6370f87b1dac67", "a4e7e5091518fb21"),
    "fragility": (1, "2b418288ce8c6707", "04dd2a95328695c8"),
}


@pytest.mark.parametrize("name", FITTING)
def test_rows_change_with_the_version_only(name: str) -> None:
    found = (PROBES[name].version, *(digest(name, classes) for classes in (2, 3)))
    assert name in GOLDEN, f"a new probe: put {name!r}: {found} into GOLDEN, and it is kept."
    assert GOLDEN[name] == found, (
        f"the rows of the probe {name!r} are not what they were for this version: if that is "
        f"meant, raise the version in its ENTRY and put {found} into GOLDEN."
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
