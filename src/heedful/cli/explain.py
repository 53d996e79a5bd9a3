"""`heedful explain`: one text, one or several explanations."""

from __future__ import annotations

import math
from typing import Annotated, Any

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
    from heedful.auditing.explanation import explain as run

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
        for word, score in zip(found.words, scores, strict=True):
            show(_line(word, score, scores))
    if found.interactions:
        show("")
        show("together, beyond what each does alone")
        for one, other, value in found.interactions:
            show(f"  {one} + {other}  {value:+.4f}")


def _line(word: str, score: float, scores: Any) -> str:
    """A word, its score, and a bar as long as its share of the largest."""
    largest = max((abs(each) for each in scores if not math.isnan(each)), default=0.0)
    if math.isnan(score):
        return f"  {word:<20} (cut off)"
    length = round(BAR * abs(score) / largest) if largest else 0
    return f"  {word:<20} {score:+.4f} {('█' if score >= 0 else '░') * length}"
