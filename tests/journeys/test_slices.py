"""Slices and shared signs over HTTP: lint, verdict, words, report and bundle; blind until then."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from forelock.bundles.verifying import Opened, Recomputed, exit_status, verify
from forelock.cli import main
from service.offline.recomputing import recompute
from tests.journeys.sliced import RECORDS, N, post, sliced

from .conftest import Service
from .plans import draft, idempotent, items, lock

pytestmark = pytest.mark.any_database

STRATA = ["code"] * 150 + ["math"] * 148 + ["odd"] * 2


def test_from_lint_to_the_bundle(service: Service, tmp_path: Path) -> None:
    plan = sliced()
    prereg_id = draft(service.client, plan, {"p": {"item_ids": items(N), "strata": STRATA}})
    found = service.client.post(f"{RECORDS}/{prereg_id}/lint").json()["findings"]
    (never,) = [each for each in found if each["severity"] == "error"]
    assert (never["code"], never["path"]) == ("SLICE_NEVER_PASSES", "slices")
    assert "slice 'odd' (2)" in never["message"]
    assert lock(service.client, prereg_id).json()["code"] == "lint_failed"
    body = {"item_ids": items(N), "strata": ["code"] * 150 + ["math"] * 150}
    service.client.put(f"{RECORDS}/{prereg_id}/populations/p/items", json=body)
    answer = lock(service.client, prereg_id)
    assert answer.status_code == 200, answer.text
    for endpoint, wins in (("accuracy", range(0, 300, 10)), ("format", range(0, 300, 12))):
        candidate = [int(k in wins or (k >= 290 and endpoint == "format")) for k in range(N)]
        baseline = [int(k % 60 == 1) for k in range(N)]
        for arm, values in (("A", baseline), ("B", candidate)):
            told = service.client.get(f"{RECORDS}/{prereg_id}/verdict")
            assert (told.status_code, told.json()["code"]) == (409, "blinded")
            for path in ("", "/progress"):
                text = service.client.get(f"{RECORDS}/{prereg_id}{path}").text
                assert "cannot_tell" not in text
                assert "reversal" not in text
            answer = post(service, prereg_id, arm, endpoint, values)
            assert answer.status_code == 201, answer.text
    assert service.run_jobs() == 1
    verdict = service.client.get(f"{RECORDS}/{prereg_id}/verdict").json()
    assert verdict["multiplicity"] == "max_t over 2 hypotheses, by one random sign per item or cluster"
    for each in verdict["hypotheses"]:
        family, slices = each["family"], each["slices"]
        assert family["p_value"] <= family["adjusted"] <= family["holm"] * (1 + 1e-9)
        assert family["joint"]["reason"] is None
        assert [one["slice"] for one in slices["slices"]] == ["code", "math"]
        assert slices["outcome"] == "pass"
        assert (slices["reversal"]["p_value"], slices["reversal"]["shown"]) == (1.0, False)
        assert "pass, all 2 are shown to lose less" in each["sentence"]
    words = service.client.get(f"{RECORDS}/{prereg_id}/verdict/sentences").json()["hypotheses"][0][
        "sentences"
    ]
    assert words["en"] == verdict["hypotheses"][0]["sentence"]
    assert "通过，2 个切片均表明损失小于该界值" in words["zh"]
    report = service.client.get(f"{RECORDS}/{prereg_id}/report.md").text
    assert "No slice is to lose 5.00 pp or more" in report
    assert "| math | 150 |" in report
    page = service.client.get(f"{RECORDS}/{prereg_id}/report.html", params={"lang": "zh"}).text
    assert '<td>math</td><td class="number">150</td>' in page
    visitor = TestClient(service.app, base_url="https://testserver")
    assert visitor.post("/login", data={"key": service.key()}, follow_redirects=False).status_code == 303
    for language, told in (("en", ("pass", "between slices")), ("zh", ("通过", "优劣随切片反转"))):
        shown = visitor.get(f"/preregistrations/{prereg_id}", params={"lang": language}).text
        table = shown.partition('<table class="slices">')[2]
        row = f'<th scope="row">math</th><td><span class="truth holds">{told[0]}</span></td><td class="number">150</td>'
        assert row in re.sub(
            r"<td class=\"drawn\"><svg.*?</svg>\s*</td>", "", table.partition("</table>")[0], flags=re.DOTALL
        )
        assert told[1] in table.partition("</table>")[2][:300]
    bundle = service.client.get(f"{RECORDS}/{prereg_id}/bundle").content
    checked = verify(io.BytesIO(bundle), recompute=recompute)
    assert exit_status(checked) == 0, checked
    assert offline(tmp_path, bundle) == 0
    for path in (("slices", "slices", 1, "p_value"), ("slices", "reversal", "gains"), ("family", "adjusted")):
        checked = verify(io.BytesIO(bundle), recompute=partial(altered, at=path))
        (told,) = [each for each in checked.checks if each.name == "recomputed"]
        assert told.state == "fail", (path, told)
        assert path[-1] in told.sentence


def offline(folder: Path, bundle: bytes) -> int:
    """`forelock verify` of it, as the command ends."""
    (folder / "bundle.zip").write_bytes(bundle)
    return main(["verify", str(folder / "bundle.zip")])


def altered(opened: Opened, at: tuple[str | int, ...]) -> Recomputed:
    """Judged again beside a verdict that has another number there."""
    verdict = json.loads(opened.verdict)
    place = verdict["hypotheses"][0]
    for step in at[:-1]:
        place = place[step]
    place[at[-1]] += 0.001
    return recompute(replace(opened, verdict=json.dumps(verdict).encode()))


def test_a_draft_without_strata_is_told_so(service: Service) -> None:
    prereg_id = draft(service.client, sliced())
    found = service.client.post(f"{RECORDS}/{prereg_id}/lint").json()["findings"]
    assert [each["code"] for each in found if each["severity"] == "error"] == ["SLICES"]


def test_an_amendment_may_ask_about_slices(service: Service) -> None:
    strata = ["code"] * 150 + ["math"] * 150
    prereg_id = draft(service.client, sliced(slices=None), {"p": {"item_ids": items(N), "strata": strata}})
    assert lock(service.client, prereg_id).status_code == 200
    path = f"{RECORDS}/{prereg_id}"
    answer = service.client.post(
        f"{path}/amendments",
        json={"reason": "asked for", "changes": {"slices": sliced()["slices"]}, "acknowledge": "all"},
        headers=idempotent(**{"If-Match": service.client.get(path).headers["ETag"]}),
    )
    assert answer.status_code in (200, 201), answer.text
    assert service.client.get(path).json()["plan"]["slices"]["alpha"] == 0.05


def test_a_comparison_without_a_plan_tells_the_same_of_its_slices(service: Service) -> None:
    arm = {"item_ids": items(N), "slices": ["code"] * 150 + ["math"] * 150}
    baseline = arm | {"values": [int(k % 60 == 1) for k in range(N)]}
    candidate = arm | {"values": [int(k % 10 == 0) for k in range(N)]}
    margin = {"value": 5, "unit": "pp"}
    body = {"baseline": baseline, "candidate": candidate, "margin": margin, "alpha": 0.1}
    answer = service.client.post("/v1/compare", json=body)
    assert answer.status_code == 200, answer.text
    slices = answer.json()["slices"]
    assert (slices["outcome"], slices["none_worse"]) == ("pass", True)
    assert [each["standing"] for each in slices["results"]] == ["pass", "pass"]
    assert slices["reversal"]["p_value"] == 1.0
