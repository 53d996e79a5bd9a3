"""Every part of the bench by name: its section, and the function that yields its rows.

Functions are imported when a part runs, so a missing package is that part's matter alone.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec

from bench.row import Row
from bench.setting import Setting, Skip

INSTALL = {"inseq": "pip install -c constraints.txt inseq==0.7.1"}


@dataclass(frozen=True)
class Part:
    """`function` of `module`, called with the setting, and with `argument` where there is one.
    It `needs` packages that may not be there."""

    section: str
    module: str
    function: str
    argument: str = ""
    needs: tuple[str, ...] = ()

    def rows(self, setting: Setting) -> Iterator[Row]:
        if self.missing:
            raise Skip(self.missing)
        function = getattr(import_module(self.module), self.function)
        function = partial(function, self.argument) if self.argument else function
        gc.freeze()  # what was imported stays, and is not looked through at every measurement
        yield from function(setting)

    @property
    def missing(self) -> str:
        """Why it cannot run here; empty where it can."""
        for package in self.needs:
            if find_spec(package) is None:
                how = INSTALL.get(package, "pip install 'heedful[hf,explain]'")
                return f"{package} is not installed: {how}"
        return ""


def _parts() -> dict[str, Part]:
    found = {f"papers-{size}": Part("papers", "bench.papers", "rows", size) for size in PAPERS}
    found["reach"] = Part("reach", "bench.reach", "rows")
    needs: tuple[str, ...]
    for encoder in ENCODERS:
        needs = ("transformers",) if encoder == "bert" else ()
        part = Part("deletions", "bench.deletions", "rows", encoder, needs)
        found[f"deletions-{encoder}"] = part
    for size in PAPERS:
        found[f"training-{size}"] = Part("training", "bench.training", "rows", size)
    for method in CAPTUM:
        needs = ("captum", "transformers", *(("lime",) if method == "lime" else ()))
        found[f"captum-{method}"] = Part("captum", "bench.captum", "rows", method, needs)
    for method in INSEQ:
        needs = ("inseq", "transformers")
        found[f"inseq-{method}"] = Part("inseq", "bench.decoders", "rows", method, needs)
    found["attach"] = Part("attach", "bench.attach", "rows", needs=("transformers",))
    found["long"] = Part("long", "bench.long", "rows")
    return found


PAPERS = ("sst", "imdb")
ENCODERS = (
    *("bilstm", "lstm", "bigru", "orthogonal", "cnn", "conv", "average", "none"),
    "bert",  # of Hugging Face: nothing but to start anew
)
CAPTUM = (
    *("gradient", "gradient_input", "integrated_gradients", "smoothgrad"),
    *("occlusion", "kernel_shap", "lime", "lrp"),
)
INSEQ = ("gradient", "gradient_input", "integrated_gradients", "occlusion", "attention")
PARTS = _parts()
SECTIONS = tuple(dict.fromkeys(part.section for part in PARTS.values()))


def chosen(only: Sequence[str] | None) -> list[str]:
    """Names of parts, those of whole sections among them; all without a choice."""
    if not only:
        return list(PARTS)
    return [name for name, part in PARTS.items() if _is(name, part, only)]


def _is(name: str, part: Part, only: Iterable[str]) -> bool:
    return name in only or part.section in only
