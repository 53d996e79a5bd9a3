"""Attention against relations that are known: syntactic arcs and coreference (Clark et al. 2019).

Of each head it is asked how often the most attended word is the right one. The best head of a
relation is chosen on one half of the texts and reported on the other, beside the best fixed
position, chosen on the same half: many heads attend to the next word, and so do many relations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from heedful.auditing.heads import HeadView, look
from heedful.data import Case, Related, generated_relations, load_relations
from heedful.errors import HeedfulError
from heedful.keywords import takes
from heedful.store import FileKind, begins, check_file, refusals, to_csv, write_file
from heedful.targets import Loading, Reading, open_texts
from heedful.verdict import half_of

GENERATED, EMBEDDED = 200, "generated sentences"
LEAST = 20
"""Cases of a relation that each half needs."""
FAR = 10
"""How many words away a fixed position is looked for."""
LEVEL = 0.95
COLUMNS = ("relation", "direction", "layer", "head", "cases", "correct", "accuracy", "half")
RELATION_ROWS = FileKind("rows of `heedful relations`", begins(",".join(COLUMNS)))
POSITION = -1
"""As a layer: no head, but a fixed position, which then stands for the head."""


@dataclass(frozen=True, repr=False)
class Relations:
    """`table` has a row for each relation: the head that was best on one half, how often it is
    right on the other, with Wilson's bounds, and the same of the best fixed position. `rows` are
    all heads and positions on both halves; layer −1 are positions."""

    model: str
    data: str
    texts: int
    table: pd.DataFrame
    rows: pd.DataFrame
    notes: tuple[str, ...] = ()

    def to_pandas(self) -> pd.DataFrame:
        """The table."""
        return self.table.copy()

    def save(self, path: str | Path) -> Path:
        """Writes the rows: every head and position, by half."""
        out = Path(path)
        check_file(out, RELATION_ROWS)
        with refusals(f"write the rows to {out}", "make room or give another place"):
            write_file(out, to_csv(self.rows))
        return out

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "model": self.model,
            "data": self.data,
            "texts": self.texts,
            "relations": self.table.to_dict("records"),
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        return f"<Relations of {self.model}: {len(self.table)} on {self.texts} texts>"


@takes(Loading, Reading, only=("device", "dtype", "max_length", "store"))
def relations(
    model: Any, data: str | Path | None = None, least: int = LEAST, **options: Any
) -> Relations:
    """How often each head's most attended word is the one a known relation leads to.

    `model` is what `head_view` takes. `data` is a CoNLL-U file (.conllu), a CoNLL-2012 file
    (.conll, .gold_conll), or JSON lines with `words` and `clusters` (.jsonl); left out, generated
    sentences. A word is attended as much as
    its tokens together and attends as they do on average; the word itself and tokens of no word
    are left out. Relations with fewer than `least` cases on a half are not reported."""
    if least < 1:
        raise HeedfulError(f"least is {least}: give 1 or more.")
    known = generated_relations(GENERATED) if data is None else load_relations(Path(data))
    known = [each for each in known if each.cases]
    spans = {each.text: each.spans for each in known}
    counts: dict[tuple[str, str, int], _Tally] = {}
    heads: list[tuple[int, int]] = []
    lost, name = 0, ""
    with open_texts(model, [each.text for each in known], spans.__getitem__, **options) as texts:
        for text, read in zip(known, texts, strict=True):
            view = look(read).by_words()
            found, name = _heads(view), view.model
            heads = heads or list(found)
            side = half_of(text.id)
            for case, hits in _cases(view, text, list(found.values())):
                if hits is None:
                    lost += 1
                    continue
                key = (case.relation, case.direction, side)
                counts.setdefault(key, _Tally()).add(hits, _positions(case))
    rows = _rows(counts, heads)
    table, few = _table(rows, least)
    notes = [f"{lost} cases were cut off with the ends of texts."] if lost else []
    notes += [f"too few cases on a half ({least} are needed): {', '.join(few)}."] if few else []
    source = EMBEDDED if data is None else Path(data).name
    return Relations(name, source, len(known), table, rows, tuple(notes))


@dataclass
class _Tally:
    """How many cases there were, and how often each head and each position was right."""

    cases: int = 0
    heads: NDArray[np.int64] | int = 0
    positions: NDArray[np.int64] | int = 0

    def add(self, heads: NDArray[np.bool_], positions: NDArray[np.bool_]) -> None:
        self.cases += 1
        self.heads = self.heads + heads.astype(np.int64)
        self.positions = self.positions + positions.astype(np.int64)


def _heads(view: HeadView) -> dict[tuple[int, int], NDArray[np.float32]]:
    """Weights from words to words, by layer and head, of all self-attention over the text."""
    layers = [site for site in view.sites if site.keys == "a"]
    found = {
        (layer, head): weights
        for layer, site in enumerate(layers)
        for head, weights in enumerate(view.weights[site.name])
        if site.queries == "a"
    }
    if not found:
        raise HeedfulError(
            f"in {view.model} no word attends to words: relations need self-attention."
        )
    return found


def _cases(
    view: HeadView, text: Related, weights: Sequence[NDArray[np.float32]]
) -> Iterator[tuple[Case, NDArray[np.bool_] | None]]:
    """Which heads are right in each case; None where the words were cut off."""
    units = {word: unit for unit, word in enumerate(view.sides["a"].words) if word >= 0}
    stacked = np.stack(weights)
    for case in text.cases:
        among = case.choices or tuple(word for word in units if word != case.query)
        choices = [word for word in among if word in units]
        gold = np.isin(choices, case.gold)
        if case.query not in units or not gold.any():
            yield case, None
            continue
        rows = stacked[:, units[case.query], [units[word] for word in choices]]
        yield case, gold[rows.argmax(-1)] & (rows.max(-1) > 0)


OFFSETS = (*range(-FAR, 0), *range(1, FAR + 1))


def _positions(case: Case) -> NDArray[np.bool_]:
    """Where a fixed position is right: so many words away, or that choice by nearness."""
    if case.choices:
        near = [case.choices[n] in case.gold for n in range(min(FAR, len(case.choices)))]
        right = {-n: hit for n, hit in enumerate(near, 1)}
    else:
        right = {offset: case.query + offset in case.gold for offset in OFFSETS}
    return np.array([right.get(offset, False) for offset in OFFSETS])


def _rows(
    counts: dict[tuple[str, str, int], _Tally], heads: Sequence[tuple[int, int]]
) -> pd.DataFrame:
    places = [*heads, *((POSITION, offset) for offset in OFFSETS)]
    lines = []
    for (relation, direction, side), tally in sorted(counts.items()):
        correct = np.concatenate([np.atleast_1d(tally.heads), np.atleast_1d(tally.positions)])
        for (layer, head), right in zip(places, correct.tolist(), strict=True):
            share = right / tally.cases
            half = ("choosing", "reporting")[side]
            lines.append((relation, direction, layer, head, tally.cases, right, share, half))
    return pd.DataFrame(lines, columns=list(COLUMNS))


def _table(rows: pd.DataFrame, least: int) -> tuple[pd.DataFrame, list[str]]:
    """The most frequent relation first; and the relations that have too few cases."""
    lines, few = [], []
    for relation, part in rows.groupby("relation", sort=True):
        line = _best(part, least)
        if line is None:
            few.append(str(relation))
        else:
            lines.append({"relation": str(relation), **line})
    columns = ["relation", "direction", "layer", "head", "cases", "accuracy", "low", "high"]
    columns += ["position", "position_accuracy", "position_low", "position_high"]
    table = pd.DataFrame(lines, columns=[*columns, "chosen_on"])
    order = table.sort_values(["cases", "relation"], ascending=[False, True])
    return order.reset_index(drop=True), few


def _best(part: pd.DataFrame, least: int) -> dict[str, Any] | None:
    """Of both directions the one whose best head is best on the half that chooses."""
    enough = part.groupby("direction")["half"].nunique() == 2
    enough &= part.groupby("direction")["cases"].min() >= least
    part = part[part["direction"].isin(list(enough.index[enough]))]
    if part.empty:
        return None
    choosing = part[part["half"] == "choosing"]
    head = _first(choosing[choosing["layer"] != POSITION])
    same = part[part["direction"] == head["direction"]]
    position = _first(same[(same["layer"] == POSITION) & (same["half"] == "choosing")])
    found = {"direction": head["direction"], "layer": int(head["layer"]), "head": int(head["head"])}
    for place, prefix in ((head, ""), (position, "position_")):
        there = (same["layer"] == place["layer"]) & (same["head"] == place["head"])
        told = same[there & (same["half"] == "reporting")].iloc[0]
        right, cases = int(told["correct"]), int(told["cases"])
        bounds = stats.binomtest(right, cases).proportion_ci(LEVEL, "wilson")
        found |= {
            "cases": cases,
            f"{prefix}accuracy": right / cases,
            f"{prefix}low": float(bounds.low),
            f"{prefix}high": float(bounds.high),
        }
    return found | {"position": int(position["head"]), "chosen_on": float(head["accuracy"])}


def _first(part: pd.DataFrame) -> pd.Series:
    """The best; of equal ones the first."""
    return part.sort_values("accuracy", ascending=False, kind="stable").iloc[0]
