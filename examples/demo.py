"""The main job on a real evaluation: lock a plan, post results as an eval job would, read the verdict.

    python examples/demo.py [--once] [--data DIR] [--bundle FILE]

Starts the service, and leaves it running so that its pages can be read; `--once` stops it after the
verdict. Without `--data` everything is forgotten when it stops. `--bundle` saves what shows the verdict
to be right, and checks it without the service.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from forelock import Client, ForelockProblem, Results, text
from forelock.problem import ForelockError

EVALUATION = Path(__file__).parent / "stdlib_retrieval"
USUAL_PORT = 8321
BATCH_SIZE = 500
START_SECONDS = 300
PATIENCE_SECONDS = 20.0


class DemoFailed(Exception):
    """The demo cannot go on; says why."""


def main() -> int:
    """Run the demo; returns its exit status."""
    parser = argparse.ArgumentParser(prog="./do demo", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--once", action="store_true", help="stop the service after the verdict")
    parser.add_argument("--data", type=Path, metavar="DIR", help="keep the service's data in DIR")
    parser.add_argument("--bundle", type=Path, metavar="FILE", help="save the verdict's bundle, and check it")
    options = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell starts background jobs deaf to the first
        signal.signal(number, signal.default_int_handler)
    try:
        with data_directory(options.data) as data, service(data) as url:
            demonstrate(url, data / "admin.key", stays=not options.once, bundle=options.bundle)
            if not options.once:
                print("\nThe service keeps running; Ctrl-C stops it.", flush=True)
                signal.pause()
    except KeyboardInterrupt:
        print("\nStopped.")
        return 0 if not options.once else 130
    except ForelockProblem as problem:
        print(f"\nThe demo failed. {text.problem_text(problem)}", file=sys.stderr)
        return 1
    except (DemoFailed, ForelockError) as error:
        print(f"\nThe demo failed. {error}", file=sys.stderr)
        return 1
    return 0


def demonstrate(url: str, admin_key: Path, *, stays: bool, bundle: Path | None) -> None:
    """The main job, step by step."""
    plan = json.loads((EVALUATION / "plan.json").read_text(encoding="utf-8"))
    with Client(url, admin_key.read_text(encoding="ascii").strip()) as researcher:
        identity = lock(researcher, plan)
        note = researcher.checkpoint()
        secret = researcher.create_key("demo eval job", ["results:write"])["secret"]
        with Client(url, secret) as job:
            post_results(job, identity, plan)
            show_blindness(job, identity)
        say(
            "5. The verdict", "the service opens the rows, runs the locked tests and applies the locked rules"
        )
        researcher.on_wait = patience()
        verdict = researcher.verdict(identity, wait=True, timeout=300, poll=0.2)
        print("\n" + text.verdict_text(verdict, researcher.verdict_sentences(identity)))
        if bundle is not None:
            check_bundle(researcher, identity, note, bundle, text.exit_code(verdict))
    if stays:
        print(f"\nThe page: {url}/preregistrations/{identity}")
        print(f"It asks for an API key; the first one is in {admin_key}")


def patience(clock: Callable[[], float] = time.monotonic) -> Callable[[str, float | None], None]:
    """Says once that the computation goes on, where it takes longer than a reader expects to wait."""
    begun, said = clock(), False

    def wait(_what: str, share: float | None) -> None:
        nonlocal said
        if share is None and not said and clock() - begun >= PATIENCE_SECONDS:
            said = True
            print(
                "   Still computing: about ten seconds of processor, minutes where much else runs.",
                flush=True,
            )

    return wait


def check_bundle(researcher: Client, identity: str, note: str, file: Path, expected: int) -> None:
    """Save the record's bundle and the checkpoint of its lock, and check the one with the other."""
    kept = file.with_name(f"{file.name}.checkpoint")
    with file.open("wb") as output:
        size = researcher.bundle(identity, output)
    kept.write_text(note, encoding="utf-8", newline="\n")
    say(
        "6. The bundle",
        f"{file}, {size} bytes; beside it the ledger's checkpoint that was kept after the lock",
    )
    command = ["verify", str(file), "--checkpoint", str(kept)]
    print(f"   forelock {shlex.join(command)}\n", flush=True)
    status = subprocess.run([sys.executable, "-m", "forelock.cli", *command], check=False).returncode
    if status != expected:
        raise DemoFailed(f"forelock verify ended with {status}, and the verdict is {expected}")


