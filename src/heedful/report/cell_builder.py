"""The cells of a page: of an audit, from the tables it left; of a study, one for each corpus, model
and seed that has maps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from heedful.report.audit_evidence import AuditEvidence
from heedful.report.audit_texts import asked
from heedful.report.cells import (
    ATTENTION,
    COLUMNS,
    EXPLANATION,
    FLOOR,
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
    padded,
    reach_of,
    searched,
    searched_as_spread,
    title_of,
)
from heedful.report.formats import clipped

if TYPE_CHECKING:
    from heedful.report.evidence import Evidence
    from heedful.store import Run


def _cell(read: AuditModel | StudyModel, **about: Any) -> Cell:
    """What a page asks of any model, and `about` it what only an audit or a study knows."""
    means = {sorting.key: float(values.mean()) for sorting, values in read.measured}
    texts = read.known.values()
    means |= {each.key: float(np.mean([t.measures[each.key] for t in texts])) for each in SORTINGS}
    return Cell(
        names=read.names,
        maps=read.maps,
        measures=[*(sorting for sorting, _ in read.measured), *SORTINGS],
        means=means,
        documents=read.documents,
        readings=read.readings,
        logits=read.logits,
        **about,
    )


def _numbers(read: AuditModel | StudyModel, name: str) -> dict[str, float]:
    """What a text can be sorted by, where it is defined."""
    measured = {
        sorting.key: float(values[name])
        for sorting, values in read.measured
        if name in values.index
    }
    return measured | read.known[name].measures


SPLIT = re.compile(r", \w+ split$")


def audit_cells(evidence: AuditEvidence, number: int = 0) -> list[Cell]:
    """One, of the audit with this number among those of a page, from 0; none where no map was
    kept."""
    model = AuditModel(evidence)
    if not model.names:
        return []
    cell = _cell(
        model,
        corpus=SPLIT.sub("", clipped(evidence.facts.data)),
        classes=evidence.facts.classes,
        model=clipped(evidence.facts.model),
        seed="",
        source="audit",
        whole=frozenset(map(str, evidence.shown["example"])),
        run=f"audit of {evidence.size}",
        audit=number,
    )
    return [cell]


WHOLE, FURTHEST_KEY = "attention", "furthest"
WORDS = ("weights", "logit", "furthest")
"""What has a number for each word."""
WEIGHTS = frozenset({"attention", "rollout", "value_norm"})
"""Explanations that are made of attention weights alone."""


@dataclass(frozen=True)
class AuditModel:
    """`shown` has what was kept beside the maps, of some texts or of all."""

    evidence: AuditEvidence

    @cached_property
    def names(self) -> tuple[str, ...]:
        maps, documents = self.evidence.maps, self.evidence.documents
        known = set(self.known) & set(map(str, documents["example"]))
        return tuple(sorted(known & set(map(str, maps["example"]))))

    @cached_property
    def known(self) -> dict[str, Known]:
        return known_texts(self.evidence.main)

    @cached_property
    def maps(self) -> list[Map]:
        """Attention, the recommended explanation, importance measures, other explanations, the
        furthest attention, floors."""
        evidence = self.evidence
        there = [str(name) for name in evidence.maps["explanation"].unique()]
        there = [name for name in there if name not in evidence.facts.skipped]
        first = (self.attention, evidence.best, *evidence.settings.importance)
        ordered = dict.fromkeys([*(name for name in first if name in there), *there])
        found = [self._map(name) for name in ordered]
        if self.far:
            title = FURTHEST_OF_ALL if self.exact else FURTHEST_FOUND
            key = self.furthest.key
            found.append(Map(FURTHEST_KEY, title, FURTHEST, key, not self.exact, weights=True))
        return sorted(found, key=lambda each: each.kind == FLOOR)

    def _map(self, name: str) -> Map:
        floor = FLOOR if name in self.evidence.settings.floors else EXPLANATION
        kind = ATTENTION if name == self.attention else floor
        return Map(name, title_of(name), kind, weights=name.partition(":")[0] in WEIGHTS)

    @property
    def attention(self) -> str:
        """The map that is attention: the whole site's, else the one on trial."""
        names = set(self.evidence.maps["explanation"])
        return WHOLE if WHOLE in names else self.evidence.on_trial

    @cached_property
    def measured(self) -> list[tuple[Sorting, pd.Series]]:
        """Those that exist, each by text."""
        found = _measures(self.evidence, self.furthest)
        return [(sorting, values) for sorting, values in found if len(values)]

    @cached_property
    def far(self) -> set[str]:
        """How the furthest attention was found: exactly, or by a search."""
        shown = self.evidence.shown
        return set(map(str, shown.loc[shown["kind"] == "furthest", "name"]))

    @property
    def exact(self) -> bool:
        return "exact" in self.far

    @property
    def furthest(self) -> Sorting:
        return FURTHEST_AWAY if self.exact else AUDIT_FOUND

    @cached_property
    def logits(self) -> int:
        shown = self.evidence.shown
        return int(shown.loc[shown["kind"] == "logit", "name"].nunique())

    def documents(self, names: Sequence[str]) -> dict[str, Document]:
        return documents_of(self.evidence.documents, names)

    def readings(self, names: Sequence[str]) -> dict[str, Reading]:
        maps = by_text(self.evidence.maps.assign(kind="map"), "explanation", names)
        shown = by_text(self.evidence.shown, "name", names)
        sizes = {name: len(each.spans) for name, each in self.documents(names).items()}
        return {
            name: self._reading(name, maps.get(name, {}), shown.get(name, {}), sizes[name])
            for name in names
        }

    def _reading(
        self, name: str, maps: Mapping[Any, Any], shown: Mapping[Any, Any], size: int
    ) -> Reading:
        known, logits, reach = self.known[name], None, None
        scores = {key: padded(values, size) for (_, key), values in maps.items()}
        kept = {(kind, key): padded(v, size) for (kind, key), v in shown.items() if kind in WORDS}
        if WHOLE in scores:
            scores[WHOLE] = kept.get(("weights", WHOLE), scores[WHOLE])  # with all its digits
            logits = _stacked([kept.get(("logit", str(c))) for c in range(self.logits)])
            reach = None if logits is None else reach_of(logits, known.predicted)
        for (kind, _), values in kept.items():
            if kind == "furthest":
                scores[FURTHEST_KEY] = values
        curves, operator = curves_of(shown)
        return Reading(
            known.predicted,
            known.confidence,
            scores,
            logits,
            _numbers(self, name),
            reach,
            curves,
            operator,
        )


