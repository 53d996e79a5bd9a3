"""A study with what the user chose instead of its own settings, as a grid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.cli.terminal import say
from heedful.errors import HeedfulError

if TYPE_CHECKING:
    from heedful.runner import Grid
    from heedful.studies import Study


@dataclass(frozen=True)
class Options:
    """What applies to every cell."""

    layers: int | None
    sizes: str | None
    size: str
    epochs: int | None
    limit: int | None
    precision: str
    probes: list[str] | None
    param: list[str] | None


ALL = "all"


def plan_studies(name: str, corpora: list[str] | None, *rest: Any) -> list[Grid]:
    """One study, or with `all` every one that has one of the corpora."""
    from heedful.studies import STUDIES

    if name != ALL:
        return [plan_study(name, corpora, *rest)]
    plans = []
    known = {corpus for each in STUDIES for corpus in STUDIES[each].make().corpora}
    strange = [corpus for corpus in corpora or () if corpus not in known]
    if strange:
        raise HeedfulError(
            f"no paper has {', '.join(strange)}: name the study that is to be run on it."
        )
    for each in STUDIES:
        own = STUDIES[each].make().corpora
        asked = None if corpora is None else [corpus for corpus in corpora if corpus in own]
        if asked is None or asked:
            plans.append(plan_study(each, asked, *rest))
    return plans


def plan_study(
    name: str,
    corpora: list[str] | None,
    encoders: list[str] | None,
    attentions: list[str] | None,
    seeds: list[int] | None,
    data_dir: Path | None,
    options: Options,
) -> Grid:
    from heedful.cli.corpus import corpus_spec
    from heedful.runner import Choice, grid
    from heedful.studies import STUDIES

    study = STUDIES[name].make()
    choice = Choice(
        encoders,
        attentions,
        _given(layers=options.layers, sizes=options.sizes),
        _given(epochs=options.epochs),
        options.probes,
        options.size,
    )
    specs = [
        corpus_spec(corpus, options.param, limit=_limit(study, corpus, options))
        for corpus in corpora or study.corpora
    ]
    plan = grid(study, specs, choice, seeds, data_dir, options.precision)
    return replace(plan, lenient=corpora is None)


def plan_values(values: Mapping[str, Any], data_dir: Path | None, precision: str) -> Grid:
    """The same from the values of a file: those of one entry of a sweep."""
    given = values.get
    options = Options(
        given("layers"),
        given("sizes"),
        given("size", "full"),
        given("epochs"),
        given("limit"),
        precision,
        given("probes"),
        given("params"),
    )
    chosen = (given("corpora"), given("encoders"), given("attention"), given("seeds"))
    return plan_study(values["study"], *chosen, data_dir, options)


def _given(**options: Any) -> tuple[tuple[str, Any], ...]:
    return tuple((name, value) for name, value in options.items() if value is not None)


def _limit(study: Study, corpus: str, options: Options) -> int | None:
    """The user's limit, else the study's own for its small size, which is said."""
    small = study.small.get(corpus)
    if options.size != "small" or small is None:
        return options.limit
    limit = small.limit if options.limit is None else options.limit
    parts = [f"at most {limit:,} examples of a split"] if limit else []
    parts += [f"{small.epochs} epochs"] if small.epochs and options.epochs is None else []
    parts += [f"{probe.name} with {_shown(probe.params)}" for probe in small.probes]
    say(f"{corpus}, small: {', '.join(parts) or 'as in full'}")
    return limit


def _shown(params: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in params.items())
