"""What a verdict speaks about, by the words of the properties themselves."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module

from heedful.auditing import NUMBERS
from heedful.cli import better, in_words
from heedful.verdict import EFFECTS, PROPERTIES, overall


def properties() -> list[str]:
    """The page's parts."""
    parts = ["# Properties", INTRO]
    for name, each in PROPERTIES.items():
        parts += [f"## {name}", *_paragraphs(each.evaluate), _decided(name)]
    return [*parts, "## The one line", _rule(), "## The numbers", NUMBERED, _numbers()]


INTRO = (
    "What a verdict speaks about. Each decision is made from the table of measurements alone; "
    "[the audit](../audit.md) says how bounds are made."
)


NUMBERED = (
    "Every measure that stands in an audit's table, by the group (`--only`) that measures it. "
    "`heedful list NAME` says the same of one of them."
)


def _numbers() -> str:
    lines = ["| measure | by | is | formula | range | better | paper |", f"|{'---|' * 7}"]
    for group, measures in NUMBERS.items():
        for name, each in measures.items():
            way = better(each.higher_is_better).split(" ")[0] or "—"
            formula = f"`{each.formula}`" if each.formula else ""
            cells = (each.description, formula, in_words(each.range), way, ", ".join(each.papers))
            lines.append(f"| `{name}` | {group} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _paragraphs(judge: Callable[..., object]) -> list[str]:
    """What its file says, then what its function does."""
    question = inspect.cleandoc(import_module(judge.__module__).__doc__ or "")
    question = question.split(": ", 1)[1].replace("\n", " ")
    how = inspect.cleandoc(judge.__doc__ or "").replace("\n", " ")
    return [each for each in (question[:1].upper() + question[1:], how) if each]


def _decided(name: str) -> str:
    if name not in EFFECTS:
        return "- **decides**: never; it is reported."
    effect = f"{EFFECTS[name]:g}"
    return f"- **smallest effect of interest**: {effect} (`--smallest {name}={effect}`)"


def _rule() -> str:
    """A list that Markdown takes for one."""
    lines = inspect.cleandoc(overall.__doc__ or "").splitlines()
    return "\n".join(
        line.replace("   ", "    ", 1) if line.startswith("   ") else line for line in lines
    )
