"""A verdict page that is visited."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.api.conftest import on_a_socket
from tests.browser.screens import DESK
from tests.journeys.conftest import Service
from tests.journeys.fewer_items import FEWER
from tests.journeys.filings import file, judged


@pytest.fixture
def visit(request: Any, chromium: Any, service: Service) -> Iterator[Callable[..., Any]]:
    """Open the page of a judged record with a deviation, signed in."""
    prereg_id, contexts = getattr(request, "param", judged)(service), []
    assert file(service, prereg_id, FEWER).status_code == 201
    with on_a_socket(service.app) as address:

        def open_page(**shape: Any) -> Any:
            context = chromium.new_context(**{**DESK, **shape})
            contexts.append(context)
            page = context.new_page()
            page.goto(f"{address}/preregistrations/{prereg_id}")
            page.get_by_label("API key").fill(service.key("read"))
            page.get_by_role("button", name="Sign in").click()
            page.wait_for_url(f"**/preregistrations/{prereg_id}")
            return page

        yield open_page
        for context in contexts:
            context.close()
