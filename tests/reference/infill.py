"""A text with other words in some places, one text and one word at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch


def infilled(
    masked: Any,
    tokenizer: Any,
    words: Sequence[str],
    shared: Mapping[str, int],
    draws: Mapping[int, float],
) -> dict[int, str]:
    """The new word in each place that has a draw. `shared` has the masked language model's token
    of each word that may be drawn; each place is one mask, and the draw is where a line of the
    words' chances, one after the other, is cut."""
    ids = [tokenizer.cls_token_id]
    places = {}
    for number, word in enumerate(words):
        if number in draws:
            places[number] = len(ids)
            ids.append(tokenizer.mask_token_id)
        else:
            ids += tokenizer.encode(word, add_special_tokens=False)
    ids.append(tokenizer.sep_token_id)
    with torch.no_grad():
        logits = masked(input_ids=torch.tensor([ids])).logits[0].double()
    found = {}
    for number, place in places.items():
        scores = {word: logits[place, token].exp().item() for word, token in shared.items()}
        left = draws[number] * sum(scores.values())
        for word, score in scores.items():
            left -= score
            if left <= 0:
                found[number] = word
                break
    return found
