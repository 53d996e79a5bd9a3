"""`python -m bench`: what others' procedures cost and what Heedful's do, in one run.

Results are kept part by part in FOLDER/<device>.json; a run that was stopped goes on. At the end
the page is written from all that is kept there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.measure import say
from bench.page import MEASURED, PAGE, write_page
from bench.parts import PARTS, SECTIONS, chosen
from bench.results import Kept, begin, facts, write
from heedful.errors import HeedfulError
from heedful.runner import machine


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    try:
        machine(options.device, options.threads)
        if options.out or not options.quick:
            folder = Path(options.out) if options.out else MEASURED
            return _measure(options, folder, folder / PAGE.name if options.out else PAGE)
        with tempfile.TemporaryDirectory() as nowhere:  # a smoke run leaves nothing behind
            page = Path(nowhere) / PAGE.name
            code = _measure(options, Path(nowhere), page)
            print(page.read_text(encoding="utf-8"))
            return code
    except HeedfulError as error:
        say(f"error: {error}")
        return 2


def _measure(options: argparse.Namespace, folder: Path, page: Path) -> int:
    """1 where a part failed: whoever called must see it."""
    wanted, path = chosen(options.only), folder / f"{options.device}.json"
    new = Kept(options.device, facts(options.device, options.threads), options.quick, wanted)
    kept = begin(path, new, options.only)
    todo = wanted if options.only else kept.left
    failed = False
    for group in [todo] if options.quick else _alone(todo):
        for name, found in _run(group, options):
            failed |= "failed" in found
            kept = kept.with_part(name, found)
            write(path, kept)
    write_page(folder, page)
    say(f"{page} is written from {path}")
    return int(failed)


def _alone(names: list[str]) -> list[list[str]]:
    """Each in a process of its own, but for those that cannot run here anyway."""
    missing = [name for name in names if PARTS[name].missing]
    return [*([missing] if missing else []), *([name] for name in names if name not in missing)]


def _run(names: list[str], options: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    """Parts in a process of their own. One that ends it (no memory left) has failed."""
    with subprocess.Popen(_command(names, options), stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        missing = list(names)
        for line in child.stdout:
            found = json.loads(line)
            name = found.pop("part")
            missing.remove(name)
            yield name, found
    for name in missing:
        yield name, {"rows": [], "failed": f"the process ended with code {child.returncode}"}


def _command(names: list[str], options: argparse.Namespace) -> list[str]:
    command = [sys.executable, "-m", "bench.parts", *names, "--device", options.device]
    command += ["--quick"] if options.quick else []
    return command + (["--threads", str(options.threads)] if options.threads else [])


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    names = [*SECTIONS, *(name for name in PARTS if name not in SECTIONS)]
    parser.add_argument("--only", nargs="+", metavar="PART", choices=names, help=", ".join(names))
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run at all?")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--threads", type=int, help="torch's threads on the CPU")
    parser.add_argument("--out", help="a folder for results and page, not those of the repository")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
