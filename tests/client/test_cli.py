from __future__ import annotations

import argparse
import importlib
import io
import json
import sys
from pathlib import Path

import httpx
import pytest

from forelock import cli, settings
from forelock.problem import FileFault
from forelock.text import EXIT_CODES

RECORD = {
    "id": "p1",
    "state": "draft",
    "version": 1,
    "plan": {"title": "A plan", "hypotheses": [{"id": "H1", "rule": "delta >= 2.0 pp"}]},
    "plan_sha256": None,
}
VERDICT = {
    "preregistration_id": "p1",
    "hypotheses": [
        {
            "id": "H1a",
            "outcome": "not_supported",
            "sentence": "The rule is false.",
            "rule": "delta >= 2.0 pp and bootstrap.ci excludes 0 and t.p_value < 0.05",
            "clauses": [
                {"text": "delta >= 2.0 pp", "observed": 0.0082, "threshold": 0.02, "holds": False},
                {
                    "text": "bootstrap.ci excludes 0",
                    "observed": {"low": -0.0329, "high": 0.0535},
                    "threshold": 0,
                    "holds": False,
                },
                {
                    "text": "t.p_value < 0.05",
                    "observed": None,
                    "threshold": 0.05,
                    "holds": None,
                    "reason": "all values are equal",
                },
            ],
            "analyses": {"bootstrap": {"analysis": {"sentence": "The candidate differs by +0.82 pp."}}},
        }
    ],
}


def hypotheses(*outcomes):
    return {"hypotheses": [{"id": "H", "outcome": outcome, "clauses": []} for outcome in outcomes]}


def test_run_prints_the_sentence(service, command, tmp_path):
    (tmp_path / "request.json").write_text('{"both_correct": 1}')
    warnings = [{"code": "FEW", "message": "few items"}]
    service.will_answer(200, {"analysis": {"sentence": "They differ."}, "warnings": warnings})
    status, output, _ = command("run", "mcnemar", str(tmp_path / "request.json"), "--url", "http://s")
    assert (status, output) == (0, "They differ.\nFEW: few items\n")
    assert service.requests[0].url.path == "/v1/tests/mcnemar"


def test_plan_create_uploads_manifests(service, command, tmp_path):
    (tmp_path / "plan.json").write_text(json.dumps(RECORD["plan"]))
    (tmp_path / "items.csv").write_text("item_id,cluster\na,c\n")
    service.will_answer(201, RECORD)
    service.will_answer(200, {"n": 1, "items_sha256": "0" * 64})
    service.will_answer(200, RECORD)
    status, output, errors = command(
        "plan", "create", str(tmp_path / "plan.json"), "--items", f"pop={tmp_path / 'items.csv'}"
    )
    assert status == 0
    assert output == "p1\n"
    assert errors.startswith("p1  draft  version 1\n  A plan\n  H1: delta >= 2.0 pp\n")
    put = service.requests[1]
    assert (put.method, put.url.path) == ("PUT", "/v1/preregistrations/p1/populations/pop/items")
    assert json.loads(put.content) == {"item_ids": ["a"], "clusters": ["c"]}


def test_plan_create_reads_every_file_before_it_writes(service, command, tmp_path):
    (tmp_path / "plan.json").write_text("{}")
    status, _, errors = command(
        "plan", "create", str(tmp_path / "plan.json"), "--items", f"pop={tmp_path / 'none.csv'}"
    )
    assert status == 2
    assert "none.csv" in errors
    assert service.requests == []


@pytest.mark.parametrize(("severity", "status"), [("error", 1), ("warning", 0)])
def test_plan_lint_tells_whether_the_lock_would_pass(service, command, severity, status):
    finding = {"code": "SOME_CODE", "severity": severity, "path": "tests[0]", "message": "mend it"}
    service.will_answer(200, {"findings": [finding]})
    assert command("plan", "lint", "p1")[:2] == (
        status,
        f"{severity:<7} SOME_CODE at tests[0]: mend it\n",
    )


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ((), []),
        (("--acknowledge", "A,B"), ["A", "B"]),
        (("--acknowledge", "all"), "all"),
        (("--acknowledge", "A", "--acknowledge", "B A"), ["A", "B"]),
    ],
)
def test_plan_lock_acknowledges(service, command, given, sent):
    service.will_answer(200, RECORD, ETag='"2"')
    locked = {**RECORD, "state": "locked", "locked_at": "2027-01-01T00:00:00Z", "plan_sha256": "ab" * 32}
    service.will_answer(200, locked)
    status, output, _ = command("plan", "lock", "p1", *given)
    assert status == 0
    assert f"locked 2027-01-01T00:00:00Z, SHA-256 {'ab' * 32}" in output
    assert service.sent() == {"acknowledge": sent}


