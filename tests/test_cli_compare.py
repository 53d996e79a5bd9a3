"""`heedful compare` says what its numbers are."""

from __future__ import annotations

import pandas as pd
import pytest

from heedful.cli.audit import _title


@pytest.mark.parametrize(
    ("measure", "operator", "said"),
    [
        ("comprehensiveness", "delete", "comprehensiveness, delete: mean [95% interval], highest"),
        ("flip_share", "mask", "flip_share, mask: mean [95% interval], lowest"),
        ("tau:occlusion", "", "tau:occlusion: mean [95% interval], highest"),
    ],
)
def test_a_table_says_its_measure_and_its_order(measure: str, operator: str, said: str) -> None:
    table = pd.DataFrame({"operator": [operator, operator]})
    assert _title(table, measure) == f"{said} first"
