"""A model and its texts, named on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from heedful.cli.options import check_data_dir, open_store
from heedful.errors import HeedfulError

ModelArgument = Annotated[
    str, typer.Argument(help="A Hugging Face folder or id, or a Heedful run of kind model.")
]
DataArgument = Annotated[
    str | None,
    typer.Argument(help="A CSV, TSV, JSONL or Parquet file, or a corpus; a run has its own."),
]
Split = Annotated[str, typer.Option("--split", help="Of a named corpus or a run.")]
TextColumn = Annotated[str, typer.Option("--text-column", help="Column that holds the text.")]
PairColumn = Annotated[
    str | None, typer.Option("--text-b-column", help="Column of the second text of a pair.")
]
LabelColumn = Annotated[
    str, typer.Option("--label-column", help="Column that holds the label; none: no labels.")
]
RationaleColumn = Annotated[
    str | None, typer.Option("--rationale-column", help="Column of [start, end) spans.")
]
IdColumn = Annotated[str | None, typer.Option("--id-column", help="Column of ids.")]
Count = Annotated[int | None, typer.Option("--n", min=1, help="A random sample of so many texts.")]
Label = Annotated[
    str | None, typer.Option("--label", help="Which label of a model that gives several.")
]
LabelWords = Annotated[
    str | None,
    typer.Option("--label-words", help="A language model's answers: positive= good,negative= bad"),
]
LabelMap = Annotated[
    str | None, typer.Option("--label-map", help="From the data's labels: pos=LABEL_1,neg=LABEL_0")
]
Template = Annotated[str, typer.Option("--template", help="How a language model is asked.")]
MaxLength = Annotated[int | None, typer.Option("--max-length", help="Tokens a text is cut to.")]
Dtype = Annotated[str | None, typer.Option("--dtype", help="float32, float64 or bfloat16.")]
Params = Annotated[
    list[str] | None, typer.Option("--param", help="name=value: a parameter of the corpus.")
]


@dataclass(frozen=True)
class SubjectOptions:
    """Everything `open_subject` may be told, as it was typed."""

    split: str = "test"
    text_column: str = "text"
    text_b_column: str | None = None
    label_column: str = "label"
    rationale_column: str | None = None
    id_column: str | None = None
    n: int | None = None
    seed: int = 0
    label: str | None = None
    label_words: str | None = None
    label_map: str | None = None
    template: str = "{text}"
    max_length: int | None = None
    dtype: str | None = None
    device: str = "auto"
    data_dir: Path | None = None
    store: Path | None = None
    params: tuple[str, ...] = ()

    def given(self) -> dict[str, Any]:
        """As `open_subject` takes them."""
        from heedful.cli.corpus import parameter

        plain = ("split", "text_column", "text_b_column", "rationale_column", "id_column", "n")
        loading = ("seed", "label", "template", "max_length", "dtype", "device")
        found = {name: getattr(self, name) for name in (*plain, *loading)}
        found["label_column"] = None if self.label_column == "none" else self.label_column
        found["label_words"] = pairs(self.label_words, "--label-words")
        found["label_map"] = pairs(self.label_map, "--label-map")
        found["data_dir"] = check_data_dir(self.data_dir)
        found["params"] = dict(parameter(text) for text in self.params)
        if self.store is not None and self.store.is_dir():
            found["store"] = open_store(self.store)
        return found


def pairs(text: str | None, option: str) -> dict[str, str] | None:
    """`a=b,c=d`; spaces after the equals sign count, since a word of a model may begin so."""
    if text is None:
        return None
    found = {}
    for part in text.split(","):
        name, sign, value = part.partition("=")
        if not sign or not name.strip() or not value:
            raise HeedfulError(f"{option} is {text!r}: write name=value,name=value.")
        found[name.strip()] = value
    return found
