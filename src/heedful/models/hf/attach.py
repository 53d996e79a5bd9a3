"""The way in: a Hugging Face model, lent for the length of a `with` block.

Its attention sites, and how it wants its inputs, are found by running it on two tiny texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn

from heedful.errors import HeedfulError
from heedful.models.family import evaluating, restored
from heedful.models.hf.folder import first_sentence, transformers
from heedful.models.hf.inputs import Form, Head, default_head, inputs_of
from heedful.models.hf.interface import NAME, Call, Output, Site, listening, register
from heedful.models.hf.model import HuggingFace, Layers, layers_of
from heedful.types import Batch, Edits, Keep, Model, SiteSpec, Text


@contextmanager
def attach(
    module: Any,
    fillers: Mapping[str, int],
    head: Head | None = None,
    padding: str = "right",
) -> Iterator[HuggingFace]:
    """The module with its attention open to edits; as it was when the block ends.

    `fillers` are token ids: `unk`, and `mask` where there is one. `head` says what the logits
    are (`heedful.models.hf.heads`) where that does not go without saying. With
    `padding="left"` the module sees texts padded on the left; traces never do.
    """
    _check(module, fillers, padding)
    register()
    with borrowed(module):
        form = form_of(module)
        sites, output = find_sites(module, form)
        head = default_head(module, output) if head is None else head

        def model(form: Form, layers: Layers = ()) -> HuggingFace:
            return HuggingFace(module, sites, form, head, fillers, layers)

        form = replace(form, left=padding == "left")
        form = find_positions(module, form, lambda form, batch: model(form).logits(batch))
        layered = model(form, layers_of(module, sites))
        yield layered if can_repeat(module, form, layered) else model(form)


def _check(module: Any, fillers: Mapping[str, int], padding: str) -> None:
    if not isinstance(module, transformers().PreTrainedModel):
        raise HeedfulError(
            f"{type(module).__name__} is no model of transformers: give a PreTrainedModel."
        )
    if padding not in ("left", "right"):
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

    Checkpointing would run attention again during the backward pass, when nobody listens.
    """
    configs, modules = _configs(module), list(module.modules())
    checkpointed = [each for each in modules if getattr(each, "gradient_checkpointing", False)]
    with (
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


_LENGTHS, _TARGET = (6, 4), 3
_TOLERANCE = {torch.float64: 1e-4, torch.float32: 1e-3}


@dataclass(frozen=True)
class AttentionCall:
    """One call of attention: its module, how many keys, and does a query see only the past?"""

    module: nn.Module
    keys: int
    causal: bool


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
    )


def tiny_batch(module: Any, form: Form) -> Batch:
    """Two texts of unlike length that end as the module's texts end."""
    config, many = module.config, token_embeddings(module).weight.shape[0]
    end, begin = getattr(config, "eos_token_id", None), getattr(config, "bos_token_id", None)
    special = {form.pad, form.start, end, begin}
    plain = [token for token in range(many) if token not in special] or [0]
    words = [plain[n % len(plain)] for n in range(_LENGTHS[0])]
    last = [end] if isinstance(end, int) else words[-1:]
    texts = {"a": _text([words[: n - 1] + last for n in _LENGTHS])}
    if form.start is not None:
        texts["target"] = _text([[form.start, *words[: _TARGET - 1]]] * len(_LENGTHS))
    return Batch(("0", "1"), texts, torch.zeros(2, dtype=torch.long)).to(module.device)


def find_sites(module: Any, form: Form) -> tuple[tuple[Site, ...], Any]:
    """The sites in the order they are called, and the module's output."""
    calls: list[AttentionCall] = []

    def collect(call: Call) -> Output:
        mask = call.mask
        causal = mask is not None and mask.shape[-1] > 1 and bool(mask[0, 0, 0, -1] < 0)
        calls.append(AttentionCall(call.module, call.value.shape[2], causal))
        return call.run(lambda weights: weights, mask)

    arguments = inputs_of(tiny_batch(module, form), form).arguments
    try:
        with listening(collect), inference(module):
            output = module(**arguments)
    except (ValueError, RuntimeError, IndexError, TypeError, AttributeError) as error:
        raise HeedfulError(
            f"{type(module).__name__} cannot run on two short texts ({first_sentence(error)}): "
            "fix its configuration (often pad_token_id) before attaching it."
        ) from error
    if not calls:  # DeBERTa, for one
        raise HeedfulError(
            f"{type(module).__name__} does its own attention, which cannot be reached: choose a "
            "model that uses the attention interface of transformers."
        )
    return _named(module, calls, form), output


def find_positions(module: Any, form: Form, logits: Callable[[Form, Batch], Tensor]) -> Form:
    """Passes positions on where the module takes them and they are the ones it would have made
    itself (RoBERTa counts from elsewhere, and by its padding). With padding on the left, the
    module must then say the same as with padding on the right."""
    batch, right = tiny_batch(module, form), replace(form, left=False)
    with inference(module):
        own = logits(right, batch)
        if "position_ids" in form.takes:
            passed = logits(replace(right, positions=True), batch)
            form = replace(form, positions=torch.equal(passed, own))
        allowed = _TOLERANCE.get(module.dtype, 0.05) * float(own.abs().max())
        if form.left and not float((logits(form, batch) - own).abs().max()) <= allowed:
            raise HeedfulError(
                f"{type(module).__name__} cannot be padded on the left: "
                "attach it with padding='right'."
            )
    return form


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


def _named(module: Any, calls: list[AttentionCall], form: Form) -> tuple[Site, ...]:
    """Names are those of modules, without that of the base model unless two would be the same."""
    names = {part: name for name, part in module.named_modules()}
    short = [name.removeprefix(f"{module.base_model_prefix}.") for name in names.values()]
    if len(set(short)) == len(short):
        names = dict(zip(names, short, strict=True))
    often, seen, decoding = Counter(call.module for call in calls), Counter[nn.Module](), False
    sites = []
    for call in calls:
        past = form.decodes and (call.causal or call.keys != _LENGTHS[0])
        decoding = decoding or past
        nth = seen[call.module]
        name = names[call.module] + (f"#{nth}" if often[call.module] > 1 else "")
        keys, queries = ("target" if side else "a" for side in (past, decoding))
        spec = SiteSpec(name, keys, "tokens", False, queries=queries)
        sites.append(Site(spec, call.module, nth))
        seen[call.module] += 1
    return tuple(sites)


def _text(rows: list[list[int]]) -> Text:
    width = max(map(len, rows))
    tokens = torch.tensor([row + [0] * (width - len(row)) for row in rows])
    lengths = torch.tensor([len(row) for row in rows])
    return Text(tokens, lengths, torch.arange(width) < lengths[:, None])


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


def max_positions(config: Any) -> int | None:
    """The size of the table of positions, less those never used: some begin to count after the
    padding token's id. None where there is no table."""
    text = config.get_text_config()
    size = getattr(text, "max_position_embeddings", None)
    if not isinstance(size, int) or size < 1:
        return None
    used = (text.pad_token_id or 0) + 1 if text.model_type in _AFTER_PADDING else 0
    return size - used


@contextmanager
def inference(module: nn.Module) -> Iterator[None]:
    """No dropout and no gradients; the training mode comes back."""
    with evaluating(module), torch.no_grad():
        yield
