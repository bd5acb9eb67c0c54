"""`forelock gate` and `forelock rank`: which one to ship, and how systems stand; here or by a service."""

from __future__ import annotations

import argparse
import shlex
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from forelock import text
from forelock.commands.common import either
from forelock.commands.reporting import sentences_of
from forelock.local import Local
from forelock.printing import show, tell
from forelock.problem import FileFault, ForelockProblem
from forelock.questions.options import OF_SUITES, add_options, add_records
from forelock.words import say_of

if TYPE_CHECKING:
    from forelock.client import Client

LEADERBOARD = "leaderboard"
OF_PAIRS = ("plan", "slice", *OF_SUITES, "items", "unpaired", "covariate", "unseen", "every-eval-ever")
"""Options of `gate` on two arms at once, which neither a comparison that grows nor a series takes."""
OF_ARMS = ("look", "largest-cluster", "alpha", "missing", "range")
"""Options of `gate` on two arms, which a series of one system does not take either."""


def add(commands: Any) -> None:
    """Add the parsers of these commands to the command line."""
    _add_gate(commands)
    _add_rank(commands)


def _add_gate(commands: Any) -> None:
    """Add the parser of `forelock gate`."""
    parser = either(commands, "gate", _gate, "Two result files: better, no worse, worse, or cannot tell.")
    parser.add_argument(
        "inputs", nargs="+", metavar="BASE CAND", help="files of a harness; or one that holds both arms"
    )
    parser.add_argument("--margin", help="the loss that would be accepted: 2pp, or 0.5score")
    parser.add_argument(
        "--range", metavar="LOW..HIGH", help="the least and the greatest score there can be, e.g. 1..5"
    )
    parser.add_argument("--arms", metavar="BASE,CAND", help="which systems, where a file holds several")
    parser.add_argument("--missing", choices=("exclude_pair", "fail"), default="exclude_pair",
                        help="items without a result in one arm: leave out, or count as failed")  # fmt: skip
    parser.add_argument("--unseen", choices=("items", "clusters"), default="items",
                        help="what --cluster has to rule out unseen: lost items, or whole clusters")  # fmt: skip
    parser.add_argument(
        "--unpaired",
        action="store_true",
        help="the files are of different items: nothing is paired, which takes more",
    )
    parser.add_argument(
        "--covariate", action="append", default=[], metavar="NAME",
        help="with --unpaired: a number known of every item before its system was, to adjust by (CUPED)",
    )  # fmt: skip
    parser.add_argument(
        "--plan", metavar="ID", help="import both files under this locked plan and wait for its verdict"
    )
    parser.add_argument(
        "--series", metavar="NAME", help="one system's run among its runs before: has it dropped? A series of the "
        "service, or without one the file NAME.series.json",
    )  # fmt: skip
    parser.add_argument(
        "--nights", choices=("vary", "alike"), help="of a series: runs may swing as a whole, and be noisier at times "
        "(default); or nothing but chance tells them apart, which shows drops sooner",
    )  # fmt: skip
    parser.add_argument("--run", metavar="NAME", help="what the run is called (default: its file's name)")
    parser.add_argument(
        "--reference", action="store_true", help="the run is one that later ones are compared with"
    )
    parser.add_argument(
        "--look", metavar="NAME", help="add the items to a comparison that may be read after every addition, kept in "
        "the file NAME.look.json: a confidence sequence takes the interval's place",
    )  # fmt: skip
    parser.add_argument(
        "--largest-cluster", type=int, metavar="N",
        help="with --look: items that a cluster may ever have (default: of the largest at the first look)",
    )  # fmt: skip
    parser.add_argument("--items", nargs="?", const="", metavar="FILE",
                        help="also list gained and lost items; all of them into FILE, as CSV")  # fmt: skip
    add_options(parser)
    add_options(parser, *OF_SUITES)
    add_records(parser)
    # What they hold where nobody gives them: the modes that take none of them compare with it.
    unasked = {name: parser.get_default(name.replace("-", "_")) for name in (*OF_PAIRS, *OF_ARMS)}
    parser.set_defaults(unasked=unasked)


