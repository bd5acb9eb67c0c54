"""`forelock mcp`: the questions and reads of this command as tools of an agent."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from forelock import settings, text
from forelock.client import Client
from forelock.commands.common import add_service, bare
from forelock.problem import FileFault

ABSENT = "the MCP server needs the package mcp: install forelock[mcp] in the place of forelock"


def add(commands: Any) -> None:
    """Add the parser of this command to the command line."""
    parser = bare(commands, "mcp", "Serve an agent over standard input and output (Model Context Protocol).")
    add_service(parser)
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="where the agent may name files (default: here)",
    )
    parser.add_argument(
        "--allow-lock", action="store_true", help="also offer to lock plans; a person is asked each time"
    )
    parser.set_defaults(handler=_serve)


def _serve(options: argparse.Namespace) -> int:
    """Serve the tools of the Model Context Protocol on standard input and output until it ends."""
    try:
        from forelock.mcp_server.server import make_server
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] not in ("mcp", "mcp_types", "pydantic"):
            raise
        raise FileFault(ABSENT) from None
    from forelock.mcp_server.questions import Questions
    from forelock.mcp_server.records import Records

    if not options.folder.is_dir():
        raise FileFault(f"{options.folder}: is no folder")
    key = settings.api_key(None, options.key_file)
    service = [f"--url={options.url}"] if options.url else []
    service += [f"--key-file={options.key_file.resolve()}"] if options.key_file else []

    @contextlib.contextmanager
    def open_client() -> Iterator[Client]:
        with Client(options.url, key) as client:
            yield client

    questions = Questions(options.ask, options.folder, service, options.lang or "en")
    make_server(questions, Records(open_client), _check_bundle, locks=options.allow_lock).run("stdio")
    return 0


def _check_bundle(bundle: str, checkpoints: Sequence[str], keys: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """Check a bundle as `forelock verify` does, and return its report as text, free of secrets, and as JSON."""
    from forelock.bundles.words import as_json, as_text
    from forelock.commands.bundles import check_bundle, read_key

    try:
        trusted = [read_key(key) for key in keys]
    except argparse.ArgumentTypeError as fault:
        raise FileFault(str(fault)) from None
    report, status = check_bundle(bundle, checkpoints=checkpoints, keys=trusted)
    return text.mask(as_text(report, bundle, status)), as_json(report, bundle, status)