def _stacked(columns: Sequence[Numbers | None]) -> Numbers | None:
    """`[words, logits]`, where a text has all of them."""
    known = [column for column in columns if column is not None]
    return np.stack(known, axis=1) if known and len(known) == len(columns) else None


AUDIT_FOUND = searched("audit")
AUDIT_SPREAD = searched_as_spread("audit")
EVEN = Sorting("even", "output moved by even attention")


def _measures(evidence: AuditEvidence, furthest: Sorting) -> Iterator[tuple[Sorting, pd.Series]]:
    trial = evidence.on_trial
    for name in evidence.settings.importance:
        values = evidence.values(f"tau:{name}", trial)
        yield disagreement(name, title_of(name)), 1.0 - values
    yield furthest, evidence.values("jsd_same_output", trial)
    yield AUDIT_SPREAD, evidence.values("jsd_entropy_matched", trial)
    yield SHUFFLED, evidence.values("tvd_permuted", trial)
    yield EVEN, evidence.values("tvd", "", "uniform")
    for name in dict.fromkeys((trial, evidence.best)):
        yield from _erased(evidence, name)
    yield from _flips(evidence)
    yield MARKED, evidence.values("auprc", trial)


def _erased(evidence: AuditEvidence, name: str) -> Iterator[tuple[Sorting, pd.Series]]:
    """What is lost with the top words of a map, and what is kept by them alone."""
    for measure, up in (("comprehensiveness", False), ("sufficiency", True)):
        for operator in evidence.fair_operators(measure, name)[:1]:
            title = f"{measure} of {title_of(name)} ({operator})"
            yield Sorting(f"{measure}_{name}", title, up), evidence.values(measure, name, operator)


