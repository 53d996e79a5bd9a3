"""`heedful doctor`: whether everything is there, and the command that brings the rest."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from heedful import __version__
from heedful.cli.options import (
    DEFAULT_STORE,
    DataDirOption,
    JsonOption,
    StoreOption,
    existing_store,
    option,
    spread,
)
from heedful.cli.output import next_step, show_result
from heedful.cli.tables import Table, show_prose, show_table
from heedful.errors import HeedfulError, listed

if TYPE_CHECKING:
    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet

_FILES = ("file", "parallel")
"""These read any file that is named, so there is nothing to look for."""
Facts = dict[str, Any]
_MOST_NAMES = 12
GIGABYTE = 1e9
CORE = "core"
OK, MISSING, OLD, NEW = "ok", "missing", "too old", "too new"
_OURSELVES = "heedful"


@spread
def doctor(
    store: StoreOption = DEFAULT_STORE,
    data_dir: DataDirOption = None,
    corpora: bool = option("Say how to get each missing corpus.", False, "--corpora"),
    everything: bool = option("List every package and every corpus.", False, "--all"),
    as_json: JsonOption = False,
) -> None:
    """Check the installation.

    Says what is there and how to get what is missing; the exit code is 2 if the core is incomplete.
    """
    found = facts(store, data_dir)
    if not show_result("doctor", as_json, found):
        told = list(rows(found, every_package=everything, every_corpus=corpora or everything))
        show_prose(summary(found))
        show_table(Table(("", ""), told), (f"{name:<8} {words}" for name, words in told))
        if found["core"]:
            next_step("`heedful demo` audits two models, in about two minutes.")
    if not found["core"]:
        raise typer.Exit(2)


def facts(store: str, data_dir: Path | None) -> Facts:
    """All that can be said; nothing beyond the core's packages is needed to say it."""
    needs, here = packages(), machine()
    core = here["torch_problem"] is None and bring(CORE, needs) is None
    return {
        "heedful": __version__,
        "python": platform.python_version(),
        "core": core,
        "extras": _extras(needs),
        "packages": [{**vars(each), "bring": bring(each.extra, [each])} for each in needs],
        **here,
        "data_dir": None if data_dir is None else str(data_dir),
        "corpora": _corpora(data_dir) if core else {},
        "store": {"path": store, **_store(store)} if core else None,
    }


def _extras(needs: list[Package]) -> dict[str, Facts]:
    """The core and each extra: what is wrong, and the one command for all of it."""
    return {
        extra: {
            "wrong": [each.sentence for each in needs if each.extra == extra and each.state != OK],
            "bring": bring(extra, needs),
        }
        for extra in dict.fromkeys(each.extra for each in needs)
    }


def _corpora(data_dir: Path | None) -> dict[str, str]:
    """Whether each corpus can be had, or the sentence that says what is missing. Files are looked
    for, not read: that would take minutes."""
    from heedful.data import CORPORA

    states = {}
    for name in CORPORA:
        if name in _FILES:
            continue
        try:
            corpus = CORPORA[name]
            if corpus.find is not None:
                corpus.find(data_dir)
                states[name] = "ready, its files are there"
            elif "data" in corpus.needs:
                states[name] = f"unknown before it is read: heedful prepare {name} tries."
            else:
                states[name] = "ready, it is generated"
        except HeedfulError as error:
            states[name] = str(error)
    return states


def _store(place: str) -> Facts:
    """Whether it is there and its records can be read, or why nobody can say. Its files are left
    to `heedful store verify`, which may take long."""
    from heedful.store import Damaged

    damaged = []
    try:
        store = existing_store(place)
        if store is None:
            return {"exists": False, "runs": 0, "damaged": [], "problem": None}
        for key in store.keys():
            try:
                store.record(key)
            except Damaged:
                damaged.append(key)
        runs = len(store.keys())
    except HeedfulError as error:
        return {"exists": False, "runs": 0, "damaged": [], "problem": str(error)}
    return {"exists": True, "runs": runs, "damaged": damaged, "problem": None}


