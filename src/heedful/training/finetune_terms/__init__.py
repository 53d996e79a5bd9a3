"""Terms for the loss of a pretrained classifier that is fine-tuned, one file each.

They look at states only: `make(layers, site="") -> StateTerm`. Without a site the term is about
the last layer.
"""

from heedful.catalogue import Catalogue

STATE_TERMS = Catalogue(
    "pretrained-term",
    {
        "diversity": "heedful.training.finetune_terms.diversity",
        "tying": "heedful.training.finetune_terms.tying",
    },
)
