"""Calls about what leaves the service: webhooks, the project's tracker, runs and links of a record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from forelock.connection import Connection, Json
from forelock.paths import part, record


class OutsideCalls(Connection):
    """What a client can ask of webhooks, trackers, links and badges."""

    def create_webhook(
        self, url: str, events: Iterable[str], *, description: str | None = None, format: str = "standard"
    ) -> Json:
        """Make a webhook: `{"webhook": …, "secret": …}`. The secret is in this answer alone.

        `format` is `standard`, or `slack`, `teams`, `discord` or `text`: what a chat takes.

        Sent without Idempotency-Key, as `create_key` is.
        """
        body: Json = {"url": url, "events": list(events), "description": description}
        body |= {} if format == "standard" else {"format": format}
        return self._json("POST", "/v1/webhooks", json=body)

    def webhooks(self) -> Iterator[Json]:
        """Yield the project's webhooks, without their secrets."""
        yield from self._iterate_pages("/v1/webhooks")

    def delete_webhook(self, webhook_id: str) -> None:
        """Delete a webhook and what waits for it."""
        self._send("DELETE", _webhook(webhook_id))

    def rotate_webhook(self, webhook_id: str) -> Json:
        """Another secret; the one before signs as well for 24 hours."""
        return self._json("POST", f"{_webhook(webhook_id)}/rotation")

    def ping_webhook(self, webhook_id: str) -> Json:
        """Have a message sent that tells of nothing; answers its delivery."""
        return self._json("POST", f"{_webhook(webhook_id)}/ping")

    def deliveries(self, webhook_id: str) -> Iterator[Json]:
        """Yield a webhook's messages, newest first."""
        yield from self._iterate_pages(f"{_webhook(webhook_id)}/deliveries")

    def redeliver(self, webhook_id: str, delivery_id: str) -> Json:
        """Have a message sent again."""
        return self._json("POST", f"{_webhook(webhook_id)}/deliveries/{part(delivery_id)}/redelivery")

    def put_mlflow(
        self, url: str, *, username: str | None = None, password: str | None = None, token: str | None = None
    ) -> Json:
        """Set the project's MLflow tracking server, and how the service says who it is there."""
        body = {"url": url, "username": username, "password": password, "token": token}
        return self._json("PUT", "/v1/trackers/mlflow", json=body)

    def mlflow(self) -> Json:
        """Return where it is, without credentials."""
        return self._json("GET", "/v1/trackers/mlflow")

    def forget_mlflow(self) -> None:
        """Forget it with its credentials."""
        self._send("DELETE", "/v1/trackers/mlflow")

    def link_run(self, preregistration_id: str, run: str) -> Json:
        """Have an MLflow run carry a record's lock and verdict."""
        return self._json("PUT", f"{record(preregistration_id)}/mlflow-runs/{part(run)}")

    def linked_runs(self, preregistration_id: str) -> list[Json]:
        """Return the runs that carry a record, and what became of the last thing sent to each."""
        runs: list[Json] = self._json("GET", f"{record(preregistration_id)}/mlflow-runs")["items"]
        return runs

    def unlink_run(self, preregistration_id: str, run: str) -> None:
        """Say nothing more on a run."""
        self._send("DELETE", f"{record(preregistration_id)}/mlflow-runs/{part(run)}")

    def put_link(
        self,
        preregistration_id: str,
        name: str,
        url: str,
        *,
        kind: str = "other",
        external_id: str | None = None,
    ) -> Json:
        """Set a link of a locked record to a place outside."""
        body = {"url": url, "kind": kind, "external_id": external_id}
        return self._json("PUT", f"{record(preregistration_id)}/links/{part(name)}", json=body)

    def links(self, preregistration_id: str) -> list[Json]:
        """Return the links of a record, by name."""
        links: list[Json] = self._json("GET", f"{record(preregistration_id)}/links")["items"]
        return links

    def delete_link(self, preregistration_id: str, name: str) -> None:
        """Remove a link of a record."""
        self._send("DELETE", f"{record(preregistration_id)}/links/{part(name)}")

    def badge(self, preregistration_id: str) -> bytes:
        """Return the record's badge: an SVG of its state, or of its outcome once there is a verdict."""
        return self._send("GET", f"{record(preregistration_id)}/badge.svg").content


def _webhook(webhook_id: str) -> str:
    return f"/v1/webhooks/{part(webhook_id)}"
