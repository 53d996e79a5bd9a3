"""Ask a model about prompts with a needle, verify each by removal, and score explanations."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from heedful.auditing import Decisions, all_named, explained, marked_words
from heedful.benchmark.needles import (
    COLUMNS,
    PROMPT,
    Checked,
    NeedlePlan,
    Prompt,
    read_needles,
)
from heedful.metrics import best_of_true
from heedful.models import class_logits, probability
from heedful.perturbations import WordRemoval
from heedful.progress import Progress, silent
from heedful.store import to_csv, write_text
from heedful.targets import AuditTarget, Loading, load, open_target, weights_digest
from heedful.types import Keep
from heedful.units import SENTENCE
from heedful.words import word_mask

VERSION = 1
"""Goes up whenever the same prompt would give other rows."""
_OPTIONS: Mapping[str, Any] = {
    "template": "{text} {text_b}",
    "text_b_column": "question",
    "id_column": "id",
    "rationale_column": "rationale",
}
Key = tuple[Any, ...]


def run_needles(
    plan: NeedlePlan, file: Path | None = None, progress: Progress = silent
) -> pd.DataFrame:
    """The rows of all prompts of the plan. With a file, each prompt's rows are there as soon as it
    is done, and those that are there already are not made again, unless what made them has changed;
    rows of other prompts stay."""
    tables: dict[Key, pd.DataFrame] = {}
    if file is not None and file.is_file():
        tables = dict(iter(read_needles(file).groupby(PROMPT, sort=False)))
    prompts = plan.drawn()
    loaded = load(plan.model, Loading(dtype=plan.dtype))
    setting = _setting(plan, weights_digest(loaded.module))
    rows = [each.row for each in prompts]
    with ExitStack() as stack:
        targets = {
            unit: stack.enter_context(
                open_target((loaded.module, loaded.tokenizer), rows, unit=unit, **_OPTIONS)
            )
            for unit in dict.fromkeys((SENTENCE, *plan.units))
        }
        keys = [(loaded.name, each.kind, each.seed, each.number) for each in prompts]
        for place, (key, each) in enumerate(zip(keys, prompts, strict=True)):
            progress(each.row["id"], place, len(prompts))
            if key in tables and set(tables[key]["setting"]) == {setting}:
                continue
            about = {**dict(zip(PROMPT, key, strict=True)), "setting": setting}
            found = [{**about, **row} for row in _rows(each, place, targets, plan)]
            tables[key] = pd.DataFrame(found).reindex(columns=list(COLUMNS))
            if file is not None:
                write_text(file, to_csv(_joined(tables, tables)))
    progress("needles", len(prompts), len(prompts))
    return _joined(tables, keys)


def _joined(tables: Mapping[Key, pd.DataFrame], keys: Any) -> pd.DataFrame:
    return pd.concat([tables[key] for key in keys], ignore_index=True)


def _setting(plan: NeedlePlan, weights: str) -> str:
    """A digest of all that makes a prompt's rows what they are."""
    names = {unit: plan.explained(unit) for unit in plan.units}
    versions = {
        unit: {each.name: each.piece.version for each in all_named(names[unit])} for unit in names
    }
    facts = {"version": VERSION, "weights": weights, "dtype": plan.dtype, "explained": versions}
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:8]


def _rows(
    prompt: Prompt, place: int, targets: Mapping[str, AuditTarget], plan: NeedlePlan
) -> Iterator[dict[str, Any]]:
    checked = check_prompt(targets[SENTENCE], place)
    reasons = checked.reasons(prompt)
    about = {
        "verified": not reasons,
        "reason": "; ".join(reasons),
        "answer": checked.answer,
        "probability": _short(checked.probability),
        "without": _short(checked.without[prompt.needle]),
        "others": _short(checked.lowest(prompt)),
    }
    if reasons:
        yield {**about, "unit": "", "explanation": ""}
        return
    for unit in plan.units:
        for row in _scored(targets[unit], place, plan.explained(unit)):
            yield {**about, "unit": unit, **row}


def check_prompt(target: AuditTarget, place: int) -> Checked:
    """The answer to one prompt, whole and without each of its sentences."""
    batch = target.encode([place])
    with torch.no_grad():
        logits = target.model(batch, keep=Keep(weights=False)).logits
    label = class_logits(logits).argmax(-1)
    there = word_mask(batch.texts["a"])
    each = torch.eye(there.shape[1], dtype=torch.bool, device=there.device)[None]
    found = WordRemoval(target.model, batch, label).answers(each)
    assert target.spell is not None
    return Checked(
        target.spell([int(label[0])])[0],
        float(probability(logits, label)[0]),
        tuple(found.value[0].tolist()),
        tuple((found.decision[0] != label[0]).tolist()),
    )


def _scored(target: AuditTarget, place: int, names: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Where each explanation of the answer puts the units of the needle."""
    batch = target.encode([place])
    with torch.no_grad():
        label = class_logits(target.model(batch, keep=Keep(weights=False)).logits).argmax(-1)
    there = word_mask(batch.texts["a"])
    needle = marked_words([target.documents[place]], there)
    made = Decisions(target.model, batch, label)
    for name, scores in explained(made, all_named(names), "probability", {}).maps.items():
        first, rank = best_of_true(scores, needle, there)
        yield {
            "explanation": name,
            "units": int(there.sum()),
            "first": _short(float(first[0])),
            "rank": _short(float(rank[0])),
        }


def _short(value: float) -> float:
    """To four digits, as a file has it."""
    return float(f"{value:.4g}")
