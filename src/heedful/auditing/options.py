"""What a user asks of an audit, from Python and from the command line: what is measured, how it is
decided, and how it is run."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from heedful.auditing.explanation import all_named, names_in
from heedful.auditing.schedule import USUAL_BUDGET, Plan
from heedful.auditing.spec import (
    ATTENTION,
    EXTRA,
    MAPPED,
    AuditSpec,
    group_name,
)
from heedful.errors import HeedfulError, unknown_name
from heedful.experiments import MOST_WORDS
from heedful.keywords import keyword
from heedful.perturbations import REMOVALS
from heedful.progress import Progress, progress_bar, silent
from heedful.store import Place, Store
from heedful.verdict import Audience, Settings

if TYPE_CHECKING:
    from heedful.runner import EngineRequest

Names = str | Sequence[str]
"""Several names: a list of them, or one text with commas."""
QUICK: Mapping[str, int] = {"ceiling": 20, "exact": 8, "search_steps": 20, "permutations": 10}
"""What `quick` searches; it never searches more than the spec says."""


@dataclass(frozen=True)
class Measuring:
    """What is measured and how it is decided. What is left out is as the `spec` and the
    `settings` say."""

    explanations: str | Sequence[str] | None = keyword("Explanations instead of the usual set.")
    also: str | Sequence[str] | None = keyword(
        "Explanations besides the usual set: 'lime,kernel_shap'."
    )
    perturbations: str | Sequence[str] | None = keyword("How words are removed: two or more names.")
    quick: bool = keyword("Search less for the best order of words.", False)
    exact_words: int | None = keyword(
        "Measure examples of up to this many words over all sets of words (the usual: 10)."
    )
    only: str | Sequence[str] | None = keyword(
        "Measure only these groups, such as plausibility or erasure."
    )
    extra: str | Sequence[str] | None = keyword(
        "Also measure map_sanity, infidelity, eraser, candidates, counterfactuals, "
        "input_reduction, interactions of explanations; null_space, head_ablation of heads."
    )
    alpha: float | None = keyword("Significance level (the usual: 0.05).")
    min_effect: Mapping[str, float] = keyword(
        "Smallest effect of interest by property: {'importance': 0.5}.", {}
    )

    def spec(self, base: AuditSpec = AuditSpec(), seed: int | None = None) -> AuditSpec:
        """The spec with what was asked for; bad thresholds are refused with it, before anything
        is measured."""
        changed = {
            "explanations": self._explanations(base),
            "operators": self._operators(base),
            "only": self._groups(base),
            "seed": base.seed if seed is None else seed,
            **({n: min(most, getattr(base, n)) for n, most in QUICK.items()} if self.quick else {}),
            **({} if self.exact_words is None else {"exact": self._exact(self.exact_words)}),
        }
        spec = replace(base, **changed)
        all_named(spec.explanations)
        for name in self.chosen:
            if name not in spec.mapped:  # every explanation that was named must be measured
                raise HeedfulError(
                    f"only {', '.join(spec.only)} looks at attention alone, and {name!r} was asked "
                    f"for: leave it out, or add one of {', '.join(sorted(MAPPED))} to it (--only)."
                )
        self.settings()
        return spec

    def settings(self, base: Settings = Settings()) -> Settings:
        for name, value in self.min_effect.items():
            if value < 0 or (value == 0 and name != "baseline"):
                raise HeedfulError(
                    f"the smallest effect of {name} (--min-effect) is {value:g}: give a number "
                    f"above 0."
                )
        alpha = base.alpha if self.alpha is None else self.alpha
        return replace(base, alpha=alpha, effects={**base.effects, **self.min_effect})

    @property
    def chosen(self) -> tuple[str, ...]:
        """The explanations that were named."""
        asked = (self.explanations, self.also)
        every = (each for names in asked if names is not None for each in _explanation_names(names))
        return tuple(each.name for each in all_named(every))

    @property
    def must(self) -> frozenset[str]:
        """All explanations and groups of measures that were named, which may not be skipped."""
        groups = {"only": self.only, "extra": self.extra}
        return frozenset((*self.chosen, *(n for key in groups for n in listed(groups[key], key))))

    def _explanations(self, base: AuditSpec) -> tuple[str, ...]:
        if self.explanations is None:
            return tuple(dict.fromkeys((*base.explanations, *self.chosen)))
        return tuple(dict.fromkeys((ATTENTION, *self.chosen, *base.importance)))

    def _operators(self, base: AuditSpec) -> tuple[str, ...]:
        if self.perturbations is None:
            return base.operators
        operators = listed(self.perturbations, "perturbations")
        if len(operators) < 2:
            raise HeedfulError(
                f"perturbations is {','.join(operators)!r}: give at least two, such as delete,mask."
            )
        for name in operators:
            if name not in REMOVALS:
                raise unknown_name("removal operator", name, list(REMOVALS))
        return operators

    def _groups(self, base: AuditSpec) -> tuple[str, ...]:
        extra = [group_name(name) for name in listed(self.extra, "extra")]
        for name in extra:
            if name not in EXTRA:
                raise unknown_name("extra group", name, list(EXTRA))
        return (*(listed(self.only, "only") or base.only), *extra)

    def _exact(self, words: int) -> int:
        if not 0 <= words <= MOST_WORDS:
            raise HeedfulError(f"exact_words (--exact-words) is {words}: give 0 to {MOST_WORDS}.")
        return words


@dataclass(frozen=True)
class Running:
    """How an audit is run; none of it changes what is measured on a text."""

    all: bool = keyword("Measure all texts, also after the answer is settled.", False)
    budget: str | float | None = keyword(
        "Stop after this time if the answer is not settled before: '30min', or seconds (the usual: "
        "5min)."
    )
    seed_model: Any = keyword(
        "The same model trained with another seed, or a list of such models: then stability is "
        "measured, too.",
        (),
    )
    progress: bool | Progress | None = keyword(
        "A progress bar: None in terminals and notebooks, True always, False never; or a function "
        "of a label, the work done and the total."
    )
    threads: int | None = keyword("CPU threads. Set it for byte-identical reruns.")
    engine: str | None = keyword("'local' (processes) or 'ray'; without one, this process.")
    workers: int | None = keyword("Workers of the engine (the usual: as cores and memory allow).")
    address: str | None = keyword("host:port of a running Ray cluster, or 'auto'.")
    gpu_fraction: float | None = keyword("Share of a GPU per worker (the usual: 0.25).")
    by_token: bool = keyword(
        "Explain answers token by token, for the texts that the page shows with maps (at most 12).",
        True,
    )

    reader: str | None = keyword("Who reads the explanation: developer or user; words change.")
    goal: str | None = keyword("For what: debugging, understanding or trust; words change.")

    def asked(self, device: str) -> EngineRequest:
        """The engine and its workers, not checked yet."""
        from heedful.runner import EngineRequest

        kind = device.partition(":")[0]
        return EngineRequest(
            self.engine, self.workers, self.address, self.gpu_fraction, kind, self.threads
        )

    @property
    def by_workers(self) -> bool:
        """Whether anything is said of an engine."""
        said = (self.engine, self.workers, self.address, self.gpu_fraction)
        return any(each is not None for each in said)

    @property
    def others(self) -> tuple[Any, ...]:
        """The other trainings of the model; a pair of model and tokenizer is one."""
        several = self.seed_model
        if isinstance(several, list) or several == ():
            return tuple(several)
        return (several,)

    def plan(self, base: Plan, store: Store | Place | None = None) -> Plan:
        """What is found in a store is also kept there, unless the plan names another one. Other
        trainings and workers measure the same texts: all of them."""
        budget = base.budget if self.budget is None else seconds(self.budget)
        if self.all and budget is not None:
            raise HeedfulError("give either --all or --budget: all texts take as long as they do.")
        if self.others and budget is not None:
            raise HeedfulError(
                "give either --seed-model or --budget: all seeds need the same texts."
            )
        if self.engine is not None and budget is not None:
            raise HeedfulError(
                "give either --engine or --budget: a budget limits the time of one process."
            )
        stops = not (self.all or self.others or self.engine is not None)
        if stops and budget is None:
            budget = USUAL_BUDGET
        store = store if base.store is None else base.store
        declared = Audience(self.reader or base.audience.reader, self.goal or base.audience.goal)
        by_token = base.by_token and self.by_token
        plan = replace(base, budget=budget, stops=stops, store=store, by_token=by_token)
        return replace(plan, audience=declared)

    @contextmanager
    def watched(self, plan: Plan) -> Iterator[Plan]:
        """The plan with a progress bar, unless it has a listener."""
        with self.limited(), progress_bar(self.progress) as listener:
            heard = plan.progress is not silent
            yield plan if heard else replace(plan, progress=listener)

    @contextmanager
    def limited(self) -> Iterator[None]:
        """Threads are as asked for until the work is done."""
        from heedful.runner import machine

        before = torch.get_num_threads()
        if self.threads is not None:
            machine("auto", self.threads)
        try:
            yield
        finally:
            torch.set_num_threads(before)


def seconds(time: str | float) -> float:
    """`90s`, `5min`, `2h`, or a number of seconds."""
    text = f"{time}s" if isinstance(time, (int, float)) else time
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(s|min|h)\s*", text)
    length = float(found[1]) * {"s": 1, "min": 60, "h": 3600}[found[2]] if found else 0.0
    if not 0 < length < math.inf:
        raise HeedfulError(f"budget is {time!r}: write a time such as 90s, 5min or 2h.")
    return length


def listed(given: Names | None, what: str) -> tuple[str, ...]:
    """The names, none empty and none twice."""
    if given is None:
        return ()
    chosen = [name.strip() for name in (given.split(",") if isinstance(given, str) else given)]
    if not all(chosen):
        raise HeedfulError(f"{what} has an empty name in {given!r}: separate names by one comma.")
    if len(set(chosen)) < len(chosen):
        raise HeedfulError(f"{what} names something twice in {given!r}: name each once.")
    return tuple(chosen)


def _explanation_names(given: Names) -> Sequence[str]:
    return names_in(given) if isinstance(given, str) else given
