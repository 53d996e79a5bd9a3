"""`heedful replicate`: register a study before it is run; run it; write it up.

A draft of a registration is a small YAML or JSON file:

title: Does attention explain these reviews?
hypotheses: [Attention ranks words better than chance.]
audits:
  - {model: bert, data: reviews.csv, n: 200, alpha: 0.05, smallest: {importance: 0.5}}
studies:
  - {study: jain2019, corpora: planted, seeds: 3}
"""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.cli.gridfile import ENTRY, Check, Lines, whole
from heedful.cli.options import (
    DEFAULT_STORE,
    BatchOption,
    DataDirOption,
    JsonOption,
    MachineOptions,
    StoreOption,
    argument,
    check_data_dir,
    existing_store,
    known_fields,
    open_store,
    option,
    set_threads,
    spread,
)
from heedful.cli.output import Output, check_outputs, next_step, say, show_result
from heedful.errors import HeedfulError
from heedful.parameters import LARGEST_SEED
from heedful.progress import progress_bar

if TYPE_CHECKING:
    from heedful.cli.audit_options import MeasureOptions, SubjectOptions
    from heedful.preregistration import AuditText, StudyText
    from heedful.runner import Grid
    from heedful.store import Store

Asked = dict[str, Any]
"""An audit or a study of a draft, as plain values: what a command line would have been given."""


@dataclass(frozen=True)
class PlaceOptions(MachineOptions):
    """Where it is run, which is not registered: it does not change what is measured."""

    store: StoreOption = DEFAULT_STORE
    data_dir: DataDirOption = None
    batch_size: BatchOption = 1024


@spread
def replicate(
    spec: Path = argument("A registration, or a draft with --register.", ...),
    register: bool = option(
        "Read a draft (YAML or JSON), write a registration.", False, "--register"
    ),
    out: Path | None = option("Folder to write; with --register a file.", None, "--out", "-o"),
    published: str | None = option(
        "Refuse any registration but the one with this hash.", None, "--hash"
    ),
    place: PlaceOptions = PlaceOptions(),
    as_json: JsonOption = False,
) -> None:
    """Register a study, run it, and write it up.

    With --register a draft becomes a registration. A registration is run, and its methods, tables
    and references are written as LaTeX.
    """
    if register and published is not None:
        raise HeedfulError("--hash is of a study that is registered already: leave it out.")
    if register:
        _register(spec, out, place, as_json)
    else:
        _replicate(spec, out, published, place, as_json)


def _register(draft: Path, out: Path | None, place: PlaceOptions, as_json: bool) -> None:
    from heedful.preregistration import REGISTRATION, Registered, already_there

    path = out or draft.with_suffix(".registered.json")
    check_outputs(Output("-o", path, REGISTRATION), inputs=(draft,), store=place.store)
    if not draft.is_file():
        raise HeedfulError(f"there is no draft {draft}: write one, see docs/trust.md.")
    title, hypotheses, asked = _read_draft(draft)
    store = open_store(place.store)
    rests_on = _rests_on(asked, store, place)
    stood_on = [part for parts in rests_on.values() for part in parts]
    known = [key for part in stood_on for key in already_there(part, store)]
    registered = Registered(title, hypotheses, asked, rests_on, tuple(known))
    registered.write(path)
    warnings = (
        f"Warning: {key} is in the store already: this study is not blind to it." for key in known
    )
    document = {"registered": str(path), "hash": registered.hash, "already": known}
    lines = (f"registered: {path}", f"hash: {registered.hash}", *warnings)
    if not show_result("replicate", as_json, document, *lines):
        then = shlex.join(["heedful", "replicate", str(path), "-o", "out"])
        next_step(f"publish the hash; then {then}")


def _replicate(
    spec: Path, out: Path | None, published: str | None, place: PlaceOptions, as_json: bool
) -> None:
    from heedful.preregistration import Registered, kind_of, write

    registered = Registered.read(spec)
    if published is not None:
        registered.check_hash(published)
    if out is None:
        raise HeedfulError("name the folder to write with -o.")
    audits, studies = registered.asked["audits"], registered.asked["studies"]
    inputs = [spec, *(name for asked in audits for name in (*_models(asked), asked.get("data")))]
    check_outputs(Output("-o", out, kind_of(registered)), inputs=inputs, store=place.store)
    store = open_store(place.store)
    registered.check_same(_rests_on(registered.asked, store, place))
    texts: list[AuditText | StudyText] = [
        _audited(f"audit-{number}", asked, place) for number, asked in enumerate(audits, 1)
    ]
    facts_of = registered.rests_on["studies"]
    for number, (asked, facts) in enumerate(zip(studies, facts_of, strict=True), 1):
        texts.append(_studied(f"study-{number}", asked, facts, store, place))
    record = write(out, registered, texts)
    show_result(
        "replicate",
        as_json,
        {"folder": str(out), **record},
        *(f"{each['title']}: {each['decision']}: {each['headline']}" for each in record["audits"]),
        *(f"{each['study']}: {each['run']} ({each['cells']} cells)" for each in record["studies"]),
        f"written: {out}/main.tex",
    )


def _rests_on(asked: Any, store: Store, place: PlaceOptions) -> dict[str, list[Asked]]:
    from heedful.preregistration import study_rests_on

    plans = [_plan(study, place) for study in asked["studies"]]
    return {
        "audits": [_audit_rests_on(audit, place) for audit in asked["audits"]],
        "studies": [study_rests_on(plan, store) for plan in plans],
    }


