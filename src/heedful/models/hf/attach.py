"""The way in: a Hugging Face model, lent for the length of a `with` block.

Its attention sites, and how it wants its inputs, are found by running it on two tiny texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn

from heedful.errors import HeedfulError
from heedful.models.family import evaluating, restored
from heedful.models.hf.convolutions import kept_off_padding
from heedful.models.hf.folder import quiet, transformers
from heedful.models.hf.inputs import Form, Head, classes, default_head, inputs_of
from heedful.models.hf.interface import NAME, register
from heedful.models.hf.model import HuggingFace, Layers, layers_of
from heedful.models.hf.sites import find_sites
from heedful.models.hf.written import opened
from heedful.types import Batch, Edits, Keep, Model, Text


@contextmanager
def attach(
    module: Any,
    fillers: Mapping[str, int],
    head: Head | None = None,
    padding: str | None = None,
) -> Iterator[HuggingFace]:
    """The module with its attention open to edits; as it was when the block ends.

    `fillers` are token ids: `unk`, and `mask` where there is one. `head` says what the logits
    are (`heedful.models.hf.inputs`) where that does not go without saying. The module sees texts
    padded on the right unless it answers rightly only where `padding` is "left", or that is asked
    for; traces are always padded on the right.
    """
    _check(module, fillers, padding)
    register()
    with borrowed(module):
        form = form_of(module)
        sites, output = find_sites(module, form, tiny_batch(module, form))
        head = default_head(module, output) if head is None else head

        def model(form: Form, layers: Layers = ()) -> HuggingFace:
            return HuggingFace(module, sites, form, head, fillers, layers)

        # a regression's head takes a centre away, and leaves noise
        plain = classes if getattr(getattr(output, "logits", None), "ndim", 0) == 2 else head

        def logits(form: Form, batch: Batch) -> Tensor:
            return HuggingFace(module, sites, form, plain, fillers).logits(batch)

        with opened(site.module for site in sites if site.written), kept_off_padding(module):
            form = find_positions(module, form, logits)
            form = find_padding(module, form, padding, logits)
            layered = model(form, layers_of(module, sites))
            yield layered if can_repeat(module, form, layered) else model(form)


def _check(module: Any, fillers: Mapping[str, int], padding: str | None) -> None:
    if not isinstance(module, transformers().PreTrainedModel):
        raise HeedfulError(
            f"{type(module).__name__} is no model of transformers: give a PreTrainedModel."
        )
    if padding not in (None, "left", "right"):
        raise HeedfulError(f"padding is {padding!r}: choose left or right.")
    # a filler that is the padding token would move where positions start or a text ends
    for name, token in fillers.items():
        if token == getattr(module.config, "pad_token_id", None):
            raise HeedfulError(
                f"the filler {name!r} is the padding token {token}: choose another token."
            )


@contextmanager
def borrowed(module: nn.Module) -> Iterator[None]:
    """Attention goes through us and nothing is computed twice; afterwards all is as before.

    Checkpointing would run attention again during the backward pass, when nobody listens. BigBird
    attends fully from the first short text on.
    """
    configs, modules = _configs(module), list(module.modules())
    checkpointed = [each for each in modules if getattr(each, "gradient_checkpointing", False)]
    sparse = [each for each in modules if "attention_type" in vars(each)]
    with (
        _parts_restored(sparse),
        restored(modules, "training"),
        restored(module.parameters(), "requires_grad"),
        restored(checkpointed, "gradient_checkpointing"),
        restored(configs, "_attn_implementation_internal"),
    ):
        for config in configs:
            config._attn_implementation_internal = NAME
        for each in checkpointed:
            setattr(each, "gradient_checkpointing", False)  # noqa: B010
        yield


@contextmanager
def _parts_restored(modules: Sequence[nn.Module]) -> Iterator[None]:
    parts = [dict(each._modules) for each in modules]
    with restored(modules, "attention_type"):
        try:
            yield
        finally:
            for each, before in zip(modules, parts, strict=True):
                each._modules.update(before)


def _configs(module: nn.Module) -> list[Any]:
    """Every configuration that some part of the module may ask for its attention."""
    from transformers import PretrainedConfig

    found: dict[int, Any] = {}
    waiting = [getattr(each, "config", None) for each in module.modules()]
    while waiting:
        config = waiting.pop()
        if isinstance(config, PretrainedConfig) and id(config) not in found:
            found[id(config)] = config
            waiting.extend(getattr(config, name, None) for name in config.sub_configs)
    return list(found.values())


_LENGTHS = {7: 5, 4: 3}
"""Of the tiny texts, and of what is written after each. No layer has so many experts."""
_TOLERANCE = {torch.float64: (1e-4, 1e-8), torch.float32: (1e-3, 1e-6)}
"""Of padding: as a share of the logits, and where these are near 0."""


_SEE_AHEAD = ("fsmt",)
"""With a cache their decoders expect one word at a time, and no mask hides what comes after."""


def form_of(module: Any) -> Form:
    """What can be read off the module without running it."""
    config = module.config
    takes = frozenset(signature(module.forward).parameters)
    pad = getattr(config, "pad_token_id", None)
    start = getattr(config, "decoder_start_token_id", None)
    decodes = bool(getattr(config, "is_encoder_decoder", False))
    return Form(
        takes,
        pad=0 if pad is None else pad,
        decodes=decodes,
        start=(start or 0) if decodes and module.can_generate() else None,
        segments="token_type_ids" in takes and getattr(config, "type_vocab_size", 0) > 1,
        cached=config.model_type not in _SEE_AHEAD,
    )


def tiny_batch(module: Any, form: Form, lengths: Sequence[int] = tuple(_LENGTHS)) -> Batch:
    """Two texts of unlike length that end as the module's texts end."""
    config, many = module.config, token_embeddings(module).weight.shape[0]
    end, begin = getattr(config, "eos_token_id", None), getattr(config, "bos_token_id", None)
    special = {form.pad, form.start, end, begin}
    plain = [token for token in range(many) if token not in special] or [0]
    words = [plain[n % len(plain)] for n in range(max(_LENGTHS))]
    last = [end] if isinstance(end, int) else words[-1:]
    texts = {"a": _text([words[: n - 1] + last for n in lengths])}
    if form.start is not None:
        texts["target"] = _text([[form.start, *words[: _LENGTHS[n] - 1]] for n in lengths])
    ids = tuple(map(str, range(len(lengths))))
    return Batch(ids, texts, torch.zeros(len(lengths), dtype=torch.long)).to(module.device)


