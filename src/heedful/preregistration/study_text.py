"""A study in a paper: methods, limitations and tables, all from its runs."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from heedful.experiments import PROBES
from heedful.metrics import bootstrap_means
from heedful.preregistration.bibliography import OURSELVES, Use, known
from heedful.preregistration.citations import uses_of_run
from heedful.preregistration.latex import (
    Part,
    Sentence,
    Table,
    count,
    each_once,
    enumerated,
    grouped,
    listed,
    said,
)
from heedful.report import (
    CONFIDENCE,
    OVER_EXAMPLES,
    OVER_SEEDS,
    VERSIONS,
    Evidence,
    gather,
    published_beside_measured,
    readable,
)
from heedful.store import Run, Store
from heedful.studies import STUDIES


@dataclass(frozen=True)
class StudyText:
    """A finished study, and what was registered of it."""

    name: str
    store: Store
    run: Run
    rests_on: Mapping[str, Any]

    @cached_property
    def evidence(self) -> Evidence:
        return gather(self.store, [self.run])

    @property
    def paper(self) -> str:
        return self.run.fact("piece", str)

    @property
    def title(self) -> str:
        return f"The study {self.paper}"

    @property
    def uses(self) -> list[Use]:
        return list(uses_of_run(self.store, self.run))

    def methods(self) -> list[Sentence]:
        return [
            self._study(),
            *self._corpora(),
            self._models(),
            *self._training(),
            self._probes(),
            *self._intervals(),
            *self._versions(),
        ]

    def limitations(self) -> list[Sentence]:
        """What was left out and why; what the tables say beside numbers."""
        skipped = [
            f"{each['probe']} was left out for {each['model']} on {each['corpus']}: "
            f"{each['reason']}"
            for each in self.evidence.skipped.to_dict("records")
        ]
        notes = grouped(
            (line["note"], f"{line['metric']} of {line['model']} on {line['dataset']}")
            for line in self._published.to_dict("records")
            if line["note"]
        )
        found = [*skipped, *self._undefined(), *self._alone(), *notes]
        return each_once(found)

    def tables(self) -> list[Table]:
        return [
            Table(f"{self.name}-{one.name}", f"{self.paper}, {one.title}. {one.caption}", one.table)
            for one in readable(self._published, self.paper, self.evidence)
        ]

    @cached_property
    def _published(self) -> Any:
        return published_beside_measured(self.evidence, self.paper)

    def _study(self) -> Sentence:
        version = self.run.facts["version"]
        keys = known(STUDIES[self.paper].paper)
        start = Part(f"We ran the experiments of {self.paper}", tuple(keys))
        return (start, Part(f" (version {version} of the study) with Heedful", (OURSELVES,)),
                Part("."))  # fmt: skip

    def _corpora(self) -> Iterator[Sentence]:
        for title, about in self.rests_on["corpora"].items():
            sizes = [f"{count(number, 'text')} in {name}" for name, number in _split(about)]
            cites = [key for use in self.uses if use.what == f"corpus {title}" for key in use.keys]
            yield said(f"The corpus {title} has {listed(sizes)}.", *dict.fromkeys(cites))

    def _models(self) -> Sentence:
        cells = self.evidence.cells
        models = sorted(map(str, cells["model"].unique()))
        seeds = sorted(map(int, cells["seed"].unique()))
        plural = "seed" if len(seeds) == 1 else "seeds"
        return said(f"Models: {listed(models)}; {plural} {listed([str(seed) for seed in seeds])}.")

    def _training(self) -> Iterator[Sentence]:
        for train in self.run.facts["params"]["train"]:
            adam = "Adam with AMSGrad" if train["amsgrad"] else "Adam"
            keys = ("kingma2015", "reddi2018") if train["amsgrad"] else ("kingma2015",)
            yield said(
                f"Training took at most {count(train['epochs'], 'epoch')} of {adam} (learning rate "
                f"{train['learning_rate']:g}, batches of {train['batch_size']}, weight decay "
                f"{train['weight_decay']:g}), the epoch chosen by {_select(train)} on dev.",
                *keys,
            )

    def _probes(self) -> Sentence:
        names = list(dict.fromkeys(map(str, self.evidence.cells["probe"])))
        items = [Part(name, tuple(known(PROBES[name].paper))) for name in names]
        return enumerated(f"On the {self.rests_on['split']} split we measured ", items)

    def _intervals(self) -> Iterator[Sentence]:
        kinds = set(self.evidence.together["interval"])
        level = f"{CONFIDENCE:.0%}"
        if OVER_EXAMPLES in kinds:
            resamples = inspect.signature(bootstrap_means).parameters["resamples"].default
            yield said(
                f"Of one seed, {level} intervals are of the percentile bootstrap over texts "
                f"({resamples} resamples for means{self._others()}).",
                "efron1993",
            )
        if OVER_SEEDS in kinds:
            yield said(
                f"Of several seeds, {level} intervals are Student's t over seeds.", "student1908"
            )

    def _others(self) -> str:
        """Probes that draw their own number of resamples, as they were called."""
        own: dict[str, int] = {}
        for cell in self.evidence.cells.to_dict("records"):
            name = str(cell["probe"])
            given = inspect.signature(PROBES[name].make).parameters
            if "resamples" in given:
                params = self.store.open(str(cell["run"])).facts["params"]
                own[name] = params.get("resamples", given["resamples"].default)
        return "".join(f"; {number} for {name}" for name, number in own.items())

    def _undefined(self) -> Iterator[str]:
        table = self.evidence.together
        lost = table[(table["undefined"] > 0) & (table["group"] == "all")]
        for line in lost.to_dict("records"):
            where = f"{line['measure']} of {line['model']} on {line['corpus']}"
            yield f"{where} is undefined for {count(int(line['undefined']), 'row')}"

    def _alone(self) -> Iterator[str]:
        cells = self.evidence.cells
        if cells["seed"].nunique() == 1:
            yield "every number is of one seed: another training was not tried"

    def _versions(self) -> Iterator[Sentence]:
        keys = [str(key) for key in self.evidence.cells["run"]]
        made = {_made(self.store.open(key)) for key in keys}
        for each in sorted(filter(None, made)):
            yield said(f"Measured with {each}.")


def _made(run: Run) -> str:
    made = run.record.made_with
    return listed([f"{name} {made[name]}" for name in VERSIONS if name in made])


def _split(about: Mapping[str, Any]) -> list[tuple[str, int]]:
    return [(name, about["splits"][name]) for name in ("train", "dev", "test")
            if name in about["splits"]]  # fmt: skip


def _select(train: Mapping[str, Any]) -> str:
    """`auto` is said in words."""
    chosen = str(train["select"])
    return "ROC-AUC (accuracy of more than two classes)" if chosen == "auto" else chosen
