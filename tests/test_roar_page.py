"""The measured part of docs/roar.md: made of kept rows alone, and again byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from heedful.metrics import ROAR_COLUMNS
from heedful.report import shown
from paper_tables.roar import AUDITS, MARK, PAGE, ROWS, kept_page, measured, of_audits

SAMPLE = pd.DataFrame(
    [
        *(("random", p, seed, s) for seed in (0, 1) for p, s in ((0, 0.9), (50, 0.8), (100, 0.5))),
        *(("gradient", p, 0, s) for p, s in ((0, 0.9), (50, 0.6), (100, 0.5))),
        *(("gradient", p, 1, s) for p, s in ((0, 0.9), (50, 0.7), (100, 0.5))),
    ],
    columns=ROAR_COLUMNS,
)


def test_a_sample_by_hand(tmp_path: Path) -> None:
    """RACU 0.4 and 0.2: 0.30 ± 1.27; accuracy 0.65 ± 0.64 at half of the words."""
    for seed, position in enumerate((0.5, 0.7)):
        ranked = {"ranked": [{"explanation": "gradient", "position": position}]}
        text = json.dumps({"verdict": {"recommendation": ranked}})
        (tmp_path / f"{seed}.json").write_text(text, encoding="utf8")
    audits = of_audits([str(tmp_path / "0.json"), str(tmp_path / "1.json")])
    text = measured(SAMPLE, audits)
    assert (
        "| `gradient` | 0.90 (0.90 to 0.90) | 0.65 (0.015 to 1.29) | 0.50 (0.50 to 0.50) |" in text
    )
    assert "| `gradient` | 0.30 (−0.97 to 1.57) | 0.60 (−0.67 to 1.87) |" in text
    assert "| clearly above random words by RACU | none |" in text


def test_the_page_is_made_of_the_kept_rows() -> None:
    if not ROWS.exists():
        pytest.skip("run in the checkout")
    assert PAGE.read_text(encoding="utf8") == kept_page(), "run `python -m paper_tables.roar`"
    rows = pd.read_csv(ROWS)
    assert list(rows) == ROAR_COLUMNS and AUDITS.exists()
    changed = rows.assign(score=rows["score"] - 0.1 * (rows["percent"] == 0))
    below = PAGE.read_text(encoding="utf8").partition(MARK)[2]
    assert measured(changed, pd.read_csv(AUDITS)).partition(MARK)[2] != below
    assert shown(float(rows.loc[rows["percent"] == 0, "score"].mean())) in below
