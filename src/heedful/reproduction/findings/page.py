"""`docs/findings.md` and its pictures, made of compact rows and of nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from heedful.reproduction.audits import merged_audits, no_audits, read_audits
from heedful.reproduction.compact import write_compact
from heedful.reproduction.findings.adversary_and_seeds import FINDING as ADVERSARY_AND_SEEDS
from heedful.reproduction.findings.evidence import Evidence
from heedful.reproduction.findings.exact_and_search import FINDING as EXACT_AND_SEARCH
from heedful.reproduction.findings.faithful_methods import FINDING as FAITHFUL_METHODS
from heedful.reproduction.findings.finding import Finding, Told
from heedful.reproduction.findings.fixed_decisions import FINDING as FIXED_DECISIONS
from heedful.reproduction.findings.human_rationales import FINDING as HUMAN_RATIONALES
from heedful.reproduction.findings.pretrained import FINDING as PRETRAINED
from heedful.reproduction.findings.query_in_decoder import FINDING as QUERY_IN_DECODER
from heedful.reproduction.rows import read_rows
from heedful.store import Store
from heedful.store.files import write_text

FINDINGS = (
    EXACT_AND_SEARCH,
    FIXED_DECISIONS,
    QUERY_IN_DECODER,
    ADVERSARY_AND_SEEDS,
    FAITHFUL_METHODS,
    HUMAN_RATIONALES,
    PRETRAINED,
)
ROWS, AUDITS = Path("reproduction/rows.csv"), Path("reproduction/audits.csv")
PAGE, PICTURES = Path("docs/findings.md"), Path("docs/figures/findings")
HEAD = """# What we found

For readers who have not read the papers. Brackets hold intervals: of the mean over trainings
where a number comes from several, else over texts. Unless a section says otherwise they are made
to hold the truth nineteen times in twenty; those of three trainings rest on little. A difference
is taken training by training, so it can be clear where two brackets overlap. *Larger*, *smaller*
and their like are said only where an interval leaves zero out, without a correction for how many
are looked at; otherwise the page says that it cannot tell. Small models are named by what reads
the words before attention does: an *LSTM* (in order, both ways), or nothing but their *word
vectors*. *SST* are sentences about films, to be told good from bad; *IMDB* whole reviews of
films; *20News* posts on baseball and hockey; *bAbI* made-up stories with a question, to be
answered from one sentence in the first task and from two in the second; *SNLI* pairs of
sentences, of which one may follow from the other; *HateXplain* posts that may offend.
"""
FOOT = """## What this page is made of

`heedful study all --report` writes this page and its pictures out of the rows below, and out of
nothing else; with `--store` it first adds what that store has more. Of several trainings a number
is their mean.
"""


def update_findings(store: Store | None) -> Path:
    """The kept rows, with the audits that the store has more, and the page made of them."""
    audits = read_audits(AUDITS) if AUDITS.is_file() else no_audits()
    if store is not None and any(True for _ in store.runs("audit")):
        from heedful.reproduction.audit_runs import collect_audits

        audits = merged_audits(audits, collect_audits(store))
        write_compact(audits, AUDITS)
    return write_findings(Evidence(read_rows(ROWS), audits))


def write_findings(evidence: Evidence) -> Path:
    """The page and a picture for each section that can be told."""
    told = {finding.name: finding.tell(evidence) for finding in FINDINGS}
    PICTURES.mkdir(parents=True, exist_ok=True)
    for name, each in told.items():
        if each is not None:
            write_text(PICTURES / f"{name}.svg", each.picture.svg())
    write_text(PAGE, page(evidence))
    return PAGE


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
