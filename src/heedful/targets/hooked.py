"""Models of TransformerLens and nnsight as transformers knows them. Neither package is imported: a
model of theirs is only there where somebody else did."""

from __future__ import annotations

import sys
from typing import Any

from heedful import models
from heedful.errors import HeedfulError


def unwrapped(model: Any) -> Any:
    """A (module, tokenizer) pair of such a model, or of one with another tokenizer; everything
    else as it is."""
    if isinstance(model, tuple) and len(model) == 2:
        found = _parts(model[0])
        return model if found is None else (found[0], model[1])
    found = _parts(model)
    return model if found is None else found


def _parts(model: Any) -> tuple[Any, Any] | None:
    """The module underneath, and the model's tokenizer."""
    if isinstance(model, _kinds("transformer_lens", "HookedTransformer")):
        return models.HookedForCausalLM(model), model.tokenizer
    if isinstance(model, _kinds("transformer_lens.model_bridge", "TransformerBridge")):
        return model.original_model, model.tokenizer
    if isinstance(model, _kinds("nnsight", "NNsight", "Envoy")):
        return _loaded(model), getattr(model, "tokenizer", None)
    return None


def _kinds(package: str, *names: str) -> tuple[type[Any], ...]:
    """Its classes, as far as it was imported and has them."""
    found = sys.modules.get(package)
    kinds = (vars(found).get(name) for name in names) if found is not None else ()
    return tuple(kind for kind in kinds if isinstance(kind, type))


def _loaded(model: Any) -> Any:
    """nnsight reads weights when a model is first run."""
    module = model._module
    if any(parameter.is_meta for parameter in module.parameters()):
        raise HeedfulError(
            f"the weights of the {type(model).__name__} are not loaded yet: create it with "
            f"dispatch=True."
        )
    return module
