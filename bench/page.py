"""`python -m bench.page`: the page of benchmarks, from what was measured and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.measure import Cost, Row
from bench.results import Kept, read
from heedful.store import markdown_table

TITLE = "# Benchmarks"
INTRODUCTION = """\
`make bench` writes this page. Theirs and ours were measured by one command in the same process, on
the same texts and the same weights. Seconds are the best of several runs. MB are the peak of the
first run beyond what was held before it: the process's on a CPU, the allocator's on a card. The
ratio is their seconds over ours. Every part has a process of its own. Times vary between runs, and
more under load, so compare within a row: a ratio near one means no difference."""
REPEAT = """\
## To measure again

<!-- needs: hours -->
```console
$ make bench                                     # all parts on the CPU, and this page
$ python -m bench --only captum training-sst     # some sections or parts; the others stay
$ python -m bench --device cuda                  # the same on a card
$ python -m bench --quick                        # does it run at all? keeps nothing
$ python -m bench.page                           # this page from what is kept
```

Results are kept in `bench/measured/`, part by part: a run that was stopped resumes.
`--out FOLDER` keeps results and page elsewhere. What a package is missing for is skipped, and the
page says so."""


@dataclass(frozen=True)
class Section:
    """With `by_size` the section has a table for each size."""

    name: str
    title: str
    text: str
    by_size: bool = False


SECTIONS = (
    Section(
        "papers",
        "The papers' procedures",
        """\
jain2019's experiments restated as they were published: plain tensor operations in small batches,
a re-run per deletion, permutations one after the other, adversaries by AMSGrad, all on a packed
LSTM. The model, a BiLSTM with additive attention, was trained on generated texts as long as SST's
and IMDb's. All parts start from the passes through the model; a battery makes them and runs
everything. The gradient and leave-one-out share one encoding of each text, so `correlation` costs
less than its two parts. The entropy-matched search is not in the paper. The reference's seconds
are added up from its parts, and its MB in a battery are the largest part's. Small batches leave
most of a card idle, so ratios are larger there.""",
        by_size=True,
    ),
    Section(
        "reach",
        "Search beside the exact solver",
        """\
How long Heedful's own search with a single candidate needs to come close to the furthest attention,
which the exact solver knows. A search that ends in a local optimum never arrives.""",
    ),
    Section(
        "deletions",
        "Leave-one-out by length",
        """\
A text of T random tokens. The naive way deletes each token and runs the model again; for long texts
it is timed on deletions spread over the text, and scaled. Ours is `model.leave_one_out_logits`:
recurrent encoders walk on from cached states to where they have forgotten the token, convolutions
recompute a window, and where states do not depend on their neighbours nothing but the sum changes.
Few tokens are read anew in one batch. `unforgetting` is a BiLSTM with open forget gates, which has
to walk to the end of the text, the worst case. Hugging Face models are run again, so
they gain nothing. Growth is the slope of log time over log T between the two longest texts.""",
    ),
    Section(
        "training",
        "A training epoch",
        """\
Heedful's training loop beside the loop a tutorial writes: shuffled batches padded to the longest
text of each, a packed BiLSTM of the same size with additive attention, Adam, binary cross-entropy.
Both make the same number of updates and are scored on the dev split after each epoch, which counts.
Ours also buckets texts by length, keeps the best epoch, and has AMSGrad and weight decay.""",
    ),
    Section(
        "captum",
        "Beside Captum",
        """\
Every method that both have, on a BERT with random weights and texts of random tokens. *Documented*
is Captum as its tutorials run it, one text at a time; *best* is the fastest of some settings:
padded batches, several steps or perturbations at once. Captum keeps transformers' fast attention;
Heedful's stays open to edits. Methods that do not sample must give the same scores, or the part
fails. Integrated gradients are compared at an equal completeness gap: every text within what Captum
left in its worst; for *best* Captum takes as few steps as bring every text within Heedful's
tolerance. Methods that sample are compared at an equal number of samples, with Captum's kernel,
removal and noise set to Heedful's. Captum has no deletion that shortens a text.""",
        by_size=True,
    ),
    Section(
        "inseq",
        "Beside inseq",
        """\
Decoders: for each token that a GPT-2 with random weights wrote after a prompt, scores of all tokens
before it. *Documented* is inseq given the written text, which it explains one text at a time with
eager attention; *best* is the fastest of some settings: fast attention, several steps or
perturbations at once, and inseq writing the text itself, which lets it take several texts at once.
Scores must be the same, or the part fails; integrated gradients are compared at an equal
completeness gap.""",
    ),
    Section(
        "audit",
        "A whole audit",
        """\
An audit from the open model to the verdict, beside the same audit put together from Captum and
plain loops: five explanations and three baselines, six measures of erasure under two perturbations,
agreement. *Loops* run the model once for each set of words that a measure asks about. *Loops,
batched* remember a text's sets and run up to 64 of them together. Numbers must be the same, or the
part fails; where a step of integration changes an order of words, single numbers may differ.
Without Captum the loops are given the explanations for nothing.""",
    ),
    Section(
        "attach",
        "Attention that can be edited",
        """\
The forward pass of a Hugging Face model attached to Heedful, all weights kept, beside the module
itself with eager attention and `output_attentions`.""",
    ),
    Section(
        "long",
        "Long texts",
        """\
Time and memory of the probes where texts are long; memory is beyond the passes, which are made
before.""",
    ),
)


# Rows as a table of Markdown. What is the same in every row is said above it, once.


