"""What is measured and how it is judged, named on the command line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli.options import names, numbers
from heedful.errors import HeedfulError, unknown_name

if TYPE_CHECKING:
    from heedful.auditing import AuditSpec
    from heedful.verdict import Settings

Explanations = Annotated[
    str | None, typer.Option(help="Instead of the usual set: names, comma-separated.")
]
Also = Annotated[str | None, typer.Option(help="Besides the usual set, such as lime.")]
Operators = Annotated[str, typer.Option(help="How words are taken away, at least two.")]
Quick = Annotated[bool, typer.Option("--quick", help="A smaller search for the best order.")]
ExactWords = Annotated[
    int | None,
    typer.Option(
        help="Examples of up to so many words are measured over all sets of words. [default: 10]"
    ),
]
Only = Annotated[
    str | None, typer.Option(help="Measure only some groups, such as plausibility or erasure.")
]
Extra = Annotated[
    str | None,
    typer.Option(
        help="Also measure sanity, infidelity, eraser, candidates of explanations; "
        "null_space of heads."
    ),
]
Alpha = Annotated[
    float | None, typer.Option(help="How often a decision may be wrong by chance; else 0.05.")
]
Smallest = Annotated[
    list[str] | None,
    typer.Option(help="A property's smallest effect of interest: importance=0.5; repeatable."),
]


@dataclass(frozen=True)
class MeasureOptions:
    """Everything that decides besides the model and its texts, as it was typed."""

    explanations: Explanations = None
    also: Also = None
    operators: Operators = "delete,mask"
    quick: Quick = False
    exact_words: ExactWords = None
    only: Only = None
    extra: Extra = None
    alpha: Alpha = None
    smallest: Smallest = None

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
        if self.quick:
            spec = replace(spec, ceiling=20, exact=8, search_steps=20, permutations=10)
        return spec if self.exact_words is None else replace(spec, exact=self._exact)

    @property
    def chosen(self) -> tuple[str, ...]:
        """The explanations that were asked for by name."""
        from heedful.auditing import all_named, names_in

        texts = [text for text in (self.explanations, self.also) if text is not None]
        return tuple(each.name for each in all_named(n for text in texts for n in names_in(text)))

    @property
    def must(self) -> frozenset[str]:
        """All that was asked for by name: explanations, and groups of measures."""
        groups = [names(text, "") for text in (self.only, self.extra) if text is not None]
        return frozenset((*self.chosen, *(name for group in groups for name in group)))

    @property
    def settings(self) -> Settings:
        from heedful.verdict import Settings

        effects = numbers(self.smallest or [], "--smallest")
        for name, value in effects.items():
            if value < 0 or (value == 0 and name != "baseline"):
                raise HeedfulError(f"--smallest is {name}={value:g}: give a number above 0.")
        plain = Settings(effects=effects)
        return plain if self.alpha is None else replace(plain, alpha=self.alpha)

    def _check_used(self, spec: AuditSpec) -> None:
        """What was asked for by name must be looked at by some group."""
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
        from heedful.removal import REMOVALS

        ways = tuple(names(self.operators, "--operators"))
        if len(ways) < 2:
            raise HeedfulError(
                f"--operators is {self.operators!r}: give at least two, such as delete,mask."
            )
        for way in ways:
            if way not in REMOVALS:
                raise unknown_name("removal operator", way, list(REMOVALS))
        return ways


def _groups(only: str | None, extra: str | None) -> tuple[str, ...]:
    from heedful.auditing import EXTRA, GROUPS

    asked = tuple(names(extra, "--extra")) if extra is not None else ()
    for name in asked:
        if name not in EXTRA:
            raise unknown_name("extra group", name, list(EXTRA))
    return (*(names(only, "--only") if only is not None else GROUPS), *asked)
