"""Do the weights agree with measures of importance, with other seeds (stability), and with people
(plausibility)?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from heedful.verdict.evaluation import Property, contrast, evaluate_property, report_means
from heedful.verdict.inference import difference, examples_needed, position
from heedful.verdict.settings import Settings, level_of, share_of
from heedful.verdict.statement import Decision, Statement
from heedful.verdict.table import Cell, Table, best_floor, cell

SILENT = "the importance measures do not agree with each other here, so nothing can agree with them"
UNCLEAR = "it is not clear yet whether the importance measures agree with each other"
EITHER_WAY = (
    "attention agrees with the importance measures, even if they hardly agree with each other"
)


def agreement(table: Table, chosen: Settings) -> Statement:
    """Kendall's tau with each measure. Its ceiling is how well the other importance measures agree
    with it: attention is not asked to do better than they do among themselves. Where they clearly
    do not agree by more than `smallest_tau`, the question cannot be asked. Where that is open, so
    is the answer, unless attention is near enough to them for any agreement within the bounds."""

    found = evaluate_property(AGREEMENT, _taus, table, chosen)
    if not found.parts and any(table.measures("tau:")):
        missing = "needs tau with at least two importance measures."
        return AGREEMENT.without_number(Decision.NOT_MEASURED, missing)
    if found.decision is Decision.UNUSABLE:  # tau is undefined: that is not the measures' silence
        return replace(found, decision=Decision.NOT_MEASURED)
    if found.decision is not Decision.INCONCLUSIVE or found.blocked:
        return found
    level, cluster_of = level_of(AGREEMENT.name, chosen), table.cluster_of
    measured = (tuple(_taus(table, model, chosen.on_trial, chosen)) for model in table.checkpoints)
    cells = [part for part in measured if part]
    among = contrast(cells, (0.0, -1.0, 1.0), cluster_of, level)
    least, asked = chosen.smallest_tau, found.threshold
    if among.high < least:
        return replace(found, decision=Decision.UNUSABLE, blocked=f"{SILENT} (by {least:g} tau).")
    if among.low > least:
        return found
    if contrast(cells, (1.0, asked - 1.0, -asked), cluster_of, level).low > 0:
        note = f"{EITHER_WAY} (by {least:g} tau)."
        return replace(found, decision=Decision.SUPPORTED, notes=(*found.notes, note))
    count = examples_needed(among, least, share_of(AGREEMENT.name, chosen), found.n)
    return replace(found, blocked=f"{UNCLEAR} (by {least:g} tau).", needed=count)


AGREEMENT = Property(
    name="agreement",
    order=4,
    question="Do the weights order words as measures of importance do?",
    unit="tau-b of the way from chance to the agreement between importance measures",
    evaluate=agreement,
    # Half of the way from chance to what the importance measures reach among themselves. Nearer to
    # chance than to another measure of importance is no explanation.
    smallest_effect=0.5,
    required=True,
    failure="does not rank words as measures of importance do",
    formula=position,
    side="measure",
    sides="importance measures",
    least=2,
)


def _taus(table: Table, model: str, explanation: str, chosen: Settings) -> Iterator[Cell]:
    """Chance has a tau-b of 0 on average: it need not be drawn. A randomised model's maps have
    nothing to agree with."""
    if model == "randomised":
        return
    known = chosen.importance or tuple(name[4:] for name in table.measures("tau:"))
    for name in known:
        measure = f"tau:{name}"
        for operator in table.operators(measure):
            wide = table.get(model, measure, operator)
            others = [each for each in known if each != name and each in wide.columns]
            if explanation in wide.columns and others:
                columns = [
                    (explanation, wide[explanation]),
                    ("random", pd.Series(0.0, index=wide.index)),
                    ("other importance measures", wide[others].mean(axis=1)),
                ]
                yield cell(measure, operator, columns)


def stability(table: Table, chosen: Settings) -> Statement:
    """Reported, never decided."""
    return report_means(STABILITY, ("tau_seeds", "jsd_seeds"), table, chosen)


STABILITY = Property(
    name="stability",
    order=7,
    question="Do other seeds attend to the same words?",
    unit="tau-b between the maps of different seeds (1: the same order)",
    evaluate=stability,
    missing="needs the maps of several seeds.",
)

DECIDES = "auprc"
SHOWN = ("token_f1", "iou_f1", "mass_inside")
PEOPLE = "annotators"


def plausibility(table: Table, chosen: Settings) -> Statement:
    """A question of its own: a map can look right and have nothing to do with the decision. AUPRC
    decides, since it needs no cut-off; the other measures are shown beside it."""
    found = evaluate_property(PLAUSIBILITY, _auprc, table, chosen)
    shown = {
        measure: float(wide[chosen.on_trial].mean())
        for measure in SHOWN
        if chosen.on_trial in (wide := table.get(table.main, measure)).columns
    }
    people = table.get(table.main, DECIDES)
    ceiling = float(people[PEOPLE].mean()) if PEOPLE in people.columns else found.ceiling
    return replace(found, numbers={**found.numbers, **shown}, ceiling=ceiling)


PLAUSIBILITY = Property(
    name="plausibility",
    order=8,
    question="Do the weights mark the words that people marked?",
    unit="AUPRC on human rationales above the better floor",
    evaluate=plausibility,
    # about what separates neighbouring methods in published tables of rationales
    smallest_effect=0.05,
    formula=difference,
    side="measure",
    sides="measures",
    missing="needs rationales: the spans that people marked.",
)


def _auprc(table: Table, model: str, explanation: str, chosen: Settings) -> Iterator[Cell]:
    wide = table.get(model, DECIDES)
    floor = best_floor(wide, chosen.floors)
    if floor and explanation in wide.columns:
        yield cell(DECIDES, "", [(explanation, wide[explanation]), (floor, wide[floor])])
