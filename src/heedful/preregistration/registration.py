"""A study that was registered before it was run: its file, its hash, and the folder written of it.

The hash covers what is asked (models, data, thresholds, alpha, seeds, splits, numbers of texts)
and what that rests on at the time: digests of data and weights, versions of pieces. Whoever
publishes the hash can show later that nothing was changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from heedful import __version__
from heedful.auditing import AuditSpec, identity
from heedful.data import CORPORA, MissingData
from heedful.errors import HeedfulError, short
from heedful.experiments import PROBES
from heedful.preregistration.citations import cited, in_order, no_entry
from heedful.preregistration.latex import document, escape, listed, paragraph, said, section, table
from heedful.preregistration.texts import AuditText, StudyText
from heedful.progress import Progress, silent
from heedful.report import CONFIDENCE
from heedful.runner import Cell, Grid, Reading, model_facts, model_key
from heedful.schemas import check_version
from heedful.store import (
    FileKind,
    Run,
    Store,
    canonical,
    output_folder,
    refusals,
    run_key,
    write_file,
)
from heedful.targets import AuditTarget
from heedful.verdict import Settings

SCHEMA_VERSION = 1
LARGEST = 1 << 24
"""Bytes: a registration is a list of digests."""
FEWEST_DIGITS = 8
REGISTRATION = FileKind("a registration")
"""Never replaced: its hash may be published."""
_AGAIN = "register it anew with `heedful replicate --register`"
RECORD = "replicate.json"
RECORD_VERSION = 1
PARTS = ("methods", "tables", "limitations")
READABLE = ("weights", "tokenizer", "data", "dtype", "pieces", "operators", "version", "spec")
"""Of what names an audit, the parts a reader can compare; `key` is the hash of all of it."""

Text = AuditText | StudyText


@dataclass(frozen=True)
class Registered:
    """`asked` are audits and studies as the draft has them; `rests_on` has for each what it
    stood on when it was registered. Runs that were in the store `already` are said: a study
    whose results were known is no less a study, but nobody should take it for blind."""

    title: str
    hypotheses: tuple[str, ...]
    asked: Mapping[str, list[Any]]
    rests_on: Mapping[str, list[Any]]
    already: tuple[str, ...] = ()
    registered_with: str = __version__

    @property
    def content(self) -> dict[str, Any]:
        return {
            "schema_version": SCHEMA_VERSION,
            "title": self.title,
            "hypotheses": list(self.hypotheses),
            "registered_with": self.registered_with,
            "already": list(self.already),
            "asked": dict(self.asked),
            "rests_on": dict(self.rests_on),
        }

    @property
    def hash(self) -> str:
        return hash_of(self.content)

    def write(self, path: Path) -> None:
        write_file(path, _as_json({**self.content, "hash": self.hash}))

    @staticmethod
    def read(path: Path) -> Registered:
        """Refused where anything in it is not as it was written."""
        data = _json(path)
        check_version(path.name, data.get("schema_version"), SCHEMA_VERSION, _AGAIN)
        given = {name: value for name, value in data.items() if name != "hash"}
        now = hash_of(given)
        if data.get("hash") != now:
            raise HeedfulError(
                f"{path.name} was changed after it was registered (its hash was "
                f"{str(data.get('hash'))[:16]}, now it is {now[:16]}): bring the file back, or "
                f"register what you want as a study of its own."
            )
        del given["schema_version"]
        listed = {name: tuple(given[name]) for name in ("hypotheses", "already")}
        return Registered(**{**given, **listed})

    def check_hash(self, published: str) -> None:
        """Against what was published, of which the first digits are enough."""
        wanted = published.strip().lower()
        if len(wanted) < FEWEST_DIGITS or not self.hash.startswith(wanted):
            raise HeedfulError(
                f"--hash is {published[:70]!r} and this registration's is {self.hash}: give the "
                f"first {FEWEST_DIGITS} digits or more of the one that was published, with the "
                f"file it belongs to."
            )

    def check_same(self, now: Mapping[str, list[Any]]) -> None:
        """Nothing it rests on may be another than when it was registered. A key is the hash of
        the rest: what else differs says more."""
        found = sorted(differences(self.rests_on, now), key=lambda each: each[0].endswith("key"))
        for place, *values in found[:1]:
            old, new = (short("nothing" if value is None else str(value)) for value in values)
            raise HeedfulError(
                f"{place} is not what was registered (then {old}, now {new}): "
                f"bring it back, or register the changed study as one of its own."
            )


def hash_of(content: Mapping[str, Any]) -> str:
    """64 hexadecimal digits; the order of names and the spelling of numbers do not matter."""
    try:
        return hashlib.sha256(canonical(content).encode()).hexdigest()
    except (TypeError, ValueError) as error:
        raise HeedfulError(f"this registration cannot be read ({error}): {_AGAIN}.") from error


def differences(old: Any, new: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where two plain values differ, by the names that lead there."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in dict.fromkeys((*old, *new)):
            inside = f"{place} {name}".strip()
            if name in old and name in new:
                yield from differences(old[name], new[name], inside)
            else:  # not the same as being there with nothing
                yield inside, old.get(name), new.get(name)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (one, other) in enumerate(zip(old, new, strict=True), 1):
            yield from differences(one, other, f"{place} {number}".strip())
    elif canonical({"": old}) != canonical({"": new}):
        yield place, old, new


def _as_json(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return f"{text}\n"


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise HeedfulError(f"there is no registration {path}: make one with --register.")
    if path.stat().st_size > LARGEST:
        raise HeedfulError(f"{path.name} is larger than {LARGEST:,} bytes: no registration is.")
    try:
        data = json.loads(path.read_text(encoding="utf8"))
    except (ValueError, RecursionError) as error:
        raise HeedfulError(
            f"{path.name} is no registration: a draft becomes one with "
            f"`heedful replicate --register`."
        ) from error
    whole = isinstance(data, dict) and "schema_version" in data
    if whole and data["schema_version"] == SCHEMA_VERSION:  # of another only that is looked at
        known = {"hash", *Registered("", (), {}, {}).content}
        parts = (data.get("asked"), data.get("rests_on"))
        whole = set(data) == known and all(isinstance(part, dict) for part in parts)
    if not whole:
        raise HeedfulError(f"{path.name} is no registration: {_AGAIN}.")
    return dict(data)


def audit_rests_on(
    subject: AuditTarget, spec: AuditSpec, settings: Settings, must: Container[str] = ()
) -> dict[str, Any]:
    """Digests of weights and texts, the versions of pieces, thresholds and alpha. `must` are the
    explanations that were named."""
    named = identity(subject, spec, must)
    return {
        "model": subject.family,
        "source": subject.source,
        "texts": len(subject),
        **{name: named[name] for name in READABLE if name in named},
        "key": run_key("audit", named),
        "thresholds": settings.to_dict(),
    }


def study_rests_on(plan: Grid, store: Store, progress: Progress = silent) -> dict[str, Any]:
    """The corpora are prepared for it; a corpus whose data are not here is left out, and that
    is registered too."""
    corpora: dict[str, Any] = {}
    cells = []
    for cell in plan.cells:
        try:
            corpus: Run | None = plan.corpus(cell, store, progress)
        except MissingData:
            if not plan.lenient:
                raise
            corpus = None
        cells.append(_cell(cell, corpus))
        if corpus is not None:
            corpora[cell.corpus.title] = _corpus(cell, corpus)
    return {
        "study": plan.study.name,
        "version": plan.study.version,
        "precision": plan.precision,
        "split": Reading(0).split,
        "confidence": CONFIDENCE,
        "corpora": corpora,
        "cells": cells,
    }


def _cell(cell: Cell, corpus: Run | None) -> dict[str, Any]:
    facts = {
        "corpus": cell.corpus.title,
        "model": cell.model.name,
        "seed": cell.seed,
        "probes": {
            probe.name: {"version": PROBES[probe.name].version, "params": dict(probe.params)}
            for probe in cell.probes
        },
    }
    if corpus is None:
        return {**facts, "left_out": "its data are not here"}
    return {
        **facts,
        "pieces": model_facts(corpus, cell.recipe)["versions"],
        "train": asdict(cell.train),
        "key": model_key(corpus, cell.recipe),
    }


def _corpus(cell: Cell, corpus: Run) -> dict[str, Any]:
    splits = corpus.json("report")["splits"]
    return {
        "key": corpus.key,
        "version": CORPORA[cell.corpus.name].version,
        "sources": dict(corpus.facts.get("sources", {})),
        "splits": {name: int(split["examples"]) for name, split in splits.items()},
    }


def already_there(rests_on: dict[str, Any], store: Store) -> list[str]:
    """Runs of it that are in the store: an audit, or the trained models of a study."""
    keys = [rests_on.get("key", ""), *(cell.get("key", "") for cell in rests_on.get("cells", ()))]
    return [key for key in dict.fromkeys(keys) if key and store.has(key)]


def kind_of(registered: Registered) -> str:
    """A folder of the same registration is written again; nothing else makes way for it."""
    return f"replication of {registered.hash[:16]}"


def write(out: Path, registered: Registered, texts: Sequence[Text]) -> dict[str, Any]:
    """Whole or not at all; the same results give the same bytes. Returns the record."""
    files = _files(registered, texts)
    record = _record(registered, texts, files)
    refused = refusals(f"write {out}", "make room or give another folder")
    with refused, output_folder(out, kind_of(registered)) as folder:
        for name, content in {**files, RECORD: _as_json(record)}.items():
            (folder / name).write_bytes(content.encode("utf8"))
    return record


def _files(registered: Registered, texts: Sequence[Text]) -> dict[str, str]:
    nothing = [said("Nothing was left out.")]
    methods = [section(text.title, [paragraph(text.methods())]) for text in texts]
    limits = [section(text.title, [paragraph(text.limitations() or nothing)]) for text in texts]
    tables = [table(each) for text in texts for each in text.tables()]
    blocks = {
        "methods.tex": [r"\section*{Methods}", _registration(registered), *methods],
        "tables.tex": [r"% needs booktabs and graphicx", *tables],
        "limitations.tex": [r"\section*{Limitations}", *limits],
        "references.bib": _bibliography(texts),
    }
    files = {name: "\n\n".join(parts) + "\n" for name, parts in blocks.items()}
    return {**files, "main.tex": document(registered.title, PARTS)}


def _registration(registered: Registered) -> str:
    """The hash in pieces, so that a line can be broken."""
    pieces = [registered.hash[start : start + 16] for start in range(0, 64, 16)]
    digits = r"\allowbreak ".join(pieces)
    known = "When it was registered, none of its runs was in the store."
    if registered.already:
        runs = escape(listed(registered.already))
        known = f"When it was registered, some of its runs were in the store already: {runs}."
    start = (
        "The registration of this study fixes models, data, thresholds, seeds, splits and versions "
        rf"of pieces; its SHA-256 is \texttt{{{digits}}}. {known}"
    )
    items = [rf"\item {escape(hypothesis)}" for hypothesis in registered.hypotheses]
    hypotheses = ["Hypotheses, as registered:", r"\begin{enumerate}", *items, r"\end{enumerate}"]
    return "\n\n".join([start, "\n".join(hypotheses)] if items else [start])


def _bibliography(texts: Sequence[Text]) -> list[str]:
    used = cited(use for text in texts for use in text.uses)
    parts = (part for text in texts for sentence in text.methods() for part in sentence)
    keys = {*used.reasons, *(key for part in parts for key in part.keys)}
    entries = [entry.bibtex for entry in in_order(keys)]
    return [*entries, *map(no_entry, used.unlisted)]


def _record(
    registered: Registered, texts: Sequence[Text], files: Mapping[str, str]
) -> dict[str, Any]:
    return {
        "schema_version": RECORD_VERSION,
        "hash": registered.hash,
        "title": registered.title,
        "hypotheses": list(registered.hypotheses),
        "registered_with": registered.registered_with,
        "written_with": __version__,
        "audits": [_audit(each) for each in texts if isinstance(each, AuditText)],
        "studies": [_study(each) for each in texts if isinstance(each, StudyText)],
        "files": {
            name: hashlib.sha256(content.encode("utf8")).hexdigest()
            for name, content in files.items()
        },
    }


def _audit(text: AuditText) -> dict[str, Any]:
    verdict = text.audited.verdict
    numbers = ("property", "decision", "estimate", "low", "high", "threshold", "n", "clusters")
    return {
        "name": text.name,
        "title": text.title,
        "run": text.facts["key"],
        "decision": verdict["decision"],
        "headline": verdict["headline"],
        "digest": verdict["digest"],
        "statements": [{name: each[name] for name in numbers} for each in text.statements],
        "skipped": dict(text.facts["skipped"]),
    }


def _study(text: StudyText) -> dict[str, Any]:
    return {
        "name": text.name,
        "study": text.paper,
        "run": text.run.key,
        "cells": len(text.evidence.cells),
        "skipped": text.run.fact("skipped", dict),
    }
