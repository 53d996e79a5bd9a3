"""`heedful audit`: does the attention of this model explain these predictions?"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli import subject as on
from heedful.cli.options import (
    DEFAULT_STORE,
    DataDirOption,
    DeviceOption,
    DryRunOption,
    JsonOption,
    SeedOption,
    StoreOption,
    ThreadsOption,
    names,
    open_store,
)
from heedful.cli.terminal import duration, progress_bar, say, show, show_json
from heedful.errors import HeedfulError, unknown_name

if TYPE_CHECKING:
    from heedful.auditing.result import Audit
    from heedful.auditing.spec import AuditSpec

Explanations = Annotated[
    str | None, typer.Option(help="Instead of the usual set: names, comma-separated.")
]
Also = Annotated[str | None, typer.Option(help="Besides the usual set, such as lime.")]
Operators = Annotated[str, typer.Option(help="How words are taken away, at least two.")]
Budget = Annotated[
    str | None, typer.Option(help="Stop when the verdict is clear or after this time: 5min.")
]
Only = Annotated[
    str | None, typer.Option(help="Measure only some groups, such as plausibility or erasure.")
]
SeedModels = Annotated[
    list[str] | None,
    typer.Option("--seed-model", help="The same model trained with another seed; repeatable."),
]
Extra = Annotated[
    str | None, typer.Option(help="Measure also sanity (of the maps) or null_space (of heads).")
]
Quick = Annotated[bool, typer.Option("--quick", help="A smaller search for the best order.")]


def audit(
    model: on.ModelArgument,
    data: on.DataArgument = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A folder for verdict, tables and page.")
    ] = None,
    explanations: Explanations = None,
    also: Also = None,
    operators: Operators = "delete,mask",
    budget: Budget = None,
    quick: Quick = False,
    only: Only = None,
    extra: Extra = None,
    seed_model: SeedModels = None,
    card: Annotated[
        Path | None, typer.Option("--card", help="Also write a section for a model card.")
    ] = None,
    n: on.Count = None,
    split: on.Split = "test",
    text_column: on.TextColumn = "text",
    text_b_column: on.PairColumn = None,
    label_column: on.LabelColumn = "label",
    rationale_column: on.RationaleColumn = None,
    id_column: on.IdColumn = None,
    label: on.Label = None,
    label_words: on.LabelWords = None,
    label_map: on.LabelMap = None,
    template: on.Template = "{text}",
    max_length: on.MaxLength = None,
    dtype: on.Dtype = None,
    param: on.Params = None,
    seed: SeedOption = 0,
    store: StoreOption = DEFAULT_STORE,
    data_dir: DataDirOption = None,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Put a model on trial. Started again after a kill, it goes on where it was."""
    if out is not None and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise HeedfulError(f"{out} is there already: give a new folder with -o.")
    check_writable(folder=out, files=(card,))
    options = on.SubjectOptions(
        split, text_column, text_b_column, label_column, rationale_column, id_column, n, seed,
        label, label_words, label_map, template, max_length, dtype, device, data_dir, store,
        tuple(param or ()),
    )  # fmt: skip
    spec, must = audit_spec(explanations, also, operators, quick, seed)
    spec = replace(spec, only=_groups(only, extra))
    set_threads(threads)
    if dry_run:
        _dry_run(model, data, spec, options, as_json)
        return
    if seed_model and budget is not None:
        raise HeedfulError("give either --seed-model or --budget: all seeds need the same texts.")
    found = run_audit(model, data, spec, must, options, budget, store)
    if seed_model:
        from heedful.auditing.seeds import over_seeds

        others = [run_audit(m, data, spec, must, options, None, store) for m in seed_model]
        found = over_seeds([found, *others])
    _write(found, out, card)
    if as_json:
        show_json("audit", {"verdict": json.loads(found.verdict.to_json())})
        return
    for line in found.verdict.lines():
        show(line)
    for note in found.facts["notes"]:
        show(f"Note: {note}")
    for name, why in found.facts["skipped"].items():
        show(f"Left out: {name}: {why}")
    if out is not None:
        page = out / "page.html"
        say(f"page: {page}" if page.is_file() else f"tables: {out}")


