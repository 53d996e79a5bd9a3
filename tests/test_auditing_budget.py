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
from torch import nn

from heedful.auditing import (
    BASELINES,
    FIRST,
    WAVE,
    AuditSpec,
    Looks,
    Measurer,
    Pace,
    Plan,
    Running,
    audit,
    batches,
    tables,
    waves,
)
from heedful.auditing.schedule import is_slow
from heedful.store import Store
from heedful.targets import AuditTarget, open_target
from heedful.verdict import Decision, Settings, Verdict

pytest.importorskip("transformers")

from tiny_hf import tiny_hf
from tiny_tokenizers import word_pieces

auditing = import_module("heedful.auditing.audit")
sequential = import_module("heedful.verdict.settings")


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
    monkeypatch.setattr(auditing, "is_slow", lambda subject: True)
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


def many(n: int, device: str = "cpu") -> Any:
    """Of an audit's target what waves look at."""
    ids = [str(i) for i in range(n)]
    return type("Many", (), {"ids": ids, "device": device, "__len__": lambda self: n})()


def test_a_gpu_is_given_more_texts_at_a_time() -> None:
    """The same in the same order; where time is short it begins with few of them, too."""
    steps, usual = list(waves(many(600, "cuda"), 0)), list(waves(many(600), 0))
    assert [len(step) for step in steps] == [256, 256, 88]
    assert np.concatenate(steps).tolist() == np.concatenate(usual).tolist()
    few = [len(step) for step in waves(many(100, "cuda"), 0, first=FIRST)]
    assert few[:3] == [2, 2, 4] and max(few) <= WAVE


@given(st.lists(st.integers(1, 300), unique=True, max_size=8), st.integers(1, 300))
def test_waves_end_where_somebody_looks(ends: list[int], n: int) -> None:
    """And hold the same texts in the same order."""
    steps = list(waves(many(n), 0, ends=sorted(ends)))
    assert np.concatenate(steps).tolist() == np.concatenate(list(waves(many(n), 0))).tolist()
    assert {end for end in ends if end < n} <= set(np.cumsum([len(step) for step in steps]))
    assert max(map(len, steps)) <= WAVE


def test_little_is_begun_at_once_where_a_model_is_large() -> None:
    """A MiniLM on a CPU has 10 million weights beside its embeddings; the tiny one has none."""
    with open_target(MODEL, texts(3)) as subject:
        assert not is_slow(subject)
        large = nn.Sequential(nn.Linear(3000, 3000), nn.Embedding(10, 4))
        wide = replace(subject, model=large, rows=[range(40)] * 3)
        assert is_slow(wide) and not is_slow(replace(wide, device="cuda"))
        assert not is_slow(replace(wide, model=nn.Embedding(100_000, 100)))


