"""Answers beside inseq's attributions of generated text, where inseq is installed."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tiny_hf import tiny_hf  # sets HF_HUB_OFFLINE, which must come before transformers

inseq = pytest.importorskip("inseq")

from heedful.attributions import attention, gradient_input  # noqa: E402
from heedful.models import probability  # noqa: E402
from heedful.targets import open_target  # noqa: E402
from tiny_tokenizers import byte_pairs, word_pieces  # noqa: E402

CASES = {
    "GPT2": ("a good film", " is bad"),
    "Bart": ("the good film", "film was dull"),
}


def pair_of(name: str) -> tuple[Any, Any]:
    size = 300 if name == "GPT2" else 30
    ends = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": None} if name == "GPT2" else {}
    module = tiny_hf(name, "language", vocab_size=size, **ends)
    module.set_attn_implementation("eager")
    tokenizer = byte_pairs() if name == "GPT2" else word_pieces()
    marks = ("<|end|>", "<|end|>") if name == "GPT2" else ("[CLS]", "[SEP]")
    tokenizer.bos_token, tokenizer.eos_token = marks
    tokenizer.pad_token = tokenizer.pad_token or "<|end|>"
    return module, tokenizer


def theirs(name: str, method: str, **options: Any) -> Any:
    """Of each token of the text (rows) for each token of the answer (columns)."""
    text, answer = CASES[name]
    module, tokenizer = pair_of(name)
    module.name_or_path = module.config.name_or_path = "tiny"
    written = text + answer if name == "GPT2" else answer
    out = inseq.load_model(module, method, tokenizer=tokenizer).attribute(
        text, written, show_progress=False, **options
    )
    found = out.sequence_attributions[0]
    if name == "GPT2":
        return found.target_attributions, found
    return found.source_attributions[:, 1:-1], found  # without the start and the end of the answer


@pytest.mark.parametrize("name", CASES)
def test_each_token_of_an_answer_as_inseq_has_it(name: str) -> None:
    text, answer = CASES[name]
    with open_target(pair_of(name), [{"text": text}], answer=answer) as target:
        each = target.by_token(0)
        batch, label = each.encode(range(len(each))), torch.ones(len(each), dtype=torch.long)
        p = probability(each.model(batch).logits.detach(), label).float()
        with torch.enable_grad():
            slopes = gradient_input(each.model, batch, label, probability).detach()
        weights = attention(each.model, batch, label)
        mask = batch.texts["a"].mask[0]
    options: dict[str, Any] = {"attributed_fn": "probability", "step_scores": ["probability"]}
    found, whole = theirs(name, "input_x_gradient", **options)
    steps = whole.step_scores["probability"]
    torch.testing.assert_close(p, steps if name == "GPT2" else steps[1:-1], atol=1e-6, rtol=1e-4)
    length = len(mask) if name == "Bart" else int(mask.sum())
    wanted = found.sum(-1)[:length][mask[:length]]
    torch.testing.assert_close(slopes[:, mask].T.float(), wanted, atol=1e-6, rtol=1e-4)
    seen, _ = theirs(name, "attention")
    wanted = seen[:, :, -1].mean(-1)[:length][mask[:length]]
    torch.testing.assert_close(weights[:, mask].T.float(), wanted, atol=1e-6, rtol=1e-4)
