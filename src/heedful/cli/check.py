"""`heedful check`: an audit as a gate. Exit code 1 where something got worse."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli import subject as on
from heedful.cli.audit import run_audit
from heedful.cli.measured import MeasureOptions
from heedful.cli.options import JsonOption, numbers
from heedful.cli.outputs import Output, check_outputs
from heedful.cli.spread import spread
from heedful.cli.terminal import show, show_json
from heedful.errors import HeedfulError, unknown_name

if TYPE_CHECKING:
    from heedful.auditing import AuditSpec
    from heedful.verdict import Verdict


@spread
def check(
    model: on.ModelArgument,
    data: on.DataArgument = None,
    baseline: Annotated[
        Path | None, typer.Option(help="A verdict.json that may not get worse.")
    ] = None,
    at_least: Annotated[
        list[str] | None, typer.Option("--at-least", help="property=number; repeatable.")
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML here.")] = None,
    write_baseline: Annotated[
        Path | None, typer.Option(help="Write this verdict, to be the next baseline.")
    ] = None,
    measured: MeasureOptions = MeasureOptions(),
    subject: on.SubjectOptions = on.SubjectOptions(),
    as_json: JsonOption = False,
) -> None:
    """Fail (exit code 1) where attention is refuted, below a threshold, or worse than before."""
    from heedful.store import write_file
    from heedful.verdict import JUNIT, VERDICT, failures
    from heedful.verdict import check as compare
    from heedful.verdict import junit as as_junit

    thresholds = _thresholds(at_least or [])
    check_outputs(
        Output("--junit", junit, JUNIT),
        Output("--write-baseline", write_baseline, VERDICT),
        inputs=(model, data),
        store=subject.store,
    )
    old = _baseline(baseline, measured.spec(subject.seed)) if baseline is not None else None
    found = run_audit(model, data, measured, subject).verdict
    if baseline is not None and old is not None and old.facts["spec"] != found.facts["spec"]:
        raise _made_otherwise(baseline)
    outcomes = compare(found, thresholds, old)
    if junit is not None:
        write_file(junit, as_junit(outcomes))
    if write_baseline is not None:
        write_file(write_baseline, found.to_json())
    if as_json:
        show_json("check", {"outcomes": [vars(each) for each in outcomes]})
    else:
        for each in outcomes:
            show(f"{'FAILED' if each.failure else 'ok':<7} {each.name}  {each.failure}".rstrip())
    if failures(outcomes):
        raise typer.Exit(1)


def _baseline(path: Path, spec: AuditSpec) -> Verdict:
    """Refused before anything is measured where its numbers were measured otherwise, whatever
    operators are the same to the model."""
    from heedful.auditing import merged, spec_digest
    from heedful.input_files import read_whole
    from heedful.verdict import Verdict

    if not path.is_file():
        raise HeedfulError(
            f"there is no baseline {path}: give a verdict.json, or make one with --write-baseline."
        )
    try:
        old = Verdict.from_json(read_whole(path))
    except UnicodeDecodeError as error:
        raise HeedfulError(f"{path} is no verdict: give a verdict.json of an audit.") from error
    except HeedfulError as error:
        raise HeedfulError(f"the baseline {path} cannot be used: {error}") from error
    possible = (spec, replace(spec, operators=merged(spec.operators)))
    if old.facts.get("spec", "") not in map(spec_digest, possible):
        raise _made_otherwise(path)
    return old


def _made_otherwise(path: Path) -> HeedfulError:
    return HeedfulError(
        f"the baseline {path} was made with other settings (such as --quick, --seed or "
        f"--explanations): make it again with these."
    )


def _thresholds(texts: list[str]) -> dict[str, float]:
    from heedful.verdict import PROPERTIES

    found = numbers(texts, "--at-least")
    for name in found:
        if name not in PROPERTIES:
            raise unknown_name("property", name, list(PROPERTIES))
    return found
