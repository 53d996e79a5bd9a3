"""What a report says in five lines, for each paper its own."""

from heedful.catalogue import Catalogue

SUMMARIES = Catalogue(
    "summary",
    {
        "jain2019": "heedful.report.summaries.jain2019",
        "serrano2019": "heedful.report.summaries.serrano2019",
        "vashishth2019": "heedful.report.summaries.vashishth2019",
    },
)
