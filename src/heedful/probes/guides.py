"""Is attention of use to a model that has nothing else to go by? (wiegreffe2019, test 3)

A token-level MLP sees no context; its attention is fixed to weights made by another model.
Where the base's weights serve it better than its own and than even ones, they carry
information about single tokens. An adversary's weights should then serve it worse, unless
they give the label away (`probes/guides_leak.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from heedful.catalogue import NOT_NEGATIVE, RESAMPLES, SHARE, SIGNED, Measure, Piece, Role
from heedful.errors import HeedfulError
from heedful.probes.adversaries import Schooling, adversary, check_weight
from heedful.probes.evidence import Evidence, Findings
from heedful.probes.guides_leak import LOOKED_AT, leak_lines
from heedful.probes.outcomes import Outcomes, example_rows, outcomes
from heedful.probes.score import Line, score_table

MLP: Mapping[str, Any] = {
    "encoder": "average",
    "attention": "additive",
    "layers": 1,
    "sizes": "code",
    "hidden": None,
    "dropout": 0.0,
    "train_edit": "",
    "goal": "labels",
    "terms": (),
}
GUIDES = ("own", "uniform", "base", "adversary")
AGAINST = ("own", "uniform")


def guides(
    evidence: Evidence,
    weight: float = 1e-3,
    epochs: int = 80,
    metric: str = "f1",
    resamples: int = 1000,
) -> Findings:
    """The score of an MLP under each guide, and how far that is from its own attention's and
    from even attention's; `model` is the base itself. Beside it what the most attended word
    alone says of the label. `weight` and `epochs` are the adversary's."""
    found = {name: _outcomes(evidence, f"mlp_{name}", metric) for name in GUIDES}
    lines = [_outcomes(evidence, "base", metric).line("score:model", evidence.seed, resamples)]
    lines += _lines(found, evidence.seed, resamples)
    lines += leak_lines(evidence, resamples)
    correct = {f"correct:{name}": each.correct for name, each in found.items()}
    rows = example_rows(evidence, "guides", correct)
    size = len(found["own"].each)
    return Findings(rows, summary=score_table(lines, size), notes={"score": metric})


def roles(weight: float = 1e-3, epochs: int = 80, **others: Any) -> Mapping[str, Role]:
    return {
        "adversary": adversary(check_weight(weight), Schooling(epochs)),
        "mlp_own": Role(MLP),
        "mlp_uniform": Role({**MLP, "train_edit": "uniform"}),
        "mlp_base": Role({**MLP, "train_edit": "frozen"}, teacher="base"),
        "mlp_adversary": Role({**MLP, "train_edit": "frozen"}, teacher="adversary"),
    }


def _outcomes(evidence: Evidence, role: str, metric: str) -> Outcomes:
    if role not in evidence.models:
        raise HeedfulError(f"the probe 'guides' needs the model {role!r}: run it by a study.")
    return outcomes(evidence, evidence.models[role], metric=metric)


def _lines(found: Mapping[str, Outcomes], seed: int, resamples: int) -> Iterator[Line]:
    for name, each in found.items():
        yield each.line(f"score:{name}", seed, resamples)
        for other in AGAINST:
            if other != name:
                yield each.line_against(found[other], f"delta:{name}:{other}", seed, resamples)


PIECE = Piece(
    name="guides",
    description="a token-level MLP whose attention is its own, even, the base's, an adversary's",
    make=guides,
    version=2,
    bounds={"weight": NOT_NEGATIVE, "epochs": (1, 10_000), "resamples": RESAMPLES},
    paper="wiegreffe2019",
    needs=("classes", "tokens", "normalised"),
    roles=roles,
    measures={
        "score:model": Measure("the base model's own score", True, range=SHARE),
        **{
            f"score:{name}": Measure(f"score of the MLP, attention: {name}", True, range=SHARE)
            for name in GUIDES
        },
        **{
            f"delta:{name}:{other}": Measure(
                f"{name} less {other}, paired", signed=True, range=SIGNED
            )
            for name in GUIDES
            for other in AGAINST
            if name != other
        },
        **{
            f"correct:{name}": Measure(f"1 where right, attention: {name}", range=SHARE)
            for name in GUIDES
        },
        **{
            f"attended:{name}": Measure(
                f"accuracy of the label guessed from the most attended word, attention: {name}",
                range=SHARE,
            )
            for name in LOOKED_AT
        },
        **{
            f"occurring:{name}": Measure(
                f"the same word, by all texts it occurs in, attention: {name}", range=SHARE
            )
            for name in LOOKED_AT
        },
        **{
            f"leak:{name}": Measure(
                f"attended less occurring, paired, attention: {name}", signed=True, range=SIGNED
            )
            for name in LOOKED_AT
        },
        "attended:majority": Measure("accuracy of the largest class of training", range=SHARE),
    },
    formula=(
        "score of a decoder on Σ_t α_t tanh(W e_t + b), α fixed: its own, 1/n, the base's, an "
        "adversary's; delta paired by example; leak: accuracy of argmax_y N(y, word attended "
        "most) less that of argmax_y N(y, word occurs), counted on training texts"
    ),
    higher="of `delta:base:…`: the base's weights say more about single tokens than the others",
    cost="the training of four small models and one adversary",
    limits=(
        "That weights serve a model without context does not show that the base uses them so. "
        "Where `leak:…` is high, the weights give the label away and `score:…` says nothing."
    ),
)
