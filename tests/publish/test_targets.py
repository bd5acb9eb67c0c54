"""Web addresses that people give: what is taken, before anything is called."""

from __future__ import annotations

import pytest

from service.publish.addresses import read_allowed
from service.publish.targets import UnusableAddress, require_link, require_target


@pytest.mark.parametrize(
    ("url", "fix"),
    [
        ("http://example.org/x", "use https"),
        ("https://10.0.0.1/x", "FORELOCK_OUTGOING_ALLOW"),
        ("https://[::1]/x", "FORELOCK_OUTGOING_ALLOW"),
        ("https://[::ffff:127.0.0.1]/x", "FORELOCK_OUTGOING_ALLOW"),
        ("https://user:pw@example.org/", "leave them out"),
        ("https://example.org/x#y", "what follows #"),
        ("ftp://example.org/", "https://HOST/PATH"),
        ("https:///x", "https://HOST/PATH"),
        ("https://[::1/", "https://HOST/PATH"),
        ("https://example.org:99999/", "https://HOST/PATH"),
        ("https://example.org/a b", "escape"),
        ("https://example.org/\n", "escape"),
        ("https://exämple.org/", "escape"),
        ("https://example.org/" + "a" * 2000, "https://HOST/PATH"),
    ],
)
def test_what_is_not_called(url: str, fix: str) -> None:
    with pytest.raises(UnusableAddress) as caught:
        require_target(url, read_allowed("hooks.internal, 10.1.0.0/16"))
    assert fix in caught.value.fix


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org",
        "https://example.org:8443/a?b=c",
        "http://hooks.internal:8080/x",
        "http://10.1.2.3/x",
        "https://10.1.2.3/x",
    ],
)
def test_what_is_called(url: str) -> None:
    assert require_target(url, read_allowed("hooks.internal, 10.1.0.0/16")) == url


def test_a_port_of_the_list_is_that_port_alone() -> None:
    allowed = read_allowed("hooks.internal:8080")
    assert require_target("http://hooks.internal:8080/", allowed)
    with pytest.raises(UnusableAddress):
        require_target("http://hooks.internal:8081/", allowed)


@pytest.mark.parametrize(
    "url", ["http://wandb.ai/x", "javascript:alert(1)", "https://a@b/", "data:text/html,x"]
)
def test_what_no_page_links_to(url: str) -> None:
    with pytest.raises(UnusableAddress):
        require_link(url)


def test_what_a_page_links_to() -> None:
    assert require_link("https://wandb.ai/a/b#c") == "https://wandb.ai/a/b#c"
