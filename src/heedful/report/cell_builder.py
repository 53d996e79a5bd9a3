"""The cells of a page: of an audit, from the tables it left; of a study, one for each corpus, model
and seed that has maps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from heedful.report.audit_evidence import AuditEvidence
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
    means_of,
    padded,
    reach_of,
    searched,
    searched_as_spread,
    title_of,
)
from heedful.report.formats import clipped, of_texts

if TYPE_CHECKING:
    from heedful.report.evidence import Evidence
    from heedful.store import Run


def _cell(read: AuditModel | StudyModel, **about: Any) -> Cell:
    """What a page asks of any model, and `about` it what only an audit or a study knows."""
    means = {sorting.key: float(values.mean()) for sorting, values in read.measured}
    return Cell(
        names=read.names,
        maps=read.maps,
        measures=[*(sorting for sorting, _ in read.measured), *SORTINGS],
        means=means | means_of(read.known),
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
    return [_audit_cell(model, number)] if model.names else []


def _audit_cell(model: AuditModel, number: int) -> Cell:
    facts = model.evidence.facts
    return _cell(
        model,
        corpus=SPLIT.sub("", clipped(facts.data)),
        classes=facts.classes,
        model=clipped(facts.model),
        seed="",
        source="audit",
        whole=frozenset(map(str, model.evidence.shown["example"])),
        run=audit_run(model.evidence),
        audit=number,
    )


def audit_run(evidence: AuditEvidence) -> str:
    """`audit of 12 texts, 3 seeds`."""
    seeds = evidence.facts.checkpoints
    more = f", {seeds} seeds" if seeds > 1 else ""
    return f"audit of {of_texts(len(evidence.examples))}{more}"


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
        return [
            *(m for m in found if m.kind != FLOOR),
            *([self._furthest] if self.far else []),
            *(m for m in found if m.kind == FLOOR),
        ]

    def _map(self, name: str) -> Map:
        weights = name.partition(":")[0] in WEIGHTS
        return Map(name, title_of(name), self._kind(name), weights=weights)

    @property
    def _furthest(self) -> Map:
        title = FURTHEST_OF_ALL if self.exact else FURTHEST_FOUND
        measure = FURTHEST_AWAY if self.exact else AUDIT_FOUND
        return Map(FURTHEST_KEY, title, FURTHEST, measure.key, not self.exact, weights=True)

    @property
    def attention(self) -> str:
        """The map that is attention: the whole site's, else the one on trial."""
        names = set(self.evidence.maps["explanation"])
        return WHOLE if WHOLE in names else self.evidence.on_trial

    @cached_property
    def measured(self) -> list[tuple[Sorting, pd.Series]]:
        return measured(self.evidence, self.exact)

    @cached_property
    def far(self) -> set[str]:
        """How the furthest attention was found: exactly, or by a search."""
        shown = self.evidence.shown
        return set(map(str, shown.loc[shown["kind"] == "furthest", "name"]))

    @property
    def exact(self) -> bool:
        return "exact" in self.far

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
        known = self.known[name]
        scores = {key: padded(values, size) for (_, key), values in maps.items()}
        kept = {(kind, key): padded(v, size) for (kind, key), v in shown.items() if kind in WORDS}
        logits = word_logits(kept, self.logits) if WHOLE in scores else None
        for (kind, _), values in kept.items():
            if kind == "furthest":
                scores[FURTHEST_KEY] = values
            if kind == "weights" and WHOLE in scores:  # the same with all its digits
                scores[WHOLE] = values
        reach = None if logits is None else reach_of(logits, known.predicted)
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

    def _kind(self, name: str) -> str:
        if name == self.attention:
            return ATTENTION
        return FLOOR if name in self.evidence.settings.floors else EXPLANATION


AUDIT_FOUND = searched("audit")
AUDIT_SPREAD = searched_as_spread("audit")
EVEN = Sorting("even", "output moved by even attention")


def measured(evidence: AuditEvidence, exact: bool) -> list[tuple[Sorting, pd.Series]]:
    """Those that exist, each by text."""
    return [(sorting, values) for sorting, values in _measures(evidence, exact) if len(values)]


def _measures(evidence: AuditEvidence, exact: bool) -> Iterator[tuple[Sorting, pd.Series]]:
    trial = evidence.on_trial
    yield from _disagreements(evidence)
    yield FURTHEST_AWAY if exact else AUDIT_FOUND, evidence.values("jsd_same_output", trial)
    yield AUDIT_SPREAD, evidence.values("jsd_entropy_matched", trial)
    yield SHUFFLED, evidence.values("tvd_permuted", trial)
    yield EVEN, evidence.values("tvd", "", "uniform")
    for name in dict.fromkeys((trial, evidence.best)):
        yield from _erased(evidence, name)
    yield from _flips(evidence)
    yield MARKED, evidence.values("auprc", trial)


