"""Removal: every operator against one text at a time, and what chunks must not change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from counting import Counting
from heedful.errors import HeedfulError
from heedful.models import class_logits, logit, probability
from heedful.perturbations import (
    REMOVALS,
    Memory,
    WordRemoval,
    chunked,
    distinct,
    removed,
    removed_many,
)
from heedful.types import Batch, Target
from heedful.words import word_mask
from reference.removal import logits_without
from tiny import tiny_batch, tiny_model
from word_batches import grouped, random_sets

OPERATORS = [name for name in REMOVALS if name != "infill"]  # in test_targets_infill
ENCODERS = ["bilstm", "cnn", "average"]


def expected(model: Any, batch: Batch, gone: Tensor, how: str) -> Tensor:
    def logits(example: int, words: Tensor) -> Tensor:
        return logits_without(model, batch, example, set(words.nonzero().flatten().tolist()), how)

    rows = [logits(example, words) for example, sets in enumerate(gone) for words in sets]
    return torch.stack(rows).reshape(*gone.shape[:2], -1)


@pytest.mark.parametrize("words", [True, False])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("how", OPERATORS)
def test_every_operator_equals_one_text_at_a_time(
    how: str, encoder: str, classes: int, words: bool
) -> None:
    model = tiny_model(encoder, classes=classes, double=True)
    batch = grouped(pad=2) if words else tiny_batch((6, 1, 9, 3), pad=2)
    gone = random_sets(batch, 5, word_mask(batch.texts["a"]).shape[1])
    ours = removed_many(model, batch, gone, how)
    assert ours.dtype == torch.float64 and not ours.requires_grad
    theirs = expected(model, batch, gone, how)
    torch.testing.assert_close(ours, theirs, atol=1e-10, rtol=0)
    torch.testing.assert_close(removed(model, batch, gone[:, 2], how), theirs[:, 2])


@pytest.mark.parametrize("how", OPERATORS)
def test_operators_do_different_things(how: str) -> None:
    """Two operators that agree would be one; a mask is the unknown word where there is none."""
    model, batch = tiny_model(double=True), grouped()
    gone = random_sets(batch, 4, word_mask(batch.texts["a"]).shape[1])
    for other in set(OPERATORS) - {how}:
        same = torch.allclose(
            removed_many(model, batch, gone, how)[:, 1:3],
            removed_many(model, batch, gone, other)[:, 1:3],
        )
        assert same == ({how, other} == {"mask", "unk"})


@pytest.mark.parametrize("how", OPERATORS)
def test_nothing_gone_is_the_model_itself(how: str, ragged: Batch) -> None:
    model = tiny_model(double=True)
    nothing = torch.zeros_like(word_mask(ragged.texts["a"]))
    with torch.no_grad():
        torch.testing.assert_close(removed(model, ragged, nothing, how), model(ragged).logits)


@pytest.mark.parametrize("how", ["delete", "attention"])
def test_without_any_word_the_decoders_bias_is_left(how: str, ragged: Batch) -> None:
    model = tiny_model(double=True)
    everything = torch.ones_like(word_mask(ragged.texts["a"]))
    logits = removed(model, ragged, everything, how)
    assert torch.equal(logits, model.decoder.bias.detach().expand_as(logits))


@settings(max_examples=12)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=4),
    st.integers(0, 4),
    st.integers(1, 60),
    st.sampled_from(OPERATORS),
)
def test_batches_padding_and_chunks_change_nothing(
    lengths: list[int], pad: int, tokens_at_once: int, how: str
) -> None:
    model, batch = tiny_model(double=True), grouped(tuple(lengths))
    width = word_mask(batch.texts["a"]).shape[1]
    gone = random_sets(batch, 4, width)
    whole = removed_many(model, batch, gone, how)
    padded = removed_many(model, grouped(tuple(lengths), pad), gone, how, tokens_at_once)
    torch.testing.assert_close(padded, whole, atol=1e-8, rtol=0)
    alone = removed_many(model, batch.take(torch.tensor([0])), gone[:1], how)
    torch.testing.assert_close(alone, whole[:1], atol=1e-8, rtol=0)


@pytest.mark.parametrize("how", OPERATORS)
def test_single_precision_is_near(how: str) -> None:
    model, batch = tiny_model(), grouped((9, 2, 5, 7), pad=3)
    gone = random_sets(batch, 6, word_mask(batch.texts["a"]).shape[1])
    whole = removed_many(model, batch, gone, how)
    small = removed_many(model, batch, gone, how, tokens_at_once=11)
    torch.testing.assert_close(small, whole, rtol=1e-4, atol=1e-6)


def test_equal_sets_are_computed_once() -> None:
    batch = tiny_batch((4, 4))
    gone = torch.zeros(2, 6, 4, dtype=torch.bool)
    gone[:, 1, 0] = gone[:, 2, 0] = gone[:, 5, 3] = True
    counting = Counting(tiny_model(double=True))
    logits = removed_many(counting, batch, gone)
    assert counting.rows == 6
    assert torch.equal(logits[:, 1], logits[:, 2]) and torch.equal(logits[:, 0], logits[:, 4])
    assert not torch.equal(logits[:, 0], logits[:, 1])


@pytest.mark.parametrize("how", ["delete", "mask"])
def test_what_is_remembered_is_not_asked_again(how: str) -> None:
    batch = grouped()
    sets = random_sets(batch, 9, 7)
    model = tiny_model(double=True)
    counting, memory = Counting(model), Memory()
    first = removed_many(counting, batch, sets[:, :6], how, memory=memory)
    asked = counting.rows
    assert asked == len(memory)
    assert torch.equal(first, removed_many(counting, batch, sets[:, :6], how, memory=memory))
    assert counting.rows == asked
    later = removed_many(counting, batch, sets[:, 3:].flip(1), how, memory=memory)
    assert asked < counting.rows == len(memory) == len(distinct(sets & there(batch)).example)
    assert torch.equal(later.flip(1)[:, :3], first[:, 3:])
    plain = removed_many(model, batch, sets[:, 3:].flip(1), how)
    torch.testing.assert_close(later, plain, atol=1e-10, rtol=0)


@pytest.mark.parametrize("classes", [2, 3, 40])
@pytest.mark.parametrize("target", [probability, logit])
def test_answers_are_read_from_the_logits(target: Target, classes: int) -> None:
    """Rows go through the model in another order than they were asked for."""
    model, batch = tiny_model(double=True, classes=classes), grouped((9, 2, 5, 7))
    label = torch.tensor([1, 0, classes - 1, 1])
    gone = random_sets(batch, 6, word_mask(batch.texts["a"]).shape[1])
    found = WordRemoval(model, batch, label, "delete", target).answers(gone)
    logits = removed_many(model, batch, gone, "delete")
    assert torch.equal(found.decision, class_logits(logits).argmax(-1))
    for m in range(6):
        wanted = target(logits[:, m], label)
        torch.testing.assert_close(found.value[:, m], wanted, atol=1e-10, rtol=0)


def test_a_memory_does_not_grow_with_the_classes() -> None:
    """A language model has as many as it knows words."""
    batch, label = grouped(), torch.zeros(len(grouped())).long()
    gone = random_sets(batch, 9, 7)
    held = []
    for classes in (2, 3, 500):
        model, memory = tiny_model(classes=classes), Memory()
        WordRemoval(model, batch, label, "mask", memory=memory).answers(gone)
        assert len(memory) == len(distinct(gone & there(batch)).example)
        held.append(memory.numbers / len(memory))
    assert held == [2, 2, 2]  # the quantity and the decision


def test_what_is_read_is_read_chunk_by_chunk() -> None:
    """So that no more than a chunk of whole logits is ever there."""
    model, batch, seen = tiny_model(double=True, classes=3), tiny_batch((8, 8)), list[Any]()

    def read(logits: Tensor, example: Tensor) -> Tensor:
        seen.append((tuple(logits.shape), len(example)))
        return example[:, None].double()

    gone = torch.stack([torch.arange(8) < k for k in range(9)]).expand(2, 9, 8)
    found = removed_many(model, batch, gone, "mask", tokens_at_once=20, read=read)
    assert seen == [((2, 3), 2)] * 9
    assert torch.equal(found[..., 0], torch.tensor([0.0, 1.0]).double()[:, None].expand(2, 9))


def there(batch: Batch) -> Tensor:
    return word_mask(batch.texts["a"])[:, None]


def test_words_that_are_not_there_are_not_removed() -> None:
    """So sets that differ only in them are equal; word 1 of the first text has no token."""
    batch = grouped()
    there = word_mask(batch.texts["a"])
    assert not there[0, 1]
    counting = Counting(tiny_model(double=True))
    gone = torch.stack([torch.zeros_like(there), ~there], 1)
    logits = removed_many(counting, batch, gone)
    assert counting.rows == len(batch) and torch.equal(logits[:, 0], logits[:, 1])


def test_chunks_hold_as_many_tokens_as_they_may_and_shorter_texts_sit_together() -> None:
    counting = Counting(tiny_model(double=True))
    batch = tiny_batch((8, 8))
    gone = torch.stack([torch.arange(8) < k for k in range(9)]).expand(2, 9, 8)
    removed_many(counting, batch, gone, "delete", tokens_at_once=20)
    assert all(rows * width <= 20 for rows, width in counting.shapes)
    assert {(2, 10), (4, 5)} <= set(counting.shapes)
    unshortened = Counting(tiny_model(double=True))
    removed_many(unshortened, batch, gone, "mask", tokens_at_once=20)
    assert set(unshortened.shapes) == {(2, 10)}


def test_memory_that_is_too_small_makes_chunks_smaller() -> None:
    model, batch = tiny_model(double=True), tiny_batch((9, 5, 7, 8))
    gone = random_sets(batch, 8, 9)
    counting = Counting(model, room=30)
    logits = removed_many(counting, batch, gone)
    torch.testing.assert_close(logits, removed_many(model, batch, gone), atol=1e-10, rtol=0)
    assert 0 < counting.refused < 8  # what has been found out once is not tried again
    with pytest.raises(HeedfulError, match="a single text does not fit into memory"):
        removed_many(Counting(model, room=5), batch, gone)


def test_chunks_cover_every_row_once_longest_first() -> None:
    lengths = torch.tensor([3, 9, 1, 4, 9, 0])
    found = list(chunked(lambda rows: lengths[rows].tolist(), lengths, 10))
    assert [sizes for _, sizes in found] == [[9], [9], [4, 3], [1, 0]]
    assert torch.cat([rows for rows, _ in found]).sort().values.tolist() == list(range(6))
    with pytest.raises(HeedfulError, match="choose 1 or more"):
        list(chunked(len, lengths, 0))


@given(st.integers(1, 3), st.integers(1, 9), st.integers(0, 20), st.integers(0, 99))
def test_distinct_rows_give_all_rows_back(b: int, m: int, w: int, seed: int) -> None:
    gone = torch.rand(b, m, w, generator=torch.Generator().manual_seed(seed)) < 0.1
    parts = distinct(gone)
    assert torch.equal(parts.gone[parts.inverse], gone)
    assert torch.equal(parts.example[parts.inverse], torch.arange(b)[:, None].expand(b, m))
    rows = {(int(i), tuple(row.tolist())) for i, row in zip(parts.example, parts.gone, strict=True)}
    assert len(rows) == len(parts.example)


def test_an_output_that_is_no_number_is_named() -> None:
    model, batch = tiny_model(), tiny_batch((4, 3))
    with torch.no_grad():
        model.embedding.weight[int(batch.texts["a"].tokens[1, 1])] = float("nan")
    gone = torch.zeros(2, 1, 4, dtype=torch.bool)
    with pytest.raises(HeedfulError, match="text-1"):
        removed_many(model, batch, gone)


def test_what_is_hidden_already_stays_hidden(ragged: Batch) -> None:
    model, text = tiny_model(double=True), ragged.texts["a"]
    there = word_mask(text)
    first, rest = torch.zeros_like(there), there.clone()
    first[:, 0], rest[:, 0] = True, False
    hidden = torch.zeros_like(text.mask)
    hidden[:, 1] = True  # the first word
    half = replace(ragged, texts={"a": replace(text, hidden=hidden)})
    assert torch.equal(
        removed(model, half, rest, "attention"), removed(model, ragged, there, "attention")
    )


def test_bad_marks_and_names_are_refused(ragged: Batch) -> None:
    model, there = tiny_model(), word_mask(ragged.texts["a"])
    with pytest.raises(HeedfulError, match="unknown removal operator 'blur'"):
        removed(model, ragged, there, "blur")
    with pytest.raises(HeedfulError, match="one mark for each"):
        removed(model, ragged, there[:, :3])
    with pytest.raises(HeedfulError, match="at least one set"):
        removed_many(model, ragged, there[:, None][:, :0])


def test_a_model_without_fillers_says_so(ragged: Batch) -> None:
    bare = Counting(tiny_model())
    bare.fillers = {}
    with pytest.raises(HeedfulError, match="no 'mask' token"):
        removed(bare, ragged, word_mask(ragged.texts["a"]), "mask")
