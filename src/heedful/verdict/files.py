"""A verdict in files: read from an audit's folder or a store, written as a card for people, and
checked as a gate of a build server."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow.parquet as pq

from heedful.errors import HeedfulError
from heedful.input_files import check_parquet, read_whole
from heedful.schemas import check_version
from heedful.store import SCHEMA_VERSION as TABLES_VERSION
from heedful.store import FileKind, Run, begins, markdown_table, table_version
from heedful.verdict.recommendation import Ranked
from heedful.verdict.statement import Decision, Statement, number
from heedful.verdict.verdict import Verdict

FACTS_VERSION = 1
AGAIN = "run `heedful audit` again with -o"


def load_verdict(folder: Path) -> Verdict:
    """The verdict of an audit's folder. Raises OSError where there is none, ValueError where the
    file is not what was written, and HeedfulError where its version cannot be read."""
    path = folder / "verdict.json"
    values = json.loads(read_text(path))
    if not isinstance(values, dict):
        raise ValueError("no verdict")
    return Verdict.from_values(values, str(path))


def stored_verdict(run: Run) -> Verdict:
    """The verdict of an audit in the store."""
    name = f"the verdict of {run.key}"
    return Verdict.from_values(run.json("verdict"), name, "audit anew with another --store")


def _is_verdict(path: Path) -> bool:
    """Of any version, and however its JSON was laid out since."""
    try:
        data = json.loads(read_whole(path))
    except (ValueError, RecursionError, HeedfulError):
        return False
    named = {"schema_version", "decision", "statements", "digest"}
    return isinstance(data, dict) and named <= set(data)


VERDICT = FileKind("a verdict of Heedful", _is_verdict)


def facts_text(facts: Mapping[str, Any]) -> str:
    """What `facts.json` holds."""
    versioned = {"schema_version": FACTS_VERSION, **facts}
    return json.dumps(versioned, indent=2, sort_keys=True, ensure_ascii=False)


def read_facts(folder: Path) -> dict[str, Any]:
    """The first ones said no version. Raises ValueError where it is not what was written."""
    facts = json.loads(read_text(folder / "facts.json"))
    if not isinstance(facts, dict):
        raise ValueError("no facts")
    version = facts.pop("schema_version", 1)
    check_version(str(folder / "facts.json"), version, FACTS_VERSION, AGAIN)
    return facts


def check_tables(files: Iterable[Path]) -> None:
    """Open each table, so that a damaged or missing one is reported now. A table without a version
    was rewritten by another program from one of the first."""
    for path in files:
        check_parquet(path, pq.read_metadata(path))
        version = table_version(path)
        check_version(str(path), 1 if version is None else version, TABLES_VERSION, AGAIN)


def read_text(path: Path) -> str:
    """A missing file is an OSError, as for the other files of a folder."""
    path.stat()
    return read_whole(path)


# A section for a model card, in Markdown.


TITLE = "Should attention be shown as an explanation?"
_SHOWN = ("property", "decision", "estimate", "bounds", "threshold", "fail", "examples")
_RANKED = ("explanation", "score", "as good as the best?", "ms per example")
CARD = FileKind("a card of `heedful audit`", begins(f"## {TITLE}\n\n**", "Settings `"))


def card(verdict: Verdict, title: str = TITLE) -> str:
    """What was claimed, on what evidence, what to show instead, and what it does not mean."""
    return "\n".join(
        [
            f"## {escape(title)}",
            "",
            f"**{verdict.decision}**: {escape(verdict.headline)}",
            "",
            *_asked(verdict),
            f"**Readers:** {escape(verdict.audience)}",
            "",
            markdown_table(_SHOWN, map(_row, verdict.statements)),
            "",
            f"**Which {verdict.asked.unit}s matter:** {escape(verdict.recommendation.sentence)}",
            "",
            *_ranked(verdict.recommendation.ranked),
            f"**Which class they speak for:** {escape(verdict.direction.sentence)}",
            "",
            *_ranked(verdict.direction.ranked),
            f"**Other attention:** {escape(verdict.sites.sentence)}",
            "",
            *_list("Warnings", verdict.warnings),
            *_list("What this does not mean", verdict.caveats),
            f"Settings `{verdict.digest}`; {_facts(verdict)}.",
            "",
        ]
    )


def _asked(verdict: Verdict) -> list[str]:
    """Of a model that writes, what was asked of it."""
    said = verdict.facts.get("asked")
    return [f"**Question:** {escape(said)}", ""] if isinstance(said, str) else []


def escape(text: str) -> str:
    """Text that Markdown (and the HTML within it) leaves as it is, on one line."""
    flat = re.sub(r"\s+", " ", text).strip()
    flat = flat.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]#|~!])", r"\\\1", flat)


def _row(each: Statement) -> list[str]:
    return [
        escape(each.property),
        str(each.decision),
        number(each.estimate),
        f"{number(each.low)} to {number(each.high)}",
        number(each.threshold),
        "?" if math.isnan(each.share_failing) else f"{each.share_failing:.0%}",
        str(each.n),
    ]


def _ranked(ranked: Sequence[Ranked]) -> list[str]:
    if not ranked:
        return []
    rows = (
        (
            escape(each.explanation),
            number(each.position),
            "cannot be told apart" if each.tied else "no",
            number(each.milliseconds),
        )
        for each in ranked
    )
    return [markdown_table(_RANKED, rows), ""]


def _list(title: str, texts: Sequence[str]) -> list[str]:
    return [f"**{title}**", "", *(f"- {escape(text)}" for text in texts), ""] if texts else []


def _facts(verdict: Verdict) -> str:
    names = ("examples", "accuracy", "majority")
    known = [(name, verdict.facts[name]) for name in names if name in verdict.facts]
    return ", ".join(f"{name} {value:.4g}" for name, value in known)


# A gate: thresholds, or no worse than a baseline, as JUnit for a build server.


_DECLARED = '<?xml version="1.0" encoding="UTF-8"?>\n'
SUITE = "heedful"
JUNIT = FileKind(
    "a JUnit file of `heedful check`",
    begins(f'{_DECLARED}<testsuite name="{SUITE}"', "</testsuite>"),
)


@dataclass(frozen=True)
class Outcome:
    """One thing that was checked; `failure` is "" where it passed."""

    name: str
    failure: str = ""


def check(
    verdict: Verdict, thresholds: Mapping[str, float] | None = None, baseline: Verdict | None = None
) -> list[Outcome]:
    """Everything that was checked. A threshold is a property's smallest allowed estimate, and
    its upper bound must reach it: below it beyond doubt is a failure, doubt is not. Against a
    baseline, no property may have turned NOT SUPPORTED or fall below it by more than chance."""
    outcomes = [_overall(verdict, baseline)]
    for name, threshold in (thresholds or {}).items():
        outcomes.append(_threshold(verdict[name], threshold))
    if baseline is not None:
        if verdict.digest != baseline.digest:
            raise HeedfulError(
                "the baseline was made with other settings: make it again with these settings."
            )
        outcomes += [_against(verdict[old.property], old) for old in baseline.statements]
    return outcomes


def failures(outcomes: Sequence[Outcome]) -> list[Outcome]:
    return [each for each in outcomes if each.failure]


def junit(outcomes: Sequence[Outcome], suite: str = SUITE) -> str:
    """JUnit XML, one test case per outcome."""
    root = ElementTree.Element(
        "testsuite",
        name=_legal(suite),
        tests=str(len(outcomes)),
        failures=str(len(failures(outcomes))),
        errors="0",
        skipped="0",
    )
    for each in outcomes:
        name = _legal(each.name)
        case = ElementTree.SubElement(root, "testcase", classname=_legal(suite), name=name)
        if each.failure:
            text = _legal(each.failure)
            ElementTree.SubElement(case, "failure", message=text).text = text
    ElementTree.indent(root)
    return _DECLARED + ElementTree.tostring(root, "unicode") + "\n"


def _overall(verdict: Verdict, baseline: Verdict | None) -> Outcome:
    """Without a baseline a refuted claim fails; with one, only a claim that got worse."""
    bad = verdict.decision is Decision.NOT_SUPPORTED
    if baseline is not None and baseline.decision is Decision.NOT_SUPPORTED:
        bad = False
    return Outcome("overall", verdict.headline if bad else "")


def _threshold(each: Statement, threshold: float) -> Outcome:
    name = f"{each.property} at least {threshold:g}"
    if not math.isfinite(each.estimate):
        return Outcome(name, f"{each.property} has no estimate: {each.blocked or each.decision}")
    if each.high < threshold:
        text = f"{each.estimate:.3f}, at most {each.high:.3f}"
        return Outcome(name, f"{each.property} is {text}, below {threshold:g}.")
    return Outcome(name)


def _against(new: Statement, old: Statement) -> Outcome:
    name = f"{old.property} no worse than it was"
    if new.decision is Decision.NOT_SUPPORTED and old.decision is not Decision.NOT_SUPPORTED:
        return Outcome(name, f"{old.property} was {old.decision} and is now NOT SUPPORTED.")
    if math.isfinite(old.estimate) and math.isnan(new.estimate):
        return Outcome(name, f"{old.property} was measured and is now {new.decision}.")
    if old.decision is not Decision.REPORTED and new.high < old.low:
        text = f"from {old.estimate:.3f} to {new.estimate:.3f}"
        return Outcome(name, f"{old.property} fell {text}, more than chance explains.")
    return Outcome(name)


def _legal(text: str) -> str:
    """Without the characters XML cannot hold at all; the rest is escaped by the writer."""
    return re.sub("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
