"""What becomes of the context: the query is seen once more, or is not."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.types import TokenLogits


class PairDecoder(nn.Module, ABC):
    @property
    @abstractmethod
    def linear(self) -> bool:
        """Whether logits are linear in the context."""

    @abstractmethod
    def forward(
        self, context: Float[Tensor, "b d"], query: Float[Tensor, "b d"]
    ) -> Float[Tensor, "b c"]: ...

    @abstractmethod
    def token_logits(self, states: Float[Tensor, "b t d"]) -> TokenLogits | None:
        """For a linear decoder."""


class ContextDecoder(PairDecoder):
    """W c + b: the second text reaches the prediction through attention alone
    (vashishth2019)."""

    def __init__(self, size: int, outputs: int) -> None:
        super().__init__()
        self.final = nn.Linear(size, outputs)

    @property
    def linear(self) -> bool:
        return True

    def forward(
        self, context: Float[Tensor, "b d"], query: Float[Tensor, "b d"]
    ) -> Float[Tensor, "b c"]:
        logits: Tensor = self.final(context)
        return logits

    def token_logits(self, states: Float[Tensor, "b t d"]) -> TokenLogits:
        # a copy: the parameter itself would bring gradients into a trace made without them
        values = nn.functional.linear(states, self.final.weight)
        return TokenLogits(values, self.final.bias.clone())


class QueryDecoder(PairDecoder):
    """W₂ · tanh(W_p c + W_q q): jain2019's for questions, and Rocktäschel et al. 2016."""

    def __init__(self, size: int, outputs: int) -> None:
        super().__init__()
        self.project = nn.Linear(size, size // 2)
        self.project_query = nn.Linear(size, size // 2, bias=False)
        self.final = nn.Linear(size // 2, outputs)

    @property
    def linear(self) -> bool:
        return False

    def forward(
        self, context: Float[Tensor, "b d"], query: Float[Tensor, "b d"]
    ) -> Float[Tensor, "b c"]:
        hidden = torch.tanh(self.project(context) + self.project_query(query))
        logits: Tensor = self.final(hidden)
        return logits

    def token_logits(self, states: Float[Tensor, "b t d"]) -> None:
        return None


DECODERS: dict[str, type[ContextDecoder] | type[QueryDecoder]] = {
    "context": ContextDecoder,
    "query": QueryDecoder,
}
