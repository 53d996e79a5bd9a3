"""Attention that goes to tokens whatever the text says: how much, and the map without it.

Start tokens and separators (Clark et al. 2019), the first word of a decoder (Xiao et al. 2024) and
punctuation take weight that no reader would call an explanation. Nothing is left out silently:
masses are reported, and the maps without sinks are scored beside the map on trial.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.attributions import (
    first_word,
    on_text,
    one_map,
    readout_rows,
    readout_weights,
    text_site,
    without_sinks,
)
from heedful.entries import SHARE, Measure
from heedful.experiments.evidence import ForwardBatch
from heedful.words import to_tokens, to_words

SINK_MEASURES = {
    "special_mass": Measure("attention on tokens of no word", range=SHARE, papers=("clark2019",)),
    "first_word_mass": Measure("attention on the first word", range=SHARE, papers=("xiao2024",)),
    "punctuation_mass": Measure(
        "attention on words without a letter or digit", range=SHARE, papers=("clark2019",)
    ),
}


def sink_masses(
    forward: ForwardBatch, punctuation: Bool[Tensor, "b w"]
) -> dict[str, Float[Tensor, " b"]]:
    """Shares of the attention on words that may be sinks; NaN where nothing is attended."""
    weights, text = one_map(_rows(forward)), forward.batch.texts["a"]
    places = {
        "first_word_mass": first_word(forward.batch),
        "punctuation_mass": to_tokens(punctuation, text),
    }
    total = weights.sum(-1)
    return {name: (weights * there).sum(-1) / total for name, there in places.items()}


def sink_maps(
    forward: ForwardBatch, punctuation: Bool[Tensor, "b w"]
) -> dict[str, Float[Tensor, "b w"]]:
    """The map on trial by word, heads made to sum to 1 over words: of all words (`special`), and
    less the first one or punctuation. With one head the first is the map itself, and left out."""
    rows, batch = _rows(forward), forward.batch
    nothing = torch.zeros_like(batch.texts["a"].mask)
    sinks = {
        "special": nothing,
        "first": first_word(batch),
        "punctuation": to_tokens(punctuation, batch.texts["a"]),
    }
    return {
        name: to_words(on_text(one_map(without_sinks(rows, batch, there)), batch), batch.texts["a"])
        for name, there in sinks.items()
        if name != "special" or rows.shape[1] > 1
    }


def _rows(forward: ForwardBatch) -> Float[Tensor, "b h k"]:
    site, trace = text_site(forward.model), forward.trace
    return readout_rows(trace.weights[site.name], readout_weights(trace, site))
