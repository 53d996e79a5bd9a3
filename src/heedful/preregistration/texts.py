"""Audits and studies in a paper: methods, limitations and tables, all from their values."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from heedful.auditing import ATTENTION, group_name, named
from heedful.experiments import PROBES
from heedful.metrics import bootstrap_means
from heedful.perturbations import REMOVALS
from heedful.preregistration.citations import (
    OURSELVES,
    Audited,
    Use,
    audited_uses,
    entry_use,
    keys_in,
    known,
    measure_uses,
    statistics_of,
    uses_of_run,
)
from heedful.preregistration.latex import (
    Part,
    Sentence,
    Table,
    count,
    each_once,
    ended,
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

SHOWN = ("property", "estimate", "low", "high", "threshold", "p above", "p below", "decision")


@dataclass(frozen=True)
class AuditText:
    """`spec` is the audit's as plain values; `checkpoints` are the models that were crossed."""

    name: str
    audited: Audited
    spec: Mapping[str, Any]
    sampled: bool

    @property
    def title(self) -> str:
        return f"{self.facts['model']} on {self.facts['data']}"

    @property
    def facts(self) -> Mapping[str, Any]:
        return self.audited.facts

    @property
    def statements(self) -> list[Mapping[str, Any]]:
        return list(self.audited.verdict["statements"])

    @property
    def uses(self) -> list[Use]:
        return list(audited_uses(self.audited))

    def methods(self) -> list[Sentence]:
        verdict = self.audited.verdict
        versions = [f"{name} {number}" for name, number in verdict["versions"].items()]
        return [
            self._subject(),
            self._explanations(),
            *self._operators(),
            *self._measures(),
            *self._thresholds(),
            *(said(each.sentence, *each.keys) for each in statistics_of(verdict)),
            self._seeds(),
            said(f"Judged with {listed(versions)}."),
        ]

    def limitations(self) -> list[Sentence]:
        """What was open, unusable, not measured or left out, with the reasons; the cautions and
        the caveats of the verdict."""
        found = [
            *(text for each in self.statements for text in _open(each)),
            *grouped(
                (str(note), each["property"])
                for each in self.statements
                for note in dict.fromkeys(each["notes"])
            ),
            *grouped(
                (
                    f"not used: {part['reason']}",
                    f"{each['property']}, {part['measure']} {part['operator']}".rstrip(),
                )
                for each in self.statements
                for part in each["parts"]
                if not part["usable"]
            ),
            *(f"{name} was left out: {why}" for name, why in self.facts["skipped"].items()),
            *self.audited.verdict["warnings"],
            *self.facts["notes"],
            *self.audited.verdict["caveats"],
        ]
        return each_once(found)

    def tables(self) -> list[Table]:
        """The properties; where explanations could be ranked, those too."""
        verdict = self.audited.verdict
        words = f"{self.title}: {verdict['decision'].lower()}. {ended(verdict['headline'])}"
        settings = verdict["settings"]
        share = " (a share of it at this look)" if settings["looks"] > 1 else ""
        alpha = f"Bounds of what decides hold together at {settings['alpha']:g}{share}."
        found = [Table(f"{self.name}-properties", f"{words} {alpha}", properties(self.statements))]
        for question, name in (("recommendation", "explanations"), ("direction", "direction")):
            ranked = verdict[question]["ranked"]
            if ranked:
                caption = f"{self.title}: {ended(verdict[question]['sentence'])}"
                found.append(Table(f"{self.name}-{name}", caption, ranking(ranked)))
        return found

    def _subject(self) -> Sentence:
        facts = self.facts
        sample = f", a random sample (seed {self.spec['seed']})" if self.sampled else ""
        several = facts.get("checkpoints", 1)
        trained = f" in {several} trainings" if several > 1 else ""
        return said(
            f"We audited the attention of {facts['model']}{trained} on "
            f"{count(facts['measured'], 'text')} of {facts['data']}{sample} with Heedful.",
            OURSELVES,
        )

    def _explanations(self) -> Sentence:
        names = self.audited.explanations
        if names == (ATTENTION,):
            return said("No other explanation was measured.")
        items = [Part(name, _keys(named(name).piece)) for name in names]
        return enumerated(f"{count(len(names), 'explanation')} were compared: ", items)

    def _operators(self) -> Iterator[Sentence]:
        names = self.audited.operators
        if names:
            items = [Part(name, _keys(REMOVALS[name])) for name in names]
            way = "operator" if len(names) == 1 else "operators"
            yield enumerated(f"Words were taken away by the {way} ", items)

    def _measures(self) -> Iterator[Sentence]:
        by: dict[str, tuple[str, ...]] = {}
        for use in measure_uses(self.audited.measures):
            name = use.what.split(" ", 1)[1]
            by[name] = tuple(dict.fromkeys((*by.get(name, ()), *use.keys)))
        if by:
            items = [Part(name, known(keys)) for name, keys in by.items()]
            yield enumerated("Measured were ", items)
        if self.audited.checked:
            texts = count(self.audited.checked, "text")
            yield said(
                f"To tell which measures respond to what was learned, {texts} "
                f"were measured again with the model's weights in random order.",
                "adebayo2018",
            )

    def _thresholds(self) -> Iterator[Sentence]:
        asked = [each for each in self.statements if each["threshold"] is not None]
        if asked:
            parts = [f"{each['threshold']:g} for {each['property']}" for each in asked]
            yield said(
                f"The smallest effects of interest were declared beforehand: {listed(parts)} "
                f"(digest {self.audited.verdict['digest']})."
            )

    def _seeds(self) -> Sentence:
        spec, only = self.spec, [group_name(name) for name in self.spec["only"]]
        parts = [f"seed {spec['seed']}"]
        if "interventions" in only:
            parts.append(count(spec["permutations"], "permutation"))
        if "erasure" in only and spec["ceiling"]:
            parts.append(f"at most {spec['ceiling']} model runs a text in search of the best order")
        if "uniqueness" in only:
            within = f"within {spec['epsilon']:g} of the output"
            parts.append(f"other attention {within} sought in {spec['search_steps']} steps")
        return said(f"Random choices: {listed(parts)}.")