def _add_rank(commands: Any) -> None:
    """Add the parser of `forelock rank`."""
    parser = either(commands, "rank", _rank, "Several systems on the same items: which can be told apart.")
    parser.add_argument(
        "inputs", nargs="+", metavar="FILE", help="one file that holds all systems, or a file for each"
    )
    parser.add_argument("--arms", metavar="A,B,…", help="which systems (default: all)")
    parser.add_argument("--common", action="store_true",
                        help="only the items that all systems have (default: those that every two have)")  # fmt: skip
    parser.add_argument("--missing", choices=("exclude_pair", "fail", "worst_case"), default="exclude_pair",
                        help="what a system does not have: leave out, count as wrong, or leave out and tell two "
                        "apart only if more than 5 %% missing cannot undo it")  # fmt: skip
    add_options(parser)
    add_options(parser, "suite", "weights")


def _gate(options: argparse.Namespace, asked_of: Client | Local) -> int:
    """Answer a gate by a series, by a look, by a plan, or by pairs, as the options ask."""
    if options.series is not None:
        return _by_series(options, asked_of)
    if options.run is not None or options.reference or options.nights is not None:
        raise FileFault("--run, --reference and --nights are of a series: name it with --series")
    if options.look is not None:
        return _by_look(options, asked_of)
    if options.largest_cluster is not None:
        raise FileFault("--largest-cluster is of a comparison that grows: name it with --look")
    if len(options.inputs) > 2:
        raise FileFault("gate takes two files, the baseline's first; a folder stands for the files in it")
    if options.plan is not None:
        return _by_plan(options, asked_of)
    return _by_pairs(options, asked_of)


def _by_pairs(options: argparse.Namespace, asked_of: Client | Local) -> int:
    """Two arms as their files have them, paired by item or not.

    Raises:
        FileFault: options of which one is for pairs and the other for systems without any.
    """
    from forelock.questions.changes import changes_of
    from forelock.questions.forms.form import show_answer
    from forelock.questions.forms.gate_form import exit_code, form_of
    from forelock.questions.gate import compare, covariates
    from forelock.questions.tables.tasks import read_choices

    request: dict[str, Any] = {"alpha": options.alpha, "missing": options.missing}
    # A service of an earlier version does not know the field: only who asks for it sends it.
    request |= {"unseen": options.unseen} if options.unseen != "items" else {}
    if options.covariate and not options.unpaired:
        raise FileFault(
            "--covariate adjusts systems on different items: name --unpaired too; pairs need none"
        )
    if options.unpaired and options.items is not None:
        raise FileFault("--items lists what changed between pairs: leave it or --unpaired out")
    choices = read_choices(options)
    if options.unpaired:
        request["pairing"] = "none"
        # The same id may well be another item there.
        choices = replace(
            choices, allowed=(*choices.allowed, "content"), beside=covariates(options.covariate)
        )
    answer, reading = compare(
        asked_of, options.inputs, choices, request, margin=options.margin, scores=options.range
    )
    answer["next"] = answer["next"].replace("BASE CAND", shlex.join(options.inputs))
    form, document = form_of(answer, say_of(options)), answer
    if options.items is not None:
        changes = changes_of(reading)
        say = say_of(options)
        form = replace(form, more=changes.groups(say), folded=[*changes.fold(say)])
        document = {**answer, "items": changes.document()}
        if options.items:
            changes.write(options.items)
    show_answer(options, form, document, reading)
    if options.every_eval_ever is not None:
        from forelock.questions.every_eval_ever import of_gate, write_records

        write_records(reading, of_gate(answer, reading), options.every_eval_ever, time.time())
    return exit_code(answer)


def _refuse(options: argparse.Namespace, mode: str, unfit: tuple[str, ...]) -> None:
    """Refuse options that a mode of `gate` would leave unread.

    Raises:
        FileFault: the first of `unfit` that is given.
    """
    for name in unfit:
        if getattr(options, name.replace("-", "_")) != options.unasked[name]:
            raise FileFault(f"--{mode} goes without --{name}")


def _by_look(options: argparse.Namespace, asked_of: Client | Local) -> int:
    """More items for a comparison that may be read after each addition."""
    _refuse(options, "look", OF_PAIRS)
    if len(options.inputs) > 2:
        raise FileFault("gate takes two files, the baseline's first; a folder stands for the files in it")
    if options.largest_cluster is not None and options.largest_cluster < 1:
        raise FileFault("--largest-cluster is a count of items, 1 or more")
    from forelock.questions.forms.form import show_answer
    from forelock.questions.forms.gate_form import EXITS
    from forelock.questions.forms.look_form import form_of
    from forelock.questions.look import look
    from forelock.questions.tables.choices import Choices

    answer, reading = look(
        asked_of,
        options.inputs,
        Choices.of(options),
        name=options.look,
        alpha=options.alpha,
        missing=options.missing,
        margin=options.margin,
        scores=options.range,
        largest_cluster=options.largest_cluster,
        say=say_of(options),
    )
    show_answer(options, form_of(answer, say_of(options)), answer, reading)
    return EXITS[str(answer["outcome"])]


