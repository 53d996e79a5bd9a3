"""Studies: papers as values, no logic."""

from heedful.catalogue import Catalogue

STUDIES = Catalogue(
    "study",
    {
        "jain2019": "heedful.studies.jain2019",
        "serrano2019": "heedful.studies.serrano2019",
        "vashishth2019": "heedful.studies.vashishth2019",
    },
)
