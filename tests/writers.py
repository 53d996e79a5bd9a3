"""What every writing family promises, in one place."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from heedful.interventions import custom, uniform
from heedful.models import Writer
from heedful.types import Batch, Keep, SiteCall, Text, Trace
from tiny_pairs import close, one_pair

EVERYTHING = Keep(states=True, embeddings=True, values=True, readout_weights=True)


def everything_a_writer_promises(model: Writer, batch: Batch) -> None:
    trace = model(batch, keep=EVERYTHING)
    shapes_and_masks(model, batch, trace)
    alone_as_in_company(model, batch, trace)
    padding_is_nothing(model, batch, trace)
    edits_step_in(model, batch, trace)
    later_tokens_change_nothing_earlier(model, batch, trace)
    steps_are_the_same(model, batch, trace)


def shapes_and_masks(model: Writer, batch: Batch, trace: Trace) -> None:
    """Weights are distributions over what may be attended, and exactly zero elsewhere."""
    assert [site.name for site in model.sites] == list(trace.weights)
    sizes = {side: text.tokens.shape[1] for side, text in batch.texts.items()}
    b = batch.texts["b"]
    assert trace.step_logits is not None and trace.step_logits.shape[1] == sizes["b"]
    for site in model.sites:
        weights, mask = trace.weights[site.name], trace.masks[site.name]
        assert weights.shape[-1] == sizes[site.keys] and not weights[~mask.expand_as(weights)].any()
        asking = batch.texts["a" if site.name.startswith("encoder") else "b"]
        there = torch.arange(asking.tokens.shape[1]) < asking.lengths[:, None]
        assert torch.equal(mask.any(-1)[:, 0], there)  # padding asks nothing
        live = mask.any(-1).expand(weights.shape[:-1])
        close(weights.sum(-1), live.to(weights))
    (main,) = [site.name for site in model.sites if site.main]
    place = torch.arange(sizes["b"])
    assert torch.equal(trace.readout_weights[main], (place == b.lengths[:, None] - 1).double())
    rows = torch.arange(len(batch))
    assert torch.equal(trace.logits, trace.step_logits[rows, b.lengths - 1])
    assert set(trace.embeddings) == {"a", "b"} and all(
        e.requires_grad and e.is_leaf for e in trace.embeddings.values()
    )


def alone_as_in_company(model: Writer, batch: Batch, trace: Trace) -> None:
    with torch.no_grad():
        for example in range(len(batch)):
            one = model(one_pair(batch, example))
            close(one.logits[0], trace.logits[example])
            for name, weights in one.weights.items():
                _, _, q, k = weights.shape
                close(weights[0], trace.weights[name][example, :, :q, :k])
                assert not trace.weights[name][example, ..., k:].any()


def padding_is_nothing(model: Writer, batch: Batch, trace: Trace) -> None:
    """Whatever stands there."""

    def dirty(text: Text) -> Text:
        padding = torch.arange(text.tokens.shape[1]) >= text.lengths[:, None]
        return replace(text, tokens=text.tokens.masked_fill(padding, 7))

    texts = {side: dirty(text) for side, text in batch.texts.items()}
    assert torch.equal(model(replace(batch, texts=texts)).logits, trace.logits)


def edits_step_in(model: Writer, batch: Batch, trace: Trace) -> None:
    """At every site: the identity changes nothing, another edit changes the same whether the
    model is resumed or run, and it is the edited weights that are left."""
    for site in model.sites:
        same = {site.name: custom(lambda call: call.weights)}
        assert torch.equal(model(batch, same).logits, trace.logits)
        assert torch.equal(model.resume(batch, trace, same).logits, trace.logits)
        even = {site.name: uniform()}
        whole, resumed = model(batch, even), model.resume(batch, trace, even)
        close(whole.logits, resumed.logits)
        assert whole.step_logits is not None and resumed.step_logits is not None
        close(whole.step_logits, resumed.step_logits)
        for name in trace.weights:
            close(whole.weights[name], resumed.weights[name])
        mask = trace.masks[site.name].expand_as(whole.weights[site.name]).double()
        close(whole.weights[site.name], mask / mask.sum(-1, keepdim=True).clamp_min(1))
        if mask.sum(-1).max() > 1:
            assert not torch.equal(whole.step_logits, trace.step_logits)


def later_tokens_change_nothing_earlier(model: Writer, batch: Batch, trace: Trace) -> None:
    text = batch.texts["b"]
    assert trace.step_logits is not None
    for place in range(1, text.tokens.shape[1]):
        tokens = text.tokens.clone()
        tokens[:, place] = (tokens[:, place] + 3) % 8 + 4
        other = replace(batch, texts={**batch.texts, "b": replace(text, tokens=tokens)})
        found = model(other).step_logits
        assert found is not None
        close(found[:, :place], trace.step_logits[:, :place])
        assert not torch.equal(found[:, place], trace.step_logits[:, place])


def steps_are_the_same(model: Writer, batch: Batch, trace: Trace) -> None:
    """Step by step, with rows reordered on the way, as all at once; edits see each step."""
    text, rows = batch.texts["b"], torch.arange(len(batch)).flip(0)
    assert trace.step_logits is not None
    (main,) = [site.name for site in model.sites if site.main]
    seen: list[tuple[int, tuple[str, ...]]] = []

    def watching(call: SiteCall) -> Tensor:
        seen.append((call.step, call.ids))
        return call.weights

    state = model.start(batch, {main: custom(watching)})
    here = torch.arange(len(batch))
    for t in range(text.tokens.shape[1]):
        logits, state = model.step(state, text.tokens[here, t], t)
        there = text.lengths[here] > t
        close(logits[there], trace.step_logits[here, t][there])
        assert seen[-1] == (t, tuple(batch.ids[i] for i in here.tolist()))
        state, here = model.reorder(state, rows), here[rows]
