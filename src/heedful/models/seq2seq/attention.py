"""How a decoder's state asks and the encoder's states answer: one score per source token."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Asking(nn.Module, ABC):
    """What depends on the sources alone (`keys`) is computed once for all steps."""

    @abstractmethod
    def keys(self, states: Float[Tensor, "b k d"]) -> Float[Tensor, "b k d"]: ...

    @abstractmethod
    def scores(
        self, query: Float[Tensor, "b d"], keys: Float[Tensor, "b k d"]
    ) -> Float[Tensor, "b k"]: ...


class AdditiveAsking(Asking):
    """v · tanh(W h + U s + b) (Bahdanau et al. 2015)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.key = nn.Linear(size, size)
        self.query = nn.Linear(size, size, bias=False)
        self.score = nn.Linear(size, 1, bias=False)

    def keys(self, states: Float[Tensor, "b k d"]) -> Float[Tensor, "b k d"]:
        keys: Tensor = self.key(states)
        return keys

    def scores(
        self, query: Float[Tensor, "b d"], keys: Float[Tensor, "b k d"]
    ) -> Float[Tensor, "b k"]:
        return torch.tanh(keys + self.query(query)[:, None]) @ self.score.weight[0]


class DotAsking(Asking):
    """s · h (Luong et al. 2015)."""

    def keys(self, states: Float[Tensor, "b k d"]) -> Float[Tensor, "b k d"]:
        return states

    def scores(
        self, query: Float[Tensor, "b d"], keys: Float[Tensor, "b k d"]
    ) -> Float[Tensor, "b k"]:
        return torch.einsum("bd,bkd->bk", query, keys)


class GeneralAsking(DotAsking):
    """s · W h (Luong et al. 2015)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.key = nn.Linear(size, size, bias=False)

    def keys(self, states: Float[Tensor, "b k d"]) -> Float[Tensor, "b k d"]:
        keys: Tensor = self.key(states)
        return keys


def make_asking(name: str, size: int) -> Asking:
    if name == "additive":
        return AdditiveAsking(size)
    return DotAsking() if name == "dot" else GeneralAsking(size)


ASKINGS = ("additive", "dot", "general")
