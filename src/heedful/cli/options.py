"""Options that several verbs share, and how their values are read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, is_dataclass, replace
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from heedful.cli.help import DATA, MACHINE
from heedful.errors import HeedfulError, unknown_name
from heedful.parameters import LARGEST_SEED, value_of

if TYPE_CHECKING:
    from heedful.runner import Machine
    from heedful.specs import CorpusSpec
    from heedful.store import Store

MOST_SEEDS = 1000
MOST = 10**9
"""Of anything that is counted and costs nothing by itself: texts, tokens, epochs."""
DEFAULT_STORE = "heedful-store"
TYPER = "typer"
"""Where a field keeps what typer is told of it."""

_Store = typer.Option(
    "--store",
    envvar="HEEDFUL_STORE",
    help="Folder of all runs, or a URL (s3://…).",
    rich_help_panel=MACHINE,
)
StoreOption = Annotated[str, _Store]
"""A text: a `Path` would spoil a URL. `open_store` makes a store of it."""
MaybeStoreOption = Annotated[str | None, _Store]
DataDirOption = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        envvar="HEEDFUL_DATA",
        help="Folder with the real corpora.",
        rich_help_panel=DATA,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON with a schema_version.")]
_Seed = typer.Option(
    "--seed", min=0, max=LARGEST_SEED, help="Random seed.", rich_help_panel=MACHINE
)
SeedOption = Annotated[int, _Seed]
_Seeds = typer.Option("--seeds", help="Several seeds: a count (3) or a list (0,7).")
SeedsOption = Annotated[str, _Seeds]
MaybeSeedsOption = Annotated[str | None, _Seeds]
_Device = typer.Option("--device", help="auto, cpu or cuda.", rich_help_panel=MACHINE)
DeviceOption = Annotated[str, _Device]
_Threads = typer.Option(
    "--threads", help="CPU threads. Set it for byte-identical reruns.", rich_help_panel=MACHINE
)
ThreadsOption = Annotated[int | None, _Threads]
BatchOption = Annotated[
    int,
    typer.Option(
        "--batch-size", help="Texts per batch; rows agree to about 1e-4.", rich_help_panel=MACHINE
    ),
]
DryRunOption = Annotated[
    bool,
    typer.Option("--dry-run", help="Print the plan and its cost without running it."),
]
QuickOption = Annotated[
    bool, typer.Option("--quick", help="Search less for the best order of words.")
]
ParamOption = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        help="name=value: a parameter of the corpus or its preparation.",
        rich_help_panel=DATA,
    ),
]
LimitOption = Annotated[
    int | None,
    typer.Option("--limit", min=1, max=MOST, help="Maximum texts per split.", rich_help_panel=DATA),
]
TextColumn = Annotated[str, typer.Option(help="Column of the text.")]
_Epochs = typer.Option("--epochs", max=MOST, help="Maximum epochs.")
EpochsOption = Annotated[int | None, _Epochs]
HiddenSizesOption = Annotated[
    str | None,
    typer.Option("--hidden-sizes", help="Sizes of the authors' code, or of the paper."),
]


def option(
    help: str, default: Any = None, *names: str, panel: str | None = None, **settings: Any
) -> Any:
    """An option of a verb, or of a dataclass of options: see `spread`. In the verb's help it stands
    under the heading `panel`; those without one come first."""
    told = typer.Option(*names, help=help, rich_help_panel=panel, **settings)
    return field(default=default, metadata={TYPER: told})


def argument(help: str, default: Any = None, **settings: Any) -> Any:
    """An argument of a verb."""
    return field(default=default, metadata={TYPER: typer.Argument(help=help, **settings)})


@dataclass(frozen=True)
class MachineOptions:
    """Where models are run."""

    device: DeviceOption = "auto"
    threads: ThreadsOption = None

    def machine(self, batch_size: int = 1024) -> Machine:
        from heedful.runner import machine

        return machine(self.device, self.threads, batch_size)


@dataclass(frozen=True)
class FileColumns:
    """How a user's own file is read, as it was typed."""

    text_column: TextColumn = "text"
    label_column: str = option("Column of the label.", "label")
    split_column: str | None = option("Column with train, dev or test.", panel=DATA)
    dev: Path | None = option("A separate file for dev.", panel=DATA)
    test: Path | None = option("A separate file for test.", panel=DATA)


@dataclass(frozen=True)
class CorpusOptions(FileColumns):
    """A corpus by name or a user's own file, and how it is prepared."""

    param: ParamOption = None
    limit: LimitOption = None
    data_dir: DataDirOption = None

    def spec(self, name: str) -> CorpusSpec:
        columns = {each.name: getattr(self, each.name) for each in fields(FileColumns)}
        return corpus_spec(name, self.param, self.limit, FileColumns(**columns))

    @property
    def folder(self) -> Path | None:
        return check_data_dir(self.data_dir)


