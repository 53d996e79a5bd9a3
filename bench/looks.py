"""How often an audit that stops early is wrong: populations of known models, audited many times.

    python -m bench.looks [--texts 2000] [--n 200] [--audits 100] [--kinds NAME ...]

Each model's texts are measured once. An audit is then `n` texts drawn from them, judged at the
looks that `heedful audit` takes until the answer is settled. Looking goes on after that, as with
`--all`:

- *wrong*: some look says the opposite of what the whole population says (at most 0.05);
- *swapped*: two looks say opposite things;
- *missed*: at some look a bound of use, importance or agreement excludes the population's own
  number, on either side (at most 0.075); *unpriced* is the same of bounds that pay nothing;
- *baseline*: the same of the fourth statement, which is about the better of two baselines. Which
  one that is, is read off the same examples, so its bounds are not promised to hold.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from bench.measure import say
from heedful.auditing import Plan, audit_subject
from heedful.benchmark import DECIDING, Case, cases
from heedful.hashing import stable_hash
from heedful.verdict import (
    PROPERTIES,
    REQUIRED,
    Decision,
    Settings,
    Statement,
    decide,
    look_sizes,
    overall,
    tabulate_blocks,
)

ERRORS = ("wrong", "swapped", "missed", "unpriced", "baseline")
COLUMNS = ("kind", "population", "yes", "no", "open", *ERRORS)
OPEN = Decision.INCONCLUSIVE
BOUND = tuple(name for name in REQUIRED if name != "baseline")
Statements = Sequence[Statement]


@dataclass
class Tally:
    """Of some audits: the answer each stopped with, how many were wrong, and all their texts."""

    answers: Counter[Decision] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)

    def line(self, name: str, population: str) -> str:
        audits = max(1, sum(self.answers.values()))
        ends = (Decision.SUPPORTED, Decision.NOT_SUPPORTED, OPEN)
        shares = [f"{self.answers[end] / audits:.2f}" for end in ends]
        errors = [f"{self.counts[column] / audits:.3f}" for column in ERRORS]
        mean = f"{self.counts['texts'] / audits:.0f}"
        return "| " + " | ".join([name, population, *shares, *errors, mean]) + " |"

    def add(self, other: Tally) -> None:
        self.answers += other.answers
        self.counts += other.counts


def main(arguments: Sequence[str] | None = None) -> None:
    options, total = _options(arguments), Tally()
    wanted = cases(seeds=(0,), texts=options.texts, kinds=options.kinds)
    print("| " + " | ".join([*COLUMNS, "texts"]) + " |\n|" + " --- |" * (len(COLUMNS) + 1))
    for case in wanted:
        say(f"{case.kind}: {options.texts:,} texts")
        population, tally = _audited(case, options.n, options.audits)
        print(tally.line(case.kind, population), flush=True)
        total.add(tally)
    print(total.line("all", ""))


def _audited(case: Case, n: int, audits: int) -> tuple[str, Tally]:
    with case.open() as opened:
        found = audit_subject(opened.subject, DECIDING, Settings(), Plan())
    settings = Settings.from_dict(found.verdict.settings)
    rows, ids = found.rows, found.rows["example"].unique()
    place = pd.Categorical(rows["example"], categories=ids).codes
    truth, tally = _statements(rows, settings), Tally()
    for number in range(audits):
        draw = np.random.default_rng(stable_hash(case.seed, "looks", number))
        rank = draw.permutation(len(ids))[place]
        tally.add(_looks(rows.assign(rank=rank)[rank < n], truth, settings, n))
    return {OPEN: "open"}.get(_answer(truth), str(_answer(truth)).lower()), tally


def _looks(rows: pd.DataFrame, truth: Statements, settings: Settings, n: int) -> Tally:
    """One audit, at all its looks."""
    sizes, said, misses = look_sizes(n), list[Decision](), Counter[str]()
    for look, size in enumerate(sizes, 1):
        some = rows[rows["rank"] < size].drop(columns="rank")
        shares = tuple(each / n for each in sizes[:look])
        priced = replace(settings, look=look, looks=len(sizes), looked=shares)
        found = _statements(some, priced)
        said.append(_answer(found))
        free = _statements(some, settings)
        misses |= {"missed": _misses(found, truth, BOUND), "unpriced": _misses(free, truth, BOUND)}
        misses |= {"baseline": _misses(found, truth, ("baseline",))}
    sure = [answer for answer in said if answer is not OPEN]
    stop = said.index(sure[0]) if sure else len(sizes) - 1
    wrong = _answer(truth) is not OPEN and any(answer is not _answer(truth) for answer in sure)
    counts = {"wrong": wrong, "swapped": len(set(sure)) > 1, "texts": sizes[stop]}
    return Tally(Counter([said[stop]]), misses + Counter(counts))


def _statements(rows: pd.DataFrame, chosen: Settings) -> Statements:
    """What decides, and no more."""
    table = tabulate_blocks([rows])
    return decide([PROPERTIES[name].evaluate(table, chosen) for name in REQUIRED], chosen)


def _answer(statements: Statements) -> Decision:
    return overall(statements).decision


def _misses(found: Statements, truth: Statements, names: Sequence[str]) -> bool:
    return any(
        own.low > whole.estimate or own.high < whole.estimate
        for own, whole in zip(found, truth, strict=True)
        if own.property in names
    )


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.looks", description=__doc__)
    parser.add_argument("--texts", type=int, default=2000, help="of each population")
    parser.add_argument("--n", type=int, default=200, help="texts that an audit asks for")
    parser.add_argument("--audits", type=int, default=100, help="of each model")
    parser.add_argument("--kinds", nargs="+", default=(), help="models by kind (all)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