def _flips(evidence: AuditEvidence) -> Iterator[tuple[Sorting, pd.Series]]:
    """How soon the decision flips, words going as they do in the curves that were recorded."""
    trial, shown = evidence.on_trial, evidence.shown
    recorded = [str(name) for name in shown.loc[shown["kind"] == "removed", "name"].unique()]
    operators = evidence.operators("flip_share", trial)
    for operator in [each for each in (*recorded, *operators) if each in operators][:1]:
        title = f"share of words gone when the decision flips, {title_of(trial)} ({operator})"
        sorting = Sorting(f"flip_share_{trial}", title, False)
        yield sorting, evidence.values("flip_share", trial, operator)


def documents_of(table: pd.DataFrame, names: Sequence[str]) -> dict[str, Document]:
    chosen = table[table["example"].isin(list(names))]
    lines = ({str(key): value for key, value in line.items()} for line in chosen.to_dict("records"))
    return {str(line["example"]): _document(line) for line in lines}


def _document(line: Mapping[str, Any]) -> Document:
    words = [str(word) for word in listed(line["words"])]
    starts, ends = (listed(line[name]) for name in ("starts", "ends"))
    text, other = (str(line[n]) if isinstance(line[n], str) else "" for n in ("text", "text_b"))
    if said := asked(line):
        other = " ".join(filter(None, [other, f"the answer {said}"]))
    first = len(words)  # of the first text
    if len(starts) == len(words):
        first = int(line["words_a"])
    else:  # an audit of an earlier version does not say where its words stand: they are the text
        text = " ".join(words)
        ends = [end - 1 for end in accumulate(len(word) + 1 for word in words)]
        starts = [end - len(word) for word, end in zip(words, ends, strict=True)]
    behind = Document(text, other, ()).behind
    spans = [(int(start), int(end)) for start, end in zip(starts, ends, strict=True)]
    moved = [(start + behind, end + behind) for start, end in spans[first:]]
    label = -1 if pd.isna(line["label"]) else int(line["label"])
    marks = [bool(mark) for mark in listed(line["rationale"])][: len(words)]
    marked = (*marks, *(False,) * (len(words) - len(marks))) if marks else None
    about = tuple(int(number) for number in listed(line.get("about")))
    return Document(text, other, (*spans[:first], *moved), label, marked, about)


def by_text(
    table: pd.DataFrame, column: str, names: Sequence[str]
) -> dict[str, dict[tuple[str, str], Any]]:
    """By text, then by kind and name."""
    chosen = table[table["example"].isin(list(names))]
    found: dict[str, dict[tuple[str, str], Any]] = {}
    columns = (chosen[each] for each in ("example", "kind", column, "scores"))
    for example, kind, name, scores in zip(*columns, strict=True):
        found.setdefault(str(example), {})[str(kind), str(name)] = scores
    return found


def curves_of(
    shown: Mapping[tuple[str, str], Any],
) -> tuple[dict[str, list[tuple[float, float]]], str]:
    """Points of each explanation's curve, and the operator that took words away."""
    removed = [(name, shares) for (kind, name), shares in shown.items() if kind == "removed"]
    if not removed:
        return {}, ""
    operator, shares = removed[0]
    curves = {
        name: [(float(x), float(y)) for x, y in zip(shares, values, strict=True)]
        for (kind, name), values in shown.items()
        if kind == "curve"
    }
    return curves, operator


SEVERAL = "Of several heads or queries the first is shown."
NO_MAPS = (
    "The experiments of this study kept no scores of single words for this model: add the "
    "experiment correlation to have them."
)


