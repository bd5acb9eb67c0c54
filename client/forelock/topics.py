"""What `forelock help` shows: the commands by topic, with the few that a newcomer meets first, and examples of each."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, NoReturn

from forelock.help_words import fill, formatter_of, translate


class Topic(NamedTuple):
    """Commands that serve one purpose."""

    purpose: str
    commands: tuple[str, ...]


TOPICS: Mapping[str, Topic] = {
    "questions": Topic(
        "Result files in, one answer out. No service, no key.",
        ("gate", "score", "rank", "noise", "items", "resolve", "audit", "run", "tests"),
    ),
    "plans": Topic(
        "Say before the run what will count, and lock it.",
        ("plan", "lock", "amend", "name-arm", "close", "withdraw", "looks", "family"),
    ),
    "results": Topic(
        "Post what an evaluation gave. Nobody reads it before the planned n is in.",
        ("submit", "import", "labels", "progress", "batches", "void", "run-token", "runs", "spool"),
    ),
    "verdicts": Topic(
        "Read what the locked rule says of the results.",
        ("verdict", "wait", "verdicts", "report", "chart", "deviations", "multiverse", "calibrate"),
    ),
    "proof": Topic(
        "Check a verdict without trusting the service.",
        ("bundle", "verify", "checkpoint", "receipts", "stamps", "artefacts", "export"),
    ),
    "project": Topic(
        "Keys, trackers, messages, and what cannot be undone.",
        ("keys", "webhooks", "mlflow", "links", "badge", "mcp", "log", "unblind", "erase", "completion"),
    ),
    "operate": Topic(
        "Run the service. These come with the server package.",
        (
            "serve",
            "runner",
            "init",
            "migrate",
            "backup",
            "restore",
            "alterations",
            "rebuild-coverage",
            "objects",
            "ledger",
        ),
    ),
}
FIRST = ("gate", "score", "rank", "plan", "lock", "import", "verdict", "verify")
"""The commands on the first screen."""

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "gate": (
        "gate old.csv new.csv --margin 2pp",
        "gate old.eval new.eval --margin 2pp --cluster conversation",
        "gate old/ new/ --suite task --markdown comment.md",
    ),
    "score": ("score results.csv --at-least 95%", "score results.csv --cluster repo --slice language"),
    "rank": ("rank systems.csv", "rank a.csv b.csv c.csv --cluster repo --svg ranks.svg"),
    "noise": ("noise runs.csv", "noise old.eval new.eval"),
    "items": ("items a.csv b.csv c.csv",),
    "resolve": ("resolve old.csv new.csv --cluster repo",),
    "audit": ("audit -n 500 -a 76% -b 75%",),
    "run": ("run mcnemar counts.json",),
    "tests": ("tests", "tests mcnemar"),
    "plan": (
        "plan new PREREG.md",
        "plan from old.eval new.eval --out PREREG.md",
        "plan power PREREG.md",
        "plan create PREREG.md",
        "plan edit ID PREREG.md",
        "plan lint ID",
        "plan lock ID --acknowledge LOW_POWER",
        "plan show ID",
        "plan list --state collecting",
        "plan delete ID",
    ),
    "lock": ("lock ID",),
    "amend": ("amend ID plan.json --reason 'the data set was withdrawn'",),
    "name-arm": ("name-arm ID new --model lab/model-7b --evidence scores.json",),
    "close": ("close ID --deviation 1 --reason 'the provider took the model away'",),
    "withdraw": ("withdraw ID --reason 'the data set leaks its answers'",),
    "looks": ("looks ID", "looks ID --take"),
    "family": ("family ID",),
    "submit": ("submit ID results.csv --arm new",),
    "import": ("import ID logs/*.eval",),
    "labels": ("labels ID", "labels ID --post labels.csv"),
    "progress": ("progress ID",),
    "batches": ("batches ID",),
    "void": ("void ID 3 --reason 'scored with the old grader'",),
    "run-token": ("run-token ID --arm new --name nightly-7",),
    "runs": ("runs ID",),
    "spool": ("spool status", "spool send", "spool discard ID --refused"),
    "verdict": ("verdict ID --wait",),
    "wait": ("wait ID --explain",),
    "verdicts": ("verdicts --outcome supported --since 2026-10-01",),
    "report": ("report ID --form pdf --output verdict.pdf",),
    "chart": ("chart ID forest --pdf forest.pdf --width 85 --serif",),
    "deviations": ("deviations ID", "deviations ID --file deviation.json"),
    "multiverse": ("multiverse ID",),
    "calibrate": ("calibrate ID --runs 1000",),
    "bundle": ("bundle ID -o verdict.zip",),
    "verify": ("verify verdict.zip --checkpoint kept.checkpoint",),
    "checkpoint": ("checkpoint kept.checkpoint",),
    "receipts": ("receipts ID",),
    "stamps": ("stamps save ID stamps/", "stamps check stamps/1.tsr --of kept.checkpoint"),
    "artefacts": ("artefacts ID", "artefacts ID --fetch 1 -o baseline.eval"),
    "export": ("export ID --format cff --output CITATION.cff",),
    "keys": ("keys create ci --scope results:write", "keys list", "keys revoke ID"),
    "webhooks": (
        "webhooks create https://ci.example.org/forelock --event verdict.published --out webhook.secret",
        "webhooks list",
        "webhooks ping ID",
        "webhooks deliveries ID",
        "webhooks redeliver ID DELIVERY",
        "webhooks rotate ID --out webhook.secret",
        "webhooks delete ID",
    ),
    "mlflow": (
        "mlflow set https://mlflow.example.org --token-file mlflow.token",
        "mlflow show",
        "mlflow link ID RUN",
        "mlflow runs ID",
        "mlflow unlink ID RUN",
        "mlflow forget",
    ),
    "links": (
        "links set ID training https://wandb.ai/lab/caching/runs/3k2j",
        "links list ID",
        "links delete ID training",
    ),
    "badge": ("badge ID --output badge.svg",),
    "mcp": ("mcp --folder results",),
    "log": ("log --subject ID --since 2026-10-01",),
    "unblind": ("unblind ID --reason 'the runs cost too much to go on blind'",),
    "erase": ("erase ID --reason 'a participant withdrew consent'",),
    "completion": ("completion bash",),
    "serve": ("serve", "serve --data /srv/forelock --port 8321"),
    "runner": ("runner --data /srv/forelock",),
    "init": ("init --data /srv/forelock",),
    "migrate": ("migrate --data /srv/forelock",),
    "backup": ("backup database copy.db --data /srv/forelock", "backup keys copy.keys --data /srv/forelock"),
    "restore": ("restore database copy.db --data /srv/forelock",),
    "alterations": ("alterations", "alterations --forget"),
    "rebuild-coverage": ("rebuild-coverage ID",),
    "objects": ("objects --read",),
    "ledger": ("ledger status", "ledger resume --reason 'restored from the copy of Monday'"),
}
"""What a command's own help shows of it; every one is read by the parser in a test."""


