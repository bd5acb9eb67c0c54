"""Every command on the pages is one that exists: its words and options parse. What needs nothing from outside runs."""

from __future__ import annotations

import argparse
import re
import shlex
from functools import cache

import pytest

from forelock import cli, topics
from forelock.transparency.notes import VerifierKey
from tests.command_pages import ELSEWHERE, PAGES
from tests.pages import page, shell_lines

RUN_WHOLE = {"docs/quickstart.md"}
"""Pages of which tests/test_docs.py runs every block as it stands."""
SHELL = {"export", "cat", "curl", "echo"}
"""What every shell has; `curl` is run where it asks our service."""


def commands(name: str) -> list[list[str]]:
    """The words of every command, those that are joined in one line apart."""
    found: list[list[str]] = []
    for line in shell_lines(name):
        words = shlex.split(line, comments=True)
        at = [place for place, word in enumerate(words) if word in ("&&", "||", "|", ";")]
        for low, high in zip([-1, *at], [*at, len(words)], strict=True):
            part = words[low + 1 : high]
            while part and re.fullmatch(r"(ID=\$\(|\w+=.*)", part[0]):
                part = part[1:]
            if part:
                found.append(part)
    return found


@cache
def parser() -> argparse.ArgumentParser:
    return cli.whole()


def of_forelock(words: list[str]) -> list[str] | None:
    """The arguments of `forelock`, or None where the command is another one."""
    if words[0] == "./do" and words[1:2] == ["forelock"]:
        words = words[1:]
    if words[0] != "forelock":
        return None
    return [word for word in words[1:] if not re.match(r"\d?[<>]", word)]


def parsed(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Why the command is none, or nothing. KEY on a page stands for the log's key, which has a form of its own."""
    key = str(VerifierKey("log.example", bytes(32)))
    arguments = [key if word == "KEY" else word for word in arguments]
    try:
        cli._parse(parser(), arguments)
    except SystemExit as ended:
        return "" if ended.code == 0 else capsys.readouterr().err.splitlines()[-1]
    return ""


def deeper(arguments: list[str]) -> str:
    """What a command quoted within a sentence names that is not there: it may leave out what it needs."""
    at = parser()
    if arguments[:1] == ["help"]:  # no command among the others: it shows them
        known = {"", "all", *topics.TOPICS, *topics.summaries(at)}
        return "" if " ".join(arguments[1:]) in known else f"there is no topic {arguments[1]}"
    for word in arguments:
        group = next((each for each in at._actions if isinstance(each, argparse._SubParsersAction)), None)
        if word.startswith("--"):
            if word.partition("=")[0] not in at._option_string_actions:
                return f"{at.prog} has no {word}"
        elif group is not None:
            if word not in group.choices:
                return f"{at.prog} has no {word}"
            at = group.choices[word]
    return ""


@pytest.mark.parametrize("name", PAGES)
def test_every_command_in_a_block_parses(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    faults = []
    for words in commands(name):
        arguments = of_forelock(words)
        if arguments is not None:
            fault = parsed(arguments, capsys)
        elif words[0] == "./do":
            known = re.findall(r"^    ([\w|. -]+)\)", page("do"), re.MULTILINE)
            fault = (
                "" if words[1] in {each.strip() for some in known for each in some.split("|")} else "no such"
            )
        else:
            fault = (
                ""
                if name in RUN_WHOLE or words[0] in {*(each.split()[0] for each in ELSEWHERE), *SHELL}
                else "neither ours, nor marked as another's"
            )
        if fault:
            faults.append((" ".join(words), fault))
    assert faults == []


def test_every_command_stands_on_a_page() -> None:
    """By its whole name, or in a row that begins with one: `forelock amend`, `close` and `runs`."""
    text = "".join(map(page, PAGES))
    rows = "".join(re.findall(r"`forelock [^`]+`((?:,? (?:and |or )?`[^`]+`)+)", text))
    named = set(re.findall(r"\bforelock ([a-z-]+)", text)) | set(re.findall(r"`([a-z-]+)[ `]", rows))
    unnamed = sorted(set(topics.summaries(parser())) - named)
    assert not unnamed, f"no page of docs says what these commands are for: {', '.join(unnamed)}"


@pytest.mark.parametrize("name", PAGES)
def test_every_command_in_a_sentence_has_its_words_and_options(name: str) -> None:
    text = re.sub(r"^```.*?^```$", "", page(name), flags=re.MULTILINE | re.DOTALL)
    faults = []
    for quoted in re.findall(r"`(?:\./do )?forelock ([^`]+)`", text):
        words = shlex.split(re.sub(r"[\[\]…]|\.\.\.", " ", " ".join(quoted.split())))
        fault = deeper(words)
        if fault:
            faults.append((quoted, fault))
    assert faults == []
