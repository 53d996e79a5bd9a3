"""The papers' procedures, restated, beside Heedful's: every part of jain2019, and the battery."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bench.agreement import agreement
from bench.data import FULL, QUICK, Data, generate, trained
from bench.ours import PARTS
from bench.row import Row, joined
from bench.setting import Setting, say
from bench.trial import Trial


def rows(name: str, setting: Setting) -> Iterator[Row]:
    """All parts on texts of one length."""
    plan = QUICK if setting.quick else FULL
    data = generate(plan)
    model, score = trained(data, "bilstm", plan.epochs, setting.device)
    (size,) = (each for each in plan.sizes if each.name == name)
    trial = Trial(model, data.split(name), plan, size)
    say(f"  a BiLSTM with a dev ROC-AUC of {score:.3f}")
    for part in PARTS:
        row = trial.row(part, describe(data, name))
        yield replace(row, note=joined(row.note, agreement(trial, part)))


def describe(data: Data, name: str) -> str:
    lengths = data.split(name).lengths
    return f"{len(lengths):,} texts of {lengths.mean():.0f} tokens"
