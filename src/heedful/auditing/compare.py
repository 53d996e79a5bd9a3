"""Several audits: side by side, or of several trainings of one model as one verdict."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from heedful.auditing.explanation import not_by_own
from heedful.auditing.result import Audit
from heedful.auditing.spec import ATTENTION
from heedful.auditing.tables import COLUMNS, judge_rows, ordered
from heedful.errors import HeedfulError, unknown_name
from heedful.experiments import between_seeds
from heedful.metrics import (
    F1_OF_MEANS,
    Intervals,
    bootstrap_means,
    bootstrap_statistic,
    f1_of_means,
)
from heedful.store import Frames, Store, markdown_table
from heedful.targets import described, source_of
from heedful.verdict import Settings, escape

LOWER_IS_BETTER = frozenset(
    {"sufficiency", "eraser_sufficiency", "deletion_auc", "flip_share", "flip_censored"}
)
COMPARED = ["audit", "explanation", "measure", "operator", "mean", "low", "high", "n"]


def compare(
    audits: Mapping[str, Audit],
    measure: str = "comprehensiveness",
    operator: str | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """One row per audit and explanation, the best mean first. Texts of one cluster are
    averaged and drawn together; 95% intervals. No explanation is scored by an operator that made
    it. `Audit.load` reads an audit's folder."""
    parts = [_means(name, each, measure, operator, seed) for name, each in audits.items()]
    table = pd.concat([part for part in parts if len(part)] or parts, ignore_index=True)
    if table.empty:
        known = {str(m) for each in audits.values() for m in each.rows["measure"]}
        known |= {name for name, parts in F1_OF_MEANS.items() if known.issuperset(parts)}
        raise unknown_name("measure", measure, sorted(known))
    return table


def made_with(audits: Mapping[str, Audit], operators: Collection[str]) -> list[str]:
    """The explanations that `compare` leaves out, since one of these operators made them."""
    chosen = [Settings.from_dict(each.verdict.settings).uses for each in audits.values()]
    return sorted({n for uses in chosen for n, made in uses.items() if {*made} & {*operators}})


def _means(name: str, audit: Audit, measure: str, operator: str | None, seed: int) -> pd.DataFrame:
    rows, parts = audit.rows, F1_OF_MEANS.get(measure, (measure,))
    rows = rows[(rows["model"] == "base") & rows["measure"].isin(parts)]
    operators = sorted({str(each) for each in rows["operator"]})
    if operator is not None and rows.size and operator not in operators:
        raise unknown_name("operator", operator, operators)
    if operator is None and len(operators) > 1:
        raise HeedfulError(
            f"{measure} was measured with {', '.join(operators)}: choose one with --operator."
        )
    if operator is not None:
        rows = rows[rows["operator"] == operator]
    rows = not_by_own(rows, Settings.from_dict(audit.verdict.settings))
    if measure == "flip_share":
        rows = _never_is_all(rows, audit.rows)
    wide, *others = (_wide(rows[rows["measure"] == part]) for part in parts)
    if wide.empty:
        return pd.DataFrame(columns=COMPARED)
    values = wide.to_numpy(dtype=np.float64)
    if others:
        means, found = _f1s(values, others[0].to_numpy(dtype=np.float64), seed)
    else:
        means, found = np.nanmean(values, axis=0), bootstrap_means(values, seed)
    table = pd.DataFrame(
        {
            "audit": name,
            "explanation": [str(each) for each in wide.columns],
            "measure": measure,
            "operator": operators[0] if operator is None else operator,
            "mean": means,
            "low": found.low,
            "high": found.high,
            "n": np.isfinite(values).sum(axis=0),
        }
    )
    up = measure in LOWER_IS_BETTER
    return table.sort_values("mean", ascending=up, kind="stable").reset_index(drop=True)


def _wide(rows: pd.DataFrame) -> pd.DataFrame:
    """Clusters of texts down, explanations across."""
    return rows.pivot_table(
        index="cluster", columns="explanation", values="value", aggfunc="mean", dropna=False
    )


def _f1s(
    precision: Float[np.ndarray, "n m"], recall: Float[np.ndarray, "n m"], seed: int
) -> tuple[Float[np.ndarray, " m"], Intervals]:
    """F1 of the mean precision and the mean recall of each column, and its interval."""
    pairs = list(zip(precision.T, recall.T, strict=True))
    ends = [bootstrap_statistic(f1_of_means, pair, seed) for pair in pairs]
    low, high = (np.array([each[side] for each in ends]) for side in (0, 1))
    return np.array([f1_of_means(*pair) for pair in pairs]), Intervals(low, high)


def _never_is_all(rows: pd.DataFrame, every: pd.DataFrame) -> pd.DataFrame:
    """A decision that never flips counts as all words: censored, not dropped."""
    place = ["example", "explanation", "operator"]
    censored = every[(every["model"] == "base") & (every["measure"] == "flip_censored")]
    never = rows.merge(censored[[*place, "value"]], on=place, how="left", suffixes=("", "_never"))
    return never.assign(value=never["value"].mask(never["value_never"] == 1.0, 1.0))


