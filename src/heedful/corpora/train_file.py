"""The training file of a corpus of which some have only a part."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from heedful.corpora.sources import MissingData, Publisher, find_files


@dataclass(frozen=True)
class Train:
    """The training file that was found, and whether it is only a part of the published one."""

    name: str
    files: dict[str, Path]
    subset: bool

    @property
    def note(self) -> str:
        return "the training file is a part of the published one" if self.subset else ""


def find_train(data_dir: Path | None, folder: str, others: list[str], who: Publisher) -> Train:
    """The whole training file where it is there, else the part in `train_subset`."""
    whole, part = f"{folder}/train.jsonl.gz", f"{folder}/train_subset.jsonl.gz"
    try:
        return Train(whole, find_files(data_dir, [whole, *others], who), subset=False)
    except MissingData:
        return Train(part, find_files(data_dir, [part, *others], who), subset=True)
