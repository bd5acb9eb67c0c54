from __future__ import annotations

import re
from pathlib import Path

import pytest

import service.web

STATIC = Path(service.web.__file__).parent / "static"


@pytest.fixture
def database_url(sqlite_url):
    return sqlite_url


def test_the_page_loads_nothing_from_elsewhere(anonymous):
    page = anonymous.get("/docs")
    assert page.status_code == 200
    policy = page.headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    links = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert links
    for link in links:
        assert link.startswith("/")
        assert anonymous.get(link).status_code == 200


def test_the_bundled_assets_are_small_and_carry_their_licence():
    assets = STATIC / "swagger-ui"
    assert sum(file.stat().st_size for file in assets.iterdir()) < 3_000_000
    assert "Apache License" in (assets / "LICENSE").read_text()


def test_static_files_are_revalidated_and_stay_inside_their_folder(anonymous):
    first = anonymous.get("/static/docs.js")
    assert first.headers["cache-control"] == "private, no-cache"
    assert (
        anonymous.get("/static/docs.js", headers={"If-None-Match": first.headers["etag"]}).status_code == 304
    )
    assert anonymous.get("/static/%2e%2e/pages.py").status_code == 404
    assert anonymous.get("/static/../pages.py").status_code == 404
