"""Seeds repeat the same texts: a sentence counts each text once."""

from __future__ import annotations

import pandas as pd
import pytest

from heedful.report import over_seeds
from heedful.report.summaries.jain_serrano_vashishth import _first, layers_line

SEEDS = 3


def together(probe: str, measures: dict[str, float], texts: int) -> pd.DataFrame:
    """Each measure of every seed, with as many texts."""
    place = {"corpus": "sst", "model": "m", "probe": probe, "group": "all", "undefined": 0}
    lines = [
        {**place, "seed": seed, "measure": name, "mean": mean + seed / 100, "n": texts}
        for seed in range(SEEDS)
        for name, mean in measures.items()
    ]
    return over_seeds(pd.DataFrame(lines).assign(sd=0.1, median=0.5, low=0.0, high=1.0))


@pytest.mark.parametrize(
    ("texts", "said"), [(29, "inconclusive, fewer than 30 texts"), (40, "(n 40)")]
)
def test_layers(texts: int, said: str) -> None:
    scores = {"score": 0.8, "score:encoder:first=1": 0.7, "score:encoder:first=2": 0.6}
    assert said in layers_line(together("layers", scores, texts))


@pytest.mark.parametrize(("texts", "said"), [(29, ""), (40, "; of all rankings")])
def test_the_best_ranking(texts: int, said: str) -> None:
    names = ("attention", "gradient")
    shares = {f"restricted_fraction_{name}": 0.3 for name in names}
    found = _first(together("importance_sets", shares, texts))
    assert found.startswith(said) and bool(found) == bool(said)
