"""jain2019's battery on a device: texts a second, and how much of the card the parts use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from bench.gpu_bound import rates
from bench.gpu_flops import counted
from bench.gpu_texts import Shape, made
from bench.gpu_time import kernels, timed
from heedful.experiments import Evidence, adversarial, correlation, permutation
from heedful.models import OneSequence, build
from heedful.saliency import leave_one_out
from heedful.specs import ModelSpec

LENGTHS = {"SST": (19, 1725), "IMDb": (190, 128)}  # tokens, texts
QUICK = {"SST": (6, 6), "IMDb": (9, 3)}
MODELS = {"BiLSTM 2×128": "bilstm", "CNN": "cnn", "average": "average"}
NUMBER = 4  # bytes
EXACT = partial(adversarial, entropy_candidates=0)
BATTERY = (correlation, permutation, EXACT)


def battery(card: Mapping[str, Any], device: str, quick: bool) -> Iterator[dict[str, Any]]:
    """All parts of the BiLSTM's; of the other two the whole."""
    for corpus, (length, texts) in (QUICK if quick else LENGTHS).items():
        data = made(Shape("single", length, vocabulary=2000), {"test": texts})
        for name, encoder in MODELS.items():
            model = build(ModelSpec(encoder), data.vectors, 2, 0).to(device).eval()
            evidence = Evidence({"base": model}, data.split("test"), 0, device)
            for part in _parts(evidence) if encoder == "bilstm" else ("battery",):
                row = {"model": name, "corpus": corpus, "texts": texts, "part": part}
                yield {**row, **_measured(part, evidence, card)}


def _measured(part: str, evidence: Evidence, card: Mapping[str, Any]) -> dict[str, Any]:
    work, device = _parts(evidence)[part], evidence.device
    seconds = timed(work, device, 2)
    least = deletion_bytes(evidence) if part == "leave_one_out" else 0
    found = rates(card, seconds, counted(work), least, kernels(work, device))
    return {"seconds": seconds, "texts_per_second": len(evidence.data) / seconds, **found}


def _parts(evidence: Evidence) -> dict[str, Callable[[], Any]]:
    """A part is given the passes, which all probes share; the battery makes its own."""

    def fresh() -> Evidence:
        return Evidence(evidence.models, evidence.data, 0, evidence.device)

    def deleted() -> None:
        for each in evidence.passes(""):
            leave_one_out(each.model, each.batch)

    list(evidence.passes(""))
    return {
        "passes": lambda: list(fresh().passes("")),
        "leave_one_out": deleted,
        "correlation": lambda: correlation(evidence),
        "permutation": lambda: permutation(evidence),
        "adversarial (exact)": lambda: EXACT(evidence),
        "battery": lambda: _all(fresh()),
    }


def _all(evidence: Evidence) -> None:
    for probe in BATTERY:
        probe(evidence)


def deletion_bytes(evidence: Evidence) -> int:
    """The least that walking on after every deletion moves: of each step the projected input
    and what the other direction left are read, state and cell read and written, the readout
    written. A text of T tokens has T·(T − 1) such steps in both directions together."""
    model = evidence.models["base"]
    if not isinstance(model, OneSequence):
        return 0
    hidden = model.encoder.size // 2
    readout = model.attention.linear()[0].shape[0] + model.decoder.out_features
    lengths = evidence.data.lengths.astype(np.int64)
    steps = int((lengths * (lengths + 1)).sum())  # start and end are walked over, not deleted
    return steps * NUMBER * (4 * hidden + 4 * hidden + 2 * readout)
