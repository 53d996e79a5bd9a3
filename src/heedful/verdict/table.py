"""The table of measurements, spread out to examples × explanations, and cells: paired columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from jaxtyping import Float

from heedful.errors import HeedfulError


@dataclass(frozen=True)
class Cell:
    """`values` has a column for the explanation on trial, then its floor, then its ceiling,
    as far as the formula needs them; examples with any of them undefined are left out and
    counted. `names` are the columns' explanations. `sign` is −1 where less is better."""

    measure: str
    operator: str
    names: tuple[str, ...]
    examples: tuple[str, ...]
    values: Float[np.ndarray, "n c"]
    undefined: int
    sign: int = 1

    def among(self, examples: Collection[str]) -> Cell:
        """The same on some of the examples."""
        keep = np.array([name in examples for name in self.examples], dtype=bool)
        names = tuple(name for name in self.examples if name in examples)
        return replace(self, examples=names, values=self.values[keep])


def cell(
    measure: str, operator: str, columns: Sequence[tuple[str, pd.Series]], sign: int = 1
) -> Cell:
    """Paired columns. Pairing is by example: a mean over other examples is another mean."""
    table = pd.concat([column for _, column in columns], axis=1, sort=True)
    whole = table.dropna()
    return Cell(
        measure,
        operator,
        tuple(name for name, _ in columns),
        tuple(str(name) for name in whole.index),
        whole.to_numpy(dtype=np.float64),
        len(table) - len(whole),
        sign,
    )


def best_floor(wide: pd.DataFrame, floors: Sequence[str]) -> str:
    """The floor that is harder to beat, chosen once; "" where none was measured."""
    means = {
        name: float(np.nanmean(wide[name].to_numpy(dtype=np.float64)))
        for name in floors
        if name in wide.columns and wide[name].notna().any()
    }
    return max(means, key=lambda name: means[name], default="")


_TEXT = ("model", "example", "cluster", "explanation", "operator", "measure")
_NUMBERS = ("label", "predicted", "confidence", "length", "value")
COLUMNS = (*_TEXT, *_NUMBERS)
FACTS = ("cluster", "label", "predicted", "confidence", "length")


@dataclass(frozen=True)
class Table:
    """`wide` by (model, measure, operator); `examples` has what is known of each example in
    the model on trial. Nothing here depends on the order of rows."""

    wide: Mapping[tuple[str, str, str], pd.DataFrame]
    examples: pd.DataFrame

    @property
    def checkpoints(self) -> tuple[str, ...]:
        """The trained models: `base` and each `seed=k`, never the randomised one."""
        models = sorted({model for model, _, _ in self.wide})
        return tuple(model for model in models if model == "base" or model.startswith("seed="))

    @cached_property
    def cluster_of(self) -> Mapping[str, str]:
        """The cluster of each example."""
        return {str(name): str(key) for name, key in self.examples["cluster"].items()}

    @property
    def main(self) -> str:
        """The model on trial: `base`, or the first seed where there is none."""
        return self.checkpoints[0] if self.checkpoints else "base"

    def get(self, model: str, measure: str, operator: str = "") -> pd.DataFrame:
        """Examples down, explanations across; empty where nothing was measured."""
        return self.wide.get((model, measure, operator), pd.DataFrame())

    def measures(self, prefix: str = "") -> tuple[str, ...]:
        return tuple(sorted({name for _, name, _ in self.wide if name.startswith(prefix)}))

    def operators(self, measure: str) -> tuple[str, ...]:
        return tuple(sorted({op for _, name, op in self.wide if name == measure}))


def tabulate_blocks(blocks: Iterable[pd.DataFrame]) -> Table:
    """Spread rows out. Repeated measurements of one example are averaged, an infinity counts
    as undefined, and an example without a cluster is its own. Each block has all rows of its
    examples; they are read one at a time, since rows take many times the room of what they are
    spread out to."""
    wide: dict[tuple[str, str, str], list[pd.DataFrame]] = {}
    examples = []
    for block in blocks:
        rows = _tidy(block)
        examples.append(_examples(rows))
        for key, part in rows.groupby(["model", "measure", "operator"], sort=True):
            model, measure, operator = map(str, key)
            means = part.groupby(["example", "explanation"], sort=True)["value"].mean()
            spread = means.unstack("explanation").sort_index()
            wide.setdefault((model, measure, operator), []).append(spread)
    whole = {key: _joined(wide[key]) for key in sorted(wide)}
    return Table(whole, _joined(examples, by_name=False))


def _joined(parts: list[pd.DataFrame], by_name: bool = True) -> pd.DataFrame:
    """Blocks under each other; an explanation that one of them lacks is undefined there."""
    if len(parts) == 1:
        return parts[0]
    names = dict.fromkeys(name for part in parts for name in part.columns)
    return pd.concat(parts).sort_index()[sorted(names) if by_name else list(names)]


def _tidy(rows: pd.DataFrame) -> pd.DataFrame:
    missing = [name for name in COLUMNS if name not in rows.columns]
    if missing:
        raise HeedfulError(f"the table of measurements lacks {', '.join(missing)}: add them.")
    text = {name: rows[name].astype(object).where(rows[name].notna(), "") for name in _TEXT}
    tidy = pd.DataFrame(
        {
            **{name: column.map(str) for name, column in text.items()},
            **{name: pd.to_numeric(rows[name]).astype("float64") for name in _NUMBERS},
        }
    ).astype(dict.fromkeys(_TEXT, "object"))
    tidy["value"] = tidy["value"].where(np.isfinite(tidy["value"]))
    tidy["cluster"] = tidy["cluster"].where(tidy["cluster"] != "", tidy["example"])
    # A sum of floats depends on its order, and no verdict may depend on the order of rows.
    return tidy.sort_values(list(COLUMNS), kind="stable", ignore_index=True)


def _examples(rows: pd.DataFrame) -> pd.DataFrame:
    base = rows[rows["model"] == "base"]
    trained = rows[rows["model"].str.startswith("seed=")] if len(rows) else rows
    ordered = pd.concat([base, trained, rows])
    return ordered.groupby("example", sort=True)[list(FACTS)].first()
