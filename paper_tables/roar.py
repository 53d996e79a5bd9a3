"""The measured part of docs/roar.md, from the rows of reproduction/ and nothing else.

`python -m paper_tables.roar` writes it. Given files that `heedful audit --json` printed, of the
models of seeds 0, 1, …, it first keeps their numbers.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from heedful.metrics import RANDOM, racus, roar_curves, student
from heedful.report import bounds, shown
from heedful.store import to_csv, write_text

ROWS = Path("reproduction/roar.csv")
AUDITS = Path("reproduction/roar_audits.csv")
PAGE = Path("docs/roar.md")
AUDIT_COLUMNS = ["seed", "explanation", "position"]

MARK = "<!-- measured: python -m paper_tables.roar -->\n"
"""What stands above it on the page is written by hand."""
_MEASURED = """
## Measured: SST

The BiLSTM with additive attention of jain2019, {seeds} seeds, {steps}% of the words masked. So
that one CPU can do it, each model is trained for three epochs with batches of 64, and there are
few steps; the paper has ten.

<!-- needs: data, hours -->
```console
$ heedful roar --corpus sst --explanations {names} \\
    --steps {list} --seeds {seeds} --epochs 3 --train-batch 64 -o roar
$ heedful audit MODEL --n 150 --quick --only importance --json \\
    --explanations {audited} > audit-0.json
$ python -m paper_tables.roar audit-0.json audit-1.json audit-2.json
```

The rows are kept in `reproduction/roar.csv` and `reproduction/roar_audits.csv`. In brackets are
95% intervals over seeds.

| accuracy, words masked | {heads} |
|---|{rules}
{curves}

| explanation | RACU | the audit's importance, same models |
|---|---|---|
{racus}

Importance is 0 for a random order of words and 1 for the best order found; the verdict asks 0.67
of attention ([audit](audit.md)). There `diffmask` learns its mask from the audited texts, each half
for the other.
"""


def measured(rows: pd.DataFrame, audits: pd.DataFrame) -> str:
    """All below the mark."""
    percents = list(dict.fromkeys(rows["percent"]))
    steps = [str(percent) for percent in percents if 0 < percent < 100]
    names = [str(name) for name in dict.fromkeys(rows["explanation"]) if name != RANDOM]
    filled = _MEASURED.format(
        seeds=rows["seed"].nunique(),
        steps=" and ".join(steps),
        list=",".join(steps),
        names=",".join(names),
        audited=",".join(sorted(map(str, set(audits["explanation"])))),
        heads=" | ".join(f"{percent}%" for percent in percents),
        rules="---|" * len(percents),
        curves="\n".join(_curve_lines(rows)),
        racus="\n".join(_racu_lines(rows, audits)),
    )
    return MARK + filled + _said(rows, audits)


def _curve_lines(rows: pd.DataFrame) -> list[str]:
    lines = []
    for name, part in roar_curves(rows).groupby("explanation", sort=False):
        numbers = zip(part["mean"], part["low"], part["high"], strict=True)
        lines.append(f"| `{name}` | {' | '.join(_cell(*each) for each in numbers)} |")
    return lines


def _racu_lines(rows: pd.DataFrame, audits: pd.DataFrame) -> list[str]:
    measures = {name: _cell(*numbers) for name, numbers in importance(audits).items()}
    columns = [_racu_by_name(rows), measures]
    names = dict.fromkeys(name for column in columns for name in column)
    return [f"| `{n}` | {' | '.join(column.get(n, '') for column in columns)} |" for n in names]


def _racu_by_name(rows: pd.DataFrame) -> dict[str, str]:
    return {
        str(line["explanation"]): _cell(line["racu"], line["low"], line["high"])
        for line in racus(rows).to_dict("records")
    }


def importance(audits: pd.DataFrame) -> dict[str, tuple[float, float, float]]:
    """By explanation, the best first: the mean position over seeds and its interval."""
    means = {
        str(name): student(list(part["position"]))
        if len(part) > 1
        else (float(part["position"].iloc[0]), math.nan, math.nan)
        for name, part in audits.groupby("explanation", sort=False)
    }
    return dict(sorted(means.items(), key=lambda item: -item[1][0]))


def _said(rows: pd.DataFrame, audits: pd.DataFrame) -> str:
    """What the two say of the same explanations, in words."""
    table = racus(rows).sort_values("racu", ascending=False, kind="stable")
    by_racu = [str(name) for name in table["explanation"]]
    by_audit = [name for name in importance(audits) if name in by_racu]
    clear = [str(name) for name in table.loc[table["low"] > 0, "explanation"]]
    return f"""
| asked | answer |
|---|---|
| clearly above random words by RACU | {_listed(clear)} |
| most missed first, by RACU | {_listed(by_racu)} |
| most important first, by the audit | {_listed(by_audit)} |

The two ask different things. The audit asks whether this model needs the words. ROAR asks whether
a model trained anew needs them, which can learn from other words. Numbers whose intervals overlap
have no order.
"""


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def _cell(value: float, low: float, high: float) -> str:
    if math.isnan(value):
        return "undefined"
    return shown(value) if math.isnan(low) else f"{shown(value)} ({bounds(low, high)})"


def of_audits(paths: Sequence[str]) -> pd.DataFrame:
    """A row for each explanation that all audits place; they are of seeds 0, 1, … in this order."""
    lines = []
    for seed, path in enumerate(paths):
        ranked = json.loads(Path(path).read_text(encoding="utf8"))["verdict"]["recommendation"][
            "ranked"
        ]
        lines += [(seed, line["explanation"], line["position"]) for line in ranked]
    table = pd.DataFrame(lines, columns=AUDIT_COLUMNS).astype({"position": float})
    lacking = set(table.loc[table["position"].isna(), "explanation"])
    return table[~table["explanation"].isin(lacking)]


def kept_page() -> str:
    """The page, made again from the files of the checkout."""
    by_hand = PAGE.read_text(encoding="utf8").partition(MARK)[0]
    return by_hand + measured(pd.read_csv(ROWS), pd.read_csv(AUDITS))


def main(paths: Sequence[str]) -> None:
    if paths:
        write_text(AUDITS, to_csv(of_audits(paths).round(6)))
    write_text(PAGE, kept_page())


if __name__ == "__main__":
    main(sys.argv[1:])
