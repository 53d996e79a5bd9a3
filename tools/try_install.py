"""What each extra installs, weighs and can do: tried in empty environments (`make try-install`).

For every extra the built wheel is installed into a new environment under a temporary folder; then
`smoke_install.py` does the smallest real thing that the extra is for. What was found is kept in
`docs/measured/install.json`, and the tables of `docs/install.md` are written from that.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
MEASURED = ROOT / "docs" / "measured" / "install.json"
PAGE = ROOT / "docs" / "install.md"
BRINGS = {
    "core": "train, audit and measure; no page",
    "text": "spaCy's tokenizer and taggers for raw corpora",
    "hf": "Hugging Face models, sub-words, BLEU",
    "explain": "LIME",
    "import": "models from ONNX and GGUF files",
    "report": "pages and figures",
    "web": "`heedful serve`, `heedful annotate serve`",
    "scale": "Ray, grids in YAML",
    "all": "all of these",
}


def kept() -> list[dict[str, Any]]:
    if not MEASURED.is_file():
        return []
    found: list[dict[str, Any]] = json.loads(MEASURED.read_text(encoding="utf-8"))
    return found


def keep(found: dict[str, Any]) -> None:
    """In the place of what was found before for the same extra, Python and versions."""
    rows = [row for row in kept() if _key(row) != _key(found)] + [found]
    MEASURED.parent.mkdir(exist_ok=True)
    lines = ",\n".join(json.dumps(row) for row in sorted(rows, key=_key))
    MEASURED.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def write_tables() -> None:
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(with_tables(page, kept()), encoding="utf-8")


def with_tables(page: str, rows: list[dict[str, Any]]) -> str:
    """The page with each table between its two marks."""
    for name, table in {"sizes": extras(rows), "tried": environments(rows)}.items():
        marks = f"<!-- {name} -->", f"<!-- /{name} -->"
        between = re.escape(marks[0]) + ".*?" + re.escape(marks[1])
        text = f"{marks[0]}\n{table}\n{marks[1]}"
        page, count = re.subn(between, lambda _, text=text: text, page, flags=re.DOTALL)
        if count != 1:
            raise ValueError(f"{PAGE.name} has {count} places for the table {name}")
    return page


def extras(rows: list[dict[str, Any]]) -> str:
    """What each extra weighs with the smallest torch that was tried."""
    small = [row for row in rows if "+cpu" in row["torch"] and row["versions"] == "newest"]
    core = next((row["megabytes"] for row in small if row["extra"] == "core"), 0)
    head = ("install", "brings", "packages", "MB in all", "MB beside the core")
    return _table(
        head,
        (
            (_command(row["extra"]), BRINGS[row["extra"]], row["packages"], row["megabytes"], more)
            for row in small
            for more in [row["megabytes"] - core if row["extra"] != "core" else "–"]
        ),
    )


def environments(rows: list[dict[str, Any]]) -> str:
    """Every environment in which the smoke tests ran through."""
    head = ("extra", "Python", "torch", "packages", "`import heedful`")
    return _table(
        head,
        (
            (
                f"`{row['extra']}`",
                row["python"],
                row["torch"],
                row["versions"],
                f"{row['import_seconds']:.2f} s",
            )
            for row in rows
        ),
    )


def _command(extra: str) -> str:
    return "`heedful`" if extra == "core" else f"`heedful[{extra}]`"


def _table(head: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)


def _key(row: dict[str, Any]) -> tuple[str, bool, int]:
    minor = ".".join(row["python"].split(".")[:2])
    return minor, row["versions"] == "lowest", list(BRINGS).index(row["extra"])


EXTRAS = ("core", "text", "hf", "explain", "import", "report", "web", "scale", "all")
SLOWEST_IMPORT = 0.5
_TIMES = 6
_FACTS = """
import importlib.metadata as m, json, platform, torch
print(json.dumps({"python": platform.python_version(), "torch": torch.__version__,
                  "packages": len({d.name for d in m.distributions()} - {"pip", "setuptools"})}))
