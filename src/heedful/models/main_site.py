"""The one attention of a model of ours that is shown: what training may be about."""

from __future__ import annotations

from heedful.errors import HeedfulError
from heedful.models.family import Family
from heedful.types import SiteSpec


def main_site(model: Family) -> SiteSpec:
    """Neither a term of the loss nor a teacher can do with none, or with several."""
    sites = [site for site in model.sites if site.main]
    if len(sites) != 1:
        raise HeedfulError(
            f"terms of the loss and teachers need one main attention, and this model has "
            f"{len(sites)}: choose another family."
        )
    return sites[0]
