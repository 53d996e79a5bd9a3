"""Edits: the one way attention is changed, in probes, studies and training alike."""

from heedful.catalogue import Catalogue

EDITS = Catalogue(
    "edit",
    {
        "uniform": "heedful.edits.uniform",
        "random": "heedful.edits.random",
        "permute": "heedful.edits.permute",
        "erase": "heedful.edits.erase",
        "frozen": "heedful.edits.frozen",
        "custom": "heedful.edits.custom",
        "detach": "heedful.edits.detach",
    },
)
