"""A server that speaks S3, on loopback: moto's, in a process of the tests' own."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import obstore
from moto.server import ThreadedMotoServer
from obstore.store import S3Store

BUCKET = "evidence"


@dataclass
class ObjectStorage:
    """One server; `environment` is how it is reached."""

    server: ThreadedMotoServer
    address: str

    @property
    def environment(self) -> dict[str, str]:
        """What an operator sets."""
        return {
            "AWS_ENDPOINT_URL": self.address,
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "a key",
            "AWS_SECRET_ACCESS_KEY": "a secret that nobody may read",
        }

    def objects(self) -> dict[str, bytes]:
        """Everything that is in the bucket."""
        store = self._store()
        paths = [meta["path"] for page in obstore.list(store) for meta in page]
        return {path: bytes(obstore.get(store, path).bytes()) for path in paths}

    def put(self, path: str, content: bytes) -> None:
        """What somebody else writes into the bucket."""
        obstore.put(self._store(), path, content)

    def remove(self, path: str) -> None:
        """What somebody else takes away."""
        obstore.delete(self._store(), path)

    def _store(self) -> S3Store:
        return S3Store(
            BUCKET, endpoint=self.address, region="us-east-1", access_key_id="a", secret_access_key="b",
            client_options={"allow_http": True},
        )  # fmt: skip


@contextmanager
def storing() -> Iterator[ObjectStorage]:
    """A server with one empty bucket, until the block ends."""
    logging.getLogger("werkzeug").disabled = True
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        storage = ObjectStorage(server, f"http://{host}:{port}")
        make_bucket(storage)
        yield storage
    finally:
        server.stop()


def make_bucket(storage: ObjectStorage) -> None:
    """An empty bucket; moto takes it from anybody."""
    from urllib.request import Request, urlopen

    with urlopen(Request(f"{storage.address}/moto-api/reset", method="POST")):
        pass
    with urlopen(Request(f"{storage.address}/{BUCKET}", method="PUT")):
        pass
