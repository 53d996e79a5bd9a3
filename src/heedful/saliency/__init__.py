"""Saliency: from a model and a batch to one score per token."""

from heedful.catalogue import Catalogue

SALIENCIES = Catalogue(
    "saliency",
    {
        "gradient": "heedful.saliency.gradient",
        "gradient_input": "heedful.saliency.gradient_input",
        "leave_one_out": "heedful.saliency.leave_one_out",
    },
)
