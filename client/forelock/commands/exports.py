"""`forelock export` and `forelock stamps`: records for the tools of others, and what outside witnesses gave."""

from __future__ import annotations

import argparse
import base64
import binascii
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from forelock import files, text
from forelock.client import Client
from forelock.commands.common import bare, command, group
from forelock.printing import put_out
from forelock.problem import FileFault, ForelockError, ForelockProblem
from forelock.replacing import replacing
from forelock.server_package import translator_of
from forelock.witness import Kind, Stamp, StampResult, WitnessFault
from forelock.witness.chain import read_certificates
from forelock.witness.checking import verify
from forelock.witness.opentimestamps import MAGIC, merge
from forelock.witness.stamp import KINDS, checkpoint_name, require_size, stem_of
from forelock.words import language_of, say_of

FORMATS = {
    "intoto": "lock.intoto.json",
    "dsse": "lock.dsse.json",
    "prml": "prml",
    "verdict-intoto": "verdict.intoto.json",
    "verdict-dsse": "verdict.dsse.json",
    "eval-results": "verdict.eval-results.yaml",
    "model-index": "verdict.model-index.yaml",
    "otlp": "verdict.otlp.json",
    "cff": "citation.cff",
    "bibtex": "citation.bib",
}
OF_SCORES: Mapping[str, tuple[str, ...]] = {
    "eval-results": ("dataset", "task"),
    "model-index": ("dataset", "task", "model"),
}
"""What a file of the Hub names besides the record."""
VERIFIED, NOT_PROVEN, BROKEN = 0, 1, 3


def add(commands: Any) -> None:
    """Add the parsers of these commands to the command line."""
    export = command(commands, "export", _export, "Print or save a lock or a verdict for tools that exist.")
    export.add_argument("id", help="the preregistration")
    export.add_argument(
        "--format",
        choices=tuple(FORMATS),
        required=True,
        help="of the lock an in-toto statement, the same signed, or PRML; of the verdict the first two, a score for "
        "the Hugging Face Hub, or OpenTelemetry events; of either a citation (cff, bibtex)",
    )
    export.add_argument(
        "--hypothesis", metavar="ID", help="of PRML and of the Hub's files; needed where the plan has several"
    )
    export.add_argument("--dataset", metavar="ID", help="of the Hub's files: the data set, such as cais/hle")
    export.add_argument(
        "--task",
        metavar="NAME",
        help="of eval-results the benchmark's task, of model-index the Hub's task type",
    )
    export.add_argument("--model", metavar="NAME", help="of model-index: what the card calls the model")
    export.add_argument("--output", type=Path, metavar="FILE", help="where to; default: standard output")

    steps = group(commands, "stamps", "Save and check what outside witnesses gave.")
    save = command(steps, "save", _save, "Save the stamps of a record with the checkpoints that they are of.")
    save.add_argument("id", help="the preregistration")
    save.add_argument("directory", type=Path, help="where to; made if it is not there")

    check = bare(
        steps,
        "check",
        "Check a stamp without service, key or network: status 0 when somebody you named vouches for the time, "
        "1 when nobody does yet, 3 when it does not hold.",
    )
    check.add_argument("stamp", help="the .tsr or .ots file")
    check.add_argument(
        "--of", required=True, metavar="FILE", help="the checkpoint that it is of, byte for byte"
    )
    check.add_argument("--roots", metavar="FILE", help="PEM file of the time stamp authority's root")
    check.add_argument(
        "--bitcoin-header",
        action="append",
        default=[],
        metavar="FILE",
        help="a block header, 80 bytes or in hexadecimal; may be given several times",
    )
    check.add_argument("--json", action="store_true", help="print what was found as JSON")
    check.set_defaults(handler=_check)


