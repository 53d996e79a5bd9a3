"""MIMIC-III discharge summaries: was the stay coded as diabetes?"""

from __future__ import annotations

from pathlib import Path

from heedful.catalogue import Piece
from heedful.corpora import mimic_tables
from heedful.corpora.example import Example, RawCorpus
from heedful.corpora.files import Publisher, digests, find_files, read_cells

CODE = "25000"
LISTS = {split: f"mimic/{split}_50_hadm_ids.csv" for split in ("train", "dev", "test")}
AUTHORS = Publisher(
    "jain2019's lists of admissions", "https://github.com/successar/AttentionExplanation"
)


def read(
    data_dir: Path | None, any_kind: bool = False, lists: bool = False, seed: int = 0
) -> RawCorpus:
    """Positive is a stay with the ICD-9 code 250.00, or with `any_kind` any that begins with 250.

    The paper says "the ICD9 code for diabetes"; its released code takes 250.00 (type 2,
    without complications) and calls every other kind negative. The paper used a part of the
    stays, the lists of which are beside its code: with `lists` they and their splits are read,
    else all stays are taken, split by patient.
    """
    code = CODE[:3] if any_kind else CODE
    files = mimic_tables.find_tables(data_dir)
    extra = find_files(data_dir, list(LISTS.values()), AUTHORS) if lists else {}
    splits = _listed(extra)
    stays = mimic_tables.admissions(files)
    if not lists:
        splits = {s.id: mimic_tables.patient_split(s.patient, seed) for s in stays}
    examples = [_example(stay, splits[stay.id], code) for stay in stays if stay.id in splits]
    return RawCorpus(
        ("no diabetes", "diabetes"),
        examples,
        digests(files | extra),
        note="" if lists else "all discharge summaries, split by patient; the paper used a part",
        dropped={"in no list": len(stays) - len(examples)} if lists else {},
    )


def _example(stay: mimic_tables.Admission, split: str, code: str) -> Example:
    label = any(own.startswith(code) for own in stay.codes)
    return Example(f"mimic-{stay.id}", split, {"a": stay.text}, int(label))


def _listed(files: dict[str, Path]) -> dict[str, str]:
    """The split of each listed admission: one number a line."""
    return {
        cells[0].strip(): split
        for split, name in LISTS.items()
        if name in files
        for _, cells in read_cells(files[name])
    }


DEFAULTS = mimic_tables.DEFAULTS

PIECE = Piece(
    name="diabetes",
    description="Discharge summaries, with or without a code for diabetes",
    make=read,
    find=mimic_tables.find_tables,
    paper="jain2019",
    needs=("data",),
    licence=mimic_tables.LICENCE,
    citation=mimic_tables.CITATION,
)
