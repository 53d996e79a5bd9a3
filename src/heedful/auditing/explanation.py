"""The explanations of an audit: by name, and as maps of a batch with their cost."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Int
from torch import Tensor

from heedful.attributions import SALIENCIES, Prior
from heedful.attributions import explain as scores_of
from heedful.auditing.spec import BASELINES, BY_TOKEN
from heedful.entries import Attribution
from heedful.errors import HeedfulError
from heedful.experiments import torch_module
from heedful.hashing import stable_hash
from heedful.models import TARGETS
from heedful.parameters import check_parameters, parameters_of, value_of
from heedful.perturbations import REMOVALS
from heedful.targets import AuditTarget
from heedful.types import Batch, Model
from heedful.units import TOKEN, WORD
from heedful.verdict import Settings


@dataclass(frozen=True)
class Decisions:
    model: Model
    batch: Batch
    label: Int[Tensor, " b"]


# Explanations by name and parameters: `attention`, `attention:layer=0,head=3`.


GIVEN = ("model", "batch", "label", "target", "trace", "counts", "texts")


@dataclass(frozen=True)
class Named:
    """An explanation as the user wrote it, its piece, and the parameters after the colon."""

    name: str
    piece: Attribution
    params: dict[str, Any]

    @property
    def uses(self) -> tuple[str, ...]:
        """The perturbations that made it: as its piece declares them, with the values of the
        parameters it names. Padding counts as `zero`: its embedding is zero in our models."""
        values = _all_params(self)[1]
        names = [values[name[1:]] if name[:1] == "=" else name for name in self.piece.uses or ()]
        names = ["zero" if name == "pad" else name for name in names]
        return tuple(name for name in dict.fromkeys(names) if name in REMOVALS)


def uses_of(model: Model, names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The perturbations that made each explanation, as this model has them; explanations that use
    none are left out."""
    found = {each.name: distinct_operators(model, each.uses) for each in map(named, names)}
    return {name: uses for name, uses in found.items() if uses}


def signed(names: Iterable[str]) -> tuple[str, ...]:
    """The explanations that say which class a word speaks for."""
    known = (each for each in map(named, names) if each.piece.signed)
    return tuple(each.name for each in known if not each.params.get("magnitude"))


def named(text: str) -> Named:
    base, colon, rest = text.partition(":")
    piece = SALIENCIES[base.strip()]
    params: dict[str, Any] = {}
    for name, value in (_pair(text, part) for part in rest.split(",") if colon):
        if name in params:
            raise HeedfulError(f"{text!r} gives {name!r} twice: give it once.")
        params[name] = value
    check_parameters(f"explanation {piece.name}", piece.make, params, piece.bounds, GIVEN)
    known = parameters_of(piece.make)
    whole = [name for name in params if isinstance(known[name].default, float)]
    return Named(text, piece, params | {name: float(params[name]) for name in whole})


def all_named(texts: Iterable[str]) -> list[Named]:
    """Each once, however its parameters are spelled: what is left out is the default."""
    found: list[Named] = []
    for each in map(named, texts):
        same = next((known for known in found if _all_params(known) == _all_params(each)), None)
        if same is not None:
            also = "" if same.name == each.name else f", also as {each.name!r}"
            raise HeedfulError(f"the explanation {same.name!r} is named twice{also}: name it once.")
        found.append(each)
    return found


def _all_params(each: Named) -> tuple[str, dict[str, Any]]:
    made = parameters_of(each.piece.make, GIVEN)
    return each.piece.name, {name: one.default for name, one in made.items()} | each.params


def names_in(text: str) -> list[str]:
    """Names separated by commas; a comma before `x=` belongs to the name before it."""
    parts = [part.strip() for part in re.split(r",(?!\s*[a-z_]+=)", text)]
    if not all(parts):
        raise HeedfulError(f"an explanation has no name in {text!r}: separate names by one comma.")
    return parts


def asked(subject: AuditTarget, names: Iterable[str], must: Container[str]) -> tuple[str, ...]:
    """The explanations that are tried on a model. Unless they were named, those that follow tokens
    through layers are not where it has none, nor are those that run it once for each token where
    units are longer than words."""
    from heedful.models import HuggingFace  # only here: a model of our own needs none of it

    layered, short = isinstance(subject.model, HuggingFace), subject.unit in (TOKEN, WORD)

    def tried(name: str) -> bool:
        piece = named(name).piece
        return (layered or "layers" not in piece.needs) and (short or piece.name not in BY_TOKEN)

    return tuple(name for name in names if name in must or tried(name))


Texts = Callable[[], Iterable[Batch]]
"""All texts under audit, batch by batch, each time it is called."""


def fitted(each: Named, prior: Prior, texts: Texts | None = None) -> Named:
    """The prior counts words in all texts, not in the batch it happens to see. What learns from
    texts learns from those under audit, if they are given."""
    if each.piece.fit is not None and texts is not None:
        crossed = CrossFitted(each.piece, texts, each.params)
        return replace(each, piece=replace(each.piece, make=crossed), params={})
    if each.piece.name != "prior" or each.params.get("kind", "type") != "type":
        return each
    return replace(each, piece=prior.piece, params={})


