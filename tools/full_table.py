"""The tables of `docs/reproduction.md` in one command: `python -m tools.full_table --dry-run`.

Without names it does every run that a kept row was made of. A name is a study's or a trial's, and
may go on with corpora, seeds, models and probes, divided by colons:

    python -m tools.full_table tutek2020:sst:5 'tutek2020:imdb:0-2:bilstm2-*:score' --minutes 9

It prints what it would cost, by the measured speed of a card, and takes the jobs in the order of
the names. When the minutes are up it stops; the same command does the rest. `--rows FILE` keeps the
compact rows of the store, and `--add FILE` puts such a file into `reproduction/` and the pages.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pandas as pd

from heedful.cli import DEFAULT_STORE, check_data_dir, open_store, say, seeds
from heedful.data import CORPORA, MissingData, Prepared, default_spec
from heedful.errors import HeedfulError, unknown_name
from heedful.progress import duration
from heedful.runner import (
    Cell,
    Choice,
    Engine,
    Event,
    Grid,
    Job,
    TrainingWork,
    jobs,
    machine,
    run_jobs,
    worker_pool,
)
from heedful.specs import CorpusSpec, ProbeSpec
from heedful.store import Store
from heedful.studies import METRICS, Study
from paper_tables.checkout import ROWS, made_of, read_kept, tables, write
from paper_tables.compact import read_compact, write_compact
from paper_tables.rows import FORM, NEEDS, as_today, collect, merged, read_rows
from paper_tables.settings import named_models, studies
from paper_tables.trials import TRIALS

SPEEDS = Path("bench/measured/gpu.json")
TABLED = {probe for probe, _ in METRICS.values()} | {need.probe for need in NEEDS}
"""Probes with a number in a table or on a page."""


@dataclass(frozen=True)
class Wanted:
    """Of a study some corpora, models and probes, as patterns, and seeds; None is all it has."""

    study: str
    corpora: tuple[str, ...] | None = None
    seeds: tuple[int, ...] | None = None
    models: tuple[str, ...] | None = None
    probes: tuple[str, ...] | None = None
    size: str = "full"


def wanted(text: str) -> Wanted:
    """From `tutek2020:sst,20news:0-2:bilstm-dot-*:score,substitution`; empty parts are all."""
    name, *parts = text.split(":")
    if name not in studies():
        raise unknown_name("study or trial", name, list(studies()))
    if len(parts) > 4:
        raise HeedfulError(
            f"{text!r} has too many colons: write study:corpora:seeds:models:probes."
        )
    given = [tuple(part.split(",")) if part else None for part in [*parts, *[""] * 4][:4]]
    corpora, numbers, models, probes = given
    for corpus in corpora or ():
        if corpus not in CORPORA:
            raise unknown_name("corpus", corpus, list(CORPORA))
    chosen = None if numbers is None else tuple(_seeds(",".join(numbers)))
    return Wanted(name, corpora, chosen, models, probes)


def _seeds(text: str) -> list[int]:
    """As `--seeds` takes them; `3-9` are those from 3 to 9."""
    first, dash, last = text.partition("-")
    if dash and first.isdecimal() and last.isdecimal():
        return list(range(int(first), int(last) + 1))
    return seeds(text)


def behind_the_rows(rows: pd.DataFrame) -> list[Wanted]:
    """What the kept rows were made of, the cheapest corpora first."""
    keys = ["paper", "corpus", "model", "size", "probe"]
    each = rows.groupby(keys)["seed"].agg(lambda some: tuple(sorted(set(some))))
    alike = each.reset_index().groupby(["paper", "corpus", "model", "size", "seed"], sort=False)
    return [
        Wanted(paper, (corpus,), numbers, (model,), tuple(lines["probe"]), size)
        for (paper, corpus, model, size, numbers), lines in alike
    ]


def plan_of(asked: Wanted, data_dir: Path | None) -> Grid:
    """Its cells, seed by seed, so that what is stopped has all models of the first seeds."""
    study = studies()[asked.study]
    corpora = asked.corpora or study.corpora
    cells = [cell for corpus in corpora for cell in _cells(study, corpus, asked)]
    if not cells:
        raise HeedfulError(f"{asked.study} has no such models: {', '.join(asked.models or ())}.")
    cells.sort(key=lambda cell: cell.seed)
    return Grid(study, cells, data_dir, lenient=asked.corpora is None)


def _cells(study: Study, corpus: str, asked: Wanted) -> Iterator[Cell]:
    setting, small = study.setting(corpus, CORPORA[corpus].kind), study.small.get(corpus)
    choice = Choice(size=asked.size)
    train = choice.training(setting.training(corpus), small)
    known = named_models(study, setting)
    if asked.models is None:
        known = {name: model for name, model in known.items() if model in setting.models}
    own = choice.asked(setting.probes, small)
    probes = tuple(probe for probe in own if _chosen(probe, asked.probes))
    for number in asked.seeds or study.seeds:
        for name, model in known.items():
            if asked.models is None or any(fnmatchcase(name, each) for each in asked.models):
                yield Cell(corpus_of(study, corpus), model, number, train, probes)


def _chosen(probe: ProbeSpec, names: Sequence[str] | None) -> bool:
    return probe.name in (TABLED if names is None else names)


def corpus_of(study: Study, name: str) -> CorpusSpec:
    trial = TRIALS.get(study.name)
    return default_spec(name) if trial is None else trial.corpus(name)


# What it costs: by the speed of a card that `python -m bench.gpu` measured.


@dataclass(frozen=True)
class Speed:
    """Milliseconds of an update: a line in the mean length of the texts. `shared` says how much
    faster several processes on one card are than one, by their number."""

    lines: dict[str, tuple[float, float]]
    shared: dict[int, float]

    @classmethod
    def measured(cls, path: Path = SPEEDS) -> Speed:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf8"))
        rows = [row for row in found["training"] if row["batch"] == LEAST_BATCH]
        times = {(row["model"], row["corpus"]): row["ms_per_update"] for row in rows}
        lines = {}
        for name in {model for model, _ in times}:
            short, long = times[name, "SST"], times[name, "IMDb"]
            slope = (long - short) / (LENGTHS["IMDb"] - LENGTHS["SST"])
            lines[name] = (short - slope * LENGTHS["SST"], slope)
        return cls(lines, {row["workers"]: row["ratio"] for row in found["several"]})

    def seconds(self, work: TrainingWork, store: Store) -> float:
        """Of a training, all epochs counted."""
        corpus, spec = Prepared(store.open(work.corpus)), work.recipe.train
        some = corpus.split("train")
        updates = spec.epochs * -(-len(some) // spec.batch_size)
        start, slope = self.lines[SIMILAR.get(work.recipe.model.encoder, RECURRENT)]
        layers = work.recipe.model.layers
        return updates * (start + layers * slope * float(some.lengths.mean())) / 1000

    def faster(self, workers: int) -> float:
        return max(ratio for number, ratio in self.shared.items() if number <= workers)


RECURRENT = "BiLSTM 2×128"
SIMILAR = {"cnn": "CNN", "conv": "CNN", "average": "average", "none": "average"}
"""The model that was timed, by the encoder that is most like it; others are recurrent."""
LEAST_BATCH, LENGTHS = 32, {"SST": 19, "IMDb": 190}


def told_cost(work: Iterable[Job], store: Store, workers: int) -> None:
    """By corpus, and all together."""
    speed, by_corpus = Speed.measured(), dict[str, tuple[int, float]]()
    for job in work:
        if isinstance(job.work, TrainingWork):
            title = job.title.partition(" ")[0]
            number, seconds = by_corpus.get(title, (0, 0.0))
            by_corpus[title] = number + 1, seconds + speed.seconds(job.work, store)
    for title, (number, seconds) in by_corpus.items():
        say(f"{title}: {number} trainings, about {duration(seconds)} by one process on a card")
    total = sum(seconds for _, seconds in by_corpus.values())
    faster = speed.faster(workers)
    say(
        f"trainings, about {duration(total)} by one process, {duration(total / faster)} by "
        f"{workers} on the same card ({faster:.1f} times as fast, as measured on an H200); "
        "probes come on top."
    )


# The work itself.


def ran(asked: argparse.Namespace) -> int:
    store, data = open_store(asked.store), check_data_dir(asked.data_dir)
    names = [wanted(text) for text in asked.names] or behind_the_rows(read_rows(ROWS))
    until = None if asked.minutes is None else time.monotonic() + 60 * asked.minutes
    where = machine(asked.device, asked.threads)
    work = _once(jobs((plan_of(each, data) for each in names), store, where, False, say))
    left = [job for job in work if not job.done]
    pool = worker_pool(asked.workers, asked.threads, where.device)
    say(f"{len(work)} jobs, {len(work) - len(left)} of them done")
    told_cost(left, store, pool.workers)
    if asked.dry_run or not left:
        return 0
    counts = dict.fromkeys(("finished", "failed", "skipped"), 0)
    began = time.monotonic()

    def watch(event: Event) -> None:
        if event.what in counts:
            counts[event.what] += 1
        if event.what != "started":
            spent = f"{event.seconds:.0f} s {event.reason}".rstrip()
            at = f"{time.monotonic() - began:4.0f} s"
            say(f"{at} [{counts['finished']}/{len(left)}] {event.what}: {event.job.title}, {spent}")

    # probes as soon as their models are there: a finished cell is worth more than two begun
    queue = sorted(work, key=lambda job: job.kind != "probes")
    failures = run_jobs(queue, store, where, Engine("local", pool), watch, until=until)
    say(f"{counts['finished']} of {len(left)} jobs done in {duration(time.monotonic() - began)}")
    for failure in failures:
        say(f"failed: {failure.job.title}: {failure.reason}")
    return 1 if failures else 0


def _once(work: Iterable[Job]) -> list[Job]:
    return list({job.name: job for job in work}.values())


def added(files: Sequence[Path]) -> None:
    """Rows of files into the checkout's tables and pages, under the studies that ask for them."""
    kept = read_kept()
    rows = as_today(read_compact(ROWS, FORM))
    for path in files:
        rows = merged(rows, as_today(read_compact(path, FORM)))
    kept = replace(kept, rows=rows)
    write({**tables(kept), **made_of(kept)})
    say(f"{len(kept.rows)} rows: {ROWS}")


def main(given: Sequence[str] | None = None) -> int:
    asked = arguments(given)
    try:
        if asked.add:
            added(asked.add)
            return 0
        code = ran(asked)
        if asked.rows and not asked.dry_run:
            write_compact(collect(open_store(asked.store)), asked.rows)
        return code
    except (HeedfulError, MissingData) as error:
        say(f"error: {error}")
        return 2


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    data = os.environ.get("HEEDFUL_DATA")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="study:corpora:seeds:models:probes")
    parser.add_argument("--minutes", type=float, help="Stop after so many.")
    parser.add_argument("--workers", type=int, help="Processes at a time.")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--dry-run", action="store_true", help="Print the cost, and end.")
    parser.add_argument("--rows", type=Path, help="Then write the store's compact rows here.")
    parser.add_argument("--add", type=Path, action="append", help="Add rows of such a file.")
    parser.add_argument("--data-dir", type=Path, default=Path(data) if data else None)
    parser.add_argument("--store", default=os.environ.get("HEEDFUL_STORE", DEFAULT_STORE))
    return parser.parse_args(given)


if __name__ == "__main__":
    sys.exit(main())
