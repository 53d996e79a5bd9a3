"""Results in a notebook: the page's own parts, without scripts, readable in light and dark themes.

A notebook shows the HTML in its own page, so every rule of the style names `.heedful`. Viewers that
strip styles, as code hosts do, show the still picture instead, and all words stay readable.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from heedful.report.audit_evidence import evidence_of
from heedful.report.audit_properties import badge, properties
from heedful.report.audit_telling import telling
from heedful.report.audit_texts import LONGEST_WORD, WordMap, marks_of, window, word_map
from heedful.report.formats import capitalised, clipped, percent
from heedful.report.page import NUMBERS, audit_scope
from heedful.report.sheet import asset, need, piece
from heedful.report.still import audit_still, png, words_still
from heedful.units import WORD, by_unit, check_unit

OWN_STYLE = "notebook.css"
PAGE_STYLES = ("shades.css", "page.css")
"""Of these only rules for classes that are used are taken along."""
PAGE = """body { margin: 0; background: var(--ground); color: var(--ink); }
main { max-width: 900px; margin: 0 auto; padding: 20px; }
h1 { font: 600 1.4rem/1.3 system-ui, Helvetica, Arial, sans-serif; overflow-wrap: anywhere; }
"""
MOST_MAPS = 24
ASKED = 40
"""The longest name of a class."""

Bundle = dict[str, str]
"""What a notebook shows, by MIME type; it chooses."""


def explanation_bundle(explained: Mapping[str, Any], text: str) -> Bundle:
    """Of one text; `explained` is what `Explanation.to_dict` gives."""
    maps = list(_maps(explained))
    said = _said(explained)
    picture = png(words_still(said, maps))
    html = _html(
        "notebook_explanation.html",
        said=said,
        maps=maps,
        tables=_by_token(explained),
        cut=_cut(explained),
        unit=_unit(explained),
        together=explained["interactions"],
        picture=picture,
    )
    return _bundle(html.replace("</style>", f"{_choices(len(maps))}</style>", 1), picture, text)


def audit_bundle(parts: Mapping[str, Any], text: str, page: Path | None = None) -> Bundle:
    """Of an audit: its verdict, the telling example, and a link to its page where there is one."""
    evidence = evidence_of(parts)
    verdict = evidence.verdict
    headline = capitalised(NUMBERS.sub("", verdict.headline))
    rows = properties(evidence)
    example = telling(evidence)
    shown = capitalised(verdict.recommendation.sentence)
    scope = " · ".join(audit_scope(evidence))
    picture = png(audit_still(headline, [shown, scope], rows, example))
    html = _html(
        "notebook_audit.html",
        badge=badge(verdict.decision),
        headline=headline,
        show=shown,
        scope=scope,
        properties=rows,
        telling=example,
        number=verdict.digest,
        warnings=verdict.warnings,
        alpha=f"{100 * (1 - evidence.settings.alpha):.3g}%",
        page=page.as_posix() if page is not None else "",
        picture=picture,
    )
    return _bundle(html, picture, text)


def standalone(html: str, title: str) -> str:
    """What a notebook shows as a page of its own."""
    style = asset("colours.css") + PAGE
    return piece("notebook_page.html", title=title, style=_markup(style), body=_markup(html))


def framed(page: str, bundle: Bundle) -> Bundle:
    """A whole page inside a notebook, where it can reach nothing: a frame of its own origin. A
    viewer that shows no frames shows the picture."""
    picture = bundle.get("image/png", "")
    html = piece("notebook_frame.html", page=_markup(escape(page)), picture=picture)
    return {**bundle, "text/html": html}


def _bundle(html: str, picture: str, text: str) -> Bundle:
    beside = {"image/png": picture} if picture else {}
    return {"text/plain": text, "text/html": html, **beside}


def _html(template: str, **content: Any) -> str:
    body = piece(template, **content)
    style = "".join(_used(asset(name), body) for name in PAGE_STYLES) + asset(OWN_STYLE)
    return body.replace("<style></style>", f"<style>{style}</style>", 1)


def _choices(count: int) -> str:
    """One explanation is seen at a time, without a script; where a browser cannot do that, all."""
    shown = "".join(
        f".heedful .picks:has(label:nth-child({i}) input:checked) .shown > :nth-child({i}) "
        f"{{ display: block; }}\n"
        for i in range(1, count + 1)
    )
    hidden = (
        ".heedful .chooser { display: flex; }\n.heedful .chooser ~ .shown > * { display: none; }\n"
    )
    title = ".heedful .chooser ~ .shown .caption { display: none; }\n"
    return f"@supports selector(:has(*)) {{\n{hidden}{title}{shown}}}\n" if count > 1 else ""


def _markup(html: str) -> Any:
    return need("markupsafe").Markup(html)


_NESTED = re.compile(r"@[^{}]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}")
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_CLASS = re.compile(r"\.([A-Za-z][\w-]*)")


def _used(style: str, body: str) -> str:
    """The rules of a page's style whose classes the HTML has, for what is inside `.heedful`."""
    used = {name for names in re.findall(r'class="([^"]*)"', body) for name in names.split()}
    found = []
    for selectors, rule in _RULE.findall(_NESTED.sub("", style)):
        named = [each.strip() for each in selectors.split(",")]
        kept = [
            each for each in named if (classes := set(_CLASS.findall(each))) and classes <= used
        ]
        if kept:
            found.append(f"{', '.join(f'.heedful {each}' for each in kept)} {{{rule}}}\n")
    return "".join(found)


