"""What the output is without one head: against plain hooks, and on models whose truth is known."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from heedful.auditing import AuditSpec, audit
from heedful.errors import HeedfulError
from heedful.experiments import ABLATIONS, ForwardBatch, HeadMeans, head_effects, head_means
from heedful.interventions import put_out
from heedful.metrics import tvd
from heedful.models import attach, probabilities
from heedful.types import Batch, OutputEdit
from layered import Layered, layered_batch
from reference import head_ablation as slow
from tiny_hf import FILLERS, HEADS, SIZE, hf_batch, tiny_hf
from tiny_pairs import tiny_pairs, tiny_writer
from tiny_tokenizers import word_pieces

PROJECTION = {
    "Bert": "attention.output.dense",
    "GPT2": "attn.c_proj",
    "Llama": "self_attn.o_proj",
    "DistilBert": "attention.out_lin",
}


@contextmanager
def attached(name: str) -> Iterator[tuple[Any, Batch, list[nn.Module]]]:
    module = tiny_hf(name, double=True)
    projections = [m for n, m in module.named_modules() if n.endswith(PROJECTION[name])]
    with attach(module, FILLERS) as model:
        yield model, hf_batch((5, 1, 8, 3)), projections


def effects(model: Any, batch: Batch, means: HeadMeans) -> dict[tuple, Tensor]:
    found = head_effects(ForwardBatch.of(model, batch), means, 100, seed=3)
    return {(*place, name): torch.stack([e.tvd, e.drop]) for place, name, e in found}


@pytest.mark.parametrize("name", PROJECTION)
def test_effects_are_those_of_plain_hooks(name: str) -> None:
    with attached(name) as (model, batch, projections):
        found = effects(model, batch, head_means(model, [batch]))
        texts = [batch.take(torch.tensor([row])) for row in range(len(batch))]
        last = name in ("GPT2", "Llama")
        rows = [int(text.texts["a"].lengths[0]) - 1 if last else 0 for text in texts]
        means = slow.means(model, texts, projections, rows)
        heads = 4 if name == "Llama" else HEADS
        size = SIZE // heads
        for number, (text, row) in enumerate(zip(texts, rows, strict=True)):
            before = probabilities(slow.logits(model, text, {}))
            own = slow.inputs(model, text, projections)
            for layer, module in enumerate(projections):
                later = {p: slow.held(own[n]) for n, p in enumerate(projections) if n > layer}
                for head in range(heads):
                    mean = {module: slow.at_mean(head, size, means[layer], row)}
                    patches = {"zero": {module: slow.zeroed(head, size)}, "mean": mean}
                    for kind, patch in {**patches, "direct": {**mean, **later}}.items():
                        after = probabilities(slow.logits(model, text, patch))
                        drop = (before - after)[0, before[0].argmax()]
                        moved, fell = found[layer, head, kind][:, number].tolist()
                        assert moved == pytest.approx(float(tvd(after, before)), abs=1e-9)
                        assert fell == pytest.approx(float(drop), abs=1e-9)


def test_the_last_layer_has_direct_effects_only_and_earlier_ones_have_others() -> None:
    with attached("Bert") as (model, batch, _):
        found = effects(model, batch, head_means(model, [batch]))
    for head in range(HEADS):
        torch.testing.assert_close(found[1, head, "direct"], found[1, head, "mean"])
        assert not torch.allclose(found[0, head, "direct"], found[0, head, "mean"], atol=1e-3)


@pytest.mark.parametrize("name", ["Bart", "T5", "Marian"])
def test_nothing_of_an_encoder_goes_around_the_decoder_s_attention(name: str) -> None:
    """Its heads reach the output through cross-attention alone, which is held."""
    with attach(tiny_hf(name, "language", double=True), FILLERS) as model:
        batch = hf_batch((5, 2))
        found = effects(model, batch, head_means(model, [batch]))
    layers = {layer for layer, _, _ in found}
    assert layers == {0, 1, 2, 3}  # two of the encoder, two of cross-attention
    for (layer, _, kind), (moved, _) in found.items():
        if layer < 2 and kind == "direct":
            assert float(moved.max()) < 1e-9
        if kind == "mean":
            assert float(moved.max()) > 1e-4


@pytest.mark.parametrize("norm", ["prenorm", "postnorm"])
def test_heads_of_our_own_transformer(norm: str) -> None:
    """The same by hooks on its output projections; the encoder has no direct effects."""
    model, batch = tiny_writer(norm), tiny_pairs((4,), (3,))
    means = head_means(model, [batch])
    found = effects(model, batch, means)
    layers = [*model.encoder.layers, *model.decoder.layers]
    text = [
        layer.attention if n < len(model.encoder.layers) else layer.cross
        for n, layer in enumerate(layers)
    ]
    before = probabilities(slow.logits(model, batch, {}))
    size = text[0].out.in_features // text[0].heads
    for layer, part in enumerate(text):
        for head in range(part.heads):
            after = probabilities(slow.logits(model, batch, {part.out: slow.zeroed(head, size)}))
            moved = float(tvd(after, before))
            assert float(found[layer, head, "zero"][0]) == pytest.approx(moved, abs=1e-9)
            if layer < len(model.encoder.layers):
                assert float(found[layer, head, "direct"][0]) < 1e-9
    # of one text the read row is its own mean, so nothing moves at the last cross-attention
    last = len(text) - 1
    assert all(float(found[last, head, "mean"][0]) < 1e-9 for head in range(text[-1].heads))


def test_batches_order_and_padding_do_not_matter() -> None:
    with attached("Bert") as (model, batch, _):
        means = head_means(model, [batch])
        apart = head_means(model, [batch.take(torch.tensor([r])) for r in (3, 1, 0, 2)])
        for name, mean in means.outputs.items():
            torch.testing.assert_close(apart.outputs[name], mean)
        whole = effects(model, batch, means)
        for row in range(len(batch)):
            alone = effects(model, batch.take(torch.tensor([row])), means)
            for key, values in alone.items():
                torch.testing.assert_close(values[:, 0], whole[key][:, row])


def test_outputs_put_back_change_nothing_and_leave_no_trace() -> None:
    with attached("GPT2") as (model, batch, _):
        before = model(batch).logits
        same = OutputEdit(lambda call, outputs: outputs)
        edits = {site.name: same for site in model.sites}
        assert torch.equal(model(batch, edits).logits, before)
        wrong = OutputEdit(lambda call, outputs: outputs[..., :1])
        with pytest.raises(HeedfulError, match="returned shape"):
            model(batch, {model.sites[0].name: wrong})
        with pytest.raises(HeedfulError, match="made from"):
            model(batch, {model.sites[0].name: put_out(torch.zeros(1, 1, 1, 1))})
        assert torch.equal(model(batch).logits, before)


def test_a_model_that_hides_its_outputs_is_measured_by_weights_alone() -> None:
    model, batch = Layered(), layered_batch((4, 2))
    means = head_means(model, [batch])
    assert not means.shown and sum(means.heads.values()) == 4
    found = effects(model, batch, means)
    assert {kind for _, _, kind in found} == {"zero", "permute"}
    with pytest.raises(HeedfulError, match="does not show"):
        model(batch, {"layer0": OutputEdit(lambda call, outputs: outputs)})


def test_one_head_is_read_and_the_other_is_not() -> None:
    """The projection of head 1 is zero in both layers: no ablation of it moves anything."""
    with attached("Bert") as (model, batch, projections):
        with torch.no_grad():
            for module in projections:
                module.weight[:, SIZE // 2 :] = 0.0
        found = effects(model, batch, head_means(model, [batch]))
    for (_, head, kind), (moved, fell) in found.items():
        assert kind in ABLATIONS
        if head == 1:
            assert float(moved.abs().max()) < 1e-12 and float(fell.abs().max()) < 1e-12
        else:
            assert float(moved[[0, 2, 3]].min()) > 1e-6, kind


def test_an_audit_measures_each_head_whatever_the_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mean is that of the audit's texts, and not of a batch."""
    texts = [
        {"text": text, "label": i % 2, "id": str(i)}
        for i, text in enumerate(["the film was very good", "good film", "a dull film"] * 2)
    ]
    spec = AuditSpec(("attention",), only=("head_ablation",))
    model = (tiny_hf(double=True), word_pieces())
    whole = audit(model, texts, spec)
    monkeypatch.setattr("heedful.auditing.schedule.TOKENS_AT_ONCE", 12)
    some = audit(model, texts, spec)
    keys = ["example", "measure", "operator", "explanation"]
    one, other = (
        found.rows[found.rows["measure"].isin(["tvd_head", "drop_head"])].sort_values(keys)
        for found in (whole, some)
    )
    assert len(one) == 6 * 2 * 2 * len(ABLATIONS) * 2
    np.testing.assert_allclose(one["value"], other["value"], atol=1e-9)
    assert len(whole.verdict.heads.ranked) == 0  # three texts a half are too few
