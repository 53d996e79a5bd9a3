"""Options of audits: a model, its texts, what is measured and how it is decided."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heedful.cli.help import DATA, DECIDED, MEASURED, MODEL
from heedful.cli.options import (
    DEFAULT_STORE,
    MOST,
    DataDirOption,
    DeviceOption,
    ParamOption,
    QuickOption,
    SeedOption,
    StoreOption,
    TextColumn,
    ThreadsOption,
    check_data_dir,
    existing_store,
    given,
    numbers,
    option,
    pairs,
    parameters,
)

if TYPE_CHECKING:
    pass


ModelArgument = Annotated[
    str, typer.Argument(help="A Hugging Face folder or id, or a Heedful run of kind model.")
]
DataArgument = Annotated[
    str | None,
    typer.Argument(help="A CSV, TSV, JSONL or Parquet file, or a corpus; a run has its own."),
]


TokenOption = Annotated[
    int | None,
    typer.Option(
        help="Explain this token of the answer alone; the first is 1.",
        min=1,
        max=MOST,
        rich_help_panel=MODEL,
    ),
]


@dataclass(frozen=True)
class ModelOptions:
    """How a model is loaded and queried, as it was typed."""

    label: str | None = option("Label to explain of a multi-label model.", panel=MODEL)
    label_words: str | None = option(
        "Answers of a language model by label: positive= good,negative= bad", panel=MODEL
    )
    template: str = option(
        "Prompt of a language model, with {text}; {text_b} is the second text, {mask} a mask.",
        "{text}",
        panel=MODEL,
    )
    at: str | None = option("Word whose label to explain, or its number (from 1).", panel=MODEL)
    chat: bool = option("Ask through the tokenizer's chat template.", False, "--chat", panel=MODEL)
    answer: str | None = option("Answer of a model that writes, to explain.", panel=MODEL)
    contrast: str | None = option("Another answer: why not this one?", panel=MODEL)
    generate: int | None = option(
        "Let the model write the answer, of at most this many tokens.", min=1, max=MOST, panel=MODEL
    )
    temperature: float | None = option("Sample the written answer.", panel=MODEL)
    answer_score: str = option(
        "mean: geometric mean over an answer's tokens; sum: the whole answer.", "mean", panel=MODEL
    )
    max_length: int | None = option("Maximum tokens per text.", max=MOST, panel=MODEL)
    infill: str | None = option(
        "Folder of a masked language model, for the perturbation infill.", panel=MODEL
    )
    unit: str = option(
        "What is scored and removed: token, word, sentence, line, paragraph or document.",
        "word",
        panel=MEASURED,
    )
    separator: str = option(
        "Text between the documents of a list (--unit document). [default: a blank line]",
        "\n\n",
        panel=MEASURED,
        show_default=False,
    )
    dtype: str | None = option("float32, float64 or bfloat16.", panel=MODEL)
    seed: SeedOption = 0
    store: StoreOption = DEFAULT_STORE
    device: DeviceOption = "auto"
    threads: ThreadsOption = None

    def given(self) -> dict[str, Any]:
        """As `open_target` takes them."""
        plain = (
            "label", "template", "at", "chat", "answer", "contrast", "generate", "temperature",
            "answer_score", "max_length", "infill", "dtype", "unit", "separator", "seed", "device",
        )  # fmt: skip
        options = {name: getattr(self, name) for name in plain}
        options["label_words"] = pairs(self.label_words, "--label-words")
        return {**options, **given(store=existing_store(self.store))}


@dataclass(frozen=True)
class SubjectOptions(ModelOptions):
    """All options of `open_target`: those of the model and those of the data."""

    n: int | None = option("Audit a random sample of this many texts.", min=1, max=MOST)
    token: TokenOption = None
    split: str | None = option(
        "Split of a named corpus or a run: train, dev or test. [default: test]", panel=DATA
    )
    text_column: TextColumn = "text"
    text_b_column: str | None = option("Column of the second text of a pair.", panel=DATA)
    label_column: str = option("Column of the label; none: there are no labels.", "label")
    rationale_column: str | None = option("Column of [start, end) spans.", panel=DATA)
    answer_column: str | None = option("Column of answers, to explain.", panel=DATA)
    contrast_column: str | None = option("Column of answers to contrast those with.", panel=DATA)
    position_column: str | None = option(
        "Column of the words to ask about: [start, end) characters, or a number from 1.", panel=DATA
    )
    id_column: str | None = option("Column of ids.", panel=DATA)
    cluster_column: str | None = option(
        "Column of what texts share, such as their author.", panel=DATA
    )
    pair_column: str | None = option("Column that a text shares with its revisions.", panel=DATA)
    label_map: str | None = option("Labels of data and model: pos=LABEL_1,neg=LABEL_0")
    param: ParamOption = None
    data_dir: DataDirOption = None

    def check_data(self, model: str, data: str | None) -> None:
        """Refuse a file that lacks a column before torch is imported. The usual column of labels
        is only asked for where the model is known to be a classifier: others may do without."""
        from heedful.data import CORPORA, check_table_file
        from heedful.input_files import names_file

        if data is None or data in CORPORA or not names_file(data):
            return
        roles = (
            "text", "text_b", "label", "rationale", "answer", "contrast", "position", "id",
            "cluster", "pair",
        )  # fmt: skip
        columns = {role: getattr(self, f"{role}_column") for role in roles}
        usual = self.label_column == SubjectOptions.label_column
        if self.label_column == "none" or (usual and not _classifies(model)):
            del columns["label"]
        check_table_file(
            Path(data).expanduser(), {role: name for role, name in columns.items() if name}
        )

    def given(self) -> dict[str, Any]:
        columns = (
            "text_column", "text_b_column", "rationale_column", "answer_column", "contrast_column",
            "position_column", "id_column", "cluster_column", "pair_column",
        )  # fmt: skip
        plain = ("n", "token", "split", *columns)
        return {
            **super().given(),
            **{name: getattr(self, name) for name in plain},
            "label_column": None if self.label_column == "none" else self.label_column,
            "label_map": pairs(self.label_map, "--label-map"),
            "data_dir": check_data_dir(self.data_dir),
            "params": parameters(self.param),
        }


def _classifies(model: str) -> bool:
    """What the configuration of a folder says; a run or an id is not looked up for this."""
    try:
        return "ForSequenceClassification" in Path(model, "config.json").read_text(encoding="utf8")
    except (OSError, ValueError):
        return False


@dataclass(frozen=True)
class MeasureOptions:
    """What is measured and how it is decided, as it was typed."""

    explanations: str | None = option(
        "Instead of the usual set: names, comma-separated.", panel=MEASURED
    )
    also: str | None = option("Besides the usual set: names.", panel=MEASURED)
    operators: str = option(
        "How words are removed: two or more names.",
        "delete,mask",
        "--perturbations",
        panel=MEASURED,
    )
    quick: QuickOption = False
    exact_words: int | None = option(
        "Measure examples of up to this many words over all sets of words. [default: 10]",
        panel=MEASURED,
    )
    only: str | None = option(
        "Measure only these groups, such as plausibility or erasure.", panel=MEASURED
    )
    extra: str | None = option(
        "Also measure map_sanity, infidelity, eraser, candidates, counterfactuals, "
        "input_reduction, interactions of explanations; null_space, head_ablation of heads.",
        panel=MEASURED,
    )
    alpha: float | None = option("Significance level. [default: 0.05]", panel=DECIDED)
    smallest: list[str] | None = option(
        "Smallest effect of interest of a property: importance=0.5; repeatable.",
        None,
        "--min-effect",
        panel=DECIDED,
    )

    def given(self) -> dict[str, Any]:
        """As `heedful.audit` takes them."""
        plain = ("explanations", "also", "quick", "exact_words", "only", "extra", "alpha")
        effects = numbers(self.smallest or [], "--min-effect")
        named = {"perturbations": self.operators, "min_effect": effects}
        return {**{name: getattr(self, name) for name in plain}, **named}
