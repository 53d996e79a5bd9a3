"""The way in: a Hugging Face model, lent for the length of a `with` block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from torch import nn

from heedful.errors import HeedfulError
from heedful.models.family import restored
from heedful.models.hf.discover import can_repeat, find_positions, find_sites, form_of
from heedful.models.hf.folder import transformers
from heedful.models.hf.heads import Head, default_head
from heedful.models.hf.inputs import Form
from heedful.models.hf.interface import NAME, register
from heedful.models.hf.model import HuggingFace, Layers, layers_of


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
    _check(module, padding)
    _check_fillers(module, fillers)
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


def _check(module: Any, padding: str) -> None:
    if not isinstance(module, transformers().PreTrainedModel):
        raise HeedfulError(
            f"{type(module).__name__} is no model of transformers: give a PreTrainedModel."
        )
    if padding not in ("left", "right"):
        raise HeedfulError(f"padding is {padding!r}: choose left or right.")


def _check_fillers(module: Any, fillers: Mapping[str, int]) -> None:
    """A filler that is the padding token would move where positions start or a text ends."""
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
