"""`heedful replicate`: register a study before it is run; run it; write it up."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heedful.cli.options import (
    DEFAULT_STORE,
    BatchOption,
    DataDirOption,
    DeviceOption,
    JsonOption,
    StoreOption,
    ThreadsOption,
    check_data_dir,
    existing_store,
    open_store,
    spread,
)
from heedful.cli.outputs import Output, check_outputs
from heedful.cli.terminal import progress_bar, say, show, show_json
from heedful.errors import HeedfulError

if TYPE_CHECKING:
    from heedful.auditing import Audit
    from heedful.cli.audit_options import MeasureOptions, SubjectOptions
    from heedful.preregistration import AuditText, StudyText
    from heedful.runner import Grid
    from heedful.store import Store

Asked = dict[str, Any]


@dataclass(frozen=True)
class PlaceOptions:
    """Where it is run; none of it is registered, since none of it changes what is measured."""

    store: StoreOption = DEFAULT_STORE
    data_dir: DataDirOption = None
    device: DeviceOption = "auto"
    threads: ThreadsOption = None
    batch_size: BatchOption = 1024


@spread
def replicate(
    spec: Annotated[Path, typer.Argument(help="A registration, or with --register a draft.")],
    register: Annotated[
        bool, typer.Option("--register", help="Read a draft (YAML or JSON), write a registration.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The folder to write; with --register the file."),
    ] = None,
    published: Annotated[
        str | None, typer.Option("--hash", help="Refuse another registration than this one.")
    ] = None,
    place: PlaceOptions = PlaceOptions(),
    as_json: JsonOption = False,
) -> None:
    """Register a study; run a registered one and write its methods, tables, references (LaTeX)."""
    if register and published is not None:
        raise HeedfulError("--hash is of a study that is registered already: leave it out.")
    if register:
        _register(spec, out, place, as_json)
    else:
        _replicate(spec, out, published, place, as_json)


def _register(draft: Path, out: Path | None, place: PlaceOptions, as_json: bool) -> None:
    from heedful.cli.draft import read
    from heedful.preregistration import REGISTRATION, Registered, already_there

    path = out or draft.with_suffix(".registered.json")
    check_outputs(Output("-o", path, REGISTRATION), inputs=(draft,), store=place.store)
    if not draft.is_file():
        raise HeedfulError(f"there is no draft {draft}: write one, see docs/trust.md.")
    asked, store = read(draft), open_store(place.store)
    rests_on = _rests_on(asked.asked, store, place)
    known = [
        key for part in rests_on.values() for each in part for key in already_there(each, store)
    ]
    found = Registered(asked.title, asked.hypotheses, asked.asked, rests_on, tuple(known))
    found.write(path)
    if as_json:
        show_json("replicate", {"registered": str(path), "hash": found.hash, "already": known})
        return
    show(f"registered: {path}")
    show(f"hash: {found.hash}")
    for key in known:
        show(f"Warning: {key} is in the store already: this study is not blind to it.")


def _replicate(
    spec: Path, out: Path | None, published: str | None, place: PlaceOptions, as_json: bool
) -> None:
    from heedful.preregistration import Registered, kind_of, write

    registered = Registered.read(spec)
    if published is not None:
        registered.check_hash(published)
    if out is None:
        raise HeedfulError("name the folder to write with -o.")
    models = [model for each in registered.asked["audits"] for model in _models(each)]
    data = [each.get("data") for each in registered.asked["audits"]]
    check_outputs(
        Output("-o", out, kind_of(registered)), inputs=(spec, *models, *data), store=place.store
    )
    store = open_store(place.store)
    registered.check_same(_rests_on(registered.asked, store, place))
    audits, studies = registered.asked["audits"], registered.asked["studies"]
    texts: list[AuditText | StudyText] = [
        _audited(f"audit-{number}", asked, place) for number, asked in enumerate(audits, 1)
    ]
    for number, asked in enumerate(studies, 1):
        facts = registered.rests_on["studies"][number - 1]
        texts.append(_studied(f"study-{number}", asked, facts, store, place))
    record = write(out, registered, texts)
    if as_json:
        show_json("replicate", {"folder": str(out), **record})
        return
    show(*(f"{each['title']}: {each['decision']}: {each['headline']}" for each in record["audits"]))
    show(*(f"{each['study']}: {each['run']} ({each['cells']} cells)" for each in record["studies"]))
    show(f"written: {out}/main.tex")


def _rests_on(asked: Any, store: Store, place: PlaceOptions) -> dict[str, list[Asked]]:
    from heedful.preregistration import study_rests_on

    plans = [_plan(each, place) for each in asked["studies"]]
    return {
        "audits": [_audit_rests_on(each, place) for each in asked["audits"]],
        "studies": [study_rests_on(plan, store) for plan in plans],
    }


def _audit_rests_on(asked: Asked, place: PlaceOptions) -> Asked:
    """The first model's facts, and the keys of the others that are crossed with it."""
    from heedful.auditing import check_trainings
    from heedful.preregistration import audit_rests_on
    from heedful.targets import open_target

    subject, measured = _options(asked, place)
    check_trainings([asked["model"], *asked.get("seed_models", ())], existing_store(place.store))
    found = []
    for model in _models(asked):
        with open_target(model, asked.get("data"), **subject.given()) as opened:
            found.append(audit_rests_on(opened, measured.spec(subject.seed), measured.settings))
    return {**found[0], "crossed_with": [each["key"] for each in found[1:]]}


def _models(asked: Asked) -> tuple[str, ...]:
    return (asked["model"], *asked.get("seed_models", ()))


def _options(asked: Asked, place: PlaceOptions) -> tuple[SubjectOptions, MeasureOptions]:
    from heedful.cli.draft import options

    subject, measured = options(asked)
    here = {name: getattr(place, name) for name in ("store", "data_dir", "device", "threads")}
    return replace(subject, **here), measured


def _audited(name: str, asked: Asked, place: PlaceOptions) -> AuditText:
    from heedful.preregistration import Audited, AuditText

    subject, measured = _options(asked, place)
    say(f"{name}: {asked['model']}")
    found = _audit(asked, subject, measured)
    spec = asdict(measured.spec(subject.seed))
    return AuditText(name, Audited.of(found), spec, sampled=asked.get("n") is not None)


def _audit(asked: Asked, subject: SubjectOptions, measured: MeasureOptions) -> Audit:
    from heedful.auditing import over_seeds
    from heedful.cli.audit import run_audit

    found = [run_audit(model, asked.get("data"), measured, subject) for model in _models(asked)]
    return over_seeds(found, measured.settings) if len(found) > 1 else found[0]


def _studied(name: str, asked: Asked, facts: Asked, store: Store, place: PlaceOptions) -> StudyText:
    from heedful.preregistration import StudyText
    from heedful.runner import machine, run_study

    say(f"{name}: {asked['study']}")
    where = machine(place.device, place.threads, place.batch_size)
    with progress_bar() as progress:
        run = run_study(_plan(asked, place), store, where, progress, say)
    return StudyText(name, store, run, facts)


def _plan(asked: Asked, place: PlaceOptions) -> Grid:
    from heedful.cli.study import plan_values

    precision = str(asked.get("precision", "float32"))
    return plan_values(asked, check_data_dir(place.data_dir), precision)
