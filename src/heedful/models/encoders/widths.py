"""How wide states are, and what makes them as wide as something else."""

from __future__ import annotations

from heedful.models.encoders.encoder import Encoder

LEAST, MOST = 4, 4096


def possible(hidden: int) -> bool:
    """What `hidden` may be; half of it may be a direction, a kernel's channels or a query."""
    return LEAST <= hidden <= MOST and hidden % 2 == 0


def how_to_fit(encoder: Encoder, width: int) -> str:
    """What to do for states of that width; the end of an error's sentence."""
    hidden = encoder.hidden_for(width)
    if hidden is None or not possible(hidden):
        return "no --hidden makes them equal, so choose another encoder or vectors of another width"
    return f"give --hidden {hidden}"
