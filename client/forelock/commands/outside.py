"""`forelock webhooks`, `mlflow`, `links` and `badge`: what leaves the service, and where to."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from forelock import files, text
from forelock.client import Client
from forelock.commands.common import command, group
from forelock.events import EVENTS, FORMATS
from forelock.printing import put_out, show, show_ended, tell
from forelock.problem import FileFault
from forelock.words import Say, say_of

KINDS = ("wandb", "weave", "langfuse", "braintrust", "mlflow", "other")


def add(commands: Any) -> None:
    """Add the parsers of these commands to the command line."""
    _add_webhooks(group(commands, "webhooks", "Have events of the project posted to an address, signed."))
    _add_mlflow(group(commands, "mlflow", "The project's MLflow, and the runs that carry a record."))
    _add_links(group(commands, "links", "Links of a record to places outside."))
    badge = command(commands, "badge", _badge, "Print or save a record's badge, an SVG.")
    badge.add_argument("id", help="the preregistration")
    badge.add_argument("--output", type=Path, metavar="FILE", help="where to; default: standard output")


def _add_webhooks(steps: Any) -> None:
    """Add the subcommands for webhooks."""
    create = command(
        steps, "create", _create_webhook, "Make a webhook; prints its secret, which is shown once."
    )
    create.add_argument("address", help="where messages are posted, over https")
    create.add_argument(
        "--event", action="append", choices=EVENTS, help="may be repeated (default: every event)"
    )
    create.add_argument("--description", help="for people")
    create.add_argument(
        "--format", choices=FORMATS, default="standard", help="the shape of its messages: whole, or a chat's"
    )
    create.add_argument("--out", type=Path, metavar="FILE", help="write the secret to this new file")
    command(steps, "list", _list_webhooks, "List the project's webhooks.")
    for name, handler, summary in (
        ("delete", _delete_webhook, "Delete a webhook and what waits for it."),
        ("ping", _ping_webhook, "Have a message sent that tells of nothing."),
        ("deliveries", _list_deliveries, "List what was sent to a webhook, and what came of it."),
    ):
        command(steps, name, handler, summary).add_argument("id", help="the webhook")
    rotate = command(
        steps, "rotate", _rotate_secret, "Give a webhook another secret; the old one counts for a day."
    )
    rotate.add_argument("id", help="the webhook")
    rotate.add_argument("--out", type=Path, metavar="FILE", help="write the secret to this new file")
    again = command(steps, "redeliver", _redeliver, "Have a message sent again.")
    again.add_argument("id", help="the webhook")
    again.add_argument("delivery", help="the message")


def _add_mlflow(steps: Any) -> None:
    """Add the subcommands for a project's MLflow tracking server."""
    set_ = command(steps, "set", _set_server, "Say where the project's MLflow tracking server is.")
    set_.add_argument("address", help="as MLFLOW_TRACKING_URI")
    set_.add_argument("--username", help="for HTTP Basic")
    set_.add_argument("--password-file", type=Path, metavar="FILE", help="for HTTP Basic")
    set_.add_argument("--token-file", type=Path, metavar="FILE", help="for a bearer token")
    command(steps, "show", _show_server, "Show where it is.")
    command(steps, "forget", _forget_server, "Forget it and its credentials.")
    for name, handler, summary in (
        ("link", _link_run, "Have a run carry a record: tags now, verdict and receipt once they are there."),
        ("unlink", _unlink_run, "Say nothing more on a run."),
    ):
        parser = command(steps, name, handler, summary)
        parser.add_argument("id", help="the preregistration")
        parser.add_argument("run", help="the run's id in MLflow")
    command(steps, "runs", _list_linked_runs, "List the runs that carry a record.").add_argument(
        "id", help="the preregistration"
    )


def _add_links(steps: Any) -> None:
    """Add `forelock links` with its steps to set, list and delete."""
    put = command(steps, "set", _set_link, "Set a link of a locked record.")
    put.add_argument("id", help="the preregistration")
    put.add_argument("name", help="what the link is called: letters, digits, '.', '_' and '-'")
    put.add_argument("address", help="an https address")
    put.add_argument("--kind", choices=KINDS, default="other", help="what is there")
    put.add_argument("--external-id", help="what the other side calls it")
    command(steps, "list", _list_links, "List the links of a record.").add_argument(
        "id", help="the preregistration"
    )
    delete = command(steps, "delete", _delete_link, "Remove a link.")
    delete.add_argument("id", help="the preregistration")
    delete.add_argument("name", help="the link")


def _create_webhook(options: argparse.Namespace, client: Client) -> int:
    files.require_new(options.out)
    made = client.create_webhook(
        options.address, options.event or EVENTS, description=options.description, format=options.format
    )
    name, events = text.plain(made["webhook"]["id"]), ", ".join(made["webhook"]["events"])
    tell(say_of(options)("webhook_made", id=name, events=events))
    return _put_secret(options, made)


def _rotate_secret(options: argparse.Namespace, client: Client) -> int:
    files.require_new(options.out)
    return _put_secret(options, client.rotate_webhook(options.id))


