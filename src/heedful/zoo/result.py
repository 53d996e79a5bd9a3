"""What the zoo found, as tables, and whether the verdict keeps its promises."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd
from scipy import stats

LEAST_RIGHT = 0.95
SCORES = ("ranking", "agreement")
DECIDES = "ranking"
"""The score that must rise along every ladder."""
NEARLY_ONE = 1 - 1e-9


@dataclass(frozen=True)
class ZooResult:
    """`verdicts` has a row per exhibit; `orders` says for each of them, explanation and metric
    who was found better, the explanation or attention; `sides` what each metric alone says of
    attention."""

    verdicts: pd.DataFrame
    orders: pd.DataFrame
    sides: pd.DataFrame

    @property
    def right(self) -> float:
        """Of the exhibits about which there is a truth."""
        clear = self.verdicts[self.verdicts["truth"] != "partly"]
        return float(clear["right"].mean()) if len(clear) else 1.0

    @property
    def swaps(self) -> int:
        """Verdicts that say the opposite of the truth."""
        return int(self.verdicts["swapped"].sum())

    @property
    def broken(self) -> tuple[str, ...]:
        """The promises that were not kept, as sentences."""
        found = []
        if self.right < LEAST_RIGHT:
            found.append(f"{self.right:.1%} of the verdicts are right, not {LEAST_RIGHT:.0%}.")
        for what, decision, count in self._swapped():
            found.append(f"{what}: {count} found {decision}, the opposite of the truth.")
        for _, row in self.ladders.iterrows():
            if row["score"] == DECIDES and not row["tau"] > NEARLY_ONE:
                text = f"{row['family']} ladder {row['ladder']} (tau {row['tau']:.2f})"
                found.append(f"{DECIDES} does not rise along the {text}.")
        return tuple(found)

    @cached_property
    def kinds(self) -> pd.DataFrame:
        """How often the verdict was right, by kind and family."""
        grouped = self.verdicts.groupby(["family", "kind"], sort=False)
        table = grouped.agg(
            exhibits=("exhibit", "count"),
            right=("right", "mean"),
            swapped=("swapped", "sum"),
            ranking=("ranking", "median"),
            agreement=("agreement", "median"),
            seconds=("seconds", "mean"),
        )
        counts = grouped["decision"].agg(_counted).rename("decisions")
        return table.join(counts).reset_index()

    @cached_property
    def ladders(self) -> pd.DataFrame:
        """Does the score rise with the share of texts in which attention is the decision?"""
        mixed = self.verdicts[self.verdicts["kind"] == "mixture"]
        rows = []
        for (family, ladder), part in mixed.groupby(["family", "ladder"], sort=True):
            rungs = part.sort_values("strength")
            for score in SCORES if len(rungs) > 1 else ():
                rows.append({"family": family, "ladder": ladder, **_rise(rungs, score)})
        columns = ["family", "ladder", "score", "rungs", "tau", "lowest", "highest", "deepest fall"]
        return pd.DataFrame(rows, columns=columns)

    @cached_property
    def power(self) -> pd.DataFrame:
        """On misleading attention: how often each metric finds an explanation better than it
        (`power`), and how often worse (`reversed`)."""
        part = self.orders[self.orders["kind"] == "misleading"] if len(self.orders) else None
        columns = ["explanation", "measure", "operator", "exhibits", "power", "reversed"]
        if part is None or part.empty:
            return pd.DataFrame(columns=columns)
        grouped = part.groupby(columns[:3], sort=True)["found"]
        table = grouped.agg(exhibits="count", power=_share_of(1), reversed=_share_of(-1))
        return table.reset_index()

    @cached_property
    def alone(self) -> pd.DataFrame:
        """Each metric as the only judge of attention: how often it supports what is not so,
        refutes what is so, or cannot tell. A coincidence is left out: its order is right."""
        if self.sides.empty:
            return pd.DataFrame()
        apart = self.sides["truth"].eq("partly") | self.sides["kind"].eq("coincidence")
        clear = self.sides[~apart]
        rows = []
        for (measure, operator), part in clear.groupby(["measure", "operator"], sort=False):
            yes, no = part[part["truth"] == "yes"]["said"], part[part["truth"] == "no"]["said"]
            rows.append(
                {
                    "measure": measure,
                    "operator": operator,
                    "falsely supported": float((no == 1).mean()),
                    "falsely refuted": float((yes == -1).mean()),
                    "undecided": float((part["said"] == 0).mean()),
                }
            )
        return pd.DataFrame(rows)

    def tables(self) -> dict[str, pd.DataFrame]:
        """By title, in the order they are shown."""
        return {
            "Verdicts by kind": self.kinds,
            "Scores along the mixtures": self.ladders,
            "Each metric as the only judge of attention": self.alone,
            "Explanations against a misleading attention": self.power,
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        named = {"verdicts": self.verdicts, "kinds": self.kinds, "ladders": self.ladders}
        more = {"alone": self.alone, "power": self.power}
        records = {name: each.to_dict("records") for name, each in {**named, **more}.items()}
        return {"right": self.right, "swaps": self.swaps, "broken": list(self.broken), **records}

    def _swapped(self) -> list[tuple[str, str, int]]:
        part = self.verdicts[self.verdicts["swapped"]]
        names = zip(part["family"], part["kind"], part["decision"], strict=True)
        counts = Counter((f"{family} {kind}", str(said)) for family, kind, said in names)
        return [(what, said, count) for (what, said), count in counts.items()]


def _rise(rungs: pd.DataFrame, score: str) -> dict[str, Any]:
    values = rungs[score].to_numpy(dtype=float)
    tau = stats.kendalltau(rungs["strength"].to_numpy(dtype=float), values).statistic
    return {
        "score": score,
        "rungs": len(values),
        "tau": float(tau),
        "lowest": float(values.min()),
        "highest": float(values.max()),
        "deepest fall": float(max(0.0, -(values[1:] - values[:-1]).min())),
    }


def _counted(decisions: pd.Series) -> str:
    counts = decisions.value_counts()
    return ", ".join(f"{str(name).lower()} {count}" for name, count in counts.items())


def _share_of(value: int) -> Any:
    return lambda found: float((found == value).mean())
