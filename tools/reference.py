"""The reference pages, written by the pieces themselves (`make reference`).

Nothing is stated here that a piece, a property or a command does not say of itself; a test
holds the committed pages to what this writes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import typer

from heedful.auditing import NUMBERS
from heedful.cli import (
    about_and_examples,
    app,
    better,
    catalogue_text,
    catalogues,
    in_words,
    measures_of,
    reading,
)
from heedful.entries import Entry, Measure
from heedful.registry import Registry
from heedful.runner import NEEDS
from heedful.store import markdown_table
from heedful.verdict import EFFECTS, PROPERTIES, Property, overall

COMMANDS_INTRO = (
    "What bad input makes is one sentence and exit code 2; a gate that fails is exit code 1, and "
    "Ctrl-C 130. `heedful VERB --help` says the same as this page."
)


def commands() -> list[str]:
    """The page's parts."""
    parts = ["# Command line", COMMANDS_INTRO]
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        if not command.hidden:
            parts += _command(name, command)
    return parts


def _command(name: str, command: Any, level: int = 2) -> Iterator[str]:
    yield f"{'#' * level} heedful {name}"
    about, examples = about_and_examples(inspect.cleandoc(command.help or ""))
    yield about
    below = getattr(command, "commands", {})
    if not below:
        yield f"```text\n{_usage(name, command)}\n```"
    if lines := [_row(each) for each in command.params if not each.hidden]:
        yield markdown_table(("parameter", "default", "meaning"), lines)
    if examples:
        yield f"Examples:\n\n```text\n{examples}\n```"
    for verb, each in below.items():
        yield from _command(f"{name} {verb}", each, level + 1)


def _usage(name: str, command: Any) -> str:
    arguments = [_place(each) for each in command.params if not each.opts[0].startswith("-")]
    return " ".join(["heedful", name, *arguments, "[OPTIONS]"])


def _place(each: Any) -> str:
    name = each.name.upper() + ("…" if each.nargs == -1 else "")
    return name if each.required else f"[{name}]"


def _row(each: Any) -> tuple[str, str, str]:
    option = each.opts[0].startswith("-")
    names = [*each.opts, *each.secondary_opts] if option else [_place(each)]
    words = " ".join((each.help or "").split())
    if each.multiple and "repeatable" not in words:
        words += " Repeatable."
    if each.envvar:
        words += f" Also by the environment: `{each.envvar}`."
    return ", ".join(f"`{one}`" for one in names), _default(each), _cell(words)


def _default(each: Any) -> str:
    """What stands where nothing is given; a flag is off."""
    value = each.default
    if each.required:
        return "required"
    if value is None or value is False or value == () or value == [] or value == "":
        return ""
    if callable(value):
        return ""
    return f"`{_cell(str(value.value if isinstance(value, Enum) else value))}`"


def _cell(words: str) -> str:
    return words.replace("|", "\\|").replace("<", "\\<").strip()


# What a verdict speaks about, by the words of the properties themselves.


def properties() -> list[str]:
    """The page's parts."""
    parts = ["# Properties", PROPERTIES_INTRO]
    for name, each in PROPERTIES.items():
        parts += [f"## {name}", *_paragraphs(each), _decided(name)]
    return [*parts, "## The one line", _rule(), "## The numbers", NUMBERS_INTRO, _numbers()]


PROPERTIES_INTRO = (
    "What a verdict speaks about. Each decision is made from the table of measurements alone; "
    "[the audit](../audit.md) says how bounds are made."
)


NUMBERS_INTRO = (
    "Every measure that stands in an audit's table, by the group (`--only`) that measures it. "
    "`heedful list NAME` says the same of one of them."
)


def _numbers() -> str:
    head, lines = ("measure", "by", "is", "formula", "range", "better", "paper"), []
    for group, measures in NUMBERS.items():
        for name, each in measures.items():
            formula = f"`{each.formula}`" if each.formula else ""
            cells = (
                each.description,
                formula,
                in_words(each.range),
                _way(each),
                ", ".join(each.papers),
            )
            lines.append((f"`{name}`", group, *cells))
    return markdown_table(head, lines)


def _paragraphs(asked: Property) -> list[str]:
    """Its question, then what its function does."""
    how = inspect.cleandoc(asked.evaluate.__doc__ or "").replace("\n", " ")
    return [asked.question, how]


def _decided(name: str) -> str:
    if name not in EFFECTS:
        return "- **decides**: never; it is reported."
    effect = f"{EFFECTS[name]:g}"
    return f"- **smallest effect of interest**: {effect} (`--min-effect {name}={effect}`)"


def _rule() -> str:
    """A list that Markdown takes for one."""
    lines = inspect.cleandoc(overall.__doc__ or "").splitlines()
    return "\n".join(
        line.replace("   ", "    ", 1) if line.startswith("   ") else line for line in lines
    )


