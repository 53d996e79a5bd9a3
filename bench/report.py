"""Measurements on disk as soon as they are known, and as tables of Markdown."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from heedful.errors import HeedfulError
from heedful.store import markdown_table

SCHEMA_VERSION = 1
Rows = Iterator[dict[str, Any]]
FAILURES = (
    HeedfulError, subprocess.SubprocessError, RuntimeError, ValueError, TypeError, LookupError,
    AttributeError, NameError, OSError, ImportError, AssertionError,
)  # fmt: skip


class Report:
    """What is known so far, on disk."""

    def __init__(self, path: Path, module: str, limit: float, keep: bool) -> None:
        """What stands in the file already is kept where only some of it is made again."""
        self.path, self.limit, self.started = path, limit, time.monotonic()
        old = json.loads(path.read_text(encoding="utf8")) if keep and path.is_file() else {}
        new = {"schema_version": SCHEMA_VERSION, "command": f"python -m {module}"}
        self.facts: dict[str, Any] = {"seconds": {}, "left_out": {}, **old, **new}

    def collect(self, name: str, work: Callable[[], Rows], more: bool = False) -> None:
        """Row by row; what fails or comes too late is said, and the rest is done. With `more`
        the rows that are there already stay, and their seconds count."""
        begun = time.monotonic() - (self.facts["seconds"].get(name, 0) if more else 0)
        rows = self.facts[name] = list(self.facts.get(name) or ()) if more else []
        self.facts["left_out"].pop(name, None)
        try:
            for row in work():
                rows.append(row)
                self.write()
                print(f"{name}: {_brief(row)}", file=sys.stderr, flush=True)
                if time.monotonic() - self.started > self.limit:
                    self.facts["left_out"][name] = f"stopped after {self.limit:.0f} s"
                    break
        except FAILURES as error:  # the other sections are worth having
            self.facts["left_out"][name] = f"{type(error).__name__}: {error}"
            print(f"{name}: {error}", file=sys.stderr, flush=True)
        self.facts["seconds"][name] = round(time.monotonic() - begun, 1)
        self.write()

    def write(self) -> None:
        beside = self.path.with_suffix(".part")
        beside.write_text(json.dumps(self.facts, indent=1), encoding="utf8")
        beside.replace(self.path)


def _brief(row: dict[str, Any]) -> str:
    plain = {k: v for k, v in row.items() if isinstance(v, str | int | float)}
    shown = (f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in plain.items())
    return ", ".join(list(shown)[:9])


# What `python -m bench.gpu` measured, as tables.


Row = Mapping[str, Any]
Column = tuple[str, Callable[[Row], str]]
KEPT = (
    "tau:occlusion", "tau:integrated_gradients", "tvd_permuted", "comprehensiveness",
    "sufficiency", "deletion_auc",
)  # fmt: skip
"""The measures that decide most, of those an audit has."""


def markdown(found: Mapping[str, Any]) -> str:
    """Sections for what is there; a section that is not is left out, with its reason."""
    parts = [_card(found["card"])] if "card" in found else []
    tables = {"training": TRAINING, "battery": BATTERY, "several": SEVERAL, "audits": AUDITS}
    for name, columns in tables.items():
        if found.get(name):
            parts.append(f"### {TITLES[name]}\n\n{NOTES[name]}\n\n{table(columns, found[name])}")
    parts += _moved(found.get("audits", ()))
    return "\n\n".join([*parts, *left_out(found)]) + "\n"


def left_out(found: Mapping[str, Any]) -> list[str]:
    """What could not be measured, a line each."""
    reasons = found.get("left_out", {}).items()
    return [f"Left out: {name}: {' '.join(str(why).split()).rstrip('.')}." for name, why in reasons]


def table(columns: Sequence[Column], rows: Iterable[Row]) -> str:
    """In Markdown; columns of numbers to the right."""
    cells = [[show(row) for _, show in columns] for row in rows]
    sides = ["---:" if all(map(_numeric, column)) else "---" for column in zip(*cells, strict=True)]
    return markdown_table([title for title, _ in columns], cells, sides)


def _numeric(cell: str) -> bool:
    return cell[:1].isdigit() or cell[:1] in "–±" or cell.startswith("under ")


def number(name: str, digits: int = 1, scale: float = 1.0) -> Callable[[Row], str]:
    def show(row: Row) -> str:
        value = row.get(name)
        return "–" if value is None else f"{scale * value:,.{digits}f}"

    return show


def share(name: str) -> Callable[[Row], str]:
    def show(row: Row) -> str:
        value = row.get(name)
        return "–" if value is None else _percent(value)

    return show


def text(name: str) -> Callable[[Row], str]:
    return lambda row: str(row.get(name) or "–").replace("|", "\\|")


def _percent(value: float) -> str:
    return f"{value:.1%}" if value >= 0.001 or value == 0 else "under 0.1%"


def _kernel(row: Row) -> str:
    if not row.get("kernel"):
        return "–"
    name = str(row["kernel"]).removeprefix("void ").split("<")[0].split("(")[0]
    return f"`{name.replace('|', '')[:44]}` {_percent(row['kernel_share'])}"


TITLES = {
    "training": "Training",
    "battery": "The battery",
    "several": "Several small models at a time",
    "audits": "Audits of pretrained-size models",
}
NOTES = {
    "training": "By the training loop itself in full single precision: batches made on the host, "
    "loss, slopes, AMSGrad. *Busy*: time in which a kernel ran. *Peak*: counted operations over "
    "the measured fp32 peak. *Memory*: what the optimiser alone must move, over the measured copy "
    "rate; a lower bound.",
    "battery": "jain2019's probes; a part is given the passes, the battery makes its own. "
    "*Memory* of leave-one-out: the least its walks must move, over the measured copy rate.",
    "several": "One grid of jain2019 on `planted` by `--engine local --device cuda --workers W "
    "--gpu-fraction 1/W`, the whole command from start to table.",
    "audits": "The default audit of generated reviews, from an opened model to its verdict. "
    "*Busy*, *peak* (of the precision's own) and the kernel are of a wave with a short search.",
}
TRAINING: Sequence[Column] = (
    ("model", text("model")),
    ("texts like", text("corpus")),
    ("batch", number("batch", 0)),
    ("ms per update", number("ms_per_update", 2)),
    ("texts/s", number("texts_per_second", 0)),
    ("tokens/s", number("tokens_per_second", 0)),
    ("launches per update", number("launches", 0)),
    ("busy", share("busy")),
    ("peak", share("peak_share")),
    ("memory", share("bandwidth_share")),
    ("bound by", text("bound")),
)
BATTERY: Sequence[Column] = (
    ("model", text("model")),
    ("part", text("part")),
    ("texts like", text("corpus")),
    ("texts", number("texts", 0)),
    ("s", number("seconds", 3)),
    ("texts/s", number("texts_per_second", 0)),
    ("launches", number("launches", 0)),
    ("busy", share("busy")),
    ("peak", share("peak_share")),
    ("memory", lambda row: share("bandwidth_share")(row) if row["least_bytes"] else "–"),
    ("longest kernel", _kernel),
    ("bound by", text("bound")),
)
SEVERAL: Sequence[Column] = (
    ("workers", number("workers", 0)),
    ("cells", number("cells", 0)),
    ("s", number("seconds", 1)),
    ("cells per minute", number("cells_per_minute", 1)),
    ("over one worker", lambda row: f"{row['ratio']:.2f}×"),
)
AUDITS: Sequence[Column] = (
    ("model", text("model")),
    ("precision", text("precision")),
    ("texts", number("texts", 0)),
    ("words each", number("words", 1)),
    ("s", number("seconds", 1)),
    ("texts/s", number("texts_per_second", 2)),
    ("card's GB", number("peak_bytes", 1, 1e-9)),
    ("busy", share("busy")),
    ("peak", share("peak_share")),
    ("longest kernel", _kernel),
    ("bound by", text("bound")),
)


def _card(card: Row) -> str:
    rates = [f"{name} {card[f'{key}_flops'] / 1e12:,.1f}" for name, key in PEAKS if _has(card, key)]
    memory = f", {card['memory_bytes'] / 1e9:.0f} GB" if "memory_bytes" in card else ""
    return (
        f"{card['name']}{memory}, {card['cores']} cores, torch {card['torch']}. Measured peaks: "
        f"{', '.join(rates)} TFLOP/s of a product of matrices; "
        f"{card['copy_bytes'] / 1e12:.2f} TB/s of a copy (read and written); "
        f"{1e6 * card['launch_seconds']:.1f} µs from one launch out of Python to the next."
    )


PEAKS = (("fp32", "fp32"), ("TF32", "tf32"), ("bf16", "bf16"), ("fp64", "fp64"))


def _has(card: Row, key: str) -> bool:
    return card.get(f"{key}_flops") is not None


def _moved(rows: Iterable[Row]) -> list[str]:
    found = [row for row in rows if "moved" in row]
    if not found:
        return []
    lead = (
        "### How far numbers move in another precision\n\n`heedful audit --dtype`, against float32 "
        "on the same texts; float64 says how far float32 itself is off. "
        "*Order kept*: mean τ of a text's words between the two rankings. *Mean moved*: the "
        "largest change of any mean over texts, beside the spread of single texts."
    )
    return [lead, *(f"{_who(row)}\n\n{_one(row['moved'])}" for row in found)]


def _who(row: Row) -> str:
    known = row.get("accuracy")
    learned = "random weights" if known is None else f"accuracy {known:.2f}"
    return f"**{row['model']}, {row['precision']}** ({learned})"


def _one(moved: Row) -> str:
    order = ", ".join(f"{name} {tau:.3f}" for name, tau in moved["ranking"].items())
    decided = moved["statements"]
    changed = {n: s["decisions"] for n, s in decided.items() if len(set(s["decisions"])) > 1}
    said = "; ".join(f"{name}: {a} → {b}" for name, (a, b) in changed.items()) or "none"
    kept = [(n, v) for n, v in moved["measures"].items() if n in KEPT]
    rows = [{"measure": name, **values} for name, values in kept]
    columns: Sequence[Column] = (
        ("measure", text("measure")),
        ("single text moved", number("each", 5)),
        ("mean moved", number("mean", 5)),
        ("spread over texts", number("spread", 5)),
    )
    return (
        f"Predictions changed: {_percent(moved['predictions_changed'])}. Order kept: {order}. "
        f"Decisions changed, of {len(decided)}: {said}.\n\n{table(columns, rows)}"
    )