def _disagreements(evidence: AuditEvidence) -> Iterator[tuple[Sorting, pd.Series]]:
    """1 − τ of attention and each importance measure, the first first."""
    for name in evidence.settings.importance:
        values = evidence.values(f"tau:{name}", evidence.on_trial)
        yield disagreement(name, title_of(name)), 1.0 - values


def _erased(evidence: AuditEvidence, name: str) -> Iterator[tuple[Sorting, pd.Series]]:
    """What is lost with the top words of a map, and what is kept by them alone."""
    for measure, up in (("comprehensiveness", False), ("sufficiency", True)):
        own = evidence.settings.made_with(name)
        named = evidence.named(measure)
        places = [operator for each, operator in named if each == name and operator not in own]
        for operator in places[:1]:
            title = f"{measure} of {title_of(name)} ({operator})"
            yield Sorting(f"{measure}_{name}", title, up), evidence.values(measure, name, operator)


def _flips(evidence: AuditEvidence) -> Iterator[tuple[Sorting, pd.Series]]:
    """How soon the decision flips, words going as they do in the curves that were recorded."""
    trial, shown = evidence.on_trial, evidence.shown
    recorded = [str(name) for name in shown.loc[shown["kind"] == "removed", "name"].unique()]
    places = [operator for each, operator in evidence.named("flip_share") if each == trial]
    for operator in [each for each in (*recorded, *places) if each in places][:1]:
        title = f"share of words gone when the decision flips, {title_of(trial)} ({operator})"
        key = f"flip_share_{trial}"
        yield Sorting(key, title, False), evidence.values("flip_share", trial, operator)


def documents_of(table: pd.DataFrame, names: Sequence[str]) -> dict[str, Document]:
    chosen = table[table["example"].isin(list(names))]
    lines = ({str(key): value for key, value in line.items()} for line in chosen.to_dict("records"))
    return {str(line["example"]): _document(line) for line in lines}


def _document(line: Mapping[str, Any]) -> Document:
    words = [str(word) for word in listed(line["words"])]
    starts, ends = (listed(line[name]) for name in ("starts", "ends"))
    text, other = (str(line[n]) if isinstance(line[n], str) else "" for n in ("text", "text_b"))
    if len(starts) != len(words):
        return _joined(line, words, other)
    first = int(line["words_a"])
    behind = Document(text, other, ()).behind
    spans = [(int(a), int(b)) for a, b in zip(starts, ends, strict=True)]
    moved = [(a + behind, b + behind) for a, b in spans[first:]]
    return Document(text, other, (*spans[:first], *moved), _label(line), _marks(line, len(words)))


def _joined(line: Mapping[str, Any], words: list[str], other: str) -> Document:
    """An audit of an earlier version does not say where its words stand: they are the text."""
    ends = np.cumsum([len(word) + 1 for word in words]).tolist()
    spans = tuple((end - 1 - len(word), end - 1) for word, end in zip(words, ends, strict=True))
    return Document(" ".join(words), other, spans, _label(line), _marks(line, len(words)))


def _label(line: Mapping[str, Any]) -> int:
    return -1 if pd.isna(line["label"]) else int(line["label"])


def _marks(line: Mapping[str, Any], size: int) -> tuple[bool, ...] | None:
    given = [bool(mark) for mark in listed(line["rationale"])][:size]
    return (*given, *(False,) * (size - len(given))) if given else None


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


def word_logits(kept: Mapping[tuple[str, str], Numbers], count: int) -> Numbers | None:
    """`[words, logits]`, where this text has all of them."""
    keys = [("logit", str(c)) for c in range(count)]
    if not keys or not all(key in kept for key in keys):
        return None
    return np.stack([kept[key] for key in keys], axis=1)


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
            found.append(_study_cell(model, part, _alone(cells, part)))
    return found


def _model(evidence: Evidence, part: pd.DataFrame, texts: StudyTexts) -> StudyModel:
    once = part.drop_duplicates("probe")
    runs = {
        str(probe): evidence.store.open(str(run))
        for probe, run in zip(once["probe"], once["run"], strict=True)
    }
    spec = evidence.model_spec(str(part["model_run"].iloc[0]))
    return StudyModel(runs, texts, spec is not None and spec.blind)


