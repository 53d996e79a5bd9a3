"""LRP through transformers: conserved, restated for BERT, and gone when it is over."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers
from torch import Tensor, nn

from heedful.attributions import lrp, lrp_logits, lrp_relevance, rules
from heedful.errors import HeedfulError
from heedful.experiments import moved_by_shift, randomised, tau_with_randomised
from heedful.models import attach, logit
from heedful.types import Batch, Model
from heedful.words import to_words
from reference.lrp_bert import relevance
from tiny_hf import FILLERS, HEADS, LAYERS, hf_batch, tiny_hf

FAMILIES = ["Bert", "Roberta", "DistilBert", "Albert", "GPT2"]
ALL = [*FAMILIES, "Electra", "XLMRoberta", "Camembert"]


@pytest.mark.parametrize("name", ALL)
def test_every_share_is_accounted_for(name: str) -> None:
    """Tokens, biases, positions and types together are the logit."""
    module, batch = module_of(name), hf_batch((5,), classes=3)
    with attach(module, FILLERS) as model:
        embedded = model.embed(batch)["a"].requires_grad_()
        explained = lrp_logits(model, batch, embedded, 0.0)
        torch.testing.assert_close(explained, model(batch).logits, atol=1e-12, rtol=0)
        added = [embedded, *added_parameters(module)]
        slopes = torch.autograd.grad(explained[0, 1], added, materialize_grads=True)
        whole = sum((a * b).sum() for a, b in zip(added, slopes, strict=True))
        torch.testing.assert_close(whole, explained[0, 1], atol=1e-10, rtol=0)
        scores, gap = lrp_relevance(model, batch, torch.tensor([1]), epsilon=0.0)
        torch.testing.assert_close(scores.sum(-1) + gap, explained[:, 1].detach())
        inner = (slopes[0] * embedded).sum(-1).detach() * batch.texts["a"].mask
        torch.testing.assert_close(scores, inner)


@pytest.mark.parametrize("name", FAMILIES)
def test_without_anything_added_tokens_keep_all(name: str) -> None:
    """Start and end tokens among them, which the text's own mask leaves out."""
    module, batch = tiny_hf(name, double=True), hf_batch((5, 3))
    with torch.no_grad():
        for parameter in added_parameters(module):
            parameter.zero_()
    with attach(module, FILLERS) as model:
        embedded = model.embed(batch)["a"].requires_grad_()
        explained = logit(lrp_logits(model, batch, embedded, 0.0), batch.labels)
        (slope,) = torch.autograd.grad(explained.sum(), embedded)
        torch.testing.assert_close((slope * embedded).sum((1, 2)), explained, atol=1e-10, rtol=0)
        assert explained.abs().min() > 1e-3


def test_bert_equals_the_step_by_step_rules() -> None:
    module, batch = tiny_hf("Bert", classes=3, double=True), hf_batch((5, 1, 4), classes=3)
    parameters = {key: value.numpy() for key, value in module.state_dict().items()}
    with attach(module, FILLERS) as model:
        ours = lrp(model, batch, batch.labels, epsilon=0.0)
    text = batch.texts["a"]
    for example, length in enumerate(text.lengths.tolist()):
        tokens = text.tokens[example, :length].tolist()
        theirs = relevance(parameters, tokens, int(batch.labels[example]), LAYERS, HEADS)
        expected = [0.0, *theirs[1:-1], 0.0]
        assert ours[example, :length].tolist() == pytest.approx(expected, abs=1e-9)


def test_a_small_epsilon_changes_little_and_a_large_one_much() -> None:
    batch = hf_batch((6, 4))
    with attach(tiny_hf("Bert", double=True), FILLERS) as model:
        exact = lrp(model, batch, batch.labels, epsilon=0.0)
        near = lrp(model, batch, batch.labels)
        torch.testing.assert_close(near, exact, atol=1e-3, rtol=1e-3)
        assert not torch.equal(near, exact)
        assert lrp(model, batch, batch.labels, epsilon=10.0).abs().sum() < 0.1 * exact.abs().sum()


