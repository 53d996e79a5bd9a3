"""What a Hugging Face model writes after a text: the likeliest token each time, or a sample.

Each text is written by itself, and a sample's random numbers are hashes of the text's id: batches
and order never change an answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.models.generation import Gumbel
from heedful.models.hf.attach import inference
from heedful.models.hf.folder import quiet


@dataclass
class _Sampling:
    """Noise as a processor of logits."""

    noise: Gumbel
    example: str
    step: int = 0

    def __call__(
        self, tokens: Int[Tensor, "1 t"], scores: Float[Tensor, "1 c"]
    ) -> Float[Tensor, "1 c"]:
        noisy = self.noise(scores, (self.example,), self.step)
        self.step += 1
        return noisy


def write(
    module: Any, tokens: list[int], most: int, example: str, noise: Gumbel | None = None
) -> list[int]:
    """At most `most` new tokens: all that a decoder is given and writes, its start among them, or
    what a language model adds to the text."""
    given = torch.tensor([tokens], device=module.device)
    options: dict[str, Any] = {}
    if noise is not None:
        options["logits_processor"] = [_Sampling(noise, example)]
    padding = module.config.get_text_config().pad_token_id
    with quiet(), inference(module):
        found = module.generate(
            given,
            attention_mask=torch.ones_like(given),
            max_new_tokens=most,
            do_sample=False,
            num_beams=1,
            num_return_sequences=1,
            return_dict_in_generate=False,
            pad_token_id=0 if padding is None else padding,
            **options,
        )[0]
    new: list[int] = found[0 if module.config.is_encoder_decoder else len(tokens) :].tolist()
    return new
