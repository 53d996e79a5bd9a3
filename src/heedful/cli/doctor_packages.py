"""What Heedful declares to need, against what is installed.

The ranges are read from the metadata of the installed package, so they are those that pip went
by; there is no second list.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING

from heedful.errors import HeedfulError

if TYPE_CHECKING:
    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet

CORE = "core"
OK, MISSING, OLD, NEW = "ok", "missing", "too old", "too new"
_ALL = "all"
_OURSELVES = "heedful"


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
    return [
        _looked_at(extra, need)
        for extra in (CORE, *_extras())
        for need in _needs()
        if _belongs(need, extra)
    ]


def bring(extra: str, found: list[Package]) -> str | None:
    """The command that mends an extra; None where nothing is to be mended."""
    wrong = [each for each in found if each.extra == extra and each.state != OK]
    if not wrong:
        return None
    if extra != CORE:
        return f"pip install 'heedful[{extra}]'"
    named = " ".join(f"'{each.name}{each.wants}'" for each in wrong)
    return f"pip install {named}"


def _looked_at(extra: str, need: Requirement) -> Package:
    try:
        version: str | None = metadata.version(need.name)
    except metadata.PackageNotFoundError:
        version = None
    return Package(extra, need.name, str(need.specifier), version, state(need.specifier, version))


def state(wants: SpecifierSet, version: str | None) -> str:
    """A version under test (2.0rc1, 2.13.0+cpu) counts as what it comes before or is a build of."""
    if version is None:
        return MISSING
    if wants.contains(version, prereleases=True):
        return OK
    above = [each for each in wants if each.operator in ("<", "<=", "==", "~=")]
    return NEW if any(_beyond(each.version, version) for each in above) else OLD


def _beyond(bound: str, version: str) -> bool:
    from packaging.version import Version

    return Version(version) >= Version(bound.removesuffix(".*"))


def _needs() -> list[Requirement]:
    """Without those that only name our own extras."""
    return [need for need in _declared() if need.name != _OURSELVES]


def _extras() -> list[str]:
    """What `all` brings: the others are for those who work on Heedful."""
    ours = (need.extras for need in _declared() if need.name == _OURSELVES and _belongs(need, _ALL))
    brought: set[str] = set().union(*ours)
    return [name for name in _about().get_all("Provides-Extra") or () if name in brought]


def _declared() -> list[Requirement]:
    requirement = _requirement()
    return [requirement(line) for line in _about().get_all("Requires-Dist") or ()]


def _belongs(need: Requirement, extra: str) -> bool:
    """A need without a condition, or whose condition is met without any extra, is the core's."""
    in_core = need.marker is None or need.marker.evaluate({"extra": ""})
    if extra == CORE or need.marker is None or in_core:
        return in_core and extra == CORE
    return need.marker.evaluate({"extra": extra})


def _about() -> metadata.PackageMetadata:
    try:
        return metadata.metadata(_OURSELVES)
    except metadata.PackageNotFoundError as error:
        raise HeedfulError(
            "heedful runs from a folder and is not installed, so nobody knows what it needs: "
            "run pip install --editable . where its pyproject.toml is."
        ) from error


def _requirement() -> type[Requirement]:
    try:
        from packaging.requirements import Requirement as Found
    except ModuleNotFoundError as error:
        raise HeedfulError(
            "packaging is missing, and the core needs it: pip install packaging."
        ) from error
    return Found
