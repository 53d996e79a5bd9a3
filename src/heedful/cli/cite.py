"""`heedful cite`: what to cite for a run, as BibTeX."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli.options import DEFAULT_STORE, JsonOption, StoreOption, existing_store
from heedful.cli.terminal import show, show_json
from heedful.errors import HeedfulError

if TYPE_CHECKING:
    from heedful.preregistration import Cited, Use

Runs = Annotated[
    list[str] | None, typer.Argument(help="Keys of runs of any kind, or folders of audits.")
]


def cite(
    runs: Runs = None,
    everything: Annotated[
        bool, typer.Option("--all", help="The whole bibliography instead.")
    ] = False,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Print the papers, corpora, methods and models that runs really used, and Heedful."""
    if everything == bool(runs):
        raise HeedfulError("name runs or folders of audits, or give --all alone.")
    found = _everything() if everything else _of(runs or [], store)
    (_show_json if as_json else _show)(found)


def _of(runs: list[str], place: str) -> Cited:
    from heedful.preregistration import cited

    return cited(use for name in runs for use in _uses(name, place))


def _uses(name: str, place: str) -> Iterator[Use]:
    from heedful.preregistration import Audited, audited_uses, uses_of_run
    from heedful.report import names_folder

    if names_folder(name):
        yield from audited_uses(Audited.of_folder(Path(name)))
        return
    store = existing_store(place)
    if store is None:
        raise HeedfulError(f"there is no store at {place}: name one with --store.")
    yield from uses_of_run(store, store.resolve(name))


def _everything() -> Cited:
    from heedful.preregistration import Cited, bibliography

    return Cited(dict.fromkeys(bibliography(), ()), ())


def _show(found: Cited) -> None:
    """Lines outside an entry are comments to BibTeX; what is used is said in one before it."""
    from heedful.preregistration import in_order

    blocks = [
        "\n".join([*_comment(found.reasons[entry.key]), entry.bibtex])
        for entry in in_order(found.reasons)
    ]
    show("\n\n".join(blocks))
    for missing in found.unlisted:
        show(f"\n% no entry: {_plain(missing)}")


def _comment(reasons: tuple[str, ...]) -> list[str]:
    return [f"% {_plain('; '.join(reasons))}"] if reasons else []


def _plain(text: str) -> str:
    """One line that holds no entry."""
    return " ".join(text.split()).replace("@", "(at)")


def _show_json(found: Cited) -> None:
    from heedful.preregistration import in_order

    entries = [
        {
            "key": entry.key,
            "type": entry.kind,
            "fields": dict(entry.fields),
            "used_for": list(found.reasons[entry.key]),
            "bibtex": entry.bibtex,
        }
        for entry in in_order(found.reasons)
    ]
    show_json("cite", {"entries": entries, "unlisted": list(found.unlisted)})
