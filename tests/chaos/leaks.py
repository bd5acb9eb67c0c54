"""`python -m tests.chaos.leaks [--calls N] [--seed S] [--bucket]`: worlds that differ in outcomes alone answer alike.

Records are locked once, and the database is copied twice. The same calls then go to all three, to every operation of
the OpenAPI document and to what is read without a key, with the outcomes of the first in the second too and others in
the third; embargoes end meanwhile, and no record reaches its planned n. The answers of the first and the third must be
the same bytes and headers. Ids, hashes and salts are drawn, so they are compared by where they appear; and a hash that
is the same in the first two and another in the third would follow from outcomes without a salt: whoever guesses them
could compute it.
"""

from __future__ import annotations

import argparse
import copy
import io
import json
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import uuid
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from service.actions.projects import embargoes
from service.api.examples.deviations import FILING
from service.api.http.serving import housekeeping
from service.app import create_app
from service.config import Settings
from service.domain.access import SCOPES
from service.domain.plans.embargo import end_of
from service.jobs.runner import Runner
from service.keyring.keyring import Keyring
from service.processes.wake import Alarm
from service.store.database import schema
from service.store.database.engine import Database
from tests.api.conftest import add_key, add_project, bearer
from tests.chaos import hostile
from tests.chaos.blind_plans import DAY, N, blind_plans
from tests.chaos.buckets import Bucket, bucket, keep_one
from tests.chaos.differences import Difference, Found
from tests.chaos.ending import ENOUGH, end_on, told
from tests.every_route import OPERATIONS, PICTURES, Operation, content
from tests.journeys import plans
from tests.journeys.plans import items, small_plan
from tests.pools import InlinePool
from tests.postgres import Postgres

DATABASES = ("SQLite", "Postgres")
RESERVED = 4
"""Items at the end of every record's that never come in: it stays incomplete."""
DRAWN = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(?P<part>\d+))?(?:Z|\+00:00)"
    r"|(?P<secret>flk_\w+)|(?P<hex>\b[0-9a-f]{32,64}\b|(?<=\.)[0-9a-f]{16}(?=\"))|(?P<b64>[A-Za-z0-9+/_-]{40,}={0,2})"
)
TIMED = re.compile(r"^(?:forelock_http_request_seconds|\w+_created).*$", re.MULTILINE)
NOT_COMPARED = ("x-request-id", "date", "content-length")
"""The last one is compared with the body it stands in front of."""
PUBLIC = [
    Operation(f"public{part}", "GET", f"/public/{{prereg_id}}{part}", {})
    for part in ("", "/verdict.json", "/receipt.json", "/charts/power.json", "/charts/forest.svg")
]
"""What is read without a key: of a record under an embargo nothing, until its day."""
THE_DAY = Operation("endEmbargoes", "", "", {})
"""No call: the day comes on which embargoes end."""
CALLS = [*OPERATIONS, *PUBLIC, THE_DAY]
OF_ONE_RECORD = 6
"""How much more often an operation on a record is called than any other."""


