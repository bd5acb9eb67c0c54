"""Answers of two checkouts to the same requests: `python -m benchmarks.answers CHECKOUT` compares it with this one.

`python -m benchmarks.answers CHECKOUT example plan` compares these kinds alone; there are `document`, `example`,
`degenerate`, `oracle` and `plan`, in this order. What differs is printed when it is found, and how far it is every few
seconds. The tests behind `oracle` take minutes, and are stopped after some: what they asked until then is compared.

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
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx

from benchmarks import servers

HERE = Path(__file__).resolve().parent.parent
MOST_SHOWN = 20
"""Places of one answer."""
KINDS = ("document", "example", "degenerate", "oracle", "plan")
ORACLE_SECONDS = 240.0
"""The tests that compare with published numbers are stopped after so long."""
JUDGED_SECONDS = 120.0
"""The longest wait for a verdict: a record that is refused its lock would never have one."""
PROGRESS_SECONDS = 5.0
CAPTURE = """
import json, os, time
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

ends = time.monotonic() + float(os.environ["CAPTURE_SECONDS"])

def pytest_runtest_setup(item):
    if time.monotonic() > ends:
        item.session.shouldstop = "the time for capturing is over"

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
        settings = {"PYTHONPATH": paths, "CAPTURED": str(out), "CAPTURE_SECONDS": str(ORACLE_SECONDS)}
        tests = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "captured", "-p", "no:cacheprovider", *chosen],
            check=False, stdout=sys.stderr, cwd=HERE, env=os.environ | settings,
        )  # fmt: skip
        if tests.returncode not in (0, 2):  # 2: stopped by the clock
            raise RuntimeError("a test that compares with published numbers failed here")
        requests = [(name, body) for name, body in json.loads(out.read_text())]
        if not requests:
            raise RuntimeError("the tests that compare with published numbers asked for nothing")
        return requests


def computations(kinds: Collection[str]) -> Iterator[tuple[str, str, str]]:
    """Statistical requests of these kinds: where each is from, the test, the body."""
    from service.stats.shared.declaring import registry
    from tests.stats.cases import cases_of

    for name, test in registry.latest().items():
        if "example" in kinds:
            yield "example", name, json.dumps(test.example)
        if "degenerate" in kinds:
            yield from (("degenerate", name, json.dumps(body)) for body in cases_of(name).degenerate())
    if "oracle" in kinds:
        yield from (("oracle", name, body) for name, body in requests_of_oracles())


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
        _say(f"starting the service of {root}")
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

        answers: list[tuple[int, Any]] = []
        client, n = self.client, plan["populations"][0]["n"]
        created = client.post("/v1/preregistrations", json=dict(plan))
        path = f"/v1/preregistrations/{created.json()['id']}"
        answers.append(self.send("PUT", f"{path}/populations/p/items", json={"item_ids": items(n)}))
        answers.append(self.send("POST", f"{path}/lint"))
        etag = {"If-Match": client.get(path).headers["ETag"]}
        answers.append(
            self.send("POST", f"{path}/lock", json={"acknowledge": "all"}, headers=idempotent(**etag))
        )
        locked = client.get(path)
        answers.append((200, [locked.json()["plan_sha256"], _stored(locked.text)]))
        for arm, wrong in (("A", 5), ("B", 11)):
            columns = {"arm": arm, "endpoint": "accuracy", "item_ids": items(n)}
            values = {"values": [int(at % wrong > 1) for at in range(n)]}
            answers.append(self.send("POST", f"{path}/results", json=columns | values, headers=idempotent()))
        ends = time.monotonic() + JUDGED_SECONDS
        while client.get(path).json()["state"] not in ("judged", "collecting"):
            if time.monotonic() > ends:
                raise RuntimeError(f"{path} has no verdict; on its way it was answered {answers}")
            time.sleep(0.05)
        answers.extend(self.send("GET", path + part) for part in PARTS)
        return answers


def _stored(text: str) -> str:
    """The plan of a locked record as it is stored, to the byte: it stands in the answer as it is."""
    begin = text.index('"plan":') + len('"plan":')
    return text[begin : json.JSONDecoder().raw_decode(text, begin)[1]]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items() if not BY_NATURE.search(name)}
    return [_plain(element) for element in value] if isinstance(value, list) else value


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


def compare(other: Path, kinds: Collection[str] = KINDS) -> int:
    """Print how many answers of these kinds agree, and those that do not; how many differ."""
    same: dict[str, int] = {}
    n_differ, spoken = 0, time.monotonic()

    def note(kind: str, what: str, ours: Any, theirs: Any) -> None:
        nonlocal n_differ, spoken
        agrees = json.dumps(ours) == json.dumps(theirs)
        same[kind] = same.get(kind, 0) + agrees
        if not agrees:
            n_differ += 1
            places = itertools.islice(_differences(theirs, ours), MOST_SHOWN)
            print("\n  ".join([f"{kind}: {what}", *places]), flush=True)
        if time.monotonic() > spoken + PROGRESS_SECONDS:
            spoken = time.monotonic()
            _say(f"{sum(same.values()) + n_differ} compared, now {kind}: {what[:80]}")

    with contextlib.ExitStack() as stack:
        here, there = Checkout(stack, HERE), Checkout(stack, other)
        if "document" in kinds:
            document = [checkout.client.get("/openapi.json").text for checkout in (here, there)]
            note("document", "OpenAPI", *document)
        for kind, test, body in computations(kinds):
            note(kind, f"{test} {body[:200]}", here.computed(test, body), there.computed(test, body))
        for plan in plans() if "plan" in kinds else ():
            steps = zip(here.journey(plan), there.journey(plan), strict=True)
            for at, (ours, theirs) in enumerate(steps):
                note("plan", f"{plan.get('stopping')} step {at}", ours, theirs)
    for kind, count in same.items():
        print(f"{kind}: {count} the same")
    print(f"{n_differ} differ")
    return n_differ


def _say(sentence: str) -> None:
    """How far it is; not among the answers."""
    print(sentence, file=sys.stderr, flush=True)


def main(arguments: list[str]) -> int:
    """The status of the command: 0 when nothing differs, 2 for a kind that there is none of."""
    if not arguments or not set(arguments[1:]) <= set(KINDS):
        _say(f"name a checkout, then kinds of {', '.join(KINDS)}, or none for all of them")
        return 2
    return int(compare(Path(arguments[0]).resolve(), arguments[1:] or KINDS) > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
