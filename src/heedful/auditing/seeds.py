"""Several trainings of one model: one verdict, with seeds and texts as crossed effects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import torch
from scipy.stats import kendalltau

from heedful.auditing.gathered import judge_rows
from heedful.auditing.result import Audit
from heedful.auditing.spec import ATTENTION
from heedful.auditing.table import COLUMNS, ordered
from heedful.errors import HeedfulError
from heedful.experiments import largest_jsd
from heedful.metrics import jsd
from heedful.store import Frames, Store
from heedful.targets import described, source_of
from heedful.verdict import Settings


def check_trainings(models: Sequence[str], store: Store | None) -> None:
    """Refuse what is not one model trained with several seeds, before any of them is measured."""
    first, *others = models
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
    """τ-b and JSD of the first model's attention with each other's, averaged, by text; the
    JSD also as a share of the furthest any attention to these words is from the first's."""
    maps = [_attention(each) for each in (first, *others)]
    facts = first.rows[first.rows["model"] == "base"].drop_duplicates("example")
    found = [
        (str(example), measure, value)
        for example in facts["example"]
        for measure, value in _text(maps, str(example))
    ]
    values = pd.DataFrame(found, columns=["example", "measure", "value"])
    given = facts.drop(columns=["measure", "value", "explanation", "operator"])
    table = given.merge(values, on="example").assign(explanation=ATTENTION, operator="")
    return table[list(COLUMNS)]


def _attention(audit: Audit) -> dict[str, np.ndarray]:
    chosen = audit.maps[audit.maps["explanation"] == ATTENTION]
    pairs = zip(chosen["example"], chosen["scores"], strict=True)
    return {str(name): np.asarray(scores, dtype=np.float64) for name, scores in pairs}


def _text(maps: Sequence[dict[str, np.ndarray]], example: str) -> Iterator[tuple[str, float]]:
    width = min(len(each[example]) for each in maps)
    there = ~np.isnan(maps[0][example][:width])
    here, *rest = [np.nan_to_num(each[example][:width]) for each in maps]
    taus = [_tau(here[there], each[there]) for each in rest]
    apart = float(np.mean([_jsd(here, each) for each in rest]))
    yield "tau_seeds", float(np.mean(taus))
    yield "jsd_seeds", apart
    yield "jsd_seeds_ratio", apart / _furthest(here, there)


def _tau(p: np.ndarray, q: np.ndarray) -> float:
    """NaN where there are no two words to be put in order."""
    return float(kendalltau(p, q).statistic) if len(p) > 1 else float("nan")


def _jsd(p: np.ndarray, q: np.ndarray) -> float:
    """NaN where one of them has no weight on any word."""
    if p.sum() <= 0 or q.sum() <= 0:
        return float("nan")
    return float(jsd(torch.from_numpy(p / p.sum()), torch.from_numpy(q / q.sum())))


def _furthest(p: np.ndarray, there: np.ndarray) -> float:
    """The largest JSD of any weights on the words that are `there`; NaN where there is only
    one such word, or no weight on any."""
    if p.sum() <= 0 or there.sum() < 2:
        return float("nan")
    weights = torch.from_numpy(p / p.sum())[None]
    return float(largest_jsd(weights, torch.from_numpy(there)[None]))