def rows(facts: Facts, every_package: bool, every_corpus: bool) -> Iterator[tuple[str, str]]:
    """What there is, and its state in words."""
    for name, extra in facts["extras"].items():
        yield name, _wrong(extra) if extra["bring"] else "ready"
    for package in facts["packages"] if every_package else ():
        name, state = f"  {package['extra']}", package["state"]
        wanted = "" if state == OK else f" {state}: {package['bring']}"
        version = f"{package['version'] or 'missing'} ({package['wants']}){wanted}"
        yield name, f"{package['name']:<18} {version}"
    yield "device", _device(facts)
    room = f"{facts['disk_free_gb']:.1f} GB of disk are free here"
    if facts["memory_gb"] is not None:
        free, total = facts["memory_free_gb"], facts["memory_gb"]
        room = f"{free:.1f} of {total:.1f} GB of memory free, {room}"
    yield "room", room
    browser = facts["chromium"] or "no chromium"
    yield "browser", f"{browser} (only the tests of pages need one)"
    if facts["corpora"]:
        yield from _corpora_words(facts, every_corpus)
    if facts["store"]:
        yield "store", _store_words(facts["store"])


def summary(facts: Facts) -> str:
    """One line that somebody can act on."""
    who = f"heedful {facts['heedful']} on Python {facts['python']}"
    if not facts["core"]:
        core = facts["extras"].get(CORE, {"bring": None})
        torch = f"torch cannot be imported ({facts['torch_problem']}): install it again"
        return f"{who}: the core does NOT work; {_wrong(core) if core['bring'] else torch}."
    optional = {name: extra for name, extra in facts["extras"].items() if name != CORE}
    ready = [name for name, extra in optional.items() if not extra["bring"]]
    absent = [name for name in optional if name not in ready]
    if not absent:
        return f"{who}: the core and every extra ({', '.join(ready)}) are ready."
    there = f"so are {', '.join(ready)}" if ready else "no extra is"
    return (
        f"{who}: the core is ready, {there}; not {', '.join(absent)}: "
        f"pip install 'heedful[{','.join(absent)}]'."
    )


def _wrong(extra: Facts) -> str:
    return f"{', '.join(extra['wrong'])}: {extra['bring']}"


def _device(facts: Facts) -> str:
    if facts["torch_problem"]:
        return f"unknown: torch cannot be imported ({facts['torch_problem']})"
    cores = f"{facts['cores']} cores"
    if not facts["gpus"]:
        return f"no GPU is seen: everything runs on the CPU, {cores}"
    return f"{len(facts['gpus'])} GPU: {', '.join(facts['gpus'])}; {cores}"


def _corpora_words(facts: Facts, every: bool) -> Iterator[tuple[str, str]]:
    states: dict[str, str] = facts["corpora"]
    ready = [name for name, state in states.items() if state.startswith("ready")]
    missing = [name for name in states if name not in ready]
    where = facts["data_dir"] or "no data directory: give --data-dir or set HEEDFUL_DATA"
    yield "data", where
    yield "corpora", f"{len(ready)} ready: {', '.join(ready)}"
    if missing and not every:
        more = "heedful doctor --corpora says how to get each"
        yield "", f"{len(missing)} not: {listed(missing, _MOST_NAMES)}; {more}"
    if every:
        yield from (("", f"{name:<20} {state}") for name, state in states.items())


def _store_words(store: Facts) -> str:
    if store["problem"]:
        return str(store["problem"])
    if not store["exists"]:
        return f"{store['path']} is made by the first run"
    if not store["damaged"]:
        return f"{store['path']}: {store['runs']} runs (heedful store verify checks their files)"
    few = listed(store["damaged"], _MOST_NAMES)
    return f"{store['path']}: {few} damaged; heedful store verify says how to fix them"


def machine() -> Facts:
    """A torch that cannot be imported is told, not raised: this is what a doctor is for."""
    return {
        **_torch(),
        "cores": os.cpu_count(),
        **_memory(),
        "disk_free_gb": round(shutil.disk_usage(Path.cwd()).free / GIGABYTE, 1),  # for a store
        "chromium": shutil.which("chromium") or shutil.which("chromium-browser"),
    }


