"""Options that several verbs share, and what is made of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from heedful.errors import HeedfulError
from heedful.parameters import LARGEST_SEED

if TYPE_CHECKING:
    from heedful.store import Store


_Store = typer.Option(
    "--store", envvar="HEEDFUL_STORE", help="The folder that holds all runs, or a URL (s3://…)."
)
StoreOption = Annotated[str, _Store]
"""A text: a `Path` would spoil a URL. `open_store` makes a store of it."""
MaybeStoreOption = Annotated[str | None, _Store]
DataDirOption = Annotated[
    Path | None,
    typer.Option("--data-dir", envvar="HEEDFUL_DATA", help="The folder with the real corpora."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON with a schema_version.")]
SeedOption = Annotated[
    int, typer.Option("--seed", min=0, max=LARGEST_SEED, help="Seeds everything random.")
]
DeviceOption = Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")]
ThreadsOption = Annotated[
    int | None, typer.Option("--threads", help="CPU threads; fix it for byte-equal reruns.")
]
BatchOption = Annotated[
    int, typer.Option("--batch-size", help="Texts probed at a time; rows agree to about 1e-4.")
]
DryRunOption = Annotated[
    bool,
    typer.Option("--dry-run", help="Say what would be done and cost; prepare a corpus at most."),
]

MOST_SEEDS = 1000
MOST = 10**9
"""Of anything that is counted and costs nothing by itself: texts, tokens, epochs."""
DEFAULT_STORE = "heedful-store"


def open_store(place: str) -> Store:
    from heedful.store import store_at, url_of

    if url_of(place) is None and Path(place) == Path():
        raise HeedfulError("the store needs a folder of its own: give one with --store.")
    return store_at(place)


def given_options(context: typer.Context, but: Sequence[str] = ()) -> list[str]:
    """The options that were typed, as they are spelled; those of the environment were not."""
    typed = [each for each in context.command.params if each.name and each.name not in but]
    return [each.opts[0] for each in typed if source(context, each.name) == "COMMANDLINE"]


def was_given(context: typer.Context, name: str) -> bool:
    """Whether an option was typed, or stands in the environment."""
    return source(context, name) in ("COMMANDLINE", "ENVIRONMENT")


def source(context: typer.Context, name: str) -> str:
    """Where a value comes from: COMMANDLINE, ENVIRONMENT or DEFAULT."""
    found = context.get_parameter_source(name)
    return "" if found is None else str(found.name)


def existing_store(place: str) -> Store | None:
    """A folder that is not there is not made; at a URL there is a store once a run is."""
    from heedful.store import url_of

    if url_of(place) is None:
        return _checked(open_store(place)) if Path(place).is_dir() else None
    store = open_store(place)
    return store if store.keys() else None


def _checked(store: Store) -> Store:
    """A folder of something else is no store without runs."""
    there = {path.name for path in store.root.iterdir()}
    if there and not there & {"runs", "scratch"}:
        raise HeedfulError(f"{store.root} is no store: give its folder with --store.")
    return store


def check_data_dir(path: Path | None) -> Path | None:
    if path is not None and not path.is_dir():
        raise HeedfulError(
            f"the data directory {path} is no folder: fix --data-dir (or HEEDFUL_DATA)."
        )
    return path


def set_threads(threads: int | None) -> None:
    """And full precision: almost equal outputs are to be told apart."""
    from heedful.runner import machine

    machine("auto", threads)


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


def given(**options: Any) -> dict[str, Any]:
    """Those that were given."""
    return {name: value for name, value in options.items() if value is not None}


def numbers(texts: Sequence[str], option: str) -> dict[str, float]:
    """`property=number`, as often as the option was given."""
    found = {}
    for text in texts:
        name, _, value = (part.strip() for part in text.partition("="))
        if name in found:
            raise HeedfulError(f"{option} gives {name!r} twice: give it once.")
        try:
            found[name] = float(value)
        except ValueError as error:
            raise HeedfulError(f"{option} is {text!r}: write property=number.") from error
        if not math.isfinite(found[name]):
            raise HeedfulError(f"{option} is {text!r}: give a finite number.")
    return found


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


def spread(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb with an option for each field of its parameters that are dataclasses; so verbs
    that take the same dataclass take the same options."""
    hints = get_type_hints(verb, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}

    @wraps(verb)
    def call(**given: Any) -> None:
        made = {
            name: kind(**{each.name: given.pop(each.name) for each in fields(kind)})
            for name, kind in groups.items()
        }
        verb(**given, **made)

    options = list(_spread_options(verb, hints))
    call.__signature__ = Signature(options)  # type: ignore[attr-defined]
    call.__annotations__ = {each.name: each.annotation for each in options}
    return call


def _spread_options(verb: Callable[..., None], hints: dict[str, Any]) -> Iterator[Parameter]:
    for each in signature(verb).parameters.values():
        kind = hints[each.name]
        if not is_dataclass(kind):
            yield Parameter(
                each.name, Parameter.KEYWORD_ONLY, default=each.default, annotation=kind
            )
            continue
        inner = get_type_hints(kind, include_extras=True)
        for field in fields(kind):
            yield Parameter(
                field.name,
                Parameter.KEYWORD_ONLY,
                default=field.default,
                annotation=inner[field.name],
            )
