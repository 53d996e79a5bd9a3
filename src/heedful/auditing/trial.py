"""One subject on trial: its batches measured or found again, its facts, and its verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from heedful.auditing.documents import documents_table
from heedful.auditing.gathered import Gathered, Home
from heedful.auditing.identity import identity, spec_digest
from heedful.auditing.judged import counted, judge_rows
from heedful.auditing.measure import Measurer, health_texts
from heedful.auditing.operators import distinct_operators, operator_notes
from heedful.auditing.pace import Pace
from heedful.auditing.part import Part
from heedful.auditing.parts import read_part, write_part
from heedful.auditing.plan import LOOKS, Plan
from heedful.auditing.result import Audit
from heedful.auditing.shown import MOST_TEXTS
from heedful.auditing.site import site_words
from heedful.auditing.spec import EXTRA, GROUPS, AuditSpec
from heedful.auditing.stored import KIND, looks_of, stored_tables
from heedful.auditing.taken_away import search_facts
from heedful.auditing.waves import first_texts
from heedful.errors import HeedfulError
from heedful.saliency import fit_prior
from heedful.store import Frames, Run, run_key
from heedful.subjects import Document, Subject
from heedful.types import Batch
from heedful.verdict import Settings, Verdict
from heedful.words import word_mask


class Trial:
    def __init__(self, subject: Subject, spec: AuditSpec, plan: Plan) -> None:
        self.notes = (*subject.notes, *operator_notes(subject.model, spec.operators))
        spec = replace(spec, operators=distinct_operators(subject.model, spec.operators))
        self.subject, self.spec, self.plan = subject, spec, plan
        self.pace = Pace(plan.clock, plan.deadline)
        prior = fit_prior(batch for _, batch in subject.batches())
        checked = health_texts(subject.ids, spec.seed)
        kept = first_texts(subject, spec.seed, MOST_TEXTS)
        self.measure = Measurer(
            subject.model, spec, prior, checked, plan.must, kept, subject.marked_share
        )
        self._refuse(self.measure.skipped)
        self.key = run_key(KIND, self.identity)
        self.rationales = subject.rationales

    @property
    def identity(self) -> dict[str, Any]:
        return identity(self.subject, self.spec)

    @cached_property
    def site(self) -> str:
        """The attention on trial, in words."""
        return site_words(self.subject.model, self.subject.encode(np.array([0])))

    def gathered(self) -> Gathered:
        """Nothing yet. Without a store parts are kept in a folder that goes with the result."""
        if self.plan.opened is not None:
            return Gathered(self.plan.opened.scratch(self.key))
        home = Home()
        return Gathered(home.path, home)

    def add(self, found: Gathered, indices: np.ndarray) -> None:
        """Measured now, or found where an earlier start left it."""
        batch = self.subject.encode(indices)
        name = run_key("part", {"ids": list(batch.ids)})
        part = read_part(found.folder, name, batch.ids)
        if part is None:
            part = self._measured(indices, batch)
            write_part(found.folder, name, part)
        self._refuse(part.skipped)
        found.add(name, part, len(indices))

    def _measured(self, indices: np.ndarray, batch: Batch) -> Part:
        documents = [self.subject.documents[int(i)] for i in indices]
        clusters = tuple(each.cluster for each in documents)
        with self.pace.measuring(len(indices)):
            found = self.measure(batch, clusters, self._rationale(documents, batch))
        return replace(found, documents=documents_table(documents).assign(place=indices))

    def _refuse(self, skipped: Mapping[str, str]) -> None:
        """What was found may have left out what is now asked for by name."""
        for name in sorted(self.plan.must & set(skipped)):
            group = name in (*GROUPS, *EXTRA)
            leave = f"leave out {name}, which cannot be measured here: " if group else ""
            raise HeedfulError(f"{leave}{skipped[name]}")

    def _rationale(self, documents: Sequence[Document], batch: Batch) -> torch.Tensor | None:
        """Marked words; a text without a rationale has none, and no measure of it."""
        if not self.rationales:
            return None
        marks = torch.zeros_like(word_mask(batch.texts["a"]))
        for row, document in enumerate(documents):
            given = document.rationale or ()
            width = min(len(given), marks.shape[1])
            marks[row, :width] = torch.tensor(given[:width], dtype=torch.bool)
        return marks

    def judge(self, found: Gathered, settings: Settings, look: int) -> Verdict:
        looks = LOOKS if self.plan.budget else 1
        chosen = replace(settings, look=min(look, looks), looks=looks)
        rows = found.tables()["rows"]
        facts = self.facts(found.skipped, found.texts, rows)
        return judge_rows(rows, found.costs(), facts, chosen)

    def facts(self, skipped: Mapping[str, str], measured: int, rows: Frames) -> dict[str, Any]:
        subject = self.subject
        total = len(subject)
        oracle = search_facts(rows.first, self.spec.exact)  # of very many texts the first ones
        return {
            "model": subject.family,
            "site": self.site,
            "data": subject.source,
            "classes": list(subject.label_names),
            "texts": total,
            "measured": measured,
            "truncated": subject.truncated.texts / max(1, total),
            "words_lost": subject.truncated.share,
            "dropped": dict(subject.dropped),
            "notes": [*self.notes, *_left_out(subject), *counted(measured, total)],
            "skipped": dict(skipped),
            "explanations": list(self.spec.explanations),
            "operators": list(self.spec.operators),
            "spec": spec_digest(self.spec),
            "key": self.key,
            "device": subject.device,
            **({"oracle": oracle} if oracle else {}),
        }

    def again(self, run: Run, settings: Settings) -> Audit:
        """The measurements of a finished audit, judged by these settings, and as the last of
        as many looks as it took. Names of classes and of the data are no part of what was
        measured: they are today's."""
        skipped: Mapping[str, str] = run.json("facts")["skipped"]
        self._refuse(skipped)
        tables = stored_tables(run)
        facts = self.facts(skipped, len(self.subject), tables["rows"])
        looks = looks_of(run)
        chosen = replace(settings, look=looks, looks=looks)
        verdict = judge_rows(tables["rows"], tables["costs"].whole, facts, chosen)
        return Audit(verdict, tables, facts)


def _left_out(subject: Subject) -> Iterator[str]:
    """Texts that could not be used are said, not only counted."""
    for why, count in subject.dropped.items():
        yield f"{count} text{'s' * (count != 1)} left out: {why}."
