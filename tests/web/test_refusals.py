"""A refusal on a Chinese page says in Chinese what it means, and its English detail is marked as English."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from service.errors import ForelockError, InvalidData, NotFound, RecordAltered
from service.web.html.speech import detail_in, meaning_of
from service.words import LANGUAGES, Language, catalogue, message

ERRORS = Path(__file__).parents[2] / "docs" / "errors.md"


def test_what_was_not_found_is_told_in_chinese_with_its_detail(reader: TestClient) -> None:
    page = reader.get("/preregistrations/nosuchrecord", params={"lang": "zh"})
    assert page.status_code == 404
    assert "<h1>没有找到</h1>" in page.text
    assert "<p>本项目中没有预注册 nosuchrecord。</p>" in page.text
    english = reader.get("/preregistrations/nosuchrecord", params={"lang": "en"})
    assert "本项目" not in english.text
    assert "<h1>Not found</h1>" in english.text


def test_a_wrong_key_is_told_in_chinese_with_its_detail(browser: TestClient) -> None:
    page = browser.post("/login", data={"key": "flk_wrong"}, params={"lang": "zh"})
    assert page.status_code == 401
    assert "<p>没有 API 密钥，或密钥未知、过期、被撤销或输入有误。</p>" in page.text
    assert "<p>API 密钥输入有误或不完整：校验和不符</p>" in page.text
    english = browser.post("/login", data={"key": "flk_wrong"}, params={"lang": "en"})
    assert english.text.count("<p>the API key is mistyped") == 1


@pytest.mark.parametrize(
    ("path", "detail"),
    [
        ("/preregistrations/a.b", "没有预注册使用该编号"),
        ("/series/nosuch", "本项目中没有该名称的序列"),
    ],
)
def test_a_page_that_is_not_there_says_so_in_chinese(reader: TestClient, path: str, detail: str) -> None:
    page = reader.get(path, params={"lang": "zh"})
    assert page.status_code == 404
    assert f"<p>{detail}。</p>" in page.text


HAN = re.compile("[\u4e00-\u9fff]")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("get", "/jobs?state=wrong", None),
        ("get", "/preregistrations?state=wrong", None),
        ("get", "/preregistrations?q=" + "x" * 400, None),
        ("get", "/audit?action=" + "x" * 400, None),
        ("get", "/preregistrations/p1/items?kind=wrong", None),
        ("get", "/preregistrations/p1/items?q=" + "x" * 400, None),
        ("post", "/keys", {"name": "n", "kind": "job", "scopes": "read", "ends": "tomorrow"}),
        ("post", "/keys", {"name": "n", "kind": "job", "scopes": "read", "ends": "2020-01-01"}),
        ("post", "/keys", {"name": "n", "kind": "job", "scopes": "operator"}),
        ("post", "/questions", {"question": "score", "more": "--open 'quote"}),
        ("post", "/questions", {"question": "score", "more": "word"}),
        ("post", "/questions", {"question": "none"}),
        ("post", "/questions", {"question": "score"}),
        ("get", "/tests/mcnemar?job=nosuch", None),
        ("post", "/jobs/nosuch/cancel", {}),
        ("post", "/keys/nosuch/revoke", {}),
        ("get", "/preregistrations?cursor=x", None),
        ("get", "/preregistrations/p1/items?start=x", None),
        ("get", "/preregistrations/p1/items?hypothesis=none", None),
        ("get", "/preregistrations/p1/report.exe", None),
        ("get", "/preregistrations/p1/charts/none.svg", None),
        ("post", "/keys", {"name": "", "kind": "job", "scopes": "read"}),
        ("post", "/keys", {"name": "n", "kind": "none", "scopes": "read"}),
        ("post", "/tests/mcnemar", {"request": "[]"}),
        ("post", "/tests/mcnemar", {"request": "{"}),
        ("post", "/tests/mcnemar", {"request": '{"both_correct": -1, "only_baseline": "x", "none": 1}'}),
        ("post", "/tests/t-test", {"request": '{"baseline": [], "candidate": [1]}'}),
        ("post", "/tests/paired-bootstrap", {"request": '{"baseline": [1, 2], "candidate": [1]}'}),
        ("post", "/questions", {"question": "score", "more": "--none 1"}),
        ("post", "/questions", {"question": "score", "more": "--missing fail --missing drop"}),
    ],
)
def test_what_a_page_refuses_by_itself_has_no_english_on_a_chinese_page(
    browser: TestClient, new_key: Any, keep: Any, method: str, path: str, body: dict[str, str] | None
) -> None:
    keep("judged", "p1")
    _key, secret = new_key("read", "admin", "tests:run", "plans:write")
    assert browser.post("/login", data={"key": secret}).status_code == 303
    told = {}
    for language in ("en", "zh"):
        mark = "&" if "?" in path else "?"
        page = browser.request(method, f"{path}{mark}lang={language}", data=body)
        assert page.status_code in (400, 403, 404, 409, 422), page.text
        whole = page.text.partition("<main")[2]
        faults = whole.partition('role="alert"')[2].partition("</div>")[0] or whole
        told[language] = re.findall(
            r"<p[^>]*>([^<]+)</p>|<li[^>]*>(?:<code>[^<]*</code> )?([^<]+)</li>", faults
        )
    assert not any(HAN.search("".join(sentence)) for sentence in told["en"])
    assert len(told["zh"]) > 0
    assert [sentence for sentence in told["zh"] if not HAN.search("".join(sentence))] == []


def test_a_translated_fault_is_english_in_the_problem_document() -> None:
    error = InvalidData.field("ends", message("refusals.no_day"), message("refusals.write_a_day"))
    again = pickle.loads(pickle.dumps(error))
    for known in (error, again):
        assert known.detail == "ends: is no day"
        fix = "write it like 2027-12-31, or leave it out"
        assert known.document()["errors"] == [{"path": "ends", "message": "is no day", "fix": fix}]
        assert detail_in(known, "zh").text == "ends：不是一个日期"
        assert known.faults[0].texts("zh") == ("不是一个日期", "请写成 2027-12-31 的形式，或留空")


def test_a_refusal_keeps_its_message_on_the_way_to_another_process() -> None:
    error = NotFound(message("refusals.no_series"))
    again = pickle.loads(pickle.dumps(error))
    assert (again.detail, again.message) == ("there is no series of this name in this project", error.message)
    assert again.document() == error.document()
    assert detail_in(again, "zh").text == "本项目中没有该名称的序列"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_code_of_the_api_is_told_in_every_language_and_no_other_is(language: Language) -> None:
    documented = re.findall(r"^\| `(\w+)` \|", ERRORS.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(catalogue.templates(language, "problems")) == sorted(documented)


@pytest.mark.parametrize("code", sorted(catalogue.templates("zh", "problems")))
def test_what_is_told_of_a_code_is_a_sentence(code: str) -> None:
    assert meaning_of(code, "zh").endswith("。")
    assert meaning_of(code, "en") == ""


def test_of_another_code_nothing_is_told() -> None:
    assert meaning_of("no_such_code", "zh") == ""


CANARY = "7421canary"


def fail(*_arguments: Any, **_more: Any) -> None:
    raise ValueError(CANARY)


@pytest.mark.parametrize(
    ("language", "heading"), [("en", "Something failed on our side"), ("zh", "服务出错")]
)
def test_a_bug_on_a_page_is_a_page_with_its_reference_and_nothing_of_its_cause(
    reader: TestClient, monkeypatch: pytest.MonkeyPatch, language: str, heading: str
) -> None:
    monkeypatch.setattr("service.web.preregistrations.list_page.html", fail)
    page = reader.get("/preregistrations", params={"lang": language})
    assert (page.status_code, page.headers["content-type"]) == (500, "text/html; charset=utf-8")
    assert f"<h1>{heading}</h1>" in page.text
    assert f"<code>{page.headers['x-request-id']}</code>" in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert page.headers["cache-control"] == "no-store"
    assert CANARY not in page.text


def test_a_bug_of_a_form_is_a_page_too_whatever_the_browser_accepts(
    reader: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.web.visitors.sign_in.html", fail)
    page = reader.post("/login", data={"key": "flk_wrong"}, headers={"Accept": "*/*"})
    assert (page.status_code, page.headers["content-type"]) == (500, "text/html; charset=utf-8")
    assert CANARY not in page.text


def test_where_no_page_can_be_made_the_problem_is_told(
    reader: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.web.preregistrations.list_page.html", fail)
    monkeypatch.setattr("service.web.html.rendering.html", fail)
    answer = reader.get("/preregistrations")
    assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
    assert CANARY not in answer.text


def test_a_fault_of_ours_has_its_reference_and_its_own_code(
    reader: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: Any, **_more: Any) -> None:
        raise ForelockError("the seal of a batch does not open", code="seal_broken")

    monkeypatch.setattr("service.web.preregistrations.list_page.html", refuse)
    page = reader.get("/preregistrations", params={"lang": "zh"})
    assert page.status_code == 500
    assert "<h1>密封的数据行无法打开：其内容或位置已变</h1>" in page.text
    assert f"<code>{page.headers['x-request-id']}</code>" in page.text


def test_what_a_state_does_not_allow_names_the_states_that_do(reader: TestClient, keep: Any) -> None:
    keep("draft", "p1")
    page = reader.get("/preregistrations/p1/missing", params={"lang": "zh"})
    assert page.status_code == 409
    told = "预注册 p1 的状态为“草稿”，而此操作所要求的状态是：已锁定、收集中、已齐全、已判定、已撤回；现在可以：编辑"
    assert f"<p>{told}（<code>PATCH</code>）" in page.text
    english = reader.get("/preregistrations/p1/missing", params={"lang": "en"})
    told = "this needs one that is locked or collecting or complete or judged or withdrawn; allowed now: edit"
    assert f"<p>Preregistration p1 is draft, and {told} (<code>PATCH</code>)" in english.text


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("plan", "p1 的计划与锁定、判定或答复时所存的不同"),
        ("ledger entry", "p1 的账本记录与锁定、判定或答复时所存的不同"),
    ],
)
def test_what_was_altered_is_told_in_chinese(kind: str, said: str) -> None:
    detail = detail_in(RecordAltered(kind, "p1"), "zh")
    assert detail.text.startswith(said)
    assert detail.lang == ""
    assert detail_in(RecordAltered(kind, "p1"), "en").text.startswith(f"the {kind} of p1 is stored otherwise")
