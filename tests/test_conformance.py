"""Randomised conformance: whatever is typed, whatever files hold, a command ends by itself with a
result or with one sentence, within its limits, and changes nothing that is not its output.

Cases have numbers, and a number always makes the same case. To run others than the usual ones:

    HEEDFUL_CASES=1234 pytest tests/test_conformance.py      # one of them; 5000-6000 is a range
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers")
pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("altair")
pytest.importorskip("yaml")

from bad_input.sentences import one_sentence
from bad_input.shared import key_of
from conformance.cases import Place, make
from conformance.folders import BOMB
from conformance.options import SERVERS
from conformance.worker import MEMORY, Ending, Request, Worker

FEW, MANY, TOGETHER = 160, 2000, 20
SECONDS = 20.0
"""Of the CPU. Nothing that is asked here takes a tenth of it unless something is wrong."""
EMPTY = "an empty folder"
GATES = ("check", "benchmark", "compare", "store")
STORES = ("store", "new-store", "grid-store", "heedful-store")
SHOWN_FIRST = ("study",)
"""Results are shown before the report is made of them, which may fail."""
INTERRUPTED = 130
_PROGRESS = re.compile(r"^\[\d+/\d+\] .*\n", re.MULTILINE)
"""A job that was begun before the sentence."""


@pytest.fixture(scope="module")
def worker(shared: Path) -> Iterator[Worker]:
    worker = Worker(shared / "bert", shared / "good.csv")
    yield worker
    worker.close()


@dataclass(frozen=True)
class Ran:
    """A case that was run, and every file before and after."""

    number: int
    kind: str
    typed: tuple[str, ...]
    ending: Ending
    before: dict[str, str]
    after: dict[str, str]

    def told(self, what: str) -> str:
        typed = " ".join(each if len(each) < 60 else f"{each[:60]}…" for each in self.typed)
        said = self.ending.err[-1500:]
        return f"case {self.number} ({self.kind}): {what}\n  heedful {typed}\n  {said}"


def run_case(number: int, shared: Path, folder: Path, worker: Worker) -> Ran:
    here = folder / str(number)
    here.mkdir()
    kind, typed = make(number, Place(shared, here))
    typed = tuple(_put(each, shared) for each in typed)
    before = everything(here, shared)
    cache = {"HEEDFUL_CACHE": str(folder / "cache")}
    request = Request(typed, str(here), cache, SECONDS, serves=typed[0] in SERVERS)
    ending = worker.run(request)
    return Ran(number, kind, typed, ending, before, everything(here, shared))


def problems(ran: Ran) -> list[str]:
    """Everything about the ending that should not be."""
    ending, found = ran.ending, []
    if ending.timed_out or ending.seconds > SECONDS:
        found.append(f"it took {ending.seconds:.0f} s of the CPU")
    if ending.peak > MEMORY or "not enough memory" in ending.err:
        found.append(f"it took {ending.peak >> 20} MB of memory")
    if ending.code < 0 and not ending.timed_out:
        found.append(f"it was ended by signal {-ending.code}")
    if "Traceback" in ending.out + ending.err:
        found.append("a traceback")
    if ending.code not in _codes(ran.typed[0]) and ending.code >= 0:
        found.append(f"exit code {ending.code}")
    if ending.code == 2:
        found += _refusal(ran)
    kept = {name: what for name, what in ran.before.items() if what != EMPTY}
    changed = [name for name, what in kept.items() if ran.after.get(name) != what]
    allowed = _may_change(ran)
    found += [f"{name} was changed" for name in changed if not name.startswith(allowed)]
    if any(Path(name).name == BOMB for name in ran.after):
        found.append("code that came with a file was run")
    return [ran.told(each) for each in found]


def _codes(verb: str) -> tuple[int, ...]:
    if verb in SERVERS:
        return (0, 2, INTERRUPTED)
    return (0, 1, 2) if verb in GATES else (0, 2)


def _refusal(ran: Ran) -> list[str]:
    """One sentence, and nothing left but finished runs and a store's scratch."""
    printed = ran.ending.out != "" and ran.typed[0] not in SHOWN_FIRST
    found = ["something was printed as if it were a result"] if printed else []
    try:
        one_sentence(_PROGRESS.sub("", ran.ending.err))
    except AssertionError as error:
        found.append(f"not one sentence ({str(error)[:200]})")
    new = [name for name in ran.after if name not in ran.before]
    return found + [f"{name} was left" for name in new if not name.startswith(STORES)]


