"""AttnLRP: every share accounted for, restated for BERT and Llama, and gone when it is over."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

pytest.importorskip("transformers")

from heedful.attributions import attnlrp, attnlrp_logits, attnlrp_relevance, lrp
from heedful.errors import HeedfulError
from heedful.models import attach, logit
from reference import attnlrp as reference
from tiny import tiny_batch, tiny_model
from tiny_hf import DECODERS, FILLERS, HEADS, LAYERS, hf_batch, tiny_hf

ENCODERS = ["Bert", "Roberta", "DistilBert", "Albert", "ModernBert"]
LENGTHS = (5, 1, 8)


@pytest.mark.parametrize("name", [*ENCODERS, *DECODERS, "T5"])
def test_every_share_is_accounted_for(name: str) -> None:
    """Without biases: all tokens, what each softmax keeps, and what the decoder is given."""
    module, batch = without_biases(tiny_hf(name, double=True)), hf_batch(LENGTHS)
    with attach(module, FILLERS) as model:
        embedded = model.embed(batch)["a"].requires_grad_()
        with Softmaxes() as softmaxes, embedding_graphs(module) as decoded:
            explained = attnlrp_logits(model, batch, embedded, 0.0)
        torch.testing.assert_close(explained, model(batch).logits, atol=1e-9, rtol=0)
        logit(explained, batch.labels).sum().backward()
    kept = sum(float(share(after) - share(before)) for before, after in softmaxes.pairs)
    given = sum(float(share(each)) for each in decoded)
    total = float(logit(explained.detach(), batch.labels).sum())
    assert abs(kept) > 1e-3 and (abs(given) > 1e-3) == (name == "T5")
    # some norms of models in double precision are in single precision
    assert float(share(embedded)) + kept + given == pytest.approx(total, abs=1e-5)


@pytest.mark.parametrize("name", ["Bert", "Llama"])
def test_attnlrp_equals_the_step_by_step_rules(name: str) -> None:
    module, batch = tiny_hf(name, classes=3, double=True), hf_batch((5, 1, 4), classes=3)
    numbers = {key: value.numpy() for key, value in module.state_dict().items()}
    with attach(module, FILLERS) as model:
        ours = attnlrp(model, batch, batch.labels, epsilon=0.0)
    text = batch.texts["a"]
    for row, length in enumerate(text.lengths.tolist()):
        tokens, label = text.tokens[row, :length].tolist(), int(batch.labels[row])
        if name == "Bert":
            theirs = reference.bert(numbers, tokens, label, LAYERS, HEADS)
        else:
            theirs = reference.llama(numbers, tokens, label, module.config)
        near = pytest.approx([0.0, *theirs[1:-1], 0.0], abs=1e-9 if name == "Bert" else 1e-5)
        assert ours[row, :length].tolist() == near


def test_scores_and_gap_are_the_logit() -> None:
    batch = hf_batch(LENGTHS)
    with attach(tiny_hf("Qwen2", double=True), FILLERS) as model:
        scores, gap = attnlrp_relevance(model, batch, batch.labels)
        explained = logit(model(batch).logits, batch.labels).detach()
    torch.testing.assert_close(scores.sum(-1) + gap, explained)
    assert torch.equal(scores, scores * batch.texts["a"].mask)


def test_attention_makes_a_difference() -> None:
    batch = hf_batch(LENGTHS)
    with attach(tiny_hf("Bert", double=True), FILLERS) as model:
        ours, theirs = attnlrp(model, batch, batch.labels), lrp(model, batch, batch.labels)
    assert float((ours - theirs).abs().max()) > 0.1 * float(theirs.abs().max())


def test_a_small_epsilon_changes_little_and_a_large_one_much() -> None:
    batch = hf_batch((6, 4))
    with attach(tiny_hf("Llama", double=True), FILLERS) as model:
        exact = attnlrp(model, batch, batch.labels, epsilon=0.0)
        near = attnlrp(model, batch, batch.labels)
        torch.testing.assert_close(near, exact, atol=1e-3, rtol=1e-3)
        assert not torch.equal(near, exact)
        far = attnlrp(model, batch, batch.labels, epsilon=10.0)
    assert far.abs().sum() < 0.1 * exact.abs().sum()


@pytest.mark.parametrize("name", ["Bert", "GPT2", "Llama", "T5"])
def test_batches_and_padding_change_nothing(name: str) -> None:
    batch, wider = hf_batch(LENGTHS), hf_batch(LENGTHS, pad=3)
    near = {"atol": 1e-9 if name in ("Bert", "GPT2") else 1e-5, "rtol": 0}
    with attach(tiny_hf(name, double=True), FILLERS) as model:
        whole = attnlrp(model, batch, batch.labels)
        padded = attnlrp(model, wider, batch.labels)
        alone = attnlrp(model, batch.take(torch.tensor([1])), batch.labels[1:2])
    mask = batch.texts["a"].mask
    assert not whole[~mask].any() and bool((whole[mask] != 0).all())
    torch.testing.assert_close(padded[:, : whole.shape[1]], whole, **near)
    assert not padded[:, whole.shape[1] :].any()
    torch.testing.assert_close(alone[0], whole[1, : alone.shape[1]], **near)


def test_nothing_is_left_behind() -> None:
    module, batch = tiny_hf("Llama", double=True), hf_batch(LENGTHS)
    with attach(module, FILLERS) as model:
        plain = model(batch).logits
        with torch.no_grad():
            first = attnlrp(model, batch, batch.labels)
        assert torch.equal(attnlrp(model, batch, batch.labels), first)
        assert torch.equal(model(batch).logits, plain)
        assert all(parameter.requires_grad for parameter in module.parameters())
    assert not any(part._forward_hooks for part in module.modules())
    assert all(parameter.grad is None for parameter in module.parameters())


def test_other_models_are_refused() -> None:
    batch = tiny_batch([4, 2])
    with pytest.raises(HeedfulError, match="no rules for OneSequence: it knows albert"):
        attnlrp(tiny_model(), batch, batch.labels)
    with (
        attach(tiny_hf("Bart"), FILLERS) as model,
        pytest.raises(HeedfulError, match="no rules for 'bart'"),
    ):
        attnlrp(model, hf_batch(), hf_batch().labels)


class Softmaxes(TorchFunctionMode):
    """What each softmax is given and gives."""

    def __init__(self) -> None:
        super().__init__()
        self.pairs: list[tuple[Tensor, Tensor]] = []

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if func is F.softmax and result.requires_grad:
            args[0].retain_grad()
            result.retain_grad()
            self.pairs.append((args[0], result))
        return result


@contextmanager
def embedding_graphs(module: nn.Module) -> Iterator[list[Tensor]]:
    """All that embeddings give: to a decoder, and T5's biases of attention by distance."""
    given: list[Tensor] = []

    def keep(part: nn.Module, tokens: object, output: Tensor) -> Tensor:
        given.append(output.detach().requires_grad_())
        return given[-1]

    with ExitStack() as stack:
        for part in module.modules():
            if isinstance(part, nn.Embedding):
                stack.callback(part.register_forward_hook(keep).remove)
        yield given


def share(x: Tensor) -> Tensor:
    """Relevance that arrived."""
    return torch.zeros(()) if x.grad is None else (x * x.grad).sum().detach()


def without_biases(module: Any) -> Any:
    names = ("bias", "position_embeddings", "token_type_embeddings", "wpe", "embed_positions")
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if any(each in name for each in names) and "relative" not in name:
                parameter.zero_()
    return module