def test_plan_show_as_json(service, command):
    service.will_answer(200, RECORD)
    status, output, _ = command("plan", "show", "p1", "--json")
    assert (status, json.loads(output)) == (0, RECORD)


def test_submit_posts_every_file(service, command, tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text("item_id,value\n" + "".join(f"{name}{n},1\n" for n in range(3)))
    for _ in range(4):
        service.will_answer(200, {})
    for n in range(4):
        service.will_answer(201, {"batch": n, "n": 2 - n % 2, "skipped": 0})
    files = (str(tmp_path / "a.csv"), str(tmp_path / "b.csv"))
    scalars = ("--arm", "words", "--endpoint", "hit", "--population", "p", "--run", "r")
    status, output, errors = command("submit", "p1", *files, *scalars, "--batch-size", "2")
    assert (status, output, errors) == (0, "6 results posted in 4 batches\n", "")
    pieces = [["a0", "a1"], ["a2"], ["b0", "b1"], ["b2"]]
    assert [service.sent(n)["item_ids"] for n in range(8)] == pieces * 2
    assert [request.url.path.rsplit("/", 1)[1] for request in service.requests] == ["check"] * 4 + [
        "results"
    ] * 4
    assert {service.sent(n)["run"] for n in range(4)} == {"r"}
    assert {service.sent(n)["on_duplicate"] for n in range(4, 8)} == {"skip"}


def test_submit_says_what_was_in(service, command, tmp_path):
    (tmp_path / "a.csv").write_text("item_id,value,answer\nx,1,why\ny,1,because\n")
    service.will_answer(201, {"batch": None, "n": 0, "skipped": 2})
    status, output, errors = command("submit", "p1", str(tmp_path / "a.csv"), "--arm", "a", "--endpoint", "e")
    assert (status, output) == (0, "0 results posted in 0 batches; 2 were in already and stay as they are\n")
    assert errors.endswith("a.csv: not used: answer\n")


def test_a_refused_row_is_told_by_its_line(service, command, tmp_path):
    (tmp_path / "a.csv").write_text("item_id,value\n" + "".join(f"i{n},0.5\n" for n in range(4)))
    service.will_answer(200, {})
    errors = [{"path": "value", "message": "row 2 is neither 0 nor 1"}]
    service.will_answer(
        422, {"status": 422, "code": "invalid_data", "detail": "value: row 2 is bad", "errors": errors}
    )
    status, _, shown = command(
        "submit", "p1", str(tmp_path / "a.csv"), "--arm", "B", "--endpoint", "e", "--batch-size", "2"
    )
    assert status == 1
    assert shown.count("a.csv line 5 (arm 'B')") == 2
    assert len(service.requests) == 2, "nothing was posted"


def test_a_batch_is_struck(service, command):
    service.will_answer(200, {"sequence": 3})
    assert command("void", "p1", "2", "--reason", "wrong arm")[0] == 0
    assert service.requests[0].url.path == "/v1/preregistrations/p1/batches/2/void"
    assert service.sent() == {"reason": "wrong arm"}


def test_batches_one_line_each(service, command):
    batch = {"batch": 1, "population": "p", "arm": "A", "endpoint": "e", "n": 3, "received_at": "T"}
    service.will_answer(200, {"items": [{**batch, "void_reason": "wrong arm"}], "next_cursor": None})
    assert command("batches", "p1")[1] == "     1  T  p / A / e: 3 results, struck: wrong arm\n"


def test_a_plan_whose_items_are_refused_leaves_no_draft(service, command, tmp_path):
    (tmp_path / "plan.json").write_text("{}")
    (tmp_path / "items.csv").write_text("item_id\na\nb\n")
    service.will_answer(201, RECORD)
    service.will_refuse(422, "invalid_data")
    service.will_answer(200, RECORD, ETag='"1"')
    service.will_answer(204)
    status, output, errors = command(
        "plan", "create", str(tmp_path / "plan.json"), "--items", f"pop={tmp_path / 'items.csv'}"
    )
    assert (status, output) == (1, "")
    assert "it is invalid_data" in errors
    assert (service.requests[-1].method, service.requests[-1].url.path) == (
        "DELETE",
        "/v1/preregistrations/p1",
    )


def test_plan_edit_patches_the_newest_version(service, command, tmp_path):
    (tmp_path / "changes.json").write_text('{"title": "Another"}')
    service.will_answer(200, RECORD, ETag='"7"')
    service.will_answer(200, RECORD)
    assert command("plan", "edit", "p1", str(tmp_path / "changes.json"))[0] == 0
    assert service.requests[1].method == "PATCH"
    assert service.header("If-Match")[1] == '"7"'
    assert service.sent() == {"title": "Another"}


def test_plans_are_listed(service, command):
    item = {"id": "p1", "title": None, "state": "draft", "created_at": "T"}
    service.will_answer(200, {"items": [item], "next_cursor": None})
    assert command("plan", "list", "--state", "draft")[1] == "T  p1  draft\n"
    assert service.requests[0].url.params["state"] == "draft"


def test_a_write_only_key_is_the_default_and_its_secret_is_for_its_owner(service, command, tmp_path):
    made = {"key": {"id": "k", "scopes": ["results:write"]}, "secret": "flk_secret"}
    service.will_answer(201, made)
    path = tmp_path / "job.key"
    status, output, _ = command("keys", "create", "nightly", "--out", str(path))
    assert (status, output) == (0, f"{path}\n")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("flk_secret\n", 0o600)
    assert service.sent() == {"name": "nightly", "kind": "job", "scopes": ["results:write"]}
    assert command("keys", "create", "nightly", "--out", str(path))[0] == 2
    assert len(service.requests) == 1, "no key is made that cannot be written down"


def test_a_document_is_printed(service, command):
    service.answers.append(httpx.Response(200, text="# Plan\n"))
    assert command("report", "p1")[1] == "# Plan\n"
    assert service.requests[0].url.path == "/v1/preregistrations/p1/prereg.md"


def test_an_empty_id_is_said_in_a_line(command):
    assert command("plan", "lint", "") == (
        1,
        "",
        "forelock: an id or a name is empty: the service was not asked\n",
    )


def test_tests_are_listed_and_shown(service, command):
    service.will_answer(200, {"items": [{"name": "mcnemar", "title": "McNemar"}], "next_cursor": None})
    assert command("tests")[1] == "mcnemar  McNemar\n"
    service.will_answer(200, {"name": "mcnemar", "title": "McNemar", "example": {"n": 1}})
    assert command("tests", "mcnemar")[1] == 'mcnemar: McNemar\nexample request:\n{\n  "n": 1\n}\n'


def test_the_request_is_named_where_the_service_fails(service, command):
    service.will_refuse(500, "internal_error", X_Request_ID="abcdef12")
    assert command("progress", "p1")[2].splitlines()[-1] == "  request abcdef12"


def test_submit_sends_nothing_when_a_file_is_faulty(service, command, tmp_path):
    (tmp_path / "a.csv").write_text("item_id,value\nx,1\n")
    status, _, errors = command(
        "submit", "p1", str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), "--arm", "a", "--endpoint", "e"
    )
    assert status == 2
    assert "b.csv" in errors
    assert service.requests == []


