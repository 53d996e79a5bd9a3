"""What a user chooses instead of a study's own settings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from heedful.errors import unknown_name
from heedful.experiments import PROBES
from heedful.parameters import check_parameters, parameters_of
from heedful.specs import ModelSpec, ProbeSpec, TrainSpec
from heedful.studies import Small

SIZES = ("full", "small")


@dataclass(frozen=True)
class Choice:
    """None leaves what the study has; `model` and `train` replace fields of all its specs."""

    encoders: list[str] | None = None
    attentions: list[str] | None = None
    model: tuple[tuple[str, Any], ...] = ()
    train: tuple[tuple[str, Any], ...] = ()
    probes: list[str] | None = None
    size: str = "full"

    def models(self, given: tuple[ModelSpec, ...]) -> list[ModelSpec]:
        """The study's models with the chosen parts, each once."""
        found = [
            replace(model, encoder=encoder, attention=attention, **dict(self.model))
            for model in given
            for encoder in self.encoders or [model.encoder]
            for attention in self.attentions or [model.attention]
        ]
        return list(dict.fromkeys(found))

    def asked(
        self, given: tuple[ProbeSpec, ...], small: Small | None = None
    ) -> tuple[ProbeSpec, ...]:
        """The chosen probes: with the study's parameters where it has them."""
        own = {probe.name: probe for probe in given}
        if self.size == "small" and small is not None:
            own |= {probe.name: probe for probe in small.probes if probe.name in own}
        names = own if self.probes is None else self.probes
        asked = tuple(own.get(name, ProbeSpec(name)) for name in names)
        for probe in asked:  # an unknown one is refused here
            piece = PROBES[probe.name]
            what = f"the probe {probe.name}"
            handed = list(parameters_of(piece.make))[:1]  # what it measures on
            check_parameters(what, piece.make, probe.params, piece.bounds, handed)
        return asked

    def training(self, given: TrainSpec, small: Small | None) -> TrainSpec:
        if self.size not in SIZES:
            raise unknown_name("size", self.size, list(SIZES))
        if self.size == "small" and small is not None and small.epochs is not None:
            given = replace(given, epochs=small.epochs)
        return replace(given, **dict(self.train))
