"""The attention of every layer and head for one text, as arrays and as a page."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from heedful.errors import HeedfulError
from heedful.keywords import takes
from heedful.targets import (
    AuditTarget,
    Loading,
    OneText,
    Reading,
    TokenText,
    one_text,
    open_text,
)
from heedful.types import SiteSpec
from heedful.units import WORD

MOST_WEIGHTS = 16_000_000
"""Of all heads together: what a browser can hold, and a page can carry."""
MOST_STORED = 1_500_000
"""Of all texts of an audit together."""
LEVELS = 255
QUERY = "query"
"""The side of a query that is no token: it was learned, or stands for a whole text."""
Weights = NDArray[np.float32]


@dataclass(frozen=True, repr=False)
class HeadView:
    """`weights` are [head, query, key] by the name of the site; which side queries and keys are
    tokens of is in `sites`, and the tokens in `sides`: `a` is the text, `target` what a decoder
    was given."""

    model: str
    sides: Mapping[str, TokenText]
    sites: tuple[SiteSpec, ...]
    weights: Mapping[str, Weights]
    notes: tuple[str, ...] = ()
    unit: str = WORD
    """What the words of tokens are."""

    @property
    def tokens(self) -> tuple[str, ...]:
        """Those of the text."""
        return self.sides["a"].tokens

    @property
    def heads(self) -> int:
        """How many there are."""
        return sum(len(weights) for weights in self.weights.values())

    @property
    def size(self) -> int:
        """The number of weights."""
        return sum(weights.size for weights in self.weights.values())

    def by_words(self) -> HeadView:
        """With words for tokens: a word is attended as much as its tokens together, and attends
        as its tokens do on average (Clark et al. 2019, section 4.1), so that rows keep their sums.
        Tokens of no word stay."""
        units = {side: units_of(text) for side, text in self.sides.items()}
        sides = {side: _as_words(text, units[side]) for side, text in self.sides.items()}
        weights = {
            site.name: _merged(self.weights[site.name], units[site.queries], units[site.keys])
            for site in self.sites
        }
        return replace(self, sides=sides, weights=weights)

    def to_html(self, path: str | Path) -> Path:
        """A page that opens without a network."""
        from heedful.report import PAGE_FILE
        from heedful.store import check_file, refusals, write_file

        out = Path(path)
        check_file(out, PAGE_FILE)
        with refusals(f"write the page to {out}", "make room or give another place"):
            write_file(out, self._page())
        return out

    def as_parts(self) -> dict[str, Any]:
        """Plain values, for a page: weights are one byte each, their square roots in 255 steps.
        That is off by at most 0.004 where a weight is near 1, and by far less where it is small."""
        weights = [self.weights[site.name] for site in self.sites]
        steps = b"".join(
            np.rint(LEVELS * np.sqrt(np.clip(array, 0, 1))).astype(np.uint8).tobytes()
            for array in weights
        )
        return {
            "model": self.model,
            "sides": {side: vars(text) for side, text in self.sides.items()},
            "sites": [
                {
                    "name": site.name,
                    "queries": site.queries,
                    "keys": site.keys,
                    "normalised": site.normalised,
                    "heads": len(self.weights[site.name]),
                }
                for site in self.sites
            ],
            "weights": base64.b64encode(steps).decode("ascii"),
            "notes": self.notes,
            "unit": self.unit,
        }

    def __repr__(self) -> str:
        """One line."""
        return f"<HeadView of {self.model}: {self._size()}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the page, in a frame that may reach nothing around it."""
        page, name = html.escape(self._page(), quote=True), html.escape(self.model)
        return (
            f"<p>Attention of {name}: {self._size()}.</p>"
            f'<iframe sandbox="allow-scripts" title="attention of every layer and head" '
            f'width="100%" height="720" style="border:0" srcdoc="{page}"></iframe>'
        )

    def _page(self) -> str:
        from heedful.report import heads_page

        return heads_page(self.as_parts())

    def _size(self) -> str:
        tokens = " and ".join(f"{len(text)}" for side, text in self.sides.items() if side != QUERY)
        counted = ((len(self.sites), "layer"), (self.heads, "head"))
        layers, heads = (f"{n} {what}{'s' * (n != 1)}" for n, what in counted)
        return f"{layers}, {heads}, {tokens} tokens"


@takes(Loading, Reading, only=("device", "dtype", "max_length", "template", "store"))
def head_view(
    model: Any, text: str, text_b: str | None = None, target: str | None = None, **options: Any
) -> HeadView:
    """The attention of every layer and head, from one run of the model.

    `model` is what `audit` takes, or any model of transformers with its tokenizer: it need not
    be fine-tuned. `text_b` is the second text of a pair; `target` is what an encoder–decoder
    wrote.
    """
    texts = {"text": text, "text_b": text_b, "target": target}
    given = {name: value for name, value in texts.items() if value is not None}
    for name, value in given.items():
        if not isinstance(value, str):
            kind = type(value).__name__
            raise HeedfulError(f"the {name} is not a text but a {kind}: give one str.")
        if not value.strip():
            raise HeedfulError(f"the {name} is empty: give at least one word.")
    with open_text(model, given, **options) as read:
        return look(read)


