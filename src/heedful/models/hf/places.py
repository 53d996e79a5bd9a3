"""How many places a Hugging Face model has for tokens, by its configuration."""

from __future__ import annotations

from typing import Any

from heedful.errors import HeedfulError

_AFTER_PADDING = (
    "roberta", "xlm-roberta", "xlm-roberta-xl", "camembert", "roberta-prelayernorm", "mpnet",
    "longformer", "data2vec-text", "xmod", "ibert", "esm",
)  # fmt: skip


def token_embeddings(module: Any) -> Any:
    """The module by which tokens become vectors, a row of its weights each."""
    try:
        embedding = module.get_input_embeddings()
    except NotImplementedError:  # CANINE hashes characters
        embedding = None
    if getattr(getattr(embedding, "weight", None), "ndim", 0) != 2:  # Perceiver has latents there
        raise HeedfulError(
            f"{type(module).__name__} has no table of token embeddings: choose a model that reads "
            f"tokens, such as BERT."
        )
    return embedding


def places(config: Any) -> int | None:
    """The size of the table of positions, less those never used: some begin to count after the
    padding token's id. None where there is no table."""
    text = config.get_text_config()
    size = getattr(text, "max_position_embeddings", None)
    if not isinstance(size, int) or size < 1:
        return None
    used = (text.pad_token_id or 0) + 1 if text.model_type in _AFTER_PADDING else 0
    return size - used
