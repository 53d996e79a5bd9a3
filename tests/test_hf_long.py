"""What is computed piece by piece where a text is long is what is computed at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from heedful.attributions import attention, contextcite, gradient_input, occlusion
from heedful.models import answers, attach, label_words, shared_prefixes
from heedful.models.hf.prefixes import prefixes
from heedful.perturbations.without_words import TOKENS_AT_ONCE
from heedful.types import Answer, Keep
from test_hf_forward import BOTH, batch_for
from test_hf_layers import calls
from tiny_hf import FILLERS, hf_batch, tiny_hf

CASES = [
    *((name, "classification") for name in ("Bert", "ModernBert", "DebertaV2", "Gemma2", *BOTH)),
    *((name, "language") for name in ("GPT2", "Llama", "Bloom", "T5")),
]


@pytest.fixture
def long(monkeypatch: pytest.MonkeyPatch) -> Any:
    """From when it is called, tiny texts are long: a query at a time, or a few."""

    def begin(pairs: int = 40) -> None:
        monkeypatch.setattr("heedful.models.hf.interface.LONG", pairs)
        monkeypatch.setattr("heedful.models.hf.model.MANY_LOGITS", 0)

    return begin


def close(ours: Tensor, wanted: Tensor) -> None:
    torch.testing.assert_close(ours, wanted, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(
    ("name", "task", "padding"),
    [*((*each, "right") for each in CASES), ("Llama", "language", "left")],
)
def test_blocks_of_queries_are_the_whole(name: str, task: str, padding: str, long: Any) -> None:
    module, batch = tiny_hf(name, task, double=True), batch_for(name, task)
    keep = Keep(readout_weights=True)
    with attach(module, FILLERS, padding=padding) as model, torch.no_grad():
        whole = model(batch, keep=keep)
        long()
        some = (model.sites[-1].name,)
        found = model(batch, keep=keep)
        last = model(batch, keep=replace(keep, weights=some))
        bare = model(batch, keep=Keep(weights=False))
    for trace in (found, last, bare):
        close(trace.logits, whole.logits)
    assert found.weights.keys() == whole.weights.keys() and set(some) <= set(last.weights)
    for site, weights in whole.weights.items():
        live = whole.masks[site].any(-1, keepdim=True)
        close(found.weights[site] * live, weights * live)
        assert torch.equal(found.masks[site], whole.masks[site])
        close(last.readout_weights[site], whole.readout_weights[site])
    close(last.weights[some[0]] * live, weights * live)


@pytest.mark.parametrize(("name", "task"), CASES)
def test_layers_run_again_give_the_same_gradients(name: str, task: str, long: Any) -> None:
    from transformers.pytorch_utils import Conv1D

    module, batch = tiny_hf(name, task, double=True), batch_for(name, task)
    label = torch.zeros(len(batch), dtype=torch.long)
    with attach(module, FILLERS) as model:
        wanted = [gradient_input(model, batch, label, through_attention=t) for t in (True, False)]
        long()
        with calls(model, Conv1D if name == "GPT2" else torch.nn.Linear) as seen:
            found = gradient_input(model, batch, label)
        detached = gradient_input(model, batch, label, through_attention=False)
    assert max(seen.values()) == 2  # layers twice, all else once
    close(found, wanted[0])
    close(detached, wanted[1])


@pytest.mark.parametrize("task", ["words", "answer"])
def test_logits_of_other_places_are_not_computed(task: str, long: Any) -> None:
    """An answer of 1, 2 or 3 tokens after texts of unlike length."""
    module, batch = tiny_hf("Llama", "language", double=True), hf_batch((5, 3, 8))
    asked = Answer(torch.tensor([[7, -1, -1], [9, 6, -1], [5, 8, 9]]))
    head = label_words([9, 7]) if task == "words" else answers()
    batch = batch if task == "words" else replace(batch, answer=asked)
    shapes = []
    with attach(module, FILLERS, head) as model, torch.no_grad():
        hook = module.lm_head.register_forward_hook(lambda *each: shapes.append(each[2].shape[1]))
        wanted = model(batch).logits
        long()
        found = model(batch).logits
        hook.remove()
    close(found, wanted)
    assert shapes == ([10, 3] if task == "words" else [10, 8])


def test_explanations_of_a_long_text(long: Any) -> None:
    module, batch = tiny_hf("Llama", "language", double=True), hf_batch((8, 5))
    label = torch.full((2,), 9)
    with attach(module, FILLERS) as model:
        wanted = [attention(model, batch, label), contextcite(model, batch, label, samples=8)]
        long()
        found = [attention(model, batch, label), contextcite(model, batch, label, samples=8)]
    for ours, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("operator", ["delete", "mask"])
@pytest.mark.parametrize("name", ["Llama", "GPT2"])
def test_texts_that_begin_alike_are_read_from_where_they_part(
    name: str, operator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without each word of two texts: nothing before the word is run again, and each answer of
    two tokens is as probable as anew."""
    module, batch = tiny_hf(name, "language", double=True), hf_batch((9, 12))
    batch = replace(batch, answer=Answer(torch.tensor([[7, 2], [9, 2]])))
    label = torch.ones(2, dtype=torch.long)
    run: list[int] = []
    with attach(module, FILLERS, answers()) as model:
        wanted = occlusion(model, batch, label, operator=operator)
        hook = module.get_input_embeddings().register_forward_hook(
            lambda part, given, output: run.append(output.shape[1])
        )
        monkeypatch.setitem(TOKENS_AT_ONCE, "cpu", 1)
        found = occlusion(model, batch, label, operator=operator)
        alone, run[:] = list(run), []
        monkeypatch.setattr("heedful.models.hf.prefixes.TAKES", {"nothing"})
        again = occlusion(model, batch, label, operator=operator)
        hook.remove()
    torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(again, wanted, rtol=1e-9, atol=1e-12)
    assert sum(alone) < 0.75 * sum(run)


