"""Options of audits: a model, its texts, what is measured and how it is decided."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
    maybe_names,
    names,
    numbers,
    option,
    pairs,
    parameters,
)
from heedful.errors import HeedfulError, unknown_name

if TYPE_CHECKING:
    from heedful.auditing import AuditSpec
    from heedful.verdict import Settings


ModelArgument = Annotated[
    str, typer.Argument(help="A Hugging Face folder or id, or a Heedful run of kind model.")
]
DataArgument = Annotated[
    str | None,
    typer.Argument(help="A CSV, TSV, JSONL or Parquet file, or a corpus; a run has its own."),
]


@dataclass(frozen=True)
class ModelOptions:
    """How a model is loaded and queried, as it was typed."""

    label: str | None = option("Label to explain of a multi-label model.", panel=MODEL)
    label_words: str | None = option(
        "Answers of a language model by label: positive= good,negative= bad", panel=MODEL
    )
    template: str = option("Prompt of a language model.", "{text}", panel=MODEL)
    max_length: int | None = option("Maximum tokens per text.", max=MOST, panel=MODEL)
    dtype: str | None = option("float32, float64 or bfloat16.", panel=MODEL)
    seed: SeedOption = 0
    store: StoreOption = DEFAULT_STORE
    device: DeviceOption = "auto"
    threads: ThreadsOption = None

    def given(self) -> dict[str, Any]:
        """As `open_target` takes them."""
        plain = ("label", "template", "max_length", "dtype", "seed", "device")
        options = {name: getattr(self, name) for name in plain}
        options["label_words"] = pairs(self.label_words, "--label-words")
        return {**options, **given(store=existing_store(self.store))}


@dataclass(frozen=True)
class SubjectOptions(ModelOptions):
    """All options of `open_target`: those of the model and those of the data."""

    n: int | None = option("Audit a random sample of this many texts.", min=1, max=MOST)
    split: str | None = option(
        "Split of a named corpus or a run: train, dev or test. [default: test]", panel=DATA
    )
    text_column: TextColumn = "text"
    text_b_column: str | None = option("Column of the second text of a pair.", panel=DATA)
    label_column: str = option("Column of the label; none: there are no labels.", "label")
    rationale_column: str | None = option("Column of [start, end) spans.", panel=DATA)
    id_column: str | None = option("Column of ids.", panel=DATA)
    cluster_column: str | None = option(
        "Column of what texts share, such as their author.", panel=DATA
    )
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
        roles = ("text", "text_b", "label", "rationale", "id", "cluster")
        columns = {role: getattr(self, f"{role}_column") for role in roles}
        usual = self.label_column == SubjectOptions.label_column
        if self.label_column == "none" or (usual and not _classifies(model)):
            del columns["label"]
        check_table_file(
            Path(data).expanduser(), {role: name for role, name in columns.items() if name}
        )

    def given(self) -> dict[str, Any]:
        columns = ("text_column", "text_b_column", "rationale_column", "id_column")
        plain = ("n", "split", "cluster_column", *columns)
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
        "Also measure map_sanity, infidelity, eraser, candidates of explanations; "
        "null_space of heads.",
        panel=MEASURED,
    )
    alpha: float | None = option("Significance level. [default: 0.05]", panel=DECIDED)
    smallest: list[str] | None = option(
        "Smallest effect of interest of a property: importance=0.5; repeatable.",
        None,
        "--min-effect",
        panel=DECIDED,
    )

    def spec(self, seed: int) -> AuditSpec:
        from heedful.auditing import (
            ATTENTION,
            EXPLANATIONS,
            IMPORTANCE,
            MAPPED,
            AuditSpec,
            all_named,
        )

        chosen = self.chosen
        every = (*EXPLANATIONS, *chosen)
        if self.explanations is not None:
            every = (ATTENTION, *chosen, *IMPORTANCE)
        explanations = tuple(dict.fromkeys(every))
        operators, groups = self._operators(), self._groups()
        spec = AuditSpec(explanations, operators=operators, only=groups, seed=seed)
        all_named(spec.explanations)
        for name in chosen:
            if name not in spec.mapped:  # every explanation that was named must be measured
                raise HeedfulError(
                    f"--only {self.only} looks at attention alone, and {name!r} was asked for: "
                    f"leave it out, or add one of {', '.join(sorted(MAPPED))} to --only."
                )
        _ = self.settings  # bad thresholds are refused before anything is measured
        if self.quick:
            spec = replace(spec, ceiling=20, exact=8, search_steps=20, permutations=10)
        if self.exact_words is not None:
            spec = replace(spec, exact=self._exact(self.exact_words))
        return spec

    @property
    def chosen(self) -> tuple[str, ...]:
        """The explanations that were named."""
        from heedful.auditing import all_named, names_in

        texts = [text for text in (self.explanations, self.also) if text is not None]
        return tuple(each.name for each in all_named(n for text in texts for n in names_in(text)))

    @property
    def must(self) -> frozenset[str]:
        """All explanations and groups of measures that were named, which may not be skipped."""
        groups = [names(text, "") for text in (self.only, self.extra) if text is not None]
        return frozenset((*self.chosen, *(name for group in groups for name in group)))

    @property
    def settings(self) -> Settings:
        from heedful.verdict import Settings

        effects = numbers(self.smallest or [], "--min-effect")
        for name, value in effects.items():
            if value < 0 or (value == 0 and name != "baseline"):
                raise HeedfulError(f"--min-effect is {name}={value:g}: give a number above 0.")
        return Settings(effects=effects, **given(alpha=self.alpha))

    def _operators(self) -> tuple[str, ...]:
        from heedful.perturbations import REMOVALS

        operators = tuple(names(self.operators, "--perturbations"))
        if len(operators) < 2:
            raise HeedfulError(
                f"--perturbations is {self.operators!r}: give at least two, such as delete,mask."
            )
        for name in operators:
            if name not in REMOVALS:
                raise unknown_name("removal operator", name, list(REMOVALS))
        return operators

    def _groups(self) -> tuple[str, ...]:
        from heedful.auditing import EXTRA, GROUPS, group_name

        extra = [group_name(name) for name in maybe_names(self.extra, "--extra") or ()]
        for name in extra:
            if name not in EXTRA:
                raise unknown_name("extra group", name, list(EXTRA))
        return (*(maybe_names(self.only, "--only") or GROUPS), *extra)

    def _exact(self, words: int) -> int:
        from heedful.experiments import MOST_WORDS

        if not 0 <= words <= MOST_WORDS:
            raise HeedfulError(f"--exact-words is {words}: give 0 to {MOST_WORDS}.")
        return words
