"""Run a trial of `heedful.reproduction.trials`: `python -m tools.trials tutek2020-wide`.

The rows are then added, like any other's, by `heedful study all --report --store …`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from heedful.cli.options import seeds
from heedful.cli.terminal import progress_bar, say
from heedful.corpora.defaults import default_spec
from heedful.reproduction.trials import TRIALS
from heedful.runner.choice import Choice
from heedful.runner.grid import grid
from heedful.runner.machine import machine
from heedful.runner.study import run_study
from heedful.store import Store


def main() -> None:
    asked = arguments()
    study = TRIALS[asked.trial].study
    corpora = _listed(asked.corpora) or study.corpora
    plan = grid(
        study,
        [default_spec(name) for name in corpora],
        Choice(_listed(asked.encoders), _listed(asked.attention)),
        seeds(asked.seeds),
        asked.data_dir,
    )
    with progress_bar() as progress:
        run_study(plan, Store(asked.store), machine(asked.device, asked.threads), progress, say)


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trial", choices=list(TRIALS))
    parser.add_argument("--corpora", help="Some of its corpora, comma-separated.")
    parser.add_argument("--encoders", help="Some of its encoders, comma-separated.")
    parser.add_argument("--attention", help="Some of its attentions, comma-separated.")
    parser.add_argument("--seeds", default="1", help="A count (3) or a list (0,7).")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--data-dir", type=Path, default=None)
    parser.add_argument("--store", type=Path, default=Path("heedful-store"))
    return parser.parse_args(given)


def _listed(text: str | None) -> list[str] | None:
    return text.split(",") if text else None


if __name__ == "__main__":
    main()
