"""Fast tokenizers made on the spot, and folders that look like those of the hub."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tiny_hf import tiny_hf

SPECIALS = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"]  # in the order of tiny_hf's ids
PIECES = [
    "good", "bad", "film", "the", "a", "is", "very", "not", "un", "##like", "##ly", "do", "'",
    "t", ".", ",", "!", "story", "plot", "##s", "it", "was", "great", "dull", "x",
]  # fmt: skip


def word_pieces(**options: Any) -> Any:
    """A WordPiece tokenizer of 30 tokens with BERT's pre-tokeniser and template."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {token: i for i, token in enumerate(SPECIALS + PIECES)}
    raw = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    raw.normalizer = normalizers.BertNormalizer(lowercase=True)
    raw.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    raw.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 0), ("[SEP]", 2)],
    )
    names = {"cls": "[CLS]", "pad": "[PAD]", "sep": "[SEP]", "unk": "[UNK]", "mask": "[MASK]"}
    tokens = {f"{role}_token": token for role, token in names.items()}
    inputs = ["input_ids", "token_type_ids", "attention_mask"]
    return PreTrainedTokenizerFast(
        tokenizer_object=raw, model_input_names=inputs, **tokens, **options
    )


def byte_pairs() -> Any:
    """GPT-2's kind: bytes, a few merges, blanks inside tokens, no special token but the end."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=290,
        special_tokens=["<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    raw.train_from_iterator(["a good film a bad film is good is bad good bad"] * 9, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=raw, eos_token="<|end|>")


def saved(folder: Path, tokenizer: Any = None, **model: Any) -> Path:
    """A folder as `save_pretrained` writes it."""
    tiny_hf(**model).save_pretrained(folder)
    (tokenizer or word_pieces()).save_pretrained(folder)
    return folder
