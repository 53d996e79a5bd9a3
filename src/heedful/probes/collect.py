"""From batched tensors to the rows every probe returns, in the data's own order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from torch import Tensor

from heedful.probes.evidence import Pass
from heedful.types import AttentionRows, SiteSpec

ORDER = ["example", "site", "head", "query"]


@dataclass
class Collector:
    """Gathers measures and maps pass by pass; `tables` sorts them by example."""

    ids: tuple[str, ...]
    _rows: list[pd.DataFrame] = field(default_factory=list)
    _maps: list[pd.DataFrame] = field(default_factory=list)

    def add(
        self, each: Pass, site: SiteSpec, view: AttentionRows, measures: Mapping[str, Tensor]
    ) -> None:
        """One number per attention row for each measure."""
        facts = self._facts(each, site, view)
        for name, values in measures.items():
            numbers = values.detach().double().cpu().numpy()
            self._rows.append(facts.assign(measure=name, value=numbers))

    def add_maps(
        self, each: Pass, site: SiteSpec, view: AttentionRows, maps: Mapping[str, Tensor]
    ) -> None:
        """One score per attended token for each map, `[n, k]`."""
        facts = self._facts(each, site, view)[ORDER]
        mask = view.mask.cpu().numpy()
        for name, values in maps.items():
            scores = values.detach().float().cpu().numpy()
            lists = [row[keep] for row, keep in zip(scores, mask, strict=True)]
            self._maps.append(facts.assign(map=name, scores=lists))

    def rows(self) -> pd.DataFrame:
        return self._sorted(self._rows, "measure")

    def maps(self) -> pd.DataFrame:
        return self._sorted(self._maps, "map")

    def _facts(self, each: Pass, site: SiteSpec, view: AttentionRows) -> pd.DataFrame:
        example = view.example.cpu().numpy()
        ids = np.array(each.batch.ids, dtype=object)
        return pd.DataFrame(
            {
                "example": ids[example],
                "site": site.name,
                "head": view.head.cpu().numpy(),
                "query": view.query.cpu().numpy(),
                "label": each.batch.labels.cpu().numpy()[example],
                "predicted": each.predicted.cpu().numpy()[example],
                "length": view.mask.sum(-1).cpu().numpy(),
                "max_weight": view.weights.amax(-1).double().cpu().numpy(),
            }
        )

    def _sorted(self, tables: list[pd.DataFrame], column: str) -> pd.DataFrame:
        table = pd.concat(tables, ignore_index=True)
        place = {name: number for number, name in enumerate(self.ids)}
        order = table.assign(_place=table["example"].map(place))
        order = order.sort_values([column, "_place", "site", "head", "query"], kind="stable")
        return order.drop(columns="_place").reset_index(drop=True)
