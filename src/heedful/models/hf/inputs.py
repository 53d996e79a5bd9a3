"""A Hugging Face module's keyword arguments, made of a batch, and its logits, read by a head.

A trace is always in the coordinates of a right-padded batch. Where the module must be padded on the
left, each row is turned by its own number of padding tokens, and turned back later.

A head is given the module's output and the inputs, which say where in it each text ends or is asked
about, and returns one row of logits per example. A single logit stands for a yes-no question
(`heedful.models.probabilities`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from heedful.errors import HeedfulError
from heedful.models.answering import answer_logits, check_score, odds
from heedful.types import Answer, Batch, Text


@dataclass(frozen=True)
class Form:
    """What a module wants to be given. `positions` says that positions are passed on (the
    module's own are wrong where padding is on the left, or depend on the mask); `start` is
    what a decoder that writes begins with where a batch has no target; without `cached` it must
    not be asked for a cache."""

    takes: frozenset[str]
    pad: int
    decodes: bool
    start: int | None
    segments: bool
    positions: bool = False
    left: bool = False
    cached: bool = True


@dataclass(frozen=True)
class Inputs:
    """Keyword arguments, the sides of the batch as the module sees them, and what it is asked;
    `read_at` marks where, as that of `heedful.types.Text` does, in the module's coordinates. The
    module gives logits of the `places` alone (None: of all)."""

    arguments: Mapping[str, Any]
    sides: Mapping[str, Side]
    answer: Answer | None = None
    read_at: Int[Tensor, "b t"] | None = None
    places: Int[Tensor, " p"] | None = None

    @property
    def last(self) -> Int[Tensor, " b"]:
        """Where in the module's output each text ends."""
        return self.sides.get("target", self.sides["a"]).last

    @property
    def place(self) -> Int[Tensor, " b"]:
        """Where in it a prediction is read: at the token that is asked about, or else at the
        end."""
        return self.last if self.read_at is None else self.marked(FIRST)

    def marked(self, mark: int) -> Int[Tensor, " b"]:
        """Where each text has its token with this mark."""
        if self.read_at is None:
            return self.last
        return (self.read_at & mark).argmax(-1)

    @property
    def asked(self) -> Int[Tensor, "b n"]:
        """Where it writes the next token, or each token of the answer."""
        count = 1 if self.answer is None else self.answer.tokens.shape[1]
        return (self.place[:, None] - torch.arange(count, device=self.last.device)).clamp_min(0)

    def only_asked(self) -> Inputs:
        """With logits of no other places, from a module that can leave them out."""
        places = torch.unique(self.asked)
        arguments = {**self.arguments, "logits_to_keep": places}
        return replace(self, arguments=arguments, places=places)

    def logits(self, output: Any, rows: Tensor, places: Tensor) -> Float[Tensor, "n c"]:
        """Those of some rows, at one place each."""
        at = places if self.places is None else torch.searchsorted(self.places, places)
        logits: Tensor = output.logits[rows, at]
        return logits


def inputs_of(batch: Batch, form: Form) -> Inputs:
    """Padding, special tokens and everything else are as the module knows them."""
    text = batch.texts["a"]
    side = side_of(text.lengths, text.tokens.shape[1], text.hidden, form.left)
    arguments: dict[str, Any] = {
        "input_ids": side.turn(text.tokens.masked_fill(~side.real, form.pad), 1),
        "attention_mask": side.turn(side.seen.long(), 1),
        "return_dict": True,
    }
    if form.positions:
        places = torch.arange(side.real.shape[1], device=side.real.device).expand_as(side.real)
        if side.shift is not None:
            places = (places - side.shift[:, None]).clamp_min(0)
        arguments["position_ids"] = places
    if form.segments and text.segments is not None:
        arguments["token_type_ids"] = side.turn(text.segments.masked_fill(~side.real, 0), 1)
    sides = {"a": side}
    if form.decodes:
        if not form.cached:
            arguments["use_cache"] = False
        sides["target"] = _target(batch, side, form, arguments)
    read_at = None if text.read_at is None else side.turn(text.read_at, 1)
    return Inputs(arguments, sides, batch.answer, read_at)


def _target(batch: Batch, source: Side, form: Form, arguments: dict[str, Any]) -> Side:
    """The batch's own target, or else the start token where the module writes, or else the
    text itself one place later, which modules that classify make themselves."""
    text = batch.texts.get("target")
    if text is None and form.start is None:
        hidden = F.pad((source.real & ~source.seen)[:, :-1], (1, 0))
        side = Side(source.real, source.real & ~hidden)
    else:
        if text is None:
            tokens = torch.full((len(source.real), 1), form.start or 0, device=source.real.device)
            text = Text(tokens, torch.ones_like(tokens[:, 0]), torch.zeros_like(tokens).bool())
        side = side_of(text.lengths, text.tokens.shape[1], text.hidden, False)
        arguments["decoder_input_ids"] = text.tokens.masked_fill(~side.real, form.pad)
    arguments["decoder_attention_mask"] = side.seen.long()
    return side


@dataclass(frozen=True)
class Side:
    """Which positions of one side are tokens, which of them may be seen, and how many places
    each row is moved to the right for the module (None: not at all)."""

    real: Bool[Tensor, "b t"]
    seen: Bool[Tensor, "b t"]
    shift: Int[Tensor, " b"] | None = None

    @property
    def last(self) -> Int[Tensor, " b"]:
        """Where the module has each text's last token."""
        ends = self.real.sum(-1)
        return (ends if self.shift is None else ends + self.shift).clamp_min(1) - 1

    def turn(self, values: Tensor, dim: int) -> Tensor:
        """From a trace's coordinates to the module's."""
        return values if self.shift is None else _turned(values, -self.shift, dim)

    def turn_back(self, values: Tensor, dim: int) -> Tensor:
        return values if self.shift is None else _turned(values, self.shift, dim)


def side_of(
    lengths: Int[Tensor, " b"], width: int, hidden: Bool[Tensor, "b t"] | None, left: bool
) -> Side:
    real = torch.arange(width, device=lengths.device) < lengths[:, None]
    seen = real if hidden is None else real & ~hidden
    return Side(real, seen, width - lengths if left else None)


def _turned(values: Tensor, by: Tensor, dim: int) -> Tensor:
    """Each row read from so many places further on, round and round."""
    width = values.shape[dim]
    places = (torch.arange(width, device=values.device) + by[:, None]) % width
    shape = [1] * values.ndim
    shape[0], shape[dim] = places.shape
    return values.gather(dim, places.view(shape).expand_as(values))


FIRST, LAST = 1, 2
"""Marks of `read_at`."""
Head = Callable[[Any, Inputs], Float[Tensor, "b c"]]


def classes(output: Any, inputs: Inputs) -> Float[Tensor, "b c"]:
    """One logit per class, or one for yes."""
    logits: Tensor = output.logits
    return logits


def one_label(index: int) -> Head:
    """One label of a model with several that do not exclude each other: yes or no."""
    return lambda output, inputs: output.logits[:, index : index + 1]


def regression(centre: float, scale: float) -> Head:
    """A number as a logit, (y − centre) / scale. Its "probability" is then no probability but
    the number squashed between 0 and 1, a half at the centre; "class 1" is "above the centre".
    Choose centre and scale near the mean and the spread of the data."""
    if scale <= 0:
        raise HeedfulError(f"the regression's scale is {scale}: choose one above 0.")
    return lambda output, inputs: (output.logits[:, :1] - centre) / scale


@dataclass(frozen=True)
class Writing:
    """A head that reads the logits of the places that `Inputs.asked` names, and no others: those
    of a long text at each of its tokens can be larger than the model."""

    read: Head

    def __call__(self, output: Any, inputs: Inputs) -> Float[Tensor, "b c"]:
        return self.read(output, inputs)


@Writing
def one_token(output: Any, inputs: Inputs) -> Float[Tensor, "b c"]:
    """All logits of the token that is asked about: its labels, or what may stand there; or else of
    the last token (of the target, where there is one)."""
    rows = torch.arange(len(inputs.place), device=inputs.place.device)
    return inputs.logits(output, rows, inputs.place)


def label_words(tokens: Sequence[int]) -> Head:
    """The next token or the masked one, but only these: one per class, in the order of the
    classes."""
    if len(tokens) < 2 or len(set(tokens)) < len(tokens):
        raise HeedfulError("label words must be at least two different tokens, one per class.")
    chosen = list(tokens)
    return Writing(lambda output, inputs: one_token(output, inputs)[:, chosen])


def answers(score: str = "mean") -> Head:
    """One logit for the batch's answer (`heedful.models.answer_logits`). A batch without an answer
    is asked for the next token."""
    check_score(score)

    def head(output: Any, inputs: Inputs) -> Float[Tensor, "b c"]:
        if inputs.answer is None:
            return one_token(output, inputs)
        return answer_logits(partial(inputs.logits, output), inputs.place, inputs.answer, score)

    return Writing(head)


def span(output: Any, inputs: Inputs) -> Float[Tensor, "b c"]:
    """One logit for "this span", log p / (1 − p), against "anything else": p is the probability of
    the span's first token as a start times that of its last one as an end, each among all tokens
    that are there. A batch that marks none is asked about its last token."""
    scores = torch.stack([output.start_logits, output.end_logits], -1)
    rows = torch.arange(len(scores), device=scores.device)
    places = torch.stack([inputs.marked(mark) for mark in (FIRST, LAST)], -1)
    if inputs.read_at is None:
        return scores[rows, inputs.last]
    side = inputs.sides["a"]
    there = side.turn(side.real, 1)[..., None]
    scores = scores.double().masked_fill(~there, -torch.inf)
    own = scores.gather(1, places[:, None])
    others = scores.scatter(1, places[:, None], -torch.inf).logsumexp(1)
    return odds(F.logsigmoid(own[:, 0] - others).sum(-1, keepdim=True))


def default_head(module: Any, output: Any) -> Head:
    """The head that goes without saying, or an error that names the choices."""
    kind, logits = type(module).__name__, getattr(output, "logits", None)
    problem = getattr(module.config, "problem_type", None)
    if problem == "regression":
        raise HeedfulError(
            f"{kind} predicts a number: attach it with head=regression(centre, scale)."
        )
    if problem == "multi_label_classification":
        raise HeedfulError(
            f"{kind} has several labels at once: attach it with head=one_label(index)."
        )
    if isinstance(logits, Tensor) and logits.ndim == 2:
        return classes
    if isinstance(logits, Tensor) and logits.ndim == 3 and module.can_generate():
        return one_token
    raise HeedfulError(f"what {kind} predicts is not clear: attach it with a head of your own.")
