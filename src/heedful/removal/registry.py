"""The names of all removal, each with the module that defines it."""

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
