"""The server's subcommands of the `forelock` command: serve, runner, init, migrate, backup, ledger and more."""

from __future__ import annotations

import argparse
import errno
import importlib
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from service.processes.complaints import report_failures

if TYPE_CHECKING:  # `serve` is the supervisor: what it does not load, it does not keep in memory
    from service.config import Settings

Handler = Callable[[argparse.Namespace], int]
_COPIES = {
    "database": ("backups", "back_up_database", "restore_database"),
    "keys": ("backups", "back_up_keys", "restore_keys"),
    "artefacts": ("objects", "back_up", "restore"),
}
"""What is copied: the module, what copies there, and what puts back."""


def commands(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the server's subcommands; each parser carries its `handler`."""

    def add(name: str, handler: Handler, summary: str) -> argparse.ArgumentParser:
        parser = subparsers.add_parser(name, help=summary, description=summary)
        parser.add_argument("--data", type=Path, metavar="DIR", help="data directory (default: .forelock)")
        parser.set_defaults(handler=_reporting(handler))
        return parser

    serve = add(
        "serve", _serve, "Run the API and one runner. On an empty data directory, make the first key."
    )
    serve.add_argument("--host", help="address to bind (default: 127.0.0.1)")
    serve.add_argument("--port", type=int, help="port to bind; 0 takes a free one (default: 8321)")
    serve.add_argument("--no-runner", action="store_true", help="the runner is started elsewhere")
    add("runner", _runner, "Run a runner alone: it computes the jobs and holds the key that opens rows.")
    add("init", _init, "Create the database, the keys, the project 'default' and the first API key.")
    add("migrate", _migrate, "Bring the database's schema up to this version.")
    for act, handler, summary in (
        (
            "backup",
            _backup,
            "Copy the database, or the keys, to a new file, or kept files to a directory; the service may be running.",
        ),
        ("restore", _restore, "Make the database, or the keys, from such a file, or put kept files back."),
    ):
        copies = add(act, handler, summary)
        copies.add_argument("what", choices=tuple(_COPIES), help="one at a time: they are kept apart")
        copies.add_argument("file", type=Path, metavar="FILE", help="the copy")
    altered = add("alterations", _alterations, "List stored records that were found altered.")
    altered.add_argument(
        "--forget", action="store_true", help="when you have looked: readiness is green again"
    )
    rebuild = add(
        "rebuild-coverage", _rebuild_coverage, "Make what counts as in of a record anew from its batches."
    )
    rebuild.add_argument("id", help="the preregistration")
    objects = add(
        "objects", _objects, "Hold the files of imports that are kept against what the database names."
    )
    objects.add_argument("--read", action="store_true", help="read each of them to see whether it is whole")
    objects.add_argument("--remove", action="store_true", help="take away files that no import names")
    log = add(
        "ledger", _ledger, "Show who signs the ledger and how far; change its key, or go on after a restore."
    )
    log.add_argument(
        "act", choices=("status", "rotate", "resume"), help="rotate: a new key; resume: a new name, on record"
    )
    log.add_argument("--reason", help="resume: what happened; anybody can read it")
    log.add_argument("--origin", help="resume: the new name (default: one that no other log has)")
    log.add_argument(
        "--checkpoint",
        type=Path,
        metavar="FILE",
        help="resume: the newest checkpoint of the lost log that was kept",
    )


def list_given(arguments: argparse.Namespace) -> dict[str, str | int]:
    """Return the settings that the command line names."""
    data = getattr(arguments, "data", None)
    options = {
        "data_dir": None if data is None else str(data),
        "host": getattr(arguments, "host", None),
        "port": getattr(arguments, "port", None),
    }
    return {name: value for name, value in options.items() if value is not None}


def settings_from(arguments: argparse.Namespace) -> Settings:
    """Return the environment's settings, overridden by what the command line names."""
    from service import main

    return main.settings_of(list_given(arguments))


def _reporting(handler: Handler) -> Handler:
    """A failure the operator can mend is one sentence and exit status 1, not a traceback."""

    def run(arguments: argparse.Namespace) -> int:
        os.umask(0o077)  # databases, keys and logs are for their owner
        return report_failures(lambda: handler(arguments))

    return run


def _init(arguments: argparse.Namespace) -> int:
    from service import main

    path = main.initialise(settings_from(arguments))
    sys.stdout.write(f"The first API key, with every scope, is in {path}\n")
    return 0


def _migrate(arguments: argparse.Namespace) -> int:
    from service import main

    sys.stdout.write(f"The schema is at revision {main.migrate(settings_from(arguments))}\n")
    return 0


def _backup(arguments: argparse.Namespace) -> int:
    return _copy(arguments, 0)


def _restore(arguments: argparse.Namespace) -> int:
    return _copy(arguments, 1)


def _copy(arguments: argparse.Namespace, way: int) -> int:
    module, *acts = _COPIES[arguments.what]
    act = getattr(importlib.import_module(f"service.operation.{module}"), acts[way])
    return _say(act(settings_from(arguments), arguments.file))


def _objects(arguments: argparse.Namespace) -> int:
    from service.operation import objects

    standing = objects.compare(settings_from(arguments), read=arguments.read, remove=arguments.remove)
    _say(objects.describe(standing, removed=arguments.remove))
    return 1 if standing.missing or standing.altered else 0


def _say(lines: list[str]) -> int:
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 0


def _alterations(arguments: argparse.Namespace) -> int:
    from service import main

    alterations = main.alterations(settings_from(arguments), forget=arguments.forget)
    for alteration in alterations:
        sys.stdout.write(f"{alteration.kind} of {alteration.subject}\n")
    forgotten = " and forgotten" if arguments.forget else ""
    sys.stdout.write(f"{len(alterations)} found{forgotten}\n")
    return 0


def _rebuild_coverage(arguments: argparse.Namespace) -> int:
    """Make a record's coverage anew from its batches and print what is in; 1 where results came twice."""
    from service import main

    rebuilt = main.rebuild_coverage(settings_from(arguments), arguments.id)
    sys.stdout.write(
        f"{rebuilt.received} of {rebuilt.expected} results are in; cells made anew: {rebuilt.changed}\n"
    )
    if rebuilt.twice:
        numbers = ", ".join(map(str, sorted(rebuilt.twice)))
        sys.stdout.write(
            f"These batches hold results that an earlier one has: {numbers}. Void them, then run this again.\n"
        )
    elif rebuilt.complete:
        sys.stdout.write("Every planned result is in: the verdict is queued\n")
    return 1 if rebuilt.twice else 0


def _ledger(arguments: argparse.Namespace) -> int:
    """Change the ledger's key or go on after a restore, if told to, and show who signs it and how far.

    1 if it is not whole.
    """
    from service import main
    from service.operation import ledger_commands

    with main.ledger_signer(settings_from(arguments)) as signer:
        if arguments.act == "rotate":
            ledger_commands.rotate(signer, settings_from(arguments).signing_key_path)
        elif arguments.act == "resume":
            known = None if arguments.checkpoint is None else arguments.checkpoint.read_text("utf-8")
            ledger_commands.resume(signer, arguments.origin, arguments.reason, known)
        text, whole = ledger_commands.status(signer)
    sys.stdout.write(text)
    return 0 if whole else 1


def _explain_no_port(error: OSError) -> str:
    """Say why a port cannot be listened on, and the way out."""
    if error.errno in (errno.EADDRINUSE, errno.EACCES):
        return f"{error.strerror}; choose another with --port (0 takes a free one)"
    return f"{error.strerror}; name one of this machine's with --host"


def _serve(arguments: argparse.Namespace) -> int:
    """Start the runner, learn from it where to listen, then start the API's processes and watch over all of them."""
    from service.processes.supervise import Child, Supervisor, leave, listen

    # One thread per product: sums then do not depend on the machine's cores, and small ones are faster. Two pools
    # of memory: glibc makes up to eight a core, and what threads leave free in one is no use to another.
    few = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
    environment = {**few, **os.environ}
    python = ["-m", "service.main"]
    supervisor = Supervisor(python, environment, nursery=["-m", "service.nursery"])
    read, write = os.pipe()
    role = "prepare" if arguments.no_runner else "runner"
    words = (role, json.dumps(list_given(arguments)), "@0")
    first = Child("runner", words, (write,))
    supervisor.first(first)
    os.close(write)
    with os.fdopen(read) as report:
        text = report.read()
    if not text:  # it has said why, on the error stream
        return supervisor.give_up(first)
    listening = json.loads(text)
    host, port = listening["host"], listening["port"]
    try:
        server = listen(host, port)
    except OSError as error:
        sys.stderr.write(f"forelock: cannot listen on {host} port {port}: {_explain_no_port(error)}\n")
        supervisor.stop()
        return 1
    supervisor.tell(
        {"FORELOCK_DATA_DIR": listening["data_dir"], "FORELOCK_HOST": host, "FORELOCK_PORT": str(port)}
    )
    if listening["workers"] > 1:
        from service.processes import tallies

        supervisor.tell({tallies.VARIABLE: str(tallies.begin(Path(listening["data_dir"])))})
    children = [
        Child(
            f"api {number + 1}",
            ("api", "@0"),
            (server.fileno(),),
            withheld=frozenset({"FORELOCK_SEAL_PRIVATE_KEY", "FORELOCK_RUNNER_DATABASE_URL"}),
        )
        for number in range(listening["workers"])
    ]
    if arguments.no_runner:
        supervisor.forget(first)
    else:
        first.words, first.pass_fds = ("runner",), ()
    host_in_url = f"[{host}]" if ":" in host else host

    def announce() -> None:
        if listening["created"] is not None:
            sys.stdout.write(f"First API key, with every scope: {listening['created']}\n")
        sys.stdout.write(f"Forelock listens on http://{host_in_url}:{server.getsockname()[1]}\n")
        sys.stdout.flush()

    return leave(supervisor.run(children, announce))


def _runner(arguments: argparse.Namespace) -> int:
    from service import main
    from service.processes.supervise import leave

    runner = main.build_runner(settings_from(arguments))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: runner.stop())
    runner.run()
    return leave(0)
