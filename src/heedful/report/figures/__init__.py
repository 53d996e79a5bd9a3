"""The figures of a report: one file each, drawn from the tidy rows of the probes."""

from heedful.catalogue import Catalogue

FIGURES = Catalogue(
    kind="figure",
    modules={
        "published": "heedful.report.figures.published",
        "tau_gradient": "heedful.report.figures.tau_gradient",
        "tau_length": "heedful.report.figures.tau_length",
        "permutation": "heedful.report.figures.permutation",
        "jsd": "heedful.report.figures.jsd",
        "jsd_by_max": "heedful.report.figures.jsd_by_max",
    },
)

__all__ = ["FIGURES"]