"""
_IMPORT = "import time; t = time.perf_counter(); import heedful; print(time.perf_counter() - t)"


@dataclass(frozen=True)
class Asked:
    """One environment: whose Python, which extra, and the newest or the oldest packages."""

    python: str
    extra: str
    wheel: Path
    lowest: bool = False


def main() -> int:
    given = _options()
    wheel = given.wheel or next((ROOT / "dist").glob("*.whl"), None)
    if wheel is None:
        sys.exit("there is no wheel in dist/: run make dist.")
    slow = False
    for python in given.python or [sys.executable]:
        for extra in given.extras.split(","):
            found = tried(Asked(python, extra, Path(wheel).resolve(), given.lowest))
            sys.stdout.write(f"{json.dumps(found)}\n")
            sys.stdout.flush()
            slow |= found["import_seconds"] >= SLOWEST_IMPORT
            if not given.keep_nothing:
                keep(found)
                write_tables()
    return int(slow)


def tried(asked: Asked) -> dict[str, Any]:
    """Install, measure, use; the environment is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="heedful-try-") as folder:
        python = _environment(asked, Path(folder))
        facts = json.loads(_run([python, "-c", _FACTS], Path(folder)))
        measured = {
            "megabytes": round(_size(Path(folder) / "env") / 1e6),
            "import_seconds": round(_import_seconds(python, Path(folder)), 3),
            "start_seconds": round(_start_seconds(python, Path(folder)), 2),
            "smoke_seconds": round(_smoke(python, asked.extra, Path(folder)), 1),
        }
    versions = "lowest" if asked.lowest else "newest"
    return {"extra": asked.extra, "versions": versions, **facts, **measured}


def _environment(asked: Asked, folder: Path) -> str:
    _run([asked.python, "-m", "venv", "env"], folder)
    python = str(folder / "env" / "bin" / "python")
    limits = folder / "limits.txt"
    limits.write_text("\n".join([_torch(), *(_floors() if asked.lowest else [])]), encoding="utf-8")
    extra = "" if asked.extra == "core" else f"[{asked.extra}]"
    pip = ["-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check"]
    _run([python, *pip, "--upgrade", "pip"], folder)  # old ones take very long with old packages
    _run([python, *pip, "--constraint", str(limits), f"{asked.wheel}{extra}"], folder)
    _run([python, "-m", "pip", "check"], folder)
    return python


def _torch() -> str:
    """The one version that is pinned: machines without a GPU may have a small build of it only."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return next(line for line in lines if line.startswith("torch=="))


def _floors() -> list[str]:
    """Every declared lower bound as the version to take, torch aside."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    needs = [*project["dependencies"], *(n for e in EXTRAS[1:-1] for n in extras[e])]
    named = [re.match(r"([\w.-]+)>=([\w.]+)", need) for need in needs]
    return [f"{each[1]}=={each[2]}" for each in named if each and each[1] != "torch"]


def _size(environment: Path) -> int:
    """Bytes in site-packages, without pip and what Python compiles on first use."""
    place = next(environment.glob("lib/python3*/site-packages"))
    folders = [each for each in place.iterdir() if not re.match("(pip|setuptools)(-|$)", each.name)]
    files = (file for each in folders for file in (each, *each.rglob("*")) if file.is_file())
    return sum(file.stat().st_size for file in files if file.suffix != ".pyc")


def _import_seconds(python: str, folder: Path) -> float:
    """The fastest of a few: what else the machine does is not our weight."""
    return min(float(_run([python, "-c", _IMPORT], folder)) for _ in range(_TIMES))


def _start_seconds(python: str, folder: Path) -> float:
    """`heedful --version`, from nothing."""
    command = [str(Path(python).parent / "heedful"), "--version"]
    return min(_seconds(command, folder) for _ in range(_TIMES))


def _smoke(python: str, extra: str, folder: Path) -> float:
    names = list(EXTRAS[:-1]) if extra == "all" else [extra]
    _run([str(Path(python).parent / "heedful"), "doctor"], folder)
    return _seconds([python, str(ROOT / "tools" / "smoke_install.py"), *names], folder)


def _seconds(command: list[str], folder: Path) -> float:
    begun = time.perf_counter()
    _run(command, folder)
    return time.perf_counter() - begun


def _run(command: list[str], folder: Path) -> str:
    """Without anything of ours on the path: what is installed must do."""
    bare = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "HEEDFUL"))}
    done = subprocess.run(command, cwd=folder, env=bare, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--extras", default=",".join(EXTRAS), help="comma-separated")
    parser.add_argument("--python", action="append", help="another interpreter; may be repeated")
    parser.add_argument("--wheel", type=Path, help="instead of the one in dist/")
    parser.add_argument("--lowest", action="store_true", help="the oldest packages declared")
    parser.add_argument("--keep-nothing", action="store_true", help="only print what was found")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
