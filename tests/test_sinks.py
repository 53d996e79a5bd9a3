"""Attention sinks: how much goes to them, the map without them, and what hangs on it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

from heedful.attributions import attention, without_sinks
from heedful.auditing import AuditSpec, audit, audit_subject
from heedful.benchmark import cases
from heedful.errors import HeedfulError
from heedful.experiments import ForwardBatch, sink_maps, sink_masses
from heedful.report import audit_page
from heedful.types import Batch, Text
from heedful.verdict import Verdict, judge
from heedful.words import to_words, word_mask
from tiny_hf import attached_bert, tiny_hf
from tiny_tokenizers import word_pieces
from verdict_tables import World, rows_of


def batch_of(words: list[list[int]]) -> Batch:
    numbers = torch.tensor(words)
    text = Text(
        torch.zeros_like(numbers), torch.full((len(words),), len(words[0])), numbers >= 0, numbers
    )
    return Batch(tuple(map(str, range(len(words)))), {"a": text}, torch.zeros(len(words)).long())


ROWS = torch.tensor([[[0.8, 0.1, 0.05, 0.05, 0.0], [0.0, 0.2, 0.2, 0.6, 0.0]]]).double()
BATCH = batch_of([[-1, 0, 1, 1, -1]])
"""Two heads, of which one rests on the first token; two words, the second of two tokens."""


def test_heads_count_alike_without_special_tokens_by_hand() -> None:
    nothing = torch.zeros(1, 5, dtype=torch.bool)
    found = without_sinks(ROWS, BATCH, nothing)
    np.testing.assert_allclose(found[0, 0], [0, 0.5, 0.25, 0.25, 0])
    np.testing.assert_allclose(found[0, 1], [0, 0.2, 0.2, 0.6, 0])
    plain, without = (
        to_words(rows.mean(1) * BATCH.texts["a"].mask, BATCH.texts["a"])[0]
        for rows in (ROWS, found)
    )
    np.testing.assert_allclose(plain, [0.15, 0.45])
    np.testing.assert_allclose(without, [0.35, 0.65])


def test_a_text_of_sinks_alone_keeps_them() -> None:
    everything = torch.ones(1, 5, dtype=torch.bool)
    torch.testing.assert_close(
        without_sinks(ROWS, BATCH, everything), without_sinks(ROWS, BATCH, ~everything)
    )


def slow(weights: Tensor, numbers: list[int], gone: set[int]) -> list[float]:
    """One text: the mean over heads of the first row's weights, each head over its words."""
    there = sorted(set(numbers) - {-1})
    left = [word for word in there if word not in gone] or there
    total = [0.0] * (max(there) + 1)
    for head in weights:
        by_word = {w: sum(float(head[t]) for t, n in enumerate(numbers) if n == w) for w in left}
        for word, weight in by_word.items():
            total[word] += weight / sum(by_word.values()) / len(weights)
    return total


def test_maps_are_those_of_a_loop() -> None:
    with attached_bert() as (model, batch):
        forward = ForwardBatch.of(model, batch)
        marks = torch.zeros_like(word_mask(batch.texts["a"]))
        marks[:, 1] = True
        found, masses = sink_maps(forward, marks), sink_masses(forward, marks)
        tokens = {
            kind: attention(model, batch, batch.labels, sinks=kind) for kind in ("special", "first")
        }
        name = model.sites[-1].name
        for row in range(len(batch)):
            numbers = batch.texts["a"].words[row].tolist()
            weights = forward.trace.weights[name][row, :, 0]
            for kind, gone in (("special", set()), ("first", {0}), ("punctuation", {1})):
                expected = slow(weights, numbers, gone)
                np.testing.assert_allclose(found[kind][row, : len(expected)], expected)
            for mass, word in (("first_word_mass", 0), ("punctuation_mass", 1)):
                share = sum(float(weights[:, t].mean()) for t, n in enumerate(numbers) if n == word)
                assert float(masses[mass][row]) == pytest.approx(share)
        for kind, scores in tokens.items():
            torch.testing.assert_close(to_words(scores, batch.texts["a"]), found[kind])
        with pytest.raises(HeedfulError, match="way to treat sinks"):
            attention(model, batch, batch.labels, sinks="none")


