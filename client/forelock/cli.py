"""The `forelock` command: what an eval job and a researcher need; the server adds its own subcommands."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points, version
from pathlib import Path
from typing import Any

from forelock import files, settings, text
from forelock.client import BATCH_SIZE, Client
from forelock.problem import FileFault, ForelockError, ForelockProblem

Handler = Callable[[argparse.Namespace, Client], int]

EPILOG = """\
The service is FORELOCK_URL or --url, the key FORELOCK_API_KEY or --key-file.

exit status:
  0  done; of a verdict: every hypothesis is supported
  1  the service refused, did not answer, or the verdict is not there yet
  2  the command line or a file is wrong
  4  a verdict is invalid
 10  a verdict is not supported
 11  a verdict is equivalent
 12  a verdict is inconclusive
of several hypotheses the first of 4, 12, 10, 11, 0 that is present
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    options = _parser(arguments).parse_args(arguments)
    try:
        status: int = options.handler(options)
    except ForelockProblem as problem:
        print(text.problem_text(problem), file=sys.stderr)
        return 1
    except FileFault as fault:
        print(f"forelock: {text.plain(fault)}", file=sys.stderr)
        return 2
    except ForelockError as error:
        print(f"forelock: {text.plain(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    return status


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="forelock",
        description="Lock the plan, then look: post evaluation results and read verdicts.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"forelock {version('forelock')}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _run(commands)
    _plan(commands)
    _submit(commands)
    _progress(commands)
    _verdict(commands)
    _verdicts(commands)
    if not arguments or arguments[0] not in commands.choices:
        for entry in entry_points(group="forelock.commands"):  # an eval job never pays for loading the server
            entry.load()(commands)
    return parser


def _command(commands: Any, name: str, handler: Handler, summary: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=summary,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--url", help="address of the service (default: FORELOCK_URL)")
    parser.add_argument(
        "--key-file",
        type=Path,
        metavar="FILE",
        help="file that holds the API key (default: FORELOCK_API_KEY)",
    )
    parser.add_argument("--timeout", type=float, default=600.0, metavar="SECONDS", help="longest wait")
    parser.add_argument("--json", action="store_true", help="print the service's answer as JSON")

    def run(options: argparse.Namespace) -> int:
        with Client(options.url, settings.api_key(None, options.key_file)) as client:
            return handler(options, client)

    parser.set_defaults(handler=run)
    return parser


def _print(options: argparse.Namespace, answer: object, readable: str) -> None:
    print(json.dumps(answer, indent=2, ensure_ascii=False) if options.json else readable)


def _run(commands: Any) -> None:
    def run(options: argparse.Namespace, client: Client) -> int:
        answer = client.run(options.name, files.read_object(options.file), timeout=options.timeout)
        lines = [text.plain(answer["analysis"]["sentence"])]
        lines += [f"{each['code']}: {text.plain(each['message'])}" for each in answer.get("warnings") or ()]
        _print(options, answer, "\n".join(lines))
        return 0

    parser = _command(commands, "run", run, "Run a statistical test on data of your own.")
    parser.add_argument("name", help="the test; GET /v1/tests lists them")
    parser.add_argument("file", help="its request as JSON; - reads standard input")


def _plan(commands: Any) -> None:
    summary = "Create, check, lock and show preregistrations."
    parser = commands.add_parser("plan", help=summary, description=summary)
    steps = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    create = _command(steps, "create", _create, "Make a draft of a plan, with its item manifests.")
    create.add_argument("file", help="the plan as JSON; - reads standard input")
    create.add_argument(
        "--items",
        action="append",
        default=[],
        type=_manifest,
        metavar="POPULATION=FILE",
        help="a population's items, as CSV, NDJSON or JSON (item_id, cluster, stratum); may be repeated",
    )

    lint = _command(steps, "lint", _lint, "List the gaps of a plan; status 1 when the lock would be refused.")
    lint.add_argument("id", help="the preregistration")

    lock = _command(steps, "lock", _lock, "Lock the plan for good.")
    lock.add_argument("id", help="the preregistration")
    lock.add_argument(
        "--acknowledge", default="", metavar="CODES", help="warnings taken note of: A,B,… or all"
    )

    show = _command(steps, "show", _show, "Show a preregistration.")
    show.add_argument("id", help="the preregistration")


def _manifest(argument: str) -> tuple[str, str]:
    population, found, path = argument.partition("=")
    if not (population and found and path):
        raise argparse.ArgumentTypeError("write POPULATION=FILE")
    return population, path


def _create(options: argparse.Namespace, client: Client) -> int:
    plan = files.read_object(options.file)
    manifests = [
        (population, files.read_bytes(path), files.content_type(path)) for population, path in options.items
    ]
    record = client.create_plan(plan)
    for population, content, kind in manifests:
        client.put_items(record["id"], population, content, kind)
    if manifests:
        record = client.preregistration(record["id"])
    _print(options, record, text.record_text(record))
    return 0


def _lint(options: argparse.Namespace, client: Client) -> int:
    findings = client.lint(options.id)
    _print(options, {"findings": findings}, text.findings_text(findings))
    return int(any(finding["severity"] == "error" for finding in findings))


def _lock(options: argparse.Namespace, client: Client) -> int:
    codes = [code for code in options.acknowledge.replace(",", " ").split() if code]
    record = client.lock(options.id, "all" if codes == ["all"] else codes)
    _print(options, record, text.record_text(record))
    return 0


def _show(options: argparse.Namespace, client: Client) -> int:
    record = client.preregistration(options.id)
    _print(options, record, text.record_text(record))
    return 0


def _submit(commands: Any) -> None:
    def submit(options: argparse.Namespace, client: Client) -> int:
        given = {name: getattr(options, name) for name in files.SCALARS}
        parts = [
            part for path in options.files for part in files.read_results(path, given, column=options.column)
        ]
        bar = text.Bar("submitting", sum(map(len, parts)), sys.stderr)
        answers = []
        try:
            for part in parts:
                left = len(part)
                for answer in client.submit(options.id, part, batch_size=options.batch_size):
                    answers.append(answer)
                    bar.advance(min(left, options.batch_size))
                    left -= options.batch_size
        finally:
            bar.close()
        _print(options, answers, f"{sum(map(len, parts))} results posted in {len(answers)} batches")
        return 0

    parser = _command(commands, "submit", submit, "Post results, in batches that are safe to repeat.")
    parser.add_argument("id", help="the preregistration")
    parser.add_argument("files", nargs="+", metavar="FILE", help="CSV, NDJSON or JSON, told by the suffix")
    for name in files.SCALARS:
        parser.add_argument(f"--{name}", help=f"the {name} of all results, where the files do not say it")
    parser.add_argument("--column", metavar="NAME", help="the field that holds the value (default: value)")
    parser.add_argument(
        "--batch-size", type=_positive, default=BATCH_SIZE, metavar="N", help="results per request"
    )


def _positive(argument: str) -> int:
    number = int(argument)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def _progress(commands: Any) -> None:
    def progress(options: argparse.Namespace, client: Client) -> int:
        answer = client.progress(options.id)
        _print(options, answer, text.progress_text(answer))
        return 0

    parser = _command(commands, "progress", progress, "How many results are in. Never what they are.")
    parser.add_argument("id", help="the preregistration")


def _verdict(commands: Any) -> None:
    def verdict(options: argparse.Namespace, client: Client) -> int:
        answer = client.verdict(options.id, wait=options.wait, timeout=options.timeout)
        _print(options, answer, text.verdict_text(answer))
        return text.exit_code(answer)

    parser = _command(commands, "verdict", verdict, "The verdict, as text and as exit status.")
    parser.add_argument("id", help="the preregistration")
    parser.add_argument("--wait", action="store_true", help="wait until the verdict is there")


def _verdicts(commands: Any) -> None:
    def verdicts(options: argparse.Namespace, client: Client) -> int:
        found = list(
            client.verdicts(hypothesis=options.hypothesis, outcome=options.outcome, since=options.since)
        )
        lines = [
            f"{text.plain(each['judged_at'])}  {text.plain(each['preregistration_id'])}  "
            f"{text.plain(each['hypothesis'])}: {each['outcome'] or 'altered'}  {text.plain(each['title'])}"
            for each in found
        ]
        _print(options, found, "\n".join(lines) or "no verdicts")
        return 0

    parser = _command(
        commands, "verdicts", verdicts, "Every verdict of the project, one line per hypothesis."
    )
    parser.add_argument("--hypothesis", help="only hypotheses of this id")
    parser.add_argument("--outcome", choices=sorted(text.EXIT_CODES), help="only this outcome")
    parser.add_argument("--since", metavar="TIME", help="only verdicts since this time (RFC 3339)")


if __name__ == "__main__":
    sys.exit(main())
