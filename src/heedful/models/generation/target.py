"""The words a model writes: their embeddings, and the output layer made of them."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn

from heedful.models.parts import make_embedding


class TargetWords(nn.Module):
    """Where a decoder's state is as wide as an embedding, the embeddings are the output
    layer's weights too. They start at length about 1, so that first logits are small."""

    def __init__(self, vectors: Float[Tensor, "v e"], size: int, trained: bool = True) -> None:
        super().__init__()
        words, width = vectors.shape
        self.embedding = make_embedding(vectors / width**0.5, trained)
        self.output = None if size == width else nn.Linear(size, words, bias=False)
        self.bias = nn.Parameter(vectors.new_zeros(words))

    def logits(self, states: Float[Tensor, "*b d"]) -> Float[Tensor, "*b v"]:
        weight = self.embedding.weight if self.output is None else self.output.weight
        return nn.functional.linear(states, weight, self.bias)
