"""inseq on the same decoder: as documented, and as well as it can."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import inseq
import torch
from torch import Tensor

from bench.inseq_data import END, FIRST, PAD, START, UNKNOWN, VOCABULARY, Size

NAMES = {"gradient": "saliency", "gradient_input": "input_x_gradient"}


@dataclass(frozen=True)
class Inseq:
    """A method on a module, made once, as inseq's own documentation has it."""

    method: str
    size: Size
    model: Any

    @classmethod
    def load(cls, module: Any, method: str, size: Size) -> Inseq:
        logging.getLogger("inseq").setLevel(logging.ERROR)
        name = NAMES.get(method, method)
        return cls(method, size, inseq.load_model(module, name, tokenizer=_tokenizer()))

    def scores(self, tokens: Tensor, batch: int = 0, **options: Any) -> Tensor:
        """Of every token written, by the tokens before it: `[prompt, written, token]`."""
        return self._stacked(self._attributed(tokens, batch, **options))

    def with_gap(self, tokens: Tensor, batch: int = 0, **options: Any) -> tuple[Tensor, Tensor]:
        """The same, and what each token's scores miss of completeness: `[prompt, written]`."""
        found = self._attributed(tokens, batch, return_convergence_delta=True, **options)
        gaps = torch.stack([each.step_scores["deltas"] for each in found])
        return self._stacked(found), gaps.abs().double()

    def _attributed(self, tokens: Tensor, batch: int, **options: Any) -> list[Any]:
        """What was written is given, which inseq explains one text at a time; with a `batch` it
        writes itself, the same, and then takes so many at once."""
        prompts = [_text(row[: self.size.length]) for row in tokens]
        if not batch:
            whole = [_text(row) for row in tokens]
            found = self.model.attribute(prompts, whole, show_progress=False, **options)
            return list(found.sequence_attributions)
        writing = {
            "max_new_tokens": self.size.written,
            "min_new_tokens": self.size.written,
            "do_sample": False,
            "suppress_tokens": list(range(FIRST)),
        }
        found = self.model.attribute(
            prompts, show_progress=False, batch_size=batch, generation_args=writing, **options
        )
        return list(found.sequence_attributions)

    def _stacked(self, found: list[Any]) -> Tensor:
        rows = torch.stack([self._one_number(each.target_attributions) for each in found])
        return rows.transpose(1, 2).double()

    def _one_number(self, found: Tensor) -> Tensor:
        """`[token, written]`: a norm or a sum over the embedding; of attention the last layer,
        the mean over its heads."""
        if self.method == "gradient":
            return found.norm(dim=-1)
        if self.method == "attention":
            return found[:, :, -1].mean(-1)
        return found.sum(-1) if found.ndim == 3 else found


def _text(tokens: Tensor) -> str:
    return " ".join(f"w{token}" for token in tokens.tolist())


def _tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    specials = {"<unk>": UNKNOWN, "<pad>": PAD, "<s>": START, "</s>": END}
    words = {f"w{token}": token for token in range(FIRST, VOCABULARY)}
    raw = Tokenizer(models.WordLevel({**specials, **words}, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    names = {"unk_token": "<unk>", "pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>"}
    return PreTrainedTokenizerFast(tokenizer_object=raw, **names)
