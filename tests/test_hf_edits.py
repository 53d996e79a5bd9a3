"""Edits change what they should and nothing else; what is kept is what was used."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from heedful.errors import HeedfulError
from heedful.interventions import custom, detach, held, permute, uniform
from heedful.models import attach
from heedful.types import Edit, Keep, SiteCall
from test_hf_forward import batch_for
from tiny import tiny_batch, tiny_model
from tiny_hf import FILLERS, attached_bert, hf_batch, tiny_hf

ALL = Keep(values=True, readout_weights=True)


def one_row(head: int, query: int) -> Edit:
    """Uniform in one row of one head."""

    def edit(call: SiteCall) -> Tensor:
        weights, even = call.weights.clone(), uniform()(call)
        weights[:, head, query] = even[:, head, query]
        return weights

    return custom(edit)


@pytest.mark.parametrize(
    ("name", "task"),
    [
        *((name, "classification") for name in ("Bert", "Albert", "Llama", "Bart")),
        ("T5", "language"),
    ],
)
@torch.no_grad()
def test_an_edited_site_has_the_edits_weights(name: str, task: str) -> None:
    module, batch = tiny_hf(name, task), batch_for(name, task)
    with attach(module, FILLERS) as model:
        base = model(batch)
        for site in model.sites:
            trace = model(batch, {site.name: custom(uniform())})
            mask = trace.masks[site.name]
            even = mask / mask.sum(-1, keepdim=True).clamp_min(1)
            torch.testing.assert_close(
                trace.weights[site.name], even.expand_as(base.weights[site.name])
            )
            if base.weights[site.name].shape[-1] > 1:
                assert not torch.equal(trace.logits, base.logits)
            before = [each.name for each in model.sites[: model.sites.index(site)]]
            assert all(torch.equal(trace.weights[each], base.weights[each]) for each in before)


def test_one_row_of_one_head_changes_only_what_follows() -> None:
    """BERT reads the first row of its last layer: editing another changes nothing."""
    with attached_bert() as (model, batch), torch.no_grad():
        first, last = (site.name for site in model.sites)
        base = model(batch)
        unread = model(batch, {last: one_row(1, 2)})
        read = model(batch, {last: one_row(1, 0)})
        assert torch.equal(unread.logits, base.logits)
        assert not torch.equal(read.logits, base.logits)
        assert torch.equal(unread.weights[last][:, 0], base.weights[last][:, 0])
        assert not torch.equal(unread.weights[last][:, 1, 2], base.weights[last][:, 1, 2])
        earlier = model(batch, {first: one_row(0, 2)})
        moved = (earlier.weights[last] != base.weights[last]).any(1)
        assert bool(moved[0, 0, 2]) and bool(moved[0, 2, 0])
        # between tokens other than the one whose state has changed, scores are what they were
        odds = [w[0, :, 0, 3] / w[0, :, 0, 4] for w in (base.weights[last], earlier.weights[last])]
        torch.testing.assert_close(*odds)


def test_the_last_layer_by_hand() -> None:
    """Edited weights times kept values, through the rest of the layer, are the new logits."""
    with attached_bert() as (model, batch), torch.no_grad():
        last = model.sites[-1].name
        trace = model(batch, {last: permute(seed=3)}, ALL)
        states = []
        layer = model.module.bert.encoder.layer[-1]
        handle = layer.register_forward_pre_hook(lambda module, given: states.append(given[0]))
        model(batch)
        handle.remove()
        context = (trace.weights[last] @ trace.values[last]).transpose(1, 2).flatten(2)
        inner = layer.attention.output(context, states[0])
        out = layer.output(layer.intermediate(inner), inner)
        logits = model.module.classifier(model.module.bert.pooler(out))
        torch.testing.assert_close(logits, trace.logits)


@pytest.mark.parametrize("name", ["Bert", "DebertaV2", "Llama"])
def test_edits_have_gradients_and_work_while_training(name: str) -> None:
    module, batch = tiny_hf(name, double=True).train(), hf_batch()
    with attach(module, FILLERS) as model:
        site = model.sites[0].name
        tilt = torch.zeros((), dtype=torch.float64, requires_grad=True)

        def mix(call: SiteCall) -> Tensor:
            return (1 - tilt) * call.weights + tilt * uniform()(call)

        torch.manual_seed(0)
        (slope,) = torch.autograd.grad(model(batch, {site: mix}).logits.sum(), tilt)
        step, ends = 1e-5, []
        for sign in (1, -1):
            torch.manual_seed(0)
            with torch.no_grad():
                tilt.fill_(sign * step)
                ends.append(model(batch, {site: mix}).logits.sum())
    # Llama's softmax is single precision
    tolerance = 3e-2 if name == "Llama" else 1e-6
    assert slope.item() == pytest.approx(((ends[0] - ends[1]) / 2 / step).item(), rel=tolerance)


def test_detached_attention_passes_no_gradient() -> None:
    with attached_bert() as (model, batch):
        edits = {site.name: detach() for site in model.sites}
        trace = model(batch, edits, Keep(embeddings=True))
        trace.logits.sum().backward()
        query = model.module.bert.encoder.layer[0].attention.self.query.weight
        assert query.grad is None and trace.embeddings["a"].grad is not None


def test_draws_do_not_depend_on_padding_or_side() -> None:
    module, batch = tiny_hf("GPT2", double=True), hf_batch()
    logits = []
    for padding, given in (("right", batch), ("left", batch), ("left", hf_batch(pad=2))):
        with attach(module, FILLERS, padding=padding) as model, torch.no_grad():
            wide = {site.name: uniform() for site in model.sites[:1]}
            logits.append(model(given, wide).logits)
    torch.testing.assert_close(logits[1], logits[0])
    torch.testing.assert_close(logits[2], logits[0])


@pytest.mark.parametrize(
    ("name", "task", "reads"),
    [
        ("Bert", "classification", "first"),
        ("Roberta", "classification", "first"),
        ("DebertaV2", "classification", "first"),
        ("GPT2", "classification", "last"),
        ("Llama", "language", "last"),
        ("Bloom", "language", "last"),
        ("Bart", "classification", "last"),
        ("T5", "language", "last"),
    ],
)
@pytest.mark.parametrize("graph", [True, False])
def test_readers_are_found(name: str, task: str, reads: str, graph: bool) -> None:
    module, batch = tiny_hf(name, task), batch_for(name, task)
    module.requires_grad_(graph)
    with attach(module, FILLERS) as model, torch.set_grad_enabled(graph):
        trace = model(batch, keep=ALL)
        assert torch.equal(trace.logits, model(batch).logits)
    assert trace.logits.requires_grad == graph
    for site in model.sites:
        read = trace.readout_weights[site.name]
        assert read.shape == trace.weights[site.name].shape[::2] and not read.requires_grad
        torch.testing.assert_close(read.sum(-1), torch.ones(len(batch)))
        text = batch.texts["a"]
        if site.name.startswith("encoder") and name in ("Bart", "T5"):
            there = torch.arange(text.tokens.shape[1]) < text.lengths[:, None]
            torch.testing.assert_close(read, there / text.lengths[:, None])
            continue
        ends = batch.texts.get("target", text).lengths - 1
        place = torch.zeros_like(ends) if reads == "first" else ends
        assert torch.equal(read.argmax(-1), place) and bool((read.max(-1).values == 1).all())


def test_a_mean_is_read_everywhere() -> None:
    batch = hf_batch()
    with attach(tiny_hf("ModernBert", classifier_pooling="mean"), FILLERS) as model:
        read = model(batch, keep=ALL).readout_weights[model.sites[-1].name]
    there = torch.arange(read.shape[1]) < batch.texts["a"].lengths[:, None]
    assert torch.equal(read > 0, there)


def test_opposite_classes_do_not_cancel() -> None:
    with attached_bert() as (model, batch):
        with torch.no_grad():
            model.module.classifier.weight[1] = -model.module.classifier.weight[0]
        read = model(batch, keep=ALL).readout_weights[model.sites[-1].name]
    assert torch.equal(read[:, 0], torch.ones(4, dtype=torch.float64))


def test_grouped_values_are_repeated_per_head() -> None:
    batch = hf_batch()
    with attach(tiny_hf("Llama"), FILLERS) as model, torch.no_grad():
        values = model(batch, keep=ALL).values[model.sites[0].name]
    assert values.shape == (4, 4, 10, 4)
    assert torch.equal(values[:, 0], values[:, 1]) and torch.equal(values[:, 2], values[:, 3])
    assert not torch.equal(values[:, 1], values[:, 2])


def test_held_attention_stays() -> None:
    with attached_bert() as (model, batch), torch.no_grad():
        first, last = (site.name for site in model.sites)
        base = model(batch)
        edits = held(model, base, {first: uniform()})
        trace, free = model(batch, edits), model(batch, {first: uniform()})
        assert torch.equal(trace.weights[last], base.weights[last])
        assert not torch.equal(free.weights[last], base.weights[last])
        assert not torch.equal(trace.logits, free.logits)
        assert not torch.equal(trace.logits, base.logits)
        assert torch.equal(model(batch, held(model, base, {})).logits, base.logits)
        with pytest.raises(HeedfulError, match="the batch its trace was made from"):
            model(batch.take(torch.tensor([0])), edits)


def test_any_model_can_be_held() -> None:
    model, batch = tiny_model(), tiny_batch((4, 2))
    base = model(batch)
    assert torch.equal(model(batch, held(model, base, {})).logits, base.logits)


@pytest.mark.parametrize(
    ("name", "task"), [("Bert", "classification"), ("GPT2", "language"), ("Bart", "classification")]
)
def test_deletions_equal_shorter_texts(
    name: str, task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heedful.models.family._TOKENS_AT_ONCE", 25)
    module, batch = tiny_hf(name, task, double=True), hf_batch()
    text = batch.texts["a"]
    with attach(module, FILLERS) as model:
        deleted = model.leave_one_out_logits(batch)
        assert torch.equal(deleted.less.isnan().any(-1), ~text.mask)
        assert deleted.less.dtype == torch.float64 and not deleted.less.requires_grad
        torch.testing.assert_close(deleted.whole, model(batch).logits.detach())
        for row, place in text.mask.nonzero().tolist():
            tokens = text.tokens[row, : text.lengths[row]].tolist()
            del tokens[place]
            shorter = torch.tensor([tokens])
            alone = module(input_ids=shorter).logits
            alone = alone[:, -1] if alone.ndim == 3 else alone
            torch.testing.assert_close(deleted.less[row, place], alone[0].detach())


def test_a_text_of_one_token_cannot_lose_it() -> None:
    batch = hf_batch((3, 4))
    text = batch.texts["a"]
    bare = replace(
        text, lengths=torch.tensor([1, 5]), mask=torch.arange(6) < torch.tensor([[1], [5]])
    )
    with attach(tiny_hf("GPT2"), FILLERS) as model:
        less = model.leave_one_out_logits(replace(batch, texts={"a": bare})).less
    assert bool(less[0].isnan().all()) and bool(less[1, :5].isfinite().all())


def test_resuming_is_running_again() -> None:
    with attached_bert() as (model, batch), torch.no_grad():
        edits = {model.sites[-1].name: uniform()}
        resumed = model.resume(batch, model(batch), edits)
        assert torch.equal(resumed.logits, model(batch, edits).logits)
