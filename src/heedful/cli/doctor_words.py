"""What `heedful doctor` prints: the answer first, then a line for each thing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Facts = dict[str, Any]
_MOST_NAMES = 12


def lines(facts: Facts, every_package: bool, every_corpus: bool) -> Iterator[str]:
    yield summary(facts)
    yield from (_row(extra, _extra(state)) for extra, state in facts["extras"].items())
    if every_package:
        yield from (_package(each) for each in facts["packages"])
    yield _row("device", _device(facts))
    yield _row("room", _room(facts))
    yield _row("browser", _browser(facts["chromium"]))
    if facts["corpora"]:
        yield from _corpora(facts, every_corpus)
    if facts["store"]:
        yield _row("store", _store(facts["store"]))


def summary(facts: Facts) -> str:
    """One line that somebody can act on."""
    who = f"heedful {facts['heedful']} on Python {facts['python']}"
    if not facts["core"]:
        return f"{who}: the core does NOT work; {_why(facts)}."
    optional = {name: state for name, state in facts["extras"].items() if name != "core"}
    ready = [name for name, state in optional.items() if not state["bring"]]
    absent = [name for name, state in optional.items() if state["bring"]]
    if not absent:
        return f"{who}: the core and every extra ({', '.join(ready)}) are ready."
    there = f"so are {', '.join(ready)}" if ready else "no extra is"
    return (
        f"{who}: the core is ready, {there}; not {', '.join(absent)}: "
        f"pip install 'heedful[{','.join(absent)}]'."
    )


def _why(facts: Facts) -> str:
    core = facts["extras"].get("core", {"wrong": [], "bring": None})
    if core["bring"]:
        return f"{', '.join(core['wrong'])}: {core['bring']}"
    return f"torch cannot be imported ({facts['torch_problem']}): install it again"


def _extra(state: Facts) -> str:
    return f"{', '.join(state['wrong'])}: {state['bring']}" if state["bring"] else "ready"


def _package(package: Facts) -> str:
    version = package["version"] or "missing"
    wanted = "" if package["state"] == "ok" else f" {package['state']}: {package['bring']}"
    return f"  {package['extra']:<7} {package['name']:<18} {version} ({package['wants']}){wanted}"


def _device(facts: Facts) -> str:
    if facts["torch_problem"]:
        return f"unknown: torch cannot be imported ({facts['torch_problem']})"
    cores = f"{facts['cores']} cores"
    if not facts["gpus"]:
        return f"no GPU is seen: everything runs on the CPU, {cores}"
    return f"{len(facts['gpus'])} GPU: {', '.join(facts['gpus'])}; {cores}"


def _room(facts: Facts) -> str:
    disk = f"{facts['disk_free_gb']:.1f} GB of disk are free here"
    if facts["memory_gb"] is None:
        return disk
    return f"{facts['memory_free_gb']:.1f} of {facts['memory_gb']:.1f} GB of memory free, {disk}"


def _browser(path: str | None) -> str:
    return f"{path or 'no chromium'} (only the tests of pages need one)"


def _corpora(facts: Facts, every: bool) -> Iterator[str]:
    states: dict[str, str] = facts["corpora"]
    ready = [name for name, state in states.items() if state.startswith("ready")]
    missing = [name for name in states if name not in ready]
    where = facts["data_dir"] or "no data directory: give --data-dir or set HEEDFUL_DATA"
    yield _row("data", where)
    yield _row("corpora", f"{len(ready)} ready: {', '.join(ready)}")
    if missing and not every:
        more = "heedful doctor --corpora says how to get each"
        yield _row("", f"{len(missing)} not: {_few(missing)}; {more}")
    if every:
        yield from (f"  {name:<20} {state}" for name, state in states.items())


def _few(names: list[str]) -> str:
    left = len(names) - _MOST_NAMES
    shown = ", ".join(names[:_MOST_NAMES])
    return f"{shown} and {left} more" if left > 0 else shown


def _store(store: Facts) -> str:
    if store["problem"]:
        return str(store["problem"])
    if not store["exists"]:
        return f"{store['path']} is made by the first run"
    if not store["damaged"]:
        return f"{store['path']}: {store['runs']} runs (heedful store verify checks their files)"
    few = _few(store["damaged"])
    return f"{store['path']}: {few} damaged; heedful store verify says how to mend them"


def _row(name: str, text: str) -> str:
    return f"{name:<8} {text}"
