"""Removal: ways to take words out of a text and ask the model again."""

from heedful.catalogue import Catalogue

REMOVALS = Catalogue(
    "removal operator",
    {
        "delete": "heedful.removal.delete",
        "mask": "heedful.removal.mask",
        "unk": "heedful.removal.unk",
        "zero": "heedful.removal.zero",
        "attention": "heedful.removal.attention",
    },
)
