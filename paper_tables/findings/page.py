"""`docs/findings.md` and its pictures, made of compact rows and of nothing else."""

from __future__ import annotations

from collections.abc import Sequence

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

For readers who have not read the papers. Brackets hold intervals: of the mean over trainings
where a number comes from several, else over texts. Unless a section says otherwise they are made
to hold the truth nineteen times in twenty; those of three trainings rest on little. A difference
is taken training by training, so it can be clear where two brackets overlap. *Larger*, *smaller*
and their like are said only where an interval leaves zero out, without a correction for how many
are looked at; otherwise the page says that it cannot tell. Small models are named by what reads
the words before attention does: an *LSTM* (in order, both ways), or nothing but their *word
vectors*. *SST* is sentiment of sentences from film reviews; *IMDB* whole reviews of
films; *20News* posts on baseball and hockey; *bAbI* made-up stories with a question, to be
answered from one sentence in the first task and from two in the second; *SNLI* pairs of
sentences, of which one may follow from the other; *HateXplain* posts that may offend.
"""
FOOT = """## What this page is made of

`heedful study all --report` writes this page and its pictures out of the rows below, and out of
nothing else; with `--store` it first adds what that store has more. Of several trainings a number
is their mean.
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
    return "\n".join([HEAD, *sections, FOOT, _backing(told)])


def _section(finding: Finding, told: Told | None) -> str:
    head = f"## {finding.title}\n\n{finding.question}\n"
    if told is None:
        return f"{head}\nNot measured yet. This would: {_commands(finding)}\n"
    picture = f"![{told.picture.says}](figures/findings/{finding.name}.svg)"
    listed = "\n".join(f"- {line}" for line in told.sentences)
    return f"{head}\n{picture}\n\n{listed}\n\n*What this does not show.* {finding.limits}\n"


def _backing(told: Sequence[tuple[Finding, Told | None]]) -> str:
    lines = [
        f"- {finding.title} {', '.join(map(str, each.backing))}; made by {_commands(finding)}"
        for finding, each in told
        if each is not None
    ]
    return "\n".join([*lines, ""])


def _commands(finding: Finding) -> str:
    return ", ".join(f"`{command}`" for command in finding.commands)