def _export(options: argparse.Namespace, client: Client) -> int:
    """Export a verdict in a format, to a file or to standard output."""
    query = {
        name: value for name in ("dataset", "task", "model") if (value := getattr(options, name)) is not None
    }
    takes = OF_SCORES.get(options.format, ())
    if missing := [name for name in takes if name not in query]:
        raise FileFault(f"--format {options.format} needs --{' and --'.join(missing)}")
    if unused := [name for name in query if name not in takes]:
        raise FileFault(f"--{unused[0]} says nothing of --format {options.format}: leave it out")
    content = client.export(options.id, FORMATS[options.format], hypothesis=options.hypothesis, **query)
    if options.output is None:
        return put_out(content)
    _write(options.output, content)
    return 0


def _save(options: argparse.Namespace, client: Client) -> int:
    """Save the stamps of a record as files in a directory, whose names are printed."""
    stamps = client.stamps(options.id)
    if options.json:
        print(text.json_text({"items": stamps}))
    files: dict[Path, bytes] = {}
    for stamp in stamps:
        files |= _name_files(options.directory, stamp)
    if files:
        try:
            options.directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileFault(f"{options.directory}: {error.strerror or 'cannot be made'}") from error
    for path, content in _join(files).items():
        _write(path, content)
        if not options.json:
            print(text.plain(path))
    if not stamps and not options.json:
        print(say_of(options)("no_stamp"))
    return 0


def _name_files(directory: Path, stamp: Mapping[str, Any]) -> dict[Path, bytes]:
    """Return what a stamp is saved as. Names are made of words that are known: the service does not choose them."""
    try:
        kind = next(known for known in KINDS if known == stamp["kind"])
        of = "".join(letter for letter in stamp["of"] if letter in "abcdefghijklmnopqrstuvwxyz_")
        sequence = int(stamp["sequence"])
        name = stem_of(of, sequence, kind)
        content = base64.b64decode(stamp["stamp"], validate=True)
        return {
            directory / (name + Stamp(kind, content).suffix): content,
            directory / checkpoint_name(of, sequence, kind): stamp["checkpoint"].encode(),
            directory / f"{name}.tlog-proof": stamp["proof"].encode(),
        }
    except (KeyError, StopIteration, TypeError, ValueError, AttributeError, binascii.Error):
        raise ForelockProblem(200, "not_forelock", "the answer holds what is no stamp") from None


def _join(made: Mapping[Path, bytes]) -> dict[Path, bytes]:
    """Return the files with what was saved before, which whoever answers cannot take away.

    Raises:
        ForelockError: what is there is of another checkpoint or entry.
    """
    joined = {}
    for path, content in made.items():
        before = files.read_bytes(str(path)) if path.exists() else content
        if path.suffix == ".tsr":
            content = before  # the first one is the earliest
        elif path.suffix == ".ots":
            try:
                content = content if before == content else merge(before, content)
            except WitnessFault as fault:
                raise ForelockError(f"{path}: stays as it is: {fault}") from None
        elif before != content:
            raise ForelockError(
                f"{path}: stays as it is: the service answers another one now; save into another directory, and compare"
            )
        joined[path] = content
    return joined


def _write(path: Path, content: bytes) -> None:
    """Write all of it or nothing; what was there is replaced."""
    with replacing(str(path)) as file:
        file.write(content)


def _check(options: argparse.Namespace) -> int:
    """Check a stamp against the checkpoint it is of, and print what it proves; the exit status says whether it does."""
    data = files.read_bytes(options.stamp)
    checkpoint = files.read_bytes(options.of)
    headers = [files.read_bytes(path) for path in options.bitcoin_header]
    said = translator_of(language_of(options))
    try:
        require_size(data, "stamp")
        require_size(checkpoint, "checkpoint")
        roots = read_certificates(files.read_bytes(options.roots)) if options.roots else []
        kind: Kind = "opentimestamps" if data.startswith(MAGIC) else "rfc3161"
        attested: StampResult = verify(Stamp(kind, data), checkpoint, roots, headers)
    except WitnessFault as fault:
        print(f"forelock: {text.plain(said(str(fault)))}", file=sys.stderr)
        return BROKEN
    if options.json:
        print(text.json_text({"state": attested.state, "sentences": list(attested.sentences)}))
    else:
        for sentence in attested.sentences:
            print(text.plain(said(sentence)))
    return VERIFIED if attested.state == "verified" else NOT_PROVEN
