"""Convolutions of several widths side by side, ReLU."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.entries import Entries, ModelPart
from heedful.errors import HeedfulError
from heedful.models.encoders import Changed, Deletions, Encoder, Encoding, Readout, without_padding

ENTRIES = Entries(ModelPart)


class Convolutions(Encoder):
    """`size` channels, equally many of each kernel; kernels are odd."""

    def __init__(self, embedding: int, layers: int, size: int, kernels: tuple[int, ...]) -> None:
        super().__init__()
        if size % len(kernels):
            raise HeedfulError(
                f"--hidden is {size}: give a multiple of the {len(kernels)} kernels."
            )
        self.size, self.kernels = size, len(kernels)
        self.stack: list[ConvolutionLayer] = nn.ModuleList(  # type: ignore[assignment]
            ConvolutionLayer(embedding if depth == 0 else size, size, kernels)
            for depth in range(layers)
        )

    def forward(self, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"]) -> Encoding:
        states = x
        for layer in self.stack:
            states = layer(without_padding(states, lengths))
        return Encoding(states, x)

    def deletions(
        self, encoding: Encoding, lengths: Int[Tensor, " b"], readout: Readout
    ) -> Deletions:
        """Only windows that covered the token change.

        The first layer's products of kernel column and embedding are computed once; a window
        then is a sum of looked-up rows. Further layers run on the window alone.
        """
        first, *later = self.stack
        columns = first.columns(without_padding(encoding.x, lengths))
        reach = first.reach * len(self.stack)

        def changed(examples: Tensor, positions: Tensor) -> Iterator[Changed]:
            inner = _around(positions, lengths[examples], reach)
            outer = _around(positions, lengths[examples], 2 * reach)
            states = first.join(columns, examples, outer)
            for layer in later:
                states = layer(states * (outer >= 0)[..., None])
            readouts = readout(states[:, reach : states.shape[1] - reach])
            rows = torch.arange(len(positions), device=positions.device)
            yield Changed(rows, inner.t(), readouts.transpose(0, 1))

        return Deletions(readout(encoding.states), changed, width=4 * reach)

    def hidden_for(self, width: int) -> int | None:
        """Equally many channels of each kernel."""
        return None if width % self.kernels else width


class ConvolutionLayer(nn.Module):
    """Parallel convolutions whose outputs are concatenated."""

    def __init__(self, inputs: int, outputs: int, kernels: tuple[int, ...]) -> None:
        super().__init__()
        self.reach = max(kernels) // 2
        self.convolutions: list[nn.Conv1d] = nn.ModuleList(  # type: ignore[assignment]
            nn.Conv1d(inputs, outputs // len(kernels), kernel, padding=kernel // 2)
            for kernel in kernels
        )

    def forward(self, x: Float[Tensor, "b t e"]) -> Float[Tensor, "b t d"]:
        if x.is_cuda:
            return self.by_products(x)
        channels = x.transpose(1, 2)
        return torch.cat([conv(channels) for conv in self.convolutions], 1).relu().transpose(1, 2)

    def by_products(self, x: Float[Tensor, "b t e"]) -> Float[Tensor, "b t d"]:
        """The same by one matrix product, its columns shifted and added up: a card's own
        convolutions are slow at so few channels."""
        weights = [conv.weight.permute(2, 0, 1).flatten(0, 1) for conv in self.convolutions]
        products = nn.functional.linear(x, torch.cat(weights))
        parts = torch.split(products, [len(weight) for weight in weights], -1)
        return torch.cat(list(map(_shifted, parts, self.convolutions)), -1).relu()

    def columns(self, x: Float[Tensor, "b t e"]) -> Float[Tensor, "b t o d"]:
        """What each token gives to a state at each offset of the widest kernel."""
        blocks = []
        for conv in self.convolutions:
            weight = conv.weight  # [d, e, kernel]
            margin = self.reach - weight.shape[-1] // 2
            blocks.append(nn.functional.pad(weight, (margin, margin)))
        return torch.einsum("bte,deo->btod", x, torch.cat(blocks))

    def join(
        self,
        columns: Float[Tensor, "b t o d"],
        examples: Int[Tensor, " m"],
        index: Int[Tensor, "m w"],
    ) -> Float[Tensor, "m w d"]:
        """States of short sequences given as positions of the original (-1 is nothing)."""
        b, t, offsets, d = columns.shape
        width = index.shape[1]
        padded = nn.functional.pad(index, (self.reach, self.reach), value=-1)
        flat = torch.cat([columns.reshape(b * t, offsets, d), columns.new_zeros(1, offsets, d)])
        row = torch.where(padded >= 0, examples[:, None] * t + padded, b * t)
        bias = torch.cat([conv.bias for conv in self.convolutions])  # type: ignore[misc]
        total = bias.expand(len(index), width, d).clone()
        for offset in range(offsets):
            total += flat[:, offset][row[:, offset : offset + width]]
        return total.relu()


def _shifted(part: Float[Tensor, "b t kf"], conv: nn.Conv1d) -> Float[Tensor, "b t f"]:
    (kernel,), length = conv.kernel_size, part.shape[1]
    padded = nn.functional.pad(part, (0, 0, kernel // 2, kernel // 2))
    columns = padded.reshape(*padded.shape[:2], kernel, conv.out_channels).unbind(2)
    slices = [column[:, offset : offset + length] for offset, column in enumerate(columns)]
    assert conv.bias is not None
    return torch.stack(slices).sum(0) + conv.bias


def _around(
    positions: Int[Tensor, " m"], lengths: Int[Tensor, " m"], radius: int
) -> Int[Tensor, "m w"]:
    """The neighbours of each position without itself; -1 beyond the ends."""
    steps = torch.arange(-radius, radius + 1, device=positions.device)
    index = positions[:, None] + steps[steps != 0]
    return torch.where((index >= 0) & (index < lengths[:, None]), index, -1)


@ENTRIES.entry("convolutions of width 1, 3, 5, 7 side by side, ReLU", name="cnn", paper="jain2019")
class Cnn(Convolutions):
    """jain2019's kernels 1, 3, 5, 7."""

    def __init__(self, embedding: int, layers: int, sizes: str, hidden: int | None) -> None:
        default = {"code": 128, "paper": 256}[sizes]
        super().__init__(embedding, layers, hidden or default, (1, 3, 5, 7))


@ENTRIES.entry(
    "convolutions of width 3 and 5 side by side, 100 channels, ReLU", paper="serrano2019"
)
def conv(embedding: int, layers: int, sizes: str, hidden: int | None) -> Convolutions:
    """serrano2019's kernels 3 and 5. The paper gives 100 channels; they are read as those of a
    state, 50 of each kernel, so that a state is as wide as that of its bidirectional GRU."""
    return Convolutions(embedding, layers, hidden or 100, (3, 5))