def test_progress_prints_counts(service, command):
    cell = {"population": "p", "arm": "words", "endpoint": "hit", "received": 2, "expected": 5}
    service.will_answer(200, {"state": "collecting", "received": 2, "expected": 10, "cells": [cell]})
    assert command("progress", "p1")[:2] == (
        0,
        "collecting: 2 of 10 results are in\n  p / words / hit: 2 of 5\n",
    )


CHECK = (
    "Check it yourself: forelock bundle p1 && forelock verify p1.zip\n"
    "  It shows whether plan, results and verdict agree with one another and with the log; with\n"
    "  --checkpoint FILE in both commands, also whether it is the log of which somebody kept that\n"
    "  checkpoint."
)
STEP = "Next: repeat it on fresh items under a new plan, ±2.00 pp."
SENTENCES = {"hypotheses": [{"hypothesis": "H1a", "next": {"en": STEP, "zh": "下一步。"}}]}


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("plan_locked-3.rfc3161.checkpoint",
         "Check it yourself: forelock bundle p1 && forelock stamps save p1 p1-stamps && forelock verify p1.zip "
         "--checkpoint p1-stamps/plan_locked-3.rfc3161.checkpoint"),
        ("x; rm -rf ~.checkpoint", "Check it yourself: forelock bundle p1 && forelock verify p1.zip"),
        (None, "Check it yourself: forelock bundle p1 && forelock verify p1.zip"),
    ],
)  # fmt: skip
def test_the_commands_to_check_name_the_checkpoint_that_a_witness_stamped(service, command, file, line):
    outside = "Against the operator: so and so."
    service.will_answer(200, VERDICT)
    service.will_answer(
        200, SENTENCES | {"outside_checkpoint": file, "outside": {"en": outside, "zh": "如此"}}
    )
    lines = command("verdict", "p1", "--wait")[1].splitlines()
    assert line in lines
    assert lines[lines.index(line) - 1] == outside  # first what no command shows