class World:
    """One of the three: a service on its database, and what was drawn in it so far."""

    def __init__(
        self, directory: Path, url: str, headers: dict[str, str], outcomes: int, artefacts: str = "directory"
    ) -> None:
        settings = Settings(data_dir=directory, database_url=url, key_cache_seconds=0, artefacts=artefacts)
        self.outcomes = outcomes
        self.database = Database(url)
        self.app = create_app(settings, self.database, Keyring.load(directory / "keys"))
        self.runner = Runner(
            database=Database(url),
            keyring=Keyring.load(directory / "keys", private=True),
            pool=InlinePool(),
            alarm=Alarm(directory / f"{uuid.uuid4().hex[:8]}.sock"),
            settings=settings,
        )
        self.client = TestClient(self.app, headers=headers, raise_server_exceptions=False)
        self.records: list[str] = []
        self.drafts: list[str] = []
        self.jobs: list[str] = []
        self.keys: list[str] = []
        self._places: dict[str, str] = {}

    def value(self, record: str, arm: str, item: str, kind: str) -> int:
        """An outcome. Where looks are taken, two neighbours in the order balance, so that every look says continue."""
        return random.Random(f"{self.outcomes} {record} {arm} {item} {kind}").randint(0, 1)

    def masked(self, text: str) -> str:
        """What was drawn stands as the place where it came up first."""
        return DRAWN.sub(self._mask, TIMED.sub("", text))

    def drawn(self, text: str) -> list[str]:
        """Hashes and the like in the order they stand."""
        return [found[0] for found in DRAWN.finditer(text) if found["hex"]]

    def _mask(self, found: re.Match[str]) -> str:
        if found["secret"] or found["hex"] or found["b64"]:
            kind = "secret" if found["secret"] else "hex" if found["hex"] else "b64"
            place = self._places.setdefault(found[0], f"<{kind}{len(found[0])} {len(self._places)}>")
            return place if kind != "b64" else f"<b64 {len(self._places)}>"
        return "<time>" if found["part"] else "<second>"

    def work(self) -> None:
        """The runner, until nothing waits."""
        while self.runner.step():
            pass

    def close(self) -> None:
        """Let the database go."""
        self.runner.close()
        self.database.dispose()


@dataclass(frozen=True)
class Locked:
    """A record as all three have it."""

    id: str
    order: tuple[str, ...]
    missing: str
    looks: bool
    runs: Mapping[str, int] = field(default_factory=lambda: {"accuracy": 1})
    """Of every endpoint how many it has of an item."""
    populations: tuple[str, ...] = ("p",)


