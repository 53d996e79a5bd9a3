"""SmoothGrad: its noise, its average, and what it is without noise."""

from __future__ import annotations

import pytest
import torch

from heedful.attributions import gradient, smoothgrad
from heedful.errors import HeedfulError
from heedful.models import TARGETS
from heedful.randomness import example_keys, keyed_normal
from heedful.types import Batch
from tiny import tiny_batch, tiny_model


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("target", TARGETS)
def test_without_noise_it_is_the_gradient(target: str, norm: int, ragged: Batch) -> None:
    model, explained = tiny_model(double=True), TARGETS[target]
    smooth = smoothgrad(model, ragged, ragged.labels, explained, samples=3, noise=0.0, norm=norm)
    expected = gradient(model, ragged, ragged.labels, explained, norm=norm)
    torch.testing.assert_close(smooth, expected, atol=1e-12, rtol=0)


def test_scores_equal_a_plain_average() -> None:
    """One text, one noisy copy after the other."""
    model, batch, samples = tiny_model(double=True), tiny_batch((4,)), 5
    embedded, mask = model.embed(batch)["a"], batch.texts["a"].mask
    inside = embedded[mask]
    width = 0.3 * float(inside.max() - inside.min())
    total = torch.zeros_like(embedded)
    for draw in range(samples):
        noise = keyed_normal(example_keys(7, batch.ids, "smoothgrad", draw), embedded.shape[1:])
        x = (embedded + width * noise * mask[..., None]).requires_grad_()
        value = TARGETS["probability"](model(batch, embeddings={"a": x}).logits, batch.labels)
        total += torch.autograd.grad(value.sum(), x)[0]
    expected = (total / samples).norm(dim=-1) * mask
    ours = smoothgrad(model, batch, batch.labels, samples=samples, noise=0.3, seed=7)
    torch.testing.assert_close(ours, expected, atol=1e-12, rtol=0)


def test_seeds_differ_and_repeat(ragged: Batch) -> None:
    model = tiny_model(double=True)
    first, again, other = (
        smoothgrad(model, ragged, ragged.labels, seed=seed, samples=4) for seed in (0, 0, 1)
    )
    assert torch.equal(first, again) and not torch.allclose(first, other)
    assert not first[~ragged.texts["a"].mask].any()


@pytest.mark.parametrize("bad", [{"samples": 0}, {"noise": -0.1}, {"norm": 3}])
def test_bad_settings_are_refused(bad: dict[str, float], ragged: Batch) -> None:
    with pytest.raises(HeedfulError, match="smoothgrad wants"):
        smoothgrad(tiny_model(), ragged, ragged.labels, **bad)