# --- the answer may be settled early


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """What every judgement was made by."""
    seen, judge = list[Settings](), tables.judge

    def listen(rows: Any, costs: Any, facts: Any, chosen: Settings) -> Verdict:
        seen.append(chosen)
        return judge(rows, costs, facts, chosen)

    monkeypatch.setattr(tables, "judge", listen)
    return seen


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks from the fourth text on."""
    monkeypatch.setattr(sequential, "FIRST_LOOK", 4)


def settled(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """No verdict is open from so many texts on."""
    judge = tables.judge

    def decide(rows: Any, costs: Any, facts: Any, chosen: Settings) -> Verdict:
        said = Decision.NOT_SUPPORTED if facts["measured"] >= at else Decision.INCONCLUSIVE
        return replace(judge(rows, costs, facts, chosen), decision=said)

    monkeypatch.setattr(tables, "judge", decide)


def shares(seen: list[Settings], n: int) -> list[list[float]]:
    return [[share * n for share in chosen.looked] for chosen in seen]


def test_an_audit_looks_on_its_way_unless_all_is_asked_for(
    looked: list[Settings], short: None
) -> None:
    found = audit(MODEL, texts(16), SPEC, FEW)
    assert shares(looked, 16) == [[4], [4, 8], [4, 8, 16]] and found.facts["measured"] == 16
    assert [(chosen.look, chosen.looks) for chosen in looked] == [(1, 3), (2, 3), (3, 3)]
    looked.clear()
    whole = audit(MODEL, texts(16), SPEC, FEW, all=True)
    assert [(chosen.look, chosen.looks, chosen.looked) for chosen in looked] == [(1, 1, ())]
    wide, narrow = found.verdict["use"], whole.verdict["use"]
    assert wide.estimate == pytest.approx(narrow.estimate, abs=1e-6)  # other batches
    assert wide.low < narrow.low and wide.high > narrow.high
    assert found.verdict.digest == whole.verdict.digest  # when it was looked is no setting


def test_it_stops_once_the_answer_is_settled(
    looked: list[Settings], short: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`all` goes on with the batches that are there, pays for the early look, and is kept."""
    settled(monkeypatch, at=8)
    lines, store = list[str](), Store(tmp_path)
    plan, seen = Plan(store, announce=lines.append), list[tuple[str, ...]]()
    whole = Measurer.__call__

    def count(self: Measurer, batch: Any, *rest: Any) -> Any:
        seen.append(batch.ids)
        return whole(self, batch, *rest)

    monkeypatch.setattr(Measurer, "__call__", count)
    found = audit(MODEL, texts(16), SPEC, FEW, plan)
    assert found.facts["measured"] == 8 == len(found.documents) and not store.keys()
    assert lines == [
        "after 4 of 16 examples: cannot tell yet",
        "after 8 of 16 examples: no (settled; --all measures the rest)",
    ]
    assert found.facts["notes"][-1] == (
        "stopped early: 8 of 16 texts were measured (--all: all of them)."
    )
    again = audit(MODEL, texts(16), SPEC, FEW, plan)
    assert again.verdict.to_json() == found.verdict.to_json() and sum(map(len, seen)) == 8
    every = audit(MODEL, texts(16), SPEC, FEW, plan, all=True)
    assert every.facts["measured"] == 16 == sum(map(len, seen)) and len(store.keys()) == 1
    assert shares(looked, 16)[-1] == [4, 8, 16] and looked[-1].look == looked[-1].looks == 3
    audit(MODEL, texts(16), SPEC, FEW, plan)
    assert looked[-1].looked == (0.25, 0.5, 1.0)  # judged again as it was


def test_time_that_was_up_is_a_look_too(
    clock: Clock, looked: list[Settings], short: None, tmp_path: Path
) -> None:
    plan = Plan(Store(tmp_path), clock=clock)
    first = audit(MODEL, texts(16), SPEC, FEW, plan, budget=60)
    assert first.facts["measured"] == 6 and shares(looked, 16) == [[4], [4, 6]]
    assert (looked[-1].look, looked[-1].looks) == (2, 4)
    more = audit(MODEL, texts(16), SPEC, FEW, plan, budget=1e9)
    assert more.facts["measured"] == 16 and shares(looked, 16)[-1] == [4, 6, 8, 16]
    assert clock.now == 1000 + 160  # nothing twice


@pytest.mark.parametrize("damage", ["", "[]", "{", '{"was": ["x"], "slowly": 1}'])
def test_who_cannot_say_how_often_it_looked_pays_for_all_looks(damage: str, tmp_path: Path) -> None:
    (tmp_path / "looks.json").write_text(damage, encoding="utf8")
    assert Looks.kept(tmp_path, 200).at(200, FEW).looked == (0.125, 0.25, 0.5, 1.0)
    assert Looks.kept(tmp_path / "new", 200).at(200, FEW).looked == ()


def test_five_minutes_unless_told_otherwise() -> None:
    asked = {
        (300.0, True): Running(),
        (1800.0, True): Running(budget="30min"),
        (None, False): Running(all=True),
    }
    for (budget, stops), running in asked.items():
        plan = running.plan(Plan())
        assert (plan.budget, plan.stops) == (budget, stops)
    for running in (Running(engine="local"), Running(seed_model=["other"])):
        assert not running.plan(Plan()).stops and running.plan(Plan()).budget is None


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
