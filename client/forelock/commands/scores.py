"""`forelock score`: one system's mean, how sure it is, and whether it is enough; here or by a service."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from forelock.commands.common import either
from forelock.local import Local
from forelock.problem import FileFault
from forelock.questions.options import OF_SUITES, add_options, add_records
from forelock.words import say_of

if TYPE_CHECKING:
    from forelock.client import Client


def add(commands: Any) -> None:
    """Add the parser of this command to the command line."""
    parser = either(
        commands, "score", _score, "One system's result files: how sure its score is, and is it enough."
    )
    parser.add_argument(
        "inputs", nargs="+", metavar="FILE", help="files of a harness, or a table, of one system or several"
    )
    parser.add_argument(
        "--at-least", metavar="SCORE", help="what it should reach: 95%%, 0.95, or of scores 3.5"
    )
    parser.add_argument("--at-most", metavar="SCORE", help="what it should not exceed, where low is good")
    parser.add_argument(
        "--arm", metavar="NAME", help="which system, where a file holds several (default: each)"
    )
    parser.add_argument(
        "--range", metavar="LOW..HIGH", help="the least and the greatest score there can be, e.g. 1..5"
    )
    parser.add_argument("--missing", choices=("exclude_pair", "fail"), default="exclude_pair",
                        help="items without a result: leave out, or count as the worst there can be")  # fmt: skip
    add_options(parser, without=("allow-different",))
    add_options(parser, *OF_SUITES)
    add_records(parser)


def _score(options: argparse.Namespace, asked_of: Client | Local) -> int:
    """Score the systems of the files, of one in full and of several as a table, and show it."""
    from forelock.questions.amounts import threshold_of
    from forelock.questions.forms import score_form
    from forelock.questions.forms.form import show_answer
    from forelock.questions.score import scores_of
    from forelock.questions.tables.tasks import read_choices

    if options.at_least is not None and (options.at_most is not None or options.lower):
        raise FileFault("--at-least is for scores of which higher is better: name --at-most where lower is")
    bar = options.at_least if options.at_most is None else options.at_most
    request: dict[str, Any] = {"alpha": options.alpha, "missing": options.missing}
    if bar is not None:
        request |= {
            "threshold": threshold_of(bar),
            "prefers": "higher" if options.at_most is None else "lower",
        }
    answers, reading = scores_of(
        asked_of, options.inputs, read_choices(options), request, scores=options.range
    )
    first = next(iter(answers.values()))
    if len(answers) == 1 and isinstance(first, dict):
        show_answer(options, score_form.form_of(first, say_of(options)), first, reading)
        if options.every_eval_ever is not None:
            from forelock.questions.every_eval_ever import of_score, write_records

            write_records(reading, of_score(first, reading), options.every_eval_ever, time.time())
        return score_form.exit_code(first)
    if options.every_eval_ever is not None:
        raise FileFault("--every-eval-ever writes the record of one system: name it with --arm")
    from forelock.questions.forms import scores_form

    by_name = {
        name: {"reason": answer} if isinstance(answer, str) else answer for name, answer in answers.items()
    }
    show_answer(options, scores_form.form_of(answers, say_of(options)), {"systems": by_name}, reading)
    return scores_form.exit_code_of(answers)
