"""A `HookedTransformer` of TransformerLens as a language model of transformers.

It computes everything itself. Two of its own hooks stand in for what transformers' models take:
the mask is added to its attention's scores, and the embeddings are those of a module that can be
asked for them. Both hooks are gone after each call.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from transformers import GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput


class HookedForCausalLM(PreTrainedModel, GenerationMixin):  # type: ignore[no-untyped-call]
    """Texts are padded on the right; positions count from the first token on."""

    config_class: Any = PretrainedConfig

    def __init__(self, hooked: Any) -> None:
        own = hooked.cfg
        ends = getattr(hooked.tokenizer, "eos_token_id", None)
        config: Any = PretrainedConfig()
        config.model_type = "hooked_transformer"
        config.vocab_size, config.max_position_embeddings = own.d_vocab, own.n_ctx
        config.hidden_size, config.num_hidden_layers = own.d_model, own.n_layers
        config.eos_token_id, config.pad_token_id, config.bos_token_id = ends, None, None
        super().__init__(config)
        self.hooked, self.embedding = hooked, _Embedding(hooked.embed)
        config.name_or_path = self.name_or_path = own.model_name or ""
        self.generation_config.use_cache = False

    def get_input_embeddings(self) -> nn.Module:
        return self.embedding

    def prepare_inputs_for_generation(  # type: ignore[override]
        self, input_ids: Tensor, attention_mask: Tensor | None = None, **options: Any
    ) -> dict[str, Any]:
        return {"input_ids": input_ids, "attention_mask": attention_mask}

    def forward(
        self,
        input_ids: Int[Tensor, "b t"],
        attention_mask: Int[Tensor, "b t"] | None = None,
        return_dict: bool = True,
    ) -> CausalLMOutput:
        states = self.embedding(input_ids)
        hooks = [("hook_embed", lambda own, hook: states)]
        if attention_mask is not None:
            mask = partial(_masked, seen=attention_mask.bool()[:, None, None])
            layers = range(self.config.num_hidden_layers)
            hooks += [(f"blocks.{layer}.attn.hook_attn_scores", mask) for layer in layers]
        with self.hooked.hooks(fwd_hooks=hooks):
            return CausalLMOutput(logits=self.hooked(input_ids))


class _Embedding(nn.Module):
    """The model's own, with the table under the name that it has in torch."""

    def __init__(self, own: Any) -> None:
        super().__init__()
        self._own = (own,)  # not a second time among the parameters

    @property
    def weight(self) -> Tensor:
        table: Tensor = self._own[0].W_E
        return table

    def forward(self, tokens: Int[Tensor, "b t"]) -> Float[Tensor, "b t d"]:
        states: Tensor = self._own[0](tokens)
        return states


def _masked(scores: Float[Tensor, "b h q k"], hook: Any, seen: Tensor) -> Tensor:
    return scores.masked_fill(~seen, -torch.inf)
