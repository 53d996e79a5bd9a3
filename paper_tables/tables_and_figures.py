"""`docs/tables-and-figures.md`: where each table and figure of the papers is in Heedful."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from heedful.studies import STUDIES
from paper_tables.document import table


@dataclass(frozen=True)
class Part:
    """A table or figure of a paper, by its number or, where only slides were at hand, in words.

    `tables` and `figures` are names in the report of the paper's study, `probes` what measures
    them, `page` and `command` where else to find it; `missing` is what it still needs.
    """

    paper: str
    number: str
    shows: str
    tables: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    probes: tuple[str, ...] = ()
    page: str = ""
    command: str = ""
    missing: str = ""

    @property
    def here(self) -> bool:
        return bool(self.tables or self.figures or self.page or self.command)


@dataclass(frozen=True)
class Paper:
    """A paper's heading, and what of it was at hand."""

    key: str
    title: str
    at_hand: str = ""


SLIDES = (
    "We had slides of a lecture on this paper. Parts without a number there are named in words."
)
PAPERS = (
    Paper("jain2019", "Jain & Wallace 2019, Attention is not Explanation"),
    Paper("serrano2019", "Serrano & Smith 2019, Is Attention Interpretable?", SLIDES),
    Paper("wiegreffe2019", "Wiegreffe & Pinter 2019, Attention is not not Explanation", SLIDES),
    Paper("vashishth2019", "Vashishth et al. 2019, Attention Interpretability Across NLP Tasks"),
    Paper("tutek2020", "Tutek & Šnajder 2020, Staying True to Your Word"),
    Paper(
        "mohankumar2020",
        "Mohankumar et al. 2020, Towards Transparent and Explainable Attention Models",
        SLIDES,
    ),
    Paper(
        "pruthi2020",
        "Pruthi et al. 2020, Learning to Deceive with Attention-Based Explanations",
        SLIDES,
    ),
    Paper(
        "bastings2020",
        "Bastings & Filippova 2020, The Elephant in the Interpretability Room",
        f"{SLIDES} They show arguments, and no measurements of the paper's own.",
    ),
)
LICENCE = "Diabetes and Anemia (MIMIC-III needs a licence), CNN (not at hand)"
REVIEWS = "Yahoo, Amazon, Yelp and IMDB with ten classes are not at hand; `imdb8` stands in"
PEOPLE = "people: `heedful annotate` is the experiment"
PARTS = (
    # jain2019
    Part(
        "jain2019",
        "Figure 1",
        "one review under the model's attention and an adversary's",
        probes=("adversarial",),
        page="report.md",
    ),
    Part(
        "jain2019",
        "Table 1",
        "corpora, and how well models predict",
        ("table1_corpora", "table1"),
        probes=("score",),
        page="reproduction.md#jain2019-table-1",
        missing=LICENCE,
    ),
    Part(
        "jain2019",
        "Table 2",
        "τ of attention with gradients and with leaving words out",
        ("table2_gradient", "table2_leave_one_out"),
        ("published",),
        ("correlation",),
        "reproduction.md#jain2019-table-2",
        missing=LICENCE,
    ),
    Part(
        "jain2019",
        "Figure 2",
        "histograms of τ by class",
        figures=("tau_gradient", "tau_leave_one_out"),
        probes=("correlation",),
        page="figures-of-jain2019.md#figure-2-attention-against-gradients",
    ),
    Part(
        "jain2019",
        "Figure 3",
        "median change under shuffled weights, by the largest weight",
        figures=("permutation",),
        probes=("permutation",),
        page="figures-of-jain2019.md#figure-3-shuffled-attention",
    ),
    Part(
        "jain2019",
        "Figure 4",
        "histograms of the adversarial distance, by class",
        figures=("jsd", "jsd_by_class"),
        probes=("adversarial",),
        page="figures-of-jain2019.md#figure-4-the-furthest-attention-with-the-same-prediction",
    ),
    Part(
        "jain2019",
        "Figure 5",
        "the adversarial distance by the largest weight",
        figures=("jsd_by_max",),
        probes=("adversarial",),
        page="figures-of-jain2019.md#figure-5-the-same-by-the-largest-weight",
    ),
    Part(
        "jain2019",
        "Appendix C",
        "texts under adversarial attention",
        probes=("adversarial",),
        page="report.md",
    ),
    # serrano2019
    Part(
        "serrano2019", "Figure 1", "the method, drawn", page="debate.md#is-attention-interpretable"
    ),
    Part(
        "serrano2019",
        "Table 1",
        "corpora: words, sentences, sizes, classes",
        ("table1_corpora",),
        missing=REVIEWS,
    ),
    Part(
        "serrano2019",
        "Figure 3",
        "the heaviest item or a random one, by the difference of their weights",
        figures=("erasure",),
        probes=("erasure",),
        page="studies.md#serrano2019-items-that-lose-their-attention",
        missing=REVIEWS,
    ),
    Part(
        "serrano2019",
        "Table 2",
        "decisions that one erasure flips",
        ("table2",),
        ("flips",),
        ("flips",),
        "studies.md#serrano2019-items-that-lose-their-attention",
        missing=REVIEWS,
    ),
    Part(
        "serrano2019",
        "Figure 5",
        "share of items removed until the decision flips",
        figures=("importance_sets",),
        probes=("importance_sets",),
        page="studies.md#serrano2019-items-that-lose-their-attention",
        missing=REVIEWS,
    ),
    Part(
        "serrano2019",
        "in words",
        "attention removed until the decision flips",
        figures=("importance_mass",),
        probes=("importance_sets",),
    ),
    # wiegreffe2019
    Part(
        "wiegreffe2019",
        "test 1",
        "F1 with attention and with uniform weights",
        ("uniform",),
        probes=("score", "substitution"),
        page="studies.md#wiegreffe2019-four-tests",
    ),
    Part(
        "wiegreffe2019",
        "test 2",
        "distance between seeds, by the largest weight",
        ("seeds",),
        ("seed_variance",),
        ("seeds",),
        "studies.md#wiegreffe2019-four-tests",
    ),
    Part(
        "wiegreffe2019",
        "test 3",
        "F1 of a model without context under the weights of others",
        ("guides",),
        probes=("guides",),
        page="studies.md#wiegreffe2019-four-tests",
    ),
    Part(
        "wiegreffe2019",
        "test 4",
        "adversaries trained over a corpus: distance against change of the output",
        ("frontier",),
        ("frontier",),
        ("frontier", "seeds", "adversarial"),
        "findings.md#is-a-trained-adversary-further-away-than-another-seed",
        missing="rows of IMDB and 20News: hours of training",
    ),
    # vashishth2019
    Part(
        "vashishth2019",
        "Figure 1",
        "the score with and without attention for three kinds of task",
        figures=("substitution",),
        probes=("substitution",),
        page="debate.md#attention-interpretability-across-tasks",
        missing="News Commentary is not at hand; Multi30k stands in",
    ),
    Part(
        "vashishth2019",
        "Table 1",
        "one text, attention replaced",
        ("table1",),
        ("substitution",),
        ("score", "substitution"),
        "reproduction.md#vashishth2019-table-1",
        missing="Yelp is not at hand",
    ),
    Part(
        "vashishth2019",
        "Table 2",
        "two texts, attention replaced",
        ("table2", "decoders"),
        ("substitution",),
        ("score", "substitution"),
        "reproduction.md#vashishth2019-table-2",
        missing="CNN is not at hand; SNLI, MultiNLI and bAbI 3 in part",
    ),
    Part(
        "vashishth2019",
        "Table 3",
        "translation, attention replaced",
        ("table3",),
        ("substitution",),
        ("translation", "substitution"),
        "reproduction.md#vashishth2019-table-3",
        missing="News Commentary is not at hand",
    ),
    Part(
        "vashishth2019",
        "§4.1",
        "averages over corpora that the text quotes",
        ("averages",),
        probes=("score", "substitution", "translation"),
    ),
    Part(
        "vashishth2019",
        "Figure 2",
        "median change under shuffled weights, by the largest weight",
        figures=("permutation",),
        probes=("permutation",),
    ),
    Part(
        "vashishth2019",
        "Figure 3",
        "the heaviest item or a random one, by the difference of their weights",
        figures=("erasure",),
        probes=("erasure",),
    ),
    Part(
        "vashishth2019",
        "Figure 4",
        "attention permuted layer by layer",
        figures=("layers",),
        probes=("layers",),
        page="studies.md#minilm-layer-by-layer",
        missing="a Transformer of Multi30k (an hour of training); BERT on pairs; WMT13",
    ),
    Part(
        "vashishth2019",
        "Figure 5",
        "are the heaviest words relevant, as people see them?",
        page="annotate.md#try-it-without-people",
        missing=PEOPLE,
    ),
    # tutek2020
    Part(
        "tutek2020",
        "Table 1",
        "F1, and its change with attention replaced",
        ("table1",),
        ("substitution",),
        ("score", "substitution"),
        "reproduction.md#tutek2020-table-1",
        missing="AG News in part; Diabetes and Anemia need a licence",
    ),
    Part(
        "tutek2020",
        "Table 2",
        "mutual information of words and states",
        ("table2",),
        probes=("mutual_information",),
        page="reproduction.md#tutek2020-table-2",
    ),
    Part(
        "tutek2020",
        "Table 3",
        "the predicted class by one token",
        ("table3",),
        probes=("token_probability",),
        page="reproduction.md#tutek2020-table-3",
    ),
    Part("tutek2020", "Table 4", "settings", ("table4",)),
    Part("tutek2020", "Table 5", "corpora: lengths and vocabularies", ("table5_corpora",)),
    Part(
        "tutek2020",
        "Table 6",
        "encoders of several layers",
        ("table6",),
        probes=("score", "substitution"),
        page="reproduction.md#tutek2020-table-6",
        command="heedful study tutek2020 --layers 2",
    ),
    Part(
        "tutek2020",
        "Figure 1",
        "is a regularised model harder to imitate? Adversaries of both",
        figures=("imitation", "frontier"),
        probes=("frontier", "seeds"),
        command="heedful study tutek2020 --encoders bilstm --attention additive "
        "--probes seeds,frontier",
        missing="its rows: hours of training",
    ),
    Part(
        "tutek2020",
        "Figure 2",
        "the predicted class by each token of one text",
        figures=("token_curves",),
        probes=("token_probability",),
    ),
    Part(
        "tutek2020",
        "Figures 3 to 7",
        "the same for a misread text, a clear one, a long one, an unclear one, a sure one",
        figures=("token_examples",),
        probes=("token_probability",),
    ),
    Part(
        "tutek2020",
        "Appendix C",
        "where the query of dot attention starts",
        page="reproduction.md#trials",
        command="python -m tools.trials tutek2020-sharp",
    ),
    # mohankumar2020
    Part(
        "mohankumar2020",
        "Table 1",
        "texts under the attention of two models",
        page="report.md",
        missing="question pairs of Quora are not at hand",
    ),
    Part(
        "mohankumar2020",
        "in words",
        "accuracy and conicity of three LSTMs",
        ("models",),
        ("conicity",),
        ("score", "conicity"),
        "studies.md#mohankumar2020-states-that-do-not-all-point-one-way",
    ),
    Part(
        "mohankumar2020",
        "in words",
        "median change under shuffled weights",
        ("models",),
        ("permutation",),
        ("permutation",),
    ),
    Part(
        "mohankumar2020",
        "in words",
        "share of states removed until the decision flips",
        ("models",),
        ("importance_sets",),
        ("importance_sets",),
    ),
    Part(
        "mohankumar2020",
        "in words",
        "correlation of attention with gradients and integrated gradients",
        ("models",),
        probes=("correlation",),
    ),
    Part(
        "mohankumar2020",
        "in words",
        "length of rationales, and attention inside them",
        ("models",),
        probes=("extracted",),
    ),
    Part(
        "mohankumar2020",
        "in words",
        "attention by part of speech",
        figures=("parts_of_speech",),
        probes=("parts_of_speech",),
    ),
    Part(
        "mohankumar2020",
        "in words",
        "which of two models' attention people prefer",
        page="annotate.md",
        missing=PEOPLE,
    ),
    # pruthi2020
    Part(
        "pruthi2020",
        "Table 1",
        "a biography under honest and deceptive attention",
        page="report.md",
        missing="the training file of the biographies is not at hand; `deception_occupation` "
        "stands in",
    ),
    Part(
        "pruthi2020",
        "in words",
        "accuracy and attention on impermissible tokens, by λ",
        ("models",),
        ("deception",),
        ("score", "deception", "detector"),
        "studies.md#pruthi2020-attention-that-hides-what-was-used",
        missing="rows of BERT: `heedful train --pretrained DIR --term impermissible`, with the "
        "mean and the maximum over heads",
    ),
    Part(
        "pruthi2020",
        "in words",
        "the same for copying, reversing, flipping and translating",
        ("models",),
        ("deception",),
        ("translation", "deception"),
        "studies.md#pruthi2020-attention-that-hides-what-was-used",
    ),
    Part(
        "pruthi2020",
        "in words",
        "are people deceived?",
        page="annotate.md",
        missing=PEOPLE,
    ),
    # bastings2020
    Part(
        "bastings2020",
        "in words",
        "the saliency methods it recommends",
        page="reference/saliencies.md",
    ),
    Part(
        "bastings2020",
        "in words",
        "attention beside them, scored alike",
        page="which-metric.md",
        command="heedful audit MODEL DATA",
    ),
)
HEAD = """# Tables and figures of the papers

Where is Table 2 of a paper in Heedful, and what is still missing?

| column | says |
|---|---|
| in the report | its tables and figures in the report of `heedful study NAME -o report` |
| probes | which [experiments](reference/probes.md) measure it |
| elsewhere | pages and commands beside the report |
| still needs | what is missing, for some of the paper's corpora or altogether |

`heedful study all --report` writes this page from `paper_tables/tables_and_figures.py`.
"""
COLUMNS = ("printed", "shows", "in the report", "probes", "elsewhere", "still needs")


