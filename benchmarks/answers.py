"""Answers of two checkouts to the same requests: `python -m benchmarks.answers CHECKOUT` compares it with this one.

Both are served side by side. What is compared: the OpenAPI document; the example of every statistical test; every
degenerate body that one declares; every request that the oracle tests make; and what plans leave on their way from the
draft to the verdict, with the text that is stored of them. Ids, times and what is drawn from chance differ by nature.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx

from benchmarks import servers

HERE = Path(__file__).resolve().parent.parent
MOST_SHOWN = 20
"""Places of one answer."""
CAPTURE = """
import json, os
try:
    from service.stats.shared.declaring import registry
    from service.stats.shared.declaring.common import Request
except ImportError:  # a checkout from before what tests share had rooms
    from service.stats.shared import registry
    from service.stats.shared.common import Request

names, seen = {test.request: test.name for test in registry.latest().values()}, set()
made, read = Request.__init__, Request.model_validate_json.__func__

def note(given):
    if type(given) in names:
        seen.add((names[type(given)], json.dumps(given.model_dump(mode="json", exclude_unset=True), sort_keys=True)))
    return given

def __init__(self, /, **given):
    made(self, **given)
    note(self)

Request.__init__ = __init__
Request.model_validate_json = classmethod(lambda cls, body, **options: note(read(cls, body, **options)))

def pytest_sessionfinish():
    with open(os.environ["CAPTURED"], "w") as file:
        json.dump(sorted(seen), file)
