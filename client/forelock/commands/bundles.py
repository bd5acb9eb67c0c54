"""`forelock bundle`, `checkpoint` and `verify`: take home what shows a record to be what it says, and check it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from itertools import islice
from typing import Any

from forelock import files, settings, text
from forelock.arguments import positive
from forelock.bundles.findings import Report
from forelock.bundles.stamps import Witnesses
from forelock.bundles.verifying import Kept, Recompute, exit_status, verify
from forelock.bundles.words import as_json, as_text
from forelock.client import Client
from forelock.commands.common import bare, command
from forelock.help_words import spoken
from forelock.printing import show, tell
from forelock.problem import FileFault, ForelockError, ForelockProblem
from forelock.replacing import replacing
from forelock.server_package import offers, translator_of
from forelock.transparency.checkpoints import read_checkpoint
from forelock.transparency.faults import TransparencyFault
from forelock.transparency.logs import open_newest, require_grown
from forelock.transparency.notes import MAX_BYTES, VerifierKey
from forelock.witness import WitnessFault
from forelock.witness.chain import read_certificates
from forelock.words import say_of

VERIFY_EPILOG = """\
exit status:
  0  everything that was checked holds, and every hypothesis is supported
 10  … and one is not supported        11  … and one is equivalent
 12  … and one is inconclusive          4  … and the verdict is invalid
  1  everything holds, and there is no verdict in it yet
  3  a hash, a proof or a signature does not hold, or the file is no whole bundle
  5  judged again here numbers differ, each within what another machine, library or release explains
  2  the command line is wrong, or a file cannot be read
of several hypotheses the first of 4, 12, 10, 11, 0 that is present
"""


def add(commands: Any) -> None:
    """Add the parsers of these commands to the command line."""
    parser = command(commands, "bundle", _bundle, "Download the bundle of a preregistration.")
    parser.add_argument("id", help="the preregistration")
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write it (default: ID.zip)")
    _add_kept(parser, "have it prove that the ledger goes on from this checkpoint")

    parser = command(commands, "receipts", _receipts, "What the ledger has of a record, newest first.")
    parser.add_argument("id", help="the preregistration")
    parser.add_argument(
        "--limit", type=positive, default=200, metavar="N", help="entries at most (default: 200)"
    )

    parser = command(commands, "checkpoint", _keep_checkpoint, "Keep the ledger's newest checkpoint.")
    parser.add_argument(
        "file", help="where; a checkpoint that is there is replaced by one that goes on from it"
    )
    _add_keys(parser)

    parser = bare(commands, "verify", "Check a bundle, without the service.")
    parser.epilog = VERIFY_EPILOG
    parser.add_argument("file", help="the bundle")
    _add_kept(parser, "a checkpoint that you kept: the bundle's ledger has to be the same one")
    _add_keys(parser)
    parser.add_argument(
        "--roots", metavar="FILE", help="PEM file of roots of time stamp authorities that you trust"
    )
    parser.add_argument(
        "--bitcoin-header",
        action="append",
        default=[],
        metavar="FILE",
        help="a block header that you got yourself, 80 bytes or in hexadecimal; repeatable",
    )
    parser.add_argument(
        "--url", help="service to ask for proofs that the bundle does not hold (default: none)"
    )
    parser.add_argument("--json", action="store_true", help="print what was checked as JSON")
    parser.set_defaults(handler=_verify)


def _add_kept(parser: argparse.ArgumentParser, words: str) -> None:
    parser.add_argument(
        "--checkpoint", action="append", default=[], metavar="FILE", help=f"{words}; repeatable"
    )


def _add_keys(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--key",
        action="append",
        default=[],
        type=read_key,
        metavar="VKEY",
        help="key that you trust to sign the ledger, NAME+ID+BASE64; repeatable",
    )


def read_key(argument: str) -> VerifierKey:
    """Return a key on the command line."""
    try:
        return VerifierKey.parse(argument)
    except TransparencyFault as fault:
        raise argparse.ArgumentTypeError(translator_of(spoken())(str(fault))) from None


def _receipts(options: argparse.Namespace, client: Client) -> int:
    receipts = list(islice(client.receipts(options.id), options.limit))
    lines = [
        f"{receipt['sequence']}  {receipt['at']}  {text.plain(receipt['kind'])}  {receipt['leaf_sha256']}"
        + ("" if receipt["checkpoint"] else say_of(options)("not_signed"))
        for receipt in receipts
    ]
    return show(options, receipts, "\n".join(lines) or say_of(options)("nothing_in_ledger"))


def _bundle(options: argparse.Namespace, client: Client) -> int:
    """Download a record's bundle, with proofs that lead on from the kept checkpoints.

    A file that is cut off is not left behind.
    """
    sizes = [read_checkpoint_file(path)[1] for path in options.checkpoint]
    target = options.output or f"{options.id}.zip"
    with replacing(target) as file:
        size = client.bundle(options.id, file, kept=sizes)
    return show(
        options,
        {"file": target, "bytes": size},
        say_of(options)("bundle_saved", file=target, size=size),
    )


def _keep_checkpoint(options: argparse.Namespace, client: Client) -> int:
    """Keep the service's newest checkpoint in a file, if the ledger there only grew since the one kept before."""
    there = os.path.exists(options.file)
    if there:
        read_checkpoint_file(options.file)
    note = client.checkpoint()
    try:
        log = open_newest(note, *_get_keys(client), trusted=options.key)
        if there:
            require_grown(
                log, _read_kept(options.file), lambda first, second: _get_proof(client, first, second)
            )
    except TransparencyFault as fault:
        stays = f"; {options.file} stays as it is, and another log is kept in another file" if there else ""
        raise ForelockError(f"the service's checkpoint was not kept: {fault}{stays}") from None
    with replacing(options.file) as file:
        file.write(note.encode())
    newest, key = log.checkpoint, log.keys[-1]
    if not there and not options.key:
        tell(say_of(options)("key_named_by_service", key=text.plain(key)))
    sentence = say_of(options)("checkpoint_kept", file=options.file, origin=newest.origin, n=newest.size)
    return show(
        options,
        {"file": options.file, "origin": newest.origin, "size": newest.size, "key": str(key)},
        text.plain(sentence),
    )