def corpus_spec(
    name: str,
    params: list[str] | None = None,
    limit: int | None = None,
    columns: FileColumns = FileColumns(),
) -> CorpusSpec:
    """The spec of a named corpus or of a file."""
    from heedful.data import CORPORA, given_spec
    from heedful.input_files import names_file

    given = parameters(params)
    _check_once(given, columns, limit)
    if columns.text_column == columns.label_column:
        twice = repr(columns.text_column)
        raise HeedfulError(f"text and label are both read from {twice}: name two columns.")
    if name in CORPORA and name != "file":
        if columns != FileColumns():
            raise HeedfulError(
                f"{name!r} is a named corpus, and columns and files are for a file: leave them out."
            )
        spec = given_spec(name, given)
    elif names_file(name):
        if "path" in given:
            raise HeedfulError("the file is named already: leave --param path=… out.")
        typed = {key: str(value) for key, value in vars(columns).items() if value is not None}
        spec = given_spec("file", given, {"path": name, **typed})
        _check_file(Path(name).expanduser(), spec.params)
    else:
        raise unknown_name("corpus", name, [*(n for n in CORPORA if n != "file"), "a file's path"])
    return replace(spec, prepare=replace(spec.prepare, limit=limit)) if limit else spec


def _check_file(path: Path, params: Mapping[str, Any]) -> None:
    """Its columns, before anything else is imported; a file that is gone may be in the store."""
    from heedful.data import check_table_file

    columns = {name.removesuffix("_column"): params[name] for name in params if "_column" in name}
    if path.is_file():
        check_table_file(path, {role: column for role, column in columns.items() if column})


def _check_once(given: Mapping[str, Any], columns: FileColumns, limit: int | None) -> None:
    """What has an option of its own is not also given by `--param`."""
    typed = {name for name, value in vars(columns).items() if value != getattr(FileColumns, name)}
    options = {name: f"--{name.replace('_', '-')}" for name in (*typed, *(["limit"] * bool(limit)))}
    for name in given:
        if name in options:
            raise HeedfulError(f"--param {name}=… and {options[name]} say the same: give one.")


def parameters(texts: Sequence[str] | None) -> dict[str, Any]:
    """The values of `--param`, each given once."""
    return _once((parameter(text) for text in texts or ()), "--param")


def parameter(text: str) -> tuple[str, Any]:
    """`name=value` with the value's own type."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise HeedfulError(f"--param is {text!r}: write name=value.")
    return name, value_of(value)


def dotted_parameters(texts: Sequence[str] | None, option: str) -> dict[str, dict[str, Any]]:
    """The values of `owner.name=value`, each given once, by owner; `1,2` are several values."""
    found: dict[str, dict[str, Any]] = {}
    for text in texts or ():
        place, equals, value = text.partition("=")
        owner, dot, name = (part.strip() for part in place.partition("."))
        if not (equals and dot and owner and name):
            raise HeedfulError(f"{option} is {text!r}: write name.key=value.")
        own = found.setdefault(owner, {})
        if name in own:
            raise HeedfulError(f"{option} gives {owner}.{name} twice: give it once.")
        several = [part.strip() for part in value.split(",")]
        own[name] = tuple(map(value_of, several)) if len(several) > 1 else value_of(value)
    return found


def names(text: str, option: str) -> list[str]:
    """A comma-separated list without empty or repeated names."""
    chosen = [name.strip() for name in text.split(",")]
    if not all(chosen):
        raise HeedfulError(f"{option} has an empty name in {text!r}: separate names by one comma.")
    if len(set(chosen)) < len(chosen):
        raise HeedfulError(f"{option} names something twice in {text!r}: name each once.")
    return chosen


def maybe_names(text: str | None, option: str) -> list[str] | None:
    return None if text is None else names(text, option)


def pairs(text: str | None, option: str) -> dict[str, str] | None:
    """`a=b,c=d`; spaces after the equals sign count, since a word of a model may begin so."""
    if text is None:
        return None
    values = {}
    for part in text.split(","):
        name, sign, value = part.partition("=")
        if not sign or not name.strip() or not value:
            raise HeedfulError(f"{option} is {text!r}: write name=value,name=value.")
        if name.strip() in values:
            raise HeedfulError(f"{option} names {name.strip()!r} twice: name it once.")
        values[name.strip()] = value
    return values


def numbers(texts: Sequence[str], option: str) -> dict[str, float]:
    """`property=number`, as often as the option was given."""
    return _once((_number(text, option) for text in texts), option)


def _number(text: str, option: str) -> tuple[str, float]:
    name, _, value = (part.strip() for part in text.partition("="))
    try:
        number = float(value)
    except ValueError as error:
        raise HeedfulError(f"{option} is {text!r}: write property=number.") from error
    if not math.isfinite(number):
        raise HeedfulError(f"{option} is {text!r}: give a finite number.")
    return name, number


def _once(pairs: Iterable[tuple[str, Any]], option: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in pairs:
        if name in values:
            raise HeedfulError(f"{option} gives {name!r} twice: give it once.")
        values[name] = value
    return values


def seeds(text: str) -> list[int]:
    """`3` is three seeds (0, 1, 2); `4,7` are the seeds 4 and 7."""
    try:
        numbers = [int(part) for part in names(text, "--seeds")] if text.strip() else [int("")]
    except ValueError as error:
        raise HeedfulError(f"--seeds is {text!r}: give a count (3) or a list (0,7).") from error
    if "," not in text and 1 <= numbers[0] <= MOST_SEEDS:
        numbers = list(range(numbers[0]))
    elif "," not in text:
        raise HeedfulError(f"--seeds is {text!r}: give a count from 1 to {MOST_SEEDS}.")
    if not all(0 <= number <= LARGEST_SEED for number in numbers):
        raise HeedfulError(f"--seeds is {text!r}: seeds go from 0 to {LARGEST_SEED}.")
    if len(set(numbers)) < len(numbers):
        raise HeedfulError(f"--seeds names one twice in {text!r}: name each once.")
    return numbers


def given(**options: Any) -> dict[str, Any]:
    """The options that have a value."""
    return {name: value for name, value in options.items() if value is not None}


def known_fields(kind: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that a dataclass has a field for."""
    known = {each.name for each in fields(kind)}
    return {name: value for name, value in values.items() if name in known}


