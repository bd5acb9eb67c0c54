"""`forelock deviations`, `looks`, `multiverse`, `calibrate` and `completion`; `--json` for every command."""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Iterator
from importlib import import_module

import pytest

from forelock.cli import NOUNS, whole
from service.api.examples.deviations import DEVIATION, FILING


def leaves(
    parser: argparse.ArgumentParser, path: tuple[str, ...] = ()
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command that does something, by its words."""
    groups = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    if not groups:
        yield " ".join(path), parser
    for group in groups:
        for name, inner in group.choices.items():
            yield from leaves(inner, (*path, name))


def test_every_command_of_the_client_answers_as_json() -> None:
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers()
    for noun in NOUNS:
        import_module(f"forelock.commands.{noun}").add(commands)
    found = dict(leaves(parser))
    assert len(found) > 60
    without = {name for name, leaf in found.items() if "--json" not in leaf._option_string_actions}
    assert without == {"mcp"}, "its standard output is the protocol's"


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion_knows_every_command(command, shell) -> None:
    status, script, _ = command("completion", shell)
    assert status == 0
    for name, _parser in leaves(whole()):
        assert name.split()[-1] in script
    if shell == "bash":
        assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0


def test_deviations_are_listed_and_filed(service, command, tmp_path) -> None:
    service.will_answer(200, {"items": [DEVIATION], "next_cursor": None})
    status, output, _ = command("deviations", "p1")
    assert status == 0
    assert output.startswith("1  ")
    assert "H1a sample size 500 to 400" in output
    (tmp_path / "filing.json").write_text(json.dumps(FILING))
    service.will_answer(201, DEVIATION)
    status, output, _ = command("deviations", "p1", "--file", str(tmp_path / "filing.json"), "--json")
    assert json.loads(output) == DEVIATION
    assert service.sent() == FILING
    assert service.header("Idempotency-Key")[-1]


def test_looks_are_shown_and_the_one_that_is_due_is_taken(service, command) -> None:
    service.will_answer(200, {
        "state": "collecting", "planned": {"p": [125, 250]}, "units": {"p": 260},
        "taken": [{"look": 1, "decision": "continue", "units": {"p": 125}}], "due": 2,
    })  # fmt: skip
    status, output, _ = command("looks", "p1")
    assert (status, output) == (
        0,
        "planned for p: 125, 250\nlook 1: continue\nlook 2 is due: `forelock looks p1 --take`\n",
    )
    service.will_answer(202, {"id": "j1", "state": "queued"}, Location="/v1/jobs/j1")
    service.will_answer(200, {"id": "j1", "state": "succeeded", "result": {"look": 2, "decision": "stop"}})
    assert command("looks", "p1", "--take")[:2] == (0, "look: stop\n")


def test_a_multiverse_is_its_sentences(service, command) -> None:
    found = {"hypotheses": [{"sentence": "H1a passes in 1 of 2."}], "reasons": [], "note": "No probability."}
    service.will_answer(200, found)
    assert command("multiverse", "p1")[:2] == (0, "H1a passes in 1 of 2.\nNo probability.\n")


def test_a_calibration_is_waited_for(service, command, tmp_path) -> None:
    (tmp_path / "pilot.json").write_text('{"pilot": [{"population": "p"}]}')
    service.will_answer(202, {"id": "j1", "state": "queued"}, Location="/v1/jobs/j1")
    service.will_answer(200, {"id": "j1", "state": "running"})
    found = {"hypotheses": [{"hypothesis": "H1", "sentence": "It passed in 4 of 100 runs."}]}
    service.will_answer(200, {"id": "j1", "state": "succeeded", "result": found})
    status, output, _ = command("calibrate", "p1", "--runs", "100", "--pilot", str(tmp_path / "pilot.json"))
    assert (status, output) == (0, "It passed in 4 of 100 runs.\n")
    (sent,) = (json.loads(each.content) for each in service.requests if each.method == "POST")
    assert sent == {"runs": 100, "seed": 1, "pilot": [{"population": "p"}]}
