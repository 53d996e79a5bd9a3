"""LaTeX without LaTeX: what would keep a file from being compiled."""

from __future__ import annotations

import re

COMMANDS = {
    "section", "subsection", "cite", "texttt", "allowbreak", "begin", "end", "item", "centering",
    "caption", "label", "resizebox", "ifdim", "width", "linewidth", "else", "fi", "toprule",
    "midrule", "bottomrule", "textbackslash", "textasciitilde", "textasciicircum", "textless",
    "textgreater", "tau", "pm", "leq", "geq", "alpha", "beta", "lambda", "Delta", "varepsilon",
    "times", "cdot", "documentclass", "usepackage", "title", "author", "date", "maketitle", "input",
    "bibliographystyle", "bibliography",
}  # fmt: skip
_COMMAND = re.compile(r"\\([a-zA-Z]+)")
_ENVIRONMENT = re.compile(r"\\(begin|end)\{(\w+)\}")
_CITE = re.compile(r"\\cite\{([^}]*)\}")


def problems(text: str) -> list[str]:
    """Unbalanced braces, unclosed environments, commands of nobody's, bare special characters."""
    bare = re.sub(r"\\[\\&%$#_{}]", "", text)
    lines = [line for line in bare.split("\n") if not line.startswith("%")]
    body = "\n".join(re.sub(r"%$", "", line) for line in lines)
    found = [f"command {name}" for name in _COMMAND.findall(body) if name not in COMMANDS]
    found += _braces(body) + _environments(body)
    if body.count("$") % 2:
        found.append("an odd number of $")
    outside = re.sub(r"\$[^$]*\$|\\label\{[^}]*\}|\\(?:cite|input)\{[^}]*\}", "", body)
    tables = re.sub(r"\\begin\{tabular\}.*?\\end\{tabular\}", "", outside, flags=re.DOTALL)
    found += [f"bare {sign}" for sign in "#_^" if sign in outside]
    found += [f"bare {sign}" for sign in "&%" if sign in tables]
    return found + [f"character {c!r}" for c in set(body) if ord(c) > 0x17F and c not in "–—‘’“”…"]


def rows_fit(text: str) -> bool:
    """Every row of every table has as many cells as its layout."""
    for layout, body in re.findall(
        r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end\{tabular\}", text, re.DOTALL
    ):
        for row in (line for line in body.split("\n") if line.rstrip().endswith(r"\\")):
            if len(re.split(r"(?<!\\)&", row)) != len(layout):
                return False
    return True


def cited(text: str) -> set[str]:
    return {key for keys in _CITE.findall(text) for key in keys.split(",")}


def _braces(body: str) -> list[str]:
    depth = 0
    for char in body:
        depth += (char == "{") - (char == "}")
        if depth < 0:
            return ["a brace too many"]
    return ["a brace is open"] if depth else []


def _environments(body: str) -> list[str]:
    open_: list[str] = []
    for what, name in _ENVIRONMENT.findall(body):
        if what == "begin":
            open_.append(name)
        elif not open_ or open_.pop() != name:
            return [f"end of {name}"]
    return [f"{name} is open" for name in open_]
