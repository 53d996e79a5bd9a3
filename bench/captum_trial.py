"""One model and its texts, for Captum and Heedful alike; what is timed, and how far apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bench.captum_data import FILLERS, Size, batches, classifier, plain, texts
from bench.captum_theirs import Captum, Scores
from bench.memory import Measured, measure
from bench.row import Cost, Row, joined
from bench.setting import Setting
from heedful.models import attach
from heedful.types import Batch, Model

Work = Callable[[Batch], Any]
CLOSE, ROUGHLY = 1e-3, 0.1  # of a text's largest score


@dataclass(frozen=True)
class Trial:
    model: Model
    module: Any
    texts: Batch
    size: Size
    name: str
    quick: bool

    def ours(self, scores: Callable[[Batch], Tensor]) -> Measured:
        """In batches of like length, as an audit would."""

        def work(texts: Batch) -> Scores:
            found = [(batch, scores(batch)) for batch in batches(texts, self.size.batch)]
            return {
                name: row for each, rows in found for name, row in zip(each.ids, rows, strict=True)
            }

        return self._timed(work)

    def best(
        self,
        settings: Iterable[tuple[int, int | None]],
        call: str,
        *args: Any,
        kind: type[Captum] = Captum,
    ) -> Measured:
        """The fastest of Captum's settings."""
        methods = [getattr(kind(self.module, *setting), call) for setting in settings]
        timed = [self._timed(lambda texts, m=method: m(texts, *args)) for method in methods]
        return min(timed, key=lambda measured: measured.seconds)

    def documented(self, call: str, *args: Any, kind: type[Captum] = Captum) -> Measured:
        return self.best([(1, None)], call, *args, kind=kind)

    def row(self, part: str, how: str, theirs: Measured, ours: Measured, note: str) -> Row:
        n = len(self.texts)
        what = f"{n} texts of 4 to {self.size.longest} tokens, {self.name}"
        costs = Cost.of(theirs), Cost.of(ours)
        return Row("captum", part, what, f"Captum, {how}", *costs, note)

    def equal(self, part: str, how: str, theirs: Measured, ours: Measured, note: str = "") -> Row:
        """Where nothing is sampled all scores must be the same: nearly to single precision, and
        roughly where the note allows for a gap of completeness."""
        found = theirs.value[0] if isinstance(theirs.value, tuple) else theirs.value
        apart = max(_apart(found[name], row) for name, row in ours.value.items())
        if not apart < (ROUGHLY if note else CLOSE):
            raise ValueError(f"{part}: scores differ by {apart:.2%} of a text's largest")
        note = joined(note, f"scores within {apart:.1g} of a text's largest")
        return self.row(part, how, theirs, ours, note)

    def alike(self, part: str, how: str, theirs: Measured, ours: Measured, note: str = "") -> Row:
        """Where both sample: how well the scores of a text correlate, on average."""
        found = [_correlation(theirs.value[name], row) for name, row in ours.value.items()]
        mean = torch.stack(found).nanmean()
        return self.row(part, how, theirs, ours, joined(note, f"mean correlation {mean:.2f}"))

    def _timed(self, work: Work) -> Measured:
        """After a few texts, so that nothing is paid that is made once."""
        work(self.texts.take(torch.arange(2, device=self.texts.labels.device)))
        return measure(lambda: work(self.texts), self.size.repeats, enough=8.0)


@contextmanager
def trial(setting: Setting, size: Size) -> Iterator[Trial]:
    """Captum keeps transformers' fast attention; Heedful's stays open to edits."""
    module, name = classifier(setting.quick)
    module = module.to(setting.device)
    theirs = plain(module)
    with attach(module, FILLERS) as model:
        batch = texts(size, module.config.vocab_size).to(setting.device)
        yield Trial(model, theirs, _labelled(model, batch, size), size, name, setting.quick)


def _apart(theirs: Tensor, ours: Tensor) -> float:
    """The largest difference as a share of the text's largest score."""
    n = min(len(theirs), len(ours))  # columns of longer texts in either's batch
    return float((theirs[:n] - ours[:n]).abs().max() / theirs.abs().max().clamp_min(1e-12))


def _correlation(theirs: Tensor, ours: Tensor) -> Tensor:
    n = min(len(theirs), len(ours))
    return torch.corrcoef(torch.stack([theirs[:n], ours[:n]]))[0, 1]


def _labelled(model: Model, batch: Batch, size: Size) -> Batch:
    """Every text with the class that is predicted for it."""
    predicted: dict[str, int] = {}
    with torch.no_grad():
        for part in batches(batch, size.batch):
            predicted |= zip(part.ids, model(part).logits.argmax(-1).tolist(), strict=True)
    labels = torch.tensor([predicted[name] for name in batch.ids], device=batch.labels.device)
    return Batch(batch.ids, batch.texts, labels)
