"""What a report says in five lines, for each paper its own."""

from heedful.catalogue import Catalogue

SUMMARIES = Catalogue(
    "summary",
    {
        "jain2019": "heedful.report.summaries.jain2019",
        "serrano2019": "heedful.report.summaries.serrano2019",
        "vashishth2019": "heedful.report.summaries.vashishth2019",
        "pruthi2020": "heedful.report.summaries.pruthi2020",
        "wiegreffe2019": "heedful.report.summaries.wiegreffe2019",
        "mohankumar2020": "heedful.report.summaries.mohankumar2020",
        "tutek2020": "heedful.report.summaries.tutek2020",
    },
)