def _put_secret(options: argparse.Namespace, made: dict[str, Any]) -> int:
    """Show a secret, or write it to a file of its owner's."""
    if options.out is None:
        return show(options, made, made["secret"])
    try:
        files.write_secret(options.out, made["secret"])
    except OSError as error:
        again = f"; get another secret: forelock webhooks rotate {made['webhook']['id']}"
        raise files.unwritten(options.out, error, again) from error
    return show(options, {"webhook": made["webhook"], "file": str(options.out)}, str(options.out))


def _list_webhooks(options: argparse.Namespace, client: Client) -> int:
    hooks = list(client.webhooks())
    lines = [
        f"{text.plain(hook['id'])}  {text.plain(hook['url'])}: {', '.join(hook['events'])}" for hook in hooks
    ]
    return show(options, hooks, "\n".join(lines) or say_of(options)("no_webhooks"))


def _delete_webhook(options: argparse.Namespace, client: Client) -> int:
    client.delete_webhook(options.id)
    return show_ended(options, "deleted")


def _ping_webhook(options: argparse.Namespace, client: Client) -> int:
    return _show_message(options, client.ping_webhook(options.id))


def _show_message(options: argparse.Namespace, made: dict[str, Any]) -> int:
    """Show a message that was queued, and where it stands."""
    say, name = say_of(options), text.plain(made["id"])
    return show(options, made, say("message_is", id=name, state=say.delivery(made["state"])))


def _list_deliveries(options: argparse.Namespace, client: Client) -> int:
    deliveries, say = list(client.deliveries(options.id)), say_of(options)
    lines = [
        f"{text.plain(delivery['id'])}  "
        + say("of_name", name=text.plain(delivery["event"]), text=_say_state(delivery, say))
        for delivery in deliveries
    ]
    return show(options, deliveries, "\n".join(lines) or say("nothing_sent"))


def _say_state(delivery: dict[str, Any], say: Say) -> str:
    """Return what became of a delivery."""
    error = say("delivery_error", error=text.plain(delivery["error"])) if delivery["error"] else ""
    code = "delivery_once" if delivery["attempts"] == 1 else "delivery"
    return say(code, state=say.delivery(delivery["state"]), n=delivery["attempts"], error=error)


def _redeliver(options: argparse.Namespace, client: Client) -> int:
    return _show_message(options, client.redeliver(options.id, options.delivery))


def _set_server(options: argparse.Namespace, client: Client) -> int:
    password = None if options.password_file is None else _read_line(options.password_file)
    token = None if options.token_file is None else _read_line(options.token_file)
    made = client.put_mlflow(options.address, username=options.username, password=password, token=token)
    return show(options, made, f"{text.plain(made['url'])} ({made['auth']})")


def _read_line(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise FileFault(f"{path}: cannot be read") from error


def _show_server(options: argparse.Namespace, client: Client) -> int:
    tracker = client.mlflow()
    return show(options, tracker, f"{text.plain(tracker['url'])} ({tracker['auth']})")


def _forget_server(options: argparse.Namespace, client: Client) -> int:
    client.forget_mlflow()
    return show(options, {"forgotten": True}, say_of(options)("no_mlflow"))


def _link_run(options: argparse.Namespace, client: Client) -> int:
    made = client.link_run(options.id, options.run)
    return show(
        options, made, say_of(options)("run_carries", run=text.plain(made["run"]), id=text.plain(options.id))
    )


def _unlink_run(options: argparse.Namespace, client: Client) -> int:
    client.unlink_run(options.id, options.run)
    return show(
        options,
        {"run": options.run, "linked": False},
        say_of(options)("run_let_go", run=text.plain(options.run)),
    )


def _list_linked_runs(options: argparse.Namespace, client: Client) -> int:
    runs, say = client.linked_runs(options.id), say_of(options)
    lines = [
        say(
            "of_name",
            name=text.plain(run["run"]),
            text=_say_state(run["last"], say) if run["last"] else say("nothing_kept"),
        )
        for run in runs
    ]
    return show(options, runs, "\n".join(lines) or say("no_runs"))


def _set_link(options: argparse.Namespace, client: Client) -> int:
    made = client.put_link(
        options.id, options.name, options.address, kind=options.kind, external_id=options.external_id
    )
    return show(options, made, f"{text.plain(made['name'])}: {text.plain(made['url'])}")


def _list_links(options: argparse.Namespace, client: Client) -> int:
    links = client.links(options.id)
    lines = [f"{text.plain(link['name'])}  {link['kind']:<10}  {text.plain(link['url'])}" for link in links]
    return show(options, links, "\n".join(lines) or say_of(options)("no_links"))


def _delete_link(options: argparse.Namespace, client: Client) -> int:
    client.delete_link(options.id, options.name)
    return show(
        options,
        {"name": options.name, "deleted": True},
        say_of(options)("is_removed", name=text.plain(options.name)),
    )


def _badge(options: argparse.Namespace, client: Client) -> int:
    content = client.badge(options.id)
    if options.output is None:
        return put_out(content)
    files.write_bytes(options.output, content)
    return 0
