"""What a study is: settings of corpora and models, and the numbers it is read against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from heedful.entries import PaperStudy
from heedful.errors import HeedfulError
from heedful.registry import Registry
from heedful.specs import ModelSpec, ProbeSpec, TrainSpec

TRAINING = TrainSpec(ties="first")
"""A paper's: its program writes the weights down whenever the dev score is better than before."""


_NAMES = (
    "jain2019",
    "serrano2019",
    "vashishth2019",
    "wiegreffe2019",
    "pruthi2020",
    "tutek2020",
    "mohankumar2020",
)
STUDIES = Registry("study", PaperStudy, dict.fromkeys(_NAMES, "heedful.studies.papers:ENTRIES"))


@dataclass(frozen=True)
class Setting:
    """Corpora of one kind (single, pair, generation) that are treated alike; `also` are some
    that the paper has not, treated so when they are asked for: but for ties between epochs."""

    kind: str
    corpora: tuple[str, ...]
    models: tuple[ModelSpec, ...]
    probes: tuple[ProbeSpec, ...]
    train: TrainSpec
    also: tuple[str, ...] = ()

    def training(self, corpus: str) -> TrainSpec:
        """The paper's way to break ties between epochs is for the paper's corpora alone: on small
        ones the first epoch with a perfect dev score may be far from trained."""
        return self.train if corpus in self.corpora else replace(self.train, ties="loss")


@dataclass(frozen=True)
class Small:
    """`--preset small` of one corpus: at most so many examples of a split, and epochs; and
    `probes` that are called with other parameters."""

    limit: int | None = None
    epochs: int | None = None
    probes: tuple[ProbeSpec, ...] = ()


@dataclass(frozen=True)
class Study:
    """A paper's experiments. `published` are the tables of `published.csv` to stand beside,
    `names` the models' names there, where they are others than ours; `deeper` are those of the
    tables that models of several layers stand in. With `sized` the tables say how wide models
    and vectors are, since the paper's are of another width."""

    name: str
    version: int
    settings: tuple[Setting, ...]
    seeds: tuple[int, ...] = (0,)
    published: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    small: Mapping[str, Small] = field(default_factory=dict)
    sized: bool = False
    deeper: tuple[str, ...] = ()
    description: str = ""
    citation: str = ""

    def entry(self) -> PaperStudy:
        """Its entry in the registry, under the paper's key in the bibliography."""
        return PaperStudy(
            self.name, self.description, lambda: self, paper=self.name, citation=self.citation
        )

    @property
    def corpora(self) -> tuple[str, ...]:
        return tuple(name for setting in self.settings for name in setting.corpora)

    def setting(self, corpus: str, kind: str) -> Setting:
        """The one that names the corpus, else the first for its kind."""
        fitting = [each for each in self.settings if corpus in (*each.corpora, *each.also)]
        fitting += [each for each in self.settings if each.kind == kind]
        if not fitting:
            kinds = ", ".join(dict.fromkeys(each.kind for each in self.settings))
            raise HeedfulError(
                f"the study {self.name} has no models for {corpus!r}, a corpus of the kind "
                f"{kind}: choose one of the kind {kinds}."
            )
        return fitting[0]
