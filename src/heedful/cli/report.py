"""`heedful report`, `cite` and `schema`: the page, the references and the formats of results."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from heedful.cli.options import (
    DEFAULT_STORE,
    JsonOption,
    StoreOption,
    argument,
    needed_store,
    open_store,
    option,
    spread,
)
from heedful.cli.output import Output, check_outputs, next_step, show, show_result
from heedful.cli.tables import show_prose
from heedful.errors import HeedfulError

if TYPE_CHECKING:
    from heedful.preregistration import Cited, Use
    from heedful.report import ReportFiles


@spread
def report(
    runs: list[str] = typer.Argument(
        ..., help="Keys of study, model, probe or audit runs, or folders of audits."
    ),
    out: Path = option(
        "page.html for the page alone, else a folder.", Path("heedful-report"), "--out", "-o"
    ),
    examples: int = option(
        "Maximum number of texts to browse in the page.", 500, min=0, max=100_000
    ),
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Write one page of runs and audits.

    A folder also gets figures (SVG) and tables (CSV, LaTeX, JSON). Needs no torch.

    Examples:
    heedful report audit -o page.html
    heedful report audit study-1a2b -o report
    """
    from heedful.report import build_report, kind_of, names_folder

    check_outputs(Output("-o", out, kind_of(out)), store=store)
    folders = [Path(each) for each in runs if names_folder(each)]
    place = open_store(store)
    found = [place.resolve(key) for key in runs if not names_folder(key)]
    files = build_report(place, found, out, folders, examples)
    written = [str(path) for path in (files.page, *files.figures, *files.tables)]
    document = {"files": written, "summary": list(files.summary)}
    show_page("report", as_json, document, files)


def show_page(
    verb: str, as_json: bool, document: dict[str, Any], files: ReportFiles, then: str = ""
) -> None:
    """A page that was written: what it says in short, where it is, and what to do with it."""
    if not show_result(verb, as_json, document):
        show_prose(*files.summary)
        show(f"page: {files.page} ({files.page.stat().st_size / 1e6:.1f} MB)")
        next_step(f"open {files.page} in a browser{then}.")


@spread
def cite(
    runs: list[str] | None = argument("Keys of runs of any kind, or folders of audits."),
    everything: bool = option("The whole bibliography instead.", False, "--all"),
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Print the works that runs used.

    Papers, corpora, methods, models and Heedful itself, as BibTeX.
    """
    if everything == bool(runs):
        raise HeedfulError("name runs or folders of audits, or give --all alone.")
    from heedful.preregistration import Cited, bibliography, cited

    if runs:
        works = cited(use for name in runs for use in _uses(name, store))
    else:
        works = Cited(dict.fromkeys(bibliography(), ()), ())
    _show(works, as_json)


def _uses(name: str, place: str) -> Iterator[Use]:
    from heedful.auditing import Audit
    from heedful.preregistration import Audited, audited_uses, uses_of_run
    from heedful.report import names_folder

    if names_folder(name):
        yield from audited_uses(Audited.of(Audit.load(Path(name))))
        return
    store = needed_store(place)
    yield from uses_of_run(store, store.resolve(name))


def _show(works: Cited, as_json: bool) -> None:
    """Each entry after a comment that says what used it."""
    from heedful.preregistration import in_order, no_entry, plain_comment

    entries = in_order(works.reasons)
    records = [
        {
            "key": entry.key,
            "type": entry.kind,
            "fields": dict(entry.fields),
            "used_for": list(works.reasons[entry.key]),
            "bibtex": entry.bibtex,
        }
        for entry in entries
    ]
    blocks = []
    for entry in entries:
        used_for = "; ".join(works.reasons[entry.key])
        comment = f"% {plain_comment(used_for)}\n" if used_for else ""
        blocks.append(comment + entry.bibtex)
    notes = (f"\n{no_entry(missing)}" for missing in works.unlisted)
    document = {"entries": records, "unlisted": list(works.unlisted)}
    show_result("cite", as_json, document, "\n\n".join(blocks), *notes)


@spread
def schema(
    name: str | None = argument("An output. [default: list all]"),
    as_json: JsonOption = False,
) -> None:
    """Print the JSON Schema of an output.

    Of verdict.json, of a row of a table, of what --json prints of a verb.
    """
    from heedful.schemas import schema as read
    from heedful.schemas import schema_names

    if name is not None:
        show(json.dumps(read(name), indent=2, ensure_ascii=False))
        return
    titles = {each: str(read(each)["title"]) for each in schema_names()}
    lines = (f"{each:<24} {title}" for each, title in titles.items())
    show_result("schema", as_json, {"schemas": titles}, *lines)
