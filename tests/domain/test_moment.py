"""A moment: the same with the same source of randomness, and never one salt twice."""

from __future__ import annotations

import random
import uuid
from datetime import UTC, datetime

from service.domain.ledger import SALT_BYTES
from service.domain.moment import Moment

NOW = datetime(2027, 1, 4, tzinfo=UTC)


def test_every_salt_and_every_id_of_a_moment_is_fresh():
    moment = Moment(NOW)
    salts, ids = [moment.salt() for _ in range(100)], [moment.new_id() for _ in range(100)]
    assert len(set(salts)) == len(set(ids)) == 100
    assert {len(salt) for salt in salts} == {SALT_BYTES}
    assert all(uuid.UUID(each).version == 4 and each == uuid.UUID(each).hex for each in ids)


def test_a_source_that_repeats_gives_the_same_again():
    one, other = (Moment(NOW, random.Random(7).randbytes) for _ in range(2))
    assert (one.salt(), one.new_id()) == (other.salt(), other.new_id())


def test_its_repr_holds_no_randomness():
    assert repr(Moment(NOW)) == f"Moment(now={NOW!r})"