def test_an_audit_tells_words_from_marks() -> None:
    texts = [{"text": "good , bad !", "label": 1, "id": "a"}, {"text": "good", "label": 0}] * 2
    spec = AuditSpec(("attention",), only=("importance",), exact=4)
    found = audit((tiny_hf(), word_pieces()), texts, spec).rows
    masses = found[found["measure"] == "punctuation_mass"].groupby("length")["value"].mean()
    assert masses[1] == 0.0 and masses.iloc[-1] > 0.0
    names = set(found[found["measure"] == "importance_captured"]["explanation"])
    assert {f"attention:sinks={kind}" for kind in ("special", "first", "punctuation")} <= names


def table(truths: dict[str, float], first: float = 0.0) -> pd.DataFrame:
    """Attention is at 0.3 of the way to the best order with its sinks, elsewhere without."""
    world = World(
        truth=0.3, others={f"attention:sinks={kind}": value for kind, value in truths.items()}
    )
    rows = rows_of(world)
    one = rows[(rows["measure"] == "correct") & (rows["operator"] == "")]
    taus = rows[(rows["explanation"] == "attention") & rows["measure"].str.startswith("tau:")]
    rows = pd.concat(
        [
            rows,
            *(
                taus.assign(
                    explanation=f"attention:sinks={kind}", value=taus["value"] + 0.6 * value
                )
                for kind, value in truths.items()
            ),
        ]
    )
    shares = {"special_mass": 0.6, "first_word_mass": first, "punctuation_mass": 0.2}
    measured = [
        one.assign(explanation="attention", measure=name, value=value)
        for name, value in shares.items()
    ]
    return pd.concat([rows, *measured], ignore_index=True)


def test_a_verdict_that_hangs_on_sinks_says_so() -> None:
    verdict = judge(table({"special": 0.95, "first": 0.95, "punctuation": 0.3}))
    by_kind = {each.left_out: each for each in verdict.sinks.without}
    assert set(by_kind) == {"special", "punctuation"}  # the first word is no sink
    assert by_kind["punctuation"].importance == pytest.approx(0.3, abs=0.1)
    assert by_kind["special"].importance == pytest.approx(0.95, abs=0.1)
    (said,) = [text for text in verdict.warnings if "hangs on attention sinks" in text]
    assert verdict.answer == "no" and "no with them, yes without tokens of no word" in said
    assert "Sinks: of the attention, tokens of no word 60%, punctuation 20%." in str(verdict)
    assert Verdict.from_json(verdict.to_json()).sinks == verdict.sinks
    assert "attention:sinks" not in verdict.sites.sentence


def test_wider_bounds_are_no_other_answer() -> None:
    verdict = judge(table({"special": 0.67}))
    (without,) = verdict.sinks.without
    assert (verdict.answer, without.answer) == ("no", "cannot tell yet")
    assert not [text for text in verdict.warnings if "hangs on attention sinks" in text]


def test_a_first_word_that_is_a_sink_is_left_out() -> None:
    rows = table({"first": 0.95}, first=0.5)
    verdict = judge(rows)
    assert verdict.sinks.first_acts and [e.left_out for e in verdict.sinks.without] == ["first"]
    assert any("it acts as a sink" in text for text in verdict.warnings)
    some = rows["example"].isin(sorted(set(rows["example"]))[:25])  # light in one of eight
    rows.loc[some & (rows["measure"] == "first_word_mass"), "value"] = 0.2
    assert not judge(rows).sinks.first_acts


def test_equal_answers_need_no_warning_and_old_tables_say_nothing() -> None:
    assert not judge(table({"special": 0.3})).sinks.warnings
    plain = judge(rows_of(World()))
    assert plain.sinks.sentence == "" and not plain.sinks.without


def test_the_page_has_the_answers() -> None:
    rows = table({"special": 0.95})
    parts = {"verdict": json.loads(judge(rows).to_json()), "facts": {}, "rows": rows}
    assert "Does the answer hang on attention sinks?" in audit_page(parts)


def test_a_model_with_a_sink_is_judged_alike_without_it() -> None:
    (case,) = cases(("trained",), held_out=True, kinds=["sink"], texts=60)
    with case.open() as opened:
        spec = AuditSpec(("attention",), only=("importance", "interventions"))
        found = audit_subject(opened.subject, replace(spec, exact=8)).verdict
    (special,) = found.sinks.without
    assert found.sinks.special > 0.6 and special.left_out == "special"
    assert special.low > 0.67 and special.answer == found.answer
