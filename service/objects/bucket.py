"""Objects in a bucket by the S3 API. Who we are to it, and where it is, the variables of AWS say (`AWS_…`).

The address is the operator's own, as that of the database is: it is not held against the list of addresses that may be
called, which guards against addresses that users give.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import BinaryIO

import obstore
from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError
from obstore.store import S3Store

from service.objects.objects import NAME, ObjectMissing, ObjectsAway, StoredObject, path_of

PIECE = 1 << 20
SECONDS, RETRIES = 30, 3
"""Of one call; somebody who imports waits for it."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """A folder of a bucket."""

    store: S3Store
    name: str

    def put(self, name: str, file: BinaryIO) -> None:
        """Send the file, in parts where it is large: the bucket shows it once all of them are there."""
        file.seek(0)
        with self._asking(everything=True):
            obstore.put(self.store, path_of(name), file)

    def read(self, name: str) -> Iterator[bytes]:
        """Yield the bytes, piece by piece."""
        with self._asking():
            for piece in obstore.get(self.store, path_of(name)).stream(min_chunk_size=PIECE):
                yield bytes(piece)

    def remove(self, name: str) -> None:
        """Delete the object; a bucket with versions keeps it as its own rules say."""
        with self._asking():
            obstore.delete(self.store, path_of(name))

    def tidy(self, before: datetime) -> int:  # noqa: ARG002
        """Do nothing: a rule of the bucket ends uploads that were broken off."""
        return 0

    def every(self) -> Iterator[StoredObject]:
        """Yield every object of the folder."""
        with self._asking(everything=True):
            for page in obstore.list(self.store):
                for meta in page:
                    name = meta["path"].rpartition("/")[2]
                    if NAME.fullmatch(name) and meta["path"] == path_of(name):
                        yield StoredObject(name, meta["size"], meta["last_modified"])

    @contextmanager
    def _asking(self, *, everything: bool = False) -> Iterator[None]:
        """What the library says of a failure holds requests, hosts and answers: what is told is one sentence."""
        try:
            yield
        except FileNotFoundError:
            if everything:
                raise ObjectsAway(f"there is no bucket {self.name}") from None
            raise ObjectMissing(self.name) from None
        except (PermissionDeniedError, UnauthenticatedError, PermissionError):
            raise ObjectsAway(f"bucket {self.name} refuses these credentials") from None
        except (BaseError, TimeoutError, OSError) as error:
            if "NoSuchBucket" in str(error):
                raise ObjectsAway(f"there is no bucket {self.name}") from None
            raise ObjectsAway(f"bucket {self.name} does not answer as one does") from None


def bucket_of(bucket: str, folder: str) -> Bucket:
    """Return a folder of a bucket, as the environment says where it is. Nothing is asked of it yet.

    Raises:
        ObjectsAway: the variables do not fit together.
    """
    endpoint = os.environ.get("AWS_ENDPOINT_URL") or os.environ.get("AWS_ENDPOINT") or ""
    try:
        store = S3Store(
            bucket,
            prefix=folder,
            client_options={
                "allow_http": endpoint.startswith("http://"),  # the operator wrote it so
                "connect_timeout": "10s",
                "timeout": f"{SECONDS}s",
            },
            retry_config={"max_retries": RETRIES, "retry_timeout": timedelta(seconds=SECONDS)},
        )
    except (BaseError, ValueError) as error:
        raise ObjectsAway(f"bucket {bucket} cannot be used: {str(error).splitlines()[0]}") from None
    return Bucket(store, bucket)