Logits = Callable[[Form, Batch], Tensor]


def find_positions(module: Any, form: Form, logits: Logits) -> Form:
    """Passes positions on where the module takes them and they are the ones it would have made
    itself (RoBERTa counts from elsewhere, and by its padding)."""
    if "position_ids" not in form.takes:
        return form
    batch = tiny_batch(module, form)
    with inference(module):
        own, passed = logits(form, batch), logits(replace(form, positions=True), batch)
    return replace(form, positions=torch.equal(passed, own))


def find_padding(module: Any, form: Form, padding: str | None, logits: Logits) -> Form:
    """Padding goes where a text has the answer that it has alone (XLNet reads its last place)."""
    sides = ("right", "left") if padding is None else (padding,)
    forms = [replace(form, left=side == "left") for side in sides]
    off, size = _moved_by_padding(module, forms, logits)
    relative, absolute = _TOLERANCE.get(module.dtype, (0.05, 0.05))
    for each, error in zip(forms, off, strict=True):
        if error <= relative * size:
            return each
    kind = type(module).__name__
    if padding is not None:
        other = "right" if padding == "left" else "left"
        raise HeedfulError(
            f"{kind} cannot be padded on the {padding}: attach it with padding={other!r}."
        )
    if min(off) > absolute:
        raise HeedfulError(
            f"{kind} answers differently where a text is padded: choose a model that does not "
            "read padding."
        )
    return forms[off.index(min(off))]


def _moved_by_padding(
    module: Any, forms: Sequence[Form], logits: Logits
) -> tuple[list[float], float]:
    """How far padding moves the answer to a short text, by form, and how large answers are.
    Nowhere, where states of all tokens are given, or never the same twice."""
    lengths = tuple(_LENGTHS)
    both, one = (tiny_batch(module, forms[0], some) for some in (lengths, lengths[1:]))
    with inference(module):
        alone, again = (logits(forms[0], one)[0] for _ in range(2))
        padded = [logits(form, both) for form in forms]
    if padded[0].shape[1:] != alone.shape or not torch.equal(again, alone):
        return [0.0] * len(forms), 1.0
    return [float((each[1] - alone).abs().max()) for each in padded], float(padded[0].abs().max())


def can_repeat(module: Any, form: Form, model: Model) -> bool:
    """Does the module say the same, bit for bit, where all layers but the last repeat what they
    gave? Not if layers hand on something else than their outputs, or change those later."""
    batch = tiny_batch(module, form)
    edits: Edits = {model.sites[-1].name: lambda call: call.weights}
    try:
        with inference(module):
            trace = model(batch, keep=Keep(states=True))
            again = [model.resume(batch, trace, edits).logits for _ in range(2)]
    except (ValueError, RuntimeError, LookupError, TypeError, AttributeError, HeedfulError):
        return False
    return all(torch.equal(each, trace.logits) for each in again)


def _text(rows: list[list[int]]) -> Text:
    width = max(map(len, rows))
    tokens = torch.tensor([row + [0] * (width - len(row)) for row in rows])
    lengths = torch.tensor([len(row) for row in rows])
    return Text(tokens, lengths, torch.arange(width) < lengths[:, None])


_AFTER_PADDING = (
    "roberta", "xlm-roberta", "xlm-roberta-xl", "camembert", "roberta-prelayernorm", "mpnet",
    "longformer", "data2vec-text", "xmod", "ibert", "esm", "luke", "markuplm",
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


def max_positions(config: Any) -> int | None:
    """The size of the table of positions, less those never used: some begin to count after the
    padding token's id. None where there is no table."""
    text = config.get_text_config()
    size = getattr(text, "max_position_embeddings", None) or getattr(text, "max_seq_len", None)
    if not isinstance(size, int) or size < 1:
        return None
    used = (text.pad_token_id or 0) + 1 if text.model_type in _AFTER_PADDING else 0
    return size - used


def outputs(module: Any, text: Text) -> Any:
    """What the module itself says of texts."""
    ids = tuple(map(str, range(len(text.tokens))))
    batch = Batch(ids, {"a": text}, torch.zeros(len(ids), dtype=torch.long)).to(module.device)
    with quiet(), inference(module):
        return module(**inputs_of(batch, form_of(module)).arguments)


@contextmanager
def inference(module: nn.Module) -> Iterator[None]:
    """No dropout and no gradients; the training mode comes back."""
    with evaluating(module), torch.no_grad():
        yield
