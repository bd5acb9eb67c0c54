"""VERIFY.md: what is in a bundle and how anybody checks it, with our program or with others."""

from __future__ import annotations

_GUIDE = """\
# How to check this bundle

    pip install ./client        (in a checkout of Forelock; or the client's wheel)
    forelock verify {name}.zip

It uses no network and believes nothing that this file says of itself. With the server package
(`forelock-server`) it also computes the verdict again from the rows.

Exit status: 0 supported, 10 not supported, 11 equivalent, 12 inconclusive, 4 invalid; 1 no verdict yet;
3 a hash, a proof or a signature does not hold; 5 not reproducible here; 2 wrong usage. Of several
hypotheses the first of 4, 12, 10, 11, 0 that is present counts.

Give it a checkpoint of the ledger that you kept from before (`--checkpoint FILE`), and the service's key
that you know (`--key NAME+ID+BASE64`). Without them a service that rewrote everything could not be told
from an honest one.

What is in it, and what shows that it is whole:

- `checkpoint`: signed note of the ledger (C2SP tlog-checkpoint). Its signature.
- `receipts/N.leaf`: entry N of the ledger, RFC 8785 text. `receipts/N.tlog-proof` beside it (C2SP
  tlog-proof): the SHA-256 of a zero byte and the text is in the log of the checkpoint.
- `batches.jsonl`: entries of batches, one per line, each with the same proof.
- `plans/V.json`: the locked plan, version V. Its SHA-256 is `plan_sha256` of its entry.
- `manifests/K.json`: items of the plan's population K, counted from 0. Its SHA-256 is `items_sha256`.
- `rows.bin`: the rows, a block per batch in order: 16 bytes of salt, then as columns, little endian,
  position (int32), replicate (uint16), value (float64), status (uint8), time (int64). The SHA-256 of a
  block is `commitment_sha256` of its entry.
- `verdict.json`: the verdict, byte for byte. Its SHA-256 is `verdict_sha256` of its entry.
- `deviations/`: deviations and decisions about them. Their SHA-256 are in their entries.
- `checkpoints/`: earlier checkpoints, consistency proofs to this one (RFC 9162), time stamps of outside
  witnesses.
- `bundle.json`: every other file with its SHA-256, and the keys of the log, oldest first.
- `VERIFY.md`, `documents/`: the same in words, for people. They are not evidence.

Before the verdict a bundle holds the plan, its items and the receipt of the lock alone.
"""


def print_guide(preregistration_id: str) -> str:
    """Return the guide of a record's bundle."""
    return _GUIDE.format(name=preregistration_id)
