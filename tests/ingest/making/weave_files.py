"""Evaluations of W&B Weave, run against the trace server of its own package on SQLite: calls as it streams them.

Weave 0.52 is the last line that brings its server in the package; the calls go through its client, its evaluation
and its server's `calls_query_stream`, as `calls/stream_query` would answer them. `WEAVE_CLIENT_PARALLELISM=0`:
on SQLite a call that is ended by another thread before it was begun stays open.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import weave
from weave.trace.context import weave_client_context
from weave.trace.weave_client import WeaveClient
from weave.trace_server import trace_server_interface as wire
from weave.trace_server.external_to_internal_trace_server_adapter import ExternalTraceServer, IdConverter
from weave.trace_server.sqlite_trace_server import SqliteTraceServer

from tests.ingest.making import behaviour as b

NAMES_OF_THIS_SYSTEM = re.compile(r'("(?:os_version|os_release|sys_version)": )"[^"]*"')


class Names(IdConverter):
    """Inside, a project is called otherwise than outside, as with the real service."""

    def ext_to_int_project_id(self, project_id):
        return project_id.replace("/", "-inside-")

    def int_to_ext_project_id(self, project_id):
        return project_id.replace("-inside-", "/")

    def ext_to_int_run_id(self, run_id):
        return run_id

    int_to_ext_run_id = ext_to_int_user_id = int_to_ext_user_id = ext_to_int_run_id


class Server(ExternalTraceServer):
    """The way in, which knows who asks."""

    def feedback_create(self, req):
        req.wb_user_id = "someone"
        return super().feedback_create(req)


class System(weave.Model):
    arm: str

    @weave.op
    def predict(self, item_id: str, question: str) -> str:
        index = b.index_of(item_id)
        if b.crashes(self.arm, index):
            raise RuntimeError("the provider answered 529")
        return b.reply(self.arm, index)


@weave.op
def exact(answer: str, output: str) -> bool:
    return output == answer


def digits_of(arm: str):
    @weave.op(name="digits")
    def digits(item_id: str, output: str) -> float:
        index = b.index_of(item_id)
        if b.grader_crashes(arm, index):
            raise ValueError("the judge gave no number")
        return b.digits(output, index)

    return digits


def run(arm: str) -> list[str]:
    """The calls that `forelock import --from weave` asks for: children of the evaluation, examples expanded."""
    with tempfile.TemporaryDirectory() as place:
        inside = SqliteTraceServer(f"{place}/calls.db")
        inside.setup_tables()
        return calls_of(arm, Server(inside, Names()))


def calls_of(arm: str, server: Server) -> list[str]:
    client = WeaveClient("acme", arm, server)
    weave_client_context.set_weave_client_global(client)
    dataset = [
        {
            "item_id": b.item_id(index),
            "question": b.question(index),
            "answer": b.answer(index),
            "topic": b.cluster(index),
        }
        for index in b.asked(arm)
    ]
    evaluation = weave.Evaluation(dataset=dataset, scorers=[exact, digits_of(arm)], name="products")
    # What it sums up in the end cannot add the {} of a row that raised: the calls are there nevertheless.
    with contextlib.suppress(TypeError):
        asyncio.run(evaluation.evaluate(System(arm=arm)))
    client.flush()
    project = f"acme/{arm}"
    whole = wire.CallsQueryReq(project_id=project, filter=wire.CallsFilter(trace_roots_only=True))
    (root,) = server.calls_query_stream(whole)
    asked = wire.CallsQueryReq(
        project_id=project,
        filter=wire.CallsFilter(parent_ids=[root.id]),
        expand_columns=["inputs.example"],
        sort_by=[wire.SortBy(field="started_at", direction="asc")],
        limit=500,
        offset=0,
    )
    calls = list(server.calls_query_stream(asked))
    assert all(call.ended_at for call in calls)
    return [json.dumps(json.loads(call.model_dump_json()), ensure_ascii=False) for call in calls]


def main(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    truth = b.Truth()
    # A process each: the server keeps the connection to its first database.
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as processes:
        for arm, lines in zip(b.ARMS, processes.map(run, b.ARMS), strict=True):
            name = f"{arm}_calls.jsonl"
            (out / name).write_text(
                b.without_paths(NAMES_OF_THIS_SYSTEM.sub(r'\1""', "\n".join(lines))) + "\n", "utf-8"
            )
            truth.add_run(name, arm)
    lost = (b.item_id(b.GRADER_CRASHES), "candidate", "exact")
    truth.rows = [
        (*row[:6], "", "error", "the other scorer raised, and the call with it")
        if (row[3], row[1], row[2]) == lost
        else row
        for row in truth.rows
    ]
    truth.write(out)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
