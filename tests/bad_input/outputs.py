"""Where results cannot go."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from bad_input.entry import Bad, World, bad, of_file, spoilt

AUDIT = ("audit", "SHARED/bert", "SHARED/good.csv")
CHECK = ("check", "SHARED/bert", "SHARED/good.csv")
STORE = ("--store", "SHARED/store")
EXPORT = ("store", "export", "PROBE_KEY", "rows", *STORE, "-o")
STUDY = ("study", "jain2019", "--corpora", "planted", "-o")
REPORT = ("report", "STUDY_KEY", *STORE, "-o")
QUICK = ("--quick", "--explanations", "attention", "--only", "interventions")
ANNOTATED = ("annotate", "export", "SHARED/rationale.db")
NEW = "give a new folder"
MINE = "of somebody\n"


def kept(name: str, *typed: object, names: str = "", fix: str = "give another file") -> Bad:
    """A file of somebody where an output is to go."""
    return of_file(name, MINE, *typed, names=names or name, fix=fix)


def linked(target: str) -> Callable[[World], object]:
    return lambda world: (world.here / "out").symlink_to(target)


def changed(folder: Path) -> None:
    with (folder / "verdict.json").open("a") as stream:
        stream.write("\n")


def manifest(**changes: object) -> Callable[[Path], object]:
    def spoil(folder: Path) -> None:
        path = folder / "heedful-manifest.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    return spoil


def with_model(*typed: object, names: str, fix: str) -> Bad:
    """On a copy of the model, since it would be spoilt."""
    return spoilt(
        "bert",
        lambda folder: None,
        "audit",
        "bert",
        "SHARED/good.csv",
        *typed,
        names=names,
        fix=fix,
    )


def answered(world: World) -> None:
    line = {"item": 0, "answers": {"somebody": [0]}}
    world.write("x.jsonl", json.dumps(line) + "\n")


BAD: dict[str, Bad] = {
    "a report over somebody's figures": kept("d/figures/a.png", *REPORT, "d", names="d", fix=NEW),
    "a report over somebody's tables": kept("d/tables/a.csv", *REPORT, "d", names="d", fix=NEW),
    "a report over somebody's page": kept("d/page.html", *REPORT, "d", names="d", fix=NEW),
    "a page over somebody's page": kept("page.html", *REPORT, "page.html"),
    "a study over somebody's figures": kept("d/figures/a.png", *STUDY, "d", names="d", fix=NEW),
    "a study over somebody's page": kept("page.html", *STUDY, "page.html"),
    "a demo over somebody's report": kept(
        "d/report/figures/a.png", "demo", "-o", "d", names="d/report", fix=NEW
    ),
    "a card over the model's config": with_model(
        "--card", "bert/config.json", names="bert/config.json", fix="give another file"
    ),
    "a card beside the weights": with_model(
        "--card", "bert/card.md", names="bert/card.md", fix="outside"
    ),
    "an audit in the model's folder": with_model("-o", "bert/out", names="bert/out", fix="outside"),
    "a card over somebody's text": kept("README.md", *AUDIT, "--card", "README.md"),
    "a card over a card with more in it": of_file(
        "card.md",
        "## Does attention explain the predictions?\n\n**SUPPORTED**\n\nOur own words.\n",
        *AUDIT,
        "--card",
        "card.md",
        names="card.md",
        fix="give another file",
    ),
    "JUnit over somebody's XML": of_file(
        "j.xml",
        '<?xml version="1.0" encoding="UTF-8"?>\n<testsuite name="mine">\n</testsuite>\n',
        *CHECK,
        "--junit",
        "j.xml",
        names="j.xml",
        fix="give another file",
    ),
    "a baseline over somebody's JSON": of_file(
        "b.json", "{}", *CHECK, "--write-baseline", "b.json", fix="give another file"
    ),
    "a baseline over a saved audit's": spoilt(
        "audit",
        lambda folder: None,
        *CHECK,
        "--write-baseline",
        "audit/verdict.json",
        names="audit/verdict.json",
        fix="give another file",
    ),
    "a benchmark over somebody's text": kept("mine.csv", "benchmark", "-o", "mine.csv"),
    "an export over somebody's table": of_file(
        "x.csv", "text,label\na,b\n", *EXPORT, "x.csv", fix="give another file"
    ),
    "an export over somebody's lines": of_file(
        "x.jsonl", '{"text": "a"}\n', *EXPORT, "x.jsonl", fix="give another file"
    ),
    "an export over no Parquet": kept("x.parquet", *EXPORT, "x.parquet"),
    "an export in the store": bad(
        *EXPORT, "SHARED/store/x.csv", names="store/x.csv", fix="outside"
    ),
    "a pack over somebody's file": kept(
        "heedful-pack.tar.000", "store", "pack", *STORE, "-o", ".", fix="choose another folder"
    ),
    "a pack in the store": bad(
        "store", "pack", *STORE, "-o", "SHARED/store", names="store", fix="outside"
    ),
    "answers over somebody's lines": kept("x.jsonl", *ANNOTATED, "x.jsonl"),
    "answers over others that were not imported": Bad(
        (*ANNOTATED, "x.jsonl"), "x.jsonl", "give another file", answered
    ),
    "tasks over somebody's interface": kept(
        "x.xml", *ANNOTATED, "x.json", "--format", "label-studio"
    ),
    "a repair over somebody's folder": kept(
        "d/model/a", "repair", "--corpus", "planted", "-o", "d", names="d", fix=NEW
    ),
    "card and folder in one place": bad(
        *AUDIT, "-o", "x", "--card", "x", names="--card x", fix="give another file"
    ),
    "a card in the folder": Bad(
        (*AUDIT, "-o", "x", "--card", "x/card.md"),
        "--card x/card.md",
        "give another file",
        lambda world: (world.here / "x").mkdir(),
    ),
    "a card in a folder that is not there yet": bad(
        *AUDIT, "-o", "x", "--card", "x/card.md", names="x/card.md", fix="a folder that is there"
    ),
    "the store in the folder": bad(
        *AUDIT, "-o", "x", "--store", "x/store", names="--store x/store", fix="give another folder"
    ),
    "the folder in a store to be": bad(
        *AUDIT, "-o", "s/out", "--store", "s", names="s/out", fix="outside"
    ),
    "a link to nothing": Bad((*AUDIT, *QUICK, "-o", "out"), "out", NEW, linked("nothing")),
    "a link to itself": Bad((*AUDIT, *QUICK, "-o", "out"), "out", NEW, linked("out")),
    "a link to a file": Bad(
        (*AUDIT, *QUICK, "-o", "out"),
        "out",
        NEW,
        lambda world: (world.here / "out").symlink_to(world.shared / "good.csv"),
    ),
    "a link to a full folder": Bad(
        (*AUDIT, *QUICK, "-o", "out"),
        "out",
        NEW,
        lambda world: (world.here / "out").symlink_to(world.shared / "full"),
    ),
    "a card behind a link to nowhere": Bad(
        (*AUDIT, "--card", "out"), "out", "a folder that is there", linked("none/card.md")
    ),
    "an audit that was changed": spoilt(
        "audit", changed, *AUDIT, *QUICK, "-o", "audit", names="verdict.json", fix=NEW
    ),
    "a manifest of elsewhere": spoilt(
        "audit", manifest(files={"../x": ""}), *AUDIT, *QUICK, "-o", "audit", names="audit", fix=NEW
    ),
    "a manifest of no files": spoilt(
        "audit", manifest(files=3), *AUDIT, *QUICK, "-o", "audit", names="audit", fix=NEW
    ),
    "a manifest of a newer version": spoilt(
        "audit",
        manifest(schema_version=99),
        *AUDIT,
        *QUICK,
        "-o",
        "audit",
        names="99",
        fix="update Heedful",
    ),
    "an audit without its manifest": spoilt(
        "audit",
        lambda folder: (folder / "heedful-manifest.json").unlink(),
        *AUDIT,
        *QUICK,
        "-o",
        "audit",
        names="audit",
        fix=NEW,
    ),
    "a file for a folder": bad(
        *AUDIT, "-o", "SHARED/good.csv", names="good.csv", fix="give a new folder"
    ),
    "a full folder": bad(*AUDIT, "-o", "SHARED/full", names="full", fix="give a new folder"),
    "an empty name": bad(*AUDIT, "-o", "", names="-o", fix="give a new folder"),
    "the current folder": of_file("x", "x", *AUDIT, "-o", ".", names=".", fix="give a new folder"),
    "below a file": bad(*AUDIT, "-o", "SHARED/good.csv/out", names="good.csv", fix="give"),
    "where nothing can be": bad(*AUDIT, "-o", "/proc/heedful/out", names="/proc", fix="give"),
    "a name too long": bad(*AUDIT, "-o", "x" * 300, names="xxx", fix="shorter"),
    "inside the store": bad(
        *AUDIT, *STORE, "-o", "SHARED/store/runs/out", names="runs/out", fix="outside"
    ),
    "the input": of_file(
        "t.csv",
        "text,label\ngood,1\nbad,0\n",
        "audit",
        "SHARED/bert",
        "t.csv",
        "--card",
        "t.csv",
        names="t.csv",
        fix="give another file",
    ),
    "a card that is a folder": bad(
        *AUDIT, "--card", "SHARED/full", names="full", fix="give a file"
    ),
    "a card nowhere": bad(
        *AUDIT, "--card", "none/card.md", names="none/card.md", fix="a folder that is there"
    ),
    "an empty card": bad(*AUDIT, "--card", "", names=".", fix="give a file"),
    "JUnit nowhere": bad(
        *CHECK, "--junit", "none/j.xml", names="none/j.xml", fix="a folder that is there"
    ),
    "JUnit a folder": bad(*CHECK, "--junit", "SHARED/full", names="full", fix="give a file"),
    "a baseline nowhere": bad(
        *CHECK, "--write-baseline", "none/b.json", names="none/b.json", fix="a folder that is there"
    ),
    "a baseline over the data": of_file(
        "t.csv",
        "text,label\ngood,1\nbad,0\n",
        "check",
        "SHARED/bert",
        "t.csv",
        "--write-baseline",
        "t.csv",
        names="t.csv",
        fix="give another file",
    ),
    "two outputs in one file": bad(
        *CHECK,
        "--junit",
        "x.xml",
        "--write-baseline",
        "x.xml",
        names="x.xml",
        fix="give another file",
    ),
    "a study's report in a file": bad(*STUDY, "SHARED/good.csv", names="good.csv", fix="give"),
    "a study's report in the store": bad(
        "study",
        "jain2019",
        "--corpora",
        "planted",
        *STORE,
        "-o",
        "SHARED/store/runs",
        names="runs",
        fix="give a new folder",
    ),
    "a report in a file": bad(*REPORT, "SHARED/good.csv", names="good.csv", fix="give"),
    "a report below a file": bad(*REPORT, "SHARED/good.csv/out", names="good.csv", fix="give"),
    "a report where nothing can be": bad(*REPORT, "/proc/heedful/out", names="/proc", fix="give"),
    "a report in the store": bad(*REPORT, "SHARED/store", names="store", fix="give a new folder"),
    "a page in the store": bad(*REPORT, "SHARED/store/p.html", names="store/p.html", fix="outside"),
    "a report over an audit": bad(
        "report", "SHARED/audit", "-o", "SHARED/audit", names="audit", fix="give"
    ),
    "an export nowhere": bad(
        *EXPORT, "none/x.csv", names="none/x.csv", fix="a folder that is there"
    ),
    "an export to a folder": of_file(
        "x.csv/y", "", *EXPORT, "x.csv", names="x.csv", fix="give a file"
    ),
    "an export without a kind": bad(*EXPORT, "rows", names="rows", fix="ending in .csv"),
    "a pack in a file": bad(
        "store", "pack", *STORE, "-o", "SHARED/good.csv", names="good.csv", fix="give"
    ),
    "a pack where nothing can be": bad(
        "store", "pack", *STORE, "-o", "/proc/heedful", names="/proc/heedful", fix="give"
    ),
    "a repair in a file": bad(
        "repair",
        "--corpus",
        "planted",
        "--methods",
        "tying",
        "-o",
        "SHARED/good.csv",
        names="good.csv",
        fix="give",
    ),
    "a repair in a full folder": bad(
        "repair",
        "--corpus",
        "planted",
        "--methods",
        "tying",
        "-o",
        "SHARED/full",
        names="full",
        fix="give",
    ),
    "a benchmark in a folder": bad(
        "benchmark", "-o", "SHARED/full", names="full", fix="give a file"
    ),
    "a benchmark nowhere": bad(
        "benchmark", "-o", "none/x.csv", names="none/x.csv", fix="a folder that is there"
    ),
    "a demo in a file": bad("demo", "-o", "SHARED/good.csv", names="good.csv", fix="give"),
    "a demo where nothing can be": bad("demo", "-o", "/proc/heedful", names="/proc", fix="give"),
    "a study of annotators nowhere": bad(
        "annotate",
        "new",
        *AUDIT[1:],
        "-o",
        "none/s.db",
        names="none/s.db",
        fix="a folder that is there",
    ),
    "a study of annotators that is there": bad(
        "annotate",
        "new",
        *AUDIT[1:],
        "-o",
        "SHARED/rationale.db",
        names="rationale.db",
        fix="give a new file",
    ),
    "results in a file": bad(
        "annotate",
        "results",
        "SHARED/rationale.db",
        "-o",
        "SHARED/good.csv",
        names="good.csv",
        fix="give a new folder",
    ),
    "results in a full folder": bad(
        "annotate",
        "results",
        "SHARED/rationale.db",
        "-o",
        "SHARED/full",
        names="full",
        fix="give a new folder",
    ),
    "results where nothing can be": bad(
        "annotate", "results", "SHARED/rationale.db", "-o", "/proc/x", names="/proc", fix="give"
    ),
    "answers of another kind": bad(
        "annotate", "export", "SHARED/rationale.db", "x.csv", names="x.csv", fix="ending in .jsonl"
    ),
    "answers nowhere": bad(
        "annotate",
        "export",
        "SHARED/rationale.db",
        "none/x.jsonl",
        names="none/x.jsonl",
        fix="a folder that is there",
    ),
    "answers over the study": of_file(
        "x",
        "",
        "annotate",
        "export",
        "SHARED/rationale.db",
        "SHARED/rationale.db",
        "--format",
        "label-studio",
        names="rationale.db",
        fix="give another file",
    ),
}
