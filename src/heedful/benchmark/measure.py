"""Measure the models of the benchmark, one by one, and keep what was found as rows.

Each model's rows are on disk before the next begins. Explanations and measures are scored against
maps that are right or wrong by construction: `truth` has each word's known effect, `truth_shuffled`
the same numbers on other words, and in `truth_noise=p` a share p of them is moved.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy import stats
from torch import Tensor

from heedful.attributions import fit_prior
from heedful.auditing import (
    Audit,
    AuditSpec,
    Measurer,
    Named,
    Plan,
    audit_subject,
    batches,
    distinct_operators,
)
from heedful.benchmark.cases import FEW, Case, Opened
from heedful.entries import Attribution
from heedful.errors import HeedfulError
from heedful.hashing import stable_hash
from heedful.metrics import area_under_curve, mean_rank, precision_at_k
from heedful.progress import Progress, duration, silent
from heedful.store import FileKind, begins, to_csv, write_text
from heedful.types import Batch, Model
from heedful.verdict import Decision, Settings, Verdict, judge

NOISES = (0.25, 0.5, 0.75)
TRUTH, SHUFFLED = "truth", "truth_shuffled"
SHARES = {TRUTH: 0.0, **{f"truth_noise={share}": share for share in NOISES}, SHUFFLED: 1.0}
"""How much of a constructed map is moved to other words."""
TIES = 1e-6
"""Words without any effect come in a random order, not in the text's."""

Numbers = NDArray[np.float64]


def constructed(effects: Mapping[str, Numbers], seed: int) -> list[Named]:
    """By example id, as explanations that a `Measurer` can be asked for."""
    found = []
    for name, share in SHARES.items():
        scores = {key: moved(row, share, f"{seed} {key}") for key, row in effects.items()}
        found.append(Named(name, _piece(name, scores), {}))
    return found


def moved(effects: Numbers, share: float, key: str) -> Numbers:
    """With a share of the words permuted among themselves; the words are drawn once for all
    shares, so that more noise moves all that less noise moved."""
    draw = np.random.default_rng(stable_hash("benchmark", key))
    order = draw.permutation(len(effects))
    found: Numbers = effects + draw.uniform(0, TIES, len(effects))
    some = order[: round(share * len(effects))]
    found[some] = found[np.roll(some, 1)]
    return found


def precision_and_rank(scores: Sequence[float], effects: Numbers) -> tuple[float, float] | None:
    """Of the k words that decide: how many are among the k of the largest magnitude, and their
    mean rank (1 is the top). None where no word decides."""
    deciding = effects >= 0.1 * effects.max()
    if not effects.max() > 0 or deciding.all():
        return None
    size = torch.tensor(scores, dtype=torch.float64).nan_to_num()[None]
    truth, there = torch.from_numpy(deciding)[None], torch.ones_like(size, dtype=torch.bool)
    return float(precision_at_k(size, truth, there)), float(mean_rank(size, truth, there))


def _piece(name: str, scores: Mapping[str, Numbers]) -> Attribution:
    def make(model: Model, batch: Batch, label: Tensor, target: object = None) -> Tensor:
        mask = batch.texts["a"].mask
        out = torch.zeros(mask.shape, dtype=torch.float64)
        for row, example in enumerate(batch.ids):
            out[row, mask[row]] = torch.from_numpy(scores[example])
        return out

    return Attribution(name, "known by construction", make, uses=(), signed=True)


# How well a number tells two groups apart, and whether it falls with a dose.


LOWER = ("sufficiency", "deletion_auc", "flip_share", "infidelity", "max_sensitivity")
IGNORED = ("tie_rate", "special_mass", "flip_censored", "moved_by_shift", "tau_randomised")
"""Numbers of a map that do not say how faithful it is."""


def orientation(measure: str) -> int:
    """+1 where a more faithful map scores higher, −1 where it scores lower, 0 for other numbers."""
    if measure.startswith(LOWER):
        return -1
    return 0 if measure.startswith(IGNORED) else 1


