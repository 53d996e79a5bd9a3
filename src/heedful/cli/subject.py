"""A model and its texts, named on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from heedful.cli.options import (
    DEFAULT_STORE,
    MOST,
    DataDirOption,
    DeviceOption,
    SeedOption,
    StoreOption,
    ThreadsOption,
    check_data_dir,
    existing_store,
)
from heedful.errors import HeedfulError

ModelArgument = Annotated[
    str, typer.Argument(help="A Hugging Face folder or id, or a Heedful run of kind model.")
]
DataArgument = Annotated[
    str | None,
    typer.Argument(help="A CSV, TSV, JSONL or Parquet file, or a corpus; a run has its own."),
]
Split = Annotated[
    str | None,
    typer.Option("--split", help="Of a named corpus or a run: train, dev or test (the default)."),
]
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
ClusterColumn = Annotated[
    str | None,
    typer.Option("--cluster-column", help="Column of what texts share, such as an author."),
]
Count = Annotated[
    int | None, typer.Option("--n", min=1, max=MOST, help="A random sample of so many texts.")
]
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
MaxLength = Annotated[
    int | None, typer.Option("--max-length", max=MOST, help="Tokens a text is cut to.")
]
Dtype = Annotated[str | None, typer.Option("--dtype", help="float32, float64 or bfloat16.")]
Params = Annotated[
    list[str] | None, typer.Option("--param", help="name=value: a parameter of the corpus.")
]


@dataclass(frozen=True)
class ModelOptions:
    """How a model is loaded and asked, as it was typed."""

    label: Label = None
    label_words: LabelWords = None
    template: Template = "{text}"
    max_length: MaxLength = None
    dtype: Dtype = None
    seed: SeedOption = 0
    store: StoreOption = DEFAULT_STORE
    device: DeviceOption = "auto"
    threads: ThreadsOption = None

    def given(self) -> dict[str, Any]:
        """As `open_subject` takes them."""
        plain = ("label", "template", "max_length", "dtype", "seed", "device")
        found = {name: getattr(self, name) for name in plain}
        found["label_words"] = pairs(self.label_words, "--label-words")
        store = existing_store(self.store)
        if store is not None:
            found["store"] = store
        return found


@dataclass(frozen=True)
class SubjectOptions(ModelOptions):
    """Everything `open_subject` may be told: the model's options and the data's."""

    n: Count = None
    split: Split = None
    text_column: TextColumn = "text"
    text_b_column: PairColumn = None
    label_column: LabelColumn = "label"
    rationale_column: RationaleColumn = None
    id_column: IdColumn = None
    cluster_column: ClusterColumn = None
    label_map: LabelMap = None
    param: Params = None
    data_dir: DataDirOption = None

    def given(self) -> dict[str, Any]:
        from heedful.cli.corpus import parameters

        columns = ("text_column", "text_b_column", "rationale_column", "id_column")
        plain = ("n", "split", "cluster_column", *columns)
        found = {**super().given(), **{name: getattr(self, name) for name in plain}}
        found["label_column"] = None if self.label_column == "none" else self.label_column
        found["label_map"] = pairs(self.label_map, "--label-map")
        found["data_dir"] = check_data_dir(self.data_dir)
        found["params"] = parameters(self.param)
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
        if name.strip() in found:
            raise HeedfulError(f"{option} names {name.strip()!r} twice: name it once.")
        found[name.strip()] = value
    return found