def _may_change(ran: Ran) -> tuple[str, ...]:
    """Answers are taken into a study; a store is cleaned by `gc`."""
    if ran.typed[0] == "annotate":
        return ("study.db",)
    return ("store/",) if ran.typed[:2] == ("store", "gc") else ()


def everything(here: Path, shared: Path) -> dict[str, str]:
    return snapshot(here) | {f"shared/{name}": what for name, what in snapshot(shared).items()}


def snapshot(folder: Path) -> dict[str, str]:
    """Every file and link below a folder with a digest of what is in it."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"link to {path.readlink()}"
        elif path.is_file():
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        elif not any(path.iterdir()):
            found[name] = EMPTY
    return found


def _put(text: str, shared: Path) -> str:
    for kind in ("model", "probe", "study"):
        text = text.replace(f"{kind.upper()}_KEY", key_of(shared, kind))
    return text.replace("SHARED", str(shared))


def _numbers() -> list[object]:
    """Few of them always, the others in `make test-all`."""
    asked = os.environ.get("HEEDFUL_CASES", f"0-{MANY}")
    first, _, end = asked.partition("-")
    numbers = range(int(first), int(end or int(first) + 1))
    usual = "HEEDFUL_CASES" not in os.environ
    parts = [numbers[at : at + TOGETHER] for at in range(0, len(numbers), TOGETHER)]
    return [
        pytest.param(
            part,
            id=f"{part[0]}-{part[-1]}",
            marks=[pytest.mark.slow] if usual and part[0] >= FEW else [],
        )
        for part in parts
    ]


@pytest.mark.parametrize("numbers", _numbers())
def test_a_generated_command_ends_well(
    numbers: range, shared: Path, worker: Worker, tmp_path: Path
) -> None:
    found = []
    for number in numbers:
        found += problems(run_case(number, shared, tmp_path, worker))
    assert not found, "\n".join(found)


def test_a_case_is_the_same_every_time(shared: Path, tmp_path: Path) -> None:
    made = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
        typed = []
        for number in range(40):
            here = folder / str(number)
            here.mkdir()
            typed.append((make(number, Place(shared, here)), snapshot(here)))
        made.append(typed)
    assert made[0] == made[1]


GOOD = Ran(
    0, "options", ("explain",), Ending(0, "a result\n", "", 0.1, 0, False), {"a": "1"}, {"a": "1"}
)
REFUSED = "error: there is no file x: give another.\n"


@pytest.mark.parametrize(
    ("ending", "after", "said"),
    [
        ({"err": "Traceback (most recent call last):\n"}, {}, "a traceback"),
        ({"code": -6}, {}, "signal 6"),
        ({"code": 1}, {}, "exit code 1"),
        ({"timed_out": True}, {}, "of the CPU"),
        ({"seconds": SECONDS + 1}, {}, "of the CPU"),
        ({"peak": MEMORY + 1}, {}, "of memory"),
        (
            {"code": 2, "out": "", "err": "error: not enough memory: close something.\n"},
            {},
            "memory",
        ),
        ({}, {"a": "2"}, "a was changed"),
        ({}, {BOMB: EMPTY}, "was run"),
        ({"code": 2, "out": "", "err": REFUSED + REFUSED}, {}, "not one sentence"),
        ({"code": 2, "err": REFUSED}, {}, "as if it were a result"),
        ({"code": 2, "out": "", "err": REFUSED}, {"half": "1"}, "half was left"),
    ],
)
def test_a_bad_ending_is_seen(ending: dict[str, Any], after: dict[str, str], said: str) -> None:
    ran = replace(GOOD, ending=replace(GOOD.ending, **ending), after={**GOOD.after, **after})
    assert any(said in each for each in problems(ran))


def test_a_good_ending_is_let_pass() -> None:
    refused = replace(GOOD.ending, code=2, out="", err=f"[1/1] a job\n{REFUSED}")
    left = {**GOOD.after, "store/runs/x": "1"}
    assert problems(GOOD) == problems(replace(GOOD, ending=refused, after=left)) == []
