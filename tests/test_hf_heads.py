"""What the logits of an attached model are."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from heedful.errors import HeedfulError
from heedful.models import (
    attach,
    classes,
    default_head,
    label_words,
    one_label,
    one_token,
    probabilities,
    regression,
)
from heedful.models.hf.inputs import Inputs, Side
from tiny_hf import FILLERS, hf_batch, tiny_hf

REAL = torch.tensor([[True, True], [True, False]])
LAST = Inputs({}, {"a": Side(REAL, REAL)})


def output(*shape: int) -> SimpleNamespace:
    logits = torch.arange(float(torch.tensor(shape).prod())).reshape(shape)
    return SimpleNamespace(logits=logits)


def test_each_head_by_hand() -> None:
    assert classes(output(2, 3), LAST).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert one_label(1)(output(2, 3), LAST).tolist() == [[1], [4]]
    assert regression(1.0, 2.0)(output(2, 1), LAST).tolist() == [[-0.5], [0.0]]
    assert one_token(output(2, 2, 3), LAST).tolist() == [[3, 4, 5], [6, 7, 8]]
    assert label_words([2, 0])(output(2, 2, 3), LAST).tolist() == [[5, 3], [8, 6]]


def test_a_number_at_the_centre_is_a_half() -> None:
    squashed = probabilities(
        regression(3.0, 2.0)(SimpleNamespace(logits=torch.tensor([[3.0]])), LAST)
    )
    assert squashed.tolist() == [[0.5, 0.5]]


def test_heads_refuse_what_makes_no_sense() -> None:
    with pytest.raises(HeedfulError, match="above 0"):
        regression(0.0, 0.0)
    with pytest.raises(HeedfulError, match="two different tokens"):
        label_words([3, 3])


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        ("regression", r"head=regression\(centre, scale\)"),
        ("multi_label_classification", "one_label"),
    ],
)
def test_problems_that_need_a_choice_say_so(problem: str, message: str) -> None:
    module = tiny_hf("Bert", classes=3, problem_type=problem)
    with pytest.raises(HeedfulError, match=message), attach(module, FILLERS):
        pass
    with attach(module, FILLERS, head=one_label(2)) as model:
        batch = hf_batch()
        assert torch.equal(model(batch).logits[:, 0], _logits(module)[:, 2])


def _logits(module: torch.nn.Module) -> torch.Tensor:
    with attach(module, FILLERS, head=classes) as model:
        return model(hf_batch()).logits


def test_one_output_is_one_logit() -> None:
    with attach(tiny_hf("Bert", classes=1), FILLERS) as model:
        assert model(hf_batch()).logits.shape == (4, 1)


def test_default_heads() -> None:
    bert, gpt2, masked = tiny_hf("Bert"), tiny_hf("GPT2", "language"), tiny_hf("Bert", "language")
    assert default_head(bert, output(2, 3)) is classes
    assert default_head(gpt2, output(2, 2, 3)) is one_token
    with pytest.raises(HeedfulError, match="BertForMaskedLM predicts is not clear"):
        default_head(masked, output(2, 2, 3))
    with pytest.raises(HeedfulError, match="a head of your own"):
        default_head(bert, SimpleNamespace(start_logits=None))


def test_label_words_are_some_of_the_next_tokens() -> None:
    module, batch = tiny_hf("GPT2", "language"), hf_batch()
    with attach(module, FILLERS) as model:
        every = model(batch).logits
    with attach(module, FILLERS, head=label_words([9, 7])) as model:
        assert torch.equal(model(batch).logits, every[:, [9, 7]])
