"""No page of the service has an English sentence when it is read in Chinese: every route, asked well and badly."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute

from service import web
from service.stats.shared.declaring import registry
from service.web.pages import ROUTERS
from service.words import say
from service.words.catalogue import templates
from tests.journeys.conftest import Service, service  # noqa: F401  # a fixture
from tests.web.chinese_house import House, build_house
from tests.web.requests_of_width import WIDE
from tests.web.visible import english_runs

NAMES = {
    *("a", "b", "accuracy", "p", "h", "format", "c", "d"),  # what the people of the house call their things
    *(
        "forelock",
        "svg",
        "png",
        "pdf",
        "json",
        "html",
        "md",
        "tex",
        "csv",
        "eu",
        "gpai",
        "neurips",
        "reforms",
    ),
}
"""Words that a Chinese page has in Latin letters, one behind another."""
ONE = "/preregistrations/{preregistration_id}"
RESULTS = b"item_id,value\na,1\nb,0\nc,1\nd,1\n"
BETTER = b"item_id,value\na,1\nb,1\nc,1\nd,1\n"


@dataclass(frozen=True, slots=True)
class Case:
    """A request to a route: the ids of its path are words of the house, or stand for themselves."""

    path: str
    ids: dict[str, str] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    data: dict[str, Any] | None = None
    files: Any = None
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    abroad: bool = False
    """Whoever asks is not signed in."""


def record(path: str, id: str, **more: Any) -> Case:
    return Case(ONE + path, {"preregistration_id": id}, **more)


STATES = ("judged", "sliced", "draft", "bare", "collecting", "withdrawn", "amended", "failed")
NONE = ("nosuchrecord", "a.b", "x" * 90)
LONG = {"q": "x" * 400}


def reads() -> Iterator[Case]:
    yield Case("/")
    yield Case("/login")
    yield Case("/login", query={"next": "/nowhere"}, abroad=True)
    yield Case("/login/provider")
    yield Case("/login/provider/callback", query={"code": "x", "state": "y"})
    yield Case("/overview")
    yield Case("/overview", abroad=True)
    for query in (
        {},
        {"q": "缓存"},
        {"q": "无"},
        {"state": "judged"},
        {"state": "wrong"},
        LONG,
        {"cursor": "x"},
    ):
        yield Case("/preregistrations", query=query)
        yield Case("/jobs", query=query)
        yield Case("/audit", query=query | ({"action": "x" * 400} if query is LONG else {}))
        yield Case("/keys", query=query)
        yield Case("/series", query=query)
    for id in (*STATES, *NONE):
        yield record("", id)
        yield record("/plan", id)
        for form in ("json", "md", "exe"):
            yield Case(ONE + "/plan.{form}", {"preregistration_id": id, "form": form})
        yield record("/items", id)
        yield record("/slices", id)
        yield record("/missing", id)
        yield record("/bundle", id)
        yield record("/results.csv", id)
        for form in ("html", "exe"):
            yield Case(ONE + "/report.{form}", {"preregistration_id": id, "form": form})
        for form in ("bib", "exe"):
            yield Case(ONE + "/citation.{form}", {"preregistration_id": id, "form": form})
        for chart in ("forest", "none"):
            for form in ("svg", "exe") if id in ("judged", "draft") else ("exe",):
                yield Case(
                    ONE + "/charts/{chart}.{form}",
                    {"preregistration_id": id, "chart": chart, "form": form},
                )
    yield record("", "judged", query={"hypothesis": "none"})
    for query in (
        {"kind": "lost"},
        {"kind": "wrong"},
        {"hypothesis": "none"},
        {"start": "x"},
        {"start": "-1"},
        LONG,
    ):
        yield record("/items", "judged", query=query)
    yield record("/slices", "sliced", query={"hypothesis": "none"})
    for query in ({"arm": "A"}, {"arm": "none"}, {"cursor": "x"}):
        yield record("/missing", "collecting", query=query)
    yield Case(
        ONE + "/report.{form}", {"preregistration_id": "judged", "form": "html"}, query={"standard": "none"}
    )
    yield Case(
        ONE + "/report.{form}", {"preregistration_id": "judged", "form": "pdf"}, query={"standard": "prisma"}
    )
    yield record("/events", "nosuchrecord")
    yield Case("/plans/new")
    yield Case("/questions")
    yield Case("/leaderboards")
    yield Case("/tests")
    for name in sorted(registry.latest()):
        yield Case("/tests/{name}", {"name": name})
    yield Case("/tests/{name}", {"name": "none"})
    for job in ("job", "failed_job", "waiting_job", "none", "a.b"):
        for name in ("mcnemar", "t-test"):
            yield Case("/tests/{name}", {"name": name}, query={"job": job})
    for name in ("夜间", "新", "none"):
        yield Case("/series/{name}", {"name": name})
    for token in ("token", "revoked", "none"):
        yield Case("/shared/{token}", {"token": token}, abroad=True)
    for id in ("public", "judged", "none", "a.b"):
        yield Case("/public/{prereg_id}", {"prereg_id": id}, abroad=True)
    for base, id in (("/shared/{token}", {"token": "none"}), ("/public/{prereg_id}", {"prereg_id": "none"})):
        yield Case(base + "/verdict.json", id, abroad=True)
        yield Case(base + "/receipt.json", id, abroad=True)
        yield Case(base + "/charts/{chart}.{form}", id | {"chart": "forest", "form": "svg"}, abroad=True)


PLAN = {
    "title": "新旧比较",
    "baseline": "旧",
    "candidate": "新",
    "dataset": "题库",
    "kind": "binary",
    "endpoint": "acc",
    "better": "higher",
    "n": "500",
    "clusters": "",
    "n_clusters": "",
    "independence": "每段对话一题",
    "claim": "superiority",
    "size": "2",
    "alpha": "0.05",
}


FORM = {"Content-Type": "application/x-www-form-urlencoded"}
UNREADABLE: tuple[dict[str, str], ...] = (
    {"Content-Type": "application/json"},
    {"Content-Type": "multipart/form-data; boundary=x"},
    FORM | {"Content-Encoding": "br"},
    FORM | {"Content-Encoding": "gzip"},
    FORM | {"Content-Length": str(10**10)},
)
"""Headers of a form that cannot be read: of another kind, in no parts, compressed otherwise, no gzip, too large."""


def writes() -> Iterator[Case]:
    """What forms send, good and bad; what changes a record comes last of it."""
    for path, ids in (
        ("/login", {}),
        ("/plans/new", {}),
        ("/questions", {}),
        ("/tests/{name}", {"name": "mcnemar"}),
        ("/leaderboards", {}),
        ("/keys", {}),
        (ONE + "/items", {"preregistration_id": "draft"}),
        (ONE + "/lock", {"preregistration_id": "draft"}),
        ("/login/provider/project", {}),
    ):
        for headers in UNREADABLE:
            yield Case(path, ids, body=b"x", headers=headers)
        yield Case(path, ids, data={"a": "b"}, headers={"Sec-Fetch-Site": "cross-site"})
        yield Case(path, ids, data={})
    yield Case("/login", data={"key": "flk_wrong"})
    yield Case("/login", data={"key": "none"})
    for change in (
        {},
        {"dataset": ""},
        {"n": "x"},
        {"size": "-1"},
        {"candidate": "旧"},
        {"claim": "equivalence", "kind": "continuous"},
        {"clusters": "对话", "n_clusters": "9"},
        {"clusters": "对话", "n_clusters": "900"},
        {"n": "20"},
        {"title": "长" * 300},
        {"claim": "non_inferiority"},
        {"kind": "x"},
        {"endpoint": "带 空格"},
        {"baseline": "a,b"},
        {"n": "1"},
    ):
        yield Case("/plans/new", data=PLAN | change | {"act": "check"})
        yield Case("/plans/new", data=PLAN | change | {"act": "create"})
    yield Case("/plans/new", data=PLAN | {"act": "json"})
    yield Case("/plans/new", data=PLAN | {"act": "markdown"})
    one, two = (
        [("first", ("a.csv", RESULTS))],
        [("first", ("old.csv", RESULTS)), ("second", ("new.csv", BETTER))],
    )
    wide = [("first", ("w.csv", WIDE.encode()))]
    for question in ("score", "gate", "rank", "noise", "items", "resolve", "none"):
        for files in (
            one,
            two,
            wide,
            [("first", ("x.csv", b"\xff\x00"))],
            [("first", ("x.csv", b"a,b\n1,2\n"))],
        ):
            yield Case(
                "/questions",
                data={"question": question, "margin": "2pp" if question == "gate" else ""},
                files=files,
            )
    for more in (
        "--nosuch 1",
        "--missing fail --missing drop",
        "--at-least " + "9" * 300,
        "--weights x",
        "--common maybe",
        "--missing maybe",
        "--open 'quote",
        "word",
        "--at-least x",
        "--alpha 7",
        "--alpha x",
        "--range 5",
        "--format none",
        "--metric none",
        "--cluster none",
        "--slice none",
        "--suite none",
        "--set x",
        "--set format=none",
        "--arm none",
        "--margin 2pp",
    ):
        yield Case("/questions", data={"question": "score", "more": more}, files=one)
    for more in (
        "--margin x",
        "--margin 2",
        "--arms A",
        "--unseen maybe",
        "--allow-different x",
        "--covariate x",
        "--missing maybe",
        "--paired",
    ):
        yield Case("/questions", data={"question": "gate", "more": more}, files=two)
    for text in (
        "",
        "x",
        "[]",
        "{}",
        "null",
        '{"both_correct": -1}',
        '{"both_correct": 1.5, "only_baseline": "x"}',
        '{"a": NaN}',
        '{"a": 1, "a": 2}',
        '{"both_correct":9,"only_baseline":1,"only_candidate":7,"both_wrong":4,"method":"none"}',
        '{"both_correct":9,"only_baseline":1,"only_candidate":7,"both_wrong":4,"level":2}',
        '{"both_correct":0,"only_baseline":0,"only_candidate":0,"both_wrong":0}',
        "[" * 5000,
        "1" * 5000,
    ):
        yield Case("/tests/{name}", {"name": "mcnemar"}, data={"request": text})
    for name, test in sorted(registry.latest().items()):
        yield Case("/tests/{name}", {"name": name}, data={"request": json.dumps(test.example)})
        yield Case("/tests/{name}", {"name": name}, data={"request": "{}"})
        yield Case("/tests/{name}", {"name": name}, data={"request": json.dumps(emptied(test.example))})
        yield Case(
            "/tests/{name}", {"name": name}, data={"request": json.dumps(dict.fromkeys(test.example, "x"))}
        )
    yield Case("/tests/{name}", {"name": "none"}, data={"request": "{}"})
    for table in (
        WIDE,
        "",
        "x",
        "item_id,a\n1,2\n",
        "item_id,a,b\n1,x,2\n",
        "item_id,a,b\n1,1,2\n1,3,4\n",
        "item_id,arm,value\n1,A,1\n1,B,0\n2,A,1\n",
    ):
        yield Case("/leaderboards", data={"table": table, "better": "higher"})
    yield Case("/leaderboards", data={"table": WIDE, "better": "x"})
    for data in (
        {"name": "n", "kind": "job", "scopes": "read", "ends": "tomorrow"},
        {"name": "n", "kind": "job", "scopes": "read", "ends": "2020-01-01"},
        {"name": "", "kind": "job", "scopes": "read"},
        {"name": "长" * 300, "kind": "job", "scopes": "read"},
        {"name": "n", "kind": "x", "scopes": "read"},
        {"name": "n", "kind": "job"},
        {"name": "n", "kind": "job", "scopes": "x"},
        {"name": "n", "kind": "job", "scopes": "operator"},
        {"name": "新密钥", "kind": "job", "scopes": "read", "ends": "2090-01-01"},
    ):
        yield Case("/keys", data=data)
    for key in ("none", "a.b", "key"):
        yield Case("/keys/{key_id}/revoke", {"key_id": key}, data={})
        yield Case(
            "/keys/{key_id}/revoke", {"key_id": key}, data={}, headers={"Sec-Fetch-Site": "cross-site"}
        )
    for job in ("none", "a.b", "job", "waiting_job", "failed_job"):
        yield Case("/jobs/{job_id}/cancel", {"job_id": job}, data={})
    for id in (*STATES, *NONE):
        for data in (
            {"population": "p", "items": ""},
            {"population": "p", "items": "a"},
            {"population": "p", "items": "a\na"},
            {"population": "none", "items": "a\nb"},
            {"population": "p", "items": "item_id,cluster\na,\n"},
            {"population": "p", "items": "item_id,x\na,b\n"},
            {"population": "p", "items": "\n".join(f"i{n}" for n in range(12))},
            {"items": "a"},
            {"population": "p", "items": 'item_id\n"a'},
        ):
            yield record("/items", id, data=data)
        for data in ({}, {"etag": '"x"'}, {"etag": "*"}, {"etag": "*", "acknowledge": "NOSUCH"}):
            yield record("/lock", id, data=data)
    yield Case("/login/provider/project", data={"project": "x"})
    yield Case("/logout", data={}, headers={"Sec-Fetch-Site": "cross-site"})
    yield Case("/logout", data={})


def emptied(value: Any) -> Any:
    """The example with nothing in its columns."""
    return {key: [] if isinstance(one, list) else one for key, one in value.items()}


def ask(house: House, method: str, case: Case) -> Any:
    """The answer to a case."""
    ids = {name: house.ids.get(word, word) for name, word in case.ids.items()}
    query = {name: house.ids.get(word, word) for name, word in case.query.items()} | {"lang": "zh"}
    client = house.stranger if case.abroad else house.visitor
    headers = {"Accept": "text/html"} | case.headers
    more = {"content": case.body} if case.body is not None else {"data": case.data, "files": case.files}
    return client.request(
        method, case.path.format(**ids), params=query, headers=headers, **(more if method == "POST" else {})
    )


def every_route() -> set[tuple[str, str]]:
    """Method and path of every route of the pages."""
    return {
        (method, route.path)
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in route.methods
    }


def test_every_route_of_the_pages_is_asked() -> None:
    asked = {("GET", case.path) for case in reads()} | {("POST", case.path) for case in writes()}
    assert sorted(every_route() - asked) == []
    assert sorted(asked - every_route()) == []


def runs_of(house: House, method: str, cases: Iterator[Case]) -> dict[str, str]:
    """Every English run of the pages, with the first request that shows it."""
    seen: dict[str, str] = {}
    for case in cases:
        answer = ask(house, method, case)
        assert answer.status_code < 500, (case, answer.text)
        if "text/html" in answer.headers.get("content-type", ""):
            assert say("shapes.must_be_described", "zh") not in answer.text, (
                case,
                "a refusal that is not read back",
            )
            for run in english_runs(answer.text, NAMES):
                seen.setdefault(run, f"{answer.status_code} {method} {case}")
    return seen


@pytest.mark.parametrize(("method", "cases"), [("GET", reads), ("POST", writes)])
def test_no_page_has_an_english_sentence_in_chinese(
    service: Service,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    cases: Callable[[], Iterator[Case]],
) -> None:
    monkeypatch.setattr("service.web.calculations.answers.WAIT_SECONDS", 0.0)
    assert runs_of(build_house(service), method, cases()) == {}


@pytest.mark.parametrize(
    ("html", "runs"),
    [
        ("<p>这是 three English words。</p>", ["three English words"]),
        ("<p>这是 <code>three English words</code>。</p>", []),
        ('<p aria-label="said to a listener">中文</p>', ["said to a listener"]),
        ('<div aria-hidden="true"><svg aria-label="said to nobody at all"><text>中文</text></svg></div>', []),
        ("<p>A, B, accuracy</p>", []),
        ('<p lang="en">中文 Two words</p>', ["en: 中文 Two words"]),
        ('<ul class="sources" lang="en"><li>On the Sampling Error</li></ul>', []),
    ],
)
def test_a_sentence_in_english_is_seen(html: str, runs: list[str]) -> None:
    assert english_runs(html, NAMES) == runs


def test_no_blank_stands_behind_a_full_width_colon() -> None:
    """The gap behind a label is a text of the language: a blank in English, nothing in Chinese."""
    ending = {code for code, text in templates("zh", "pages").items() if text.source.endswith("：")}
    pattern = re.compile(r'\{\{ say\("pages\.(\w+)"[^}]*\) \}\} [<{]')
    for path in (Path(web.__file__).parent / "templates").glob("*.html"):
        wide = [code for code in pattern.findall(path.read_text("utf-8")) if code in ending]
        assert wide == [], path.name
