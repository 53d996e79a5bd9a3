"""MIMIC-III's discharge summaries: coded as diabetes, or as chronic or acute anemia.

Nothing is downloaded: the published tables need a credentialed licence, and stay where they are.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from heedful.data.example import Example, RawCorpus
from heedful.data.files import (
    Source,
    by_split,
    digests,
    read_cells,
    stream_columns,
)
from heedful.entries import Corpus, by_name
from heedful.hashing import stable_hash
from heedful.specs import PrepareSpec

NOTES, DIAGNOSES = "mimic/NOTEEVENTS.csv", "mimic/DIAGNOSES_ICD.csv"
MIMIC = Source(
    "MIMIC-III (with a credentialed licence)",
    "https://physionet.org/content/mimiciii",
    {"notes": NOTES, "diagnoses": DIAGNOSES},
)
LISTS = Source(
    "jain2019's lists of admissions",
    "https://github.com/successar/AttentionExplanation",
    by_split("mimic/*_50_hadm_ids.csv"),
)
SUMMARY = "Discharge summary"
DIABETES, ACUTE, CHRONIC = "25000", "2851", "2852"
TEST_SHARE, DEV_SHARE = 0.2, 0.15


@dataclass(frozen=True)
class Admission:
    """A stay in hospital: its summary with all addenda, and its ICD-9 codes without dots."""

    id: str
    patient: str
    text: str
    codes: frozenset[str]

    def has(self, code: str) -> bool:
        """The code, or one below it."""
        return any(own.startswith(code) for own in self.codes)

    def example(self, split: str, label: bool) -> Example:
        return Example(f"mimic-{self.id}", split, {"a": self.text}, int(label))


def read_diabetes(
    data_dir: Path | None, any_kind: bool = False, lists: bool = False, seed: int = 0
) -> RawCorpus:
    """Positive is a stay with the ICD-9 code 250.00, or with `any_kind` any that begins with 250.

    The paper says "the ICD9 code for diabetes"; its released code takes 250.00 (type 2,
    without complications) and calls every other kind negative. The paper used a part of the
    stays, the lists of which are beside its code: with `lists` they and their splits are read,
    else all stays are taken, split by patient.
    """
    code = DIABETES[:3] if any_kind else DIABETES
    files = MIMIC.find(data_dir)
    extra = LISTS.find(data_dir) if lists else {}
    stays = admissions(files)
    splits = {stay.id: patient_split(stay.patient, seed) for stay in stays}
    if lists:  # one number a line
        splits = {
            cells[0].strip(): split
            for split, name in LISTS.files.items()
            for _, cells in read_cells(extra[name])
        }
    examples = [s.example(splits[s.id], s.has(code)) for s in stays if s.id in splits]
    return RawCorpus(
        ("no diabetes", "diabetes"),
        examples,
        digests(files | extra),
        note="" if lists else "all discharge summaries, split by patient; the paper used a part",
        dropped={"in no list": len(stays) - len(examples)} if lists else {},
    )


def read_anemia(data_dir: Path | None, seed: int = 0) -> RawCorpus:
    """Acute is ICD-9 285.1, chronic 285.2 and what is below it; stays with both or neither are
    left out. The paper names no codes: these are its released code's.

    The paper's text calls acute 0 and chronic 1, but its code does the reverse, and so do its
    counts: in its Table 1 class 1 is the larger one, as acute is in the data. The classes are
    therefore numbered as in the code and in the published tables.
    """
    files = MIMIC.find(data_dir)
    stays = admissions(files)
    examples = [
        stay.example(patient_split(stay.patient, seed), stay.has(ACUTE))
        for stay in stays
        if stay.has(ACUTE) != stay.has(CHRONIC)
    ]
    return RawCorpus(
        ("chronic", "acute"),
        examples,
        digests(files),
        note="split by patient; the paper split admissions",
        dropped={"no anemia, or both kinds": len(stays) - len(examples)},
    )


def admissions(files: dict[str, Path]) -> list[Admission]:
    """All that have both a summary and a diagnosis, by number."""
    codes = _codes(files[DIAGNOSES])
    texts = _summaries(files[NOTES])
    return [
        Admission(stay, patient, clean(texts[patient, stay]), frozenset(codes[patient, stay]))
        for patient, stay in sorted(texts, key=lambda key: (key[1].zfill(12), key[0]))
        if (patient, stay) in codes
    ]


def clean(text: str) -> str:
    """What was blanked out to protect patients becomes one word, and rows of the same mark
    (rules, dots) one mark, as jain2019 does."""
    text = re.sub(r"\[\s*\*\*.*?\*\*\s*\]", " deidentified ", text, flags=re.DOTALL)
    return re.sub(r"([^\w\s])(?:[ \t]*\1)+", r"\1 ", text).strip()


def patient_split(patient: str, seed: int) -> str:
    """By a hash of the patient, so that nobody is in two splits. jain2019 split admissions,
    which can put one patient on both sides."""
    share = stable_hash(seed, "mimic patient", patient) / 2.0**63
    if share < TEST_SHARE:
        return "test"
    return "dev" if share < TEST_SHARE + DEV_SHARE * (1 - TEST_SHARE) else "train"


def _summaries(path: Path) -> dict[tuple[str, str], str]:
    """Reports before addenda, each by date; notes that were marked as errors are left out."""
    columns = ("SUBJECT_ID", "HADM_ID", "CATEGORY", "ISERROR", "DESCRIPTION", "CHARTDATE", "TEXT")
    found: dict[tuple[str, str], list[tuple[bool, str, str]]] = defaultdict(list)
    for patient, stay, category, wrong, kind, date, text in stream_columns(path, columns):
        if category.strip() == SUMMARY and _number(stay) and not wrong.strip():
            part = (kind.strip() != "Report", date, text)
            found[_number(patient), _number(stay)].append(part)
    return {
        key: " ".join(part[2] for part in sorted(parts, key=lambda part: part[:2]))
        for key, parts in found.items()
    }


def _codes(path: Path) -> dict[tuple[str, str], set[str]]:
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for patient, stay, code in stream_columns(path, ("SUBJECT_ID", "HADM_ID", "ICD9_CODE")):
        if code.strip():
            found[_number(patient), _number(stay)].add(code.strip().replace(".", ""))
    return dict(found)


def _number(cell: str) -> str:
    """An id; some tools write 12.0 for 12."""
    return cell.strip().removesuffix(".0")


_mimic = partial(
    Corpus,
    find=MIMIC.find,
    paper="jain2019",
    needs=("data",),
    licence="PhysioNet credentialed health data licence",
    citation="Johnson et al. 2016, MIMIC-III, a Freely Accessible Critical Care Database",
    # jain2019 trains word2vec on the summaries; those vectors are not public, so here it is GloVe.
    prepare=PrepareSpec(tokenizer="spacy", min_df=5, max_length=4000, vectors="glove"),
)
ENTRIES = by_name(
    _mimic(
        name="diabetes",
        description="Discharge summaries, with or without a code for diabetes",
        make=read_diabetes,
    ),
    _mimic(
        name="anemia",
        description="Discharge summaries of patients with chronic or acute anemia",
        make=read_anemia,
    ),
)