"""
"""A plugin of pytest: the requests that tests make, as JSON."""
BY_NATURE = re.compile(
    r"(^|_)id$|_at$|^(key|prefix|secret|request_id|leaf|leaf_sha256|commitment_sha256|verdict_sha256|sequence|receipt)$"
)
"""Members that differ from one run to the next."""
PARTS = (
    "",
    "/verdict",
    "/results",
    "/batches",
    "/progress",
    "/evidence",
    "/deviations",
    "/multiverse",
    "/looks",
)
"""Of a judged record."""


def requests_of_oracles() -> list[tuple[str, str]]:
    """What the tests that compare with published numbers ask, by test."""
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "captured.py").write_text(CAPTURE)
        out = Path(directory) / "requests.json"
        chosen = ["-m", "not slow", "-k", "oracle or against", "tests/stats"]
        paths = os.pathsep.join([directory, str(HERE)])
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "captured", "-p", "no:cacheprovider", *chosen],
            check=True, capture_output=True, cwd=HERE, env=os.environ | {"PYTHONPATH": paths, "CAPTURED": str(out)},
        )  # fmt: skip
        requests = [(name, body) for name, body in json.loads(out.read_text())]
        if not requests:
            raise RuntimeError("the tests that compare with published numbers asked for nothing")
        return requests


def computations() -> Iterator[tuple[str, str, str]]:
    """Statistical requests: where each is from, the test, the body."""
    from service.stats.shared.declaring import registry
    from tests.stats.cases import cases_of

    for name, test in registry.latest().items():
        yield "example", name, json.dumps(test.example)
        for body in cases_of(name).degenerate():
            yield "degenerate", name, json.dumps(body)
    for name, body in requests_of_oracles():
        yield "oracle", name, body


def plans() -> Iterator[dict[str, Any]]:
    """Plans of the kinds that verdicts know: by tests, by looks, at any time."""
    from tests.journeys.plans import small_plan
    from tests.journeys.test_looks import plan as sequential

    yield small_plan(30)
    yield small_plan(30, missing="exclude_pair")
    yield sequential("group_sequential")
    yield sequential("anytime_valid")


class Checkout:
    """A checkout that is served."""

    def __init__(self, stack: contextlib.ExitStack, root: Path) -> None:
        before = Path.cwd(), os.environ.get("PYTHONPATH")
        os.chdir(root)
        os.environ["PYTHONPATH"] = os.pathsep.join([str(root), str(root / "client")])
        try:
            self.served = stack.enter_context(servers.service())
        finally:
            os.chdir(before[0])
            os.environ["PYTHONPATH"] = before[1] or ""
        self.client: httpx.Client = stack.enter_context(self.served.client())

    def send(self, method: str, path: str, **sent: Any) -> tuple[int, Any]:
        """Status and body of an answer; JSON without what differs by nature."""
        answer = self.client.request(method, path, **sent)
        with contextlib.suppress(ValueError):
            return answer.status_code, _plain(answer.json())
        return answer.status_code, answer.text

    def computed(self, test: str, body: str) -> tuple[int, Any]:
        """The answer to a statistical request; that of its job where it takes one."""
        headers = {"Content-Type": "application/json", "Prefer": "wait=60"}
        return self.send("POST", f"/v1/tests/{test}", content=body, headers=headers)

    def journey(self, plan: Mapping[str, Any]) -> list[tuple[int, Any]]:
        """Every answer on the way of a plan to its verdict."""
        from tests.journeys.plans import idempotent, items

        said: list[tuple[int, Any]] = []
        client, n = self.client, plan["populations"][0]["n"]
        created = client.post("/v1/preregistrations", json=dict(plan))
        path = f"/v1/preregistrations/{created.json()['id']}"
        said.append(self.send("PUT", f"{path}/populations/p/items", json={"item_ids": items(n)}))
        said.append(self.send("POST", f"{path}/lint"))
        etag = {"If-Match": client.get(path).headers["ETag"]}
        said.append(
            self.send("POST", f"{path}/lock", json={"acknowledge": "all"}, headers=idempotent(**etag))
        )
        locked = client.get(path)
        said.append((200, [locked.json()["plan_sha256"], _stored(locked.text)]))
        for arm, wrong in (("A", 5), ("B", 11)):
            columns = {"arm": arm, "endpoint": "accuracy", "item_ids": items(n)}
            values = {"values": [int(at % wrong > 1) for at in range(n)]}
            said.append(self.send("POST", f"{path}/results", json=columns | values, headers=idempotent()))
        while client.get(path).json()["state"] not in ("judged", "collecting"):
            time.sleep(0.05)
        said.extend(self.send("GET", path + part) for part in PARTS)
        return said


def _stored(text: str) -> str:
    """The plan of a locked record as it is stored, to the byte: it stands in the answer as it is."""
    begin = text.index('"plan":') + len('"plan":')
    return text[begin : json.JSONDecoder().raw_decode(text, begin)[1]]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items() if not BY_NATURE.search(name)}
    return [_plain(each) for each in value] if isinstance(value, list) else value


def _differences(theirs: Any, ours: Any, path: str = "") -> Iterator[str]:
    """Where two answers part: the path, what the other says, what this one says."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for name in dict.fromkeys([*theirs, *ours]):
            yield from _differences(theirs.get(name, "(none)"), ours.get(name, "(none)"), f"{path}.{name}")
    elif isinstance(theirs, list | tuple) and isinstance(ours, list | tuple) and len(theirs) == len(ours):
        for at, (their, our) in enumerate(zip(theirs, ours, strict=True)):
            yield from _differences(their, our, f"{path}[{at}]")
    elif json.dumps(theirs) != json.dumps(ours):
        yield f"{path}: {json.dumps(theirs)[:600]} -> {json.dumps(ours)[:600]}"


def compare(other: Path) -> int:
    """Print how many answers agree, and those that do not; how many differ."""
    same: dict[str, int] = {}
    differ: list[str] = []

    def note(kind: str, what: str, ours: Any, theirs: Any) -> None:
        agrees = json.dumps(ours) == json.dumps(theirs)
        same[kind] = same.get(kind, 0) + agrees
        if not agrees:
            differ.append(
                "\n  ".join([f"{kind}: {what}", *itertools.islice(_differences(theirs, ours), MOST_SHOWN)])
            )

    with contextlib.ExitStack() as stack:
        here, there = Checkout(stack, HERE), Checkout(stack, other)
        document = [each.client.get("/openapi.json").text for each in (here, there)]
        note("OpenAPI", "the document", *document)
        for kind, test, body in computations():
            note(kind, f"{test} {body[:200]}", here.computed(test, body), there.computed(test, body))
        for plan in plans():
            steps = zip(here.journey(plan), there.journey(plan), strict=True)
            for at, (ours, theirs) in enumerate(steps):
                note("plan", f"{plan.get('stopping')} step {at}", ours, theirs)
    for kind, count in same.items():
        print(f"{kind}: {count} the same")
    print(*differ, sep="\n")
    print(f"{len(differ)} differ")
    return len(differ)


if __name__ == "__main__":
    sys.exit(compare(Path(sys.argv[1]).resolve()) > 0)
