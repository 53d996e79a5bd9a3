"""Stability: do other seeds attend to the same words? Reported."""

from __future__ import annotations

from heedful.verdict.evaluation import Property, report_means
from heedful.verdict.settings import Settings
from heedful.verdict.statement import Statement
from heedful.verdict.table import Table


def stability(table: Table, chosen: Settings) -> Statement:
    return report_means(STABILITY, ("tau_seeds", "jsd_seeds"), table, chosen)


STABILITY = Property(
    name="stability",
    order=7,
    question="Do other seeds attend to the same words?",
    unit="tau-b between the maps of different seeds (1: the same order)",
    evaluate=stability,
    missing="needs the maps of several seeds.",
)
