"""How data is to be read: one value that travels from the user to the readers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from heedful.errors import HeedfulError, unknown_name
from heedful.store import Place, Store, store_at
from heedful.subjects.document import Span


@dataclass(frozen=True)
class Reading:
    """Columns are for tables, `split` for corpora and dataset dicts (without one it is `test`),
    `params` for corpora.

    `label_column=None` says that there are no labels. `n` is a random sample of that many
    texts, drawn by a hash of their ids and the seed. `words` says where a text's words
    stand; without it they are the tokens a corpus brings, else what `split_words` finds.
    `trained` are the facts of the corpus that a fine-tuned model was trained on.
    """

    split: str | None = None
    text_column: str = "text"
    text_b_column: str | None = None
    label_column: str | None = "label"
    id_column: str | None = None
    rationale_column: str | None = None
    cluster_column: str | None = None
    n: int | None = None
    seed: int = 0
    data_dir: Path | None = None
    store: Store | Place | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    words: Callable[[str], tuple[Span, ...]] | None = None
    trained: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.n is not None and self.n < 1:
            raise HeedfulError(f"n is {self.n}: give at least 1 text, or leave it out for all.")

    @cached_property
    def opened(self) -> Store | None:
        """The store, wherever it is."""
        return None if self.store is None else store_at(self.store)

    @property
    def part(self) -> str:
        """The split that is read of what has several."""
        return "test" if self.split is None else self.split

    @property
    def columns(self) -> dict[str, str]:
        """The named columns by role."""
        roles = ("text", "text_b", "label", "id", "rationale", "cluster")
        named = {role: getattr(self, f"{role}_column") for role in roles}
        return {role: column for role, column in named.items() if column is not None}

    def refuse_columns(self, source: str) -> None:
        """Of what is no table, so that no option is silently without effect."""
        usual = Reading().columns
        for role, column in self.columns.items():
            if column != usual.get(role):
                raise HeedfulError(f"{source} is no table of columns: leave {role}_column out.")

    def refuse_params(self, source: str) -> None:
        """Of what is not read by a corpus's own reader."""
        for name in self.params:
            raise HeedfulError(f"{source} has no parameter {name!r}: leave it (--param) out.")


def reading_of(**options: Any) -> Reading:
    """The same, with a sentence for an unknown option."""
    known = [each.name for each in fields(Reading)]
    for name in options:
        if name not in known:
            raise unknown_name("option", name, known)
    return Reading(**options)
