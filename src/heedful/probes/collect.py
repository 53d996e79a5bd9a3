"""From batched tensors to the rows every probe returns, in the data's own order.

Columns are gathered as arrays and become one table at the end: a table per batch and
measure would cost more than some probes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from torch import Tensor

from heedful.probes.evidence import Pass
from heedful.types import AttentionRows, SiteSpec

Columns = dict[str, np.ndarray]
PLACE = ["example", "site", "head", "query"]


@dataclass
class Collector:
    """Gathers measures and maps pass by pass; the tables are sorted by measure and example."""

    ids: tuple[str, ...]
    _rows: list[Columns] = field(default_factory=list)
    _maps: list[Columns] = field(default_factory=list)

    def add(
        self, each: Pass, site: SiteSpec, view: AttentionRows, measures: Mapping[str, Tensor]
    ) -> None:
        """One number per attention row for each measure."""
        facts = _facts(each, site, view)
        for name, values in measures.items():
            numbers = values.detach().double().cpu().numpy()
            self._rows.append({**facts, "measure": _same(name, facts), "value": numbers})

    def add_maps(
        self,
        each: Pass,
        site: SiteSpec,
        view: AttentionRows,
        maps: Mapping[str, Tensor],
        exact: bool = False,
    ) -> None:
        """One score per attended token for each map, `[n, k]`. Maps to be looked at are kept in
        single precision, `exact` ones, to be reckoned with, in double."""
        facts = {name: column for name, column in _facts(each, site, view).items() if name in PLACE}
        mask = view.mask.cpu().numpy()
        for name, values in maps.items():
            kept = values.detach().double() if exact else values.detach().float()
            scores = kept.cpu().numpy()
            lists = np.empty(len(scores), dtype=object)
            lists[:] = [row[keep] for row, keep in zip(scores, mask, strict=True)]
            self._maps.append({**facts, "map": _same(name, facts), "scores": lists})

    def rows(self) -> pd.DataFrame:
        return self._table(self._rows, "measure")

    def maps(self) -> pd.DataFrame:
        return self._table(self._maps, "map")

    def _table(self, parts: list[Columns], name: str) -> pd.DataFrame:
        whole = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
        place = {example: number for number, example in enumerate(self.ids)}
        keys: list[Any] = [
            whole["query"],
            whole["head"],
            _codes(whole["site"]),
            np.array([place[example] for example in whole["example"]]),
            _codes(whole[name]),
        ]
        order = np.lexsort(keys)  # the last key counts first
        return pd.DataFrame({key: column[order] for key, column in whole.items()})


def _facts(each: Pass, site: SiteSpec, view: AttentionRows) -> Columns:
    example = view.example.cpu().numpy()
    facts = {
        "example": np.array(each.batch.ids, dtype=object)[example],
        "head": view.head.cpu().numpy(),
        "query": view.query.cpu().numpy(),
        "label": each.batch.labels.cpu().numpy()[example],
        "predicted": each.predicted.cpu().numpy()[example],
        "length": view.mask.sum(-1).cpu().numpy(),
        "max_weight": view.weights.amax(-1).double().cpu().numpy(),
        "confidence": each.probabilities.amax(-1).cpu().numpy()[example],
    }
    return {"example": facts.pop("example"), "site": _same(site.name, facts), **facts}


def _same(name: str, facts: Columns) -> np.ndarray:
    return np.full(len(facts["head"]), name, dtype=object)


def _codes(names: np.ndarray) -> np.ndarray:
    """Numbers that sort as the names do."""
    codes: np.ndarray = np.unique(names.astype(str), return_inverse=True)[1]
    return codes
