"""`python -m tools.release`: is `dist/` ready to be published? Nothing is sent anywhere.

Checks that all files name one version, that the changelog has a section for it, that both archives
are well-formed, and that the wheel installs and answers in an environment of its own.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Callable
from email import message_from_bytes
from pathlib import Path

ROOT = Path(__file__).parent.parent
NEEDED = ("heedful/py.typed", "heedful/assets/colours.css", "heedful/report/templates/page.html")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.release", description=__doc__)
    parser.add_argument("--without-install", action="store_true", help="leave the last check out")
    given = parser.parse_args()
    checks: dict[str, Callable[[], str]] = {
        "version": version_problem,
        "changelog": changelog_problem,
        "archives": archive_problem,
    }
    if not given.without_install:
        checks["installation"] = install_problem
    bad = 0
    for name, check in checks.items():
        problem = check()
        bad += bool(problem)
        sys.stdout.write(f"{name:<14}{problem or 'ok'}\n")
    end = "not ready." if bad else f"ready: git tag v{project_version()}, and push the tag."
    sys.stdout.write(f"{end}\n")
    return int(bad > 0)


def project_version(root: Path = ROOT) -> str:
    """The version of pyproject.toml."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf8"))
    return str(project["project"]["version"])


def version_problem(root: Path = ROOT) -> str:
    """Where another version is named than in pyproject.toml; "" where none is."""
    wanted = project_version(root)
    for place, pattern in (
        ("src/heedful/__init__.py", r'^__version__ = "(.+)"'),
        ("CITATION.cff", r"^version: (.+)$"),
    ):
        found = re.search(pattern, (root / place).read_text(encoding="utf8"), re.MULTILINE)
        if found is None or found[1] != wanted:
            return f"{place} says {found[1] if found else 'nothing'}, pyproject.toml {wanted}"
    return ""


def changelog_problem(root: Path = ROOT) -> str:
    """The version has a section, and nothing is left under *Unreleased*."""
    text = (root / "CHANGELOG.md").read_text(encoding="utf8")
    sections = dict(re.findall(r"^## (\S+).*?\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    if sections.get("Unreleased", "").strip():
        return f"move what is under Unreleased to a section {project_version(root)}, with its date"
    return "" if project_version(root) in sections else "the version has no section"


def archive_problem(folder: Path = ROOT / "dist") -> str:
    """One wheel and one source archive, with the version, the readme and the files of pages."""
    wheels, sources = list(folder.glob("*.whl")), list(folder.glob("*.tar.gz"))
    if len(wheels) != 1 or len(sources) != 1:
        return f"{folder.name}/ has {len(wheels)} wheels and {len(sources)} sources: run make dist"
    with zipfile.ZipFile(wheels[0]) as wheel:
        names = wheel.namelist()
        facts = next(name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = message_from_bytes(wheel.read(facts))
    if metadata["Version"] != project_version():
        return f"{wheels[0].name} is of version {metadata['Version']}: run make dist"
    if metadata["Description-Content-Type"] != "text/markdown" or not metadata.get_payload():
        return f"{wheels[0].name} has no description"
    missing = [name for name in NEEDED if name not in names]
    return f"{wheels[0].name} lacks {', '.join(missing)}" if missing else ""


def install_problem(folder: Path = ROOT / "dist") -> str:
    """The wheel in a new environment says its version."""
    (wheel,) = folder.glob("*.whl")
    with tempfile.TemporaryDirectory() as place:
        venv.create(place, with_pip=True)
        run = [f"{place}/bin/python", "-m"]
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        constraints = ["--constraint", str(ROOT / "constraints.txt")]
        pip = [*run, "pip", "install", "--quiet", "--disable-pip-version-check", *constraints]
        done = subprocess.run([*pip, str(wheel)], env=environment, check=False)
        if done.returncode:
            return "pip cannot install the wheel"
        said = subprocess.run(
            [*run, "heedful", "--version"],
            env=environment, cwd=place, capture_output=True, text=True, check=False,
        )  # fmt: skip
    wanted = project_version()
    return "" if wanted in said.stdout else f"heedful --version says {said.stdout or said.stderr}"


if __name__ == "__main__":
    sys.exit(main())