def _open(each: Mapping[str, Any]) -> Iterator[str]:
    name = each["property"]
    if each["decision"] == "INCONCLUSIVE":
        bounds = f"{number(each['low'])} to {number(each['high'])}"
        against = f" ({bounds} against {number(each['threshold'])})"
        yield f"{name} is inconclusive{against if each['low'] is not None else ''}"
    elif each["decision"] in ("UNUSABLE", "NOT MEASURED", "NOT ANSWERED"):
        yield f"{name} is {each['decision'].lower()}"


def _keys(piece: Any) -> tuple[str, ...]:
    return known(entry_use("", piece).keys)


def properties(statements: list[Mapping[str, Any]]) -> pd.DataFrame:
    lines = [
        (
            each["property"],
            *(number(each[name]) for name in ("estimate", "low", "high", "threshold")),
            *(_p(each, name) for name in ("p_above", "p_below")),
            each["decision"].lower(),
            str(each["n"]),
        )
        for each in statements
    ]
    return pd.DataFrame(lines, columns=[*SHOWN, "texts"])


def ranking(ranked: list[Mapping[str, Any]]) -> pd.DataFrame:
    lines = [
        (
            each["explanation"],
            *(number(each[name]) for name in ("position", "low", "high", "behind")),
            "yes" if each["tied"] else "no",
            str(each["measures"]),
        )
        for each in ranked
    ]
    names = ["explanation", "position", "low", "high", "behind", "as good", "measures"]
    return pd.DataFrame(lines, columns=names)


def _p(each: Mapping[str, Any], name: str) -> str:
    """Only where something was decided by it."""
    if each["decision"] not in ("SUPPORTED", "NOT SUPPORTED", "INCONCLUSIVE") or each["blocked"]:
        return ""
    return f"{each[name]:.4f}" if each[name] >= 0.0001 else "< 0.0001"


def number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


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
        start = Part(
            f"We ran the experiments of {self.paper}", known(keys_in(STUDIES[self.paper].paper))
        )
        version = self.run.facts["version"]
        with_us = Part(f" (version {version} of the study) with Heedful", (OURSELVES,))
        models = sorted(map(str, self.evidence.cells["model"].unique()))
        seeds = [str(seed) for seed in sorted(map(int, self.evidence.cells["seed"].unique()))]
        plural = "seed" if len(seeds) == 1 else "seeds"
        return [
            (start, with_us, Part(".")),
            *self._corpora(),
            said(f"Models: {listed(models)}; {plural} {listed(seeds)}."),
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
        table = self.evidence.together
        lost = table[(table["undefined"] > 0) & (table["group"] == "all")]
        undefined = [
            f"{line['measure']} of {line['model']} on {line['corpus']} is undefined for "
            f"{count(int(line['undefined']), 'row')}"
            for line in lost.to_dict("records")
        ]
        alone = []
        if self.evidence.cells["seed"].nunique() == 1:
            alone = ["every number is of one seed: another training was not tried"]
        return each_once([*skipped, *undefined, *alone, *notes])

    def tables(self) -> list[Table]:
        return [
            Table(f"{self.name}-{one.name}", f"{self.paper}, {one.title}. {one.caption}", one.table)
            for one in readable(self._published, self.paper, self.evidence)
        ]

    @cached_property
    def _published(self) -> Any:
        return published_beside_measured(self.evidence, self.paper)

    def _corpora(self) -> Iterator[Sentence]:
        for title, about in self.rests_on["corpora"].items():
            splits = about["splits"]
            names = [name for name in ("train", "dev", "test") if name in splits]
            sizes = [f"{count(splits[name], 'text')} in {name}" for name in names]
            cites = [key for use in self.uses if use.what == f"corpus {title}" for key in use.keys]
            yield said(f"The corpus {title} has {listed(sizes)}.", *dict.fromkeys(cites))

    def _training(self) -> Iterator[Sentence]:
        for train in self.run.facts["params"]["train"]:
            adam = "Adam with AMSGrad" if train["amsgrad"] else "Adam"
            keys = ("kingma2015", "reddi2018") if train["amsgrad"] else ("kingma2015",)
            select = str(train["select"])
            if select == "auto":
                select = "ROC-AUC (accuracy of more than two classes)"
            yield said(
                f"Training took at most {count(train['epochs'], 'epoch')} of {adam} (learning rate "
                f"{train['learning_rate']:g}, batches of {train['batch_size']}, weight decay "
                f"{train['weight_decay']:g}), the epoch chosen by {select} on dev.",
                *keys,
            )

    def _probes(self) -> Sentence:
        names = list(dict.fromkeys(map(str, self.evidence.cells["probe"])))
        items = [Part(name, known(keys_in(PROBES[name].paper))) for name in names]
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

    def _versions(self) -> Iterator[Sentence]:
        keys = [str(key) for key in self.evidence.cells["run"]]
        versions = set()
        for key in keys:
            made = self.store.open(key).record.made_with
            versions.add(listed([f"{name} {made[name]}" for name in VERSIONS if name in made]))
        for each in sorted(filter(None, versions)):
            yield said(f"Measured with {each}.")