class Parser(argparse.ArgumentParser):
    """A parser that says what was probably meant, and shows examples."""

    def format_help(self) -> str:
        """Return the help, with the command's examples before the exit status."""
        examples = examples_of(self.prog.removeprefix("forelock "))
        if not examples:
            return super().format_help()
        epilog, shape = self.epilog, self.formatter_class
        lines = "".join(f"  forelock {example}\n" for example in examples)
        try:
            ending = translate(epilog) if epilog else ""
            self.epilog = f"{translate('examples:')}\n{lines}\n{ending}".rstrip("\n")
            self.formatter_class = argparse.RawDescriptionHelpFormatter
            return super().format_help()
        finally:
            self.epilog, self.formatter_class = epilog, shape

    def refuse_unknown(self, words: list[str]) -> NoReturn:
        """End with the arguments that nothing takes, and with what comes nearest to the first of them."""
        message = translate("unrecognized arguments: %s") % " ".join(words)
        first = words[0].partition("=")[0]
        near = nearest(first, self._options()) if first.startswith("-") else None
        self.error(
            fill("%(message)s; did you mean %(near)s?", message=message, near=near) if near else message
        )

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Of a command that is none say what it comes nearest to, in place of all that there are."""
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            self.error(_of_none(value, list(action.choices), self.prog))
        super()._check_value(action, value)

    def _get_formatter(self) -> argparse.HelpFormatter:
        return formatter_of(self.formatter_class)(prog=self.prog)

    def _options(self) -> list[str]:
        """Return the long options of this parser and of the commands below it."""
        below = [
            option
            for action in self._actions
            if isinstance(action, argparse._SubParsersAction)
            for parser in action.choices.values()
            if isinstance(parser, Parser)
            for option in parser._options()
        ]
        return [option for option in self._option_string_actions if option.startswith("--")] + below


def examples_of(command: str) -> list[str]:
    """Return the examples of a command, or of one below another, such as `plan create`."""
    return [
        example
        for example in EXAMPLES.get(command.partition(" ")[0], ())
        if f"{example} ".startswith(f"{command} ")
    ]


def _of_none(word: str, commands: list[str], prog: str) -> str:
    near = nearest(word, commands)
    ask = fill("did you mean `%(near)s`?", near=f"{prog} {near}")
    if not near:
        ask = fill("`%(prog)s --help` lists what there is", prog=prog)
    return fill("there is no command %(word)r; %(ask)s", word=word, ask=ask)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return what is written most like the word, if anything is."""
    import difflib  # only a command line that is wrong needs it

    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return near[0] if near else None


