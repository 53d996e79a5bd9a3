"""An audit as a part of a page, verdict first; its charts also as figures for files."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from heedful.report.audit_choice import (
    ROLES,
    Positions,
    agreement,
    dot_domain,
    dot_plot,
    dot_rows,
    positions,
    ranked,
    ranking_order,
    sites,
)
from heedful.report.audit_edits import (
    Drawn,
    caption,
    edits,
    exclusive,
    is_exact,
    items,
    moved,
    panel,
    reachable,
)
from heedful.report.audit_evidence import AuditEvidence
from heedful.report.audit_inside import (
    ENDS,
    MODES,
    alone_numbers,
    alone_panels,
    eraser,
    heads,
    infidelity,
    null_space,
    sanity,
    stack_numbers,
    stack_panels,
    stack_words,
)
from heedful.report.audit_properties import badge, properties
from heedful.report.audit_texts import beside, texts
from heedful.report.charts import Charts
from heedful.report.figures.figure import Figure, Group, Panel
from heedful.report.formats import DASH, clipped, of_texts, percent, plain, shown
from heedful.report.sheet import piece

PARTS = ("verdict", "properties", "evidence", "print")


def audit_chapter(evidence: AuditEvidence, charts: Charts, name: str) -> dict[str, str]:
    """The HTML of the verdict, the properties, the evidence and the small print. `name` keeps
    the charts of several audits apart."""
    content = {
        **_verdict(evidence),
        "properties": properties(evidence),
        "choice": _choice(evidence, charts, name),
        "edits": _edits(evidence, charts, name),
        "inside": _inside(evidence, charts, name),
        "texts": texts(evidence),
        "beside": plain(beside(evidence)),
        **_small_print(evidence),
    }
    return {part: piece(f"audit_{part}.html", **content) for part in PARTS}


def _verdict(evidence: AuditEvidence) -> dict[str, Any]:
    verdict = evidence.verdict
    sentences = {
        "recommendation": verdict.recommendation.sentence,
        "direction": verdict.direction.sentence,
        "sites": verdict.sites.sentence,
    }
    return {
        "badge": badge(verdict.decision),
        "headline": _sentence(verdict.headline),
        "sentences": {name: _sentence(text) for name, text in sentences.items()},
        "choice_notes": {
            "recommendation": verdict.recommendation.notes,
            "direction": verdict.direction.notes,
        },
        "warnings": verdict.warnings,
        "scope": scope(evidence),
        "model": clipped(evidence.facts.model),
        "alpha": f"{100 * (1 - evidence.settings.alpha):.3g}%",
    }


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _choice(evidence: AuditEvidence, charts: Charts, name: str) -> dict[str, Any]:
    found, order = positioned(evidence)
    dots = _drawn(charts, dot_panels(found, order), f"{name}-dots")
    notes = [f"not scored here: {one.unusable}" if one.unusable else "" for one in found]
    return {
        "ranked": {
            "recommendation": ranked(evidence, evidence.verdict.recommendation),
            "direction": ranked(evidence, evidence.verdict.direction),
        },
        "sites": sites(evidence),
        "panels": [{**dot, "note": note} for dot, note in zip(dots, notes, strict=True)],
        "roles": roles(evidence),
        "numbers": dot_rows(found, order),
        "agreement": agreement(evidence),
    }


def _edits(evidence: AuditEvidence, charts: Charts, name: str) -> dict[str, Any]:
    return {
        "lines": edits(evidence),
        "erased": items(evidence),
        "moved": _histograms(charts, moved(evidence), f"{name}-moved"),
        "exclusive": _histograms(charts, exclusive(evidence), f"{name}-same"),
        "exact": is_exact(evidence),
        "reachable": reachable(evidence),
    }


def _inside(evidence: AuditEvidence, charts: Charts, name: str) -> dict[str, Any]:
    """Nothing at all where no layer and no head was looked at."""
    found = {
        "stacks": _drawn(charts, stack_panels(evidence), f"{name}-stack"),
        "stack_numbers": stack_numbers(evidence),
        "alone": _drawn(charts, alone_panels(evidence), f"{name}-layer"),
        "alone_numbers": alone_numbers(evidence),
        "heads": heads(evidence),
        "null_space": null_space(evidence),
        "sanity": sanity(evidence),
        "infidelity": infidelity(evidence),
        "eraser": eraser(evidence),
    }
    beside = ("null_space", "sanity", "infidelity", "eraser")
    there = any(found[name] for name in ("stacks", "alone", "heads", *beside))
    words = {
        "words": stack_words(evidence),
        "ends": list(ENDS.values()),
        "modes": list(MODES.values()),
    }
    return {**found, **words} if there else {}


def _small_print(evidence: AuditEvidence) -> dict[str, Any]:
    verdict, facts = evidence.verdict, evidence.facts
    return {
        "caveats": verdict.caveats,
        "digest": verdict.digest,
        "facts": _lines({name: value for name, value in facts.named.items() if name not in APART}),
        "settings": _lines(verdict.settings),
        "versions": _lines(verdict.versions),
        "skipped": [
            (clipped(name), clipped(why, LONGEST)) for name, why in sorted(facts.skipped.items())
        ],
    }


def _histograms(charts: Charts, found: list[Drawn], name: str) -> list[dict[str, Any]]:
    drawn = _drawn(charts, [panel(one) for one in found], name)
    return [{**chart, **caption(one)} for chart, one in zip(drawn, found, strict=True)]


def _drawn(charts: Charts, found: list[Panel], name: str) -> list[dict[str, Any]]:
    return [
        {"title": one.title, "chart": charts.draw(one, f"{name}-{i}")}
        for i, one in enumerate(found)
    ]


LONGEST, MOST = 300, 20
APART = ("skipped", "model", "data")
"""Facts that have a place of their own on the page."""


def scope(evidence: AuditEvidence) -> list[str]:
    """Model, data, how many texts, and how good the model is on them."""
    facts = evidence.facts
    count = len(evidence.examples) if facts.examples is None else facts.examples
    parts = [f"{clipped(facts.model)} on {clipped(facts.data)}", of_texts(count)]
    if math.isnan(facts.accuracy):
        parts.append("no labels")
    else:
        parts.append(f"accuracy {percent(facts.accuracy)}")
        parts.append(f"majority class {percent(facts.majority)}")
    if facts.truncated > 0:
        parts.append(f"{percent(facts.truncated)} truncated")
    return parts


def _lines(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(clipped(name).replace("_", " "), _text(name, values[name])) for name in sorted(values)]


def _text(name: str, value: Any) -> str:
    if isinstance(value, Mapping):
        inner = ", ".join(f"{key} {_text('', each)}" for key, each in list(value.items())[:MOST])
        return clipped(inner, LONGEST) or DASH
    if isinstance(value, (list, tuple)):
        return _several(name, value)
    if isinstance(value, float):
        return shown(value, 4 if value % 1 else 0)
    return DASH if value is None or value == "" else clipped(value, LONGEST)


def _several(name: str, value: list[Any] | tuple[Any, ...]) -> str:
    """A list by its items; a long one (a vocabulary as classes) by its length alone."""
    if len(value) > MOST:
        return f"{len(value)} {name or 'items'}"
    return clipped(", ".join(str(each) for each in value), LONGEST) or DASH


Role = tuple[str, str, str]
"""A name, its colour and its shape."""


def audit_figures(evidence: AuditEvidence) -> Iterator[Figure]:
    """One for each chapter of the page that has charts."""
    found, order = positioned(evidence)
    yield from _figure("positions", dot_panels(found, order), roles(evidence))
    yield from _figure("changed", [panel(one) for one in moved(evidence)])
    yield from _figure("same_output", [panel(one) for one in exclusive(evidence)])
    yield from _figure("stacks", stack_panels(evidence), ENDS.values())
    yield from _figure("layers", alone_panels(evidence), MODES.values())


def positioned(evidence: AuditEvidence) -> tuple[list[Positions], list[str]]:
    """By measure and operator, and the order of explanations in all of them."""
    found = positions(evidence)
    names = {str(name) for one in found for name in one.table["explanation"]}
    return found, ranking_order(evidence, names)


def dot_panels(found: list[Positions], order: list[str]) -> list[Panel]:
    domain = dot_domain(found) if found else (0.0, 1.0)
    return [dot_plot(one, order, domain) for one in found]


def roles(evidence: AuditEvidence) -> list[Role]:
    """What colours and shapes of positions mean."""
    return [role for role in ROLES.values() if role[0] != "recommended" or evidence.best]


TITLES = {
    "positions": "Explanations from a random order (0) to the best order found (1)",
    "changed": "How far the output moves when attention is changed",
    "same_output": "How far another attention with the same output can be",
    "stacks": "More and more layers shuffled",
    "layers": "One layer changed, the others as they are",
}


def _figure(name: str, panels: list[Panel], legend: Iterable[Role] = ()) -> Iterator[Figure]:
    if panels:
        colours = tuple((role, colour) for role, colour, _ in legend)
        yield Figure(name, TITLES[name], "", (Group("", colours, tuple(panels)),))
