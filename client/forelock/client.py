"""A synchronous client: what the service offers, one call each."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO, Literal, Protocol

from forelock.connection import LONGEST_POLL, Json, header, objects, read_object
from forelock.documents import DocumentCalls
from forelock.incoming import read_text
from forelock.paths import part, record
from forelock.problem import ForelockProblem, VerdictTimeout
from forelock.results import OnDuplicate, Results


class Sendable(Protocol):
    """A body of known length that can be sent more than once: bytes, or a file that is read as it goes."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Any]: ...


BATCH_SIZE = 10_000
"""Items per batch unless the caller says otherwise."""

GZIPPED = {"Content-Type": "application/json", "Content-Encoding": "gzip"}


class Client(DocumentCalls):
    """What one service offers to one API key, as calls."""

    language = "en"
    """In which questions without a plan are answered, `en` or `zh`."""

    @property
    def _spoken(self) -> dict[str, str]:
        """What asks for sentences in another language than English."""
        return {} if self.language == "en" else {"lang": self.language}

    # Statistical tests

    def tests(self) -> list[Json]:
        """Return the catalogue of statistical tests."""
        return list(self._iterate_pages("/v1/tests"))

    def describe(self, name: str) -> Json:
        """One test: its request schema, words and example."""
        return self._json("GET", f"/v1/tests/{part(name)}")

    def run(self, name: str, request: Mapping[str, Any], *, timeout: float = 600.0) -> Json:
        """Run a statistical test on the caller's data; waits when the service makes a job of it."""
        response = self._send("POST", f"/v1/tests/{part(name)}", json=dict(request), params=self._spoken)
        if response.status_code != 202:
            return read_object(response)
        location = header(response, "Location")
        return self._job_result(location, self._clock() + timeout)

    def score(self, request: Mapping[str, Any]) -> Json:
        """Score one arm without a plan."""
        return self._json("POST", "/v1/score", json=dict(request), params=self._spoken)

    def compare(self, request: Mapping[str, Any]) -> Json:
        """Compare two arms without a plan."""
        return self._json("POST", "/v1/compare", json=dict(request), params=self._spoken)

    def post_run(self, series: str, run: Mapping[str, Any]) -> Json:
        """Post a run of a series, and learn what the series shows. To post it again changes nothing."""
        return self._json("POST", f"/v1/series/{part(series)}/points", json=dict(run), params=self._spoken)

    def series(self, name: str) -> Json:
        """Return a series: what it shows, and every run since its reference."""
        return self._json("GET", f"/v1/series/{part(name)}")

    def resolve(self, request: Mapping[str, Any]) -> Json:
        """Tell the smallest difference that data like a pilot's can show."""
        return self._json("POST", "/v1/resolution", json=dict(request), params=self._spoken)

    def audit(self, request: Mapping[str, Any]) -> Json:
        """Tell what two published accuracies show of each other, and what data of that size could show."""
        return self._json("POST", "/v1/resolution/published", json=dict(request), params=self._spoken)

    # Preregistrations

    def create_plan(self, plan: Mapping[str, Any] | str) -> Json:
        """Make a draft of the plan, or of an EXPERIMENTS_PREREG.md as text; answers the record.

        That of Markdown has `gaps`: what was assumed, and what no part of a plan holds.
        """
        if isinstance(plan, str):
            headers = {"Content-Type": "text/markdown"}
            return self._json(
                "POST", "/v1/preregistrations", content=plan.encode(), headers=headers, key=_new_key()
            )
        return self._json("POST", "/v1/preregistrations", json=dict(plan), key=_new_key())

    def preregistration(self, preregistration_id: str) -> Json:
        """Return the record: state, plan, hash, lint findings."""
        return self._json("GET", record(preregistration_id))

    def etag(self, preregistration_id: str) -> str:
        """Return the revision of a draft, which `edit_plan`, `lock` and `delete_draft` take as `etag`."""
        return self._etag(record(preregistration_id))

    def preregistrations(self, *, state: str | None = None) -> Iterator[Json]:
        """Yield every preregistration of the project, newest first."""
        yield from self._iterate_pages("/v1/preregistrations", {"state": state} if state else {})

    def edit_plan(
        self, preregistration_id: str, changes: Mapping[str, Any], *, etag: str | None = None
    ) -> Json:
        """Change a draft by a merge patch (RFC 7396). Without `etag`, its newest version."""
        path = record(preregistration_id)
        headers = {"If-Match": etag or self._etag(path), "Content-Type": "application/merge-patch+json"}
        return self._json("PATCH", path, content=json.dumps(dict(changes)).encode(), headers=headers)

    def delete_draft(self, preregistration_id: str, *, etag: str | None = None) -> None:
        """Delete a draft. A locked preregistration stays."""
        path = record(preregistration_id)
        self._send("DELETE", path, headers={"If-Match": etag or self._etag(path)})

    def stamps(self, preregistration_id: str) -> list[Json]:
        """Return what outside witnesses gave for the lock and the verdict."""
        return objects(self._json("GET", f"{record(preregistration_id)}/stamps")["items"])

    def evidence(self, preregistration_id: str) -> Json:
        """Return the five pieces of evidence of a record, scored."""
        return self._json("GET", f"{record(preregistration_id)}/evidence")

    def put_items(
        self, preregistration_id: str, population: str, content: bytes, content_type: str = "application/json"
    ) -> Json:
        """Set the population's item manifest, from JSON columns, NDJSON or CSV."""
        path = f"{record(preregistration_id)}/populations/{part(population)}/items"
        return self._json("PUT", path, content=content, headers={"Content-Type": content_type})

    def lint(self, preregistration_id: str) -> list[Json]:
        """Return the gaps of a plan, and what its rule cannot show."""
        return objects(self._json("POST", f"{record(preregistration_id)}/lint")["findings"])

    def power(self, preregistration_id: str, pilots: Iterable[Mapping[str, Any]] = ()) -> Json:
        """The whole lint report: findings, the power of every rule, and what pilot columns say, if any are sent."""
        sent = [dict(pilot) for pilot in pilots]
        body = {"json": {"pilot": sent}} if sent else {}
        return self._json("POST", f"{record(preregistration_id)}/lint", **body)

    def lock(
        self,
        preregistration_id: str,
        acknowledge: Iterable[str] | Literal["all"] = (),
        *,
        etag: str | None = None,
        mlflow_run: str | None = None,
    ) -> Json:
        """Lock the plan for good, acknowledging warnings by code. Without `etag`, its newest version.

        `mlflow_run` is a run of the project's MLflow that is to carry lock and verdict.
        """
        path = record(preregistration_id)
        etag = etag or self._etag(path)
        codes = acknowledge if isinstance(acknowledge, str) else list(acknowledge)
        body: Json = {"acknowledge": codes} | ({} if mlflow_run is None else {"mlflow_run": mlflow_run})
        return self._json("POST", f"{path}/lock", json=body, headers={"If-Match": etag}, key=_new_key())

    def amend(
        self,
        preregistration_id: str,
        changes: Mapping[str, Any],
        reason: str,
        acknowledge: Iterable[str] | Literal["all"] = (),
        *,
        etag: str | None = None,
    ) -> Json:
        """Amend a locked plan without results by a merge patch; answers the record. Without `etag`, its newest one."""
        path = record(preregistration_id)
        codes = acknowledge if isinstance(acknowledge, str) else list(acknowledge)
        body = {"changes": dict(changes), "reason": reason, "acknowledge": codes}
        headers = {"If-Match": etag or self._etag(path)}
        return self._json("POST", f"{path}/amendments", json=body, headers=headers, key=_new_key())

    def name_arm(
        self, preregistration_id: str, arm: str, card: Mapping[str, Any], evidence: Mapping[str, Any]
    ) -> Json:
        """Name what the criterion of an arm chose, once, before its results; answers the record."""
        path = f"{record(preregistration_id)}/arms/{part(arm)}"
        return self._json("POST", path, json={"card": dict(card), "evidence": dict(evidence)}, key=_new_key())

    def versions(self, preregistration_id: str) -> list[Json]:
        """Return every version of a locked plan, the first one first."""
        return objects(self._json("GET", f"{record(preregistration_id)}/versions")["items"])

    def close_early(self, preregistration_id: str, reason: str, deviation: int) -> Json:
        """Close the collection before the planned n, under a filed deviation of kind `n`; answers the record."""
        body = {"reason": reason, "deviation": deviation}
        return self._json("POST", f"{record(preregistration_id)}/close", json=body, key=_new_key())

    def withdraw(self, preregistration_id: str, reason: str) -> Json:
        """Withdraw a locked record for good; answers it."""
        path = f"{record(preregistration_id)}/withdrawal"
        return self._json("POST", path, json={"reason": reason}, key=_new_key())

    def family(self, family_id: str) -> Json:
        """Every registration of the project on the same items: the first page, with all of them under `items`."""
        path = f"/v1/families/{part(family_id)}"
        family = self._json("GET", path)
        family["items"] = list(self._iterate_pages(path))
        return family

    # Results

    def bind_run(self, preregistration_id: str, binding: Mapping[str, Any]) -> Json:
        """Bind a run before it begins; its answer has the name that results give as `run`."""
        path = f"{record(preregistration_id)}/runs"
        return self._json("POST", path, json=dict(binding), key=_new_key())

    def runs(self, preregistration_id: str) -> Json:
        """Return the runs that were bound, and what would stand against a verdict as things are."""
        path = f"{record(preregistration_id)}/runs"
        runs = self._json("GET", path)
        runs["items"] = list(self._iterate_pages(path))
        return runs

    def submit(
        self,
        preregistration_id: str,
        results: Results,
        *,
        batch_size: int = BATCH_SIZE,
        on_duplicate: OnDuplicate = "refuse",
    ) -> Iterator[Json]:
        """Post results in batches; yields the service's answer to each as it comes.

        With `on_duplicate="skip"` results that are in are left out, whatever they say, so that a part of a
        file can be posted again.
        """
        for batch in results.batches(batch_size):
            yield self.submit_batch(
                preregistration_id, batch, idempotency_key=_new_key(), on_duplicate=on_duplicate
            )

    def submit_batch(
        self,
        preregistration_id: str,
        batch: Results,
        *,
        idempotency_key: str,
        on_duplicate: OnDuplicate = "refuse",
    ) -> Json:
        """Post one batch. The same key and content again: the same answer, and nothing stored twice."""
        path = f"{record(preregistration_id)}/results"
        content = batch.body(on_duplicate)
        return self._json("POST", path, content=content, headers=GZIPPED, key=idempotency_key)

    def check_batch(self, preregistration_id: str, batch: Results) -> Json:
        """Have a batch checked against the plan without storing it; raises ForelockProblem as posting would."""
        path = f"{record(preregistration_id)}/results/check"
        return self._json("POST", path, content=batch.body(), headers=GZIPPED)

    def batches(self, preregistration_id: str) -> Iterator[Json]:
        """Yield the batches that were posted, newest first, without outcomes."""
        yield from self._iterate_pages(f"{record(preregistration_id)}/batches")

    def receipts(self, preregistration_id: str) -> Iterator[Json]:
        """Yield what the ledger has of a record, newest first: every entry with its leaf and proof."""
        yield from self._iterate_pages(f"{record(preregistration_id)}/receipts")

    def void_batch(self, preregistration_id: str, batch: int, reason: str) -> Json:
        """Strike a whole batch before the plan is complete; the verdict prints the reason. Answers a receipt."""
        path = f"{record(preregistration_id)}/batches/{int(batch)}/void"
        return self._json("POST", path, json={"reason": reason}, key=_new_key())

    def progress(self, preregistration_id: str) -> Json:
        """Return how many results are in: counts only."""
        return self._json("GET", f"{record(preregistration_id)}/progress")

    def missing(self, preregistration_id: str, *, arm: str | None = None) -> Iterator[Json]:
        """Planned results that are not in: population, arm, endpoint, replicate, item_id. For keys that write, too."""
        query = {"missing": "true", "limit": "200"} | ({"arm": arm} if arm else {})
        while True:
            page = self._json("GET", f"{record(preregistration_id)}/progress", params=query)["missing"]
            yield from page["items"]
            if not page["next_cursor"]:
                return
            query["cursor"] = page["next_cursor"]

    def labels(self, preregistration_id: str, *, arm: str | None = None) -> Iterator[Json]:
        """Yield the labels that people are asked for, in the order in which they get them.

        Each has population, arm, endpoint, item_id, and whether it was posted. They are posted as results: `submit`.
        """
        query = {"limit": "200"} | ({"arm": arm} if arm else {})
        while True:
            page = self._json("GET", f"{record(preregistration_id)}/labels", params=query)
            yield from page["items"]
            if not page["next_cursor"]:
                return
            query["cursor"] = page["next_cursor"]

    def import_file(
        self,
        preregistration_id: str,
        content: Sendable,
        *,
        idempotency_key: str | None = None,
        on_duplicate: OnDuplicate = "skip",
        query: Mapping[str, str] | None = None,
    ) -> Json:
        """Import a harness's file under the plan's mapping; `query` has `arm`, `population`, `run`, `format` and such.

        What is in stays as it is, so that a file can be imported again after a part of it.
        """
        path = f"{record(preregistration_id)}/imports"
        return self._json(
            "POST",
            path,
            params={"on_duplicate": on_duplicate, **(query or {})},
            content=content,
            headers=_file_headers(content),
            key=idempotency_key or _new_key(),
        )

    def read_file(self, content: Sendable, **query: str) -> Json:
        """Return what a harness's file holds; nothing is stored. `query` has `format`, `section` and `arm`."""
        return self._json(
            "POST", "/v1/imports/check", params=query, content=content, headers=_file_headers(content)
        )

    def results(self, preregistration_id: str) -> Iterator[Json]:
        """Yield the rows, once they may be read: after the verdict, or after an unblinding."""
        yield from self._iterate_pages(f"{record(preregistration_id)}/results")

    def unblind(
        self,
        preregistration_id: str,
        reason: str,
        *,
        population: str | None = None,
        endpoint: str | None = None,
    ) -> Json:
        """Open results before the verdict, for good: whatever comes in afterwards makes the verdict invalid."""
        body = {"reason": reason, "population": population, "endpoint": endpoint}
        return self._json("POST", f"{record(preregistration_id)}/unblinding", json=body, key=_new_key())

    def erase(self, preregistration_id: str, reason: str) -> Json:
        """Destroy the plan's rows for good."""
        body = {"reason": reason}
        return self._json("POST", f"{record(preregistration_id)}/erasure", json=body, key=_new_key())

    # Verdicts

    def verdict(
        self, preregistration_id: str, *, wait: bool = False, timeout: float = 600.0, poll: float = 0.1
    ) -> Json:
        """Return the verdict; with `wait`, polls until it is there, at most `timeout` seconds."""
        deadline = self._clock() + timeout
        while True:
            try:
                answer = self._json("GET", f"{record(preregistration_id)}/verdict")
                self.on_wait("verdict", 1.0)
                return answer
            except ForelockProblem as problem:
                if not wait or problem.code not in ("blinded", "verdict_pending"):
                    raise
                if self._clock() + poll > deadline:
                    raise VerdictTimeout(f"no verdict after {timeout:g} s: {problem.detail}") from problem
            self.on_wait("verdict", None)
            self._sleep(poll)
            poll = min(1.5 * poll, LONGEST_POLL)

    def verdict_sentences(self, preregistration_id: str) -> Json:
        """Return the verdict in words: every outcome in two languages, with notes and what can be done next."""
        return self._json("GET", f"{record(preregistration_id)}/verdict/sentences")

    def verdicts(
        self, *, hypothesis: str | None = None, outcome: str | None = None, since: str | None = None
    ) -> Iterator[Json]:
        """Yield every verdict of the project, one item per hypothesis with its headline, page after page."""
        filters = {"hypothesis": hypothesis, "outcome": outcome, "since": since, **self._spoken}
        yield from self._iterate_pages(
            "/v1/verdicts", {name: value for name, value in filters.items() if value}
        )

    # The ledger

    def bundle(self, preregistration_id: str, file: BinaryIO, *, kept: Iterable[int] = ()) -> int:
        """Write the record's bundle to a file; returns its size. `kept` are sizes of checkpoints to be led on from."""
        path = f"{record(preregistration_id)}/bundle"
        return self._download(path, file, {"checkpoint": [str(size) for size in kept]})

    def artefacts(self, preregistration_id: str) -> Iterator[Json]:
        """Yield the files that the imports of a judged record were made of, newest first, page after page."""
        yield from self._iterate_pages(f"{record(preregistration_id)}/artefacts")

    def artefact(self, preregistration_id: str, number: int, file: BinaryIO) -> int:
        """Write the file of an import, as it was sent, to a file; returns its size."""
        return self._download(f"{record(preregistration_id)}/artefacts/{number}", file, {})

    def checkpoint(self) -> str:
        """The ledger's newest checkpoint, a signed note. Nothing is verified here: see `forelock.transparency`."""
        return read_text(self._send("GET", "/v1/ledger/checkpoint"))

    def ledger_keys(self) -> list[Json]:
        """Who signs the ledger, oldest first: `vkey`, and the `handover` from the one before. Nothing is verified."""
        answer = self._json("GET", "/.well-known/forelock-keys.json")
        return objects(answer["signers"])

    def consistency(self, first: int, second: int) -> list[str]:
        """Return what is to prove that the ledger of `second` entries goes on from that of `first`, in hexadecimal."""
        answer = self._json("GET", "/v1/ledger/consistency", params={"from": str(first), "to": str(second)})
        hashes = answer.get("hashes")
        return [str(digest) for digest in hashes] if isinstance(hashes, list) else []

    # Keys

    def create_key(self, name: str, scopes: Iterable[str], *, kind: Literal["person", "job"] = "job") -> Json:
        """Make an API key: `{"key": …, "secret": …}`. The secret is in this answer alone.

        Sent without Idempotency-Key, since a repeated answer would lack the secret: a lost one leaves an
        unused key behind, which `GET /v1/keys` shows.
        """
        return self._json("POST", "/v1/keys", json={"name": name, "kind": kind, "scopes": list(scopes)})

    def keys(self) -> Iterator[Json]:
        """Yield the project's API keys, without their secrets."""
        yield from self._iterate_pages("/v1/keys")

    def revoke_key(self, key_id: str) -> None:
        """Revoke an API key, which opens nothing from then on."""
        self._send("DELETE", f"/v1/keys/{part(key_id)}")

    # The audit log

    def audit_log(
        self,
        *,
        subject: str | None = None,
        action: str | None = None,
        key: str | None = None,
        since: str | None = None,
        deployment: bool = False,
    ) -> Iterator[Json]:
        """Yield what was done, newest first: in the project (scope `admin`), or to the deployment (`operator`)."""
        filters = {"subject": subject, "action": action, "key": key, "since": since}
        path = "/v1/audit/deployment" if deployment else "/v1/audit"
        yield from self._iterate_pages(path, {name: value for name, value in filters.items() if value})


def _file_headers(content: Sendable) -> dict[str, str]:
    return {"Content-Type": "application/octet-stream", "Content-Length": str(len(content))}


def _new_key() -> str:
    return str(uuid.uuid4())
