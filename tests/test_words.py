"""Words: sums over tokens, and the way back."""

from __future__ import annotations

from dataclasses import replace

import torch

from heedful.types import Text
from heedful.words import to_tokens, to_words, without_tokens, word_mask, word_numbers


def pieces() -> Text:
    """[CLS] un ##like ##ly . [SEP], and a text of one word; word 1 of the first has no token."""
    return Text(
        tokens=torch.tensor([[1, 5, 6, 7, 8, 2], [1, 9, 2, 0, 0, 0]]),
        lengths=torch.tensor([6, 3]),
        mask=torch.tensor([[0, 1, 1, 1, 1, 0], [0, 1, 0, 0, 0, 0]]).bool(),
        words=torch.tensor([[-1, 0, 0, 0, 2, -1], [-1, 0, -1, -1, -1, -1]]),
    )


def test_scores_of_a_words_tokens_add_up_and_special_tokens_are_left_out() -> None:
    scores = torch.tensor([[100.0, 1, 2, 4, 8, 100], [100, 16, 100, 100, 100, 100]])
    assert to_words(scores, pieces()).tolist() == [[7, 0, 8], [16, 0, 0]]


def test_words_without_a_token_are_not_there() -> None:
    assert word_mask(pieces()).tolist() == [[True, False, True], [True, False, False]]


def test_what_is_done_to_a_word_is_done_to_all_its_tokens() -> None:
    chosen = torch.tensor([[True, True, False], [True, True, True]])
    expected = [[0, 1, 1, 1, 0, 0], [0, 1, 0, 0, 0, 0]]
    assert to_tokens(chosen, pieces()).int().tolist() == expected


def test_without_numbers_each_token_is_a_word() -> None:
    text = replace(pieces(), words=None)
    assert word_numbers(text).tolist() == [[-1, 0, 1, 2, 3, -1], [-1, 0, -1, -1, -1, -1]]
    assert word_mask(text).sum().item() == 5


def test_rows_are_taken_with_the_padding_they_need() -> None:
    taken = pieces().take(torch.tensor([1, 1]))
    assert taken.tokens.tolist() == [[1, 9, 2], [1, 9, 2]]
    assert taken.words is not None and taken.words.shape == (2, 3) and taken.hidden is None


def test_what_is_deleted_leaves_no_gap() -> None:
    gone = to_tokens(torch.tensor([[True, False, False], [False, False, False]]), pieces())
    shorter = without_tokens(pieces(), gone)
    assert shorter.tokens.tolist() == [[1, 8, 2], [1, 9, 2]]
    assert shorter.lengths.tolist() == [3, 3]
    assert shorter.mask.int().tolist() == [[0, 1, 0], [0, 1, 0]]
    assert shorter.words is not None
    assert shorter.words.tolist() == [[-1, 2, -1], [-1, 0, -1]]


def test_texts_of_unlike_length_are_padded_again() -> None:
    gone = torch.zeros(2, 6, dtype=torch.bool)
    gone[1, 1] = True
    shorter = without_tokens(pieces(), gone)
    assert shorter.tokens.tolist() == [[1, 5, 6, 7, 8, 2], [1, 2, 0, 0, 0, 0]]
    assert not shorter.mask[1].any()