def _by_series(options: argparse.Namespace, asked_of: Client | Local) -> int:
    """Return a run among those before it."""
    _refuse(options, "series", (*OF_PAIRS, *OF_ARMS))
    from forelock.questions.forms.form import show_answer
    from forelock.questions.forms.series_form import exit_code, form_of
    from forelock.questions.series import watch
    from forelock.questions.tables.choices import Choices

    answer, reading = watch(
        asked_of,
        options.inputs,
        Choices.of(options),
        series=options.series,
        run=options.run,
        reference=options.reference,
        margin=options.margin,
        nights=options.nights,
        say=say_of(options),
    )
    show_answer(options, form_of(answer, say_of(options)), answer, reading)
    return exit_code(answer)


def _by_plan(options: argparse.Namespace, client: Client | Local) -> int:
    """Return the verdict of a locked plan: what the files lack, it lacks, and its rule decides in place of ours."""
    if isinstance(client, Local):
        raise FileFault("a plan is kept by a service: name it with --url or FORELOCK_URL, and a key")
    from forelock.import_files import Packed, imports_of
    from forelock.questions.tables.choices import Choices

    plan = client.preregistration(options.plan)["plan"]
    hypotheses = plan.get("hypotheses") or ()
    arms: set[tuple[str, ...]] = {(claim["baseline"], claim["candidate"]) for claim in hypotheses}
    if options.arms is not None:
        arms = {tuple(Choices.of(options).names)}
    if len(arms) != 1 or len(next(iter(arms))) != 2 or len(options.inputs) != 2:
        raise FileFault("name two files, and with --arms BASELINE,CANDIDATE the plan's arms that they are of")
    section = plan.get("import") or {}
    for path, arm in zip(options.inputs, next(iter(arms)), strict=True):
        form, imports = imports_of([path], options.format or section.get("format"))
        for number, files_of_import in enumerate(imports, start=1):
            query = {"format": form} | ({} if section.get("arm") else {"arm": arm})
            # Only the last of an arm: what is lacking after it is lacking for good.
            query |= {"complete": "true"} if number == len(imports) else {}
            with Packed(files_of_import) as body:
                client.import_file(options.plan, body, query=query)
    verdict = client.verdict(options.plan, wait=True, timeout=options.timeout)
    words = None if options.json else sentences_of(client, options.plan, say_of(options))
    show(options, verdict, text.verdict_text(verdict, words, explain=options.explain, say=say_of(options)))
    return text.exit_code(verdict)


def _rank(options: argparse.Namespace, asked_of: Client | Local) -> int:
    """Rank the systems of the files, over all items and in slices, and show it."""
    from forelock.questions.forms.form import show_answer
    from forelock.questions.forms.rank_form import form_of
    from forelock.questions.rank import by_slice, rank
    from forelock.questions.tables.tasks import read_choices

    choices = read_choices(options)
    common = {"common": True} if options.common else {}

    def run(request: dict[str, Any]) -> dict[str, Any]:
        whole = {"alpha": options.alpha, **request, **common}
        if options.missing == "worst_case":
            whole["missing"] = "worst_case"
        return asked_of.run(LEADERBOARD, whole, timeout=options.timeout)

    try:
        answer, reading = rank(asked_of, options.inputs, choices, run, filled=options.missing == "fail")
    except ForelockProblem as problem:
        if problem.code == "not_found":
            tell(say_of(options)("no_leaderboard"))
            return 1
        raise
    slices = [] if choices.slice is None else by_slice(reading, options.alpha, run)
    if slices:
        answer |= {
            "slices": {
                name: result if isinstance(result, dict) else {"reason": result} for name, result in slices
            }
        }
    points = reading.binary and "rescale" not in choices.together
    form = form_of(answer, points=points, slices=slices, say=say_of(options))
    show_answer(options, form, answer, reading)
    return 0