def table(rows: Sequence[Row]) -> list[str]:
    """A caption and a blank line where there is something to say, and the table."""
    columns = _columns(rows)
    cells = [columns, *zip(*columns.values(), strict=True)]
    head, *lines = (list(map(_safe, line)) for line in cells)
    return [*_caption(rows), *markdown_table(head, lines, ["---"] * len(head)).split("\n")]


def _caption(rows: Sequence[Row]) -> list[str]:
    """The size, and what more there is to say of theirs: `naive, 32 at once`."""
    size = rows[0].size if _one([row.size for row in rows]) else ""
    name, _, more = rows[0].name.partition(", ")
    how = f"{name}: {more}" if more and _one([row.name for row in rows]) else ""
    said = "; ".join(words for words in (size, how) if words)
    return [f"{said}.", ""] if said else []


def _columns(rows: Sequence[Row]) -> dict[str, list[str]]:
    """Columns without a word in them are left out."""
    name = rows[0].name.split(", ")[0] if _one([row.name for row in rows]) else ""
    theirs = name or "theirs"
    found = {
        "part": [row.part for row in rows],
        "size": [] if _one([row.size for row in rows]) else [row.size for row in rows],
        "beside": [] if name else [row.name for row in rows],
        f"{theirs} s": [_seconds(row.theirs) for row in rows],
        "ours s": [_seconds(row.ours) for row in rows],
        "ratio": [_ratio(row) for row in rows],
        f"{theirs} MB": [_megabytes(row.theirs) for row in rows],
        "ours MB": [_megabytes(row.ours) for row in rows],
        "note": [row.note for row in rows],
    }
    return {title: cells for title, cells in found.items() if any(cells)}


def _one(values: Sequence[str]) -> bool:
    return len(set(values)) == 1


def _seconds(cost: Cost | None) -> str:
    """Three digits that count."""
    if cost is None:
        return ""
    digits = 2 if cost.seconds >= 1 else 3 if cost.seconds >= 0.1 else 4
    return f"{cost.seconds:.{digits}f}"


def _megabytes(cost: Cost | None) -> str:
    if cost is None:
        return ""
    return "n/a" if cost.mb is None else f"{cost.mb:.0f}"


def _ratio(row: Row) -> str:
    if row.ratio is None:
        return ""
    return f"{row.ratio:.1f}×" if row.ratio >= 0.95 else f"{row.ratio:.2f}×"


def _safe(cell: str) -> str:
    """A bar in a cell would be a new cell."""
    return cell.replace("|", "\\|")


ROOT = Path(__file__).resolve().parent.parent
MEASURED, PAGE = ROOT / "bench" / "measured", ROOT / "docs" / "benchmarks.md"
DEVICES = {"cpu": "CPU", "cuda": "GPU"}
FACTS = {"memory_gb": "GB of memory", "cores": "cores", "threads": "threads"}


def write_page(folder: Path = MEASURED, page: Path = PAGE) -> None:
    page.write_text(render(kept_in(folder)), encoding="utf-8")


def kept_in(folder: Path) -> list[Kept]:
    """One for each device that was measured."""
    paths = [folder / f"{device}.json" for device in DEVICES]
    return [read(path) for path in paths if path.exists()]


def render(every: Sequence[Kept]) -> str:
    machines = [_machine(kept) for kept in every]
    parts = [TITLE, INTRODUCTION, "\n".join(machines)]
    for section in SECTIONS:
        parts += [f"## {section.title}", section.text, *_tables(section, every)]
    return "\n\n".join(part for part in [*parts, REPEAT] if part) + "\n"


def _tables(section: Section, every: Sequence[Kept]) -> Iterator[str]:
    for kept in every:
        rows, device = kept.rows(section.name), DEVICES[kept.device]
        if rows:
            groups = ["\n".join(table(group)) for group in _groups(section, rows)]
            yield "\n\n".join([f"**{device}.**", *groups])
        missing = kept.unmeasured(section.name)
        if missing:
            yield f"Not measured on the {device}: {_reasons(missing)}."


def _reasons(missing: dict[str, str]) -> str:
    """Parts that miss the same are named together."""
    together = {
        reason: [f"`{name}`" for name, why in missing.items() if why == reason]
        for reason in missing.values()
    }
    return "; ".join(f"{', '.join(names)} ({reason})" for reason, names in together.items())


def _groups(section: Section, rows: Sequence[Row]) -> list[list[Row]]:
    if not section.by_size:
        return [list(rows)]
    sizes = dict.fromkeys(row.size for row in rows)
    return [[row for row in rows if row.size == size] for size in sizes]


def _machine(kept: Kept) -> str:
    """`- CPU: … (2 cores, …), torch …; 2026-11-15, load 0.1 to 2.0`."""
    facts = kept.machine
    sizes = ", ".join(f"{facts[name]} {what}" for name, what in FACTS.items() if name in facts)
    names = ("python", "torch", "transformers", "captum", "inseq")
    versions = ", ".join(f"{name} {facts[name]}" for name in names if name in facts)
    card = f"{facts['gpu']}, " if "gpu" in facts else ""
    warning = " **tiny sizes: these times mean nothing.**" if kept.quick else ""
    what = f"{card}{facts['cpu']} ({sizes}), {versions}"
    return f"- {DEVICES[kept.device]}: {what}; {_when(kept.parts)}.{warning}"


def _when(parts: dict[str, dict[str, Any]]) -> str:
    """Days, and how busy the machine was before and after each part."""
    days = sorted({part["date"] for part in parts.values() if "date" in part})
    loads = [load for part in parts.values() for load in part.get("load", [])]
    if not days:
        return "nothing measured yet"
    span = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return f"{span}, load {min(loads):.1f} to {max(loads):.1f}"


if __name__ == "__main__":
    write_page()
