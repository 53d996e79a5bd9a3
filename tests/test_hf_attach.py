"""A module is lent: it comes back as it was, and what cannot be lent is refused."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from heedful.errors import HeedfulError
from heedful.models import attach, classes
from heedful.types import Edit, Keep, SiteCall
from test_hf_forward import arguments, eager, eager_copy
from tiny_hf import END, FILLERS, PAD, VOCABULARY, attached_bert, hf_batch, tiny_hf

HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def state(module: Any) -> dict[str, Any]:
    """Everything a caller could notice."""
    return {
        "modes": [(name, each.training) for name, each in module.named_modules()],
        "learns": [(name, each.requires_grad) for name, each in module.named_parameters()],
        "attributes": {name: _plain(each) for name, each in module.named_modules()},
        "configs": {
            name: deepcopy(vars(each.config))
            for name, each in module.named_modules()
            if hasattr(each, "config")
        },
        "weights": {key: value.clone() for key, value in module.state_dict().items()},
    }


def _plain(module: nn.Module) -> dict[str, Any]:
    hooks = {name: list(getattr(module, name).values()) for name in HOOKS}
    own = {key: value for key, value in vars(module).items() if isinstance(value, (bool, str, int))}
    return {**hooks, **own, "names": sorted(vars(module))}


def assert_same(before: dict[str, Any], after: dict[str, Any]) -> None:
    one, two = before["weights"], after["weights"]
    assert {**before, "weights": None} == {**after, "weights": None}
    assert one.keys() == two.keys() and all(torch.equal(one[key], two[key]) for key in one)


def fails(call: SiteCall) -> Tensor:
    raise RuntimeError("on purpose")


def prepared(name: str, implementation: str) -> Any:
    """A module in as odd a state as a caller may have it."""
    module = tiny_hf(name)
    module.set_attn_implementation(implementation)
    if name != "Albert":
        module.gradient_checkpointing_enable()
    module.train()
    next(module.children()).eval()
    next(iter(module.parameters())).requires_grad_(False)
    module.register_forward_hook(lambda module, arguments, output: None)
    return module


@pytest.mark.parametrize(
    ("name", "implementation"),
    [("Bert", "eager"), *((name, "sdpa") for name in ("Bert", "Albert", "Llama", "Bart"))],
)
def test_the_module_comes_back_as_it_was(name: str, implementation: str) -> None:
    module, batch = prepared(name, implementation), hf_batch()
    before = state(module)
    with attach(module, FILLERS) as model:
        model.train()
        module.requires_grad_(False)
        model(batch, keep=Keep(embeddings=True, readout_weights=True, values=True))
    assert_same(before, state(module))
    with pytest.raises(RuntimeError, match="on purpose"), attach(module, FILLERS) as model:
        model.eval()
        edits: dict[str, Edit] = {model.sites[0].name: fails}
        model(batch, edits, embeddings=model.embed(batch))
    assert_same(before, state(module))
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("name", ["Bert", "GPT2"])
def test_a_refused_module_comes_back_too(name: str) -> None:
    module = tiny_hf(name, pad_token_id=None)
    if name == "Bert":
        module.bert.encoder.layer = nn.ModuleList()
    before = state(module)
    with pytest.raises(HeedfulError, match=f"{name}ForSequenceClassification"), _attached(module):
        pass
    assert_same(before, state(module))


def test_a_mid_pass_failure_leaves_gradients_and_listeners_alone() -> None:
    """The switch to gradients for the readers happens inside of the model."""
    with attached_bert() as (model, batch), torch.no_grad():
        expected = model(batch).logits

        def broken(module: nn.Module, arguments: Any, output: Any) -> None:
            raise RuntimeError("on purpose")

        handle = model.module.classifier.register_forward_hook(broken)
        with pytest.raises(RuntimeError, match="on purpose"):
            model(batch, keep=Keep(readout_weights=True))
        assert not torch.is_grad_enabled()
        handle.remove()
        assert torch.equal(model(batch).logits, expected)
        assert torch.equal(model.module(**arguments(batch)).logits, expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_sdpa_half_precision_and_checkpointing_are_accepted(dtype: torch.dtype) -> None:
    module, batch = tiny_hf("Bert").to(dtype), hf_batch()
    reference = eager_copy(module)
    expected = reference(**arguments(batch)).logits.float()
    expected.sum().backward()
    wanted = {key: p.grad for key, p in reference.named_parameters() if p.grad is not None}
    module.set_attn_implementation("sdpa")
    module.gradient_checkpointing_enable()
    for each in module.modules():
        if isinstance(each, nn.Dropout):
            each.p = 0.0
    with attach(module.train(), FILLERS) as model:
        logits = model(batch).logits
        logits.sum().backward()
    assert logits.dtype == torch.float32 and torch.equal(logits, expected)
    for key, slope in wanted.items():
        own = dict(module.named_parameters())[key].grad
        torch.testing.assert_close(
            own, slope, rtol=1e-2, atol=1e-4 if dtype == torch.float32 else 1e-2
        )


def test_a_configuration_that_wants_attentions_is_accepted() -> None:
    module, batch = tiny_hf("Bert"), hf_batch()
    expected = eager(module, batch).logits
    module.set_attn_implementation("eager")
    module.config.output_attentions, module.config.output_hidden_states = True, True
    module.config.return_dict = False
    with attach(module, FILLERS) as model:
        assert torch.equal(model(batch).logits, expected)


def test_attaching_twice_and_two_at_once() -> None:
    one, two, batch = tiny_hf("Bert"), tiny_hf("Bert", seed=1), hf_batch()
    expected = [eager(each, batch).logits for each in (one, two)]
    with attach(one, FILLERS) as first, attach(two, FILLERS) as second:
        with attach(one, FILLERS) as again:
            assert torch.equal(again(batch).logits, expected[0])
            assert torch.equal(first(batch).logits, expected[0])
        name = first.sites[0].name

        def asks_the_other(call: SiteCall) -> Tensor:
            assert torch.equal(second(batch).logits, expected[1])
            return call.weights

        for _ in range(2):
            assert torch.equal(first(batch, {name: asks_the_other}).logits, expected[0])
            assert torch.equal(second(batch).logits, expected[1])
    assert one.config._attn_implementation == two.config._attn_implementation != "heedful"


def test_the_module_itself_stays_usable_inside() -> None:
    module, batch = tiny_hf("Bert"), hf_batch()
    expected = eager(module, batch).logits
    with attach(module, FILLERS):
        assert torch.equal(module(**arguments(batch)).logits, expected)


def test_a_vocabulary_of_few_tokens_is_enough() -> None:
    module = tiny_hf("Bert", vocab_size=6, eos_token_id=None, bos_token_id=None)
    with attach(module, FILLERS) as model:
        assert len(model.sites) == 2


def test_after_the_block_the_model_says_so() -> None:
    with attached_bert() as (model, batch):
        model(batch)
    with pytest.raises(HeedfulError, match="inside `with attach"):
        model(batch)


def test_skipped_layers_are_noticed() -> None:
    with attached_bert() as (model, batch):
        model.module.bert.encoder.layer = model.module.bert.encoder.layer[:1]
        with pytest.raises(HeedfulError, match="layer.1.attention.self.*not reached"):
            model(batch)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"padding": "middle"}, "choose left or right"),
        ({"fillers": {"unk": PAD}}, "choose another token"),
        ({"padding": "left"}, "BertForSequenceClassification cannot be padded on the left"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], message: str) -> None:
    with (
        pytest.raises(HeedfulError, match=message),
        attach(tiny_hf("Bert"), **{"fillers": FILLERS, **options}),
    ):
        pass


def test_what_is_no_model_of_transformers_is_refused() -> None:
    with pytest.raises(HeedfulError, match="Linear is no model"), attach(nn.Linear(2, 2), FILLERS):
        pass


def test_unknown_sites_and_misshapen_edits_are_refused() -> None:
    with attached_bert() as (model, batch):
        with pytest.raises(HeedfulError, match="no attention 'nowhere'"):
            model(batch, {"nowhere": lambda call: call.weights})
        name = model.sites[0].name
        with pytest.raises(HeedfulError, match="returned shape"):
            model(batch, {name: lambda call: call.weights[:, :1]})


def test_the_helper_has_what_others_build_on() -> None:
    with attached_bert() as (model, batch):
        words = batch.texts["a"].words
        assert words is not None and words[0].tolist() == [-1, 0, 0, 1, 2, 2, -1, -1, -1, -1]
        assert len(model.sites) == 2 and dict(model.fillers) == FILLERS
        assert model.module.config.vocab_size == VOCABULARY
        assert int(batch.texts["a"].tokens[0, 6]) == END


def _attached(module: Any) -> Any:
    return attach(module, FILLERS, head=classes)


_ODD = {"vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
        "intermediate_size": 32, "max_position_embeddings": 64, "num_labels": 2, "d_model": 16,
        "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}  # fmt: skip
UNUSUAL: dict[str, tuple[str, dict[str, Any]]] = {
    "Perceiver": ("no table of token embeddings", {"d_latents": 16, "num_latents": 4}),
    "Canine": ("no table of token embeddings", {}),
    "Longformer": ("", {"attention_window": 4}),
    "BigBird": ("", {"block_size": 4, "num_random_blocks": 1}),
    "ConvBert": ("", {"embedding_size": 16}),
    "Funnel": (
        "in FunnelRelMultiheadAttention, which attends by blocks, landmarks or pools",
        {"block_sizes": [1, 1], "d_head": 8, "d_inner": 32, "num_hidden_layers": None},
    ),
    "FNet": ("no softmax over tokens that could be reached", {}),
    "Nystromformer": ("answers differently where a text is padded", {}),
    "Yoso": ("no softmax over tokens that could be reached", {}),
    "XLNet": ("", {"n_layer": 2, "n_head": 2, "d_inner": 32, "max_position_embeddings": None}),
    "Xmod": (r"cannot run on two short texts \(Input language unknown\)", {}),
    "MobileBert": ("", {"embedding_size": 16, "intra_bottleneck_size": 16}),
    "MT5": ("", {"d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2}),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_unusual_models_work_or_are_refused_in_one_sentence(name: str) -> None:
    import transformers

    refusal, own = UNUSUAL[name]
    given = {key: value for key, value in {**_ODD, **own}.items() if value is not None}
    config = getattr(transformers, f"{name}Config")(**given)
    module = getattr(transformers, f"{name}ForSequenceClassification")(config).eval()
    if not refusal:
        with attach(module, FILLERS) as model:
            assert model.sites and model(hf_batch()).logits.shape == (4, 2)
        return
    with pytest.raises(HeedfulError, match=refusal) as caught, attach(module, FILLERS):
        pass
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300
