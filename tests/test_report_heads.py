"""Every layer and head of a few texts in an audit's page: chosen by rule, and within a bound."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tiny_hf import tiny_hf  # sets HF_HUB_OFFLINE, which must come before transformers

pytest.importorskip("transformers")
pytest.importorskip("jinja2", reason="pages need jinja2 (heedful[report])")

import heedful
from browsing import PHONE, WIDE, accessibility, sideways, visiting
from heedful.auditing import Audit, AuditSpec, Plan, audit, heads
from heedful.errors import HeedfulError
from heedful.report import audit_page
from heedful.store import Store
from parsed_page import parse
from test_head_view import Averaging
from tiny_tokenizers import word_pieces

QUICK = AuditSpec(explanations=("attention", "gradient_input"), only=("agreement",))
HOSTILE = "</script><img src=x onerror=window.ran=1>"
ROWS = [
    {"text": f"the {word} film is {HOSTILE if word == 'dull' else 'unlikely'} {word}", "label": 0}
    for word in ("good", "bad", "great", "dull", "very", "not")
]
ROWS.append({"text": "the film " * 20, "label": 1})
Pair = tuple[Any, Any]


@pytest.fixture(scope="module")
def pair() -> Pair:
    return tiny_hf(), word_pieces()


@pytest.fixture(scope="module")
def audited(pair: Pair) -> Audit:
    return audit(pair, ROWS, QUICK)


def text_of(found: Audit, example: str) -> str:
    documents = found.documents.set_index("example")
    return str(documents.loc[example, "text"])


def test_weights_are_those_of_the_chosen_texts(audited: Audit, pair: Pair) -> None:
    """The surest, the least sure, the surest wrong one; with the tokens and weights of a view."""
    table = audited.tables["heads"].whole
    sure = audited.rows.drop_duplicates("example").set_index("example")
    surest, least, wrong = table["example"]
    assert sure["confidence"].idxmax() == surest and sure["confidence"].idxmin() == least
    others = sure[sure["label"] != sure["predicted"]].drop([surest, least], errors="ignore")
    assert others["confidence"].idxmax() == wrong
    for line in table.to_dict("records"):
        view, found = heedful.head_view(pair, text_of(audited, line["example"])), line["view"]
        data = json.loads(found)
        assert data["sides"]["a"]["tokens"] == list(view.tokens)
        weights = (np.frombuffer(base64.b64decode(data["weights"]), np.uint8) / 255) ** 2
        wanted = np.concatenate([view.weights[site["name"]].ravel() for site in data["sites"]])
        np.testing.assert_allclose(weights, wanted, atol=0.004)


def test_a_text_without_room_is_named(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the first text the page has all; what does not fit beside it is only named."""
    whole = audit(pair, ROWS, QUICK).tables["heads"].whole
    sizes = [len(base64.b64decode(json.loads(view)["weights"])) for view in whole["view"]]
    monkeypatch.setattr(heads, "MOST_STORED", sizes[0])
    found = audit(pair, ROWS, QUICK)
    views = found.tables["heads"].whole["view"].tolist()
    assert views[0] and set(views[1:]) == {""}
    page = parse(audit_page(found.as_parts()))
    assert len(page.blob("heads-audit0")) == 1
    assert page.text.count("is too long to be shown") == len(views) - 1
    monkeypatch.setattr(heads, "MOST_STORED", 0)
    page = parse(audit_page(audit(pair, ROWS, QUICK).as_parts()))
    assert "heads-audit0" not in page.blobs and "is too long to be shown" in page.text


def test_one_head_needs_no_view() -> None:
    found = audit(Averaging(), [{"text": "a good film", "label": "good"}] * 3, QUICK)
    assert found.tables["heads"].whole.empty
    assert "token by token" not in parse(audit_page(found.as_parts())).text


def test_audits_of_earlier_versions_have_none(audited: Audit, tmp_path: Path) -> None:
    audited.save(tmp_path / "audit")
    again = Audit.load(tmp_path / "audit")
    assert again.tables["heads"].whole.equals(audited.tables["heads"].whole)
    assert "token by token" in parse(audit_page(again.as_parts())).text
    (tmp_path / "audit" / "heads.parquet").unlink()
    early = Audit.load(tmp_path / "audit")
    assert early.tables["heads"].whole.empty
    assert "token by token" not in parse(audit_page(early.as_parts())).text


def test_a_stored_audit_keeps_them(audited: Audit, pair: Pair, tmp_path: Path) -> None:
    store = Store(tmp_path)
    for _ in range(2):  # measured, then found
        found = audit(pair, ROWS, QUICK, plan=Plan(store))
        assert found.tables["heads"].whole.equals(audited.tables["heads"].whole)


@pytest.mark.parametrize(
    "view", ["{", "[]", "1", '{"model": "x"}', '{"model": 1, "sides": 2}', '{"sides": {"a": 1}}']
)
def test_views_of_another_kind_are_refused(audited: Audit, tmp_path: Path, view: str) -> None:
    from heedful.report import audit_of_folder

    table = audited.tables["heads"].whole.assign(view=view)
    tables = {name: frames.whole for name, frames in audited.tables.items()}
    Audit.of(audited.verdict, audited.facts, **{**tables, "heads": table}).save(tmp_path / "a")
    with pytest.raises(HeedfulError, match="is no whole audit"):
        audit_of_folder(tmp_path / "a")


@pytest.mark.parametrize(("size", "dark"), [(WIDE, False), (PHONE, True)])
def test_heads_in_a_browser(
    browser: Any, audited: Audit, tmp_path: Path, size: tuple[int, int], dark: bool
) -> None:
    page_file = audited.to_html(tmp_path / "page.html")
    table = audited.tables["heads"].whole
    with visiting(browser, page_file.as_uri() + "#layers", size, dark) as page:
        page.locator(".head-cell").first.wait_for()
        assert page.locator(".head-cell").count() == 4
        for number, view in enumerate(table["view"]):
            if len(table) > 1:
                page.locator(".head-views > .tools select").select_option(str(number))
            page.locator(".head-cell").nth(1).click()
            tokens = page.locator(".head-tokens").first.locator("bdi").all_inner_texts()
            assert tokens == json.loads(view)["sides"]["a"]["tokens"]
            page.locator(".head-token").nth(2).hover()
            assert "attends to" in page.locator(".head-says").inner_text()
        assert page.evaluate("() => window.ran === undefined")
        assert sideways(page) <= 0 and accessibility(page) == []
