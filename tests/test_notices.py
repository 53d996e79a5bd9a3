"""THIRD_PARTY_NOTICES.md names every package that Heedful asks for, and the files it speaks of."""

from __future__ import annotations

import re
from email.message import Message
from importlib.metadata import PackageNotFoundError, metadata

import pytest
from tools.notices import PAGE, ROOT, direct, licence, lines, written

TEXT = PAGE.read_text(encoding="utf8")


def test_every_direct_dependency_has_a_line_with_a_licence_and_its_extras() -> None:
    """`python -m tools.notices` fixes this."""
    rows = lines(TEXT)
    assert set(rows) == set(direct())
    for name, extras in direct().items():
        _, _, terms, needed, _ = (part.strip() for part in rows[name].split("|"))
        assert terms and terms != "see the package", name
        assert needed == ", ".join(extras), name


def test_the_table_is_what_the_tool_writes() -> None:
    assert set(lines(written(TEXT))) == set(direct())
    assert written(written(TEXT)) == written(TEXT)
    outside = re.compile(r"<!-- dependencies: begin -->.*<!-- dependencies: end -->", re.DOTALL)
    assert outside.sub("", written(TEXT)) == outside.sub("", TEXT)


def test_licences_are_read_as_packages_state_them() -> None:
    about = Message()
    about["License"] = "Copyright (c) somebody\nand a whole licence"
    about["Classifier"] = "License :: OSI Approved :: BSD License"
    assert licence(about) == "BSD License"  # type: ignore[arg-type]
    about["License-Expression"] = "BSD-3-Clause"
    assert licence(about) == "BSD-3-Clause"  # type: ignore[arg-type]
    short = Message()
    short["License"] = "MIT"
    assert licence(short) == "MIT"  # type: ignore[arg-type]


def test_nothing_copyleft_came_in_unseen() -> None:
    for name in direct():
        try:
            found = licence(metadata(name))
        except PackageNotFoundError:
            continue
        assert not re.search(r"\bA?GPL|\bLGPL", found), (name, found)


@pytest.mark.parametrize("file", ["SECURITY.md", "CONTRIBUTING.md", "THIRD_PARTY_NOTICES.md"])
def test_files_that_are_spoken_of_are_there(file: str) -> None:
    """Whatever looks like a path of the repository is one; and nobody is invented."""
    text = (ROOT / file).read_text(encoding="utf8")
    named = re.findall(r"`((?:src|docs|tests|tools|heedful|bench)/[\w./-]+)`", text)
    for path in named:
        if "NAME" in path:  # of a file that a reader is to write
            continue
        place = ROOT / "src" / path if path.startswith("heedful/") else ROOT / path
        assert place.exists(), path
    assert not re.search(r"[\w.+-]+@[\w-]+\.\w+", text)
    for target in re.findall(r"^\$? ?make ([a-z-]+)", text, re.MULTILINE):
        assert f"\n{target}:" in f"\n{(ROOT / 'Makefile').read_text(encoding='utf8')}", target


def test_published_numbers_are_of_the_papers_that_are_named() -> None:
    papers = {
        line.split(",")[0]
        for line in (ROOT / "src/heedful/studies/published.csv").read_text("utf8").splitlines()[1:]
    }
    said = TEXT.partition("Published numbers")[2].partition("- **")[0].lower()
    assert all(re.search(rf"{paper[:-4]} [^,]*{paper[-4:]}", said) for paper in papers)
