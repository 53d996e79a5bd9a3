"""DiffMask: its gates against a slow restatement, and the words it finds where they are known."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from heedful.attributions import SALIENCIES, HardConcrete, Probe, diffmask, explain, fit_diffmask
from heedful.attributions.diffmask import HIGH, LOW, TEMPERATURE
from heedful.auditing.explanation import CrossFitted, fitted, named
from heedful.errors import HeedfulError
from heedful.models import OneSequence
from heedful.types import Batch, Keep
from reference import hard_concrete as slow
from tiny import pick, tiny_batch, tiny_model

DECISIVE = 5
"""The only word that the model below looks at: it speaks for class 1, and without it is class 0."""


@given(st.floats(-8, 8), st.floats(0.001, 0.999))
def test_a_gate_is_the_papers(logit: float, draw: float) -> None:
    gates = HardConcrete(torch.tensor([logit], dtype=torch.float64))
    found = gates.sample(torch.tensor([draw], dtype=torch.float64))
    assert float(found) == pytest.approx(slow.gate(logit, draw, TEMPERATURE, LOW, HIGH), abs=1e-9)


@pytest.mark.parametrize("logit", [-3.0, -0.5, 0.0, 0.7, 2.5])
def test_the_expected_l0_is_the_share_of_open_gates(logit: float) -> None:
    gates = HardConcrete(torch.tensor([logit], dtype=torch.float64))
    wanted = slow.share_open(logit, TEMPERATURE, LOW, HIGH, 20_000)
    assert float(gates.p_open()) == pytest.approx(wanted, abs=1e-4)


def test_l0_by_hand() -> None:
    """σ(0 − 0.2 · ln(0.2 / 1.2)) = σ(0.2 · ln 6) = 6^0.2 / (1 + 6^0.2)."""
    gates = HardConcrete(torch.zeros(1, dtype=torch.float64))
    assert float(gates.p_open()) == pytest.approx(6**0.2 / (1 + 6**0.2))


@pytest.fixture(scope="module")
def bag() -> OneSequence:
    """The mean of its words' embeddings, of which two are not zero."""
    model = tiny_model("none", double=True)
    with torch.no_grad():
        for parameter in model.attention.parameters():
            parameter.zero_()
        model.embedding.weight.normal_(generator=torch.Generator().manual_seed(0))
        model.embedding.weight[0] = 0
        model.embedding.weight[:, 0] = 0
        model.embedding.weight[DECISIVE, 0] = 36  # of nine words: 4
        model.decoder.weight.zero_()
        model.decoder.weight[0, 0] = 1
        model.decoder.bias.fill_(-2)
    return model


def texts(count: int, seed: int) -> Batch:
    """Of nine words; in every second text one of them decides."""
    batch = tiny_batch([9] * count, seed=seed)
    tokens = batch.texts["a"].tokens
    tokens[tokens == DECISIVE] = 6
    places = torch.randint(1, 10, (count,), generator=torch.Generator().manual_seed(seed))
    tokens[torch.arange(0, count, 2), places[::2]] = DECISIVE
    return batch


def test_it_finds_the_word_that_decides(bag: OneSequence) -> None:
    """Taught on some texts, it names the one word in nine that matters in others."""
    probe = fit_diffmask(bag, [texts(48, seed=1)], steps=200)
    batch = texts(24, seed=2)
    scores = explain("diffmask", bag, batch, batch.labels, texts=probe)
    decides = batch.texts["a"].tokens[:, 1:-1] == DECISIVE
    first = scores[::2].argmax(1, keepdim=True)
    assert bool(decides[::2].gather(1, first).all())
    assert float(scores[decides].mean()) > 0.9 and float(scores[~decides].mean()) < 0.1


def test_more_divergence_masks_more(bag: OneSequence) -> None:
    batch = texts(48, seed=1)
    shares = [
        float(diffmask(bag, batch, [batch], divergence=divergence, steps=100).mean())
        for divergence in (0.01, 5.0)
    ]
    assert shares[1] < shares[0]


