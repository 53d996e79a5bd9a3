"""`docs/findings.md` and its pictures, made of compact rows and of nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from paper_tables.document import folded, table
from paper_tables.findings.adversary_and_seeds import FINDING as ADVERSARY_AND_SEEDS
from paper_tables.findings.evidence import Evidence, Finding, Told
from paper_tables.findings.faithful_methods import FINDING as FAITHFUL_METHODS
from paper_tables.findings.human_rationales import FINDING as HUMAN_RATIONALES
from paper_tables.findings.other_attention import EXACT_AND_SEARCH, FIXED_DECISIONS
from paper_tables.findings.pretrained import FINDING as PRETRAINED
from paper_tables.findings.query_in_decoder import FINDING as QUERY_IN_DECODER

FINDINGS = (
    EXACT_AND_SEARCH,
    FIXED_DECISIONS,
    QUERY_IN_DECODER,
    ADVERSARY_AND_SEEDS,
    FAITHFUL_METHODS,
    HUMAN_RATIONALES,
    PRETRAINED,
)
HEAD = """# What we found

Each section asks one question, answers it in one sentence and shows the numbers behind the answer.
You need not have read the papers. Words such as *larger* or *better* appear only where an interval
excludes zero, without a correction for the number of comparisons. Everywhere else the page says
that it cannot tell.
"""
TERMS = folded(
    "The words of this page",
    """| term | meaning |
| --- | --- |
| number [low, high] | A mean and its interval, over trainings where there are several, otherwise \
over examples. Unless the section says otherwise, the interval contains the true mean nineteen \
times in twenty. Intervals of three trainings are rough. |
| difference | Taken training by training, so it can be clear although two intervals overlap. |
| LSTM | A small model that reads the words in order, in both directions, before attention. |
| word vectors | A small model whose attention sees each word by itself. |
| MiniLM | A small pretrained Transformer of the BERT kind, fine-tuned on film reviews. |
| SmolLM2 | A small pretrained language model, not trained for the task. |
| SST | Sentiment of film-review sentences. |
| IMDB | Sentiment of whole film reviews. |
| 20News | Newsgroup posts: baseball or hockey? |
| bAbI | Generated stories with a question. Answering takes one sentence in the first task and two \
in the second. |
| SNLI | Pairs of sentences: does one follow from the other? |
| HateXplain | Social-media posts: are they offensive? |
""",
)
MISSING = "Not measured yet. To measure it:"
FOOT = """## What this page is made of

`heedful study all --report` writes this page and its pictures from the rows below and from nothing
else. With `--store` it first adds the rows that only the store has. A number measured on several
trainings is their mean.
"""


def pictures(evidence: Evidence) -> dict[str, str | None]:
    """By the name of their file; none for a section that cannot be told."""
    told = {finding.name: finding.tell(evidence) for finding in FINDINGS}
    return {
        f"{name}.svg": None if each is None else each.picture.svg() for name, each in told.items()
    }


def page(evidence: Evidence) -> str:
    """The whole page."""
    told = [(finding, finding.tell(evidence)) for finding in FINDINGS]
    sections = [_section(finding, each) for finding, each in told]
    return "\n".join([HEAD, TERMS, *sections, FOOT, _backing(told)])


def _section(finding: Finding, told: Told | None) -> str:
    head = f"## {finding.title}\n"
    if told is None:
        missing = f"{MISSING}\n\n{_commands(finding)}\n"
        return f"{head}\n{finding.question}\n\n{missing}"
    numbers = "\n\n".join(table(each.head, each.rows) for each in told.tables)
    parts = [
        head,
        f"**{told.answer}**\n",
        f"![{told.picture.says}](figures/findings/{finding.name}.svg)\n",
        f"{finding.question}\n",
        *([f"{' '.join(told.sentences)}\n"] if told.sentences else []),
        folded(f"The numbers, by {told.tables[-1].head[0]}", numbers),
        f"*What this does not show.* {finding.limits}\n",
    ]
    return "\n".join(parts)


def _backing(told: Sequence[tuple[Finding, Told | None]]) -> str:
    lines = [
        f"- {finding.title} {', '.join(map(str, each.backing))}; made by:\n\n"
        f"{_commands(finding, indent=4)}\n"
        for finding, each in told
        if each is not None
    ]
    return "\n".join(lines)


def _commands(finding: Finding, indent: int = 0) -> str:
    return "\n".join(f"{' ' * indent}- `{command}`" for command in finding.commands)
