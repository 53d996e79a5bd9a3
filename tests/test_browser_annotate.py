"""The human evaluation in a real browser: by keyboard, by mouse, by two people at once."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="pages need fastapi (heedful[web])")
pytest.importorskip("uvicorn", reason="pages need uvicorn (heedful[web])")

from annotating import KEY, items, make_study
from browsing import PHONE, WIDE, accessibility, served, sideways, visiting
from heedful.apps.annotation import (
    RATIONALE,
    RELEVANCE,
    Item,
    Plan,
    Study,
    annotators,
    application,
    create,
    links,
)

COUNT = 8
LETTERS = {"yes": "y", "no": "n", "unsure": "u"}
# By item: they agree on six of eight, each says yes to four, so κ = (6/8 − 1/2) / (1 − 1/2).
SAID = {"annotator 1": "yyyynnnn", "annotator 2": "yyynynnn"}
KAPPA, ALPHA = "0.500", "0.531"  # α = 1 − (2/8) / (2·8·8 / (16·15))
HOSTILE = (
    "<script>window.ran=1</script> \u202edlrow\u202c <img src=x onerror=window.ran=2> 👩‍👩‍👧 "
    + "x" * 5_000
)
NAME = "<b onmouseover=window.ran=3>Ann & Bo</b>"


@contextmanager
def answering(path: Path, task: str = RELEVANCE) -> Iterator[tuple[Study, dict[str, str]]]:
    """A study that is served, and its links."""
    study = make_study(path, task, count=COUNT)
    with served(application(study)) as root:
        yield study, links(study, root)


def settled(page: Any, item: int, answered: int) -> None:
    """The item at this place is shown (numbered from 1), and so many are answered."""
    wanted = f"Item {item} · {answered} of {COUNT} answered"
    page.wait_for_function(
        "(said) => document.getElementById('count').textContent === said", arg=wanted
    )


def finished(page: Any) -> None:
    page.locator("#done").wait_for()
    assert page.inner_text("#count") == f"{COUNT} of {COUNT} answered"


class Acknowledged:
    """What the server has said to be saved, as the page's own requests have it."""

    def __init__(self, page: Any) -> None:
        self.values: dict[int, Any] = {}
        page.on("response", self._hear)

    def _hear(self, response: Any) -> None:
        body = response.request.post_data_json if response.request.method == "POST" else None
        if response.ok and response.url.endswith("/api/answers"):
            self.values[body["item"]] = body["value"]


def kept(study: Study, name: str) -> dict[int, str]:
    """The answers as they lie in the file, read beside the server."""
    with sqlite3.connect(study.path) as db:
        asked = "SELECT item, value FROM answers WHERE annotator = ?"
        found = dict(db.execute(asked, (name,)).fetchall())
    db.close()
    return found


def test_two_annotators_answer_at_once_by_keyboard(browser: Any, tmp_path: Path) -> None:
    """Turn by turn, in orders of their own; one takes an answer back, the other comes again."""
    with (
        answering(tmp_path / "s.db") as (study, link),
        visiting(browser, link["results"]) as results,
        visiting(browser, link["annotator 1"]) as one,
        visiting(browser, link["annotator 2"], PHONE) as two,
    ):
        people = [(each, page) for each, page in zip(study.annotators(), (one, two), strict=True)]
        heard = {each.name: Acknowledged(page) for each, page in people}
        assert people[0][0].places != people[1][0].places
        for place in range(COUNT):
            for each, page in people:
                settled(page, place + 1, place)
                check_item(page, study.items[each.places[place]])
                page.keyboard.press(SAID[each.name][each.places[place]])
            if place == 3:
                take_back(one, SAID["annotator 1"][people[0][0].places[3]])
                settled(two, 5, 4)
                two.reload()
        for each, page in people:
            finished(page)
            said = dict(enumerate(SAID[each.name]))
            assert {i: LETTERS[v] for i, v in kept(study, each.name).items()} == said
            assert kept(study, each.name) == heard[each.name].values
        check_results(results)