def study_cells(evidence: Evidence) -> list[Cell]:
    """In the order of the study. Nothing is trained or measured again."""
    cells = evidence.cells
    whose = cells["model_run"].where(cells["model_run"].astype(bool), cells["label"])
    texts: dict[str, StudyTexts] = {}
    found = []
    for _, part in cells.groupby([cells["corpus"], whose, cells["seed"]], sort=False):
        first, once = part.iloc[0], part.drop_duplicates("probe")
        corpus = str(first["corpus_run"])
        if corpus not in texts:
            texts[corpus] = StudyTexts(evidence, corpus)
        opened = (evidence.store.open(str(run)) for run in once["run"])
        runs = dict(zip(once["probe"].map(str), opened, strict=True))
        spec = evidence.model_spec(str(first["model_run"]))
        model = StudyModel(runs, texts[corpus], spec is not None and spec.blind)
        if model.names:
            cell = _cell(
                model,
                corpus=str(first["corpus"]),
                classes=texts[corpus].classes,
                model=str(first["model" if _alone(cells, part) else "label"]),
                seed=str(first["seed"]),
                source="study",
                note=model.note,
            )
            found.append(cell)
    return found


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
        """Texts with maps; where there are none of the texts' tokens (experiments on pairs and on
        generation keep none, and others keep maps of sentences), every text that something was
        predicted for. None where the texts were not carried along."""
        found = self.scanned.lengths if self.mapped else self.texts.lengths(self.known, self.blind)
        return tuple(sorted(name for name in found if name in self.known))

    @cached_property
    def mapped(self) -> bool:
        """Whether there are maps, of the texts' own tokens."""
        lengths = self.scanned.lengths
        return bool(lengths) and self.texts.lengths(lengths, self.blind) == lengths

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

    @property
    def maps(self) -> list[Map]:
        return shown_maps(self.scanned.maps, self.exact) if self.mapped else []

    @property
    def logits(self) -> int:
        logits = [name for name in self.scanned.maps if name.startswith(LOGIT)]
        return len(logits) if self.mapped else 0

    @cached_property
    def known(self) -> dict[str, Known]:
        """Of each text, from whichever probe has seen it."""
        probes = dict.fromkeys((*PROBES, *(each.probe for each in MEASURED)))
        tables = [self._rows(probe) for probe in probes]
        found = [known_texts(each.reindex(columns=["example", *COLUMNS])) for each in tables]
        return {name: known for each in reversed(found) for name, known in each.items()}

    @cached_property
    def measured(self) -> list[tuple[Sorting, pd.Series]]:
        """Those that exist, each by text."""
        rows = {
            probe: _first(self._rows(probe), "measure")
            for probe in dict.fromkeys(each.probe for each in MEASURED)
        }
        found = [(each.sorting, each.values(rows[each.probe])) for each in MEASURED]
        return [(sorting, values) for sorting, values in found if len(values)]

    @cached_property
    def reached(self) -> pd.DataFrame:
        """The lowest and highest probability of class 1 that some attention gives, by text,
        where a probe says so."""
        rows = _first(self._rows("reachability"), "measure")
        table = rows.pivot(index="example", columns="measure", values="value")
        return table.reindex(columns=REACHED).dropna()

    @property
    def note(self) -> str:
        if not self.mapped:
            return NO_MAPS
        return SEVERAL if self.scanned.several else ""

    @property
    def exact(self) -> bool:
        return any(sorting == FURTHEST_AWAY for sorting, _ in self.measured)

    def documents(self, names: Sequence[str]) -> dict[str, Document]:
        labels = {name: self.known[name].label for name in names}
        return self.texts.documents(labels, self.blind)

    def readings(self, names: Sequence[str]) -> dict[str, Reading]:
        scores = self._scores(names) if self.mapped else {name: {} for name in names}
        return {name: self._reading(name, scores[name]) for name in names}

    def _reading(self, name: str, scores: Mapping[str, Numbers]) -> Reading:
        known, predicted = self.known[name], self.known[name].predicted
        logits = _stacked([scores.get(f"{LOGIT}{c}") for c in range(self.logits)])
        reach = reach_of(logits, predicted) if logits is not None else self._reach(name, predicted)
        maps = {MAPS[key].key: values for key, values in scores.items() if key in MAPS}
        return Reading(predicted, known.confidence, maps, logits, _numbers(self, name), reach)

    def _reach(self, name: str, predicted: int) -> tuple[float, float] | None:
        if name not in self.reached.index:
            return None
        low, high = map(float, self.reached.loc[name])
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


