from __future__ import annotations

import argparse
from collections.abc import Iterator

import pytest

from forelock import cli, topics


def test_every_command_stands_under_one_topic() -> None:
    commands = [name for topic in topics.TOPICS.values() for name in topic.commands]
    assert sorted(commands) == sorted(topics.summaries(cli.whole())), "client/forelock/topics.py: TOPICS"


@pytest.mark.parametrize(("arguments", "code"), [((), 2), (("help",), 0), (("--help",), 0)])
def test_the_first_screen_has_eight_commands_and_every_topic(command, arguments, code: int) -> None:
    status, screen, _ = command(*arguments)
    assert status == code
    assert [line.split()[0] for line in screen.splitlines()[4:12]] == list(topics.FIRST)
    assert all(f"\n  {name} " in screen for name in topics.TOPICS)
    assert len(screen.splitlines()) <= 24


@pytest.mark.parametrize("topic", topics.TOPICS)
def test_a_topic_lists_its_commands_and_shows_examples(command, topic: str) -> None:
    status, screen, _ = command("help", topic)
    assert status == 0
    assert all(f"\n  {name} " in screen for name in topics.TOPICS[topic].commands)
    assert "examples:\n  forelock " in screen


def test_help_of_all_has_every_command_and_the_exit_status(command) -> None:
    status, screen, _ = command("help", "all")
    assert status == 0
    assert all(f"\n  {name} " in screen for name in topics.summaries(cli.whole()))
    assert "exit status:" in screen


def test_help_of_a_command_is_its_own(command, capsys) -> None:
    status, screen, _ = command("help", "gate")
    assert (status, screen) == (0, command("gate", "--help")[1])
    assert "examples:\n  forelock gate old.csv new.csv --margin 2pp\n" in screen


EXAMPLES = [example for examples in topics.EXAMPLES.values() for example in examples]


@pytest.fixture(scope="module")
def whole() -> argparse.ArgumentParser:
    """The parser that knows every command; making it takes longer than any example."""
    return cli.whole()


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_a_command_that_exists(example: str, whole: argparse.ArgumentParser) -> None:
    import shlex

    options = cli._parse(whole, shlex.split(example))
    assert callable(options.handler)


def leaves(parser: argparse.ArgumentParser, name: str = "") -> Iterator[str]:
    """Every command that has none below it."""
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not below:
        yield name
    for word, command in (below[0].choices if below else {}).items():
        yield from leaves(command, f"{name} {word}".strip())


def test_every_command_shows_an_example() -> None:
    assert [name for name in leaves(cli.whole()) if not topics.examples_of(name)] == [], "topics.py: EXAMPLES"


@pytest.mark.parametrize("name", topics.EXAMPLES)
def test_examples_stand_in_the_help_of_their_command(command, name: str) -> None:
    screen = command(name, "--help")[1]
    assert all(f"\n  forelock {example}\n" in screen for example in topics.EXAMPLES[name])


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("gaet", "a.csv"), "did you mean `forelock gate`?"),
        (("plan", "creat", "f.json"), "did you mean `forelock plan create`?"),
        (("help", "questoins"), "did you mean `forelock help questions`?"),
        (("help", "verfy"), "did you mean `forelock help verify`?"),
        (("gate", "a.csv", "b.csv", "--margn", "2pp"), "did you mean --margin?"),
        (("zzzz",), "`forelock --help` lists what there is"),
        (("help", "zzzz"), "`forelock help` lists the topics"),
    ],
)
def test_what_is_written_wrong_is_asked_back(command, arguments: tuple[str, ...], meant: str) -> None:
    status, _, complaint = command(*arguments)
    assert status == 2
    assert complaint.rstrip().endswith(meant)


def test_a_wrong_choice_of_an_option_is_told_as_it_is(command) -> None:
    status, _, complaint = command("gate", "a.csv", "b.csv", "--missing", "fial")
    assert status == 2
    assert "invalid choice: 'fial'" in complaint


def test_a_parser_without_commands_says_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        topics.Parser(prog="p").parse_args(["--x"])
    assert "unrecognized arguments: --x" in capsys.readouterr().err
    assert issubclass(topics.Parser, argparse.ArgumentParser)
