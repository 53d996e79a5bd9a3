"""Run a trial of `paper_tables.trials`: `python -m tools.trials tutek2020-wide`.

The rows are then added, like any other's, by `heedful study all --report --store …`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from heedful.cli import DEFAULT_STORE, check_data_dir, maybe_names, open_store, say, seeds
from heedful.errors import HeedfulError, unknown_name
from heedful.progress import progress_bar
from heedful.runner import Choice, grid, machine, run_study
from paper_tables.trials import TRIALS


def main(given: Sequence[str] | None = None) -> int:
    try:
        _run(arguments(given))
    except HeedfulError as error:
        say(f"error: {error}")
        return 2
    return 0


def _run(asked: argparse.Namespace) -> None:
    trial = TRIALS[asked.trial]
    study = trial.study
    corpora = maybe_names(asked.corpora, "--corpora") or study.corpora
    for name in corpora:
        if name not in study.corpora:
            raise unknown_name(f"corpus of {asked.trial}", name, list(study.corpora))
    choice = Choice(
        maybe_names(asked.encoders, "--encoders"), maybe_names(asked.attention, "--attention")
    )
    where, store = machine(asked.device, asked.threads), open_store(asked.store)
    data = check_data_dir(asked.data_dir)
    plan = grid(study, [trial.corpus(name) for name in corpora], choice, seeds(asked.seeds), data)
    with progress_bar() as progress:
        run_study(plan, store, where, progress, say)


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    data = os.environ.get("HEEDFUL_DATA")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trial", choices=list(TRIALS))
    parser.add_argument("--corpora", help="Some of its corpora, comma-separated.")
    parser.add_argument("--encoders", help="Some of its encoders, comma-separated.")
    parser.add_argument("--attention", help="Some of its attentions, comma-separated.")
    parser.add_argument("--seeds", default="1", help="A count (3) or a list (0,7).")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--data-dir", type=Path, default=Path(data) if data else None)
    parser.add_argument("--store", default=os.environ.get("HEEDFUL_STORE", DEFAULT_STORE))
    return parser.parse_args(given)


if __name__ == "__main__":
    sys.exit(main())
