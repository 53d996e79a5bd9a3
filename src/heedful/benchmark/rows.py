"""The benchmark's rows: what was found on each model, and all that the page is made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from heedful.benchmark.cases import Case
from heedful.errors import HeedfulError
from heedful.store import FileKind, begins

COLUMNS = (
    "split",
    "part",
    "kind",
    "seed",
    "truth",
    "dose",
    "score",
    "name",
    "detail",
    "n",
    "value",
    "count",
)
"""`score` says what a row is about: `truth`, `verdict`, `statement`, `explanation`, `metric`,
`separation`, `seconds`. `name` and `detail` are then a decision, an explanation, a measure and its
operator, …; `value` is a mean or a number of subsamples, of `count` texts or subsamples."""
ROWS = FileKind("rows of `heedful benchmark`", begins(",".join(COLUMNS)))


def row(score: str, name: str, detail: str, n: int, value: float, count: int) -> dict[str, object]:
    return {
        "score": score,
        "name": name,
        "detail": detail,
        "n": n,
        "value": round(float(value), 6),
        "count": count,
    }


def table(case: Case, truth: str, found: Iterable[dict[str, object]]) -> pd.DataFrame:
    about = {
        "split": case.split,
        "part": case.part,
        "kind": case.kind,
        "seed": case.seed,
        "truth": truth,
        "dose": case.dose,
    }
    return pd.DataFrame([{**about, **each} for each in found], columns=list(COLUMNS))


def joined(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """In one order, whatever was measured first."""
    filled = [each for each in tables if len(each)]
    if not filled:
        return pd.DataFrame(columns=list(COLUMNS))
    order = ["split", "part", "kind", "seed", "score", "name", "detail", "n"]
    whole = pd.concat(filled, ignore_index=True)
    whole["dose"] = pd.to_numeric(whole["dose"])
    whole[["name", "detail"]] = whole[["name", "detail"]].fillna("")
    return whole.sort_values(order, kind="stable", ignore_index=True)


def read(path: Path) -> pd.DataFrame:
    try:
        found = pd.read_csv(path, keep_default_na=False, na_values={"dose": [""], "value": [""]})
    except (OSError, ValueError) as error:
        raise HeedfulError(
            f"{path} cannot be read as rows of the benchmark: run `heedful benchmark -o` again."
        ) from error
    if tuple(found.columns) != COLUMNS:
        raise HeedfulError(
            f"{path} has other columns than the benchmark's rows: run `heedful benchmark -o` again."
        )
    return found
