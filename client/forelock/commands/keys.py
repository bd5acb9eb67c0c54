"""`forelock keys`: make, list and revoke API keys."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from forelock import files, text
from forelock.client import Client
from forelock.commands.common import command, group
from forelock.printing import show, show_ended, tell
from forelock.words import say_of

WRITE_ONLY = ("results:write",)


def add(commands: Any) -> None:
    """Add the parsers of these commands to the command line."""
    steps = group(commands, "keys", "Make, list and revoke API keys.")
    create = command(
        steps, "create", _create, "Make a key; by default one that posts results and reads nothing."
    )
    create.add_argument("name", help="who or what will use it")
    create.add_argument(
        "--scope",
        action="append",
        metavar="SCOPE",
        help="what it may do; may be repeated (default: results:write)",
    )
    create.add_argument("--person", action="store_true", help="of a person, not of a job")
    create.add_argument(
        "--out", type=Path, metavar="FILE", help="write the secret to this new file, not to standard output"
    )
    command(steps, "list", _list, "List the project's keys, without their secrets.")
    revoke = command(steps, "revoke", _revoke, "Revoke a key.")
    revoke.add_argument("id", help="the key's id")


def _create(options: argparse.Namespace, client: Client) -> int:
    """Create a key and print its secret, or write it to a new file; a key whose file fails is revoked."""
    files.require_new(options.out)
    made = client.create_key(
        options.name, options.scope or WRITE_ONLY, kind="person" if options.person else "job"
    )
    tell(
        say_of(options)("key_made", id=text.plain(made["key"]["id"]), scopes=", ".join(made["key"]["scopes"]))
    )
    if options.out is None:
        return show(options, made, made["secret"])
    try:
        files.write_secret(options.out, made["secret"])
    except OSError as error:
        client.revoke_key(made["key"]["id"])
        raise files.unwritten(options.out, error, "; the key is revoked") from error
    return show(options, {"key": made["key"], "file": str(options.out)}, str(options.out))


def _list(options: argparse.Namespace, client: Client) -> int:
    keys = list(client.keys())
    lines = [
        f"{text.plain(key['id'])}  {text.plain(key['prefix'])}…  {key['kind']:<6}  {text.plain(key['name'])}: "
        f"{', '.join(key['scopes'])}" + (say_of(options)("key_revoked") if key.get("revoked_at") else "")
        for key in keys
    ]
    return show(options, keys, "\n".join(lines) or say_of(options)("no_keys"))


def _revoke(options: argparse.Namespace, client: Client) -> int:
    client.revoke_key(options.id)
    return show_ended(options, "revoked")
