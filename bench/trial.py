"""One model on texts of one length: every piece is measured when asked for, and only once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from bench.data import Plan, Size
from bench.memory import Measured, measure
from bench.ours import work
from bench.packed import packed
from bench.reference_adversary import adversary
from bench.reference_forward import BATCH, Kept, by_example, forward, spread
from bench.reference_gradient import gradient
from bench.reference_kendall import kendall
from bench.reference_leave_one_out import leave_one_out
from bench.reference_permutation import permutation
from bench.row import Cost, Row
from heedful.corpora import Split
from heedful.models import OneSequence

WARM = 8  # texts of the untimed run before each measurement
ENOUGH = 15.0  # seconds, after which two runs must do
Work = Callable[[], Any]

BATTERY = ("forward", "gradient", "leave_one_out", "permutation", "kendall", "adversary")
REFERENCES = {
    "passes": ("forward",),
    "gradient": ("gradient",),
    "leave_one_out": ("leave_one_out",),
    "permutation": ("permutation",),
    "correlation": ("gradient", "leave_one_out", "kendall"),
    "adversarial (exact)": ("adversary",),
    "adversarial (exact + entropy-matched)": ("adversary",),
    "battery without the adversary": (
        *("forward", "gradient", "leave_one_out", "permutation", "kendall"),
    ),
    "battery (exact)": BATTERY,
    "battery (exact + entropy-matched)": BATTERY,
}
"""What the reference has to do for each part; all parts start from the passes, a battery makes
them."""


class Trial:
    def __init__(self, model: OneSequence, data: Split, plan: Plan, size: Size) -> None:
        self.model, self.data, self.plan, self.size = model, data, plan, size
        self.papers = packed(model)
        self._done: dict[tuple[str, str], Measured] = {}

    def row(self, part: str, size: str) -> Row:
        """Reference beside ours."""
        pieces = {name: self.reference(name) for name in REFERENCES[part]}
        scale = max(piece.scale for piece in pieces.values())
        return Row(
            "papers",
            part,
            size,
            f"papers, batches of {BATCH}",
            Cost(sum(piece.seconds for piece in pieces.values()), _together(pieces)),
            Cost.of(self.ours(part)),
            f"adversary timed on 1/{scale:.3g} of the batches" if scale > 1 else "",
        )

    def ours(self, part: str) -> Measured:
        steps = self.plan.adversary_steps
        return self._measured(("ours", part), lambda data: work(part, self.model, data, steps))

    def reference(self, name: str) -> Measured:
        """A piece by itself: what it starts from is at hand."""
        make: dict[str, Callable[[Split], Work]] = {
            "forward": lambda data: partial(forward, self.papers, data),
            "gradient": lambda data: partial(gradient, self.papers, data),
            "leave_one_out": lambda data: partial(leave_one_out, self.papers, self._kept(data)),
            "permutation": lambda data: partial(permutation, self.papers, self._kept(data)),
            "kendall": self._kendall,
            "adversary": self._adversary,
        }
        scale = self._adversary_scale() if name == "adversary" else 1.0
        return self._measured(("reference", name), make[name], scale)

    def _measured(
        self, key: tuple[str, str], make: Callable[[Split], Work], scale: float = 1.0
    ) -> Measured:
        if key not in self._done:
            make(self.data.subset(range(min(WARM, len(self.data)))))()
            self._done[key] = measure(make(self.data), self.plan.repeats, scale, ENOUGH)
        return self._done[key]

    def _kept(self, data: Split) -> list[Kept]:
        if data is self.data:
            kept: list[Kept] = self.reference("forward").value
            return kept
        return forward(self.papers, data)

    def _kendall(self, data: Split) -> Work:
        kept = self._kept(data)
        attention = by_example([k.batch for k in kept], [k.attention for k in kept])
        scores = (self.reference(name).value for name in ("gradient", "leave_one_out"))
        return partial(kendall, attention, *scores)

    def _adversary(self, data: Split) -> Work:
        some = spread(self._kept(data), self.size.adversary_batches)
        return partial(adversary, self.papers, some, self.plan.adversary_steps)

    def _adversary_scale(self) -> float:
        kept = self._kept(self.data)
        return len(kept) / len(spread(kept, self.size.adversary_batches))


def _together(pieces: dict[str, Measured]) -> float | None:
    """The peak of pieces one after the other, with what the passes kept held all along."""
    passes = pieces.get("forward")
    held = (passes.held_mb or 0.0) if passes else 0.0
    if list(pieces.values()) == [passes]:
        return passes.peak_mb if passes else None
    peaks = [p.peak_mb for p in pieces.values() if p.peak_mb is not None and p is not passes]
    if not peaks:
        return None
    return max(held + max(peaks), passes.peak_mb or 0.0 if passes else 0.0)
