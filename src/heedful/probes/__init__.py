"""Probes: experiments on a trained model. Each sees attention through `heedful.types.rows`."""

from heedful.catalogue import Catalogue

PROBES = Catalogue(
    "probe",
    {
        "score": "heedful.probes.score",
        "correlation": "heedful.probes.correlation",
        "permutation": "heedful.probes.permutation",
        "adversarial": "heedful.probes.adversarial",
        "reachability": "heedful.probes.reachability",
    },
)
