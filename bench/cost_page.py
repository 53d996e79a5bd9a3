"""`docs/cost.md`, from what was measured: not a number in it is typed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from bench.cost_model import SIZES
from bench.report import Column, Row, left_out, markdown, number, table, text

INTRO = """# What it costs

Written by `python -m bench.cost --page` from `bench/measured/cost.json` (made by
`python -m bench.cost --device cuda --out FILE`) and `bench/measured/gpu.json` (by
`python -m bench.gpu --out FILE`). How work is spread over machines is in [scale.md](scale.md)."""

MODEL = """## The model

Costs are sums of products with constants that are measured and never negative. An update: once,
per step of a text, per token of the batch, per number of the vectors (the optimiser visits all of
them), and for models that write per token and word of the vocabulary. A probe: once, per step,
text, token and pair of tokens. An audit: per text, token and pair of tokens. Constants come from
small sizes, from models like those of the grid on made-up texts of even lengths; this is what they
say of two larger sizes that they have not seen, beside what was measured there."""

GRID = """## All studies in full

Every study with all its corpora, models, seeds and probes, as `heedful.studies` has them. Teachers
and models that probes compare with are counted; what several studies need is counted once, at
whoever asks first. Epochs are counted whole: where a training stops early it costs less. Corpora
are as large as published (below), with all texts of one length on the mean: pairs of tokens cost
more where lengths differ."""

BILLION = "## A billion short texts"

BREAKS = """## What would break first