def _torch() -> Facts:
    """Drivers and libraries that do not fit end an import in any way they like."""
    try:
        import torch

        there = torch.cuda.is_available()
        names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    except Exception as error:  # noqa: BLE001 - somebody else's library, and it must be named
        why = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        return {"device": "unknown", "gpus": [], "torch_problem": why}
    gpus = names if there else []
    return {"device": gpus[0] if gpus else "cpu", "gpus": gpus, "torch_problem": None}


def _memory() -> dict[str, float | None]:
    try:
        import psutil
    except ModuleNotFoundError:
        return {"memory_gb": None, "memory_free_gb": None}
    found = psutil.virtual_memory()
    return {
        "memory_gb": round(found.total / GIGABYTE, 1),
        "memory_free_gb": round(found.available / GIGABYTE, 1),
    }


@dataclass(frozen=True)
class Package:
    """One declared need: of the core or of an extra, the range, and what is here."""

    extra: str
    name: str
    wants: str
    version: str | None
    state: str

    @property
    def sentence(self) -> str:
        """What is wrong with it; nothing to say of one that is fine."""
        if self.state == MISSING:
            return f"{self.name} is missing"
        return f"{self.name} {self.version} is {self.state} ({self.wants})"


def packages() -> list[Package]:
    """Every need of the core and of the extras, in the order of the declaration."""
    declared = _declared()
    # what `all` brings: the other extras are for those who work on Heedful
    ours = (need.extras for need in declared if need.name == _OURSELVES and _belongs(need, "all"))
    brought: set[str] = set().union(*ours)
    extras = [name for name in _about().get_all("Provides-Extra") or () if name in brought]
    found = []
    for extra in (CORE, *extras):
        for need in declared:
            if need.name == _OURSELVES or not _belongs(need, extra):
                continue
            try:
                version: str | None = metadata.version(need.name)
            except metadata.PackageNotFoundError:
                version = None
            wants = need.specifier
            found.append(Package(extra, need.name, str(wants), version, state(wants, version)))
    return found


def bring(extra: str, found: list[Package]) -> str | None:
    """The command that fixes an extra; None where nothing is to be mended."""
    wrong = [each for each in found if each.extra == extra and each.state != OK]
    if not wrong:
        return None
    if extra != CORE:
        return f"pip install 'heedful[{extra}]'"
    named = " ".join(f"'{each.name}{each.wants}'" for each in wrong)
    return f"pip install {named}"


def state(wants: SpecifierSet, version: str | None) -> str:
    """A version under test (2.0rc1, 2.13.0+cpu) counts as what it comes before or is a build of."""
    if version is None:
        return MISSING
    if wants.contains(version, prereleases=True):
        return OK
    from packaging.version import Version

    above = [each for each in wants if each.operator in ("<", "<=", "==", "~=")]
    bounds = [Version(each.version.removesuffix(".*")) for each in above]
    return NEW if any(Version(version) >= bound for bound in bounds) else OLD


def _declared() -> list[Requirement]:
    try:
        from packaging.requirements import Requirement
    except ModuleNotFoundError as error:
        raise HeedfulError(
            "packaging is missing, and the core needs it: pip install packaging."
        ) from error
    return [Requirement(line) for line in _about().get_all("Requires-Dist") or ()]


def _belongs(need: Requirement, extra: str) -> bool:
    """A need without a condition, or whose condition is met without any extra, is the core's."""
    if need.marker is None or need.marker.evaluate({"extra": ""}):
        return extra == CORE
    return extra != CORE and need.marker.evaluate({"extra": extra})


def _about() -> metadata.PackageMetadata:
    try:
        return metadata.metadata(_OURSELVES)
    except metadata.PackageNotFoundError as error:
        raise HeedfulError(
            "heedful runs from a folder and is not installed, so nobody knows what it needs: "
            "run pip install --editable . where its pyproject.toml is."
        ) from error
