"""Models of TransformerLens and nnsight are put on trial as they are. Neither package is among the
dependencies: without them these tests are skipped."""

from __future__ import annotations

import importlib
import sys
import warnings
from typing import Any

import pytest
import torch

import heedful
from heedful import HeedfulError, open_target
from heedful.interventions import uniform
from heedful.types import Keep
from tiny_tokenizers import byte_pairs

transformers = pytest.importorskip("transformers")

TEXT, OTHER = "a very good film", "good"
DATA = [{"text": TEXT}, {"text": OTHER}]
NAMES = ["attention", "gradient", "occlusion"]


def package(name: str) -> Any:
    """A package of somebody else, with its own warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(name)
        except ImportError as error:
            pytest.skip(f"{name} is not installed ({error})")


def decoder() -> tuple[Any, Any]:
    torch.manual_seed(0)
    tokenizer = byte_pairs()
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer), n_embd=32, n_layer=2, n_head=4, n_positions=64, bos_token_id=0,
        eos_token_id=0,
    )  # fmt: skip
    module = transformers.GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return module, tokenizer


def bridge() -> tuple[Any, Any]:
    kind = package("transformer_lens.model_bridge").TransformerBridge
    module, tokenizer = decoder()
    made = kind.boot_transformers("gpt2", hf_model=module, tokenizer=tokenizer, device="cpu")
    return made, tokenizer


def hooked(**changes: Any) -> tuple[Any, Any]:
    lens = package("transformer_lens")
    if "HookedTransformer" not in vars(lens):
        pytest.skip("this TransformerLens has no HookedTransformer")
    tokenizer = byte_pairs()
    sizes = {"n_layers": 2, "d_model": 32, "n_ctx": 64, "d_head": 8, "n_heads": 4, "d_mlp": 48}
    kinds = {"act_fn": "gelu", "normalization_type": "LN", **changes}
    config = lens.HookedTransformerConfig(
        **sizes, **kinds, d_vocab=len(tokenizer), seed=0, device="cpu"
    )
    model = lens.HookedTransformer(config).eval()
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model, tokenizer


def rotary() -> tuple[Any, Any]:
    """As in Llama: positions in the scores, and keys that heads share."""
    return hooked(
        positional_embedding_type="rotary", rotary_dim=8, normalization_type="RMS", act_fn="silu",
        gated_mlp=True, n_key_value_heads=2,
    )  # fmt: skip


@pytest.mark.parametrize("made", [bridge, hooked, rotary])
def test_a_model_of_transformer_lens_says_and_attends_as_by_itself(made: Any) -> None:
    """Logits, weights and what an edit does to the logits, against the package's own cache and
    hooks; nothing of ours is left."""
    model, tokenizer = made()
    pair = (model, tokenizer)
    ids = tokenizer(TEXT, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        own, cache = model.run_with_cache(ids)
        flat = [
            (f"blocks.{layer}.attn.hook_pattern", lambda pattern, hook: _uniform(pattern))
            for layer in range(2)
        ]
        edited = model.run_with_hooks(ids, fwd_hooks=flat)
    with open_target(pair, DATA, label_column=None) as subject:
        batch = subject.encode([0, 1])
        trace = subject.model(batch, keep=Keep())
        same = subject.model(
            batch, {site.name: lambda call: call.weights for site in subject.model.sites}
        )
        even = subject.model(batch, {site.name: uniform() for site in subject.model.sites})
    torch.testing.assert_close(trace.logits[0], own[0, -1], rtol=0, atol=1e-5)
    torch.testing.assert_close(same.logits, trace.logits, rtol=0, atol=0)
    torch.testing.assert_close(even.logits[0], edited[0, -1], rtol=0, atol=1e-5)
    assert float((even.logits - trace.logits).abs().max()) > 1e-3
    for layer, site in enumerate(subject.model.sites):
        torch.testing.assert_close(
            trace.weights[site.name][0], cache[f"blocks.{layer}.attn.hook_pattern"][0]
        )
    with torch.no_grad():
        torch.testing.assert_close(model(ids), own, rtol=0, atol=0)


def _uniform(pattern: torch.Tensor) -> torch.Tensor:
    seen = torch.ones_like(pattern).tril()
    return seen / seen.sum(-1, keepdim=True)


def test_a_hooked_transformer_is_explained_viewed_and_audited() -> None:
    model, tokenizer = hooked()
    pair = (model, tokenizer)
    found = heedful.explain(pair, TEXT, explanations=NAMES)
    assert len(found.words) == 4
    ids = tokenizer(TEXT, return_tensors="pt")["input_ids"]
    _, cache = model.run_with_cache(ids)
    view = heedful.head_view(pair, TEXT)
    for layer, site in enumerate(view.sites):
        own = cache[f"blocks.{layer}.attn.hook_pattern"][0]
        torch.testing.assert_close(torch.as_tensor(view.weights[site.name]), own, check_dtype=False)
    written = heedful.explain(pair, TEXT, explanations=["attention"], generate=3)
    assert written.answer
    rows = [{"text": f"{TEXT} {word}"} for word in ("a", "very", "good", "film") * 3]
    audit = heedful.audit(pair, rows, label_column=None, explanations=NAMES, quick=True)
    assert audit.verdict.decision


def test_a_hidden_token_is_seen_by_nobody_and_hooks_of_others_stay() -> None:
    """Whatever stands where the mask is 0, the others' logits are the same."""
    from heedful.models import HookedForCausalLM  # needs transformers

    model, tokenizer = hooked()
    calls: list[Any] = []
    model.add_hook("blocks.0.hook_resid_pre", lambda value, hook: calls.append(value.shape))
    ids = tokenizer(TEXT, return_tensors="pt")["input_ids"]
    other = ids.clone()
    other[0, 1] = (ids[0, 1] + 1) % len(tokenizer)
    whole, mask = torch.ones_like(ids), torch.ones_like(ids)
    mask[0, 1] = 0
    module = HookedForCausalLM(model).eval()
    with torch.no_grad():
        seen = [module(tokens, whole).logits[0, -1] for tokens in (ids, other)]
        hidden = [module(tokens, mask).logits[0, -1] for tokens in (ids, other)]
        assert len(calls) == 4
        model(ids)
    assert len(calls) == 5 and not torch.equal(*seen) and not torch.equal(seen[0], hidden[0])
    torch.testing.assert_close(*hidden, rtol=0, atol=0)


