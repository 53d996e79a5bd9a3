"""Answers token by token, of the few texts that the page of an audit shows with maps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tiny_hf import tiny_hf  # sets HF_HUB_OFFLINE, which must come before transformers

pytest.importorskip("transformers")
pytest.importorskip("jinja2")

import heedful
from audited import LEAST, audit
from heedful.auditing import Audit
from heedful.auditing.answer_tokens import token_table
from heedful.report import chosen_texts, evidence_of
from heedful.store import Store
from heedful.targets import open_target
from tiny_tokenizers import byte_pairs

TEXTS = [{"text": f"the film was {a} and {b}"} for a in ("good", "bad") for b in ("great", "dull")]
TEXTS += [{"text": f"a {each} film"} for each in ("good", "bad", "very bad")]
ANSWER = " is bad"
ASKED: dict[str, Any] = {"label_column": None, "answer": ANSWER, "spec": LEAST}


@pytest.fixture(scope="module")
def writer() -> tuple[Any, Any]:
    known = {"vocab_size": 290, "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": None}
    return tiny_hf("GPT2", "language", double=True, **known), byte_pairs()


@pytest.fixture(scope="module")
def found(writer: tuple[Any, Any], tmp_path_factory: pytest.TempPathFactory) -> Audit:
    out = tmp_path_factory.mktemp("audit") / "audit"
    return Audit.load(audit(writer, TEXTS, **ASKED).save(out))


def tokens_of(found: Audit) -> Any:
    return found.tables["tokens"].whole


def test_the_texts_of_the_page_are_explained_by_token(
    found: Audit, writer: tuple[Any, Any]
) -> None:
    """As `heedful.explain` does one of them."""
    tokens = tokens_of(found)
    shown = chosen_texts(evidence_of(found.as_parts()))
    assert list(tokens["example"].unique()) == list(shown) and len(shown) > 3
    assert list(tokens["explanation"].unique()) == ["attention", "gradient_input"]
    whole = dict(zip(found.documents["example"], found.documents["text"], strict=True))
    one = heedful.explain(
        writer,
        whole[shown[0]],
        answer=ANSWER,
        by_token=True,
        explanations="attention,gradient_input",
    )
    for name, rows in one.by_token.items():
        part = tokens[(tokens["example"] == shown[0]) & (tokens["explanation"] == name)]
        assert part["text"].tolist() == list(one.tokens)
        assert (part["of"] == len(one.tokens)).all() and len(one.tokens) > 1
        for scores, row in zip(part["scores"], rows, strict=True):
            assert list(scores) == pytest.approx(row, abs=1e-9)


def test_the_page_has_them_where_its_maps_are(found: Audit, tmp_path: Path) -> None:
    page = found.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    count = tokens_of(found)["example"].nunique()
    assert page.count('data-answers="answers-audit0"') == count
    assert 'data-blob="answers-audit0"' in page and "rule, token by token" in page


def test_they_can_be_left_out_and_are_made_up_for(writer: tuple[Any, Any], store: Store) -> None:
    """A stored audit without them gets them when it is asked for again."""
    without = audit(writer, TEXTS, by_token=False, store=store, **ASKED)
    assert tokens_of(without).empty
    page = without.to_html(store.root / "page.html").read_text(encoding="utf-8")
    assert "<div data-answers" not in page
    again = audit(writer, TEXTS, store=store, **ASKED)
    assert len(tokens_of(again)) and again.verdict.digest == without.verdict.digest


def test_texts_that_come_late_are_left_out(found: Audit, writer: tuple[Any, Any]) -> None:
    """Time is looked at before each text."""
    with open_target(writer, TEXTS, answer=ANSWER, label_column=None) as subject:
        times = iter([False, False, True])
        some = token_table(subject, found.as_parts(), "probability", lambda: next(times))
    shown = chosen_texts(evidence_of(found.as_parts()))
    assert list(some["example"].unique()) == list(shown[:2])


def test_an_answer_of_one_token_is_not_taken_apart(writer: tuple[Any, Any]) -> None:
    one = {**ASKED, "token": 1}
    assert tokens_of(audit(writer, TEXTS, **one)).empty
    plain = {"label_column": None, "spec": LEAST}
    label_words = {"good": " good", "bad": " bad"}
    assert tokens_of(audit(writer, TEXTS, label_words=label_words, **plain)).empty
