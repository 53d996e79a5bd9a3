"""What `make release` refuses: each check sees the fault it is there for."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest
from tools.release import ROOT, archive_problem, changelog_problem, project_version, version_problem


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The files that name the version."""
    for name in ("pyproject.toml", "CITATION.cff", "CHANGELOG.md", "src/heedful/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_all_files_of_this_checkout_name_one_version() -> None:
    assert version_problem() == ""


@pytest.mark.parametrize("name", ["CITATION.cff", "src/heedful/__init__.py"])
def test_another_version_is_named(checkout: Path, name: str) -> None:
    file = checkout / name
    file.write_text(file.read_text(encoding="utf8").replace(project_version(), "9.9.9"))
    assert version_problem(checkout) == f"{name} says 9.9.9, pyproject.toml {project_version()}"


def test_the_changelog_needs_a_section_and_nothing_unreleased(checkout: Path) -> None:
    version, file = project_version(), checkout / "CHANGELOG.md"
    file.write_text(
        f"# Changelog\n\n## Unreleased\n\n- a line\n\n## {version} (2026-01-01)\n\n- b\n"
    )
    assert "under Unreleased" in changelog_problem(checkout)
    file.write_text("# Changelog\n\n## Unreleased\n\n## 0.0.1\n\n- b\n")
    assert changelog_problem(checkout) == "the version has no section"
    file.write_text(f"# Changelog\n\n## Unreleased\n\n## {version} (2026-01-01)\n\n- b\n")
    assert changelog_problem(checkout) == ""


def test_archives_are_one_of_each_and_whole(tmp_path: Path) -> None:
    assert "0 wheels and 0 sources" in archive_problem(tmp_path)
    (tmp_path / "heedful.tar.gz").touch()
    facts = f"Version: {project_version()}\nDescription-Content-Type: text/markdown\n\n# Heedful\n"
    with zipfile.ZipFile(tmp_path / "heedful.whl", "w") as wheel:
        wheel.writestr("heedful.dist-info/METADATA", facts)
        wheel.writestr("heedful/py.typed", "")
    assert "lacks heedful/assets/colours.css" in archive_problem(tmp_path)
