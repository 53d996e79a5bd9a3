"""Options of audits: a model, its texts, what is measured and how it is decided."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heedful.cli.options import (
    DEFAULT_STORE,
    MOST,
    DataDirOption,
    DeviceOption,
    MaxLengthOption,
    ParamOption,
    QuickOption,
    SeedOption,
    StoreOption,
    TextColumn,
    ThreadsOption,
    check_data_dir,
    existing_store,
    names,
    numbers,
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

    label: Annotated[str | None, typer.Option(help="Label to explain of a multi-label model.")] = (
        None
    )
    label_words: Annotated[
        str | None,
        typer.Option(help="Answers of a language model by label: positive= good,negative= bad"),
    ] = None
    template: Annotated[str, typer.Option(help="Prompt of a language model.")] = "{text}"
    max_length: MaxLengthOption = None
    dtype: Annotated[str | None, typer.Option(help="float32, float64 or bfloat16.")] = None
    seed: SeedOption = 0
    store: StoreOption = DEFAULT_STORE
    device: DeviceOption = "auto"
    threads: ThreadsOption = None

    def given(self) -> dict[str, Any]:
        """As `open_target` takes them."""
        plain = ("label", "template", "max_length", "dtype", "seed", "device")
        found = {name: getattr(self, name) for name in plain}
        found["label_words"] = pairs(self.label_words, "--label-words")
        store = existing_store(self.store)
        if store is not None:
            found["store"] = store
        return found


@dataclass(frozen=True)
class SubjectOptions(ModelOptions):
    """All options of `open_target`: those of the model and those of the data."""

    n: Annotated[
        int | None, typer.Option(min=1, max=MOST, help="Audit a random sample of this many texts.")
    ] = None
    split: Annotated[
        str | None,
        typer.Option(help="Split of a named corpus or a run: train, dev or test. [default: test]"),
    ] = None
    text_column: TextColumn = "text"
    text_b_column: Annotated[
        str | None, typer.Option(help="Column of the second text of a pair.")
    ] = None
    label_column: Annotated[
        str, typer.Option(help="Column of the label; none: there are no labels.")
    ] = "label"
    rationale_column: Annotated[str | None, typer.Option(help="Column of [start, end) spans.")] = (
        None
    )
    id_column: Annotated[str | None, typer.Option(help="Column of ids.")] = None
    cluster_column: Annotated[
        str | None,
        typer.Option(help="Column of what texts share, such as their author."),
    ] = None
    label_map: Annotated[
        str | None,
        typer.Option(help="Labels of data and model: pos=LABEL_1,neg=LABEL_0"),
    ] = None
    param: ParamOption = None
    data_dir: DataDirOption = None

    def given(self) -> dict[str, Any]:
        columns = ("text_column", "text_b_column", "rationale_column", "id_column")
        plain = ("n", "split", "cluster_column", *columns)
        found = {**super().given(), **{name: getattr(self, name) for name in plain}}
        found["label_column"] = None if self.label_column == "none" else self.label_column
        found["label_map"] = pairs(self.label_map, "--label-map")
        found["data_dir"] = check_data_dir(self.data_dir)
        found["params"] = parameters(self.param)
        return found


@dataclass(frozen=True)
class MeasureOptions:
    """What is measured and how it is decided, as it was typed."""

    explanations: Annotated[
        str | None, typer.Option(help="Instead of the usual set: names, comma-separated.")
    ] = None
    also: Annotated[str | None, typer.Option(help="Besides the usual set: names.")] = None
    operators: Annotated[
        str,
        typer.Option("--perturbations", help="How words are removed: two or more names."),
    ] = "delete,mask"
    quick: QuickOption = False
    exact_words: Annotated[
        int | None,
        typer.Option(
            help="Measure examples of up to this many words over all sets of words. [default: 10]"
        ),
    ] = None
    only: Annotated[
        str | None, typer.Option(help="Measure only these groups, such as plausibility or erasure.")
    ] = None
    extra: Annotated[
        str | None,
        typer.Option(
            help="Also measure map_sanity, infidelity, eraser, candidates of explanations; "
            "null_space of heads."
        ),
    ] = None
    alpha: Annotated[float | None, typer.Option(help="Significance level. [default: 0.05]")] = None
    smallest: Annotated[
        list[str] | None,
        typer.Option(
            "--min-effect",
            help="Smallest effect of interest of a property: importance=0.5; repeatable.",
        ),
    ] = None

    def spec(self, seed: int) -> AuditSpec:
        from heedful.auditing import ATTENTION, EXPLANATIONS, IMPORTANCE, AuditSpec

        chosen = self.chosen
        if self.explanations is not None:
            chosen = (ATTENTION, *chosen, *IMPORTANCE)
        else:
            chosen = (*EXPLANATIONS, *chosen)
        given = (tuple(dict.fromkeys(chosen)), self._ways(), _groups(self.only, self.extra))
        spec = AuditSpec(explanations=given[0], operators=given[1], only=given[2], seed=seed)
        self._check_used(spec)
        _ = self.settings  # bad thresholds are refused before anything is measured
        if self.quick:
            spec = replace(spec, ceiling=20, exact=8, search_steps=20, permutations=10)
        return spec if self.exact_words is None else replace(spec, exact=self._exact)

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
        plain = Settings(effects=effects)
        return plain if self.alpha is None else replace(plain, alpha=self.alpha)

    def _check_used(self, spec: AuditSpec) -> None:
        """Every explanation that was named must be measured by some group."""
        from heedful.auditing import MAPPED, all_named

        all_named(spec.explanations)
        for name in self.chosen:
            if name not in spec.mapped:
                raise HeedfulError(
                    f"--only {self.only} looks at attention alone, and {name!r} was asked for: "
                    f"leave it out, or add one of {', '.join(sorted(MAPPED))} to --only."
                )

    @property
    def _exact(self) -> int:
        from heedful.experiments import MOST_WORDS

        if self.exact_words is None or not 0 <= self.exact_words <= MOST_WORDS:
            raise HeedfulError(f"--exact-words is {self.exact_words}: give 0 to {MOST_WORDS}.")
        return self.exact_words

    def _ways(self) -> tuple[str, ...]:
        from heedful.perturbations import REMOVALS

        ways = tuple(names(self.operators, "--perturbations"))
        if len(ways) < 2:
            raise HeedfulError(
                f"--perturbations is {self.operators!r}: give at least two, such as delete,mask."
            )
        for way in ways:
            if way not in REMOVALS:
                raise unknown_name("removal operator", way, list(REMOVALS))
        return ways


def _groups(only: str | None, extra: str | None) -> tuple[str, ...]:
    from heedful.auditing import EXTRA, GROUPS, group_name

    asked = tuple(map(group_name, names(extra, "--extra"))) if extra is not None else ()
    for name in asked:
        if name not in EXTRA:
            raise unknown_name("extra group", name, list(EXTRA))
    return (*(names(only, "--only") if only is not None else GROUPS), *asked)
