"""Cases by number: the same number makes the same files and the same command line."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

QUICK = ("--quick", "--explanations", "attention", "--only", "interventions", "--threads", "1")


@dataclass(frozen=True)
class Place:
    """`shared` holds good things that nobody may change; `here` is the current folder of the case,
    with some files of the user's."""

    shared: Path
    here: Path

    def copy(self, name: str, to: str = "") -> Path:
        source, target = self.shared / name, self.here / (to or Path(name).name)
        (shutil.copytree if source.is_dir() else shutil.copyfile)(source, target)
        return target


Typed = tuple[str, ...]
Maker = Callable[[Random, Place], Typed]


def keep_things(place: Place) -> None:
    """What a user keeps where commands run; an output option may name any of it."""
    here = place.here
    (here / "notes.txt").write_text("my notes\n")
    (here / "keep" / "figures").mkdir(parents=True)
    (here / "keep" / "figures" / "mine.svg").write_text("<svg/>")
    (here / "keep" / "page.html").write_text("<p>my page</p>")
    (here / "empty").mkdir()
    (here / "dangling").symlink_to("nowhere/at/all")
    (here / "link").symlink_to("keep")
    (here / "loop").symlink_to("loop")
    place.copy("good.csv")


def make(number: int, place: Place) -> tuple[str, Typed]:
    """The kind of a case and its command line; its files are in the place afterwards."""
    from conformance.files import data_case
    from conformance.folders import model_case
    from conformance.options import option_case
    from conformance.records import record_case

    makers: tuple[tuple[str, Maker], ...] = (
        ("options", option_case),
        ("record", record_case),
        ("model", model_case),
        ("data", data_case),
    )
    random = Random(number)
    keep_things(place)
    kind, maker = makers[number % len(makers)]
    return kind, maker(random, place)