@dataclass(frozen=True)
class CrossFitted:
    """An explanation that learns: what it learned from one half of the texts scores the other, so
    no text is scored by what it taught. It learns when it is first asked."""

    piece: Attribution
    texts: Texts
    params: Mapping[str, Any]
    _learned: dict[int, Any] = field(default_factory=dict)

    def __call__(self, model: Model, batch: Batch) -> Tensor:
        mask = batch.texts["a"].mask
        scores = torch.zeros(mask.shape, dtype=torch.float64, device=mask.device)
        for half in (0, 1):
            rows = _of_half(batch, half)
            if len(rows):
                taught = self._from(1 - half, model)
                found = self.piece.make(model, batch.take(rows), texts=taught)
                scores[rows, : found.shape[1]] = found
        return scores

    def _from(self, half: int, model: Model) -> Any:
        assert self.piece.fit is not None
        if half not in self._learned:
            chosen = ((batch, _of_half(batch, half)) for batch in self.texts())
            some = (batch.take(rows) for batch, rows in chosen if len(rows))
            self._learned[half] = self.piece.fit(model, some, **self.params)
        return self._learned[half]


def _of_half(batch: Batch, half: int) -> Int[Tensor, " n"]:
    """The rows of a batch whose examples are in this half, by a hash of their ids."""
    halves = torch.tensor([stable_hash(0, "half", name) & 1 for name in batch.ids])
    rows: Tensor = (halves == half).nonzero().flatten().to(batch.labels.device)
    return rows


def _pair(text: str, part: str) -> tuple[str, Any]:
    name, sign, value = part.partition("=")
    if not sign or not name.strip():
        raise HeedfulError(f"{text!r} is no explanation: write name:parameter=value,…")
    return name.strip(), value_of(value.strip())


# The removal operators of an audit, each of them once.


SAME = (
    "this model has no mask token of its own, so mask and unk are the same removal operator: "
    "it counts once, as mask."
)


def distinct_operators(model: Model, names: Sequence[str]) -> tuple[str, ...]:
    """Two names of one operator would agree with each other and decide as if they were two.
    The one name is `mask`, so that what was made by masking is known to be made by it."""
    return merged(names) if masks_with_unknown(model) else tuple(dict.fromkeys(names))


def merged(names: Sequence[str]) -> tuple[str, ...]:
    """As a model has them to which a masked word is an unknown one."""
    return tuple(dict.fromkeys("mask" if name == "unk" else name for name in names))


def operator_notes(model: Model, names: Sequence[str]) -> tuple[str, ...]:
    """What a reader should know of the operators that were asked for."""
    return (SAME,) if "unk" in names and masks_with_unknown(model) else ()


def masks_with_unknown(model: Model) -> bool:
    """Whether a masked word is an unknown one."""
    unknown = model.fillers.get("unk")
    return unknown is not None and model.fillers.get("mask", unknown) == unknown


def not_by_own(rows: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """The rows in which no explanation is scored by an operator that made it."""
    pairs = zip(rows["explanation"], rows["operator"], strict=True)
    own = [operator in settings.made_with(str(name)) for name, operator in pairs]
    return rows[~np.array(own, dtype=bool)]


# The maps of one batch: every explanation as one score per word, with what it cost.


@dataclass
class Cost:
    """Seconds and texts through the model, summed over batches."""

    seconds: float = 0.0
    passes: int = 0
    texts: int = 0

    def add(self, other: Cost) -> None:
        self.seconds += other.seconds
        self.passes += other.passes
        self.texts += other.texts


@dataclass
class Explained:
    """Scores `[b, w]` by explanation; what a model cannot give is in `skipped`, with the reason."""

    maps: dict[str, Tensor] = field(default_factory=dict)
    costs: dict[str, Cost] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)


def explained(
    made: Decisions,
    wanted: Iterable[Named],
    target: str,
    skip: Mapping[str, str],
    must: frozenset[str] = frozenset(),
) -> Explained:
    """`must` are those the user named: they fail instead of being skipped."""
    found = Explained(skipped=dict(skip))
    for each in wanted:
        if each.name in found.skipped:
            continue
        cost = Cost(texts=len(made.batch))
        try:
            with timed(made.model, cost):
                found.maps[each.name] = explanation(made, each, target)
        except HeedfulError as error:
            if each.name in must:
                raise
            found.skipped[each.name] = str(error)
            continue
        if each.piece.name not in BASELINES:  # a shortcut past the module's call is no free map
            cost.passes = max(cost.passes, len(made.batch))
        found.costs[each.name] = cost
    return found


def explanation(made: Decisions, each: Named, target: str) -> Tensor:
    """One map."""
    return scores_of(each.piece, made.model, made.batch, made.label, TARGETS[target], **each.params)


def baselines(made: Decisions, prior: Prior, random: Named) -> dict[str, Tensor]:
    """What can be said without looking at the model."""
    return {
        "random": scores_of(random.piece, made.model, made.batch, made.label, **random.params),
        "prior": scores_of(prior.piece, made.model, made.batch, made.label),
        "position": scores_of("prior", made.model, made.batch, made.label, kind="position"),
    }


@contextmanager
def timed(model: Model, cost: Cost) -> Iterator[None]:
    """Time, and texts through the module, while the block runs."""
    from heedful.models import HuggingFace  # only here: a model of our own needs none of it

    runs, first = torch_module(model), False
    if isinstance(model, HuggingFace):  # some runs go past the wrapper: those between layers
        runs, first = model.module, True

    def count(module: torch.nn.Module, inputs: object, output: Any) -> None:
        cost.passes += len(output[0] if first else output.logits)

    hook, start = runs.register_forward_hook(count), time.perf_counter()
    try:
        yield
    finally:
        hook.remove()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        cost.seconds = time.perf_counter() - start


def check_finite(p: Tensor, ids: tuple[str, ...]) -> None:
    bad = (~p.isfinite()).any(-1).nonzero().flatten().tolist()
    if bad:
        raise HeedfulError(
            f"the model's output for text {ids[bad[0]]!r} is not a number: check its weights, or "
            f"leave the text out."
        )
