"""What the server package adds to the client where both are installed, and what is loaded without being asked."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys

import pytest

from forelock import server_package


def test_server_commands_are_added_by_entry_point(command, monkeypatch):
    def commands(subparsers):
        parser = subparsers.add_parser("greet")
        parser.set_defaults(handler=lambda _options: 42)

    class Entry:
        @staticmethod
        def load():
            return commands

    entries = {"forelock.commands": [Entry]}
    monkeypatch.setattr(server_package, "offers", lambda group: entries.get(group, []))
    assert command("greet")[0] == 42


def test_a_client_alone_is_offered_nothing(monkeypatch):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(server_package, "distribution", missing)
    server_package.offers.cache_clear()
    try:
        assert not server_package.offers("forelock.local")
    finally:
        server_package.offers.cache_clear()


def test_a_job_does_not_load_the_server(service, command, monkeypatch):
    def refuse(_group):
        raise AssertionError("the server's commands were looked for")

    monkeypatch.setattr(server_package, "offers", refuse)
    service.will_answer(200, {"id": "p1", "state": "draft", "version": 1, "plan": {}, "plan_sha256": None})
    assert command("plan", "show", "p1")[0] == 0


@pytest.mark.parametrize(("arguments", "loads"), [(["serve", "--help"], False), (["plan", "--help"], True)])
def test_a_command_of_the_server_loads_nothing_of_the_client(arguments: list[str], loads: bool) -> None:
    program = (
        "import sys\nfrom forelock.cli import main\n"
        f"try: main({arguments!r})\nexcept SystemExit: print('httpx' in sys.modules, file=sys.stderr)"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stderr
    assert told == f"{loads}\n"