def _first(table: pd.DataFrame, by: str) -> pd.DataFrame:
    """One line for each text and name: of the first site, head and query."""
    return table.drop_duplicates(["example", by])


PROBES = ("token_logits", "correlation", "adversarial")
"""Whose maps are shown; the first has attention with all its digits."""
LOGIT = "logit:"
STUDY_FOUND, STUDY_SPREAD = searched("study"), searched_as_spread("study")


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
        STUDY_SPREAD.key,
        True,
    ),
    "adversary_search": _far(
        "adversary_search", "furthest found by search (a lower bound)", STUDY_FOUND.key, True
    ),
}
"""By the probes' names. What an audit calls so, but is something else, has a key of its own."""


def shown_maps(names: Iterable[str], exact: bool) -> list[Map]:
    """`exact`: the adversary is the furthest there is, and not only the furthest found. What was
    found is then another map; else it is the adversary itself, and stands there once."""
    there = set(names) - (set() if exact else {"adversary_search"})
    found = _far("adversary", FURTHEST_FOUND, STUDY_FOUND.key, True)
    maps = MAPS if exact else {**MAPS, "adversary": found}
    return [maps[name] for name in MAPS if name in there]


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
    Measured("adversarial", "jsd_search", STUDY_FOUND),
    Measured("adversarial", "jsd_entropy_matched", STUDY_SPREAD),
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
        self.run: Run | None = None
        if corpus_run and evidence.store.has(corpus_run):
            self.run = evidence.store.open(corpus_run)
        self.report = evidence.corpus_report(corpus_run)

    @cached_property
    def classes(self) -> list[str]:
        """Names of the classes; of a corpus for generation the vocabulary."""
        if self.report.writes and self.run is not None:
            return [str(word) for word in self.run.table("vocabulary")["word"]]
        return list(self.report.labels)

    def lengths(self, names: Iterable[str], blind: bool) -> dict[str, int]:
        """Tokens of each text that a model sees, of those texts that are there."""
        lines = {name: self._lines[name] for name in names if name in self._lines}
        return {name: len(_seen(line, blind)) for name, line in lines.items()}

    def documents(self, labels: Mapping[str, int], blind: bool) -> dict[str, Document]:
        """`labels` are those of the texts that are wanted."""
        return {name: self._document(name, label, blind) for name, label in labels.items()}

    def _document(self, name: str, label: int, blind: bool) -> Document:
        line = self._lines[name]
        marks, seen = listed(line["rationale_a"]), _seen(line, blind)
        marked = tuple(bool(marks[i]) for i in seen) if len(marks) > max(seen, default=-1) else None
        spans = tuple((int(line["starts_a"][i]), int(line["ends_a"][i])) for i in seen)
        return Document(str(line["text_a"]), self._other(line), spans, label, marked or None)

    def _other(self, line: Mapping[str, Any]) -> str:
        """The other text of a pair; of a target, what the model was given of it."""
        text = line["text_b"]
        if not isinstance(text, str):
            return ""
        if not self.report.writes:
            return text
        ends = listed(line["ends_b"])
        given = len(ends) // QUARTER
        return text[: int(ends[given - 1])] if given else ""

    @cached_property
    def _lines(self) -> dict[str, dict[Any, Any]]:
        if self.run is None:
            return {}
        table = self.run.table("examples").reindex(columns=TEXTS_COLUMNS)
        return {str(line["example"]): line for line in table.to_dict("records")}


def _seen(line: Mapping[str, Any], blind: bool) -> list[int]:
    """The tokens a model sees: a blind one those that are not impermissible."""
    hidden = listed(line["impermissible_a"]) if blind else []
    count = len(line["starts_a"])
    return [i for i in range(count) if i >= len(hidden) or not hidden[i]]
