"""The gallery is made of what its commands print, and says what is missing where it is not made."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PIL import Image
from tools import gallery
from tools.gallery import EXHIBITS, PAGE, PICTURES, Exhibit, kept, needed, page, placeholder

import docs_commands
from browsing import PHONE, opened_browser, sideways, visiting

MAKEFILE = (Path(__file__).parent.parent / "Makefile").read_text(encoding="utf-8")


def test_the_committed_page_is_what_was_printed() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(kept())


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda each: each.name)
def test_an_exhibit_has_commands_and_a_rule_of_the_makefile(exhibit: Exhibit) -> None:
    for command in exhibit.commands:
        docs_commands.parse(command)
    assert exhibit.show.endswith(f"-o {exhibit.name}")
    rule = re.search(r"^GALLERY := .*$", MAKEFILE, flags=re.MULTILINE)
    assert rule and f"{exhibit.name}.html" in rule[0]


@pytest.mark.parametrize("name", kept())
def test_pictures_are_small(name: str) -> None:
    path = PICTURES / f"{name}.png"
    assert path.stat().st_size <= 150_000
    with Image.open(path) as picture:
        assert picture.width >= 1200


def test_what_is_not_printed_yet_names_its_commands() -> None:
    text = page({})
    assert text.count("Not made yet.") == len(EXHIBITS) and "![" not in text
    assert all(f"$ {command}" in text for each in EXHIBITS for command in each.commands)


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEEDFUL_DATA", raising=False)
    monkeypatch.setattr(gallery, "ROOT", tmp_path)  # where no pretrained model is
    missing = {each.name: needed(each) for each in EXHIBITS}
    embedded = [name for name, sentence in missing.items() if not sentence]
    assert embedded == ["readable", "deceptive", "translation"]
    assert all(re.match(r"needs .*\.$", missing[name]) for name in missing if name not in embedded)


def test_a_page_that_was_not_made_says_how(tmp_path: Path) -> None:
    exhibit = next(each for each in EXHIBITS if each.name == "smollm2")
    path = tmp_path / "page.html"
    path.write_text(placeholder(exhibit, "needs <SmolLM2>."), encoding="utf-8")
    with opened_browser() as browser, visiting(browser, path.as_uri(), PHONE) as seen:
        assert "it needs <SmolLM2>." in seen.inner_text("body")
        assert exhibit.commands[0] in seen.inner_text("pre") and sideways(seen) <= 0
