"""Audits in little time: what is measured is a random sample, in time, and looked at honestly."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.auditing import (
    BASELINES,
    FIRST,
    LOOKS,
    WAVE,
    AuditSpec,
    Measurer,
    Pace,
    Plan,
    audit,
    batches,
    tables,
    waves,
)
from heedful.store import Store
from heedful.targets import AuditTarget, open_target
from heedful.verdict import Settings, Verdict

pytest.importorskip("transformers")

from tiny_hf import tiny_hf
from tiny_tokenizers import word_pieces

auditing = import_module("heedful.auditing.audit")


EXPLANATIONS = ("attention", "gradient_input", "integrated_gradients", "occlusion")
SPEC = AuditSpec(EXPLANATIONS, permutations=2, ceiling=6, search_steps=2, only=("interventions",))
FEW = Settings(resamples=100)
MODEL = (tiny_hf(), word_pieces())
LONG, SHORT = "the film was very good and not dull", "good film"


def texts(n: int) -> list[dict[str, Any]]:
    return [{"text": LONG if i % 2 else SHORT, "label": i % 2, "id": str(i)} for i in range(n)]


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Ten seconds a text, and nothing else takes time."""
    made, whole = Clock(), Measurer.__call__

    def slow(self: Measurer, batch: Any, *rest: Any) -> Any:
        made.now += 10 * len(batch)
        return whole(self, batch, *rest)

    monkeypatch.setattr(Measurer, "__call__", slow)
    return made


def measured(clock: Clock, budget: float, n: int = 20) -> set[str]:
    plan = Plan(budget=budget, clock=clock)
    found = audit(MODEL, texts(n), SPEC, FEW, plan, id_column="id")
    assert found.facts["measured"] == found.rows["example"].nunique()
    return set(found.rows["example"])


def order(n: int = 20) -> list[str]:
    with open_target(MODEL, texts(n), id_column="id") as subject:
        return [subject.documents[i].id for wave in waves(subject, SPEC.seed) for i in wave]


@pytest.mark.parametrize(("budget", "count"), [(1, 2), (39, 3), (100, 10), (500, 20)])
def test_as_many_texts_as_there_is_time_for(clock: Clock, budget: float, count: int) -> None:
    """And they are the first of the random order, whatever their lengths. Two are always
    measured: without them nobody knows how long a text takes."""
    assert measured(clock, budget) == set(order()[:count])


def test_loading_takes_time_too(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def slow(*given: Any, **options: Any) -> Iterator[AuditTarget]:
        clock.now += 50
        with open_target(*given, **options) as subject:
            yield subject

    monkeypatch.setattr(auditing, "open_target", slow)
    assert measured(clock, 100) == set(order()[:5])


def test_what_was_found_does_not_make_the_rest_look_quick(clock: Clock, tmp_path: Path) -> None:
    """Texts of an earlier start cost nothing now, and say nothing about the others."""
    store, rows = Store(tmp_path), texts(20)
    plan = Plan(store, budget=40, clock=clock)
    first = audit(MODEL, rows, SPEC, FEW, plan, id_column="id")
    second = audit(MODEL, rows, SPEC, FEW, plan, id_column="id")
    assert (first.facts["measured"], second.facts["measured"]) == (4, 8)


def test_a_pace_is_that_of_texts_measured_now() -> None:
    clock, wave = Clock(0.0), np.arange(32)
    pace = Pace(clock, deadline=100.0)
    assert len(pace.affordable(wave)) == 32  # nobody knows yet
    with pace.measuring(4):
        clock.now += 20
    assert pace.affordable(wave).tolist() == list(range(16))  # 80 s at 5 s a text
    clock.now = 98.0
    assert not len(pace.affordable(wave))
    clock.now = 1000.0
    assert not len(pace.affordable(wave))
    assert len(replace(pace, deadline=None).affordable(wave)) == 32


@pytest.mark.parametrize("n", [1, 2, 5, 40, 100])
def test_waves_grow_and_cover_all_texts_once(n: int) -> None:
    with open_target(MODEL, texts(n)) as subject:
        small, usual = list(waves(subject, 0, first=FIRST)), list(waves(subject, 0))
        sizes = [len(wave) for wave in small]
        assert sizes[:-1] == [2, 2, 4, 8, 16, 32, 32][: len(sizes) - 1]
        assert np.concatenate(small).tolist() == np.concatenate(usual).tolist()
        assert sorted(np.concatenate(small)) == list(range(n)) and len(usual) == -(-n // WAVE)
        for wave in small:
            parts = list(batches(subject, wave))
            assert sorted(np.concatenate(parts)) == sorted(wave)
        assert not list(batches(subject, small[0][:0]))


@given(st.lists(st.integers(1, 32), min_size=1, max_size=30))
def test_looks_wait_for_their_share_of_the_texts(sizes: list[int]) -> None:
    looks, ends = auditing._looks(sizes), np.cumsum(sizes)
    assert looks[len(sizes)] == LOOKS and list(looks.values()) == sorted(set(looks.values()))
    for place, look in looks.items():
        quarter = ends[-1] / LOOKS
        assert ends[place - 1] >= look * quarter and (
            place == 1 or ends[place - 2] < look * quarter
        )
        assert look == LOOKS or ends[place - 1] < (look + 1) * quarter


def test_who_looked_on_the_way_pays_for_it_later_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A finished audit is judged again as it was, with a budget or without."""
    seen, judge = list[tuple[int, int]](), tables.judge

    def listen(rows: Any, costs: Any, facts: Any, chosen: Settings) -> Verdict:
        seen.append((chosen.look, chosen.looks))
        return judge(rows, costs, facts, chosen)

    monkeypatch.setattr(tables, "judge", listen)
    plan = Plan(Store(tmp_path), budget=1e9)
    first = audit(MODEL, texts(12), SPEC, FEW, plan)
    assert seen == [(1, LOOKS), (2, LOOKS), (4, LOOKS)]  # after 4, 8 and 12 texts
    for again in (plan, Plan(plan.store)):
        found = audit(MODEL, texts(12), SPEC, FEW, again)
        assert found.verdict["use"] == first.verdict["use"]
    assert seen[3:] == [(LOOKS, LOOKS)] * 2


# --- only what is asked for


@pytest.mark.parametrize(
    ("only", "maps"),
    [
        (("interventions", "uniqueness", "layers", "heads"), {"attention"}),
        (("null_space",), {"attention"}),
        (("agreement",), set(EXPLANATIONS)),
        (("interventions", "erasure"), set(EXPLANATIONS)),
    ],
)
def test_only_maps_that_are_needed_are_made(only: tuple[str, ...], maps: set[str]) -> None:
    found = audit(MODEL, texts(2), replace(SPEC, only=only), FEW)
    assert set(found.costs["explanation"]) == maps
    assert set(found.maps["explanation"]) == {*maps, *BASELINES}
