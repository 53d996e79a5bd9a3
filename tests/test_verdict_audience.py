"""Whom an explanation is for: words that follow a declaration, and no decision."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product

import pytest

from audited import LEAST, audit, bert, texts
from heedful.errors import HeedfulError
from heedful.report import audit_page
from heedful.verdict import GOALS, READERS, UNDECLARED, Audience, Verdict, card, judge
from verdict_tables import World, costs, rows_of

WORLDS = {"no": World(truth=0.1), "yes": World(truth=0.95, agreement=0.95)}


@pytest.mark.parametrize("world", WORLDS)
def test_a_declaration_changes_words_and_no_decision(world: str) -> None:
    rows = rows_of(WORLDS[world])
    plain = judge(rows, costs())
    assert plain.answer == world and plain.audience == UNDECLARED
    for reader, goal in product(("", *READERS), ("", *GOALS)):
        audience = Audience(reader, goal)
        found = judge(rows, costs(), audience.facts)
        assert found.statements == plain.statements or repr(found.statements) == repr(
            plain.statements
        )
        assert (found.decision, found.reason, found.digest) == (
            plain.decision,
            plain.reason,
            plain.digest,
        )
        to = f" to {READERS[reader]}" if reader else ""
        assert found.headline == plain.headline.replace("show attention", f"show attention{to}")
        assert found.recommendation.best == plain.recommendation.best
        shown, _, rest = found.recommendation.sentence.partition(": ")
        before, _, same = plain.recommendation.sentence.partition(": ")
        assert rest == same and shown == before + (to if before.startswith("show ") else "")
        for known in filter(None, (READERS.get(reader), GOALS.get(goal))):
            assert known in found.audience
        assert (found.audience == UNDECLARED) == (not reader and not goal)


def test_users_are_told_of_plausibility_and_developers_are_not() -> None:
    rows = rows_of(World(auprc=0.2))
    user, developer = (
        judge(rows, costs(), {"reader": name}).audience for name in ("user", "developer")
    )
    assert "plausibility 0.2" in user and "decides nothing" in user
    assert "plausib" not in developer
    without = rows[rows["measure"] != "auprc"]
    assert "(plausibility) was not measured" in judge(without, costs(), {"reader": "user"}).audience


def test_it_is_printed_kept_and_shown_everywhere() -> None:
    facts = {"model": "tiny", "reader": "user", "goal": "trust"}
    verdict = judge(rows_of(WORLDS["no"]), costs(), facts)
    line = verdict.audience
    assert line.startswith("for end users, to decide how far to trust the model.")
    assert f"Readers: {line}" in verdict.lines()
    values = json.loads(verdict.to_json())
    assert values["audience"] == line and values["facts"]["reader"] == "user"
    assert Verdict.from_values(values).audience == line
    del values["audience"]
    assert Verdict.from_values(values).audience == UNDECLARED
    assert "**Readers:** for end users" in card(verdict)
    page = audit_page({"verdict": verdict, "facts": facts})
    assert "No, do not show attention to end users" in page and "Readers: for end users" in page
    nobody = audit_page({"verdict": judge(rows_of(WORLDS["no"]), costs()), "facts": facts})
    assert "is not declared (--reader, --goal)" in nobody


def test_an_audit_records_it_and_is_the_same_audit(tmp_path) -> None:  # type: ignore[no-untyped-def]
    first = audit(bert(), texts(6), LEAST, store=tmp_path)
    again = audit(bert(), texts(6), LEAST, store=tmp_path, reader="developer", goal="debugging")
    assert again.facts["key"] == first.facts["key"]
    assert (again.facts["reader"], again.facts["goal"]) == ("developer", "debugging")
    assert "reader" not in first.facts
    assert again.rows.equals(first.rows)


@pytest.mark.parametrize("options", [{"reader": "boss"}, {"goal": "fun"}])
def test_who_is_unknown_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(HeedfulError, match="choose one of"):
        audit(bert(), texts(4), LEAST, **options)
    assert Audience.of({"reader": 3, "goal": ["x"]}) == Audience() == replace(Audience())
