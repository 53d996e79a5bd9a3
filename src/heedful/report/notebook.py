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

from heedful.report.audit_evidence import evidence_of
from heedful.report.audit_properties import badge, properties
from heedful.report.audit_telling import telling
from heedful.report.charts import Drawn, inline
from heedful.report.explained_text import (
    LEGEND,
    Explained,
    cut_of,
    matrix_panels,
    said,
    token_maps,
    unit_of,
    word_maps,
)
from heedful.report.formats import capitalised
from heedful.report.page import NUMBERS, audit_scope
from heedful.report.panels import Panel
from heedful.report.sheet import asset, need, piece
from heedful.report.still import audit_still, png, words_still

OWN_STYLE = "notebook.css"
PAGE_STYLES = ("shades.css", "page.css")
"""Of these only rules for classes that are used are taken along."""

Bundle = dict[str, str]
"""What a notebook shows, by MIME type; it chooses."""


def explanation_bundle(explained: Explained, text: str) -> Bundle:
    """Of one text."""
    picture = png(words_still(said(explained), word_maps(explained)))
    drawn = _drawn(matrix_panels(explained)) if picture else []
    html = _explained(
        explained,
        said=said(explained),
        tables=token_maps(explained),
        matrices=drawn,
        picture=picture,
    )
    return _bundle(html, picture, text)


def whole_text(explained: Explained) -> str:
    """Its units as they are shaded, for a page that says the rest."""
    return _explained(explained, said="", tables=(), matrices=(), picture="")


def _explained(explained: Explained, **content: Any) -> str:
    maps = word_maps(explained)
    html = _html(
        "notebook_explanation.html",
        maps=maps,
        cut=cut_of(explained),
        unit=unit_of(explained),
        together=explained["interactions"],
        legend=LEGEND,
        **content,
    )
    return html.replace("</style>", f"{_choices(len(maps))}</style>", 1)


def _drawn(panels: Sequence[Panel]) -> list[Drawn]:
    """Still ones: a notebook runs no script of ours."""
    pairs = ((f"matrix-{place}", panel) for place, panel in enumerate(panels))
    return [
        Drawn(each.title, name, _markup(inline(each.spec(), name, each.says)))
        for name, each in pairs
    ]


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