@pytest.mark.parametrize("name", FAMILIES)
def test_batches_and_padding_change_nothing(name: str) -> None:
    batch = hf_batch((6, 2, 4))
    wider = hf_batch((6, 2, 4), pad=3)
    with attach(tiny_hf(name, double=True), FILLERS) as model:
        whole = lrp(model, batch, batch.labels)
        padded = lrp(model, wider, batch.labels)
        alone = lrp(model, batch.take(torch.tensor([1])), batch.labels[1:2])
    width = whole.shape[1]
    torch.testing.assert_close(padded[:, :width], whole, atol=1e-9, rtol=0)
    assert not padded[:, width:].any()
    torch.testing.assert_close(alone[0], whole[1, : alone.shape[1]], atol=1e-9, rtol=0)


def test_nothing_is_left_behind() -> None:
    module, batch = tiny_hf("Albert"), hf_batch()
    before = {key: value.clone() for key, value in module.state_dict().items()}
    with attach(module, FILLERS) as model:
        plain = model(batch).logits
        first = lrp(model, batch, batch.labels)
        assert torch.equal(lrp(model, batch, batch.labels), first)
        assert torch.equal(model(batch).logits, plain)
    assert not hooks_of(module)
    assert all(parameter.grad is None for parameter in module.parameters())
    assert all(torch.equal(value, before[key]) for key, value in module.state_dict().items())


def test_rules_end_with_an_error_too() -> None:
    module = tiny_hf("Bert", double=True)
    x = torch.randn(3, 16, dtype=torch.float64)
    before = nn.functional.layer_norm(x, (16,))
    with pytest.raises(ZeroDivisionError), rules(module, 0.1):
        assert hooks_of(module)
        raise ZeroDivisionError
    assert not hooks_of(module)
    assert torch.equal(nn.functional.layer_norm(x, (16,)), before)


@pytest.mark.parametrize("name", ["ModernBert", "Llama"])
def test_other_families_are_refused(name: str) -> None:
    with (
        attach(tiny_hf(name), FILLERS) as model,
        pytest.raises(HeedfulError, match="LRP has no rules"),
    ):
        lrp(model, hf_batch(), hf_batch().labels)


def test_sanity_checks_take_these_models_too() -> None:
    module, batch = tiny_hf("Bert", double=True), hf_batch((8, 8, 1))
    before = {key: value.clone() for key, value in module.state_dict().items()}
    with attach(module, FILLERS) as model:
        with randomised(model, 1):
            assert not torch.equal(module.classifier.weight, before["classifier.weight"])
        taus = tau_with_randomised(model, batch, {"lrp": words})["lrp"]
        assert taus.isnan().tolist() == [False, False, True]
        moved = moved_by_shift(model, batch, {"lrp": words})["lrp"]
    assert moved.min() > 1e-3
    assert all(torch.equal(value, before[key]) for key, value in module.state_dict().items())


def module_of(name: str) -> Any:
    """The near relations of BERT and RoBERTa take their configurations."""
    if name in FAMILIES:
        return tiny_hf(name, classes=3, double=True)
    config = tiny_hf("Bert" if name == "Electra" else "Roberta", classes=3).config.to_dict()
    kind = getattr(transformers, f"{name}ForSequenceClassification")
    config = {key: value for key, value in config.items() if key not in ("model_type", "dtype")}
    torch.manual_seed(0)
    module = kind(getattr(transformers, f"{name}Config")(**config)).double().eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return module


def words(model: Model, batch: Batch) -> Tensor:
    return to_words(lrp(model, batch, batch.labels), batch.texts["a"])


def added_parameters(module: Any) -> list[Tensor]:
    """All that is added to what comes from the tokens."""
    names = ("bias", "position_embeddings", "token_type_embeddings", "wpe")
    return [p for name, p in module.named_parameters() if any(n in name for n in names)]


def hooks_of(module: nn.Module) -> list[Any]:
    return [hook for each in module.modules() for hook in each._forward_hooks.values()]