def take_back(page: Any, letter: str) -> None:
    """An answer is undone, said otherwise, undone again, and said as it was meant."""
    settled(page, 5, 4)
    page.keyboard.press("z")
    settled(page, 4, 3)
    page.keyboard.press("u")
    settled(page, 5, 4)
    page.keyboard.press("ArrowLeft")
    settled(page, 4, 4)
    assert page.get_attribute("button.unsure", "aria-pressed") == "true"
    page.keyboard.press("z")
    settled(page, 4, 3)
    page.keyboard.press(letter)


def check_item(page: Any, item: Item) -> None:
    """The text is shown letter by letter, and its top words are marked."""
    assert page.locator(".words").evaluate("(each) => each.textContent") == item.texts["a"]
    spans = item.words["a"]
    wanted = [item.texts["a"][slice(*spans[number])] for number in sorted(item.top)]
    marked = page.locator(".top-word").evaluate_all("(all) => all.map((e) => e.textContent)")
    assert marked == wanted and page.inner_text("#class") == item.explained
    assert page.locator("main :is(script, img)").count() == 0


def check_results(page: Any) -> None:
    """Without being loaded again."""
    page.wait_for_function(
        "(text) => document.getElementById('about').textContent.includes(text)",
        arg=f"{2 * COUNT} answers",
    )
    assert page.locator("#numbers .big").all_inner_texts() == [ALPHA, KAPPA]
    assert page.locator("#pairs td").all_inner_texts() == [str(COUNT), KAPPA]
    assert page.locator(".people .soft").all_inner_texts() == [f"{COUNT} of {COUNT}"] * 2


def test_words_are_picked_by_keyboard_and_by_mouse(browser: Any, tmp_path: Path) -> None:
    with (
        answering(tmp_path / "r.db", RATIONALE) as (study, link),
        visiting(browser, link["annotator 1"]) as page,
    ):
        places = study.annotators()[0].places
        long = [p for p, number in enumerate(places) if study.items[number].length > 4]
        first, second = long[:2]
        walk(page, first, 0)
        for key in (" ", "ArrowRight", "ArrowRight", "Shift+ArrowRight", "Enter"):
            page.keyboard.press(key)
        settled(page, first + 2, 1)
        walk(page, second, 1, start=first + 1)
        drag(page, 1, 3)
        page.locator("bdi[data-word='2']").click()
        page.get_by_role("button", name="Save 2 words").click()
        page.wait_for_function("() => document.getElementById('progress').value === 2")
        assert kept(study, "annotator 1") == {places[first]: "[0, 2, 3]", places[second]: "[1, 3]"}
        page.reload()
        settled(page, next(p + 1 for p in range(COUNT) if p not in (first, second)), 2)
        walk(page, first, 2, start=next(p for p in range(COUNT) if p not in (first, second)))
        pressed = page.locator("bdi[aria-pressed=true]").evaluate_all(
            "(all) => all.map((e) => Number(e.dataset.word))"
        )
        assert pressed == [0, 2, 3]


def walk(page: Any, place: int, answered: int, start: int = 0) -> None:
    """From place to place by the keys j and k."""
    settled(page, start + 1, answered)
    step = 1 if place > start else -1
    for here in range(start, place, step):
        page.keyboard.press("j" if step > 0 else "k")
        settled(page, here + step + 1, answered)