The number of texts at which something ends on the machine that was measured, by what each further
text adds. Memory and files are of an audit of next to nothing (attention's map alone), so that
there can be very many texts; they say what grows, not what a wave of the default audit holds."""

ANSWERS = """What the design does about it:

- **Texts are measured in random order, so whatever has been measured is a random sample.**
  Intervals narrow with the square root of the texts; the table above says how many are enough, and
  `--n` and `--budget` stop there. A billion texts say no more about attention than these do: the
  reason to measure all of them would be to have the maps of all of them.
- **Whoever wants the maps cuts the data into files, each an audit of its own**: audits share
  nothing but the store, and each may have a store of its own. The parts of an unfinished audit are
  small files in one folder; a finished audit is one run of a few.
- **Nothing travels between workers but through the store**: no driver holds results, Ray's object
  store is given jobs and no tables, and a worker that dies costs its own job.
- **Bootstraps are over test examples**, which the table of corpora counts, and never over tokens
  or training texts.
- **A grid ends with its longest job**, since a training is one job on one device: more devices than
  are said above would wait for it."""


Facts = Mapping[str, Any]
HOUR, TERA, GIGA = 3600.0, 1e12, 1e9


def page(cost: Facts | None, gpu: Facts | None) -> str:
    parts = [INTRO, *(_cost(cost, gpu) if cost else ())]
    if gpu:
        parts += ["## On the card", "`python -m bench.gpu`", markdown(gpu).strip()]
    if not cost and not gpu:
        parts.append("Nothing has been measured yet.")
    return "\n\n".join(parts) + "\n"


def _cost(cost: Facts, gpu: Facts | None) -> list[str]:
    parts = [*_machines(cost["machines"]), MODEL, *_checks(cost)]
    if cost.get("studies"):
        parts += [GRID, table(STUDIES, cost["studies"]), *_grid(cost, gpu)]
    if cost.get("billion"):
        parts += [BILLION, _billion(cost), _enough(cost["enough"])]
    if cost.get("breaks"):
        parts += [BREAKS, table(BROKEN, cost["breaks"]), _grown(cost["memory"]), ANSWERS]
    parts += ["## Corpora", _corpora()] if cost.get("studies") else []
    return [*parts, *left_out(cost)]


def _machines(known: Mapping[str, Row]) -> list[str]:
    """Each once, with what was measured on it."""
    by_machine: dict[str, list[str]] = {}
    for section, facts in known.items():
        by_machine.setdefault(_machine(facts), []).append(section)
    return [f"Measured on {which} ({', '.join(some)})." for which, some in by_machine.items()]


def _machine(facts: Row) -> str:
    return (
        f"{facts['device']}, {facts['cores']} cores, torch {facts['torch']}, "
        f"{facts['memory_bytes'] / GIGA:.0f} GB of memory, "
        f"{facts['disk_bytes'] / GIGA:,.0f} GB of disk"
    )


def _checks(cost: Facts) -> list[str]:
    rows = [
        *_rows(cost, "training", "an update"),
        *_rows(cost, "probes"),
        *_rows(cost, "audit", "an audit"),
    ]
    if not rows:
        return []
    ratios = [row["ratio"] for row in rows]
    within = sum(0.5 <= ratio <= 2 for ratio in ratios) / len(ratios)
    said = (
        f"Predicted over measured: {min(ratios):.2f} to {max(ratios):.2f}, median "
        f"{median(ratios):.2f}; within a factor of two in {within:.0%} of {len(ratios)} checks."
    )
    return [table(CHECKS, rows), said]


def _rows(cost: Facts, section: str, what: str = "") -> Iterable[Row]:
    for row in cost.get(section) or ():
        for kind, key in (("s", "checks"), ("bytes", "byte_checks")):
            for check in row.get(key) or ():
                yield {**check, "model": row["model"], "what": what or row["probe"], "unit": kind}


def _at(row: Row) -> str:
    at = row["at"]
    many = f"{at['texts']:,} texts" if at["texts"] else f"batch {at['batch']}"
    return f"{many} of {at['length'] + at['second']} tokens"


def _value(name: str) -> Callable[[Row], str]:
    return lambda row: f"{row[name]:.3g} s" if row["unit"] == "s" else f"{row[name] / 1e3:,.0f} kB"


CHECKS: Sequence[Column] = (
    ("what", text("what")),
    ("model", text("model")),
    ("at", _at),
    ("predicted", _value("predicted")),
    ("measured", _value("measured")),
    ("ratio", number("ratio", 2)),
)
STUDIES: Sequence[Column] = (
    ("study", text("study")),
    ("cells", number("cells", 0)),
    ("models", number("models", 0)),
    ("probe runs", number("probes", 0)),
    ("training h", number("training_seconds", 1, 1 / HOUR)),
    ("probing h", number("probing_seconds", 1, 1 / HOUR)),
    ("storage GB", number("bytes", 1, 1 / GIGA)),
)
BROKEN: Sequence[Column] = (
    ("what ends", text("what")),
    ("each text adds", lambda row: f"{row['each']:.3g}"),
    ("there is", lambda row: f"{row['limit']:.3g}"),
    ("at so many texts", lambda row: "does not grow" if row["at"] is None else f"{row['at']:,.0f}"),
)


def _grid(cost: Facts, gpu: Facts | None) -> list[str]:
    whole = cost["studies"][-1]
    hours = (whole["training_seconds"] + whole["probing_seconds"]) / HOUR
    once, last = cost["runs"][0], cost["longest"]
    said = [
        f"All of it: {hours:,.0f} hours of the device with one process on it, "
        f"{whole['bytes'] / TERA:.3f} TB, {whole['models'] + whole['probes']:,.0f} runs of "
        f"{once['files']:.1f} files each; a run takes {once['seconds']:.2f} s however small it is.",
        f"Most of the time is {_most(cost['studies'][:-1])}. The longest job is the training of "
        f"{last['title']}, {last['seconds'] / HOUR:,.1f} hours: more than "
        f"{hours * HOUR / last['seconds']:,.0f} devices would wait for it.",
    ]
    if whole["unknown"]:
        lacking = f"{whole['unknown']:,.0f} models or probe runs"
        said.append(f"{lacking} have no constant and are not counted.")
    best = max((gpu or {}).get("several") or (), key=lambda row: row["ratio"], default=None)
    if best and whole["training_seconds"]:
        said.append(
            f"Small models leave a card idle: with {best['workers']} processes on one card a grid "
            f"of small cells took 1/{best['ratio']:.2f} of the time (below), which would be "
            f"{hours / best['ratio']:,.0f} card hours here."
        )
    return [" ".join(said)]


def _most(rows: Sequence[Row]) -> str:
    worst = max(rows, key=lambda row: row["training_seconds"] + row["probing_seconds"])
    part = "training" if worst["training_seconds"] > worst["probing_seconds"] else "probing"
    return f"{worst['study']}'s {part}"


def _billion(cost: Facts) -> str:
    found, row = cost["billion"], cost["audit"][0]
    hours = found["seconds"] / HOUR
    return (
        f"{found['texts']:,} texts of {found['words']} words, default measures, {row['model']}: "
        f"{hours:,.0f} hours of the device ({hours / 24 / 365:,.1f} years of one, "
        f"{hours / 24 / 30:,.0f} of them for a month) and {found['bytes'] / TERA:,.1f} TB."
    )


def _enough(rows: Sequence[Row]) -> str:
    columns: Sequence[Column] = (
        ("half-width of a 95% interval", lambda row: f"±{row['width']:g}"),
        ("texts, drawn at random", number("texts", 0)),
        ("hours of the device", number("seconds", 2, 1 / HOUR)),
        ("storage GB", number("bytes", 3, 1 / GIGA)),
    )
    lead = (
        f"For the widest of the measures that decide (standard deviation over texts "
        f"{rows[0]['spread']:.2f}) so many are enough:"
    )
    return f"{lead}\n\n{table(columns, rows)}"


def _grown(rows: Sequence[Row]) -> str:
    said = [
        f"{row['what']}: {min(ratios):.2f} to {max(ratios):.2f}"
        for row in rows
        if (ratios := [check["ratio"] for check in row["checks"]])
    ]
    texts = [check["at"]["texts"] for row in rows for check in row["checks"]]
    at = " and ".join(f"{n:,}" for n in sorted(set(texts)))
    return f"Predicted over measured at {at} texts: {'; '.join(said)}."


def _corpora() -> str:
    columns: Sequence[Column] = (
        ("corpus", text("name")),
        ("train", number("train", 0)),
        ("test", number("test", 0)),
        ("tokens", number("length", 0)),
        ("second text", number("second", 0)),
        ("vocabulary", number("vocabulary", 0)),
        ("source", text("source")),
    )
    return table(columns, ({"name": name, **vars(size)} for name, size in SIZES.items()))
