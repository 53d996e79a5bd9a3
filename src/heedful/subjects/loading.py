"""How a model is to be loaded and asked: one value that travels from the user to a family."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from heedful.errors import HeedfulError, unknown_name
from heedful.subjects.encode import Prompt
from heedful.subjects.labels import LabelMap

DTYPES = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16}
DEVICES = ("auto", "cpu", "cuda")


@dataclass(frozen=True)
class Loading:
    """`device` and `dtype` left out: the best device and float32, or for a model that is
    already in memory those it has. `label` chooses one label of a model with many,
    `label_words` (class name to word) make a language model a classifier, asked with
    `template` ("{text} It was"). `label_map` leads from the data's labels to the model's.
    """

    device: str = "auto"
    dtype: str | None = None
    label: str | None = None
    label_words: Mapping[str, str] | None = None
    label_map: LabelMap | None = None
    template: str = "{text}"
    max_length: int | None = None

    def __post_init__(self) -> None:
        kind = self.device.partition(":")[0]
        if kind not in DEVICES:
            raise unknown_name("device", self.device, list(DEVICES))
        if kind == "cuda" and not torch.cuda.is_available():
            raise HeedfulError(f"no CUDA device was found for {self.device!r}: use the device cpu.")
        if self.dtype is not None and self.dtype not in DTYPES:
            raise unknown_name("dtype", self.dtype, list(DTYPES))
        if self.max_length is not None and self.max_length < 3:
            raise HeedfulError(f"max_length is {self.max_length}: give at least 3 tokens.")
        if self.template.count("{text}") != 1:
            raise HeedfulError(f"the template {self.template!r} must hold {{text}} once.")

    def refuse(self, who: str, *names: str) -> None:
        """Of a model that has no use for some options, so that none is silently without effect."""
        for name in names:
            if getattr(self, name) != getattr(Loading, name):
                option = f"--{name.replace('_', '-')}"
                raise HeedfulError(f"{who} takes no {name}: leave it ({option}) out.")

    @property
    def prompt(self) -> Prompt:
        return Prompt(*self.template.split("{text}"))

    @property
    def torch_dtype(self) -> torch.dtype:
        return DTYPES[self.dtype or "float32"]

    @property
    def best_device(self) -> str:
        if self.device != "auto":
            return self.device
        return "cuda" if torch.cuda.is_available() else "cpu"