def summaries(parser: argparse.ArgumentParser) -> dict[str, str]:
    """Return what each command of a parser says of itself in a line."""
    commands: Any = next(
        action for action in parser._actions if isinstance(action, argparse._SubParsersAction)
    )
    return {choice.dest: translate(choice.help) for choice in commands._choices_actions}


def first_screen(summary: Mapping[str, str]) -> str:
    """Return the start: a few commands, and where the others are."""
    lines = [translate("usage: forelock COMMAND ..."), "", translate("Lock the plan, then look."), ""]
    lines += _lines({name: summary[name] for name in FIRST if name in summary})
    lines += ["", translate("More, by topic (forelock help TOPIC):")]
    lines += _lines({name: translate(topic.purpose) for name, topic in TOPICS.items()})
    return "\n".join(
        [
            *lines,
            "",
            translate("forelock help all lists every command, forelock COMMAND --help says all of one."),
            translate("The service is FORELOCK_URL or --url, the key FORELOCK_API_KEY or --key-file."),
        ]
    )


def topic_screen(name: str, summary: Mapping[str, str]) -> str:
    """Return the commands of one topic with an example of each that has one."""
    topic = TOPICS[name]
    lines = [_purpose(name, topic), ""]
    lines += _lines({command: summary[command] for command in topic.commands if command in summary})
    examples = [f"  forelock {EXAMPLES[command][0]}" for command in topic.commands if command in EXAMPLES]
    return "\n".join([*lines, "", translate("examples:"), *examples])


def _purpose(name: str, topic: Topic) -> str:
    return fill("%(topic)s: %(purpose)s", topic=name, purpose=translate(topic.purpose))


def every_command(summary: Mapping[str, str]) -> str:
    """Return all commands under their topics."""
    blocks = []
    for name, topic in TOPICS.items():
        known = {command: summary[command] for command in topic.commands if command in summary}
        if known:
            blocks.append("\n".join([_purpose(name, topic), *_lines(known)]))
    return "\n\n".join(blocks)


def _lines(words: Mapping[str, str]) -> list[str]:
    width = max(map(len, words), default=0)
    return [f"  {name:<{width}}  {words[name]}" for name in words]
