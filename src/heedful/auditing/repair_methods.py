"""Methods that may repair attention, and the models they make of a base model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from heedful.data import Prepared
from heedful.errors import HeedfulError, unknown_name
from heedful.models import encoder_parts, make_encoder, possible
from heedful.specs import ModelSpec, TermSpec

BASE = "base"
USUAL_METHODS = ("tying", "mlm", "diversity", "orthogonal", "sparsemax", "supervised")


@dataclass(frozen=True)
class Method:
    """What it changes; `tied` says that it needs states as wide as the embeddings."""

    does: str
    terms: tuple[TermSpec, ...] = ()
    encoder: str = ""
    wrapper: str = ""
    attention: str = ""
    tied: bool = False


METHODS: Mapping[str, Method] = {
    "tying": Method(
        "states are kept near the embeddings of their words (tutek2020)",
        terms=(TermSpec("tying", 0.03),),
        tied=True,
    ),
    "mlm": Method(
        "states also have to tell masked words (tutek2020)", terms=(TermSpec("mlm", 1),), tied=True
    ),
    "concat": Method("the embedding stands beside each state (tutek2020)", wrapper="concat"),
    "residual": Method(
        "the embedding is added to each state (tutek2020)", wrapper="residual", tied=True
    ),
    "diversity": Method(
        "states are kept from pointing one way (mohankumar2020)",
        terms=(TermSpec("diversity", 0.5),),
    ),
    "orthogonal": Method(
        "each state is made orthogonal to those before it (mohankumar2020)", encoder="orthogonal"
    ),
    "sparsemax": Method("attention with exact zeros: sparsemax", attention="sparsemax"),
    "entmax": Method("attention with exact zeros: 1.5-entmax", attention="entmax"),
    "hard": Method(
        "attention takes few states and leaves the others out: HardKuma (bastings2019)",
        terms=(TermSpec("sparsity", 1, (("target", 0.2),)),),
        attention="hard",
    ),
    "rationale": Method(
        "a generator takes words, and the model reads only these (lei2016)",
        terms=(TermSpec("sparsity", 1, (("target", 0.2),)), TermSpec("coherence", 0.5)),
        wrapper="rationale",
    ),
    "supervised": Method(
        "attention is taught which words people marked", terms=(TermSpec("supervised", 1),)
    ),
}


def unfit(name: str, corpus: Prepared) -> str:
    """Why a corpus has nothing for a method; "" where it has."""
    found, width = repair_method(name), int(corpus.vectors.shape[1])
    taught = any(term.name == "supervised" for term in found.terms)
    if taught and all(marks is None for marks in corpus.split("train").sides["a"].rationales):
        return "the training texts have no rationales (--param rationale_column=… names them)."
    if found.tied and width % 4:
        return f"its states cannot be made as wide as embeddings of {width} numbers."
    return ""


def repair_method(name: str) -> Method:
    """One method, or several joined by `+`: `tying+diversity`."""
    names = [part.strip() for part in name.split("+")]
    for part in names:
        if part not in METHODS:
            raise unknown_name("method", part, list(METHODS))
    if len(set(names)) < len(names):
        raise HeedfulError(f"the method {name} names a part twice: name each once.")
    parts = [METHODS[part] for part in names]
    return Method(
        "; ".join(part.does for part in parts),
        tuple(term for part in parts for term in part.terms),
        _one(name, "encoder", (part.encoder for part in parts)),
        _one(name, "way around the encoder", (part.wrapper for part in parts)),
        _one(name, "attention", (part.attention for part in parts)),
        any(part.tied for part in parts),
    )


def check_methods(names: list[str]) -> None:
    """Before any work is done; `a+b` and `b+a` are the same method."""
    seen: dict[frozenset[str], str] = {}
    for name in names:
        repair_method(name)
        parts = frozenset(part.strip() for part in name.split("+"))
        if parts in seen:
            raise HeedfulError(f"{name} is the same method as {seen[parts]}: leave one out.")
        seen[parts] = name


def _one(name: str, what: str, given: Iterable[str]) -> str:
    found = [each for each in given if each]
    if len(found) > 1:
        raise HeedfulError(
            f"the method {name} has more than one {what} ({', '.join(found)}): choose one."
        )
    return found[0] if found else ""


def entrants(base: ModelSpec, names: list[str], width: int) -> dict[str, ModelSpec]:
    """By method, the base first. Where one method needs states as wide as the embeddings
    (`width`), all models have them, the base too: what differs is the method alone."""
    tied = any(repair_method(name).tied for name in names)
    fitted = _as_wide(base, width) if tied else base
    found = {BASE: fitted}
    for name in names:
        found[name] = changed(fitted, repair_method(name), width if tied else None)
        if found[name] == fitted:
            raise HeedfulError(f"the base model has {name} already: leave it out of --methods.")
    return found


def changed(base: ModelSpec, method: Method, width: int | None = None) -> ModelSpec:
    """The base with a method; another encoder gets the size that makes its states `width`."""
    inner, wrappers = encoder_parts(base.encoder)
    if method.wrapper in wrappers:
        raise HeedfulError(f"the base model has {method.wrapper} already: leave it out.")
    model = replace(base, encoder="+".join((method.encoder or inner, *wrappers)))
    if method.encoder and width is not None:
        model = _as_wide(model, width)
    return replace(
        model,
        encoder=f"{model.encoder}+{method.wrapper}" if method.wrapper else model.encoder,
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
