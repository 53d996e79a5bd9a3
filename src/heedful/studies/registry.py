"""The names of all studies, each with the module that defines it."""

from heedful.catalogue import Catalogue

STUDIES = Catalogue(
    "study",
    {
        "jain2019": "heedful.studies.jain2019",
        "serrano2019": "heedful.studies.serrano2019",
        "vashishth2019": "heedful.studies.vashishth2019",
        "wiegreffe2019": "heedful.studies.wiegreffe2019",
        "pruthi2020": "heedful.studies.pruthi2020",
        "tutek2020": "heedful.studies.tutek2020",
        "mohankumar2020": "heedful.studies.mohankumar2020",
    },
)