class Comparison:
    """Calls to three worlds."""

    def __init__(self, found: Found, worlds: Sequence[World], records: Sequence[Locked], seed: int) -> None:
        self._found, self._worlds, self._records = found, worlds, records
        self._rng = random.Random(seed)
        of_one = [each for each in CALLS if "prereg_id" in each.names]
        self._turns = CALLS + of_one * OF_ONE_RECORD

    def run(self, calls: int) -> None:
        """So many calls."""
        turns: list[Operation] = []
        for number in range(calls):
            if ENOUGH.is_set():
                return
            if number % 40 == 39:
                self.work()
            if not turns:
                turns = self._rng.sample(self._turns, len(self._turns))
            self.step(number, turns.pop(), self._rng.random())

    def work(self) -> None:
        """The runners, until nothing waits."""
        for world in self._worlds:
            world.work()

    def step(self, number: int, operation: Operation, seed: float) -> None:
        """One call."""
        if operation is THE_DAY:
            opened = {embargoes.open_due(world.database, now=end_of(DAY)) for world in self._worlds}
            assert len(opened) == 1
            self._found.operations[operation.id] += 1
            return
        if operation.id == "getJobEvents":  # a stream of one that waits would not end
            self.work()
        headers = operation.headers()
        answers = []
        for world in self._worlds:
            url, options = self._request(world, operation, random.Random(seed))
            given = headers | options.pop("headers", {})
            answer = world.client.request(operation.method, url, headers=given, **options)
            self._remember(world, operation, answer)
            answers.append((answer, url, options))
        self._compare(number, operation, answers)

    def _compare(self, number: int, operation: Operation, answers: list[Any]) -> None:
        found = self._found
        found.calls += 1
        found.operations[operation.id] += 1
        found.statuses[answers[0][0].status_code] += 1
        texts = [_whole(world, answer) for world, (answer, _, _) in zip(self._worlds, answers, strict=True)]
        sent = f"{answers[0][1]} {answers[0][2]}"
        if texts[0] != texts[2]:
            found.differences.append(Difference(number, operation.id, sent, texts[0], texts[2]))
        elif answers[0][0].status_code >= 500:
            found.differences.append(Difference(number, operation.id, sent, texts[0], "a 5xx"))
        hashes = [
            world.drawn(text_of(answer)) for world, (answer, _, _) in zip(self._worlds, answers, strict=True)
        ]
        for same, again, other in zip(*hashes, strict=False):
            if same == again != other:
                found.differences.append(Difference(number, operation.id, sent, f"unsalted {same}", other))

    def _remember(self, world: World, operation: Operation, answer: Any) -> None:
        if answer.status_code not in (200, 201, 202) or "json" not in answer.headers.get("content-type", ""):
            return
        body = answer.json()
        if operation.id == "createPreregistration":
            world.drafts.append(body["id"])
        elif operation.id in ("createKey", "createWebhook"):
            world.keys.append((body.get("key") or body["webhook"])["id"])
        elif answer.status_code == 202 and "id" in body:
            world.jobs.append(body["id"])

    def _request(self, world: World, operation: Operation, rng: random.Random) -> tuple[str, dict[str, Any]]:
        record = rng.choice(self._records)
        drafts = bool(world.drafts) and rng.random() < 0.2
        ids = {
            "prereg_id": rng.choice(world.drafts[-10:]) if drafts else record.id,
            "job_id": rng.choice(world.jobs[-20:] or ["none"]),
            "id": rng.choice(world.keys or ["none"]),
            "population": rng.choice(record.populations),
            "batch": str(rng.randint(1, 30)),
            "index": str(rng.randint(0, 30)),
            "number": str(rng.randint(1, 3)),
            "deviation": str(rng.randint(1, 6)),
            "version": str(rng.randint(1, 3)),
            "family_id": "none",
            "webhook_id": rng.choice(world.keys or ["none"]),
            "delivery_id": rng.choice(world.jobs[-20:] or ["none"]),
            "arm": rng.choice("BBA"),
            **dict.fromkeys(("run_id", "name"), f"one{rng.randint(1, 3)}"),
            **PICTURES,
        }
        options = self._body(world, operation, record, rng)
        params = {
            "limit": str(rng.choice((1, 2, 50))),
            "state": rng.choice(("draft", "locked", "collecting")),
            "lang": rng.choice(("en", "zh")),
            "since": "2026-01-01T00:00:00Z",
            "subject": ids["prereg_id"],
            "action": rng.choice(("results.post", "batch.void", "results.read.refused")),
            "outcome": "supported",
        }
        known = {name: params[name] for name in operation.query() if name in params and rng.random() < 0.5}
        if known:
            options["params"] = known
        if operation.id == "postResults" and rng.random() < 0.2:  # a retry, with other values as often as not
            options.setdefault("headers", {})["Idempotency-Key"] = f"again-{rng.randint(1, 4)}"
        if operation.id == "lockPreregistration" or rng.random() < 0.02:
            options.setdefault("headers", {})["If-Match"] = rng.choice(("*", '"0"'))
        return operation.url(ids), options

    def _body(self, world: World, operation: Operation, record: Locked, rng: random.Random) -> dict[str, Any]:
        media, body = rng.choice(operation.bodies())
        if not media:
            return {}
        broken = rng.random() < 0.2
        make: dict[str, Callable[[], Any]] = {
            "postResults": lambda: self._rows(world, record, rng, own=not broken),
            "checkResults": lambda: self._rows(world, record, rng, own=not broken),
            "fileDeviation": lambda: _filing(rng),
            "lintPreregistration": lambda: _pilot(world, rng),
            "createPreregistration": lambda: small_plan(N),
            "calibrate": lambda: {"runs": 1000, "seed": 1},
        }
        if media == "application/json" and operation.id in make and rng.random() < 0.9:
            body = make[operation.id]()
        if operation.id in ("voidBatch", "erase") and rng.random() < 0.7:
            body = {"reason": ""}  # refused: most batches stay, and most rows can be read one day
        if broken:
            if isinstance(body, str):
                return {"content": hostile.raw(rng, body), "headers": {"Content-Type": media}}
            altered = hostile.altered(rng, body)
            return {"content": json.dumps(altered), "headers": {"Content-Type": media}}
        return content(media, body)

    def _rows(self, world: World, record: Locked, rng: random.Random, *, own: bool) -> dict[str, Any]:
        """Columns of some items, new or repeated: the world's own outcomes, or guesses.

        What is wrong with a body may follow from what it holds: one that will be altered holds guesses.
        """
        arm, usable = rng.choice("AB"), record.order[: N - RESERVED]
        first = rng.randrange(len(usable))
        first -= first % 2 if record.looks else 0
        chosen = list(usable[first : first + rng.choice((2, 4, 8))])
        if rng.random() < 0.1:
            chosen.append(rng.choice(("unknown", *chosen)))
        if record.looks and not own:
            chosen = ["unknown"]  # guesses could bring a look to an end in one world alone
        endpoint = rng.choice(tuple(record.runs))
        run = rng.randint(1, record.runs[endpoint])
        columns: dict[str, Any] = {
            "arm": arm,
            "endpoint": endpoint,
            "population": rng.choice(record.populations),
            "item_ids": chosen,
        }
        if run > 1:
            columns["replicates"] = [run] * len(chosen)
        guess = rng.choice((None, None, None, None, 0, 1)) if own else rng.choice((0, 1))
        if own and (guess is None or record.looks):
            columns["values"] = [self._value(world, record, arm, item, run) for item in chosen]
        else:
            columns["values"] = [guess] * len(chosen)
        if own and record.missing != "exclude_pair" and not record.looks and rng.random() < 0.5:
            states = ["ok" if world.value(record.id, arm, item, "status") else "error" for item in chosen]
            columns["status"] = states
            columns["values"] = [
                value if state == "ok" else None
                for value, state in zip(columns["values"], states, strict=True)
            ]
        if rng.random() < 0.2:
            columns["on_duplicate"] = "skip"
        return columns

    def _value(self, world: World, record: Locked, arm: str, item: str, run: int) -> int:
        if not record.looks or item not in record.order:
            return world.value(record.id, arm, item, f"value {run}")
        at = record.order.index(item)
        if at % 2 == 0:
            return world.value(record.id, arm, item, "value")
        return world.value(record.id, "AB"[arm == "A"], record.order[at - 1], "value")