def response(dose: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    """Kendall τ-b of a score with the share of the decision that is shown (1 − dose): 1 where it
    falls with every step of the dose."""
    if len(dose) < 3 or np.ptp(values) == 0:
        return float("nan")
    return float(stats.kendalltau(-dose, values).statistic)


# Measure the models of the benchmark, one by one, and keep what was found as rows.


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


Row = tuple[str, str, str, int, float, int]
"""The last six of the columns."""


def row(score: str, name: str, detail: str, n: int, value: float, count: int) -> Row:
    return score, name, detail, n, round(float(value), 6), count


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


# What is measured on one model of the benchmark, and summed up in a few rows.


VERSION = 3
"""Goes up whenever the same models would get other rows."""
SIZES = (50, 100, 200, 500)
LARGE = 2000
SUBSAMPLES = 40
SCORED = 200
"""Texts on which explanations and measures are scored."""
DECIDING = AuditSpec(
    explanations=("attention", "integrated_gradients", "occlusion"),
    permutations=4,
    ceiling=0,
    only=("interventions", "agreement", "importance"),
)
"""All that decides on attention, and no more: populations are large."""
SCORING = AuditSpec(
    explanations=(
        "attention",
        "value_norm",
        "gradient",
        "gradient_input",
        "integrated_gradients",
        "lrp",
        "occlusion",
        "occlusion:operator=mask",
    ),
    permutations=1,
    ceiling=20,
    only=("agreement", "erasure", "importance", "candidates"),
)
"""Every measure that scores explanations."""
SIDES = {Decision.SUPPORTED: "yes", Decision.NOT_SUPPORTED: "no"}
"""What a decision says to "should this attention be shown?"; any other is an abstention."""


@dataclass(frozen=True)
class Effort:
    """How much is drawn of each population."""

    subsamples: int = SUBSAMPLES
    scored: int = SCORED


def measured(case: Case, effort: Effort = Effort(), progress: Progress = silent) -> pd.DataFrame:
    """All rows of one model."""
    start = time.perf_counter()
    with case.open() as opened:
        answer = str(opened.truth["truth"])
        facts = [
            row("truth", name, "", case.texts, value, case.texts)
            for name, value in opened.truth.items()
            if not isinstance(value, str)
        ]
        audit = audit_subject(opened.subject, DECIDING, Settings(), Plan(progress=progress))
        said = list(verdicts(audit, case.seed, effort))
        count = min(effort.scored, case.texts)
        scored = list(scores(opened, count, case.seed)) if count else []
    seconds = time.perf_counter() - start
    took = row("seconds", "all", version(effort), case.texts, seconds, 1)
    about = (case.split, case.part, case.kind, case.seed, answer, case.dose)
    rows = [(*about, *each) for each in (*facts, *said, *scored, took)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def version(effort: Effort) -> str:
    """Changes with whatever decides and with what is measured: rows of two are not mixed."""
    text = f"{Settings().digest()} {DECIDING} {SCORING} {effort} {VERSION}"
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def side(verdict: Verdict) -> str:
    return SIDES.get(verdict.decision, "open")


def verdicts(audit: Audit, seed: int, effort: Effort) -> Iterator[Row]:
    """The whole population, and random subsamples of it: judged anew, nothing measured anew."""
    rows, ids = audit.rows, audit.rows["example"].unique()
    settings = Settings.from_dict(audit.verdict.settings)
    yield row("verdict", side(audit.verdict), "population", len(ids), 1, 1)
    for statement in audit.verdict.statements:
        if statement.estimate is not None and np.isfinite(statement.estimate):
            detail = f"{statement.property} {statement.decision}"
            yield row("statement", statement.property, detail, len(ids), statement.estimate, 1)
    place = pd.Categorical(rows["example"], categories=ids).codes
    for n in (*SIZES, LARGE):
        if n > len(ids):
            continue
        repeats = effort.subsamples if n < LARGE else max(1, effort.subsamples // 8)
        repeats = 1 if n == len(ids) else repeats
        said = Counter[str]()
        for number in range(repeats):
            draw = np.random.default_rng(stable_hash(seed, "subsample", n, number))
            chosen = np.zeros(len(ids), dtype=bool)
            chosen[draw.choice(len(ids), n, replace=False)] = True
            verdict = judge(rows[chosen[place]], audit.costs, audit.facts, settings)
            said[side(verdict)] += 1
        for name in ("yes", "no", "open"):
            yield row("verdict", name, "subsample", n, said[name], repeats)


def scores(opened: Opened, count: int, seed: int) -> Iterator[Row]:
    """Every explanation against the words known to decide, every measure against maps known to
    be right or wrong."""
    places = list(range(count))
    known = dict(zip(opened.subject.ids[:count], opened.effects(places), strict=True))
    rows, maps = _all_maps(opened, places, known, seed)
    yield from explanations(maps, known)
    yield from metrics(rows)


def _all_maps(
    opened: Opened, places: list[int], known: dict[str, np.ndarray], seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    subject, model = opened.subject, opened.subject.model
    spec = replace(SCORING, operators=distinct_operators(model, SCORING.operators))
    prior = fit_prior(batch for _, batch in subject.batches())
    measure = Measurer(model, spec, prior, frozenset())
    measure.wanted += constructed(known, seed)
    parts = []
    for indices in batches(subject, np.array(places)):
        batch = subject.encode(indices)
        parts.append(measure(batch, batch.ids))
    return pd.concat([part.rows for part in parts]), pd.concat([part.maps for part in parts])


def explanations(maps: pd.DataFrame, known: dict[str, np.ndarray]) -> Iterator[Row]:
    for name, part in maps.groupby("explanation", sort=True):
        found = [
            pair
            for example, scored in zip(part["example"], part["scores"], strict=True)
            if (pair := precision_and_rank(scored[: len(known[example])], known[example]))
        ]
        if found and not str(name).startswith(TRUTH):
            precision, rank = np.mean(found, axis=0)
            yield row("explanation", str(name), "precision@k", 0, precision, len(found))
            yield row("explanation", str(name), "rank", 0, rank, len(found))


def metrics(rows: pd.DataFrame) -> Iterator[Row]:
    """Of each measure and operator the mean for every map, higher for better; and how well single
    texts' values tell the truth from the same numbers on other words."""
    scored = rows[(rows["model"] == "base") & rows["explanation"].ne("")]
    for (measure, operator), part in scored.groupby(["measure", "operator"], sort=True):
        better = orientation(str(measure))
        wide = part.pivot_table(index="example", columns="explanation", values="value") * better
        if not better or TRUTH not in wide or SHUFFLED not in wide:
            continue
        label = f"{measure} {operator}".strip()
        for name in [name for name in wide.columns if name == "attention" or TRUTH in name]:
            values = wide[name].dropna()
            yield row("metric", label, str(name), 0, values.mean(), len(values))
        right, wrong = wide[TRUTH].dropna(), wide[SHUFFLED].dropna()
        area = area_under_curve(right.to_numpy(), wrong.to_numpy())
        yield row("separation", label, "truth and truth_shuffled", 0, area, len(right))


# Run the benchmark, model by model; each model's rows are on disk before the next begins.


TEXTS_A_SECOND = 60.0
"""On one core, all measures and verdicts together; right to a factor of two."""
EACH = 12.0
"""Seconds for training a model and finding out what is true of it."""


def estimate(cases: Sequence[Case], done: int = 0) -> str:
    """What will be run, and about how long that takes."""
    seconds = sum(EACH + case.texts / TEXTS_A_SECOND for case in cases)
    texts = sum(case.texts for case in cases)
    before = f" ({done} models are measured already)" if done else ""
    return f"{len(cases)} models, {texts:,} texts: about {duration(seconds)} on one core{before}"


def run(
    cases: Sequence[Case],
    file: Path | None = None,
    effort: Effort = Effort(),
    progress: Progress = silent,
    announce: Callable[[str], None] = lambda line: None,
) -> pd.DataFrame:
    """With a file, models whose rows are there are not measured again: run the same command again
    to resume. Rows of other models in the file stay; those of another version are replaced."""
    there = read(file) if file is not None and file.is_file() and file.stat().st_size else None
    tables: dict[str, pd.DataFrame] = {}
    if there is not None:
        groups = there.groupby(["part", "kind", "seed"], sort=False)
        tables = {f"{part}-{kind}-{seed}": group for (part, kind, seed), group in groups}
    waiting = [case for case in cases if not _done(tables, case, effort)]
    announce(estimate(waiting, len(cases) - len(waiting)))
    started = time.perf_counter()
    for number, case in enumerate(waiting):
        progress(case.name, number, len(waiting))
        tables[case.name] = measured(case, _effort(case, effort))
        if file is not None:
            write_text(file, to_csv(joined(list(tables.values()))))
    progress("benchmark", len(waiting), len(waiting))
    announce(f"measured in {duration(time.perf_counter() - started)}")
    return joined([tables[case.name] for case in cases])


def _effort(case: Case, effort: Effort) -> Effort:
    """A control is there for its verdict alone."""
    return Effort(effort.subsamples, 0) if case.texts <= FEW else effort


def _done(tables: dict[str, pd.DataFrame], case: Case, effort: Effort) -> bool:
    if case.name not in tables:
        return False
    last = tables[case.name][tables[case.name]["score"] == "seconds"]
    wanted = version(_effort(case, effort))
    return bool(((last["n"] == case.texts) & (last["detail"] == wanted)).any())