def tables_and_figures() -> str:
    """The whole page."""
    return "\n".join([HEAD, _short(), *_sections()])


def _short() -> str:
    lines = [
        [f"[{paper.key}](#{paper.key})", *_counts([p for p in PARTS if p.paper == paper.key])]
        for paper in PAPERS
    ]
    lines.append(["**all**", *_counts(PARTS)])
    return table(["", "parts", "here", "here, and needs nothing more"], lines) + "\n"


def _counts(parts: list[Part] | tuple[Part, ...]) -> list[str]:
    here = [part for part in parts if part.here]
    whole = [part for part in here if not part.missing]
    return [str(len(parts)), str(len(here)), str(len(whole))]


def _sections() -> Iterator[str]:
    for paper in PAPERS:
        study = f"`heedful study {paper.key} -o report`. " if paper.key in STUDIES else ""
        said = f"{study}{paper.at_hand}".strip()
        lines = table(COLUMNS, [_line(part) for part in PARTS if part.paper == paper.key])
        yield f"## {paper.key}\n\n*{paper.title}*\n\n{said}\n\n{lines}\n"


def _line(part: Part) -> list[str]:
    of_report = [f"table `{name}`" for name in part.tables]
    of_report += [f"figure `{name}`" for name in part.figures]
    page, _, anchor = part.page.partition("#")
    words = anchor.replace("-", " ") or page.removesuffix(".md").replace("-", " ")
    elsewhere = [f"[{words}]({part.page})"] if part.page else []
    elsewhere += [f"`{part.command}`"] if part.command else []
    probes = ", ".join(f"`{name}`" for name in part.probes)
    return [
        part.number,
        part.shows,
        ", ".join(of_report),
        probes,
        "; ".join(elsewhere),
        part.missing,
    ]