def text_of(answer: Any) -> str:
    """The text of an answer; of an archive the names and texts of its members: its own bytes hold sums of them."""
    if answer.headers.get("content-type") != "application/zip":
        return str(answer.text)
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        return "\n".join(f"{each.filename} {archive.read(each)!r}" for each in archive.infolist())


def _whole(world: World, answer: Any) -> str:
    headers = sorted((k, v) for k, v in answer.headers.items() if k not in NOT_COMPARED)
    length = answer.headers.get("content-length")
    if length is not None and answer.status_code != 304 and int(length) != len(answer.content):
        headers.append(("content-length", "wrong"))
    return world.masked(f"{answer.status_code} {headers} {text_of(answer)}")


def _filing(rng: random.Random) -> dict[str, Any]:
    changes: list[dict[str, Any]] = [
        {"kind": "n", "population": "p", "n": rng.choice((10, 20, 30)), "dropped_favour": "neither"},
        {"kind": "other"},
    ]
    seen = rng.random() < 0.3
    return FILING | {"change": rng.choice(changes), "outcomes_seen": seen}


def _pilot(world: World, rng: random.Random) -> dict[str, Any]:
    if rng.random() < 0.7:
        return {}
    pairs = {arm: [rng.randint(0, 1) for _ in range(12)] for arm in ("baseline", "candidate")}
    return {"pilot": [pairs]}


def _locked(world: World) -> list[Locked]:
    found = []
    with world.client as client:
        for plan, manifest in blind_plans():
            manifests = {"p": manifest} if manifest else None
            prereg_id = plans.locked(client, copy.deepcopy(plan), manifests)
            looks = plan["stopping"]["kind"] != "fixed_n"
            order = tuple(items(N))
            if looks:
                page = client.get(f"/v1/preregistrations/{prereg_id}/populations/p/order?limit=200").json()
                order = tuple(each["item_id"] for each in page["items"])
            runs = {each["id"]: each.get("replicates", 1) for each in plan["endpoints"]}
            populations = tuple(each["id"] for each in plan["populations"])
            found.append(Locked(prereg_id, order, plan["missing"], looks, runs, populations))
    return found