def test_verdict_reads_clause_by_clause(service, command):
    service.will_answer(200, VERDICT)
    service.will_answer(200, SENTENCES)
    status, output, _ = command("verdict", "p1", "--wait")
    assert status == 10
    assert output.splitlines() == [
        "H1a: NOT SUPPORTED (which does not show that there is no effect)",
        f"  {STEP}",
        "  The rule is false.",
        "  rule: delta >= 2.0 pp and bootstrap.ci excludes 0 and t.p_value < 0.05",
        "    fails  delta >= 2.0 pp          observed +0.82 pp",
        "    fails  bootstrap.ci excludes 0  observed [-3.29 pp, +5.35 pp]",
        "  unknown  t.p_value < 0.05         observed nothing (all values are equal)",
        "  bootstrap: The candidate differs by +0.82 pp.",
        "",
        *CHECK.splitlines(),
    ]
    assert [each.url.path for each in service.requests] == [
        "/v1/preregistrations/p1/verdict",
        "/v1/preregistrations/p1/verdict/sentences",
    ]


def test_how_soon_results_were_in_stands_above_the_hypotheses(service, command):
    service.will_answer(200, hypotheses("supported"))
    arrival = {"en": "All results had arrived 1 second after the lock.", "zh": "全部结果。"}
    service.will_answer(200, {**SENTENCES, "arrival": arrival})
    status, output, _ = command("verdict", "p1")
    assert (status, output) == (0, f"{arrival['en']}\n\nH: SUPPORTED\n\n{CHECK}\n")


def test_a_verdict_stands_where_its_sentences_cannot_be_read(service, command):
    service.will_answer(200, hypotheses("supported"))
    service.will_refuse(409, "altered")
    status, output, errors = command("verdict", "p1")
    assert (status, output) == (0, f"H: SUPPORTED\n\n{CHECK}\n")
    assert (
        errors
        == "forelock: its headline, and what can be done next, could not be read: altered: it is altered\n"
    )


def test_json_is_the_answer_alone(service, command):
    service.will_answer(200, VERDICT)
    status, output, _ = command("verdict", "p1", "--json")
    assert (status, json.loads(output)) == (10, VERDICT)


