"""What the logits are: a head reads a module's output.

A head is given the output and where in it each text ends, and returns one row of logits per
example. A single logit stands for a yes-no question (`heedful.models.output`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.errors import HeedfulError

Head = Callable[[Any, Int[Tensor, " b"]], Float[Tensor, "b c"]]


def classes(output: Any, last: Int[Tensor, " b"]) -> Float[Tensor, "b c"]:
    """One logit per class, or one for yes."""
    logits: Tensor = output.logits
    return logits


def one_label(index: int) -> Head:
    """One label of a model with several that do not exclude each other: yes or no."""
    return lambda output, last: output.logits[:, index : index + 1]


def regression(centre: float, scale: float) -> Head:
    """A number as a logit, (y − centre) / scale. Its "probability" is then no probability but
    the number squashed between 0 and 1, a half at the centre; "class 1" is "above the centre".
    Choose centre and scale near the mean and the spread of the data."""
    if scale <= 0:
        raise HeedfulError(f"the regression's scale is {scale}: choose one above 0.")
    return lambda output, last: (output.logits[:, :1] - centre) / scale


def next_token(output: Any, last: Int[Tensor, " b"]) -> Float[Tensor, "b c"]:
    """The whole vocabulary, after the last token (of the target, where there is one)."""
    rows = torch.arange(len(last), device=last.device)
    logits: Tensor = output.logits[rows, last]
    return logits


def label_words(tokens: Sequence[int]) -> Head:
    """The next token, but only these: one per class, in the order of the classes."""
    if len(tokens) < 2 or len(set(tokens)) < len(tokens):
        raise HeedfulError("label words must be at least two different tokens, one per class.")
    chosen = list(tokens)
    return lambda output, last: next_token(output, last)[:, chosen]


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
        return next_token
    raise HeedfulError(f"what {kind} predicts is not clear: attach it with a head of your own.")
