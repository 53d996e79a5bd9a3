"""Linear maps by oneDNN: the numbers and the slopes of `F.linear`, and nothing is left behind."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from heedful.models import attach, fast_linear, linear
from heedful.models.hf import linear as fast
from tiny_hf import FILLERS, hf_batch, tiny_hf


class Calls(TorchFunctionMode):
    """Counts calls of `F.linear`."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += func is F.linear
        return func(*args, **(kwargs or {}))


@pytest.fixture
def products(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The shapes that oneDNN is given."""
    seen: list[tuple[int, ...]] = []
    inner = fast._product

    def product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        seen.append(tuple(x.shape))
        return inner(x, weight, bias)

    monkeypatch.setattr(fast, "_product", product)
    return seen


needs_both = pytest.mark.skipif(not fast._has_both(), reason="PyTorch without MKL or oneDNN")


@given(
    shape=st.lists(st.integers(1, 9), min_size=1, max_size=3),
    sizes=st.tuples(st.integers(1, 12), st.integers(1, 12)),
    biased=st.booleans(),
    turned=st.booleans(),
    seed=st.integers(0, 99),
)
def test_numbers_and_slopes_are_those_of_torch(
    shape: list[int], sizes: tuple[int, int], biased: bool, turned: bool, seed: int
) -> None:
    draw = torch.Generator().manual_seed(seed)
    x = torch.randn(*shape, sizes[0], generator=draw)
    if turned and len(shape) > 1:  # not side by side in memory
        x = x.transpose(0, 1)
    weight = torch.randn(sizes[1], sizes[0], generator=draw)
    bias = torch.randn(sizes[1], generator=draw) if biased else None
    x.requires_grad_()
    own, expected = linear(x, weight, bias), F.linear(x, weight, bias)
    torch.testing.assert_close(own, expected, rtol=1e-4, atol=1e-5)
    slopes = [torch.autograd.grad(each.sin().sum(), x)[0] for each in (own, expected)]
    torch.testing.assert_close(*slopes, rtol=1e-4, atol=1e-5)


@needs_both
def test_many_rows_of_single_precision_go_to_onednn(
    products: list[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    x, weight = torch.randn(80, 6), torch.randn(3, 6)
    linear(x, weight)
    assert products == [(80, 6)]
    x.requires_grad_()
    torch.autograd.grad(linear(x, weight).sum(), x)
    assert products == [(80, 6), (80, 6), (80, 3)]  # the slopes too
    for rows, dtype in ((8, torch.float32), (80, torch.float64), (80, torch.bfloat16)):
        linear(torch.randn(rows, 6, dtype=dtype), weight.to(dtype))
    monkeypatch.setattr(torch.backends.mkldnn, "enabled", False)
    linear(x, weight)
    assert len(products) == 3


def test_weights_that_learn_have_their_gradient(products: list[tuple[int, ...]]) -> None:
    layer, x = nn.Linear(6, 3), torch.randn(80, 6)
    linear(x, layer.weight, layer.bias).sum().backward()
    assert layer.weight.grad is not None and layer.bias.grad is not None
    assert not products


def test_a_mode_sees_the_maps_of_torch() -> None:
    """LRP and DecompX know a linear layer by it."""
    with Calls() as calls:
        linear(torch.randn(80, 6), torch.randn(3, 6))
    assert calls.count == 1


@needs_both
@torch.no_grad()
def test_a_model_says_the_same_and_is_given_back(
    products: list[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    module, batch = tiny_hf("Bert"), hf_batch((9, 7, 8))
    before = [dict(vars(part)) for part in module.modules()]
    with attach(module, FILLERS) as model, fast_linear(module):
        assert not any(each.requires_grad for each in module.parameters())
        found = model.logits(batch)
        assert len(products) == 12  # two layers of six maps
        copy = deepcopy(model).double()  # its layers map by its own weights
        assert copy.logits(batch).dtype == torch.float64
        monkeypatch.setattr(torch.backends.mkldnn, "enabled", False)
        expected = model.logits(batch)
        assert len(products) == 12
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    assert all(each.requires_grad for each in module.parameters())
    after = [vars(part).keys() for part in module.modules()]
    assert after == [each.keys() for each in before]


@needs_both
def test_the_turned_weights_of_gpt2_are_known(products: list[tuple[int, ...]]) -> None:
    from transformers.pytorch_utils import Conv1D

    torch.manual_seed(0)
    layer, x = Conv1D(12, 8), torch.randn(4, 20, 8, requires_grad=True)
    plain = layer(x)
    plain.square().sum().backward()
    slopes, x.grad = x.grad, None
    with fast_linear(nn.Sequential(layer)):
        mapped = layer(x)
        mapped.square().sum().backward()
        layer(x[:1])  # too few rows
    torch.testing.assert_close(mapped, plain)
    torch.testing.assert_close(x.grad, slopes)
    assert products == [(4, 20, 8), (4, 20, 12)]
