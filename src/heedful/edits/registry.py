"""The names of all edits, each with the module that defines it."""

from heedful.catalogue import Catalogue, Range

SEED: Range = (0, 2**63 - 1)
"""Probes draw theirs by hashes."""

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
