"""`forelock completion`: what a shell needs to complete commands, options and files."""

from __future__ import annotations

import argparse
from typing import Any

from forelock.commands.common import bare

SHELLS = ("bash", "zsh", "tcsh")


def add(commands: Any) -> None:
    """Add the parser of this command to the command line."""
    parser = bare(commands, "completion", "Print the completion script of a shell.")
    parser.add_argument("shell", choices=SHELLS)
    parser.add_argument("--json", action="store_true", help="print it as a JSON string")
    parser.set_defaults(handler=_print)


def _print(options: argparse.Namespace) -> int:
    import json

    import shtab

    script = shtab.complete(options.whole(), shell=options.shell)
    print(json.dumps(script) if options.json else script)
    return 0
