"""`heedful explain`: one text, one or several explanations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Annotated

import typer

from heedful.cli import subject as on
from heedful.cli.options import JsonOption, set_threads
from heedful.cli.spread import spread
from heedful.cli.terminal import show, show_json
from heedful.errors import HeedfulError

USUAL = "attention,gradient_input,integrated_gradients,occlusion"
BAR = 24


@spread
def explain(
    model: on.ModelArgument,
    text: Annotated[str, typer.Argument(help="The text to explain.")],
    text_b: Annotated[str | None, typer.Option(help="The second text of a pair.")] = None,
    explanations: Annotated[str, typer.Option(help="Names, comma-separated.")] = USUAL,
    target: Annotated[str, typer.Option(help="logit, probability or loss.")] = "probability",
    of: Annotated[
        str | None, typer.Option("--of", help="The class to explain; else the predicted one.")
    ] = None,
    pairs: Annotated[
        int, typer.Option(min=0, max=20, help="Also how so many top words interact, in pairs.")
    ] = 0,
    asked: on.ModelOptions = on.ModelOptions(),
    as_json: JsonOption = False,
) -> None:
    """Score every word of a text."""
    from heedful.auditing import explain as run

    if not text.strip():
        raise HeedfulError("the text is empty: give at least one word.")
    if text_b is not None and not text_b.strip():
        raise HeedfulError("the second text is empty: give at least one word, or leave it out.")
    set_threads(asked.threads)
    found = run(model, text, text_b, explanations, target, of, pairs, **asked.given())
    if as_json:
        show_json("explain", found.to_dict())
        return
    show(f"predicted: {found.predicted}")
    show(f"explained: {target} of {found.explained} (probability {found.probability:.3f})")
    for name, scores in found.scores.items():
        show("")
        show(name)
        for line in _lines(found.words, scores):
            show(line)
    if found.interactions:
        show("")
        show("together, beyond what each does alone")
        for one, other, value in found.interactions:
            show(f"  {one} + {other}  {value:+.4f}")


def _lines(words: Sequence[str], scores: Sequence[float]) -> Iterator[str]:
    """A word, its score, and a bar as long as its share of the largest. Words that the model
    does not read are counted."""
    largest = max((abs(score) for score in scores if not math.isnan(score)), default=0.0)
    pairs = zip(words, scores, strict=True)
    for cut, some in groupby(pairs, key=lambda pair: math.isnan(pair[1])):
        if cut:
            count = sum(1 for _ in some)
            yield f"  ({count:,} word{'s' * (count > 1)} cut off)"
            continue
        for word, score in some:
            length = round(BAR * abs(score) / largest) if largest else 0
            yield f"  {word:<20} {score:+.4f} {('█' if score >= 0 else '░') * length}"
