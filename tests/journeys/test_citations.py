"""Citations of locks and verdicts: what they name is what the ledger and the record have."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from tests.journeys.conftest import Service
from tests.journeys.filings import N, judged
from tests.journeys.plans import draft, locked, small_plan
from tests.journeys.states import path, withdraw

pytestmark = pytest.mark.any_database

AUTHORS = [
    {"name": "Ada Lovelace", "orcid": "0000-0002-1825-0097", "affiliation": "Engines"},
    {"name": "张三"},
]
CFF_KEYS = {
    "abstract", "authors", "cff-version", "date-released", "identifiers", "message", "title", "type", "url",
    "version",
}  # fmt: skip
"""Of the Citation File Format 1.2.0."""


def cff(service: Service, prereg_id: str) -> dict[str, Any]:
    answer = service.client.get(path(prereg_id, "citation.cff"))
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/yaml")
    content: dict[str, Any] = yaml.safe_load(answer.content)
    assert set(content) <= CFF_KEYS
    assert content["cff-version"] == "1.2.0"
    return content


def test_a_verdict_is_cited_with_its_authors_hashes_and_checkpoint(service: Service) -> None:
    prereg_id = judged(service, authors=AUTHORS)
    content = cff(service, prereg_id)
    assert content["authors"] == [
        {"name": "Ada Lovelace", "orcid": "https://orcid.org/0000-0002-1825-0097"},
        {"name": "张三"},
    ]
    record = service.client.get(path(prereg_id)).json()
    receipt = service.client.get(path(prereg_id, "receipts")).json()["items"]
    verdict = next(one for one in receipt if one["kind"] == "verdict")
    values = [identifier["value"] for identifier in content["identifiers"]]
    assert values[0] == f"sha256:{record['plan_sha256']}"
    assert len(values) == 3
    origin, size, root = values[2].split(" ")
    note = service.client.get("/v1/ledger/checkpoint").text.split("\n")
    assert origin == note[0]
    assert verdict["sequence"] < int(size) <= int(note[1])
    assert re.fullmatch("[0-9a-f]{64}", root)
    assert f"leaf {verdict['sequence']}" in content["identifiers"][2]["description"]
    assert str(content["date-released"]) == record["judged_at"][:10]
    headline = service.client.get(path(prereg_id, "verdict/sentences")).json()["hypotheses"][0]["headline"][
        "en"
    ]
    assert headline in content["abstract"]
    bib = service.client.get(path(prereg_id, "citation.bib")).text
    assert bib.startswith("@misc{forelock-")
    assert "author = {{Ada Lovelace} and {张三}}," in bib
    assert record["plan_sha256"] in bib
    assert root in bib


def test_a_lock_is_cited_by_its_project_where_nobody_is_named_and_tells_no_outcome(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    content = cff(service, prereg_id)
    assert content["authors"] == [{"name": "default"}]
    assert "abstract" not in content
    assert len(content["identifiers"]) == 2
    assert withdraw(service, prereg_id).status_code < 300
    assert "withdrawn" in cff(service, prereg_id)["title"]


def test_a_draft_is_cited_by_nobody(service: Service) -> None:
    prereg_id = draft(service.client, small_plan(N))
    assert service.client.get(path(prereg_id, "citation.cff")).status_code == 409
    assert service.client.get(path(prereg_id, "citation.xml")).status_code == 404


def test_no_text_of_a_plan_leaves_its_field(service: Service) -> None:
    title = 'x}, url = {http://evil} # \\input{a} "q" 100%'
    prereg_id = locked(service.client, small_plan(N) | {"title": title})
    assert cff(service, prereg_id)["title"].startswith(title)
    bib = service.client.get(path(prereg_id, "citation.bib")).text
    depth = 0
    for line in bib.splitlines()[1:-1]:
        for letter in line:
            depth += {"{": 1, "}": -1}.get(letter, 0)
            assert depth >= 0, line  # BibTeX counts escaped braces too
        assert depth == 0, line
    names = [line.split(" = ")[0].strip() for line in bib.splitlines()[1:-1]]
    assert names == ["title", "author", "year", "month", "version", "note"]
