"""One model on trial: its batches measured or found again, its facts, and its verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from heedful.attributions import fit_prior
from heedful.auditing.answer_tokens import token_table
from heedful.auditing.experiments import GAP
from heedful.auditing.explanation import asked, distinct_operators, operator_notes
from heedful.auditing.measure import (
    Measurer,
    checked_texts,
    marked_words,
    punctuation_marks,
)
from heedful.auditing.page_data import MOST_TEXTS, documents_table, site_words
from heedful.auditing.result import KIND, Audit, identity, spec_digest, stored_tables
from heedful.auditing.schedule import TOKENS_AT_ONCE, Pace, Plan, ablation_means, first_texts
from heedful.auditing.spec import EXTRA, GROUPS, AuditSpec, group_name
from heedful.auditing.tables import (
    Measurements,
    Part,
    counted,
    judge_rows,
    read_part,
    write_part,
)
from heedful.data import groups
from heedful.errors import HeedfulError
from heedful.experiments import Revisions, decisions, edited_words
from heedful.store import Frames, Run, run_key
from heedful.targets import AuditTarget, Document
from heedful.types import Batch
from heedful.units import WORD
from heedful.verdict import Settings, Verdict, stored_verdict
from heedful.words import word_mask

Indices = NDArray[np.int64]


class Trial:
    def __init__(self, subject: AuditTarget, spec: AuditSpec, plan: Plan) -> None:
        self.notes = (*subject.notes, *operator_notes(subject.model, spec.operators))
        spec = replace(spec, operators=distinct_operators(subject.model, spec.operators))
        self.subject, self.spec, self.plan = subject, spec, plan
        self.pace = Pace(plan.clock, plan.deadline)

        def texts() -> Iterator[Batch]:
            return (batch for _, batch in subject.batches())

        self.measure = Measurer(
            subject.model,
            replace(spec, explanations=asked(subject, spec.explanations, plan.must)),
            fit_prior(texts()),
            checked_texts(subject.ids, spec.seed),
            plan.must,
            first_texts(subject, spec.seed, MOST_TEXTS),
            subject.marked_share,
            ablation_means(subject, spec),
            texts,
        )
        self._refuse(self.measure.skipped)
        self.identity = identity(subject, spec, plan.must)
        self.key = run_key(KIND, self.identity)

    @cached_property
    def site(self) -> str:
        """The attention on trial, in words."""
        return site_words(self.subject.model, self.subject.encode(np.array([0])))

    def add(self, found: Measurements, indices: Indices) -> None:
        """Measured now, or found where an earlier start or a worker left it."""
        name = self.part_name(indices)
        part = read_part(found.folder, name, self._ids(indices))
        if part is None:
            part = self.measured(found.folder, indices)
        self._refuse(part.skipped)
        found.add(name, part, len(indices))

    def measured(self, folder: Path, indices: Indices) -> Part:
        """A batch, measured and kept in the folder."""
        part = self._part(indices)
        write_part(folder, self.part_name(indices), part)
        self._refuse(part.skipped)
        return part

    def part_name(self, indices: Indices) -> str:
        return run_key("part", {"ids": list(self._ids(indices))})

    def _ids(self, indices: Indices) -> tuple[str, ...]:
        return tuple(self.subject.ids[int(index)] for index in indices)

    def _part(self, indices: Indices) -> Part:
        batch = self.subject.encode(indices)
        documents = [self.subject.documents[int(i)] for i in indices]
        clusters = tuple(each.cluster for each in documents)
        with self.pace.measuring(len(indices)):
            mask = word_mask(batch.texts["a"])
            rationale = marked_words(documents, mask) if self.subject.rationales else None
            punctuation = punctuation_marks(documents, mask)
            revised = self._revisions(indices, mask)
            found = self.measure(batch, clusters, rationale, punctuation, revised)
        return replace(found, documents=documents_table(documents).assign(place=indices))

    def _revisions(self, indices: Indices, mask: Tensor) -> Revisions | None:
        """What people made of these texts, where it is asked for: the model reads it, too."""
        if "counterfactuals" not in self.spec.only:
            return None
        subject = self.subject
        pairs = [
            (row, int(index), place)
            for row, index in enumerate(indices)
            for place in subject.revisions.get(int(index), ())
        ]
        edited = torch.zeros((len(pairs), mask.shape[1]), dtype=torch.bool)
        for line, (_, *both) in enumerate(pairs):
            marks = _edited(*(subject.documents[place] for place in both))[: mask.shape[1]]
            edited[line, : len(marks)] = torch.tensor(marks, dtype=torch.bool)
        of = torch.tensor([row for row, _, _ in pairs], dtype=torch.long)
        places = np.array([place for _, _, place in pairs], dtype=np.int64)
        decided = torch.zeros_like(of, device=mask.device)
        for some in groups(subject.lengths[places], TOKENS_AT_ONCE, len(places)):
            batch = subject.encode(places[some])
            decided[torch.from_numpy(some)] = decisions(subject.model, batch)
        return Revisions(of.to(mask.device), edited.to(mask.device), decided)

    def _refuse(self, skipped: Mapping[str, str]) -> None:
        """What was found may have left out what is now asked for by name."""
        skipped = {group_name(name): why for name, why in skipped.items()}
        for name in sorted(set(map(group_name, self.plan.must)) & set(skipped)):
            group = name in (*GROUPS, *EXTRA)
            leave = f"leave out {name}, which cannot be measured here: " if group else ""
            raise HeedfulError(f"{leave}{skipped[name]}")

    def judge(self, found: Measurements, chosen: Settings) -> Verdict:
        """What has been measured so far."""
        rows = found.tables()["rows"]
        facts = self.facts(found.skipped, found.texts, rows)
        return judge_rows(rows, found.costs(), facts, chosen)

    def facts(self, skipped: Mapping[str, str], measured: int, rows: Frames) -> dict[str, Any]:
        subject = self.subject
        total = len(subject)
        left_out = (
            f"{count} text{'s' * (count != 1)} left out: {why}."
            for why, count in subject.dropped.items()
        )
        oracle = search_facts(rows.first, self.spec.exact)  # of very many texts the first ones
        return {
            "model": subject.family,
            **({"name": subject.name} if subject.name else {}),
            **({"asked": subject.question} if subject.question else {}),
            **self.plan.audience.facts,
            "site": self.site,
            "data": subject.source,
            **({} if subject.unit == WORD else {"unit": subject.unit}),
            "classes": list(subject.label_names),
            "texts": total,
            "measured": measured,
            "truncated": subject.truncated.texts / max(1, total),
            "words_lost": subject.truncated.share,
            "dropped": dict(subject.dropped),
            "notes": [*self.notes, *left_out, *counted(measured, total)],
            "skipped": dict(skipped),
            "explanations": list(self.measure.spec.explanations),
            "operators": list(self.spec.operators),
            "spec": spec_digest(self.spec),
            "key": self.key,
            "device": subject.device,
            **({"oracle": oracle} if oracle else {}),
        }

    def with_tokens(self, found: Audit) -> Audit:
        """With what each token of the answers rests on, of the few texts that the page shows with
        maps, unless it is known, not wanted, or the time is up."""
        plan = self.plan

        def late() -> bool:
            return plan.deadline is not None and plan.clock() > plan.deadline

        wanted = plan.by_token and not late() and self.subject.asked is not None
        if not wanted or len(found.tables["tokens"].first):
            return found
        plan.progress("answers, token by token", 0, 1)
        tokens = token_table(self.subject, found.as_parts(), self.spec.target, late)
        return found.with_tables({"tokens": Frames.of(tokens)})

    def again(self, run: Run, settings: Settings) -> Audit:
        """The measurements of a finished audit, judged by these settings, and as the last of
        as many looks as it took. Names of classes and of the data are no part of what was
        measured: they are today's."""
        skipped: Mapping[str, str] = run.json("facts")["skipped"]
        self._refuse(skipped)
        tables = stored_tables(run)
        facts = self.facts(skipped, len(self.subject), tables["rows"])
        old = stored_verdict(run).asked
        chosen = replace(settings, look=old.look, looks=old.looks, looked=old.looked)
        verdict = judge_rows(tables["rows"], tables["costs"].whole, facts, chosen)
        return self.with_tokens(Audit(verdict, tables, facts))


def _edited(original: Document, revision: Document) -> list[bool]:
    """The words on trial of the original that the revision changed, side by side."""
    return [
        mark
        for side, spans in original.words.items()
        for mark in edited_words(
            *(
                [each.texts[side][start:end] for start, end in words]
                for each, words in ((original, spans), (revision, revision.words[side]))
            )
        )
    ]


SAME = 1e-6
"""A gap that is none."""


def search_facts(rows: pd.DataFrame, exact: int) -> dict[str, Any]:
    """How often the search for the best order reaches the optimum, and by how much it misses it, on
    the texts of at most `exact` words; nothing where there are none."""
    found = rows[rows["measure"].str.startswith(GAP) & (rows["model"] == "base")].dropna()
    if found.empty:
        return {}
    by_measure = found.groupby(found["measure"].str.removeprefix(GAP))["value"]
    return {
        "exact_words": exact,
        "examples": int(found["example"].nunique()),
        "equal": float((found["value"] <= SAME).mean()),
        "equal_by_measure": {str(name): float((part <= SAME).mean()) for name, part in by_measure},
        "gap_by_measure": {str(name): float(part.mean()) for name, part in by_measure},
    }