def test_a_bridge_is_explained_as_the_module_that_it_bridges() -> None:
    module, tokenizer = decoder()
    before = heedful.explain((module, tokenizer), TEXT, explanations=NAMES)
    model, _ = bridge()
    after = heedful.explain(model, TEXT, explanations=NAMES)
    for name in NAMES:
        assert after.scores[name] == pytest.approx(before.scores[name], abs=1e-6)


def test_a_model_of_nnsight_is_the_module_under_it() -> None:
    nnsight = package("nnsight")
    module, tokenizer = decoder()
    before = heedful.explain((module, tokenizer), TEXT, explanations=NAMES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = nnsight.LanguageModel(module, tokenizer=tokenizer)
    after = heedful.explain(model, TEXT, explanations=NAMES)
    for name in NAMES:
        assert after.scores[name] == pytest.approx(before.scores[name], abs=1e-6)
    view = heedful.head_view(model, TEXT)
    with model.trace(TEXT):
        logits = model.lm_head.output[0, -1].save()
    assert after.probability == pytest.approx(float(logits.softmax(-1).max()), abs=1e-5)
    assert len(view.sites) == 2


def test_neither_package_is_imported_for_others() -> None:
    module, tokenizer = decoder()
    before = {"transformer_lens", "nnsight"} & set(sys.modules)
    heedful.explain((module, tokenizer), OTHER, explanations=["attention"])
    assert {"transformer_lens", "nnsight"} & set(sys.modules) == before
    with pytest.raises(HeedfulError, match="of TransformerLens or nnsight"):
        heedful.explain(object(), OTHER)
