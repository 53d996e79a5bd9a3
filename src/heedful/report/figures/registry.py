"""The figures of a report by name, in the order in which a page shows them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from heedful.catalogue import Catalogue, Piece
from heedful.errors import unknown_name


@dataclass(frozen=True)
class _Figures(Catalogue):
    """Figures that are drawn alike share a module: its `PIECES`."""

    def __getitem__(self, name: str) -> Piece:
        if name not in self.modules:
            raise unknown_name(self.kind, name, list(self.modules))
        pieces: tuple[Piece, ...] = import_module(self.modules[name]).PIECES
        return next(piece for piece in pieces if piece.name == name)


FIGURES = _Figures(
    kind="figure",
    modules={
        "published": "heedful.report.figures.published",
        "tau_gradient": "heedful.report.figures.distributions",
        "tau_length": "heedful.report.figures.curves",
        "permutation": "heedful.report.figures.distributions",
        "jsd": "heedful.report.figures.distributions",
        "jsd_by_max": "heedful.report.figures.distributions",
        "substitution": "heedful.report.figures.published",
        "erasure": "heedful.report.figures.erasure",
        "flips": "heedful.report.figures.erasure",
        "importance_sets": "heedful.report.figures.erasure",
        "importance_mass": "heedful.report.figures.erasure",
        "layers": "heedful.report.figures.curves",
        "deception": "heedful.report.figures.curves",
        "seed_variance": "heedful.report.figures.distributions",
        "frontier": "heedful.report.figures.frontier",
        "conicity": "heedful.report.figures.transparency",
        "parts_of_speech": "heedful.report.figures.transparency",
        "token_curves": "heedful.report.figures.token_curves",
    },
)
