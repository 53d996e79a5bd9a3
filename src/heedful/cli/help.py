"""The help of a verb: everyday options first, the others under headings, examples last.

An option says with `rich_help_panel` which heading it stands under. Examples are the last part of
the docstring of a verb.
"""

from __future__ import annotations

import re
import shutil
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from heedful.cli.output import coloured

DATA = "Data"
MODEL = "Model"
MEASURED = "What is measured"
DECIDED = "How it is decided"
TRAINING = "Training"
OUTPUT = "More output"
MACHINE = "Machine and store"
PANELS = (DATA, MODEL, MEASURED, DECIDED, TRAINING, OUTPUT, MACHINE)
"""The headings, in the order of a page."""
EXAMPLES = "Examples:"
WIDEST = 100
SETTINGS = {"help_option_names": ["-h", "--help"]}


class VerbHelp(TyperCommand):
    """A verb whose help is grouped."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        for param in self.params:
            if param.param_type_name == "argument":
                param.metavar = param.metavar or param.name.upper()

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What must be given stands bare, what may be in brackets."""
        pieces = [self.options_metavar or ""]
        for param in self.params:
            if param.param_type_name == "argument":
                dots = "..." if param.nargs == -1 else ""
                name = f"{param.metavar}{dots}"
                pieces.append(name if param.required else f"[{name}]")
        return pieces

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        whole, self.help = self.help, about_and_examples(self.help or "")[0]
        super().format_help_text(ctx, formatter)
        self.help = whole

    def format_options(self, ctx: Any, formatter: Any) -> None:
        panels: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        panels |= {name: [] for name in PANELS}
        for param in self.get_params(ctx):
            usual = "Arguments" if param.param_type_name == "argument" else "Options"
            record = param.get_help_record(ctx)
            if record is not None:
                records = panels[getattr(param, "rich_help_panel", None) or usual]
                records.append((_type(record[0]), _limits(record[1])))
        for name, records in panels.items():
            if records:
                with formatter.section(heading(name)):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        if examples := about_and_examples(self.help or "")[1]:
            with formatter.section(heading("Examples")):
                for line in examples.splitlines():
                    formatter.write(f"{'':>{formatter.current_indent}}{line.strip()}\n")


class VerbsHelp(TyperGroup):
    """Several verbs, each with its first sentence."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section(heading("Commands")):
            verbs = self.commands.items()
            formatter.write_dl([(name, (verb.help or "").split("\n\n")[0]) for name, verb in verbs])


def about_and_examples(help: str) -> tuple[str, str]:
    """The parts of a docstring."""
    about, _, examples = help.partition(EXAMPLES)
    return about.rstrip(), examples.strip()


def _type(record: str) -> str:
    """The name of an option and what it takes: a range and a list take one value at a time."""
    return re.sub(r"<(?:list\[)?(\w+?)(?:\]| range)>", lambda kind: f"<{kind[1].lower()}>", record)


def _limits(words: str) -> str:
    """Without limits that only keep machines from harm, and tell nobody anything."""
    words = re.sub(r"  \[x<=\d{7,}\]|; 0<=x<=\d{7,}(?=\])", "", words)
    return re.sub(r"(\d+)<=x<=\d{7,}(?=\])", r"at least \1", words)


def heading(name: str) -> str:
    return typer.style(name, bold=True) if coloured() else name


def width() -> int:
    """Of the help: as wide as the terminal, as long as lines can still be read."""
    return max(40, min(WIDEST, shutil.get_terminal_size().columns))
