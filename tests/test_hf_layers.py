"""Going on from a layer gives, bit for bit, what starting anew gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from heedful.interventions import custom, held, permute, uniform
from heedful.models import HuggingFace, LayerCache, attach, layers_of
from heedful.types import Keep
from test_hf_forward import BOTH, CLASSIFIERS, DECODERS, WRITERS, batch_for
from tiny_hf import FILLERS, attached_bert, hf_batch, tiny_hf

STATES = Keep(states=True, readout_weights=True)
LEFT = [(name, task) for name, task in [*CLASSIFIERS, *WRITERS] if name in DECODERS]


@contextmanager
def calls(model: HuggingFace, kind: type[nn.Module] = nn.Linear) -> Iterator[Counter[str]]:
    """How often each module of a kind is run."""
    seen: Counter[str] = Counter()
    hooks = [
        each.register_forward_hook(lambda *_, name=name: seen.update([name]))
        for name, each in model.module.named_modules()
        if isinstance(each, kind)
    ]
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()


@pytest.mark.parametrize(
    ("name", "task", "padding"),
    [
        *((name, task, "right") for name, task in [*CLASSIFIERS, *WRITERS]),
        *((name, task, "left") for name, task in LEFT),
    ],
)
@torch.no_grad()
def test_every_site_resumed_is_the_whole_run(name: str, task: str, padding: str) -> None:
    module, batch = tiny_hf(name, task), batch_for(name, task)
    with attach(module, FILLERS, padding=padding) as model:
        base = model(batch, keep=STATES)
        assert isinstance(base.encoding, LayerCache) and base.encoding.outputs
        for site in model.sites:
            for edits in ({site.name: permute()}, held(model, base, {site.name: uniform()})):
                whole, resumed = model(batch, edits), model.resume(batch, base, edits)
                assert torch.equal(resumed.logits, whole.logits)
                assert resumed.weights.keys() == whole.weights.keys()
                for each in whole.weights:
                    assert torch.equal(resumed.weights[each], whole.weights[each])
                    assert torch.equal(resumed.masks[each], whole.masks[each])


@pytest.mark.parametrize(("name", "task"), [*CLASSIFIERS, *WRITERS])
def test_gradients_reach_edited_weights_as_in_a_whole_run(name: str, task: str) -> None:
    module, batch = tiny_hf(name, task, double=True), batch_for(name, task)
    with attach(module, FILLERS) as model:
        with torch.no_grad():
            base = model(batch, keep=STATES)
        site = model.sites[-1].name
        free = base.weights[site].clone().requires_grad_()
        edits = {site: custom(lambda _: free)}
        found = [
            model.resume(batch, base, edits),
            model(batch, edits),
            model.resume(batch, base, edits),
        ]
        factors = torch.linspace(1, 2, found[0].logits.shape[1]).double()
        slopes = [torch.autograd.grad((each.logits * factors).sum(), free)[0] for each in found]
    assert bool(slopes[0].any())
    assert torch.equal(slopes[0], slopes[1]) and torch.equal(slopes[0], slopes[2])


@pytest.mark.parametrize(("name", "task"), [*CLASSIFIERS, *WRITERS])
@torch.no_grad()
def test_layers_before_the_first_edited_site_are_not_run(name: str, task: str) -> None:
    module, batch = tiny_hf(name, task), batch_for(name, task)
    with attach(module, FILLERS) as model:
        base = model(batch, keep=STATES)
        with calls(model, nn.Module) as whole:
            model(batch)
        with calls(model, nn.Module) as resumed:
            model.resume(batch, base, {model.sites[-1].name: uniform()})
    *before, last = layers_of(module, model._sites)
    parts = {each: name for name, each in module.named_modules()}
    if before:
        assert not any(resumed[parts[part]] for layer in before for part in inside(layer))
        assert all(resumed[parts[part]] == whole[parts[part]] for part in inside(last))
    else:  # one layer that is run again and again
        assert all(2 * resumed[parts[part]] == whole[parts[part]] for part in inside(last))


def inside(layer: nn.Module) -> set[nn.Module]:
    return set(layer.modules()) - {layer}


@torch.no_grad()
def test_a_trace_without_states_is_resumed_from_the_start() -> None:
    with attached_bert() as (model, batch):
        base, edits = model(batch), {model.sites[-1].name: uniform()}
        assert base.encoding is None
        assert torch.equal(model.resume(batch, base, edits).logits, model(batch, edits).logits)


@torch.no_grad()
def test_given_embeddings_stay_given() -> None:
    with attached_bert() as (model, batch):
        given = {"a": model.embed(batch)["a"].flip(0)}
        base = model(batch, keep=STATES, embeddings=given)
        for site in model.sites:
            edits = {site.name: uniform()}
            resumed = model.resume(batch, base, edits).logits
            assert torch.equal(resumed, model(batch, edits, embeddings=given).logits)
            assert not torch.equal(resumed, model(batch, edits).logits)


@torch.no_grad()
def test_nothing_edited_is_the_same_again() -> None:
    with attached_bert() as (model, batch):
        base = model(batch, keep=STATES)
        assert torch.equal(model.resume(batch, base, {}).logits, base.logits)


@torch.no_grad()
def test_layers_get_their_own_forward_back_even_after_an_error() -> None:
    def broken(call: Any) -> Tensor:
        raise RuntimeError("stop")

    module = tiny_hf("Bert")
    first, second = module.bert.encoder.layer
    first.forward = mine = first.forward
    with attach(module, FILLERS) as model:
        batch = hf_batch()
        base = model(batch, keep=STATES)
        assert vars(first)["forward"] is mine and "forward" not in vars(second)
        for run in (
            lambda edits: model(batch, edits, keep=STATES),
            lambda edits: model.resume(batch, base, edits),
        ):
            with pytest.raises(RuntimeError, match="stop"):
                run({model.sites[-1].name: broken})
            assert vars(first)["forward"] is mine and "forward" not in vars(second)


class Whispering(nn.Module):
    """A layer that hands something on besides its output, or changes its input."""

    def __init__(self, layer: nn.Module, said: list[Tensor], way: str) -> None:
        super().__init__()
        self.layer, self.said, self.way = layer, said, way

    def forward(self, states: Tensor, *args: Any, **options: Any) -> Any:
        if self.way == "aside":
            states = states + (self.said.pop() if self.said else 0.0)
        elif self.way == "in place":
            states.mul_(1.5)
        output = self.layer(states, *args, **options)
        if self.way == "aside":
            self.said.append(states.mean())
        return output


@pytest.mark.parametrize("way", ["aside", "in place", "openly"])
@torch.no_grad()
def test_modules_whose_layers_do_more_than_answer_start_anew(way: str) -> None:
    module, said = tiny_hf("Bert"), list[Tensor]()
    layers = module.bert.encoder.layer
    for place, layer in enumerate(layers):
        layers[place] = Whispering(layer, said, way)
    batch = hf_batch()
    with attach(module, FILLERS) as model:
        said.clear()
        base, edits = model(batch, keep=STATES), {model.sites[-1].name: uniform()}
        assert isinstance(base.encoding, LayerCache)
        assert bool(base.encoding.outputs) == (way == "openly")
        said.clear()
        whole = model(batch, edits).logits
        for _ in range(2):
            said.clear()
            assert torch.equal(model.resume(batch, base, edits).logits, whole)


@torch.no_grad()
def test_who_starts_anew_starts_from_the_given_embeddings() -> None:
    """Noise on embeddings must not get lost where layers cannot be repeated."""
    module, said = tiny_hf("Bert"), list[Tensor]()
    layers = module.bert.encoder.layer
    for place, layer in enumerate(layers):
        layers[place] = Whispering(layer, said, "in place")
    batch = hf_batch()
    with attach(module, FILLERS) as model:
        given = {"a": model.embed(batch)["a"].flip(0)}
        base, edits = model(batch, keep=STATES, embeddings=given), {model.sites[-1].name: uniform()}
        resumed = model.resume(batch, base, edits).logits
        assert torch.equal(resumed, model(batch, edits, embeddings=given).logits)
        assert not torch.equal(resumed, model(batch, edits).logits)


def test_layers_are_the_outermost_lists_that_hold_attention() -> None:
    for name in ("Bert", "T5", "Albert", *BOTH):
        module = tiny_hf(name)
        with attach(module, FILLERS) as model:
            found = {type(each).__name__ for each in layers_of(module, model._sites)}
        assert found <= {
            "BertLayer",
            "T5Block",
            "AlbertLayerGroup",
            "BartEncoderLayer",
            "BartDecoderLayer",
        }
        assert found