def drag(page: Any, start: int, end: int) -> None:
    """The mouse goes from word to word in one leap: those between are meant too."""
    boxes = [page.locator(f"bdi[data-word='{n}']").bounding_box() for n in (start, end)]
    here, there = [(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in boxes]
    page.mouse.move(*here)
    page.mouse.down()
    page.mouse.move(*there)
    page.mouse.up()


@pytest.mark.parametrize("size", [WIDE, PHONE])
def test_hostile_texts_and_names_are_text(browser: Any, tmp_path: Path, size: Any) -> None:
    """`visiting` fails on any dialog, error or request to elsewhere."""
    study = hostile_study(tmp_path / "h.db")
    with served(application(study)) as root:
        link = links(study, root)
        with visiting(browser, link[NAME], size) as page:
            page.locator(".words").first.wait_for()
            shown = page.locator(".words").evaluate_all("(all) => all.map((e) => e.textContent)")
            assert shown == [HOSTILE, "bad & plain"]
            assert page.inner_text("#who") == page.inner_text("#class") == NAME
            page.keyboard.press("y")
            finished_one(page)
            check_harmless(page)
        with visiting(browser, link["results"], size) as page:
            page.locator(".people li").wait_for()
            assert NAME in page.inner_text(".people")
            check_harmless(page)


def hostile_study(path: Path) -> Study:
    """Words are what a tokenizer says they are: here whole tags."""
    texts = {"a": HOSTILE, "b": "bad & plain"}
    words = {
        side: tuple(each.span() for each in re.finditer(r"<[^>]*>|\S+", text))
        for side, text in texts.items()
    }
    item = replace(items(RELEVANCE, 1)[0], texts=texts, words=words, prediction=NAME)
    facts = {"source": HOSTILE[:60], "family": NAME, "labels": [NAME], "seed": 0}
    create(path, Plan(RELEVANCE, (item,), facts), KEY)
    study = Study(path)
    study.invite(annotators(study, [NAME]))
    return study


def finished_one(page: Any) -> None:
    page.locator("#done").wait_for()
    page.keyboard.press("ArrowLeft")
    page.locator("button.yes[aria-pressed=true]").wait_for()


def check_harmless(page: Any) -> None:
    assert page.evaluate("() => window.ran === undefined")
    assert page.locator("body :is(script, img, b)").count() == 0
    assert sideways(page) <= 0 and accessibility(page) == []


def test_an_old_tab_is_told_and_overwrites_nothing(browser: Any, tmp_path: Path) -> None:
    with (
        answering(tmp_path / "s.db") as (study, link),
        visiting(browser, link["annotator 1"]) as new,
        visiting(browser, link["annotator 1"], pardoned="409") as old,
    ):
        settled(new, 1, 0)
        settled(old, 1, 0)
        new.keyboard.press("y")
        settled(new, 2, 1)
        old.keyboard.press("n")
        old.locator(".status.bad").wait_for()
        assert "answered elsewhere" in old.inner_text("#status")
        assert old.get_attribute("button.yes", "aria-pressed") == "true"
        assert list(kept(study, "annotator 1").values()) == ["yes"]


def test_a_slow_item_does_not_overtake_the_next_key(browser: Any, tmp_path: Path) -> None:
    held: list[Any] = []
    with (
        answering(tmp_path / "s.db") as (study, link),
        visiting(browser, link["annotator 1"]) as page,
    ):
        settled(page, 1, 0)
        page.route("**/api/items/1", lambda route: held.append(route))
        with page.expect_request("**/api/items/1"):
            page.keyboard.press("j")
        page.keyboard.press("k")
        settled(page, 1, 0)
        with page.expect_response("**/api/items/1"):
            held[0].continue_()
        page.wait_for_timeout(200)
        settled(page, 1, 0)
        check_item(page, study.items[study.annotators()[0].places[0]])


@pytest.mark.parametrize(("size", "dark"), [(WIDE, False), (WIDE, True), (PHONE, True)])
@pytest.mark.parametrize("task", [RELEVANCE, RATIONALE])
def test_everybody_can_read_and_reach_it(
    browser: Any, tmp_path: Path, task: str, size: Any, dark: bool
) -> None:
    """A new item, an answered one, the help, the end, and the results."""
    with answering(tmp_path / "s.db", task) as (_, link):
        with visiting(browser, link["annotator 1"], size, dark) as page:
            settled(page, 1, 0)
            check_readable(page)
            for key in ("y", "ArrowLeft") if task == RELEVANCE else (" ", "Enter", "k"):
                page.keyboard.press(key)
                page.wait_for_function("() => !document.body.hasAttribute('aria-busy')")
            settled(page, 1, 1)
            check_readable(page)
            page.keyboard.press("?")
            page.get_by_role("dialog").wait_for()
            check_readable(page)
            page.keyboard.press("Escape")
        with visiting(browser, link["results"], size, dark) as page:
            page.locator(".people li").first.wait_for()
            check_readable(page)
            ground = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
            assert (sum(map(int, re.findall(r"\d+", ground)[:3])) < 150) == dark


def check_readable(page: Any) -> None:
    assert accessibility(page) == []
    assert sideways(page) <= 0