def _maps(explained: Mapping[str, Any]) -> Sequence[WordMap]:
    words = explained["words"]
    scores = {name: np.array(each, dtype=float) for name, each in explained["scores"].items()}
    first = dict(list(scores.items())[:MOST_MAPS])
    if not first:
        return []
    stretch = window(list(first.values()))
    marks = marks_of(explained)
    return [word_map(name, words, each, marks, stretch) for name, each in first.items()]


def _unit(explained: Mapping[str, Any]) -> str:
    """Of an explanation of an earlier version: words."""
    return check_unit(explained.get("unit", WORD))


def _by_token(explained: Mapping[str, Any]) -> Sequence[tuple[str, list[tuple[str, WordMap]]]]:
    """By explanation, the tokens of an answer and the words as they are shaded for each of them."""
    words, tokens = explained["words"], explained.get("tokens", ())
    found = []
    for name, table in list(explained.get("by_token", {}).items())[:MOST_MAPS]:
        scores = [np.array(each, dtype=float) for each in table]
        stretch = window(scores)
        maps = [word_map(name, words, each, marks_of(explained), stretch) for each in scores]
        labels = [clipped(token, LONGEST_WORD) for token in tokens]
        found.append((maps[0].title, list(zip(labels, maps, strict=True))))
    return found


def _cut(explained: Mapping[str, Any]) -> str:
    count = len(explained["words"])
    scores = [np.array(each, dtype=float) for each in explained["scores"].values()]
    start, stop = window(scores) if scores else (0, count)
    cut = f"Words {start + 1}–{stop} of {count}." if stop - start < count else ""
    return by_unit(cut, _unit(explained))


def _said(explained: Mapping[str, Any]) -> str:
    predicted, asked = (clipped(explained[name], ASKED) for name in ("predicted", "explained"))
    share = percent(explained["probability"])
    if "answer" in explained:
        answer = clipped(explained["answer"].strip(), ASKED)
        return f"Answer: {answer}. Explained: {asked} ({share})."
    about = " ".join(explained["words"][place] for place in explained.get("about", ()))
    of = f" for {clipped(about, ASKED)}" if about else ""
    if predicted == asked:
        return f"Predicted{of}: {predicted} ({share})."
    return f"Predicted{of}: {predicted}. Explained: {asked} ({share})."
