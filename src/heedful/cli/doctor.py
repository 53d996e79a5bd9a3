"""`heedful doctor`: whether everything is there, and the command that brings the rest."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heedful import __version__
from heedful.cli.doctor_machine import machine
from heedful.cli.doctor_packages import CORE, OK, Package, bring, packages
from heedful.cli.doctor_words import lines
from heedful.cli.options import (
    DEFAULT_STORE,
    DataDirOption,
    JsonOption,
    StoreOption,
    existing_store,
)
from heedful.cli.terminal import show, show_json
from heedful.errors import HeedfulError

if TYPE_CHECKING:
    from heedful.store import Store

_CORE_IS_ILL = 2
_FILES = ("file", "parallel")
"""These read any file that is named, so there is nothing to look for."""


def doctor(
    store: StoreOption = DEFAULT_STORE,
    data_dir: DataDirOption = None,
    corpora: Annotated[
        bool, typer.Option("--corpora", help="Also how to get each corpus that is missing.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Also every package and every corpus.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Say whether everything is there, and how to get what is not; exit code 2 if the core is
    incomplete."""
    found = facts(store, data_dir)
    if as_json:
        show_json("doctor", found)
    else:
        for line in lines(found, every_package=everything, every_corpus=corpora or everything):
            show(line)
    if not found["core"]:
        raise typer.Exit(_CORE_IS_ILL)


def facts(store: str, data_dir: Path | None) -> dict[str, Any]:
    """All that can be said; nothing beyond the core's packages is needed to say it."""
    needs, here = packages(), machine()
    core = here["torch_problem"] is None and bring(CORE, needs) is None
    return {
        "heedful": __version__,
        "python": platform.python_version(),
        "core": core,
        "extras": _extras(needs),
        "packages": [{**vars(each), "bring": _bring(each)} for each in needs],
        **here,
        "data_dir": None if data_dir is None else str(data_dir),
        "corpora": _corpora(data_dir) if core else {},
        "store": {"path": store, **_store(store)} if core else None,
    }


def _extras(needs: list[Package]) -> dict[str, dict[str, Any]]:
    """The core and each extra: what is wrong, and the one command for all of it."""
    return {
        extra: {
            "wrong": [each.sentence for each in needs if each.extra == extra and each.state != OK],
            "bring": bring(extra, needs),
        }
        for extra in dict.fromkeys(each.extra for each in needs)
    }


def _bring(package: Package) -> str | None:
    return bring(package.extra, [package])


def _corpora(data_dir: Path | None) -> dict[str, str]:
    """Whether each corpus can be had, or the sentence that says what is missing."""
    from heedful.corpora import CORPORA

    return {name: _corpus(name, data_dir) for name in CORPORA if name not in _FILES}


def _corpus(name: str, data_dir: Path | None) -> str:
    """Files are looked for, not read: that would take minutes."""
    from heedful.corpora import CORPORA

    try:
        piece = CORPORA[name]
        if piece.find is not None:
            piece.find(data_dir)
            return "ready, its files are there"
    except HeedfulError as error:
        return str(error)
    if "data" in piece.needs:
        return f"unknown before it is read: heedful prepare {name} tries."
    return "ready, it is generated"


def _store(place: str) -> dict[str, Any]:
    """Whether it is there and its records can be read, or why nobody can say. Its files are left
    to `heedful store verify`, which may take long."""
    try:
        found = existing_store(place)
        damaged = [] if found is None else _damaged(found)
        runs = 0 if found is None else len(found.keys())
        exists, problem = found is not None, None
    except HeedfulError as error:
        exists, runs, damaged, problem = False, 0, [], str(error)
    return {"exists": exists, "runs": runs, "damaged": damaged, "problem": problem}


def _damaged(store: Store) -> list[str]:
    from heedful.store import Damaged

    found = []
    for key in store.keys():
        try:
            store.record(key)
        except Damaged:
            found.append(key)
    return found