def test_learning_leaves_the_model_alone_and_repeats(bag: OneSequence) -> None:
    before = {name: value.clone() for name, value in bag.state_dict().items()}
    batch = texts(20, seed=3)
    first, again, other = (diffmask(bag, batch, [batch], steps=5, seed=seed) for seed in (0, 0, 1))
    assert torch.equal(first, again) and not torch.equal(first, other)
    assert all(torch.equal(value, before[name]) for name, value in bag.state_dict().items())
    assert all(parameter.grad is None for parameter in bag.parameters())
    assert all(parameter.requires_grad for parameter in bag.parameters())


@pytest.mark.parametrize("encoder", ["bilstm", "cnn", "average"])
def test_scores_ignore_batches_and_padding(encoder: str) -> None:
    model = tiny_model(encoder, double=True)
    batch = tiny_batch([3, 7, 5])
    probe = fit_diffmask(model, [batch], steps=3)
    whole = diffmask(model, batch, probe)
    mask = batch.texts["a"].mask
    assert whole.dtype == torch.float64 and not whole.requires_grad
    assert bool((whole[mask] > 0).all()) and not whole[~mask].any()
    padded = diffmask(model, pick(batch, [2, 0, 1], 4), probe)
    torch.testing.assert_close(padded[:, : whole.shape[1]], whole[[2, 0, 1]], atol=1e-9, rtol=0)


def test_no_text_is_scored_by_what_it_taught() -> None:
    """Each half of the texts under audit is scored by what learned from the other."""
    model, batch = tiny_model("average", double=True), tiny_batch([4] * 12)
    asked = named("diffmask:steps=2")
    taught: list[tuple[str, ...]] = []

    def fit(model: OneSequence, batches: list[Batch], **params: object) -> tuple[str, ...]:
        assert params == {"steps": 2}
        taught.append(tuple(name for some in batches for name in some.ids))
        return taught[-1]

    def make(model: OneSequence, some: Batch, texts: tuple[str, ...]) -> torch.Tensor:
        assert not set(some.ids) & set(texts)
        return some.texts["a"].mask.double()

    piece = type(asked.piece)(**{**vars(asked.piece), "fit": fit, "make": make})
    crossed = CrossFitted(
        piece, lambda: [pick(batch, range(6)), pick(batch, range(6, 12))], asked.params
    )
    scores = crossed(model, batch)
    assert torch.equal(scores, batch.texts["a"].mask.double())
    assert sorted(taught[0] + taught[1]) == sorted(batch.ids) and len(taught) == 2
    crossed(model, batch)
    assert len(taught) == 2  # it learns once


def test_an_audit_gives_it_its_texts() -> None:
    each = fitted(named("diffmask"), None, lambda: iter(()))  # type: ignore[arg-type]
    assert isinstance(each.piece.make, CrossFitted) and each.params == {}
    assert SALIENCIES["diffmask"].uses == ("zero",)


def test_a_bert_is_masked_at_its_embeddings() -> None:
    pytest.importorskip("transformers")
    from tiny_hf import attached_bert

    with attached_bert() as (model, batch):
        before = model(batch, keep=Keep(weights=False)).logits
        probe = fit_diffmask(model, [batch], steps=2)
        assert isinstance(probe, Probe)
        assert probe.vector.shape == model.embed(batch)["a"].shape[-1:]
        scores = explain("diffmask", model, batch, batch.labels, texts=probe)
        assert bool(scores.isfinite().all()) and bool((scores > 0).any())
        assert torch.equal(model(batch, keep=Keep(weights=False)).logits, before)


def test_without_texts_it_says_what_to_do() -> None:
    model, batch = tiny_model("average"), tiny_batch([3])
    with pytest.raises(HeedfulError, match="use it in an audit, or give texts="):
        explain("diffmask", model, batch, batch.labels)
    with pytest.raises(HeedfulError, match="give more texts"):
        fit_diffmask(model, [])