def look(read: OneText) -> HeadView:
    """At a text that is read already."""
    _check_size(read, read.heads * len(read.model.sites) * max(map(len, read.sides.values())) ** 2)
    with torch.no_grad():
        trace = read.model(read.batch)
    weights = {
        site.name: trace.weights[site.name][0].float().cpu().numpy() for site in read.model.sites
    }
    if not weights:
        raise HeedfulError("this model has no attention: give one that has some.")
    _check_size(read, sum(array.size for array in weights.values()))
    if not all(np.isfinite(array).all() for array in weights.values()):
        raise HeedfulError(f"the attention of {read.name} is not a number: check its weights.")
    sides, sites = dict(read.sides), []
    for site in read.model.sites:
        _, queries, keys = weights[site.name].shape
        sites.append(
            replace(
                site,
                queries=_side(sides, site.queries or site.keys, queries, QUERY),
                keys=_side(sides, site.keys, keys, site.level),
            )
        )
    return HeadView(read.name, sides, tuple(sites), weights, read.notes, read.unit)


def head_table(subject: AuditTarget, rows: pd.DataFrame) -> pd.DataFrame:
    """What a page shows of a few texts, which are chosen by what was measured. One that has no
    room is empty. A model of a single head has nothing to choose from."""
    places = {example: place for place, example in enumerate(subject.ids)}
    room, lines = MOST_STORED, []
    for example, why in examples(rows).items():
        read = one_text(subject, places[example])
        view = look(read) if len(read.sides["a"]) ** 2 * len(read.model.sites) <= room else None
        if view is not None and view.heads < 2:
            break
        fits = view is not None and view.size <= room
        room -= view.size if view is not None and fits else 0
        data = json.dumps(view.as_parts()) if view is not None and fits else ""
        lines.append((example, why, data))
    return pd.DataFrame(lines, columns=list(no_heads()))


def examples(rows: pd.DataFrame) -> dict[str, str]:
    """The texts whose predictions are surest, least sure, and surest among the wrong ones."""
    known = rows[rows["model"] == "base"].drop_duplicates("example").sort_values("example")
    known = known.sort_values("confidence", kind="stable").set_index("example")
    wrong = known[(known["label"] >= 0) & (known["label"] != known["predicted"])]
    chosen: dict[str, str] = {}
    for names, why in (
        (known.index[::-1], "surest prediction"),
        (known.index, "least sure prediction"),
        (wrong.index[::-1], "surest wrong prediction"),
    ):
        fresh = [str(name) for name in names if name not in chosen]
        chosen |= dict.fromkeys(fresh[:1], why)
    return chosen


def no_heads() -> pd.DataFrame:
    return pd.DataFrame(columns=["example", "why", "view"])


def units_of(text: TokenText) -> NDArray[np.int64]:
    """The unit of each token: tokens beside each other that are of one word are one unit."""
    words = np.array(text.words)
    new = np.ones(len(words), dtype=bool)
    new[1:] = (words[1:] != words[:-1]) | (words[1:] < 0)
    return new.cumsum() - 1


def _check_size(read: OneText, weights: int) -> None:
    if weights > MOST_WEIGHTS:
        tokens = max(map(len, read.sides.values()))
        fit = int(tokens * (MOST_WEIGHTS / weights) ** 0.5)
        raise HeedfulError(
            f"the text has {tokens} tokens, and a head view of {read.name} holds {fit}: give a "
            f"shorter text, or max_length={fit}."
        )


def _side(sides: dict[str, TokenText], wanted: str, count: int, kind: str) -> str:
    """The side with so many positions: the wanted one, or else one that has only their numbers."""
    if wanted in sides and len(sides[wanted]) == count:
        return wanted
    name = kind if kind not in sides or len(sides[kind]) == count else f"{kind} {count}"
    if name not in sides:
        singular = kind.removesuffix("s")
        tokens = tuple(f"{singular} {i + 1}" if count > 1 else singular for i in range(count))
        none = (-1,) * count
        sides[name] = TokenText(tokens, none, (), (False,) * count, (0,) * count)
    return name


def _as_words(text: TokenText, units: NDArray[np.int64]) -> TokenText:
    first = np.unique(units, return_index=True)[1].tolist()
    words = tuple(text.words[i] for i in first)
    return TokenText(
        tuple(text.surface[text.words[i]] if text.words[i] >= 0 else text.tokens[i] for i in first),
        words,
        text.surface,
        tuple(text.special[i] for i in first),
        tuple(text.parts[i] for i in first),
    )


def _merged(weights: Weights, queries: NDArray[np.int64], keys: NDArray[np.int64]) -> Weights:
    attends = np.eye(int(queries[-1]) + 1, dtype=np.float64)[queries]
    attended = np.eye(int(keys[-1]) + 1, dtype=np.float64)[keys]
    merged: Weights = ((attends / attends.sum(0)).T @ weights @ attended).astype(np.float32)
    return merged
