"""Going on from a layer instead of from the start.

Most of a transformer is a list of like layers. What each of them gave is noted in one pass,
and a later pass of the same batch repeats it: nothing changes before the first edited site.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from torch import nn

from heedful.models.hf.record import Recorder, Site
from heedful.types import Embeddings

Layers = Sequence[nn.Module]


@dataclass(frozen=True)
class Answer:
    """What a call of a layer gave, and how many sites had been called by then."""

    sites: int
    output: Any


@dataclass(frozen=True)
class Notes:
    """The answers of one pass by layer and by which of its calls it was, and the embeddings
    that pass was given."""

    embeddings: Embeddings | None = None
    answers: dict[tuple[nn.Module, int], Answer] = field(default_factory=dict)


def layers_of(module: nn.Module, sites: Sequence[Site]) -> tuple[nn.Module, ...]:
    """The members of the outermost lists that hold sites."""
    homes = {site.module for site in sites}
    found: list[nn.Module] = []
    for child in module.children():
        if isinstance(child, nn.ModuleList) and not homes.isdisjoint(child.modules()):
            found += child
        else:
            found += layers_of(child, sites)
    return tuple(found)


@contextmanager
def layered(layers: Layers, recorder: Recorder, notes: Notes | None, first: int) -> Iterator[None]:
    """What is in the notes and was through before the site number `first` is repeated; what is
    not is noted. Nothing after the last site is: it is never repeated."""
    if notes is None:
        yield
        return
    answers = notes.answers

    def answer(layer: nn.Module, nth: int, forward: Callable[[], Any]) -> Any:
        known = answers.get((layer, nth))
        if known is not None and known.sites <= first:
            recorder.skip(known.sites)
            return known.output
        output = forward()
        if known is None and recorder.passed < len(recorder.sites):
            answers[layer, nth] = Answer(recorder.passed, output)
        return output

    with _instead(layers, answer):
        yield


Answering = Callable[[nn.Module, int, Callable[[], Any]], Any]


@contextmanager
def _instead(layers: Layers, answer: Answering) -> Iterator[None]:
    """`answer` is asked in place of each layer. A `forward` of the layer's own (other tools put
    one there too) comes back afterwards."""
    called: Counter[nn.Module] = Counter()

    def ask(layer: nn.Module, forward: Callable[..., Any], *args: Any, **options: Any) -> Any:
        called[layer] += 1
        return answer(layer, called[layer] - 1, partial(forward, *args, **options))

    own: Mapping[nn.Module, Any] = {each: vars(each).get("forward") for each in layers}
    try:
        for each in own:
            vars(each)["forward"] = partial(ask, each, each.forward)
        yield
    finally:
        for each, forward in own.items():
            vars(each).pop("forward", None)
            if forward is not None:
                vars(each)["forward"] = forward