def lock(researcher: Client, plan: dict[str, Any]) -> str:
    """Draft the plan, check it, and lock it; returns its id."""
    say("1. The plan", plan["title"])
    for hypothesis in plan["hypotheses"]:
        print(f"   {hypothesis['id']}: {hypothesis['statement']}\n      supported if {hypothesis['rule']}")
    identity: str = researcher.create_plan(plan)["id"]
    for population in plan["populations"]:
        manifest = (EVALUATION / population["id"] / "items.csv").read_bytes()
        items = researcher.put_items(identity, population["id"], manifest, "text/csv")
        print(f"   {population['id']}: {items['n']} items, SHA-256 {items['items_sha256'][:16]}…")
    say("2. What the plan can and cannot show", "lint, before anybody has seen a result")
    findings = researcher.lint(identity)
    print(indented(text.findings_text(findings)))
    codes = sorted({each["code"] for each in findings if each["severity"] == "warning"})
    record = researcher.lock(identity, codes)
    acknowledged = f", acknowledging {', '.join(codes)}" if codes else ""
    say("3. Locked", f"plan SHA-256 {record['plan_sha256']}{acknowledged}")
    return identity


def post_results(job: Client, identity: str, plan: dict[str, Any]) -> None:
    """Post every planned result in batches, the first of them twice, as after a lost connection."""
    batches = [batch for part in shipped_results(plan) for batch in part.batches(BATCH_SIZE)]
    rows = sum(map(len, batches))
    say(
        "4. The eval job", f"{rows} results in {len(batches)} batches, with a key that can write and not read"
    )
    bar = text.Bar("   posting", rows, sys.stdout)
    replayed = False
    for number, batch in enumerate(batches):
        key = str(uuid.uuid4())
        answer = job.submit_batch(identity, batch, idempotency_key=key)
        if number == 0:
            replayed = job.submit_batch(identity, batch, idempotency_key=key) == answer
        bar.advance(len(batch))
    bar.close()
    if not replayed:
        raise DemoFailed("a repeated batch was not answered as the first time")
    print("   The first batch was sent twice: the same answer, and its results are stored once.")
    print(f"   {answer['received']} of {answer['expected']} results are in.")


def shipped_results(plan: dict[str, Any]) -> Iterator[Results]:
    """What every arm scored, on every endpoint of the populations its hypotheses name."""
    for hypothesis in plan["hypotheses"]:
        population = hypothesis["population"]
        with (EVALUATION / population / "results.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        for arm in (hypothesis["baseline"], hypothesis["candidate"]):
            for endpoint in plan["endpoints"]:
                values = [float(row[f"{arm}.{endpoint['id']}"]) for row in rows]
                ids = [row["item_id"] for row in rows]
                yield Results(arm, endpoint["id"], ids, values, population=population)


def show_blindness(job: Client, identity: str) -> None:
    """The job's key cannot read what it wrote."""
    try:
        job.verdict(identity)
    except ForelockProblem as refusal:
        print(f"   The job asks for the verdict: {refusal.status} {refusal.code}.")
    else:
        raise DemoFailed("a key that may only write has read the verdict")


@contextlib.contextmanager
def data_directory(given: Path | None) -> Iterator[Path]:
    """The service's data directory: the one given, or one that is removed at the end."""
    if given is not None:
        yield given.absolute()
        return
    with tempfile.TemporaryDirectory(prefix="forelock-demo-", ignore_cleanup_errors=True) as made:
        yield Path(made) / "data"


@contextlib.contextmanager
def service(data: Path) -> Iterator[str]:
    """Run the service on the usual port, or on a free one where that is taken; yields its address."""
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    port = USUAL_PORT if is_free(USUAL_PORT) else 0
    command = [sys.executable, "-m", "forelock.cli", "serve", "--data", str(data), "--port", str(port)]
    log = data / "serve.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            yield wait_until_ready(process, log)
        finally:
            process.terminate()
            process.wait()


def is_free(port: int) -> bool:
    """True when the port can be bound now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def wait_until_ready(process: subprocess.Popen[bytes], log: Path) -> str:
    """The address the service names in its log, once it answers there."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise DemoFailed(f"The service did not start:\n{log.read_text(errors='replace')[-2000:]}")
        said = re.search(r"listens on (http://\S+)", log.read_text(errors="replace"))
        if said:
            with (
                contextlib.suppress(URLError, OSError),
                urlopen(f"{said[1]}/health/ready", timeout=5) as answer,
            ):
                if answer.status == 200:
                    print(f"The service listens on {said[1]}")
                    return said[1]
        time.sleep(0.1)
    raise DemoFailed(f"The service did not answer within {START_SECONDS} s; its log is {log}")


def say(heading: str, sentence: str) -> None:
    """A step of the demo."""
    print(f"\n{heading}: {sentence}", flush=True)


def indented(lines: str) -> str:
    """Lines under a step."""
    return "\n".join(f"   {line}" for line in lines.splitlines())


if __name__ == "__main__":
    sys.exit(main())
