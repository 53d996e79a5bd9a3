"""An audit as a gate: fail where attention is refuted, or worse than before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from heedful.auditing.audit import audit
from heedful.auditing.explanation import merged
from heedful.auditing.options import Measuring, Running
from heedful.auditing.result import spec_digest
from heedful.auditing.schedule import Plan
from heedful.auditing.spec import AuditSpec
from heedful.errors import HeedfulError, unknown_name
from heedful.input_files import read_whole
from heedful.keywords import keyword, taken, takes
from heedful.store import check_file, write_file
from heedful.targets import Loading, Reading
from heedful.verdict import JUNIT, PROPERTIES, VERDICT, Outcome, Settings, Verdict, failures, junit
from heedful.verdict import check as compare


@dataclass(frozen=True)
class Checking:
    """What an audit is held against, and what is written of it."""

    baseline: Verdict | str | Path | None = keyword(
        "A verdict, or a verdict.json, that must not get worse."
    )
    at_least: Mapping[str, float] = keyword("Thresholds by property: {'importance': 0.4}.", {})
    junit: str | Path | None = keyword("Write JUnit XML here.")
    write_baseline: str | Path | None = keyword("Write this verdict as the next baseline.")


@dataclass(frozen=True)
class Check:
    """What was checked, and the verdict behind it."""

    verdict: Verdict
    outcomes: tuple[Outcome, ...]

    @property
    def passed(self) -> bool:
        return not failures(self.outcomes)

    def lines(self) -> tuple[str, ...]:
        """One for each thing that was checked."""
        return tuple(
            f"{'FAILED' if each.failure else 'ok':<7} {each.name}  {each.failure}".rstrip()
            for each in self.outcomes
        )

    def __str__(self) -> str:
        return "\n".join(self.lines())


@takes(Checking, Reading, Measuring, Running, Loading)
def check(
    model: Any,
    data: Any = None,
    spec: AuditSpec | None = None,
    settings: Settings | None = None,
    plan: Plan | None = None,
    **options: Any,
) -> Check:
    """Audit a model, and hold the verdict against thresholds, or against an earlier verdict.

    `model`, `data`, `spec`, `settings` and `plan` are those of `heedful.audit`. Without a baseline
    it fails where the answer is no. A baseline that was made with other settings is refused.
    All texts are measured, unless there is a `budget`.
    """
    checking = taken(Checking, options)
    for name in checking.at_least:
        if name not in PROPERTIES:
            raise unknown_name("property", name, list(PROPERTIES))
    for path, kind in ((checking.junit, JUNIT), (checking.write_baseline, VERDICT)):
        if path is not None:
            check_file(Path(path), kind)
    asked = Measuring(**{name: options[name] for name in _MEASURED if name in options})
    old = _baseline(checking.baseline, asked.spec(spec or AuditSpec(), options.get("seed")))
    plan = replace(plan or Plan(), by_token=False)  # nobody is shown a page
    if options.get("budget") is None and plan.budget is None:
        options["all"] = True  # numbers are held against earlier ones, of as many texts
    verdict = audit(model, data, spec, settings, plan, **options).verdict
    if old is not None and old.facts["spec"] != verdict.facts["spec"]:
        raise _made_otherwise(checking.baseline)
    outcomes = tuple(compare(verdict, checking.at_least, old))
    if checking.junit is not None:
        write_file(Path(checking.junit), junit(outcomes))
    if checking.write_baseline is not None:
        write_file(Path(checking.write_baseline), verdict.to_json())
    return Check(verdict, outcomes)


_MEASURED = tuple(Measuring.__dataclass_fields__)


def _baseline(given: Verdict | str | Path | None, spec: AuditSpec) -> Verdict | None:
    """Refused before anything is measured where its numbers were measured with other settings;
    operators that are the same to a model count as one."""
    if given is None:
        return None
    old = given if isinstance(given, Verdict) else _read(Path(given))
    possible = (spec, replace(spec, operators=merged(spec.operators)))
    if old.facts.get("spec", "") not in map(spec_digest, possible):
        raise _made_otherwise(given)
    return old


def _read(path: Path) -> Verdict:
    if not path.is_file():
        raise HeedfulError(
            f"there is no baseline {path}: give a verdict.json, or make one with --write-baseline."
        )
    try:
        return Verdict.from_json(read_whole(path))
    except UnicodeDecodeError as error:
        raise HeedfulError(f"{path} is no verdict: give a verdict.json of an audit.") from error
    except HeedfulError as error:
        raise HeedfulError(f"the baseline {path} cannot be used: {error}") from error


def _made_otherwise(given: Verdict | str | Path | None) -> HeedfulError:
    name = "" if isinstance(given, Verdict) else f" {given}"
    return HeedfulError(
        f"the baseline{name} was made with other settings (such as --quick, --seed or "
        f"--explanations): make it again with these."
    )
