"""`heedful schema`: what the machine-readable outputs look like."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from heedful.cli.options import JsonOption
from heedful.cli.terminal import show, show_json


def schema(
    name: Annotated[str | None, typer.Argument(help="An output; without it all are named.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Print the JSON Schema of an output: verdict.json, a table, `--json` of a verb …"""
    from heedful.schemas import schema as read
    from heedful.schemas import schema_names

    if name is not None:
        show(json.dumps(read(name), indent=2, ensure_ascii=False))
        return
    titles = {each: str(read(each)["title"]) for each in schema_names()}
    if as_json:
        show_json("schema", {"schemas": titles})
        return
    for each, title in titles.items():
        show(f"{each:<24} {title}")
