"""MIMIC-III's discharge summaries and diagnoses, read from the tables as they are published.

Nothing is downloaded: the tables need a credentialed licence, and stay where they are.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from heedful.corpora.files import Publisher, find_sheets, stream_columns
from heedful.randomness import stable_hash
from heedful.specs import PrepareSpec

PUBLISHER = Publisher(
    "MIMIC-III (with a credentialed licence)", "https://physionet.org/content/mimiciii"
)
NOTES, DIAGNOSES = "mimic/NOTEEVENTS.csv", "mimic/DIAGNOSES_ICD.csv"
SUMMARY = "Discharge summary"
TEST_SHARE, DEV_SHARE = 0.2, 0.15
LICENCE = "PhysioNet credentialed health data licence"
CITATION = "Johnson et al. 2016, MIMIC-III, a Freely Accessible Critical Care Database"

# jain2019 trains word2vec on the summaries; those vectors are not public, so here it is GloVe.
DEFAULTS = PrepareSpec(tokenizer="spacy", min_df=5, max_length=4000, vectors="glove")


@dataclass(frozen=True)
class Admission:
    """A stay in hospital: its summary with all addenda, and its ICD-9 codes without dots."""

    id: str
    patient: str
    text: str
    codes: frozenset[str]


def find_tables(data_dir: Path | None) -> dict[str, Path]:
    return find_sheets(data_dir, [NOTES, DIAGNOSES], PUBLISHER)


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
