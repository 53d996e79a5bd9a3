"""The cells of a study: one for each corpus, model and seed that has maps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from heedful.report.evidence import Evidence
from heedful.report.examples.cell import (
    ATTENTION,
    COLUMNS,
    FURTHEST,
    FURTHEST_AWAY,
    FURTHEST_FOUND,
    FURTHEST_OF_ALL,
    MARKED,
    SHUFFLED,
    SORTINGS,
    Cell,
    Document,
    Known,
    Map,
    Numbers,
    Reading,
    Sorting,
    disagreement,
    known_texts,
    listed,
    means_of,
    reach_of,
    searched,
    searched_as_spread,
    title_of,
)
from heedful.store import Run

SEVERAL = "Of several heads or queries the first is shown."


def study_cells(evidence: Evidence) -> list[Cell]:
    """In the order of the study. Nothing is trained or measured again."""
    cells = evidence.cells
    whose = cells["model_run"].where(cells["model_run"].astype(bool), cells["label"])
    texts: dict[str, StudyTexts] = {}
    found = []
    for _, part in cells.groupby([cells["corpus"], whose, cells["seed"]], sort=False):
        corpus = str(part["corpus_run"].iloc[0])
        known = texts.setdefault(corpus, StudyTexts(evidence, corpus))
        model = _model(evidence, part, known)
        if model.names:
            found.append(_cell(model, part, _alone(cells, part)))
    return found


def _model(evidence: Evidence, part: pd.DataFrame, texts: StudyTexts) -> StudyModel:
    once = part.drop_duplicates("probe")
    runs = {
        str(probe): evidence.store.open(str(run))
        for probe, run in zip(once["probe"], once["run"], strict=True)
    }
    spec = evidence.model_facts(str(part["model_run"].iloc[0])).get("model") or {}
    return StudyModel(runs, texts, bool(spec.get("blind", False)))


def _cell(model: StudyModel, part: pd.DataFrame, alone: bool) -> Cell:
    means = {each.sorting.key: float(values.mean()) for each, values in model.measured}
    return Cell(
        corpus=str(part["corpus"].iloc[0]),
        classes=model.texts.classes,
        model=str(part["model" if alone else "label"].iloc[0]),
        seed=str(part["seed"].iloc[0]),
        source="study",
        names=model.names,
        maps=shown_maps(model.scanned.maps, model.exact),
        measures=[*(each.sorting for each, _ in model.measured), *SORTINGS],
        means=means | means_of(model.facts),
        documents=model.documents,
        readings=model.readings,
        logits=model.scanned.logits,
        note=SEVERAL if model.scanned.several else "",
    )


def _alone(cells: pd.DataFrame, part: pd.DataFrame) -> bool:
    """Whether a model's name says which it is: no other setting on the corpus has it."""
    keys = ["corpus", "model", "seed"]
    same = (cells[keys] == part[keys].iloc[0]).all(axis=1)
    return int(cells.loc[same, "model_run"].nunique()) == 1


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


PROBES = ("token_logits", "correlation", "adversarial")
"""Whose maps are shown; the first has attention with all its digits."""
LOGIT = "logit:"
SEARCHED = searched("study").key


def _far(key: str, title: str, measure: str, found: bool) -> Map:
    return Map(key, title, FURTHEST, measure, found, weights=True)


MAPS = {
    "attention": Map("attention", "attention", ATTENTION, weights=True),
    "gradient": Map("gradient_fixed", "gradient × input (attention held fixed)"),
    "leave_one_out": Map("leave_one_out", title_of("leave_one_out")),
    "integrated_gradients": Map("integrated_gradients_size", "integrated gradients (sizes)"),
    "adversary": _far("adversary", FURTHEST_OF_ALL, FURTHEST_AWAY.key, False),
    "adversary_entropy_matched": _far(
        "adversary_entropy_matched",
        "furthest found with the same spread (a lower bound)",
        searched_as_spread("study").key,
        True,
    ),
    "adversary_search": _far(
        "adversary_search", "furthest found by search (a lower bound)", SEARCHED, True
    ),
}
"""By the probes' names. What an audit calls so, but is something else, has a key of its own."""


def shown_maps(names: Iterable[str], exact: bool) -> list[Map]:
    """`exact`: the adversary is the furthest there is, and not only the furthest found. What was
    found is then another map; else it is the adversary itself, and stands there once."""
    there = set(names) - (set() if exact else {"adversary_search"})
    found = _far("adversary", FURTHEST_FOUND, SEARCHED, True)
    maps = MAPS if exact else {**MAPS, "adversary": found}
    return [maps[name] for name in MAPS if name in there]


FOUND, SPREAD = searched("study"), searched_as_spread("study")


@dataclass(frozen=True)
class Measured:
    """Where a number comes from; with `one_less`, it is shown as 1 − value."""

    probe: str
    measure: str
    sorting: Sorting
    one_less: bool = False

    def values(self, rows: pd.DataFrame) -> pd.Series:
        """By text, of those where it is defined."""
        chosen = rows[rows["measure"] == self.measure].set_index("example")["value"]
        numbers = chosen.astype("float64").dropna()
        return 1.0 - numbers if self.one_less else numbers


