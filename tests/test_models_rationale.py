"""Select, then predict: what is not selected cannot change a logit; what the terms cost."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from heedful.auditing import entrants
from heedful.errors import HeedfulError
from heedful.models import OneSequence, Rationale, build, leave_one_out_logits, one_sequence
from heedful.specs import ModelSpec, TermSpec
from heedful.training import TERMS, TermContext
from heedful.types import Batch, Keep
from tiny import EMBEDDING, HIDDEN, WORDS, tiny_batch

LENGTHS = [9, 4, 12, 6, 7]


def rationale_model(inner: str = "bilstm", seed: int = 0, double: bool = False) -> OneSequence:
    """Gates that differ from word to word, nearly all of them 0 or 1."""
    generator = torch.Generator().manual_seed(seed)
    vectors = torch.randn(WORDS, EMBEDDING, generator=generator)
    model = build(ModelSpec(f"{inner}+rationale", hidden=HIDDEN), vectors, 2, seed)
    assert isinstance(model, OneSequence) and isinstance(model.encoder, Rationale)
    with torch.no_grad():
        model.encoder.shapes.weight *= 8000
    return (model.double() if double else model).eval()


def drawn(model: OneSequence, batch: Batch) -> Tensor:
    text = batch.texts["a"]
    gates: Tensor = model.encoder.gates(model.embedding(text.tokens), text.lengths).likeliest()
    return gates


@pytest.mark.parametrize("inner", ["bilstm", "lstm", "cnn", "average", "bilstm+concat", "bigru"])
def test_words_that_are_not_selected_leave_the_logits_bit_equal(inner: str) -> None:
    """The selection held, every word that is not in it is replaced by another."""
    batch = tiny_batch(LENGTHS)
    text = batch.texts["a"]
    models = (rationale_model(inner, seed) for seed in range(20))
    model = next(each for each in models if 0 < drawn(each, batch)[text.mask].count_nonzero() < 30)
    gates = drawn(model, batch)
    left = text.mask & (gates == 0)
    other = torch.where(left, (text.tokens + 7) % (WORDS - 4) + 4, text.tokens)
    assert bool((other != text.tokens)[left].all())

    def logits(tokens: Tensor) -> Tensor:
        x = model.embedding(tokens)
        states = model.encoder.read(x, gates, text.lengths).states
        return model.attend(batch, states, None, {}, Keep()).logits

    assert torch.equal(logits(other), logits(text.tokens))
    assert torch.equal(logits(text.tokens), model(batch).logits)
    taken = torch.where(text.mask & (gates > 0), (text.tokens + 7) % (WORDS - 4) + 4, text.tokens)
    assert not torch.equal(logits(taken), logits(text.tokens))  # the test can fail


def test_whole_texts_too_where_the_selection_stays() -> None:
    """End to end: of all single changes of unselected words, those that keep the selection keep the
    logits."""
    model, batch = rationale_model(), tiny_batch([10] * 8, seed=3)
    text, logits, gates = batch.texts["a"], model(batch).logits, drawn(model, batch)
    kept = 0
    for place in range(1, 11):
        for word in (5, 17, 30):
            tokens = text.tokens.clone()
            tokens[:, place] = torch.where(gates[:, place] == 0, word, tokens[:, place])
            changed = Batch(batch.ids, {"a": replace(text, tokens=tokens)}, batch.labels)
            new = drawn(model, changed)
            same = (new == gates).all(1)
            kept += int((same & (tokens != text.tokens).any(1)).sum())
            assert torch.equal(model(changed).logits[same], logits[same])
    assert kept > 10


def test_gates_are_drawn_in_training_and_fixed_afterwards() -> None:
    model, batch = rationale_model(), tiny_batch(LENGTHS)
    assert torch.equal(model(batch).logits, model(batch).logits)
    model.train()
    torch.manual_seed(0)
    assert not torch.equal(model(batch).logits, model(batch).logits)


@pytest.mark.parametrize("inner", ["bilstm", "average", "cnn"])
def test_leave_one_out_reads_the_shorter_texts(inner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch = rationale_model(inner, double=True), tiny_batch([3, 6, 2, 1])
    found = model.leave_one_out_logits(batch)
    monkeypatch.setattr(one_sequence, "_FEW", {"cpu": (0, 0)})  # few texts are read at once
    torch.testing.assert_close(
        model.leave_one_out_logits(batch).less, found.less, atol=1e-9, rtol=0, equal_nan=True
    )
    wanted = leave_one_out_logits(lambda some: model(some).logits, batch)
    torch.testing.assert_close(found.whole, wanted.whole, atol=1e-9, rtol=0)
    there = batch.texts["a"].mask & (batch.texts["a"].lengths > 3)[:, None]
    torch.testing.assert_close(found.less[there], wanted.less[there], atol=1e-9, rtol=0)


def test_coherence_by_hand_and_slowly() -> None:
    """Neighbours taken with p and q differ with p(1 − q) + (1 − p)q: of 0.5 and 1, a half."""
    model, batch = rationale_model(double=True), tiny_batch(LENGTHS)
    term = TERMS["coherence"].make(TermContext(model, None))  # type: ignore[arg-type]
    trace = model(batch, keep=term.keep)
    taken = 1 - trace.encoding.cache.p_zero()
    wanted = []
    for row, mask in zip(taken.tolist(), batch.texts["a"].mask.tolist(), strict=True):
        own = [p for p, real in zip(row, mask, strict=True) if real]
        changes = [p * (1 - q) + (1 - p) * q for p, q in pairwise(own)]
        wanted.append(sum(changes) / len(changes))
    assert float(term.value(batch, trace).detach()) == pytest.approx(sum(wanted) / len(wanted))
    sparse = TERMS["sparsity"].make(TermContext(model, None), target=0.25)  # type: ignore[arg-type]
    shares = [
        sum(p for p, real in zip(row, mask, strict=True) if real) / sum(mask)
        for row, mask in zip(taken.tolist(), batch.texts["a"].mask.tolist(), strict=True)
    ]
    found = float(sparse.value(batch, model(batch, keep=sparse.keep)).detach())
    assert found == pytest.approx(sum(abs(share - 0.25) for share in shares) / len(shares))


def test_repair_knows_both_kinds_of_selection() -> None:
    found = entrants(ModelSpec(), ["hard", "rationale"], 20)
    assert found["hard"].attention == "hard"
    assert [term.name for term in found["hard"].terms] == ["sparsity"]
    assert found["rationale"].encoder == "bilstm+rationale"
    assert [term.name for term in found["rationale"].terms] == ["sparsity", "coherence"]
    assert isinstance(found["rationale"].terms[0], TermSpec)


@pytest.mark.parametrize(
    "spec",
    [
        ModelSpec("bilstm+rationale+concat"),
        ModelSpec("bigru+rationale", family="hierarchical"),
    ],
)
def test_a_rationale_that_others_read_past_is_refused(spec: ModelSpec) -> None:
    with pytest.raises(HeedfulError, match="name it last"):
        build(spec, torch.randn(WORDS, EMBEDDING), 2, 0)


def test_terms_of_selection_need_one() -> None:
    vectors = torch.randn(WORDS, EMBEDDING)
    model = build(ModelSpec(hidden=HIDDEN), vectors, 2, 0)
    for name in ("sparsity", "coherence"):
        with pytest.raises(HeedfulError, match="choose --attention hard, or an encoder"):
            TERMS[name].make(TermContext(model, None))  # type: ignore[arg-type]
