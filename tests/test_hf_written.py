"""Families that write their attention out in a module of their own are open to edits, too."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor, nn
from torch.nn import functional as F

from heedful.attributions import explain
from heedful.errors import HeedfulError
from heedful.interventions import permute, uniform
from heedful.models import attach
from heedful.types import Batch, Edit, Keep, SiteCall
from test_hf_attach import assert_same, fails, state
from test_hf_forward import eager_copy, everywhere, real, same
from tiny_hf import FILLERS, PAD, hf_batch, tiny_hf

ALL = Keep(values=True, readout_weights=True)
PROJECTIONS = {
    "DebertaV2": "deberta.encoder.layer.1.attention.output.dense",
    "Bloom": "transformer.h.1.self_attention.dense",
}


@pytest.mark.parametrize("name", PROJECTIONS)
@torch.no_grad()
def test_weights_values_and_projection_make_the_modules_next_step(name: str) -> None:
    module, batch, seen = tiny_hf(name, double=True), hf_batch(), list[Tensor]()
    linear = dict(module.named_modules())[PROJECTIONS[name]]
    with attach(module, FILLERS) as model:
        last = model.sites[-1].name
        trace = model(batch, {last: permute(seed=3)}, ALL)
        handle = linear.register_forward_hook(lambda part, given, out: seen.append(out))
        model(batch, {last: permute(seed=3)})
        handle.remove()
    projection = trace.projections[last]
    assert projection is not None
    weights, values = trace.weights[last].double(), trace.values[last].double()
    rows = torch.einsum("bhqk,bhkd,hde->bqe", weights, values, projection.double())
    there = real(batch.texts["a"])
    # Bloom takes its softmax in single precision
    torch.testing.assert_close((rows + linear.bias)[there], seen[0][there], atol=1e-6, rtol=1e-6)


def test_explanations_by_values_are_made_or_refused_in_a_sentence() -> None:
    batch = hf_batch()
    for name in PROJECTIONS:
        with attach(tiny_hf(name), FILLERS) as model:
            for how in ("value_norm", "effective_attention", "gradient_attention", "rollout"):
                assert bool(explain(how, model, batch, batch.labels).isfinite().all())
    for name in ("SqueezeBert", "XLNet"):
        with attach(tiny_hf(name), FILLERS) as model:
            assert bool(explain("effective_attention", model, batch, batch.labels).any())
            for how in ("value_norm", "value_zeroing", "lrp"):
                with pytest.raises(HeedfulError, match="leave|be followed"):
                    explain(how, model, batch, batch.labels)


def left_padded(batch: Batch) -> dict[str, Tensor]:
    text = batch.texts["a"]
    rows = [row[:n].tolist() for row, n in zip(text.tokens, text.lengths.tolist(), strict=True)]
    width = text.tokens.shape[1]
    return {
        "input_ids": torch.tensor([[PAD] * (width - len(row)) + row for row in rows]),
        "attention_mask": torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows]),
    }


@torch.no_grad()
def test_xlnet_is_padded_on_the_left_by_itself() -> None:
    """It reads its last place, and its products are written by letters."""
    module, batch = tiny_hf("XLNet"), hf_batch()
    theirs = eager_copy(module)(**left_padded(batch), output_attentions=True)
    with attach(module, FILLERS) as model:
        assert torch.equal(model(batch).logits, theirs.logits)
        assert torch.equal(model(batch, everywhere(model, same())).logits, theirs.logits)
        trace = model(batch, keep=ALL)
        moved = model(batch, everywhere(model, uniform()))
    assert (moved.logits - theirs.logits).abs().max() > 0.01
    for site, whole in zip(model.sites, theirs.attentions, strict=True):
        for row, length in enumerate(batch.texts["a"].lengths.tolist()):
            own = whole[:, :, row] if whole.shape[2] == len(batch) else whole[row].permute(1, 2, 0)
            own = own.permute(2, 0, 1)[:, -length:, -length:]
            torch.testing.assert_close(trace.weights[site.name][row, :, :length, :length], own)
            assert not trace.weights[site.name][row, :, :, length:].any()
        assert trace.values[site.name].shape == (4, 2, 10, 8)
        ends = batch.texts["a"].lengths - 1
        assert torch.equal(trace.readout_weights[site.name].argmax(-1), ends)
    refused = pytest.raises(HeedfulError, match="cannot be padded on the right.*padding='left'")
    with refused, attach(module, FILLERS, padding="right"):
        pass


def big_bird() -> Any:
    from transformers import BigBirdConfig, BigBirdForSequenceClassification

    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    return BigBirdForSequenceClassification(
        BigBirdConfig(vocab_size=50, intermediate_size=32, pad_token_id=PAD, block_size=4, **sizes)
    )


@pytest.mark.parametrize("name", ["DebertaV2", "SqueezeBert", "BigBird"])
def test_the_module_comes_back_as_it_was(name: str) -> None:
    module, batch = big_bird() if name == "BigBird" else tiny_hf(name), hf_batch()
    module.train()
    parts, before = list(module.modules()), state(module)
    with attach(module, FILLERS) as model:
        model(batch, keep=Keep(embeddings=True, readout_weights=True, values=True))
    assert list(module.modules()) == parts
    assert_same(before, state(module))
    with pytest.raises(RuntimeError, match="on purpose"), attach(module, FILLERS) as model:
        edits: dict[str, Edit] = {model.sites[0].name: fails}
        model(batch, edits, embeddings=model.embed(batch))
    assert list(module.modules()) == parts
    assert_same(before, state(module))
    assert torch.is_grad_enabled()


def test_a_pass_that_breaks_off_leaves_no_watch_behind() -> None:
    scores = torch.zeros(4, 2, 10, 10)
    with attach(tiny_hf("DebertaV2"), FILLERS) as model:
        with pytest.raises(RuntimeError, match="on purpose"):
            model(hf_batch(), {model.sites[0].name: fails})
        assert torch.equal(F.softmax(scores, -1), torch.full_like(scores, 0.1))
        assert model(hf_batch()).logits.isfinite().all()


def test_attaching_twice_and_asking_another_inside_an_edit() -> None:
    one, two, batch = tiny_hf("DebertaV2"), tiny_hf("DebertaV2", seed=1), hf_batch()
    with torch.no_grad():
        expected = [eager_copy(each)(**_arguments(batch)).logits for each in (one, two)]
    with attach(one, FILLERS) as first, attach(two, FILLERS) as second, torch.no_grad():
        name = first.sites[0].name
        even = first(batch, {name: uniform()})

        def asks_the_other(call: SiteCall) -> Tensor:
            assert torch.equal(second(batch).logits, expected[1])
            return call.weights

        with attach(one, FILLERS) as again:
            assert torch.equal(again(batch, {name: uniform()}).logits, even.logits)
            assert torch.equal(first(batch, {name: uniform()}).logits, even.logits)
        assert torch.equal(first(batch, {name: asks_the_other}).logits, expected[0])
        assert torch.equal(one(**_arguments(batch)).logits, expected[0])


def _arguments(batch: Batch) -> dict[str, Tensor]:
    there = real(batch.texts["a"])
    tokens = batch.texts["a"].tokens.masked_fill(~there, PAD)
    return {"input_ids": tokens, "attention_mask": there.long()}


def test_threads_do_not_hear_each_other() -> None:
    batch = hf_batch()
    with attach(tiny_hf("Bloom"), FILLERS) as model:
        edits = [{}, everywhere(model, uniform()), everywhere(model, permute(seed=1))]

        def logits(which: int) -> Tensor:
            with torch.no_grad():
                return model(batch, edits[which % 3]).logits

        alone = [logits(which) for which in range(3)]
        with ThreadPoolExecutor(4) as pool:
            together = list(pool.map(logits, range(60)))
    assert all(torch.equal(each, alone[n % 3]) for n, each in enumerate(together))


class Toy(transformers.PreTrainedModel):
    """One attention of one head, written out in one of several ways; it adds what it mixes, and
    reads the first token."""

    config_class = transformers.PretrainedConfig

    def __init__(self, way: str) -> None:
        super().__init__(transformers.PretrainedConfig(pad_token_id=PAD, num_labels=2))
        self.way = way
        self.embedding = nn.Embedding(8, 2)
        self.attention = Attention(way)

    def get_input_embeddings(self) -> nn.Module:
        return self.embedding

    def forward(self, input_ids: Tensor, attention_mask: Tensor, return_dict: bool = True) -> Any:
        states = self.embedding(input_ids)
        return SimpleNamespace(logits=self.attention(states, attention_mask)[:, 0])


class Attention(nn.Module):
    def __init__(self, way: str) -> None:
        super().__init__()
        self.way, self.softmax = way, nn.Softmax(dim=-1)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        hidden = (1.0 - mask[:, None, None].to(x.dtype)) * -10000.0
        heads = x[:, None]
        scores = heads @ heads.mT + (0 if self.way == "unmasked" else hidden)
        if self.way == "fused":
            return F.scaled_dot_product_attention(heads, heads, heads, hidden)[:, 0]
        if self.way == "flat":
            return torch.bmm(torch.softmax(scores[:, 0], 2), x)
        if self.way == "letters":
            return torch.einsum("bhqk, bkhd -> qbhd", scores.softmax(-1), x[:, :, None])[:, :, 0].mT
        if self.way == "unweighed":
            return (self.softmax(scores)[:, 0, ..., None] * x[:, None]).sum(2)
        return (self.softmax(scores) @ heads)[:, 0]


@contextmanager
def toy(way: str) -> Iterator[Any]:
    module = Toy(way)
    with torch.no_grad():
        module.embedding.weight.copy_(
            torch.tensor([[0.0, 0.0]] * 5 + [[1.0, 0.0], [0.0, 1.0]] * 2)[:8]
        )
    with attach(module, FILLERS) as model:
        yield model


@pytest.mark.parametrize("way", ["module", "flat"])
def test_two_tokens_by_hand(way: str) -> None:
    """Tokens 5 and 6 are unit vectors: the first gives itself e / (e + 1)."""
    batch = hf_batch((2,))
    with toy(way) as model, torch.no_grad():
        (site,) = model.sites
        tokens = torch.tensor([[5, 6]])
        text = batch.texts["a"]
        lengths = torch.tensor([2])
        two = type(text)(tokens, lengths, torch.ones_like(tokens).bool())
        pair = Batch(("0",), {"a": two}, batch.labels)
        trace = model(pair, keep=ALL)
        share = torch.e / (torch.e + 1)
        own = torch.tensor([[share, 1 - share], [1 - share, share]])
        torch.testing.assert_close(trace.weights[site.name][0, 0], own)
        torch.testing.assert_close(trace.logits[0], own[0])
        assert torch.equal(trace.values[site.name][0, 0], torch.eye(2))
        assert torch.equal(trace.readout_weights[site.name], torch.tensor([[1.0, 0.0]]))
        half = model(pair, {site.name: uniform()})
        assert torch.equal(half.logits, torch.tensor([[0.5, 0.5]]))


@pytest.mark.parametrize(
    ("way", "sentence"),
    [
        ("fused", "computes attention without its weights: load it with attn_implementation"),
        ("unmasked", "does not weigh each token against each other in Attention"),
        ("unweighed", "does not weigh each token against each other in Attention"),
    ],
)
def test_what_is_no_attention_between_tokens_is_refused(way: str, sentence: str) -> None:
    with pytest.raises(HeedfulError, match=f"Toy {sentence}"), toy(way):
        pass