def audit_spec(
    explanations: str | None, also: str | None, operators: str, quick: bool, seed: int
) -> tuple[AuditSpec, frozenset[str]]:
    """The spec, and the explanations that were asked for by name."""
    from heedful.auditing.named import named, names_in
    from heedful.auditing.spec import ATTENTION, EXPLANATIONS, IMPORTANCE, AuditSpec
    from heedful.removal import REMOVALS

    asked = names_in(explanations) if explanations is not None else []
    extra = names_in(also) if also is not None else []
    chosen = (*asked, *extra) if asked else (*EXPLANATIONS, *extra)
    chosen = tuple(dict.fromkeys([ATTENTION, *chosen, *(IMPORTANCE if asked else ())]))
    for name in chosen:
        named(name)
    ways = tuple(names(operators, "--operators"))
    if len(ways) < 2:
        raise HeedfulError(f"--operators is {operators!r}: give at least two, such as delete,mask.")
    for way in ways:
        if way not in REMOVALS:
            raise unknown_name("removal operator", way, list(REMOVALS))
    spec = AuditSpec(explanations=chosen, operators=ways, seed=seed)
    return (_smaller(spec) if quick else spec), frozenset([*asked, *extra])


def _groups(only: str | None, extra: str | None) -> tuple[str, ...]:
    from heedful.auditing.spec import EXTRA, GROUPS

    asked = tuple(names(extra, "--extra")) if extra is not None else ()
    for name in asked:
        if name not in EXTRA:
            raise unknown_name("extra group", name, list(EXTRA))
    return (*(names(only, "--only") if only is not None else GROUPS), *asked)


def _smaller(spec: AuditSpec) -> AuditSpec:
    return replace(spec, ceiling=60, search_steps=20, permutations=10)


def set_threads(threads: int | None) -> None:
    """And full precision: almost equal outputs are to be told apart."""
    from heedful.runner.machine import machine

    machine("auto", threads)


def check_writable(folder: Path | None = None, files: Sequence[Path | None] = ()) -> None:
    """Before hours are spent on what then cannot be written."""
    for path in filter(None, files):
        if path.is_dir() or not path.parent.is_dir():
            raise HeedfulError(f"{path} cannot be written: give a file in a folder that is there.")
    places = [path.parent for path in filter(None, files)]
    if folder is not None:
        places.append(next(each for each in (folder, *folder.absolute().parents) if each.exists()))
    for place in places:
        try:
            tempfile.TemporaryFile(dir=place).close()
        except OSError as error:
            reason = error.strerror or "no"
            raise HeedfulError(f"nothing can be written in {place}: {reason.lower()}.") from error


def run_audit(
    model: str,
    data: str | None,
    spec: AuditSpec,
    must: frozenset[str],
    options: on.SubjectOptions,
    budget: str | None,
    store: Path,
) -> Audit:
    from heedful.auditing.audit import Plan
    from heedful.auditing.audit import audit as run

    with progress_bar() as progress:
        plan = Plan(open_store(store), seconds(budget), progress, must)
        return run(model, data, spec, plan=plan, **options.given())


def seconds(text: str | None) -> float | None:
    """`90s`, `5min`, `2h`."""
    if text is None:
        return None
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(s|min|h)\s*", text)
    if not found or float(found[1]) <= 0:
        raise HeedfulError(f"--budget is {text!r}: write a time such as 90s, 5min or 2h.")
    return float(found[1]) * {"s": 1, "min": 60, "h": 3600}[found[2]]


def _dry_run(
    model: str, data: str | None, spec: AuditSpec, options: on.SubjectOptions, as_json: bool
) -> None:
    from heedful.auditing.cost import estimate

    cost = estimate(model, data, spec, **options.given())
    if as_json:
        show_json("audit", {"dry_run": True, **vars(cost)})
        return
    maps, ways = len(spec.explanations), len(spec.operators)
    show(f"{cost.texts} texts, {maps} explanations, {ways} removal operators")
    show(f"about {cost.passes_per_text:.0f} runs of the model per text")
    show(f"about {duration(cost.seconds)} on this machine (timed on {cost.timed} texts)")


def _write(found: Audit, out: Path | None, card: Path | None) -> None:
    if out is not None:
        found.save(out)
        try:
            found.to_html(out / "page.html")
        except HeedfulError as error:  # the tables are there; only the page needs an extra
            say(f"no page was written: {error}")
    if card is not None:
        from heedful.verdict.card import card as write_card

        card.write_text(write_card(found.verdict), encoding="utf8")
