"""Two replicas that are killed at any step: the log never forks, and the next one always goes on."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from forelock.transparency.checkpoints import open_checkpoint
from forelock.transparency.notes import VerifierKey
from service.domain.ledger import Frontier
from service.keyring.keyring import SigningKeyFile
from service.store.ledger import ledger, ledger_signers
from tests.actions.signing_replicas import ALL_STEPS, signer_of

ROOT = Path(__file__).parents[2]


@pytest.fixture
def replicas(database_url, tmp_path):
    key = SigningKeyFile(tmp_path / "signing.key")
    key.prepare()
    key.take_over()
    command = [sys.executable, "-m", "tests.actions.signing_replicas", database_url, str(tmp_path)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as nursery:

        def run(**told):
            nursery.stdin.write(json.dumps(told) + "\n")
            nursery.stdin.flush()
            return json.loads(nursery.stdout.readline())

        yield run
        nursery.stdin.close()


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("rounds", [len(ALL_STEPS), pytest.param(210, marks=pytest.mark.slow)])
def test_two_replicas_killed_at_any_step_never_fork_and_never_brick(database, tmp_path, replicas, rounds):
    """At least as many kills as there are rounds: each ends one replica at every step in turn, the other anywhere."""
    draw, kills = random.Random(20270104), 0
    for number in range(rounds):
        here = [ALL_STEPS[number % len(ALL_STEPS)], draw.randrange(3)]
        there = [draw.choice(ALL_STEPS), draw.randrange(4)]
        ended = replicas(**({"one": here, "two": there} if number % 2 else {"two": here, "one": there}))
        assert 1 not in ended, "a replica failed otherwise: its words are above"
        kills += ended.count(-signal.SIGKILL)
        signed = signer_of(database, tmp_path, ("one", "two")[number // 2 % 2]).checkpoint()
        with database.read() as session:
            size = ledger.read_head(session).size
        assert signed is None or signed.size == size
    assert kills >= rounds
    _require_one_log(database, tmp_path)


def _require_one_log(database, directory):
    """Whatever anybody was given is the beginning of the log as it is now."""
    with database.read() as session:
        (signer,) = ledger_signers.read_all(session)
        size = ledger.read_head(session).size
        hashes = ledger.read_leaf_hashes(session, 0, size)
        head = ledger.read_head(session).root()
    keys, log, roots = [VerifierKey.parse(signer.vkey)], Frontier(), []
    for each in hashes:
        roots.append(log.root())
        log = log.append(bytes.fromhex(each))
    roots.append(log.root())
    assert roots[size] == head
    given = [json.loads(line) for each in ("one", "two") for line in _lines(directory / f"{each}.given")]
    assert given
    for note in given:
        checkpoint = open_checkpoint(note, keys, origin="log.example")
        assert checkpoint.root == roots[checkpoint.size]


def _lines(path):
    return path.read_text().splitlines() if path.exists() else []
