"""MIMIC-III discharge summaries of patients with anemia: chronic or acute?"""

from __future__ import annotations

from pathlib import Path

from heedful.catalogue import Piece
from heedful.corpora import mimic_tables
from heedful.corpora.example import Example, RawCorpus
from heedful.corpora.files import digests

ACUTE, CHRONIC = "2851", "2852"
LABELS = ("chronic", "acute")


def read(data_dir: Path | None, seed: int = 0) -> RawCorpus:
    """Acute is ICD-9 285.1, chronic 285.2 and what is below it; stays with both or neither are
    left out. The paper names no codes: these are its released code's.

    The paper's text calls acute 0 and chronic 1, but its code does the reverse, and so do its
    counts: in its Table 1 class 1 is the larger one, as acute is in the data. The classes are
    therefore numbered as in the code and in the published tables.
    """
    files = mimic_tables.find_tables(data_dir)
    stays = mimic_tables.admissions(files)
    made = [_example(stay, mimic_tables.patient_split(stay.patient, seed)) for stay in stays]
    examples = [example for example in made if example is not None]
    return RawCorpus(
        LABELS,
        examples,
        digests(files),
        note="split by patient; the paper split admissions",
        dropped={"no anemia, or both kinds": len(made) - len(examples)},
    )


def _example(stay: mimic_tables.Admission, split: str) -> Example | None:
    acute, chronic = (any(c.startswith(kind) for c in stay.codes) for kind in (ACUTE, CHRONIC))
    if acute == chronic:
        return None
    return Example(f"mimic-{stay.id}", split, {"a": stay.text}, int(acute))


DEFAULTS = mimic_tables.DEFAULTS

PIECE = Piece(
    name="anemia",
    description="Discharge summaries of patients with chronic or acute anemia",
    make=read,
    find=mimic_tables.find_tables,
    paper="jain2019",
    needs=("data",),
    licence=mimic_tables.LICENCE,
    citation=mimic_tables.CITATION,
)