def test_a_terminal_without_the_sign_gets_it_in_ascii(service, monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    monkeypatch.setattr("forelock.client.Client", lambda *_: service.client())
    service.will_answer(200, VERDICT)
    service.will_answer(200, SENTENCES)
    assert cli.main(["verdict", "p1"]) == 10
    sys.stdout.flush()
    assert b"\\xb12.00 pp" in written.getvalue()


@pytest.mark.parametrize(
    ("outcomes", "status"),
    [
        (["supported"], 0),
        (["supported", "equivalent"], 11),
        (["equivalent", "not_supported", "supported"], 10),
        (["not_supported", "inconclusive"], 12),
        (["inconclusive", "invalid", "supported"], 4),
        ([], 1),
    ],
)
def test_verdict_exits_by_its_worst_outcome(service, command, outcomes, status):
    service.will_answer(200, hypotheses(*outcomes))
    service.will_answer(200, {"hypotheses": []})
    assert command("verdict", "p1")[0] == status


def test_a_verdict_not_there_is_status_1(service, command):
    service.will_refuse(409, "blinded")
    status, output, errors = command("verdict", "p1")
    assert (status, output, errors) == (1, "", "blinded: it is blinded\n")


def test_a_verdict_that_does_not_come_is_status_1(service, command):
    service.will_refuse(409, "blinded")
    status, _, errors = command("verdict", "p1", "--wait", "--timeout", "0")
    assert status == 1
    assert "no verdict after 0 s" in errors


def test_verdicts_one_line_each(service, command):
    item = {
        "preregistration_id": "p1",
        "title": "T",
        "hypothesis": "H1",
        "outcome": "supported",
        "judged_at": "2027-01-01T00:00:00Z",
    }
    service.will_answer(200, {"items": [item], "next_cursor": None})
    assert command("verdicts", "--outcome", "supported")[:2] == (
        0,
        "2027-01-01T00:00:00Z  p1  H1: supported  T\n",
    )


def test_verdicts_have_their_headline_below_in_the_language_asked_for(service, command):
    item = {
        "preregistration_id": "p1",
        "title": "T",
        "hypothesis": "H1",
        "outcome": "supported",
        "headline": "B 优于 A",
        "judged_at": "2027-01-01T00:00:00Z",
    }
    service.will_answer(200, {"items": [item], "next_cursor": None})
    assert (
        command("verdicts", "--lang", "zh")[1] == "2027-01-01T00:00:00Z  p1  H1：得到支持  T\n    B 优于 A\n"
    )
    assert service.requests[-1].url.params["lang"] == "zh"


def test_a_refusal_names_every_field_and_its_fix(service, command):
    errors = [
        {"path": "hypotheses[0].rule", "message": "does not parse", "fix": "write delta >= 2.0 pp"},
        {"path": "", "message": "is odd"},
    ]
    service.will_answer(422, {"status": 422, "code": "lint_failed", "detail": "no", "errors": errors})
    status, _, shown = command("plan", "show", "p1")
    assert status == 1
    assert shown.splitlines() == [
        "lint_failed: no",
        "  hypotheses[0].rule: does not parse; write delta >= 2.0 pp",
        "  (whole body): is odd",
    ]


def test_text_of_others_cannot_steer_the_terminal(service, command):
    service.will_answer(200, {**RECORD, "plan": {"title": "a\x1b[2J\u202eb"}})
    _, output, _ = command("plan", "show", "p1")
    assert "a?[2J?b" in output


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("submit", "p1"),
        ("submit", "p1", "f.csv", "--batch-size", "0"),
        ("plan", "create", "f.json", "--items", "nofile"),
        ("verdicts", "--outcome", "great"),
    ],
)
def test_wrong_usage_is_status_2(command, arguments):
    assert command(*arguments)[0] == 2


def test_help_documents_the_exit_status(command):
    status, output, _ = command("verdict", "--help")
    assert status == 0
    for code in EXIT_CODES.values():
        assert f"\n {code:>2}  " in output


def test_every_command_is_where_the_list_says() -> None:
    from forelock.cli import LOCAL, NOUNS

    for noun, names in NOUNS.items():
        commands = argparse.ArgumentParser().add_subparsers()
        importlib.import_module(f"forelock.commands.{noun}").add(commands)
        assert tuple(commands.choices) == names, f"client/forelock/cli.py: the commands of {noun}"
    folder = Path(cli.__file__).parent / "commands"
    assert {path.stem for path in folder.glob("*.py")} - {"__init__"} >= set(NOUNS)
    assert set().union(*NOUNS.values()) >= LOCAL


def test_key_file_comes_before_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("FORELOCK_API_KEY", "flk_environment")
    (tmp_path / "key").write_text("flk_file\n")
    assert settings.api_key(None, tmp_path / "key") == "flk_file"
    assert settings.api_key() == "flk_environment"
    assert settings.api_key("flk_given") == "flk_given"


@pytest.mark.parametrize("content", [b"\xff\xfe", b"two words", "schlüssel".encode(), b"a\nb"])
def test_a_key_file_that_holds_no_key_is_refused(tmp_path, content):
    (tmp_path / "key").write_bytes(content)
    with pytest.raises(FileFault) as caught:
        settings.api_key(None, tmp_path / "key")
    assert "words" not in str(caught.value)
