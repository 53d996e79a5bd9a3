"""How many small wrong changes do the tests notice? (`make mutate`)

Takes some mutants of the core by chance, runs the tests that matter for each, and lists those
that nobody noticed. Everything happens in a copy in a temporary folder: the working tree is read
once and never written. A mutant that survives is a missing test, or changes nothing that counts.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tools.mutant_trial import KILLED, SLOW, SURVIVED, UNJUDGED, Chosen, Trial, copied, say
from tools.mutants import Mutants

ROOT = Path(__file__).parent.parent
CORE = (
    "metrics", "measures", "verdict", "edits", "removal", "probes", "store", "words",
    "randomness", "auditing",
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    given = _options().parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="heedful-mutate-") as folder:
        copy = copied(ROOT, Path(folder))
        trial = Trial(copy, given.seconds)
        found = [(each, trial.judge(each)) for each in choose(copy, given.packages, given)]
    show(found)


def choose(root: Path, packages: Sequence[str], given: argparse.Namespace) -> list[Chosen]:
    """So many of all there are, by chance; the same for the same seed and code."""
    source = root / "src" / "heedful"
    places = [source / f"{name}.py" if (source / f"{name}.py").is_file() else source / name
              for name in packages]  # fmt: skip
    paths = sorted(path for place in places for path in _modules(place))
    texts = {path.relative_to(root): Mutants(path.read_text(encoding="utf8")) for path in paths}
    every = [(path, number) for path, found in texts.items() for number in range(len(found))]
    sampled = random.Random(given.seed).sample(every, min(given.n, len(every)))
    say(f"{len(sampled)} of {len(every)} mutants of {len(paths)} modules, seed {given.seed}")
    return [Chosen(path, texts[path][number]) for path, number in sampled]


def show(found: Sequence[tuple[Chosen, str]]) -> None:
    """By package, then every mutant that survived."""
    counts = Counter((each.package, said) for each, said in found)
    for package in sorted({each.package for each, _ in found}):
        parts = [f"{counts[package, said]} {said}" for said in (KILLED, SURVIVED, SLOW, UNJUDGED)]
        say(f"{package:<12} {', '.join(part for part in parts if not part.startswith('0 '))}")
    for each, said in found:
        if said == SURVIVED:
            say(f"\n{each.path}:{each.mutant.line}")
            say(f"  - {_line(each.mutant.before)}\n  + {_line(each.mutant.after)}")


def _modules(place: Path) -> list[Path]:
    return [place] if place.is_file() else sorted(place.rglob("*.py"))


def _line(text: str) -> str:
    return " ".join(text.split())[:160]


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("packages", nargs="*", default=list(CORE), help="of src/heedful")
    parser.add_argument("-n", type=int, default=20, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--seconds", type=float, default=300, help="time limit of each")
    return parser


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that nothing is left behind
    main()