def given_options(context: typer.Context, but: Sequence[str] = ()) -> list[str]:
    """The options that were typed, as they are spelled; those of the environment were not."""
    params = [param for param in context.command.params if param.name and param.name not in but]
    return [param.opts[0] for param in params if source(context, param.name) == "COMMANDLINE"]


def was_given(context: typer.Context, name: str) -> bool:
    """Whether an option was typed, or stands in the environment."""
    return source(context, name) in ("COMMANDLINE", "ENVIRONMENT")


def source(context: typer.Context, name: str) -> str:
    """Where a value comes from: COMMANDLINE, ENVIRONMENT or DEFAULT."""
    kind = context.get_parameter_source(name)
    return "" if kind is None else str(kind.name)


def open_store(place: str) -> Store:
    from heedful.store import store_at, url_of

    if url_of(place) is None and Path(place) == Path():
        raise HeedfulError("the store needs a folder of its own: give one with --store.")
    return store_at(place)


def existing_store(place: str) -> Store | None:
    """A folder that is not there is not made; at a URL there is a store once a run is."""
    from heedful.store import url_of

    if url_of(place) is not None:
        remote = open_store(place)
        return remote if remote.keys() else None
    if not Path(place).is_dir():
        return None
    store = open_store(place)
    inside = {path.name for path in store.root.iterdir()}
    if inside and not inside & {"runs", "scratch"}:
        raise HeedfulError(f"{store.root} is no store: give its folder with --store.")
    return store


def needed_store(place: str) -> Store:
    store = existing_store(place)
    if store is None:
        raise HeedfulError(f"there is no store at {place}: give its folder with --store.")
    return store


def check_data_dir(path: Path | None) -> Path | None:
    if path is not None and not path.is_dir():
        raise HeedfulError(
            f"the data directory {path} is no folder: fix --data-dir (or HEEDFUL_DATA)."
        )
    return path


def set_threads(threads: int | None) -> None:
    """Also full precision, since almost equal outputs are to be told apart."""
    from heedful.runner import machine

    machine("auto", threads)


def spread(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb as typer takes it: what is declared by `option` and `argument` is annotated, and a
    parameter that is a dataclass becomes an option for each of its fields. So verbs that take the
    same dataclass take the same options."""
    hints = get_type_hints(verb, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}

    @wraps(verb)
    def call(**options: Any) -> None:
        grouped = {
            name: kind(**{each.name: options.pop(each.name) for each in fields(kind)})
            for name, kind in groups.items()
        }
        verb(**options, **grouped)

    parameters = list(_spread_parameters(verb, hints))
    call.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call


def _spread_parameters(verb: Callable[..., None], hints: dict[str, Any]) -> Iterator[Parameter]:
    for name, parameter in signature(verb).parameters.items():
        if not is_dataclass(hints[name]):
            yield _parameter(name, parameter.default, hints[name])
            continue
        inner = get_type_hints(hints[name], include_extras=True)
        for each in fields(hints[name]):
            yield _parameter(each.name, each if each.metadata else each.default, inner[each.name])


def _parameter(name: str, default: Any, annotation: Any) -> Parameter:
    if isinstance(default, Field):
        annotation, default = Annotated[annotation, default.metadata[TYPER]], default.default
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
