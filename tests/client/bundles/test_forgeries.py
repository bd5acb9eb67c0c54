"""Bundles forged at random from a real one, without the signing key: none is accepted, with the server or not."""

from __future__ import annotations

import io
import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from forelock.bundles.container import Reader
from forelock.bundles.findings import Report
from forelock.bundles.record import DOCUMENTS
from forelock.bundles.verifying import Kept, exit_status, verify
from forelock.transparency.notes import VerifierKey
from service.offline.recomputing import recompute

from .making import members, packed

FROZEN = Path(__file__).parents[2] / "journeys" / "frozen" / "version-1.zip"
ACCEPTED = {0, 4, 10, 11, 12}
ODD: list[Any] = [
    None,
    True,
    0,
    1,
    -1,
    0.5,
    1e-9,
    2**53 - 1,
    "",
    "supported",
    "not_supported",
    [],
    {},
    "0" * 64,
]


@cache
def whole() -> tuple[dict[str, bytes], tuple[str, ...], str]:
    """The members of the real bundle, the keys that it names, and whose record it is."""
    with FROZEN.open("rb") as file:
        said = json.loads(Reader(file).read("bundle.json", 1 << 24))
    return members(FROZEN.read_bytes()), tuple(said["keys"]), said["preregistration_id"]


def report_of(data: bytes, *, server: bool) -> Report:
    _, keys, _ = whole()
    note = FROZEN.with_suffix(".checkpoint").read_bytes()
    return verify(
        io.BytesIO(data),
        kept=[Kept("kept", note)],
        keys=[VerifierKey.parse(each) for each in keys],
        recompute=recompute if server else None,
    )


def forged(chosen: random.Random) -> tuple[str, bytes]:
    """What was done to the evidence, and the bundle, whose index fits."""
    found, keys, record = whole()
    found = dict(found)
    names = sorted(set(found) - set(DOCUMENTS))
    does = chosen.choice([flip, flip, change, change, change, leave_out, cut, swap, double])
    said = does(chosen, names, found)
    index = {"preregistration_id": record}
    return f"{does.__name__} {said}", packed(found, keys=keys, index=index)


def flip(chosen: random.Random, names: list[str], found: dict[str, bytes]) -> str:
    name = chosen.choice(names)
    data = bytearray(found[name])
    for _ in range(chosen.choice([1, 1, 2, 8])):
        data[chosen.randrange(len(data))] ^= 1 << chosen.randrange(8)
    found[name] = bytes(data)
    return name


def change(chosen: random.Random, names: list[str], found: dict[str, bytes]) -> str:
    """A value of a text in JSON, which stays canonical; a leaf within its line too."""
    name = chosen.choice([each for each in names if each.endswith((".json", ".jsonl", ".leaf"))])
    *before, last = found[name].rstrip(b"\n").split(b"\n")
    lines = [*before, last]
    place = chosen.randrange(len(lines))
    value = json.loads(lines[place])
    if name.endswith(".jsonl") and chosen.random() < 0.7:
        value["leaf"] = _text(_changed(chosen, json.loads(value["leaf"])))
    else:
        value = _changed(chosen, value)
    lines[place] = _text(value).encode()
    found[name] = b"\n".join(lines) + (b"\n" if name.endswith(".jsonl") else b"")
    return name


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _changed(chosen: random.Random, value: Any) -> Any:
    if isinstance(value, dict) and value and chosen.random() < 0.95:
        name = chosen.choice(sorted(value))
        if chosen.random() < 0.1:
            return {each: inner for each, inner in value.items() if each != name}
        return value | {name: _changed(chosen, value[name])}
    if isinstance(value, list) and value and chosen.random() < 0.95:
        place = chosen.randrange(len(value))
        if chosen.random() < 0.2:
            return value[:place] + value[place + 1 :]
        return [*value[:place], _changed(chosen, value[place]), *value[place + 1 :]]
    return chosen.choice([each for each in ODD if each != value])


def leave_out(chosen: random.Random, names: list[str], found: dict[str, bytes]) -> str:
    gone = chosen.sample(names, chosen.choice([1, 1, 2, 3]))
    for name in gone:
        del found[name]
    return " ".join(gone)


def cut(chosen: random.Random, names: list[str], found: dict[str, bytes]) -> str:
    name = chosen.choice(names)
    found[name] = found[name][: chosen.randrange(len(found[name]))]
    return name


def swap(chosen: random.Random, names: list[str], found: dict[str, bytes]) -> str:
    one, other = chosen.sample(names, 2)
    found[one], found[other] = found[other], found[one]
    return f"{one} {other}"


def double(chosen: random.Random, names: list[str], found: dict[str, bytes]) -> str:
    """A line, or a part, twice or in another place."""
    name = chosen.choice(names)
    pieces = found[name].split(b"\n")
    place = chosen.randrange(len(pieces))
    found[name] = b"\n".join([*pieces[:place], pieces[place], *pieces[place:]]) + chosen.choice([b"", b"\n"])
    return name


def evidence(data: bytes) -> dict[str, bytes]:
    """The members that outcomes rest on: an older checkpoint may be left out, which shows more of the log."""
    return {
        name: each
        for name, each in members(data).items()
        if name not in DOCUMENTS and not name.startswith("checkpoints/")
    }


def campaign(n: int, seed: int) -> dict[str, int]:
    """How many forgeries ended with which status. None that is accepted has other evidence than the real one."""
    chosen = random.Random(seed)
    real = evidence(packed(whole()[0], keys=whole()[1]))
    ended: dict[str, int] = {"the same": 0}
    for _ in range(n):
        said, data = forged(chosen)
        if evidence(data) == real:
            ended["the same"] += 1
            continue
        alone = report_of(data, server=False)
        status = exit_status(alone)
        assert status not in ACCEPTED, said
        # the server package adds a check and takes none away: what failed without it fails with it
        judged = status if alone.has("fail") else exit_status(report_of(data, server=True))
        assert judged not in ACCEPTED, said
        ended[f"{status}/{judged}"] = ended.get(f"{status}/{judged}", 0) + 1
    return ended


def test_the_real_one_is_accepted() -> None:
    data = packed(whole()[0], keys=whole()[1], index={"preregistration_id": whole()[2]})
    assert exit_status(report_of(data, server=False)) in ACCEPTED
    assert exit_status(report_of(data, server=True)) in ACCEPTED | {5}


def test_no_random_forgery_is_accepted() -> None:
    ended = campaign(250, seed=26)
    assert sum(ended.values()) == 250
    assert set(ended) <= {"the same", "3/3", "1/1"}


@pytest.mark.slow
def test_none_of_thirteen_thousand_random_forgeries_is_accepted() -> None:
    ended = campaign(13_000, seed=27)
    assert ended["the same"] < 1_500
    assert set(ended) <= {"the same", "3/3", "1/1"}