FOLDER = Path(__file__).parent.parent / "docs" / "reference"
CATALOGUE = FOLDER.parent.parent / "src" / "heedful" / "catalogue.json"
WRITTEN = "<!-- Written by tools/reference.py: change the pieces, then run `make reference`. -->"
OTHERS = ("model", "batch", "label", "target", "trace", "evidence", "context", "data_dir")
"""What a piece is handed, and nobody sets."""
TYPED = (str, int, float, tuple, type(None))

NOTATION = """\
`x` is a text, `t` a token, `e_t` its embedding, `h_t` its state, `α` the attention, `p` the
output's probabilities, `f` the explained number (the probability of the predicted class), `b` a
bias or a baseline, `[…]` 1 where it holds and else 0."""

INTROS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "metrics": (
        "Metrics",
        "Numbers about two distributions, two orders or two marks.",
        ("metric",),
    ),
    "probes": (
        "Probes",
        "Experiments on a trained model. Each measure is a row per text, head and query, or a line "
        "of the summary. Where no way is better, the number describes. What does not fit a model "
        "is skipped, with [the reason](#what-a-probe-needs).",
        ("probe",),
    ),
    "saliencies": (
        "Saliencies",
        "Explanations: a score for each token or word. Parameters follow a colon, as in "
        "`attention:layer=0,head=3`.",
        ("saliency",),
    ),
    "removals": ("Removals", "Ways to take words out of a text.", ("removal operator",)),
    "edits": ("Edits", "Ways to change attention: the only ones there are.", ("edit",)),
    "terms": (
        "Terms",
        "Parts of a loss beside the task's own: `--term tying=0.03`.",
        ("term", "pretrained-term"),
    ),
    "corpora": ("Corpora", "Where texts and labels come from.", ("corpus",)),
    "models": (
        "Models",
        "Families, and what they are put together from.",
        ("family", "encoder", "wrapper", "attention"),
    ),
}


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    CATALOGUE.write_text(catalogue_text(), encoding="utf-8")


def pages() -> dict[str, str]:
    """The text of every page, by the name of its file."""
    known = catalogues()
    found = {
        f"{name}.md": _page(title, words, {kind: known[kind] for kind in kinds})
        for name, (title, words, kinds) in INTROS.items()
    }
    found["probes.md"] += _needs()
    return found | {"properties.md": _whole(properties()), "commands.md": _whole(commands())}


def _needs() -> str:
    """What the words after `needs` stand for: the reasons a probe is skipped for."""
    lines = [f"- **{name}**: {_plain(reason)}." for name, (_, reason) in NEEDS.items()]
    return "\n".join(["", "## What a probe needs", "", *lines, ""])


def _page(title: str, words: str, kinds: Mapping[str, Registry[Any]]) -> str:
    notes = [NOTATION] if title in ("Metrics", "Probes", "Saliencies") else []
    parts = [f"# {title}", words, *notes]
    for kind, catalogue in kinds.items():
        if len(kinds) > 1:
            parts.append(f"## {HEADINGS[kind]}")
        for name in catalogue.modules:
            parts += _entry(kind, catalogue[name], "###" if len(kinds) > 1 else "##")
    return _whole(parts)


HEADINGS = {
    "family": "Families",
    "encoder": "Encoders",
    "wrapper": "Wrappers of encoders",
    "attention": "Attentions",
    "term": "For models of ours",
    "pretrained-term": "For pretrained models",
}


def _entry(kind: str, entry: Entry, level: str) -> Iterator[str]:
    yield f"{level} {entry.name}"
    yield f"{_plain(entry.description[:1].upper() + entry.description[1:])}."
    facts = {**reading(kind, entry), "parameters": _parameters(entry.make)}
    lines = [f"- **{name}**: {_fact(name, words)}" for name, words in facts.items() if words]
    if lines:
        yield "\n".join(lines)
    if measures_of(entry):
        yield _measures(entry)


def _fact(name: str, words: str) -> str:
    return f"`{words}`" if name in ("formula", "parameters") else _plain(words)


def _measures(entry: Entry) -> str:
    rows = (
        (f"`{name}`", _plain(each.description), in_words(each.range), _way(each))
        for name, each in measures_of(entry).items()
    )
    return markdown_table(("measure", "is", "range", "better"), rows)


def _way(measure: Measure) -> str:
    return better(measure.higher_is_better).split(" ")[0] or "—"


def _parameters(make: Callable[..., object]) -> str:
    """Those with a default that can be typed, which are what somebody may set."""
    found = inspect.signature(make).parameters.values()
    chosen = [e for e in found if e.name not in OTHERS and isinstance(e.default, TYPED)]
    return ", ".join(f"{each.name}={each.default!r}" for each in chosen)


def _plain(words: str) -> str:
    """Signs that Markdown would take for its own."""
    for sign in ("\\", "|", "*", "<"):
        words = words.replace(sign, f"\\{sign}")
    return words


def _whole(parts: list[str]) -> str:
    return "\n\n".join([WRITTEN, *parts]) + "\n"


if __name__ == "__main__":
    main()