def _audit_rests_on(asked: Asked, place: PlaceOptions) -> Asked:
    """The facts of the first model, and the keys of those that are crossed with it."""
    from heedful.auditing import Measuring, check_trainings
    from heedful.preregistration import audit_rests_on
    from heedful.targets import open_target

    subject, options = _options(asked, place)
    measured = Measuring(**options.given())
    check_trainings(_models(asked), existing_store(place.store))
    spec, settings = measured.spec(seed=subject.seed), measured.settings()
    facts = []
    for model in _models(asked):
        with open_target(model, asked.get("data"), **subject.given()) as opened:
            facts.append(audit_rests_on(opened, spec, settings, measured.must))
    return {**facts[0], "crossed_with": [other["key"] for other in facts[1:]]}


def _models(asked: Asked) -> list[str]:
    return [asked["model"], *asked.get("seed_models", ())]


def _options(asked: Asked, place: PlaceOptions) -> tuple[SubjectOptions, MeasureOptions]:
    """The options of an audit, as its verb would have them."""
    from heedful.cli.audit_options import MeasureOptions, SubjectOptions

    here = {name: getattr(place, name) for name in ("store", "data_dir", "device", "threads")}
    subject = known_fields(SubjectOptions, {**asked, **here})
    return SubjectOptions(**subject), MeasureOptions(**known_fields(MeasureOptions, asked))


def _audited(name: str, asked: Asked, place: PlaceOptions) -> AuditText:
    from heedful.auditing import Measuring, Plan, audit
    from heedful.preregistration import Audited, AuditText

    subject, measured = _options(asked, place)
    say(f"{name}: {asked['model']}")
    set_threads(place.threads)
    model, *others = _models(asked)
    given = {**measured.given(), **subject.given(), "seed_model": others}
    plan = Plan(open_store(place.store), announce=say)
    found = audit(model, asked.get("data"), plan=plan, all=True, **given)
    spec = asdict(Measuring(**measured.given()).spec(seed=subject.seed))
    return AuditText(name, Audited.of(found), spec, sampled=asked.get("n") is not None)


def _studied(name: str, asked: Asked, facts: Asked, store: Store, place: PlaceOptions) -> StudyText:
    from heedful.preregistration import StudyText
    from heedful.runner import run_study

    say(f"{name}: {asked['study']}")
    here = place.machine(place.batch_size)
    with progress_bar() as progress:
        run = run_study(_plan(asked, place), store, here, progress, say)
    return StudyText(name, store, run, facts)


def _plan(asked: Asked, place: PlaceOptions) -> Grid:
    from heedful.cli.study import plan_values

    precision = str(asked.get("precision", "float32"))
    return plan_values(asked, check_data_dir(place.data_dir), precision)


def _read_draft(path: Path) -> tuple[str, tuple[str, ...], dict[str, list[Asked]]]:
    """The title, the hypotheses, and the audits and studies that are asked for."""
    lines = Lines(path)
    root = lines.root()
    top = lines.mapping(root, [*_TOP, *_ASKED], "setting")
    asked = {name: _asked(lines, top.pop(name, None), name) for name in _ASKED}
    if not any(asked.values()):
        raise lines.wrong(root, "nothing is asked: name `audits`, `studies` or both.")
    values = lines.values(top, _TOP)
    return values.get("title", path.stem), tuple(values.get("hypotheses", ())), asked


def _asked(lines: Lines, node: Any, name: str) -> list[Asked]:
    if node is None:
        return []
    required, checks = _ASKED[name]
    entries = []
    for item in lines.items(node, name):
        nodes = lines.mapping(item, checks, "key")
        if required not in nodes:
            raise lines.wrong(item, f"no `{required}` is named.")
        entries.append(lines.values(nodes, checks))
    return entries


def _text(lines: Lines, node: Any) -> str:
    """Also a number, which is a good name of a column or a label."""
    value = lines.value(node) if node.id == "scalar" else None
    if value is None or isinstance(value, (list, dict)):
        raise lines.wrong(node, "give a text here.")
    return str(value)


def _texts(lines: Lines, node: Any) -> list[str]:
    nodes = [node] if node.id == "scalar" else lines.items(node, "this")
    return [_text(lines, item) for item in nodes]


def _joined(lines: Lines, node: Any) -> str:
    """As names are written on the command line."""
    return ",".join(_texts(lines, node))


def _pairs(lines: Lines, node: Any) -> list[str]:
    if node.id != "mapping":
        raise lines.wrong(node, "write `{name: value}` here.")
    return [f"{_text(lines, key)}={_text(lines, value)}" for key, value in node.value]


def _joined_pairs(lines: Lines, node: Any) -> str:
    return ",".join(_pairs(lines, node))


_TOP: dict[str, Check] = {"title": _text, "hypotheses": _texts}
_AUDIT: dict[str, Check] = {
    "model": _text,
    "data": _text,
    "seed_models": _texts,
    "n": whole(1),
    "seed": whole(0, LARGEST_SEED),
    "split": _text,
    "alpha": lambda lines, node: float(lines.scalar(node, (int, float), "a number")),
    "smallest": _pairs,
    "explanations": _joined,
    "also": _joined,
    "operators": _joined,
    "only": _joined,
    "extra": _joined,
    "quick": lambda lines, node: bool(lines.scalar(node, bool, "true or false")),
    **dict.fromkeys(
        ("text_column", "text_b_column", "label_column", "rationale_column", "id_column"), _text
    ),
    "cluster_column": _text,
    "pair_column": _text,
    "label": _text,
    "label_words": _joined_pairs,
    "label_map": _joined_pairs,
    "template": _text,
    "max_length": whole(3),
    "dtype": _text,
    "param": _pairs,
}
_ASKED: dict[str, tuple[str, dict[str, Check]]] = {
    "audits": ("model", _AUDIT),
    "studies": ("study", {**ENTRY, "precision": _text}),
}
"""What a draft may ask for: the key that each entry must have, and all keys."""