def test_a_prefix_is_shared_only_where_all_of_it_is_kept() -> None:
    """Windows forget, hidden tokens are not in the cache, and a block that ends forgets all."""
    text = hf_batch((9,))
    for name, kept in (("Llama", True), ("Mistral", False)):
        module = causal(name)
        with attach(module, FILLERS) as model, torch.no_grad():
            wanted = model(text, keep=Keep(weights=False)).logits
            with shared_prefixes():
                once = model(text, keep=Keep(weights=False)).logits
                again = model(text, keep=Keep(weights=False)).logits
                shared = prefixes()
                assert shared is not None and (module in shared.refused) != kept
            assert prefixes() is None
        close(once, wanted)
        close(again, wanted)
    hidden = torch.arange(11)[None] == 3
    blind = replace(text, texts={"a": replace(text.texts["a"], hidden=hidden)})
    with attach(causal("Llama"), FILLERS) as model, torch.no_grad():
        wanted = model(blind, keep=Keep(weights=False)).logits
        with shared_prefixes():
            model(text, keep=Keep(weights=False))
            close(model(blind, keep=Keep(weights=False)).logits, wanted)


def test_keys_that_depend_on_the_length_of_a_text_are_not_shared() -> None:
    """LongRoPE has other factors from 11 tokens on."""
    factors = {"short_factor": [1.0, 1.0], "long_factor": [3.0, 5.0], "factor": 4.0}
    rope = {"rope_type": "longrope", "rope_theta": 1e4, "original_max_position_embeddings": 10}
    sizes = {"max_position_embeddings": 40, "original_max_position_embeddings": 10}
    module = tiny_hf("Llama", "language", double=True, rope_parameters=rope | factors, **sizes)
    whole = hf_batch((12,))
    part = whole.texts["a"].map(lambda each: each[:, :9] if each.ndim == 2 else each - 5)
    texts = [whole, replace(whole, texts={"a": part})]
    with attach(module, FILLERS) as model, torch.no_grad():
        wanted = [model(each, keep=Keep(weights=False)).logits for each in texts]
        with shared_prefixes():
            found = [model(each, keep=Keep(weights=False)).logits for each in texts]
    for ours, theirs in zip(found, wanted, strict=True):
        close(ours, theirs)


def causal(name: str) -> Any:
    """Mistral with a window of four tokens."""
    if name == "Llama":
        return tiny_hf("Llama", "language", double=True)
    import transformers

    torch.manual_seed(0)
    like = tiny_hf("Mistral").config.to_dict() | {"sliding_window": 4}
    return transformers.MistralForCausalLM(transformers.MistralConfig(**like)).double().eval()
