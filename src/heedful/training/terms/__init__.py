"""Terms that a loss may have beside the task's own, one file each.

A term is made from what may be known besides a batch (`Lesson`) and its parameters, and has
no weights of its own: `make(lesson, **params) -> Term`.
"""

from heedful.catalogue import Catalogue

TERMS = Catalogue(
    "term",
    {
        "diversity": "heedful.training.terms.diversity",
    },
)