class Origin:
    """Records that are locked once, and copies of their database, however many are asked for."""

    def __init__(self, database: str, stack: ExitStack, files: Bucket | None = None) -> None:
        """`files` keeps what is imported, in place of the data directories."""
        self._stack, self._files = stack, files
        self._directory = self._new_directory()
        Keyring.create(self._directory / "keys")
        self._server: Postgres | None = None
        if database == "SQLite":
            url = f"sqlite:///{self._directory / 'forelock.db'}"
        else:
            self._server = Postgres()
            self._server.start()
            stack.callback(self._server.stop)
            self._name = self._server.create()
            url = self._server.url(self._name)
        opened = Database(url)
        schema.upgrade(opened.engine)
        scopes = tuple(scope for scope in SCOPES if scope != "unblind")
        self._headers = bearer(add_key(opened, add_project(opened, "compared"), scopes)[1])
        opened.dispose()
        first = World(self._directory, url, self._headers, 1)
        self.records = _locked(first)
        first.close()

    @contextmanager
    def three(self) -> Iterator[list[World]]:
        """The worlds: two with the same outcomes, and one with others."""
        with ExitStack() as stack:
            worlds = [self._copy(stack, outcomes) for outcomes in (1, 1, 2)]
            for world in worlds:
                stack.callback(world.close)
                stack.enter_context(world.client)
            yield worlds

    def _copy(self, stack: ExitStack, outcomes: int) -> World:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fll")))
        shutil.copytree(self._directory, directory, dirs_exist_ok=True)
        place = "directory" if self._files is None else self._files.place()
        if self._server is None:
            return World(directory, f"sqlite:///{directory / 'forelock.db'}", self._headers, outcomes, place)
        name = self._server.create(self._name)
        stack.callback(self._server.drop, name)
        return World(directory, self._server.url(name), self._headers, outcomes, place)

    def _new_directory(self) -> Path:
        return Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="fll")))


@contextmanager
def origin(database: str, files: Bucket | None = None) -> Iterator[Origin]:
    """Locked records on a database of that kind, while nothing is written beside requests."""
    held = housekeeping.EVERY_SECONDS, housekeeping.READS_SECONDS, housekeeping.SIGN_SECONDS
    # times of last uses would come and go, and so would counts of reads and checkpoints
    housekeeping.EVERY_SECONDS = housekeeping.READS_SECONDS = housekeeping.SIGN_SECONDS = 1e9
    try:
        with ExitStack() as stack:
            yield Origin(database, stack, files)
    finally:
        housekeeping.EVERY_SECONDS, housekeeping.READS_SECONDS, housekeeping.SIGN_SECONDS = held


def run(database: str, calls: int, seed: int, *, in_bucket: bool = False) -> Found:
    """One comparison; `in_bucket`: of services that keep imported files in a bucket, and of what lies there."""
    found, began = Found(database), time.monotonic()
    with ExitStack() as stack:
        files = stack.enter_context(bucket()) if in_bucket else None
        locked = stack.enter_context(origin(database, files))
        worlds = stack.enter_context(locked.three())
        if files is not None:
            found.differences += keep_one(worlds)
        Comparison(found, worlds, locked.records, seed).run(calls)
        if files is not None:
            found.differences += files.differences(("item_id", "accuracy"), found.calls)
    found.seconds = time.monotonic() - began
    return found


def follow(origin: Origin, steps: Sequence[tuple[Operation, int]]) -> Found:
    """One sequence of calls, each with what its seed makes of it, on fresh copies."""
    found = Found("a sequence")
    with origin.three() as worlds:
        comparison = Comparison(found, worlds, origin.records, 0)
        for number, (operation, seed) in enumerate(steps):
            comparison.step(number, operation, seed)
            if number % 8 == 7:
                comparison.work()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.leaks", description=__doc__)
    parser.add_argument("--calls", type=int, default=8_000, help="on each database")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--database", choices=DATABASES, help="one only")
    parser.add_argument("--bucket", action="store_true", help="keep imported files in a bucket")
    asked = parser.parse_args()
    end_on(signal.SIGTERM)
    failed = False
    for name in [asked.database] if asked.database else DATABASES:
        found = run(name, asked.calls, asked.seed, in_bucket=asked.bucket)
        failed = told(found, found.differences, 30) or failed
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