def comparison_cells(table: pd.DataFrame) -> list[list[str]]:
    """Explanations down, the best first; audits across: mean [low, high]."""
    audits = list(dict.fromkeys(table["audit"]))
    cell = {
        (row.audit, row.explanation): f"{row.mean:.2f} [{row.low:.2f}, {row.high:.2f}]"
        for row in table.itertuples()
    }
    up = bool(set(table["measure"]) & LOWER_IS_BETTER)
    order = table.groupby("explanation")["mean"].mean().sort_values(ascending=up).index
    rows = [[str(name), *(cell.get((each, name), "–") for each in audits)] for name in order]
    return [["explanation", *audits], *rows]


def to_markdown(table: pd.DataFrame) -> str:
    """The same as Markdown."""
    names, *rows = comparison_cells(table)
    escaped = [[escape(name), *numbers] for name, *numbers in rows]
    return markdown_table(list(map(escape, names)), escaped)


# Several trainings of one model: one verdict, with seeds and texts as crossed effects.


def check_trainings(models: Sequence[Any], store: Store | None) -> None:
    """Refuse what is not one model trained with several seeds, before any of them is measured.
    Of models in memory that is known only when they are measured."""
    first, *others = models
    if not all(isinstance(each, (str, Path)) for each in models):
        return
    seen = {source_of(first, store): first}
    known = described(first, store) if others else {}
    for each in others:
        same = seen.setdefault(source_of(each, store), each)
        if same is not each:
            raise HeedfulError(f"{each} is given twice: give each training (--seed-model) once.")
        for what, value in described(each, store).items():
            if value != known.get(what):
                raise HeedfulError(
                    f"{each} is not {first} trained with another seed (its {what} is {value}, not "
                    f"{known.get(what, known['kind'])}): leave this --seed-model out."
                )


def over_seeds(audits: Sequence[Audit], settings: Settings = Settings()) -> Audit:
    """The first audit's maps and texts, all audits' measurements, and how alike their
    attention is. Maps are compared on words, so tokenizers may differ."""
    first, *others = audits
    texts = set(first.rows["example"])
    for each in others:
        if set(each.rows["example"]) != texts:
            raise HeedfulError("the audits are of different texts: audit all on the same data.")
        if any(each.facts[name] != first.facts[name] for name in ("model", "classes")):
            raise HeedfulError(
                f"{each.facts['model']} is not {first.facts['model']} trained with another seed: "
                f"leave it out."
            )
    renamed = [
        each.rows.assign(model=each.rows["model"].replace({"base": f"seed={number}"}))
        for number, each in enumerate(others, 1)
    ]
    kept = [rows[rows["model"] != "randomised"] for rows in renamed]
    alike = _alike(first, others)
    rows = ordered(pd.concat([first.rows, *kept, alike], ignore_index=True))
    known = Settings.from_dict(first.verdict.settings)
    chosen = replace(
        settings,
        importance=settings.importance or _importance(first.rows),
        uses={**known.uses, **settings.uses},
        signed=settings.signed or known.signed,
    )
    facts = {**first.facts, "checkpoints": len(audits)}
    tables = {**first.tables, "rows": Frames.of(rows)}
    verdict = judge_rows(tables["rows"], first.costs, facts, chosen)
    return Audit(verdict, tables, facts)


def _importance(rows: pd.DataFrame) -> tuple[str, ...]:
    measures = sorted({str(name) for name in rows["measure"]})
    return tuple(name.removeprefix("tau:") for name in measures if name.startswith("tau:"))


def _alike(first: Audit, others: Sequence[Audit]) -> pd.DataFrame:
    """How alike the models' attention is, by example."""
    facts = first.rows[first.rows["model"] == "base"].drop_duplicates("example")
    maps = [_attention(audit).loc[facts["example"]] for audit in (first, *others)]
    shared = np.array([min(map(len, scores)) for scores in zip(*maps, strict=True)])
    scores = [_padded(column, int(shared.max(initial=0))) for column in maps]
    seen = torch.arange(scores[0].shape[1]) < torch.from_numpy(shared)[:, None]
    attention, *rest = (torch.where(seen, each.nan_to_num(), 0.0) for each in scores)
    found = between_seeds(attention, rest, seen & ~scores[0].isnan())
    place = facts.drop(columns=["measure", "value", "explanation", "operator"])
    place = place.assign(explanation=ATTENTION, operator="")
    rows = [place.assign(measure=name, value=values.numpy()) for name, values in found.items()]
    return pd.concat(rows, ignore_index=True)[list(COLUMNS)]


def _attention(audit: Audit) -> pd.Series:
    """Scores of words, by example."""
    chosen = audit.maps[audit.maps["explanation"] == ATTENTION]
    return chosen.set_index("example")["scores"]


def _padded(scores: pd.Series, width: int) -> Float[Tensor, "b w"]:
    """Of as many words, NaN where there is none."""
    table = np.full((len(scores), width), np.nan)
    for row, numbers in enumerate(scores):
        some = np.asarray(numbers, dtype=np.float64)[:width]
        table[row, : len(some)] = some
    return torch.from_numpy(table)
