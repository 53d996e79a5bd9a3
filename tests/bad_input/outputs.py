"""Where results cannot go."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from bad_input.entry import Bad, World, bad, of_file, spoilt

AUDIT = "audit SHARED/bert SHARED/good.csv"
CHECK = "check SHARED/bert SHARED/good.csv"
QUICK = "--quick --explanations attention --only interventions"
ANNOTATED = "annotate export SHARED/rationale.db"
NEW = "give a new folder"


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


def with_model(options: str, names: str, fix: str) -> Bad:
    """On a copy of the model, since it would be spoilt."""
    return spoilt(
        "bert", lambda folder: None, f"audit bert SHARED/good.csv {options}", names=names, fix=fix
    )


def answered(world: World) -> None:
    line = {"item": 0, "answers": {"somebody": [0]}}
    world.write("x.jsonl", json.dumps(line) + "\n")


BAD: dict[str, Bad] = {
    "a card over the model's config": with_model(
        "--card bert/config.json", names="bert/config.json", fix="give another file"
    ),
    "a card beside the weights": with_model(
        "--card bert/card.md", names="bert/card.md", fix="outside"
    ),
    "an audit in the model's folder": with_model("-o bert/out", names="bert/out", fix="outside"),
    "a card over a card with more in it": of_file(
        "card.md",
        "## Does attention explain the predictions?\n\n**SUPPORTED**\n\nOur own words.\n",
        f"{AUDIT} --card card.md",
        names="card.md",
        fix="give another file",
    ),
    "JUnit over somebody's XML": of_file(
        "j.xml",
        '<?xml version="1.0" encoding="UTF-8"?>\n<testsuite name="mine">\n</testsuite>\n',
        f"{CHECK} --junit j.xml",
        names="j.xml",
        fix="give another file",
    ),
    "a baseline over a saved audit's": spoilt(
        "audit",
        lambda folder: None,
        f"{CHECK} --write-baseline audit/verdict.json",
        names="audit/verdict.json",
        fix="give another file",
    ),
    "answers over others that were not imported": Bad(
        f"{ANNOTATED} x.jsonl", "x.jsonl", "give another file", answered
    ),
    "a card in the folder": Bad(
        f"{AUDIT} -o x --card x/card.md",
        "--card x/card.md",
        "give another file",
        lambda world: (world.here / "x").mkdir(),
    ),
    "a link to nothing": Bad(f"{AUDIT} {QUICK} -o out", "out", NEW, linked("nothing")),
    "a link to itself": Bad(f"{AUDIT} {QUICK} -o out", "out", NEW, linked("out")),
    "a link to a file": Bad(
        f"{AUDIT} {QUICK} -o out",
        "out",
        NEW,
        lambda world: (world.here / "out").symlink_to(world.shared / "good.csv"),
    ),
    "a link to a full folder": Bad(
        f"{AUDIT} {QUICK} -o out",
        "out",
        NEW,
        lambda world: (world.here / "out").symlink_to(world.shared / "full"),
    ),
    "a card behind a link to nowhere": Bad(
        f"{AUDIT} --card out", "out", "a folder that is there", linked("none/card.md")
    ),
    "an audit that was changed": spoilt(
        "audit", changed, f"{AUDIT} {QUICK} -o audit", names="verdict.json", fix=NEW
    ),
    "a manifest of elsewhere": spoilt(
        "audit", manifest(files={"../x": ""}), f"{AUDIT} {QUICK} -o audit", names="audit", fix=NEW
    ),
    "a manifest of no files": spoilt(
        "audit", manifest(files=3), f"{AUDIT} {QUICK} -o audit", names="audit", fix=NEW
    ),
    "a manifest of a newer version": spoilt(
        "audit",
        manifest(schema_version=99),
        f"{AUDIT} {QUICK} -o audit",
        names="99",
        fix="update Heedful",
    ),
    "an audit without its manifest": spoilt(
        "audit",
        lambda folder: (folder / "heedful-manifest.json").unlink(),
        f"{AUDIT} {QUICK} -o audit",
        names="audit",
        fix=NEW,
    ),
    "a name too long": bad(f"{AUDIT} -o {'x' * 300}", names="xxx", fix="shorter"),
}
