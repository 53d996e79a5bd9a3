"""How long a text a Hugging Face model reads, and which tokens stand for nothing."""

from __future__ import annotations

from collections.abc import Sequence

from heedful.errors import HeedfulError
from heedful.models import places, token_embeddings
from heedful.subjects.hf_load import Loaded
from heedful.subjects.row import Row

LONGEST = 1024  # longer texts take memory or hours (by the square), whatever the model allows


def longest(loaded: Loaded, wanted: int | None) -> int:
    """The most tokens of a text: as many as are wanted, the model has places for, and the
    tokenizer was made for."""
    limits = [loaded.tokenizer.model_max_length, LONGEST if wanted is None else wanted]
    room = places(loaded.module.config)
    if room is not None:
        limits.append(room)
    return int(min(limits))


def check_tokens(loaded: Loaded, rows: Sequence[Row]) -> None:
    """A tokenizer may know more tokens than its model, as long as no text has them."""
    size = token_embeddings(loaded.module).weight.shape[0]
    if len(loaded.tokenizer) <= size:
        return
    for row in rows:
        if row.tokens.max(initial=0) >= size:
            raise HeedfulError(
                f"the tokenizer of {loaded.name} gives token {row.tokens.max()}, and the model "
                f"knows {size}: give the tokenizer it was trained with."
            )


def fillers(loaded: Loaded) -> dict[str, int]:
    """`unk` and, where there is one, `mask`. Byte-level tokenizers know every text and have
    no unknown token: the mask, the end or a full stop takes its place. Never padding, which
    says where a text ends."""
    tokenizer, padding = loaded.tokenizer, loaded.module.config.pad_token_id
    special = (tokenizer.unk_token_id, tokenizer.mask_token_id, tokenizer.eos_token_id)
    plain = (tokenizer(mark, add_special_tokens=False)["input_ids"] for mark in (".", "_", " "))
    stand_ins = [*special, *(ids[0] for ids in plain if len(ids) == 1)]
    unknown = next((token for token in stand_ins if token not in (None, padding)), None)
    if unknown is None:
        raise HeedfulError(
            f"the tokenizer of {loaded.name} has no token to put in a word's place that is not "
            f"padding: set tokenizer.unk_token."
        )
    mask = tokenizer.mask_token_id
    return {"unk": int(unknown)} | ({} if mask in (None, padding) else {"mask": int(mask)})