def _study_cell(model: StudyModel, part: pd.DataFrame, alone: bool) -> Cell:
    return _cell(
        model,
        corpus=str(part["corpus"].iloc[0]),
        classes=model.texts.classes,
        model=str(part["model" if alone else "label"].iloc[0]),
        seed=str(part["seed"].iloc[0]),
        source="study",
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
        return tuple(sorted(name for name in lengths if name in self.known))

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
        return shown_maps(self.scanned.maps, self.exact)

    @property
    def logits(self) -> int:
        return self.scanned.logits

    @cached_property
    def known(self) -> dict[str, Known]:
        """Of each text, from whichever probe has seen it."""
        tables = [self._rows(probe) for probe in PROBES]
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
    def reached(self) -> list[dict[str, float]]:
        """The lowest and highest probability of class 1 that some attention gives, by text,
        where a probe says so."""
        rows = _first(self._rows("reachability"), "measure")
        parts = [rows[rows["measure"] == name] for name in REACHED]
        return [dict(zip(each["example"], each["value"], strict=True)) for each in parts]

    @property
    def exact(self) -> bool:
        return any(sorting == FURTHEST_AWAY for sorting, _ in self.measured)

    def documents(self, names: Sequence[str]) -> dict[str, Document]:
        labels = {name: self.known[name].label for name in names}
        return self.texts.documents(labels, self.blind)

    def readings(self, names: Sequence[str]) -> dict[str, Reading]:
        scores = self._scores(names)
        return {name: self._reading(name, scores[name]) for name in names}

    def _reading(self, name: str, scores: Mapping[str, Numbers]) -> Reading:
        known, logits = self.known[name], _logits(scores)
        predicted = known.predicted
        reach = reach_of(logits, predicted) if logits is not None else self._reach(name, predicted)
        maps = {MAPS[key].key: values for key, values in scores.items() if key in MAPS}
        return Reading(predicted, known.confidence, maps, logits, _numbers(self, name), reach)

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


STUDY_FOUND, STUDY_SPREAD = searched("study"), searched_as_spread("study")


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
        self.evidence, self.key = evidence, corpus_run

    @property
    def there(self) -> bool:
        return bool(self.key) and self.evidence.store.has(self.key)

    @cached_property
    def classes(self) -> list[str]:
        """Names of the classes; of a corpus for generation the vocabulary."""
        if self.writes and self.there:
            return [str(word) for word in self._run.table("vocabulary")["word"]]
        return list(self.evidence.corpus_report(self.key).labels)

    @cached_property
    def writes(self) -> bool:
        return self.evidence.corpus_report(self.key).writes

    def lengths(self, names: Iterable[str], blind: bool) -> dict[str, int]:
        """Tokens of each text that a model sees, of those texts that are there."""
        known = (name for name in names if name in self._place)
        return {name: len(_seen(self._line(name), blind)) for name in known}

    def documents(self, labels: Mapping[str, int], blind: bool) -> dict[str, Document]:
        """`labels` are those of the texts that are wanted."""
        return {name: self._document(name, label, blind) for name, label in labels.items()}

    def _document(self, name: str, label: int, blind: bool) -> Document:
        line = self._line(name)
        marks = listed(line["rationale_a"])
        seen = _seen(line, blind)
        marked = tuple(bool(marks[i]) for i in seen) if len(marks) > max(seen, default=-1) else None
        return Document(
            str(line["text_a"]), self._other(line), _spans(line, blind), label, marked or None
        )

    def _other(self, line: Mapping[str, Any]) -> str:
        """The other text of a pair; of a target, what the model was given of it."""
        text = line["text_b"]
        if not isinstance(text, str):
            return ""
        if not self.writes:
            return text
        ends = listed(line["ends_b"])
        given = len(ends) // QUARTER
        return text[: int(ends[given - 1])] if given else ""

    def _line(self, name: str) -> dict[str, Any]:
        return {column: values[self._place[name]] for column, values in self._columns.items()}

    @cached_property
    def _place(self) -> dict[str, int]:
        if not self.there:
            return {}
        return {str(name): place for place, name in enumerate(self._columns["example"])}

    @cached_property
    def _columns(self) -> dict[str, list[Any]]:
        if not self.there:
            return {}
        table = self._run.table("examples").reindex(columns=TEXTS_COLUMNS)
        return {name: list(table[name]) for name in TEXTS_COLUMNS}

    @property
    def _run(self) -> Run:
        return self.evidence.store.open(self.key)


def _spans(line: Mapping[str, Any], blind: bool) -> tuple[tuple[int, int], ...]:
    starts, ends = line["starts_a"], line["ends_a"]
    return tuple((int(starts[i]), int(ends[i])) for i in _seen(line, blind))


def _seen(line: Mapping[str, Any], blind: bool) -> list[int]:
    """The tokens a model sees: a blind one those that are not impermissible."""
    hidden = listed(line["impermissible_a"]) if blind else []
    count = len(line["starts_a"])
    return [i for i in range(count) if i >= len(hidden) or not hidden[i]]
