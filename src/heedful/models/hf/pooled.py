"""A classifier that transformers does not have: an encoder whose states are pooled, and a few
linear layers. Its folder is like any other: `pooled_head` in config.json says how the head is made,
and model.safetensors holds the weights of both. The encoder keeps the names it has in transformers,
so it can be fine-tuned like a bare one.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, PreTrainedModel
from transformers.activations import ACT2FN
from transformers.modeling_outputs import SequenceClassifierOutput

from heedful.models.hf.config import POOLED, check_head


class PooledForSequenceClassification(PreTrainedModel):  # type: ignore[no-untyped-call]
    """The states of the last layer, averaged over all tokens (`mean`) or the first one's (`first`),
    then linear layers with an activation between each two."""

    config_class: Any = AutoConfig
    _supports_sdpa = _supports_attention_backend = True

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        how = check_head(config.to_dict(), POOLED)
        encoder = AutoModel.from_config(config)  # type: ignore[no-untyped-call]
        if hasattr(encoder, "pooler"):
            encoder.pooler = None  # it comes after all attention, and the head reads the states
        self.base_model_prefix = encoder.base_model_prefix
        setattr(self, self.base_model_prefix, encoder)
        sizes = (config.hidden_size, *how["sizes"], config.num_labels)
        layers: list[nn.Module] = []
        for before, after in pairwise(sizes):
            layers += [ACT2FN[how["activation"]]] if layers else []
            layers.append(nn.Linear(before, after))
        self.head, self.pooling = nn.Sequential(*layers), how["pooling"]
        self.post_init()  # type: ignore[no-untyped-call]

    def forward(
        self,
        input_ids: Int[Tensor, "b t"],
        attention_mask: Int[Tensor, "b t"],
        token_type_ids: Int[Tensor, "b t"] | None = None,
        return_dict: bool = True,
    ) -> SequenceClassifierOutput:
        types = {} if token_type_ids is None else {"token_type_ids": token_type_ids}
        encoder = getattr(self, self.base_model_prefix)
        states = encoder(input_ids=input_ids, attention_mask=attention_mask, **types)
        pooled = self._pooled(states.last_hidden_state, attention_mask)
        return SequenceClassifierOutput(logits=self.head(pooled))

    def _pooled(
        self, states: Float[Tensor, "b t d"], mask: Int[Tensor, "b t"]
    ) -> Float[Tensor, "b d"]:
        if self.pooling == "first":
            return states[:, 0]
        shares = mask.to(states.dtype) / mask.sum(-1, keepdim=True).clamp_min(1)
        return torch.bmm(shares[:, None], states)[:, 0]
