"""Slow restatements: how probable an answer is to a model that writes, token by token."""

from __future__ import annotations

import math
from typing import Any

import torch


@torch.no_grad()
def log_probabilities(module: Any, text: list[int], answer: list[int]) -> list[float]:
    """Of a language model: log p(token | all before it), each by a pass of its own."""
    found = []
    for n, token in enumerate(answer):
        logits = module(input_ids=torch.tensor([text + answer[:n]])).logits[0, -1].double()
        found.append(float(torch.log_softmax(logits, -1)[token]))
    return found


@torch.no_grad()
def written_log_probabilities(
    module: Any, text: list[int], start: list[int], answer: list[int]
) -> list[float]:
    """The same of an encoder-decoder."""
    found = []
    for n, token in enumerate(answer):
        decoder = torch.tensor([start + answer[:n]])
        output = module(input_ids=torch.tensor([text]), decoder_input_ids=decoder)
        found.append(float(torch.log_softmax(output.logits[0, -1].double(), -1)[token]))
    return found


def odds(log_p: list[float], score: str = "mean") -> float:
    """log p / (1 − p), with p the geometric mean of the probabilities, or their product."""
    p = math.exp(sum(log_p) / (len(log_p) if score == "mean" else 1))
    return math.log(p / (1 - p))


def teacher_forced(logits: list[list[float]], answer: list[int]) -> list[float]:
    """Of the logits after each token of a target, whose last ones the answer's tokens follow."""
    rows = logits[len(logits) - len(answer) :]
    return [
        row[token] - math.log(sum(math.exp(x) for x in row))
        for row, token in zip(rows, answer, strict=True)
    ]
