"""Forms are read in one pass, whatever somebody writes into them, and their cookies stay on TLS."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from service.api.parsing.multipart import MEDIA_TYPE, MOST_PARTS
from service.app import create_app
from service.config import Settings
from service.errors import InvalidData
from service.keyring.keyring import Keyring
from service.web.html.forms import _parse

KIND = f"{MEDIA_TYPE}; boundary=b"


def part(head: bytes, content: bytes = b"x") -> bytes:
    return b"--b\r\n" + head + b"\r\n\r\n" + content + b"\r\n"


def field(name: str, content: bytes = b"x", more: str = "") -> bytes:
    return part(f'Content-Disposition: form-data; name="{name}"{more}'.encode(), content)


def test_fields_and_files_are_told_apart():
    body = (
        field("a", b" 1\r\n2 ")
        + field("a", b"x--b")
        + field("b", b"\xef\xbb\xbfid\xff\r\n", '; filename="x;y.csv"\r\nContent-Type: text/csv')
        + field("c", b"", '; filename=""\r\nContent-Type: application/octet-stream')
        + b"--b--\r\n"
    )
    form = _parse(body, KIND)
    assert form.fields == {"a": [" 1\r\n2 ", "x--b"]}
    assert {name: [file.text for file in files] for name, files in form.files.items()} == {
        "b": ["id\ufffd\r\n"],
        "c": [""],
    }
    assert _parse(body, 'Multipart/Form-Data; Boundary="b"') == form


def test_what_looks_like_a_message_in_a_file_is_its_text():
    inner = b"Content-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\n\r\nx\r\n--c--"
    assert _parse(field("a", inner) + b"--b--", KIND).fields == {"a": [inner.decode()]}


NESTED = b"".join(
    b"--b%s\r\nContent-Type: multipart/mixed; boundary=b%d\r\n\r\n" % (b"%d" % i if i else b"", i + 1)
    for i in range(2000)
)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (part(b"Content-Disposition: " + b"(" * 1500) + b"--b--", KIND),
        (part(b"Content-Disposition: form-data" + b'; a="b"' * 2000) + b"--b--", KIND),
        (NESTED, KIND),
        (field("a") * (MOST_PARTS + 1) + b"--b--", KIND),
        (field("a"), KIND),
        (part(b"Content-Type: text/plain") + b"--b--", KIND),
        (b"", KIND),
        (field("a") + b"--b--", MEDIA_TYPE),
        (field("a") + b"--b--", f"{MEDIA_TYPE}; boundary*0=u tf-8''b"),
        (field("a") + b"--b--", f"{MEDIA_TYPE}; boundary="),
    ],
    ids=[
        "comments",
        "parameters",
        "nested",
        "many",
        "cut",
        "nameless",
        "empty",
        "bare",
        "odd",
        "no boundary",
    ],
)
def test_what_no_browser_sends_is_refused(body, kind):
    with pytest.raises(InvalidData):
        _parse(body, kind)


def test_a_stranger_who_signs_in_with_rubbish_is_refused(browser):
    body = part(b"Content-Disposition: " + b"(" * 1500) + b"--b--"
    assert browser.post("/login", content=body, headers={"Content-Type": KIND}).status_code == 422


def test_cookies_stay_on_tls_where_people_reach_the_service_by_it(database, new_key, tmp_path):
    settings = Settings(data_dir=tmp_path, key_cache_seconds=0, public_url="https://forelock.example.org")
    app = create_app(settings, database, Keyring.create(tmp_path / "keys"))
    _key, secret = new_key("read")
    behind = TestClient(app, follow_redirects=False)
    assert "Secure" in behind.post("/login?lang=en", data={"key": secret}).headers["set-cookie"]
    assert "Secure" in behind.get("/login?lang=zh").headers["set-cookie"]
