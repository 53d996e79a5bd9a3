"""What the model has said already need not be asked again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.removal.subsets import Subsets


class Memory:
    """What was kept of each output, by example and set of words, for one model, batch, operator
    and way of reading: whoever makes it sees to that. It lives as long as several measures ask
    about the same texts. `subsets` has all sets of short texts, if they were asked for."""

    def __init__(self, subsets: Subsets | None = None) -> None:
        self.subsets = subsets
        self._places: dict[bytes, int] = {}
        self._rows: list[Tensor] = []

    def recall(
        self, keys: Sequence[bytes], ask: Callable[[Int[Tensor, " n"]], Float[Tensor, "n f"]]
    ) -> Float[Tensor, "k f"]:
        """The row of every key; `ask` is called once, for the keys that are new."""
        new = [row for row, key in enumerate(keys) if key not in self._places]
        if new:
            known = len(self._places)
            self._rows.append(ask(torch.tensor(new)))
            self._places |= {keys[row]: known + place for place, row in enumerate(new)}
        self._rows = [torch.cat(self._rows)]
        places = [self._places[key] for key in keys]
        return self._rows[0][torch.tensor(places, device=self._rows[0].device)]

    def __len__(self) -> int:
        return len(self._places)

    @property
    def numbers(self) -> int:
        """How many numbers are held."""
        return sum(rows.numel() for rows in self._rows)
