"""SNLI with counterfactual edits: pairs that people changed until the label changed."""

from __future__ import annotations

from pathlib import Path

from heedful.catalogue import Piece
from heedful.corpora.example import RawCorpus
from heedful.corpora.files import Publisher, digests, find_files, read_rows
from heedful.corpora.inference import COLUMNS, LABELS, labelled
from heedful.errors import unknown_name
from heedful.specs import PrepareSpec

PUBLISHER = Publisher(
    "the counterfactually augmented SNLI",
    "https://github.com/acmi-lab/counterfactually-augmented-data",
)
PARTS = ("all", "original", "revised")
FILES = {split: f"snli_cad/{split}.jsonl.gz" for split in ("train", "dev", "test")}


def read(data_dir: Path | None, part: str = "all") -> RawCorpus:
    """`part` is all pairs, the original ones, or the revised ones. The originals of dev and
    test are also in SNLI's dev and test sets."""
    if part not in PARTS:
        raise unknown_name("part", part, list(PARTS))
    files = find(data_dir)
    examples, other = [], 0
    for split, name in FILES.items():
        rows = read_rows(files[name], (*COLUMNS, "source"))
        pairs, _ = labelled(rows, "snli_cad", split, name)
        sources = [rows[int(pair.id[-6:])]["source"] for pair in pairs]
        kept = [pair for pair, own in zip(pairs, sources, strict=True) if part in ("all", own)]
        examples += kept
        other += len(pairs) - len(kept)
    return RawCorpus(LABELS, examples, digests(files), dropped={"of the other part": other})


def find(data_dir: Path | None) -> dict[str, Path]:
    return find_files(data_dir, list(FILES.values()), PUBLISHER)


DEFAULTS = PrepareSpec(tokenizer="spacy", min_df=3, vectors="glove")

PIECE = Piece(
    name="snli_cad",
    description="SNLI pairs and their counterfactual revisions",
    make=read,
    find=find,
    paper="kaushik2020",
    needs=("data",),
    kind="pair",
    licence="Apache 2.0; SNLI: CC BY-SA 4.0",
    citation="Kaushik et al. 2020, Learning the Difference That Makes a Difference",
)
