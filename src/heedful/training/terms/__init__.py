"""Terms that a loss may have beside the task's own, one file each.

A term is made from what may be known besides a batch (`Lesson`) and its parameters, and has
no weights of its own: `make(lesson, **params) -> Term`.
"""

from heedful.catalogue import Catalogue

TERMS = Catalogue(
    "term",
    {
        "apart": "heedful.training.terms.apart",
        "diversity": "heedful.training.terms.diversity",
        "impermissible": "heedful.training.terms.impermissible",
        "mlm": "heedful.training.terms.mlm",
        "sparsity": "heedful.training.terms.sparsity",
        "supervised": "heedful.training.terms.supervised",
        "tying": "heedful.training.terms.tying",
    },
)
