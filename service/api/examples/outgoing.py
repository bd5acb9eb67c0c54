"""Examples of what leaves, for OpenAPI."""

from __future__ import annotations

URL = "https://hooks.example.org/forelock"
WEBHOOK = {
    "id": "7a1c3e5b9d2f4a6c8e0b1d3f5a7c9e1b",
    "url": URL,
    "events": ["preregistration.locked", "verdict.published"],
    "description": "the team's channel",
    "format": "standard",
    "created_at": "2027-01-04T09:00:00Z",
    "previous_until": None,
}
WEBHOOK_BODY = {name: WEBHOOK[name] for name in ("url", "events", "description", "format")}
NEW_WEBHOOK = {"webhook": WEBHOOK, "secret": "whsec_..."}
DELIVERY = {
    "id": "msg_0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c",
    "event": "verdict.published",
    "preregistration_id": "4f0c2b7e9a1d4c6f8b3e5d7a9c1f2e4b",
    "state": "delivered",
    "attempts": 1,
    "status": 204,
    "error": None,
    "created_at": "2027-02-01T12:00:00Z",
    "next_at": None,
    "finished_at": "2027-02-01T12:00:01Z",
}
TRACKER_BODY = {"url": "https://mlflow.example.org", "username": "forelock", "password": "..."}
TRACKER = {
    "kind": "mlflow",
    "url": "https://mlflow.example.org",
    "auth": "basic",
    "put_at": "2027-01-04T09:00:00Z",
}
RUN = {"run": "0123456789abcdef0123456789abcdef", "linked_at": "2027-01-04T09:00:00Z"}
RUNS = {"items": [RUN | {"last": DELIVERY | {"event": "run.linked", "status": None}}]}
LINK_BODY = {
    "kind": "wandb",
    "url": "https://wandb.ai/memory-lab/caching/runs/3k2j1h0g",
    "external_id": "3k2j1h0g",
}
LINK = {"name": "training", **LINK_BODY, "put_at": "2027-01-04T09:00:00Z"}
