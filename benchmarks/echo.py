"""The peer of the HTTP rows: a bare FastAPI route that validates two columns and echoes them."""

from __future__ import annotations

import socket

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

app = FastAPI()


class Pairs(BaseModel):
    """Two columns, without any check of ours."""

    baseline: list[float]
    candidate: list[float]


@app.post("/pairs")
async def echo(pairs: Pairs) -> Pairs:
    """What was sent."""
    return pairs


def main() -> None:
    """Serve on a free port, as one uvicorn worker like the service's own, until told to stop."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
    print(f"listens on http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    config = uvicorn.Config(app, log_config=None, access_log=False, server_header=False)
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
