"""What the terms of a page mean, one sentence or two each: told where a term stands, and listed."""

from __future__ import annotations

from typing import NamedTuple


class Term(NamedTuple):
    """`words` are other ways to write it; what `titles` has is explained only where it
    is a title: properties have the names of everyday words."""

    name: str
    says: str
    words: tuple[str, ...] = ()
    titles: bool = False

    @property
    def key(self) -> str:
        return "".join(letter if letter.isalnum() else "-" for letter in self.name.lower())


PROPERTIES = (
    Term(
        "use",
        "Does the output move when the weights do? If not, the model does without them.",
    ),
    Term(
        "importance",
        "Do the heavy words matter? 0 is a random order of words, 1 the best order found.",
    ),
    Term(
        "baseline",
        "Does attention tell more than word frequency or position, which need no model?",
    ),
    Term(
        "agreement",
        "Do weights order words as measures of importance do? 0 is chance, 1 as these agree.",
    ),
    Term(
        "direction",
        "Do scores tell words for the prediction from words against it? They need signs.",
    ),
    Term(
        "uniqueness",
        "How far away can another attention be that gives the same output?",
    ),
    Term(
        "stability",
        "Do models that were trained with other seeds attend to the same words?",
    ),
    Term(
        "plausibility",
        "Does attention mark the words that people marked? That does not make it faithful.",
    ),
)

TERMS = (
    *(term._replace(titles=True) for term in PROPERTIES),
    Term(
        "TVD",
        "Total variation distance of two outputs: the largest difference of probability. "
        "From 0 to 1.",
    ),
    Term(
        "Kendall’s τ",
        "Do two orders of words agree? 1 is the same order, 0 no relation, −1 reversed. "
        "τ-b takes ties into account.",
        ("τ-b", "τ"),
    ),
    Term(
        "JSD",
        "Jensen–Shannon divergence: how far two distributions are apart. 0 is the same, "
        "0.69 (ln 2) the most.",
        ("Jensen–Shannon divergence", "Jensen–Shannon distance"),
    ),
    Term(
        "AUPRC",
        "Area under the precision–recall curve: do the heaviest words find those that "
        "people marked? 1 is perfect.",
    ),
    Term(
        "comprehensiveness",
        "How far the probability falls without the words that an explanation puts first. "
        "More is better.",
    ),
    Term(
        "sufficiency",
        "How far the probability falls with these words alone. Less is better.",
    ),
    Term(
        "bounds",
        "The interval in which the mean over such texts lies, at the level that the page names.",
    ),
    Term(
        "threshold",
        "The least that an estimate must reach; it was fixed before anything was measured.",
    ),
    Term(
        "permuted",
        "The model’s own weights, dealt to the words in random order.",
        ("shuffled",),
    ),
    Term(
        "entropy",
        "How spread out weights are. 0 is all weight on one token.",
    ),
    Term(
        "gradient",
        "How the output changes with a word’s embedding; times the embedding (gradient × input).",
    ),
    Term(
        "integrated gradients",
        "Gradients added up on the way from an empty text to this one (Sundararajan et al. 2017).",
    ),
    Term(
        "occlusion",
        "How the output changes when a word is replaced by one that says nothing.",
    ),
    Term(
        "leave one out",
        "How the output changes when a word is left out and the model runs again.",
        ("leave-one-out",),
    ),
    Term(
        "LRP",
        "Layer-wise relevance propagation: the output handed back, layer by layer, to the"
        " words (Bach et al. 2015).",
    ),
    Term(
        "rollout",
        "Attention of all layers multiplied, as if it were a flow through the model "
        "(Abnar and Zuidema 2020).",
    ),
    Term(
        "LIME",
        "A linear model, fitted to outputs for texts with words removed (Ribeiro et al. 2016).",
    ),
    Term(
        "infidelity",
        "The gap between the scores of removed words and the change of the output (Yeh et"
        " al. 2019).",
    ),
    Term(
        "ERASER",
        "A benchmark of explanations with human rationales, and its measures (DeYoung et "
        "al. 2020).",
    ),
    Term(
        "rationale",
        "The words that people marked as reasons for a label.",
    ),
)
