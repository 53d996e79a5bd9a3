"""Where a prediction is read: found by a gradient, and once where it can be read nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from heedful.models import attach
from heedful.models.hf import model as model_module
from heedful.types import Batch, Keep
from tiny_hf import FILLERS, hf_batch, text_of, tiny_hf

ASKED = Keep(readout_weights=True)


@pytest.fixture
def gradients(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many texts each gradient was of."""
    seen, inner = list[int](), model_module.readout_weights

    def counted(logits: Tensor, *rest: Any) -> Any:
        seen.append(len(logits))
        return inner(logits, *rest)

    monkeypatch.setattr(model_module, "readout_weights", counted)
    yield seen


@pytest.mark.parametrize("padding", ["right", "left"])
def test_a_decoder_is_asked_once(gradients: list[int], padding: str) -> None:
    """Then the rows are known, of other batches and lengths, too."""
    module = tiny_hf("GPT2", "language")
    with attach(module, FILLERS, padding=padding) as model:
        model(hf_batch([4, 7]), keep=ASKED)
        found = model(hf_batch([3, 9, 5]), keep=ASKED)
    assert gradients == [2]
    with attach(module, FILLERS, padding=padding) as model:
        fresh = model(hf_batch([3, 9, 5]), keep=ASKED)
    assert gradients == [2, 3] and fresh.readout_weights.keys() == found.readout_weights.keys()
    for name, own in fresh.readout_weights.items():
        assert torch.equal(own, found.readout_weights[name]) and own.dtype == torch.float32
        assert own.argmax(-1).tolist() == [4, 10, 6] and own.sum(-1).tolist() == [1, 1, 1]
    torch.testing.assert_close(fresh.logits, found.logits)


def test_a_text_of_one_token_says_nothing(gradients: list[int]) -> None:
    with attach(tiny_hf("GPT2", "language"), FILLERS) as model:
        one = Batch(("one",), {"a": text_of([[7]])}, torch.zeros(1, dtype=torch.long))
        for batch in (one, one, hf_batch((2, 3)), one):
            model(batch, keep=ASKED)
    assert gradients == [1, 1, 2]


def test_a_classifier_is_asked_every_time(gradients: list[int]) -> None:
    """Its head is its own, and may read anything."""
    with attach(tiny_hf(), FILLERS) as model:
        for lengths in ([4, 7], [3, 5]):
            model(hf_batch(lengths), keep=ASKED)
    assert gradients == [2, 2]