def _get_keys(client: Client) -> tuple[list[str], list[str]]:
    """Return the log's keys, oldest first, and the handovers between them, as the service tells them: to be checked."""
    signers = client.ledger_keys()
    whole = all(isinstance(signer, dict) and isinstance(signer.get("vkey"), str) for signer in signers)
    if not whole or not all(isinstance(signer.get("handover"), str) for signer in signers[1:]):
        raise ForelockProblem(200, "not_forelock", "the service does not tell which keys sign its ledger")
    return [signer["vkey"] for signer in signers], [signer["handover"] for signer in signers[1:]]


def _verify(options: argparse.Namespace) -> int:
    """Verify a bundle without trusting the service that made it, and print the report."""
    witnesses = _read_witnesses(options)
    client = Client(options.url, settings.api_key(None, None)) if options.url else None
    try:
        report, status = check_bundle(
            options.file, checkpoints=options.checkpoint, keys=options.key, witnesses=witnesses, client=client
        )
    finally:
        if client is not None:
            client.close()
    if options.json:
        print(text.json_text(as_json(report, options.file, status)))
    else:
        print(text.mask(as_text(report, options.file, status, say_of(options))))
    return status


def check_bundle(
    path: str,
    *,
    checkpoints: Sequence[str],
    keys: Sequence[VerifierKey],
    witnesses: Witnesses | None = None,
    client: Client | None = None,
) -> tuple[Report, int]:
    """Return what checking a bundle's file shows, and the exit status that says it.

    Args:
        path: of the bundle.
        checkpoints: files of those that somebody kept.
        keys: that are trusted to sign the ledger.
        witnesses: whose stamps count.
        client: of a service to ask for proofs that the bundle does not hold.

    Raises:
        FileFault: a file cannot be read.
    """
    kept = [Kept(note, _read_kept(note)) for note in checkpoints]
    try:
        with open(path, "rb") as file:
            report = verify(
                file,
                kept=kept,
                keys=keys,
                ask=None if client is None else lambda first, second: _get_proof(client, first, second),
                recompute=_find_recompute(),
                witnesses=witnesses or Witnesses([], []),
            )
    except OSError as error:
        raise FileFault(f"{path}: {error.strerror or 'cannot be read'}") from None
    return report, exit_status(report)


def _read_witnesses(options: argparse.Namespace) -> Witnesses:
    headers = [files.read_bytes(path) for path in options.bitcoin_header]
    try:
        roots = read_certificates(files.read_bytes(options.roots)) if options.roots else []
    except WitnessFault as fault:
        raise FileFault(f"{options.roots}: {fault}") from None
    return Witnesses(roots, headers)


def _find_recompute() -> Recompute | None:
    """Return how the server package judges again, where it is installed."""
    for entry in offers("forelock.recompute"):
        recompute: Recompute = entry.load()
        return recompute
    return None


def _get_proof(client: Client, first: int, second: int) -> Sequence[bytes] | None:
    """Ask the service for a proof that the log of `second` entries continues that of `first`; None if it gives none."""
    try:
        proof = client.consistency(first, second)
    except ForelockError as error:
        tell(f"forelock: the service gave no proof from {first} to {second} entries: {text.plain(error)}")
        return None
    try:
        return [bytes.fromhex(digest) for digest in proof]
    except ValueError:
        return None


def read_checkpoint_file(path: str) -> tuple[bytes, int]:
    """Return a kept checkpoint, and the size of the log that it is of."""
    note = _read_kept(path)
    try:
        return note, read_checkpoint(note).size
    except TransparencyFault as fault:
        raise FileFault(f"{path}: is no checkpoint: {fault}") from None


def _read_kept(path: str) -> bytes:
    if os.path.isfile(path) and os.path.getsize(path) > MAX_BYTES:
        raise FileFault(f"{path}: is too large to be a checkpoint")
    return files.read_bytes(path)
