"""Replicas that append and sign until they kill themselves at a step: started by test_signer_kills.py.

`python -m tests.actions.signing_replicas URL DIRECTORY` loads everything once. For every line it reads, a JSON object
of replica, step and how often the step is passed before, it forks one process each, waits for them, and answers a line
with what they ended by.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from pathlib import Path

from service.actions.ledger.signer import STEPS, Signer
from service.keyring.keyring import SigningKeyFile
from service.keyring.signer_state import SignerState
from service.store.database.clock import read_moment
from service.store.database.engine import Database
from service.store.ledger import ledger

ALL_STEPS = ("begun", "appended", *STEPS, "given")
MOST_APPENDS = 40


def signer_of(database: Database, directory: Path, name: str, step=lambda _name: None) -> Signer:
    """A replica's signer: one key for all, a state of its own."""
    key = SigningKeyFile(directory / "signing.key")
    return Signer(
        database, key.read, SignerState(directory / f"{name}.state"), origin="log.example", step=step
    )


def live(url: str, directory: Path, name: str, last: str, passes: int) -> None:
    """Append and sign; what is given out is written down, one note a line."""
    left = passes

    def step(reached: str) -> None:
        nonlocal left
        if reached == last:
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1

    database = Database(url, pool_size=2)
    signer = signer_of(database, directory, name, step)
    out = os.open(directory / f"{name}.given", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for _ in range(MOST_APPENDS):
        with database.write() as session:
            receipt = ledger.append(session, None, "close", {}, read_moment(session))
            step("begun")
        step("appended")
        signed = signer.checkpoint(covers=receipt.sequence + 1)
        assert signed is not None
        assert signed.size > receipt.sequence
        os.write(out, json.dumps(signed.note).encode() + b"\n")
        step("given")


def main(url: str, directory: Path) -> None:
    """Fork as told, until there is nothing more to read."""
    for line in sys.stdin:
        children = []
        for name, (last, passes) in json.loads(line).items():
            child = os.fork()
            if child == 0:
                try:
                    live(url, directory, name, last, passes)
                except BaseException:
                    traceback.print_exc()
                    os._exit(1)
                os._exit(0)
            children.append(child)
        ended = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        sys.stdout.write(json.dumps(ended) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
