"""`forelock artefacts`: the files that the imports of a judged record were made of."""

from __future__ import annotations

import argparse
import hashlib
from typing import Any

from forelock import text
from forelock.arguments import positive
from forelock.client import Client
from forelock.commands.common import command
from forelock.printing import show
from forelock.problem import FileFault, ForelockError
from forelock.replacing import replacing
from forelock.words import Say, say_of


def add(commands: Any) -> None:
    """Add the parser of this command to the command line."""
    parser = command(
        commands, "artefacts", _show_artefacts, "The files that imports were made of, after the verdict."
    )
    parser.add_argument("id", help="the preregistration")
    parser.add_argument("--fetch", type=positive, metavar="NUMBER", help="download the file of this import")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="where to write it (default: ID-import-NUMBER)"
    )


def _show_artefacts(options: argparse.Namespace, client: Client) -> int:
    """List the files that a record's imports kept, or fetch one into a file once its hash is what was listed."""
    if options.fetch is None:
        if options.output is not None:
            raise FileFault("--output needs --fetch NUMBER: the number of the import")
        listed, say = list(client.artefacts(options.id)), say_of(options)
        return show(options, listed, "\n".join(_line(entry, say) for entry in listed) or say("no_import"))
    target = options.output or f"{options.id}-import-{options.fetch}"
    known = {line["number"]: line["sha256"] for line in client.artefacts(options.id)}
    digest = hashlib.sha256()
    with replacing(target) as file:
        size = client.artefact(options.id, options.fetch, file)
        file.seek(0)
        while piece := file.read(1 << 20):
            digest.update(piece)
        if digest.hexdigest() != known.get(options.fetch):
            raise ForelockError(
                "the service sent another file than the one that it lists; nothing was written"
            )
    written = {"file": target, "bytes": size, "sha256": digest.hexdigest()}
    return show(
        options, written, say_of(options)("file_saved", file=target, size=size, sha256=digest.hexdigest())
    )


def _line(listed: dict[str, Any], say: Say) -> str:
    remark = "" if listed["kept"] else say("not_kept")
    form = text.plain(listed["format"])
    size = say("count_bytes", n=listed["size"])
    return f"{listed['number']}  {listed['received_at']}  {form}  {size}  {listed['sha256']}{remark}"
