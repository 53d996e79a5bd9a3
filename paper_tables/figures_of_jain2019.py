"""`docs/figures-of-jain2019.md`: the paper's Figures 2 to 5, drawn from compact histograms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

import pandas as pd

from heedful.report.panels import FAINT, FONT, INK, class_colour
from heedful.studies import dataset_name
from paper_tables.document import table
from paper_tables.histograms import BINS, ENDS, LN2, WEIGHTS


@dataclass(frozen=True)
class Drawing:
    """A figure of the paper: its measures in the order of preference, and its words. With
    `by_weight` there is a row for each quarter of the largest weight."""

    name: str
    title: str
    measures: tuple[str, ...]
    axis: str
    says: str
    by_weight: bool = False


DRAWINGS = (
    Drawing(
        "figure-2",
        "Figure 2: attention against gradients",
        ("tau_gradient",),
        "Kendall τ",
        "At 1, attention and gradients rank the words alike. At 0, they are unrelated.",
    ),
    Drawing(
        "figure-2-leave-one-out",
        "Figure 2 for leave-one-out",
        ("tau_loo",),
        "Kendall τ",
        "The same for how much the output changes without each word. The paper shows it online.",
    ),
    Drawing(
        "figure-3",
        "Figure 3: shuffled attention",
        ("tvd_median",),
        "median change of the output",
        "Mass at the left of the upper rows means that even peaked attention can be shuffled "
        "without consequence.",
        by_weight=True,
    ),
    Drawing(
        "figure-4",
        "Figure 4: the furthest attention with the same prediction",
        ("jsd_exact",),
        "Jensen–Shannon distance",
        "The paper searched; these distances are exact. The largest possible one is 0.69.",
    ),
    Drawing(
        "figure-5",
        "Figure 5: the same by the largest weight",
        ("jsd_exact",),
        "Jensen–Shannon distance",
        "Mass at the right of the upper rows means that even peaked attention could be elsewhere.",
        by_weight=True,
    ),
)
HEAD = """# Figures of jain2019

Do attention and gradients agree, and does other attention change the prediction? These are Jain and
Wallace's Figures 2 to 5, for the corpora whose counts are kept.

| in a panel | means |
|---|---|
| above the line, below it | texts predicted as the first class, as the second |
| height | relative to the fullest bin of each side: compare shapes, not heights |
| a row with a name | texts whose largest weight is in this range, with their number beside it |

`heedful study all --report` draws the figures from `reproduction/histograms.csv` alone. The report
of `heedful study jain2019` draws them from your runs.
"""


def figures_page(counts: pd.DataFrame) -> str:
    """The whole page."""
    parts = [HEAD]
    for drawing in DRAWINGS:
        part = _of(drawing, counts)
        picture = f"![{drawing.title}: {drawing.axis}](figures/jain2019/{drawing.name}.svg)"
        shown = picture if len(part) else "No counts were kept yet."
        parts.append(f"## {drawing.title}\n\n{drawing.says}\n\n{shown}\n")
    lines = [
        [dataset_name(str(corpus)), str(model), str(some["seed"].nunique()), str(_texts(some))]
        for (corpus, model), some in counts.groupby(["corpus", "model"], sort=True)
    ]
    head = ["dataset", "model", "seeds", "texts"]
    made = table(head, lines) if lines else "None."
    return "\n".join([*parts, f"## What was counted\n\n{made}\n"])


def figures_drawn(counts: pd.DataFrame) -> dict[str, str | None]:
    """By the name of the file; None where nothing was kept."""
    return {f"{each.name}.svg": drawn(each, counts) for each in DRAWINGS}


def _of(drawing: Drawing, counts: pd.DataFrame) -> pd.DataFrame:
    return counts[counts["measure"].isin(drawing.measures)]


def _texts(some: pd.DataFrame) -> int:
    """Of one measure and seed, the most that were counted."""
    return int(some.groupby(["seed", "measure"])["count"].sum().max())


# Small multiples as SVG, drawn by hand: the same bytes on every machine.

PANEL, ROW, GAP, LEFT, TOP, FOOT = 300, 64, 40, 62, 34, 44
COLUMNS = 2
NAMES = ("0–0.25", "0.25–0.5", "0.5–0.75", "0.75–1")


def drawn(drawing: Drawing, counts: pd.DataFrame) -> str | None:
    part = _of(drawing, counts)
    if part.empty:
        return None
    rows = WEIGHTS if drawing.by_weight else 1
    panels = list(part.groupby(["corpus", "model"], sort=True))
    tall = TOP + rows * ROW + FOOT
    width = COLUMNS * (LEFT + PANEL + GAP)
    height = tall * -(-len(panels) // COLUMNS)
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{FONT}" '
        f'font-size="12" fill="{INK}">',
        f"<title>{escape(f'{drawing.title}: {drawing.axis}')}</title>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for number, ((corpus, model), some) in enumerate(panels):
        x = LEFT + (number % COLUMNS) * (LEFT + PANEL + GAP)
        y = TOP + (number // COLUMNS) * tall
        lines.append(_text(x, y - 14, f"{dataset_name(str(corpus))}, {model}", "start"))
        lines += _panel(drawing, some, x, y)
    return "\n".join([*lines, "</svg>", ""])


def _panel(drawing: Drawing, some: pd.DataFrame, x: float, y: float) -> Iterator[str]:
    rows = WEIGHTS if drawing.by_weight else 1
    low, high = ENDS[drawing.measures[0]]
    bottom = y + rows * ROW
    for tick in _ticks(low, high):
        at = x + PANEL * (tick - low) / (high - low)
        yield _rule(at, y, at, bottom)
        yield _text(at, bottom + 16, f"{tick:g}".replace("-", "−"), "middle")
    yield _text(x + PANEL / 2, bottom + 32, drawing.axis, "middle")
    for row in range(rows):
        part = some[some["weight"] == rows - 1 - row] if drawing.by_weight else some
        line = y + row * ROW + ROW / 2
        yield _rule(x, line, x + PANEL, line)
        if drawing.by_weight:
            yield _text(x - 6, line + 4, NAMES[rows - 1 - row], "end")
            yield _text(x + PANEL + 4, line + 4, str(int(part["count"].sum())), "start")
        several = part["predicted"].nunique() > 2  # no side of its own for each
        sides = part.assign(predicted=0) if several else part
        for label, side in sides.groupby("predicted", sort=True):
            yield from _bars(side, int(str(label)), x, line)


def _bars(side: pd.DataFrame, label: int, x: float, line: float) -> Iterator[str]:
    """The class's share in each bin: even classes up, odd ones down; the tallest is half a row."""
    total = side.groupby("bin")["count"].sum()
    wide, most = PANEL / BINS, float(total.max())
    for place, count in total.items():
        tall = (ROW / 2 - 3) * float(count) / most
        top = line - tall if label % 2 == 0 else line
        left = x + wide * int(str(place))
        yield (
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{tall:.1f}" '
            f'fill="{class_colour(label)}" opacity="0.75"/>'
        )


def _ticks(low: float, high: float) -> Sequence[float]:
    if high == LN2:
        return (0.0, 0.2, 0.4, 0.6)
    return (-1.0, -0.5, 0.0, 0.5, 1.0) if low < 0 else (0.0, 0.25, 0.5, 0.75, 1.0)


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _rule(x: float, y: float, x2: float, y2: float) -> str:
    return f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{FAINT}"/>'
