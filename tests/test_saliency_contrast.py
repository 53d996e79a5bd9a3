"""Contrastive explanations: one class less another, for every method that follows the target."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import Tensor

pytest.importorskip("transformers")

from heedful.attributions import SALIENCIES, gradient, integrated
from heedful.errors import HeedfulError
from heedful.models import HuggingFace, attach, contrast, logit
from heedful.types import Batch
from tiny_hf import FILLERS, attached_bert, hf_batch, tiny_hf

LINEAR = ("gradient_input", "gradient_attention", "lrp", "attnlrp", "decompx")
"""Of a difference they give the difference."""


def runner_up(model: HuggingFace, batch: Batch) -> Tensor:
    with torch.no_grad():
        logits = model(batch).logits.clone()
    return logits.scatter(1, batch.labels[:, None], float("-inf")).argmax(-1)


@pytest.mark.parametrize("name", LINEAR)
def test_contrastive_scores_are_one_class_less_the_runner_up(name: str) -> None:
    make = SALIENCIES[name].make
    with attached_bert(classes=4) as (model, batch):
        found = make(model, batch, batch.labels, contrast)
        own = make(model, batch, batch.labels, logit)
        other = make(model, batch, runner_up(model, batch), logit)
    torch.testing.assert_close(found, own - other, atol=1e-4, rtol=0)
    assert float(found.abs().max()) > 0.01


def test_the_norm_is_that_of_the_difference_of_two_gradients() -> None:
    """Yin & Neubig 2022, Eq. 4."""
    with attached_bert(classes=3) as (model, batch):
        ours = gradient(model, batch, batch.labels, contrast, norm=1)
        foil, embedded = runner_up(model, batch), model.embed(batch)["a"].requires_grad_()
        logits = model(batch, embeddings={"a": embedded}).logits
        rows = torch.arange(len(batch))
        between = (logits[rows, batch.labels] - logits[rows, foil]).sum()
        (slopes,) = torch.autograd.grad(between, embedded)
    expected = slopes.abs().sum(-1) * batch.texts["a"].mask
    torch.testing.assert_close(ours, expected.double(), atol=1e-12, rtol=0)


def test_a_foil_can_be_given() -> None:
    logits = torch.tensor([[1.0, 4.0, 2.5], [0.0, -1.0, 3.0]], requires_grad=True)
    label = torch.tensor([1, 2])
    assert contrast(logits, label).tolist() == [1.5, 3.0]
    assert contrast(logits, label, foil=0).tolist() == [3.0, 3.0]
    contrast(logits, label).sum().backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    assert logits.grad.tolist() == [[0.0, 1.0, -1.0], [-1.0, 0.0, 1.0]]


def test_next_tokens_are_told_apart() -> None:
    batch = hf_batch()
    with attach(tiny_hf("GPT2", "language", double=True), FILLERS) as model:
        top = model(batch).logits.topk(2).indices
        for foil in (None, int(top[0, 1])):
            scores = SALIENCIES["gradient_input"].make(
                model, batch.take(torch.tensor([0])), top[:1, 0], partial(contrast, foil=foil)
            )
            expected = [
                SALIENCIES["gradient_input"].make(model, batch, top[:, n], logit)[0]
                for n in range(2)
            ]
            width = scores.shape[1]
            torch.testing.assert_close(scores[0], (expected[0] - expected[1])[:width])


def test_integrated_gradients_add_up_to_the_contrast() -> None:
    with attached_bert(classes=3) as (model, batch):
        found = integrated(
            model, batch, batch.labels, contrast, baseline="zero", tolerance=1e-3, max_steps=1024
        )
        mask = batch.texts["a"].mask[..., None]
        start = {"a": model.embed(batch)["a"].masked_fill(mask, 0.0)}
        with torch.no_grad():
            whole = contrast(model(batch).logits, batch.labels)
            nothing = contrast(model(batch, embeddings=start).logits, batch.labels)
    torch.testing.assert_close(found.scores.sum(-1), whole - nothing, atol=2e-2, rtol=2e-2)


def test_an_audit_can_be_of_the_contrast_but_not_of_the_loss() -> None:
    from heedful import AuditSpec

    assert AuditSpec(target="contrast").target == "contrast"
    with pytest.raises(HeedfulError, match="'loss'"):
        AuditSpec(target="loss")
