"""The page of a judged record's items: what changed, how it lies, a filter and a search; refused before the verdict."""

from __future__ import annotations

from tests.journeys.filings import BASELINE, CANDIDATE, N, judged
from tests.web.outline import page

from .conftest import Service, only_sqlite
from .plans import items, locked, post, small_plan

pytestmark = only_sqlite  # pages read through the store, which is tested on both databases


def signed_in(service: Service, key: str) -> None:
    assert service.client.post("/login", data={"key": key}, follow_redirects=False).status_code == 303


def test_items_are_listed_filtered_and_searched_once_judged(service: Service) -> None:
    prereg_id = judged(service)
    signed_in(service, service.key("read"))
    pairs = list(zip(items(N), BASELINE, CANDIDATE, strict=True))
    lost = [name for name, before, after in pairs if before > after]
    gained = [name for name, before, after in pairs if before < after]
    path = f"/preregistrations/{prereg_id}/items"
    outline = page(service.client, path)
    same = N - len(lost) - len(gained)
    assert f"lost {len(lost)} items, gained {len(gained)}, and is the same on {same}" in outline.text
    assert f"{N} items" in outline.text
    only = page(service.client, f"{path}?kind=gained").text
    assert f"{len(gained)} items" in only
    assert all(name in only for name in gained)
    found = page(service.client, f"{path}?q={gained[0]}&kind=gained").text
    assert gained[0] in found
    assert f"候选组有 {len(lost)} 个题目变差" in service.client.get(f"{path}?lang=zh").text
    assert page(service.client, f"{path}?kind=odd", 422)
    assert page(service.client, f"{path}?hypothesis=H9", 422)
    record = service.client.get(f"/preregistrations/{prereg_id}?lang=en").text
    assert f'href="{path}?hypothesis=' in record


def test_before_the_verdict_and_to_others_there_is_nothing(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    assert post(service.client, prereg_id, "A", items(N), BASELINE).status_code == 201
    path = f"/preregistrations/{prereg_id}/items"
    signed_in(service, service.key("read"))
    for query in ("", "?kind=lost", "?q=i1", "?kind=odd", "?hypothesis=H9"):
        assert service.client.get(path + query).status_code == 409
    theirs = service.key(project_id=service.project("other"))
    signed_in(service, theirs)
    assert service.client.get(path).status_code == 404


def test_a_card_shows_the_mean_of_either_arm(service: Service) -> None:
    prereg_id = judged(service)
    signed_in(service, service.key("read"))
    assert f"A 33.33% → B 60.00% {N} items" in page(service.client, f"/preregistrations/{prereg_id}").text
