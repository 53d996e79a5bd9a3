"""LRP through embedding → encoder → attention → linear decoder."""

from __future__ import annotations

from functools import singledispatch

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.errors import HeedfulError
from heedful.models.encoders.average import Average
from heedful.models.encoders.bigru import Gru
from heedful.models.encoders.convolution import Convolutions
from heedful.models.encoders.encoder import Encoding
from heedful.models.encoders.none import PassThrough
from heedful.models.encoders.recurrent import Recurrent
from heedful.models.one_sequence import SITE, OneSequence
from heedful.saliency.lrp_gru import gru_states
from heedful.saliency.lrp_logits import lrp_logits
from heedful.saliency.lrp_lstm import lstm_states
from heedful.saliency.lrp_rules import passing, stable
from heedful.types import Batch


@lrp_logits.register
def one_sequence_logits(
    model: OneSequence, batch: Batch, embedded: Tensor, epsilon: float
) -> Tensor:
    """Attention is a gate: its weights are the model's own, and constants."""
    with torch.no_grad():
        weights = model(batch, embeddings={"a": embedded.detach()}).weights[SITE.name][:, 0, 0]
    states = lrp_states(model.encoder, embedded, batch.texts["a"].lengths, epsilon)
    context = stable(torch.einsum("bt,btd->bd", weights.to(states.dtype), states), epsilon)
    return stable(model.decoder(context), epsilon)


@singledispatch
def lrp_states(
    encoder: object, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"], epsilon: float
) -> Float[Tensor, "b t d"]:
    """The encoder's states, linear in `x` to the gradient."""
    raise HeedfulError(
        f"LRP has no rules for the encoder {type(encoder).__name__}: register some with "
        "`lrp_states`."
    )


@lrp_states.register
def recurrent_states(encoder: Recurrent, x: Tensor, lengths: Tensor, epsilon: float) -> Tensor:
    for layer in encoder.stack:
        assert isinstance(layer, nn.LSTM)
        x = lstm_states(layer, x, lengths, epsilon)
    return x


@lrp_states.register
def gated_states(encoder: Gru, x: Tensor, lengths: Tensor, epsilon: float) -> Tensor:
    for layer in encoder.stack:
        x = gru_states(layer, x, lengths, epsilon)
    return x


@lrp_states.register
def convolution_states(encoder: Convolutions, x: Tensor, lengths: Tensor, epsilon: float) -> Tensor:
    live = (torch.arange(x.shape[1], device=x.device) < lengths[:, None])[:, None].to(x.dtype)
    channels = x.transpose(1, 2)
    for layer in encoder.stack:
        parts = [convolution(channels * live) for convolution in layer.convolutions]
        channels = stable(torch.cat(parts, 1), epsilon).relu()
    return channels.transpose(1, 2)


@lrp_states.register
def average_states(encoder: Average, x: Tensor, lengths: Tensor, epsilon: float) -> Tensor:
    for layer in encoder.layers:
        total = stable(layer(x), epsilon)
        x = passing(total, encoder.activation(total))
    return x


@lrp_states.register
def embedded_states(encoder: PassThrough, x: Tensor, lengths: Tensor, epsilon: float) -> Tensor:
    encoding: Encoding = encoder(x, lengths)
    return encoding.states
