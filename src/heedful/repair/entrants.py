"""The models that are compared: the base, and one for each method."""

from __future__ import annotations

from dataclasses import replace

from heedful.errors import HeedfulError
from heedful.models import encoder_parts, make_encoder, possible
from heedful.repair.methods import BASE, Method, method
from heedful.specs import ModelSpec


def entrants(base: ModelSpec, names: list[str], width: int) -> dict[str, ModelSpec]:
    """By method, the base first. Where one method needs states as wide as the embeddings
    (`width`), all models have them, the base too: what differs is the method alone."""
    tied = any(method(name).tied for name in names)
    fitted = _as_wide(base, width) if tied else base
    found = {BASE: fitted}
    for name in names:
        found[name] = changed(fitted, method(name), width if tied else None)
        if found[name] == fitted:
            raise HeedfulError(f"the base model has {name} already: leave it out of --methods.")
    return found


def changed(base: ModelSpec, method: Method, width: int | None = None) -> ModelSpec:
    """The base with a method; another encoder gets the size that makes its states `width`."""
    inner, wrappers = encoder_parts(base.encoder)
    if method.wrapper in wrappers:
        raise HeedfulError(f"the base model has {method.wrapper} already: leave it out.")
    names = (method.encoder or inner, *wrappers)
    model = replace(base, encoder="+".join(names))
    if method.encoder and width is not None:
        model = _as_wide(model, width)
    return replace(
        model,
        encoder="+".join((model.encoder, method.wrapper) if method.wrapper else (model.encoder,)),
        attention=method.attention or model.attention,
        terms=(*model.terms, *method.terms),
    )


def _as_wide(spec: ModelSpec, width: int) -> ModelSpec:
    """With the hidden size that makes its states as wide as the embeddings."""
    hidden = make_encoder(spec, width).hidden_for(width)
    if hidden is None or not possible(hidden):
        raise HeedfulError(
            f"states of {spec.encoder} cannot be made as wide as embeddings of {width} numbers, "
            f"as some methods need: choose another --encoder or vectors of another width."
        )
    return replace(spec, hidden=hidden)
