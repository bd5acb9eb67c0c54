"""What every command that may wait for a verdict has: files for code hosts, and the verdict as exit status."""

from __future__ import annotations

import argparse
import contextlib
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from forelock import files, pictures, text
from forelock.ci_reports import Standing, junit, markdown
from forelock.printing import show, tell
from forelock.problem import FileFault, ForelockError, ForelockProblem, VerdictTimeout
from forelock.server_package import translator_of
from forelock.words import ENGLISH, Say, say_of

if TYPE_CHECKING:  # a gate of two files asks no service
    from forelock.client import Client

BEFORE = ("blinded", "verdict_pending")
"""Problems of a record that has no verdict yet."""


def add_reports(parser: argparse.ArgumentParser, *, wait: str | None = None) -> None:
    """Add the options; `wait` is the help of `--wait` where the command does something else before."""
    if wait is not None:
        parser.add_argument("--wait", action="store_true", help=wait)
    parser.add_argument(
        "--explain",
        action="store_true",
        help="also print the whole sentence, the rule, and what every test says",
    )
    parser.add_argument("--junit", metavar="FILE", help="write the verdict as JUnit XML, too")
    parser.add_argument("--markdown", metavar="FILE", help="write the verdict as Markdown, too")


def require_wait(options: argparse.Namespace) -> None:
    """Refuse reports of a verdict that is not asked for."""
    if not options.wait and (options.junit or options.markdown):
        raise FileFault("--junit and --markdown are of the verdict: add --wait")


def report_verdict(options: argparse.Namespace, client: Client, *, wait: bool) -> int:
    """Print the verdict and write what is asked for; the exit status says the outcome."""
    try:
        verdict = client.verdict(options.id, wait=wait, timeout=options.timeout)
    except (VerdictTimeout, ForelockProblem) as error:
        early = isinstance(error, VerdictTimeout) or error.code in BEFORE
        if early and (options.junit or options.markdown):
            progress = None
            with contextlib.suppress(ForelockError):
                progress = client.progress(options.id)
            _write(options, Standing(options.id, client.url, progress=progress))
        raise
    wanted = not options.json or options.junit or options.markdown
    words = sentences_of(client, options.id, say_of(options)) if wanted else None
    _write(options, Standing(options.id, client.url, verdict=verdict, words=words))
    say = say_of(options)
    picture = "" if options.json else _picture(options, client, verdict, say)
    text_of_verdict = text.verdict_text(verdict, words, explain=options.explain, say=say)
    check = _describe_check(options.id, words or {}, say)
    plan = text.judged_plan_text(verdict, words, say)
    ending = "\n".join(filter(None, (plan, check)))
    show(options, verdict, "\n\n".join(filter(None, (text_of_verdict, picture, ending))))
    return text.exit_code(verdict)


def _describe_check(id: str, words: Mapping[str, Any], say: Say) -> str:
    """Return the commands that check a verdict, alone on their line to be copied, and below them what that shows."""
    file = words.get("outside_checkpoint")
    known = isinstance(file, str) and re.fullmatch(r"\w+-\d+\.\w+\.checkpoint", file)
    line = say("check_verdict_stamped" if known else "check_verdict", id=text.plain(id), file=file)
    outside = text.plain((words.get("outside") or {}).get(say.language) or "")
    first = [text.hanging(outside, "", "  ")] if outside else []
    return "\n".join([*first, line, text.hanging(say("check_shows"), "  ")])


def sentences_of(client: Client, preregistration_id: str, say: Say = ENGLISH) -> dict[str, Any] | None:
    """Return the verdict's sentences; without them the verdict stands, and its exit status."""
    try:
        return client.verdict_sentences(preregistration_id)
    except ForelockError as error:
        tell(say("no_sentences", error=text.plain(translator_of(say.language)(text.plain(error)))))
        return None


def _picture(options: argparse.Namespace, client: Client, verdict: dict[str, Any], say: Say) -> str:
    """Return a key and the intervals against 0 and the SESOI.

    Without the plan they stand against 0 alone and in the score's own unit.
    """
    if not pictures.of_verdict(verdict):
        return ""
    try:
        plan = client.preregistration(options.id).get("plan")
    except ForelockError:
        plan = None
    ascii = not pictures.boxes_fit(sys.stdout)
    drawn = pictures.of_verdict(verdict, plan, width=shutil.get_terminal_size().columns, ascii=ascii)
    key = say("picture_key", **pictures.signs(ascii=ascii))
    return f"{text.hanging(key, '  ')}\n{drawn}"


def _write(options: argparse.Namespace, standing: Standing) -> None:
    _save(options.junit, lambda: junit(standing))
    _save(options.markdown, lambda: markdown(standing).encode())


def _save(path: str | None, content: Callable[[], bytes]) -> None:
    if path is None:
        return
    files.write_bytes(path, content())
