"""From the benchmark's rows to its tables (verdicts, explanations, measures), and these as text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from heedful.benchmark.cases import FEW, POSITIVE
from heedful.benchmark.measure import SHARES, response
from heedful.metrics import area_under_curve

ATTENTION = "attention"
MODEL = ["split", "part", "kind", "seed"]
OPPOSITE = {"yes": "no", "no": "yes"}
MOST_WRONG = 0.05
UNUSED = "coincidence"
"""Kinds whose attention marks the right words and is not read: no measure of a map can see that."""


def tables(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """By name, in the order they are shown."""
    made = (counted, verdicts, controls, explanations, metrics)
    return {each.__name__: each(rows) for each in made}


def as_dict(rows: pd.DataFrame) -> dict[str, Any]:
    """Plain values, for JSON."""
    return {name: table.to_dict("records") for name, table in tables(rows).items()}


def counted(rows: pd.DataFrame) -> pd.DataFrame:
    """How many models there are of each truth. Unverified ones count nowhere else."""
    models = rows[[*MODEL, "truth"]].drop_duplicates()
    return models.groupby(["split", "part", "truth"]).size().rename("models").reset_index()


def verdicts(rows: pd.DataFrame) -> pd.DataFrame:
    """By kind and n. `power`: the verified truth was said. `error`: the opposite of the verdict
    on the whole population was said. `swapped`: the opposite of the verified truth was said.
    `abstention`: neither yes nor no was said."""
    said = _verified(rows[(rows["score"] == "verdict") & _populations(rows)])
    found = []
    whole, samples = (said[said["detail"] == name] for name in ("population", "subsample"))
    place = ["split", "part", "kind"]
    for (split, part, kind, n), group in samples.groupby([*place, "n"], sort=True):
        same = whole[(whole[place] == [split, part, kind]).all(axis=1)]
        population = dict(zip(same["seed"], same["name"], strict=True))
        against = [OPPOSITE.get(population.get(seed, "open"), "") for seed in group["seed"]]
        total = float(group.drop_duplicates("seed")["count"].sum())
        answer, truth = group["name"], group["truth"]
        found.append(
            {
                "split": split,
                "part": part,
                "kind": kind,
                "truth": "/".join(sorted(set(truth))),
                "population": "/".join(sorted(set(population.values()))),
                "n": n,
                "subsamples": int(total),
                "power": np.nan
                if (truth == "partly").any()
                else _share(group, answer == truth, total),
                "error": _share(group, answer == against, total),
                "swapped": _share(group, answer == truth.map(OPPOSITE), total),
                "abstention": _share(group, answer == "open", total),
            }
        )
    return pd.DataFrame(found)


def controls(rows: pd.DataFrame) -> pd.DataFrame:
    """The positive controls at n = 200 whose truth was verified: how many seeds get a yes. Of a
    population its subsamples of that size count as one seed together."""
    part = rows[(rows["score"] == "verdict") & (rows["detail"] == "subsample") & (rows["n"] == FEW)]
    part = part[part["kind"].isin(POSITIVE) & (part["part"] == "trained")]
    part = part[part["truth"] == "yes"]
    found = []
    for (split, kind), group in part.groupby(["split", "kind"], sort=True):
        share = group["value"] / group["count"]
        yes, no = (share[group["name"] == name] for name in ("yes", "no"))
        found.append((split, kind, len(yes), yes.mean(), no.mean()))
    columns = ["split", "kind", "models", "supported", "refuted"]
    return pd.DataFrame(found, columns=columns)


def explanations(rows: pd.DataFrame) -> pd.DataFrame:
    """Means over verified models."""
    part = _verified(rows[rows["score"] == "explanation"])
    found = []
    for (split, name), group in part.groupby(["split", "name"], sort=True):
        values = {detail: each["value"] for detail, each in group.groupby("detail")}
        right, rank = values["precision@k"], values["rank"]
        found.append((split, name, len(right), right.mean(), right.min(), rank.mean()))
    columns = ["split", "explanation", "models", "precision@k", "lowest", "rank"]
    table = pd.DataFrame(found, columns=columns)
    return table.sort_values(["split", "precision@k"], ascending=[True, False], ignore_index=True)


def metrics(rows: pd.DataFrame) -> pd.DataFrame:
    """Each measure as the only judge. `texts`: area under the ROC curve for telling, from one
    text, the true map from the same numbers on other words (mean over models, and the `lowest`).
    `attention`: the same for telling models whose attention is faithful from others. `noise` and
    `leak`: Kendall τ with how right the map is, and with how much of the decision it shows."""
    part = _verified(rows)
    found = []
    for (split, name), group in part[part["score"] == "separation"].groupby(["split", "name"]):
        means = part[(part["score"] == "metric") & (part["name"] == name)]
        means = means[means["split"] == split]
        area = group["value"]
        graded = means[means["detail"].isin(SHARES)]
        noise = _response(graded.assign(dose=graded["detail"].map(SHARES)), MODEL)
        leaks = means[(means["detail"] == ATTENTION) & means["dose"].notna()]
        judged = (_attention(means), noise, _response(leaks, ["part", "seed"]))
        found.append((split, name, len(area), area.mean(), area.min(), *judged))
    columns = ["split", "measure", "models", "texts", "lowest", "attention", "noise", "leak"]
    table = pd.DataFrame(found, columns=columns)
    return table.sort_values(["split", "texts"], ascending=[True, False], ignore_index=True)


def _populations(rows: pd.DataFrame) -> pd.Series:
    """Models of more texts than a control has."""
    sizes = rows[rows["detail"] == "population"].groupby(MODEL)["n"].max()
    large = set(sizes[sizes > FEW].index)
    keys = zip(*(rows[name] for name in MODEL), strict=True)
    return pd.Series([key in large for key in keys], index=rows.index, dtype=bool)


def _verified(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["truth"] != "unverified"]


def _share(group: pd.DataFrame, chosen: pd.Series, total: float) -> float:
    return float(group.loc[chosen, "value"].sum() / total) if total else float("nan")


def _attention(means: pd.DataFrame) -> float:
    shown = means[(means["detail"] == ATTENTION) & ~means["kind"].str.contains(UNUSED)]
    yes, no = (shown[shown["truth"] == truth]["value"].dropna() for truth in ("yes", "no"))
    return area_under_curve(yes.to_numpy(dtype=float), no.to_numpy(dtype=float))


def _response(graded: pd.DataFrame, by: list[str]) -> float:
    """Kendall τ of the values with the dose, averaged over groups in which it is defined."""
    values = [
        response(group["dose"].to_numpy(dtype=float), group["value"].to_numpy(dtype=float))
        for _, group in graded.groupby(by)
    ]
    known = [value for value in values if np.isfinite(value)]
    return float(np.mean(known)) if known else float("nan")


# Tables as text: aligned for a terminal, or Markdown.


def to_text(rows: pd.DataFrame) -> str:
    """For a terminal: the verdict and the measures."""
    parts = []
    for name, table in text_tables(rows):
        parts += ["", name, *aligned(table)]
    return "\n".join([*parts[1:], *broken(rows)])


def text_tables(rows: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """What a terminal shows of the rows, by name."""
    made = tables(rows)
    names = ("counted", "verdicts", "controls", "metrics")
    return [(name, made[name]) for name in names if not made[name].empty]


def broken(rows: pd.DataFrame) -> list[str]:
    """Promises that were not kept, as sentences."""
    found = verdicts(rows)
    if found.empty:
        return []
    wrong = found[(found["swapped"] > MOST_WRONG) | (found["error"] > MOST_WRONG)]
    return [
        f"{kind} at n = {n}: {swapped:.0%} say the opposite of the truth, {error:.0%} the opposite "
        f"of the population."
        for kind, n, swapped, error in zip(
            wrong["kind"], wrong["n"], wrong["swapped"], wrong["error"], strict=True
        )
    ]


def aligned(table: pd.DataFrame) -> list[str]:
    rows = text_cells(table)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def markdown(table: pd.DataFrame) -> str:
    head, *body = text_cells(table)
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *body))


def text_cells(table: pd.DataFrame) -> list[list[str]]:
    """The heading and the lines, as people read them."""
    body = [[_cell(value) for value in row] for row in table.itertuples(index=False)]
    return [[str(name) for name in table.columns], *body]


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "?" if value != value else f"{value:.2f}"
    return str(value)
