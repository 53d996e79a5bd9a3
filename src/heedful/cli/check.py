"""`heedful check`: an audit as a gate. Exit code 1 where something got worse."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli import subject as on
from heedful.cli.audit import audit_spec, check_writable, run_audit, set_threads
from heedful.cli.options import (
    DEFAULT_STORE,
    DataDirOption,
    DeviceOption,
    JsonOption,
    SeedOption,
    StoreOption,
    ThreadsOption,
)
from heedful.cli.terminal import show, show_json
from heedful.errors import HeedfulError, unknown_name

if TYPE_CHECKING:
    from heedful.auditing.spec import AuditSpec
    from heedful.verdict.verdict import Verdict


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
    quick: Annotated[bool, typer.Option("--quick", help="A smaller search.")] = False,
    n: on.Count = None,
    split: on.Split = "test",
    text_column: on.TextColumn = "text",
    text_b_column: on.PairColumn = None,
    label_column: on.LabelColumn = "label",
    label_map: on.LabelMap = None,
    max_length: on.MaxLength = None,
    param: on.Params = None,
    seed: SeedOption = 0,
    store: StoreOption = DEFAULT_STORE,
    data_dir: DataDirOption = None,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fail (exit code 1) where attention is refuted, below a threshold, or worse than before."""
    from heedful.verdict.check import check as compare
    from heedful.verdict.check import failures
    from heedful.verdict.check import junit as as_junit

    thresholds = _thresholds(at_least or [])
    check_writable(files=(junit, write_baseline))
    options = on.SubjectOptions(
        split, text_column, text_b_column, label_column, None, None, n, seed, None, None,
        label_map, "{text}", max_length, None, device, data_dir, store, tuple(param or ()),
    )  # fmt: skip
    spec, must = audit_spec(None, None, "delete,mask", quick, seed)
    old = _baseline(baseline, spec) if baseline is not None else None
    set_threads(threads)
    found = run_audit(model, data, spec, must, options, None, store).verdict
    outcomes = compare(found, thresholds, old)
    if junit is not None:
        junit.write_text(as_junit(outcomes), encoding="utf8")
    if write_baseline is not None:
        write_baseline.write_text(found.to_json(), encoding="utf8")
    if as_json:
        show_json("check", {"outcomes": [vars(each) for each in outcomes]})
    else:
        for each in outcomes:
            show(f"{'FAILED' if each.failure else 'ok':<7} {each.name}  {each.failure}".rstrip())
    if failures(outcomes):
        raise typer.Exit(1)


def _baseline(path: Path, spec: AuditSpec) -> Verdict:
    """Refused before anything is measured where its numbers were measured otherwise."""
    from heedful.auditing.audit import spec_digest
    from heedful.verdict.verdict import Verdict

    if not path.is_file():
        raise HeedfulError(f"there is no baseline {path}: make one with --write-baseline.")
    try:
        old = Verdict.from_json(path.read_text(encoding="utf8"))
    except UnicodeDecodeError as error:
        raise HeedfulError(f"{path} is no verdict: give a verdict.json of an audit.") from error
    if old.facts.get("spec", "") != spec_digest(spec):
        raise HeedfulError(
            f"the baseline {path} was made with other settings (--quick, --seed or explanations): "
            f"make it again with these."
        )
    return old


def _thresholds(texts: list[str]) -> dict[str, float]:
    from heedful.verdict.properties import PROPERTIES

    found = {}
    for text in texts:
        name, _, value = (part.strip() for part in text.partition("="))
        try:
            found[name] = float(value)
        except ValueError as error:
            raise HeedfulError(f"--at-least is {text!r}: write property=number.") from error
        if not math.isfinite(found[name]):
            raise HeedfulError(f"--at-least is {text!r}: give a finite number.")
        if name not in PROPERTIES:
            raise unknown_name("property", name, list(PROPERTIES))
    return found
