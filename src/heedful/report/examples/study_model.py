"""One model of a study, text by text, from the runs of its probes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from heedful.report.examples.cell import Document, Numbers, Reading, reach_of
from heedful.report.examples.known import COLUMNS, Known, known_texts
from heedful.report.examples.study_maps import LOGIT, MAPS, PROBES
from heedful.report.examples.study_measures import MEASURED, Measured
from heedful.report.examples.study_texts import StudyTexts
from heedful.store import Run

REACHED = ("lowest", "highest")


@dataclass(frozen=True)
class StudyModel:
    """Maps are read twice, once to see what there is and once for the texts that are shown: all
    maps of all models would not fit into memory."""

    runs: Mapping[str, Run]
    texts: StudyTexts
    blind: bool = False

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Texts with maps; none where the maps are of something else than the text's tokens
        (of sentences), or where the texts were not carried along."""
        lengths = self.scanned.lengths
        if not lengths or self.texts.lengths(lengths, self.blind) != lengths:
            return ()
        return tuple(sorted(name for name in lengths if name in self.facts))

    @cached_property
    def scanned(self) -> Scanned:
        maps: dict[str, None] = {}
        lengths: dict[str, int] = {}
        several = False
        for table in self._maps():
            first = _first(table, "map")
            several |= len(first) < len(table)
            maps |= dict.fromkeys(str(name) for name in first["map"].unique())
            lengths |= dict(zip(first["example"].map(str), first["scores"].map(len), strict=True))
        return Scanned(tuple(maps), lengths, several)

    @cached_property
    def facts(self) -> dict[str, Known]:
        """Of each text, from whichever probe has seen it."""
        tables = [self._rows(probe) for probe in PROBES]
        found = [known_texts(each.reindex(columns=["example", *COLUMNS])) for each in tables]
        return {name: known for each in reversed(found) for name, known in each.items()}

    @cached_property
    def measured(self) -> list[tuple[Measured, pd.Series]]:
        """Those that exist, each by text."""
        found = []
        for probe in dict.fromkeys(each.probe for each in MEASURED):
            rows = _first(self._rows(probe), "measure")
            for each in MEASURED:
                if each.probe == probe:
                    found.append((each, each.values(rows)))
        return [(each, values) for each, values in found if len(values)]

    @cached_property
    def reached(self) -> list[dict[str, float]]:
        """The lowest and highest probability of class 1 that some attention gives, by text,
        where a probe says so."""
        rows = _first(self._rows("reachability"), "measure")
        parts = [rows[rows["measure"] == name] for name in REACHED]
        return [dict(zip(each["example"], each["value"], strict=True)) for each in parts]

    @property
    def exact(self) -> bool:
        return any(each.measure == "jsd_exact" for each, _ in self.measured)

    def documents(self, names: Sequence[str]) -> dict[str, Document]:
        labels = {name: self.facts[name].label for name in names}
        return self.texts.documents(labels, self.blind)

    def readings(self, names: Sequence[str]) -> dict[str, Reading]:
        scores = self._scores(names)
        return {name: self._reading(name, scores[name]) for name in names}

    def _reading(self, name: str, scores: Mapping[str, Numbers]) -> Reading:
        known, logits = self.facts[name], _logits(scores)
        predicted = known.predicted
        measures = {
            each.sorting.key: float(values[name])
            for each, values in self.measured
            if name in values.index
        }
        measures |= known.measures
        reach = reach_of(logits, predicted) if logits is not None else self._reach(name, predicted)
        maps = {MAPS[name].key: values for name, values in scores.items() if name in MAPS}
        return Reading(predicted, known.confidence, maps, logits, measures, reach)

    def _reach(self, name: str, predicted: int) -> tuple[float, float] | None:
        if not all(name in each for each in self.reached):
            return None
        low, high = (float(each[name]) for each in self.reached)
        return (low, high) if predicted == 1 else (1 - high, 1 - low)

    def _scores(self, names: Sequence[str]) -> dict[str, dict[str, Numbers]]:
        """By text, then by map; what an earlier probe has, a later one does not replace."""
        found: dict[str, dict[str, Numbers]] = {name: {} for name in names}
        for table in self._maps():
            chosen = _first(table[table["example"].isin(list(names))], "map")
            columns = (chosen[name] for name in ("example", "map", "scores"))
            for example, key, scores in zip(*columns, strict=True):
                numbers = np.asarray(scores, dtype=np.float64)
                found[str(example)].setdefault(str(key), numbers)
        return found

    def _maps(self) -> Iterator[pd.DataFrame]:
        for probe in PROBES:
            if probe in self.runs and self.runs[probe].has("maps.parquet"):
                yield self.runs[probe].table("maps")

    def _rows(self, probe: str) -> pd.DataFrame:
        if probe in self.runs and self.runs[probe].has("rows.parquet"):
            return self.runs[probe].table("rows")
        return pd.DataFrame(columns=["example", *COLUMNS, "measure", "value"])


@dataclass(frozen=True)
class Scanned:
    """Which maps there are, how many tokens each text has in them, and whether a text has
    several rows of attention, of which the first is shown."""

    maps: tuple[str, ...]
    lengths: Mapping[str, int]
    several: bool

    @property
    def logits(self) -> int:
        return sum(name.startswith(LOGIT) for name in self.maps)


def _first(table: pd.DataFrame, by: str) -> pd.DataFrame:
    """One line for each text and name: of the first site, head and query."""
    return table.drop_duplicates(["example", by])


def _logits(scores: Mapping[str, Numbers]) -> Numbers | None:
    """`[tokens, logits]`."""
    count = sum(key.startswith(LOGIT) for key in scores)
    return np.stack([scores[f"{LOGIT}{c}"] for c in range(count)], axis=1) if count else None
