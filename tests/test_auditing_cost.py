"""What an audit will cost is told beforehand, for any model, and is about right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import heedful
from heedful.auditing import AuditSpec, Plan, audit, schedule
from heedful.progress import duration
from heedful.store import Store
from heedful.verdict import Settings
from test_targets_run import Mine

pytest.importorskip("transformers")

from tiny_hf import tiny_hf
from tiny_tokenizers import word_pieces

SPEC = AuditSpec(
    ("attention", "occlusion"),
    importance=("occlusion",),
    operators=("delete", "mask"),
    permutations=2,
    ceiling=0,
    only=("interventions", "erasure", "randomization_check"),
)
FEW = Settings(resamples=100)
WORDS = ["the", "film", "was", "very", "good", "and", "not", "dull", "but", "it", "is", "a", "bad"]


def texts(n: int) -> list[dict[str, Any]]:
    """Of two to twelve words."""
    return [{"text": " ".join(WORDS[: 2 + i % 11]), "label": i % 2} for i in range(n)]


@dataclass
class Clock:
    """A run of the model takes `call` seconds, and `text` more for each text; nothing else does."""

    call: float
    text: float
    now: float = 0.0

    def __call__(self) -> float:
        return self.now

    def seconds(self, work: Callable[[], object]) -> float:
        start = self.now
        work()
        return self.now - start


def keep_time(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (schedule, import_module("heedful.auditing.explanation")):
        monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=clock))


@contextmanager
def running(module: torch.nn.Module, clock: Clock) -> Iterator[None]:
    def count(module: torch.nn.Module, inputs: Any, output: Any) -> None:
        clock.now += clock.call + clock.text * len(output.logits)

    hook = module.register_forward_hook(count)
    try:
        yield
    finally:
        hook.remove()


def subject(kind: str) -> tuple[Any, torch.nn.Module, dict[str, Any]]:
    if kind == "adapter":
        mine = Mine()
        return mine, mine.model, {"label_map": {"0": 0, "1": 1}}
    module = tiny_hf()
    return (module, word_pieces()), module, {}


@pytest.mark.parametrize(
    ("kind", "call", "text"),
    [
        ("adapter", 0.01, 1e-4),
        ("adapter", 1e-4, 1.0),
        ("hugging face", 1e-4, 0.01),
    ],
)
def test_an_estimate_is_about_right(
    kind: str, call: float, text: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether each run costs most, or each text: within a factor of two."""
    model, module, options = subject(kind)
    clock, rows = Clock(call, text), texts(40)
    keep_time(clock, monkeypatch)
    with running(module, clock):
        asked = clock.now
        found = heedful.estimate(model, rows, SPEC, **options)
        spent = clock.now - asked
        real = clock.seconds(lambda: audit(model, rows, SPEC, FEW, **options))
    assert real / 2 < found.seconds < real * 2, (found.seconds, real)
    assert found.texts == 40 and found.passes_per_text > 10
    assert found.timed <= 4 or spent < 60


def test_few_texts_are_estimated_too(monkeypatch: pytest.MonkeyPatch) -> None:
    model, module, options = subject("adapter")
    clock = Clock(0.1, 1.0)
    keep_time(clock, monkeypatch)
    with running(module, clock):
        for count in (1, 3):
            found = heedful.estimate(model, texts(count), SPEC, **options)
            real = clock.seconds(lambda n=count: audit(model, texts(n), SPEC, FEW, **options))  # type: ignore[misc]
            assert real / 2.5 < found.seconds < real * 2.5, (count, found.seconds, real)


def test_a_long_audit_says_so_before_it_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """To whoever listens; a short one, a second start and one with a budget say nothing."""
    model, module, options = subject("adapter")
    rows, clock = texts(8), Clock(0.0, 0.0)
    keep_time(clock, monkeypatch)
    said: list[str] = []
    seen: list[tuple[str, int]] = []

    def heard(**more: Any) -> heedful.Audit:
        said.clear()
        seen.clear()
        progress = lambda label, done, total: seen.append((label, done))  # noqa: E731
        return audit(
            model,
            rows,
            SPEC,
            FEW,
            plan=Plan(progress=progress, announce=said.append, **more),
            all="budget" not in more,
            **options,
        )

    with running(module, clock):
        quiet = heard()
        assert said == [] and ("audit", 8) in seen
        clock.text = 0.2
        told = heard()
        line = said[0]
        assert len(said) == 1 and line.startswith("about ") and "for 8 texts" in line
        assert [label for label, _ in seen].index(line) < seen.index(("audit", 8))
        assert told.rows.equals(quiet.rows)
        heard(budget=1e9)
        assert said == []
        store = Store(tmp_path / "store")
        heard(store=store)
        assert len(said) == 1
        heard(store=store)
        assert said == []


def test_durations_are_for_people() -> None:
    assert [duration(each) for each in (40, 1500, 12_600)] == ["40 s", "25 min", "3.5 h"]
