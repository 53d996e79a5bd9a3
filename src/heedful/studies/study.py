"""What a study is: a grid of runs, the probes on each, and the numbers it is read against."""

from __future__ import annotations

from dataclasses import dataclass

from heedful.specs import ProbeSpec, TrainSpec


@dataclass(frozen=True)
class Study:
    """A paper's experiments. `published` are the tables of `published.csv` to stand beside."""

    name: str
    version: int
    corpora: tuple[str, ...]
    encoders: tuple[str, ...]
    attentions: tuple[str, ...]
    seeds: tuple[int, ...]
    train: TrainSpec
    probes: tuple[ProbeSpec, ...]
    published: tuple[str, ...]