def _against(name: str, short: str) -> Measured:
    """1 − τ of attention and one kind of importance, which measures call by a shorter name."""
    found = MAPS[name]
    sorting = disagreement(found.key, found.title)
    return Measured("correlation", f"tau_{short}", sorting, one_less=True)


MEASURED = (
    _against("gradient", "gradient"),
    _against("leave_one_out", "loo"),
    Measured("adversarial", "jsd_exact", FURTHEST_AWAY),
    Measured("adversarial", "jsd_search", FOUND),
    Measured("adversarial", "jsd_entropy_matched", SPREAD),
    Measured("permutation", "flips", Sorting("flips", "how often shuffling flips the decision")),
    Measured("permutation", "tvd_median", SHUFFLED),
    Measured("erasure", "js_top", Sorting("erased", "output moved by erasing the heaviest")),
    Measured(
        "token_logits",
        "mass_agreeing",
        Sorting("mass_agreeing", "attention on tokens that say the same", descending=False),
    ),
    Measured(
        "token_logits",
        "tokens_agreeing",
        Sorting("tokens_agreeing", "tokens that say the same alone", descending=False),
    ),
    Measured("rationale", "auprc", MARKED),
)
"""In the order they are offered; of two names of one thing, the first that was measured."""


QUARTER = 4
"""Of a target that is being written, probes look at the step after a quarter."""
TEXTS_COLUMNS = (
    *("example", "text_a", "starts_a", "ends_a", "text_b", "ends_b", "rationale_a"),
    "impermissible_a",
)


class StudyTexts:
    """Nothing is read before it is asked for; without the corpus there are no texts."""

    def __init__(self, evidence: Evidence, corpus_run: str) -> None:
        self.evidence, self.key = evidence, corpus_run

    @property
    def there(self) -> bool:
        return bool(self.key) and self.evidence.store.has(self.key)

    @cached_property
    def classes(self) -> list[str]:
        """Names of the classes; of a corpus for generation the vocabulary."""
        if self.writes and self.there:
            return [str(word) for word in self._run.table("vocabulary")["word"]]
        return [str(name) for name in self.report.get("labels", [])]

    @cached_property
    def report(self) -> dict[str, Any]:
        return self.evidence.corpus_report(self.key)

    @property
    def writes(self) -> bool:
        return self.report.get("task") == "generation"

    def lengths(self, names: Iterable[str], blind: bool) -> dict[str, int]:
        """Tokens of each text that a model sees, of those texts that are there."""
        known = (name for name in names if name in self._place)
        return {name: len(_seen(self._line(name), blind)) for name in known}

    def documents(self, labels: Mapping[str, int], blind: bool) -> dict[str, Document]:
        """`labels` are those of the texts that are wanted."""
        return {name: self._document(name, label, blind) for name, label in labels.items()}

    def _document(self, name: str, label: int, blind: bool) -> Document:
        line = self._line(name)
        marks = listed(line.get("rationale_a"))
        seen = _seen(line, blind)
        marked = tuple(bool(marks[i]) for i in seen) if len(marks) > max(seen, default=-1) else None
        return Document(
            str(line["text_a"]), self._other(line), _spans(line, blind), label, marked or None
        )

    def _other(self, line: Mapping[str, Any]) -> str:
        """The other text of a pair; of a target, what the model was given of it."""
        text = line.get("text_b")
        if not isinstance(text, str):
            return ""
        if not self.writes:
            return text
        ends = listed(line.get("ends_b"))
        given = len(ends) // QUARTER
        return text[: int(ends[given - 1])] if given else ""

    def _line(self, name: str) -> dict[str, Any]:
        return {column: values[self._place[name]] for column, values in self._columns.items()}

    @cached_property
    def _place(self) -> dict[str, int]:
        names = self._columns.get("example", [])
        return {str(name): place for place, name in enumerate(names)}

    @cached_property
    def _columns(self) -> dict[str, list[Any]]:
        if not self.there:
            return {}
        table = self._run.table("examples")
        return {name: list(table[name]) for name in TEXTS_COLUMNS if name in table}

    @property
    def _run(self) -> Run:
        return self.evidence.store.open(self.key)


def _spans(line: Mapping[str, Any], blind: bool) -> tuple[tuple[int, int], ...]:
    starts, ends = line["starts_a"], line["ends_a"]
    return tuple((int(starts[i]), int(ends[i])) for i in _seen(line, blind))


def _seen(line: Mapping[str, Any], blind: bool) -> list[int]:
    """The tokens a model sees: a blind one those that are not impermissible."""
    hidden = listed(line.get("impermissible_a")) if blind else []
    count = len(line["starts_a"])
    return [i for i in range(count) if i >= len(hidden) or not hidden[i]]
