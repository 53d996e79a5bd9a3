"""How well a model writes: BLEU of its own texts, and how it reads the given targets."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray

from heedful.entries import PERCENT, RESAMPLES, SHARE, Experiment, Measure
from heedful.errors import HeedfulError
from heedful.experiments.evidence import Evidence, Findings
from heedful.experiments.score import Line, attended, example_rows, outcomes, score_table
from heedful.metrics import bleu_signature, bootstrap_statistic
from heedful.models import Search
from heedful.training import target_steps


def translation(evidence: Evidence, beam: int = 5, resamples: int = 1000) -> Findings:
    """BLEU of the whole split, from 0 to 100, with its signature among the notes; perplexity
    and the share of right tokens when every token is given the true ones before it."""
    written = outcomes(evidence, evidence.models["base"], search=Search(beam))
    read = _read(evidence)[attended(evidence)]
    tokens, right, likelihood = read.T
    rows = example_rows(
        evidence,
        "translation",
        {"token_accuracy": right / tokens, "log_likelihood": likelihood / tokens},
    )
    lines: list[Line] = [written.line("bleu", evidence.seed, resamples)]
    for name, statistic in (("token_accuracy", _accuracy), ("perplexity", _perplexity)):
        low, high = bootstrap_statistic(statistic, (read,), evidence.seed, resamples)
        lines.append((name, statistic(read), low, high))
    notes = {"bleu": f"{bleu_signature()}|beam:{beam}"}
    return Findings(rows, summary=score_table(lines, len(read)), notes=notes)


def _read(evidence: Evidence) -> NDArray[np.float64]:
    """Of each target: its tokens (the end among them), the right ones, their log-likelihood."""
    if evidence.whole is None:
        raise HeedfulError("the probe 'translation' needs whole targets: give a corpus of them.")
    model, found = evidence.models["base"], np.zeros((len(evidence.whole), 3))
    with torch.no_grad():
        for places, batch in evidence.batches(evidence.whole):
            logits, gold, there = target_steps(model(batch), batch)
            log_p = torch.log_softmax(logits.double(), -1)
            own = log_p.gather(-1, gold[..., None]).squeeze(-1)
            right = logits.argmax(-1) == gold
            counts = [(part * there).sum(-1).double() for part in (there, right, own)]
            found[places] = torch.stack(counts, -1).cpu().numpy()
    return found


def _accuracy(read: NDArray[np.float64]) -> float:
    return float(read[:, 1].sum() / read[:, 0].sum())


def _perplexity(read: NDArray[np.float64]) -> float:
    return float(np.exp(-read[:, 2].sum() / read[:, 0].sum()))


ENTRY = Experiment(
    name="translation",
    description="BLEU of what the model writes; perplexity and token accuracy of given targets",
    make=translation,
    bounds={"beam": (1, 100), "resamples": RESAMPLES},
    version=2,
    paper="vashishth2019",
    needs=("generation",),
    measures={
        "bleu": Measure("corpus BLEU of the written targets, 0 to 100", True, range=PERCENT),
        "token_accuracy": Measure(
            "share of right tokens, the true ones before each given", True, range=SHARE
        ),
        "perplexity": Measure(
            "of a target's token, the true ones before it given", False, range=(1.0, math.inf)
        ),
        "log_likelihood": Measure(
            "mean log-likelihood of the target's tokens", True, signed=True, range=(-math.inf, 0.0)
        ),
    },
    formula=(
        "BLEU of what beam search writes; perplexity = exp(−(1/N) Σ ln p(token | the true ones "
        "before it))"
    ),
    higher=(
        "of `bleu` and `token_accuracy`: better translations; of `perplexity`: targets are less "
        "expected"
    ),
    cost="writing every target: its length × the beam (5)",
    limits=(
        "BLEU counts words in common. Given the true tokens, a model never has to live with its "
        "own mistakes."
    ),
)
