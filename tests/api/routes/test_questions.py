"""Questions to uploaded files over HTTP: the command line's answers and options, and refusals with a way out."""

from __future__ import annotations

import argparse
import json

import pytest

from forelock import cli
from service.api.calculators.commands import (
    FLAGS,
    MOST_BYTES,
    MOST_LINES,
    MOST_TEXT,
    OPTIONS,
    REPEATED,
    make_command,
)
from service.api.examples.questions import FORM
from tests.drawing import one_in

OLD = "item_id,repo,value\n" + "".join(f"q{i},r{i % 6},{int(i % 4 > 0)}\n" for i in range(60))
NEW = "item_id,repo,value\n" + "".join(f"q{i},r{i % 6},{int(i % 3 > 0)}\n" for i in range(60))
BOTH = "item_id,old,new,third\n" + "".join(
    f"q{i},{int(i % 4 > 0)},{int(i % 3 > 0)},{i % 2}\n" for i in range(60)
)
RUNS = "item_id,run,value\n" + "".join(
    f"q{i},{run},{int((i + run) % 4 > 0)}\n" for i in range(9) for run in (1, 2, 3)
)

TASKS = "item_id,task,old,new\n" + "".join(f"q{n},t{n % 3},{n % 2},{n % 5 % 2}\n" for n in range(60))
COLUMNS = json.dumps({"old": [int(i % 4 > 0) for i in range(60)], "new": [int(i % 3 > 0) for i in range(60)]})


@pytest.fixture
def database_url(sqlite_url):
    return sqlite_url


def asked(client, question, files, status=200, **options):
    """What is answered; `at_least` is the option `at-least`."""
    got = client.post(
        f"/v1/questions/{question}",
        data={name.replace("_", "-"): value for name, value in options.items()},
        files=[("file", file) for file in files],
    )
    assert got.status_code == status, got.text
    return got.json()


@pytest.mark.parametrize(
    ("question", "files", "options", "arguments"),
    one_in(3, [
        ("score", {"old.csv": OLD}, {"cluster": "repo", "at_least": "95%"}, ["--cluster=repo", "--at-least=95%"]),
        ("score", {"both.csv": BOTH}, {"arm": "new", "set": ["metric=new"]}, ["--arm=new", "--set=metric=new"]),
        ("gate", {"old.csv": OLD, "new.csv": NEW}, {"margin": "2pp", "lower": "false"}, ["--margin=2pp", "--no-lower"]),
        ("gate", {"old.csv": OLD, "new.csv": NEW}, {"items": "true", "lower": "true"}, ["--items", "--lower"]),
        ("rank", {"both.csv": BOTH}, {"common": "true"}, ["--common"]),
        ("noise", {"runs.csv": RUNS}, {"set": ["replicate=run"]}, ["--set=replicate=run"]),
        ("resolve", {"old.csv": OLD, "new.csv": NEW}, {"effect": ["2pp", "5pp"]}, ["--effect=2pp", "--effect=5pp"]),
        ("rank", {"both.json": COLUMNS}, {}, []),
        ("items", {"both.csv": BOTH}, {"arms": "old,new,third"}, ["--arms=old,new,third"]),
        ("rank", {"tasks.csv": TASKS}, {"suite": "task", "weights": "items"}, ["--suite=task", "--weights=items"]),
        ("gate", {"tasks.csv": TASKS}, {"arms": "old,new", "suite": "task"}, ["--arms=old,new", "--suite=task"]),
    ]),
)  # fmt: skip
def test_the_answer_is_the_one_of_the_command_line(
    client, tmp_path, monkeypatch, capsys, question, files, options, arguments
):
    answer = asked(client, question, files.items(), **options)
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    cli.main([question, *files, *arguments, "--json"])
    assert answer == json.loads(capsys.readouterr().out)
    assert answer["question"] == question
    assert {"headline", "answer", "cautions", "next", "provenance"} <= answer.keys()
    assert [file["path"] for file in answer["provenance"]["files"]] == list(files)


def test_the_order_of_files_is_the_order_of_arms(client):
    there = asked(client, "gate", [("a.csv", OLD), ("b.csv", NEW)])
    back = asked(client, "gate", [("b.csv", NEW), ("a.csv", OLD)])
    assert there["answer"]["estimate"] == -back["answer"]["estimate"] != 0


def test_files_without_names_or_of_one_name_are_read(client):
    assert asked(client, "gate", [("a.csv", OLD), ("a.csv", NEW)])["answer"]["n"] == 60
    head = '--b\r\nContent-Disposition: form-data; name="'
    body = f'{head}file"\r\n\r\n{OLD}\r\n{head}format"\r\n\r\ncsv\r\n--b--'
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    assert client.post("/v1/questions/score", content=body, headers=headers).json()["answer"]["n"] == 60


@pytest.mark.parametrize(
    ("question", "options", "content", "path", "said"),
    one_in(3, [
        ("score", {"margin": "2pp"}, OLD, "margin", "score takes at-least"),
        ("score", {"at_least": "x" * (MOST_TEXT + 1)}, OLD, "at-least", "longer than"),
        ("score", {"at_least": ["90%", "95%"]}, OLD, "at-least", "send at most 1"),
        ("score", {"set": ["a=b"] * (MOST_LINES + 1)}, OLD, "set", "send at most"),
        ("score", {"cluster": "re\0po"}, OLD, "cluster", "NUL"),
        ("score", {"lower": "yes"}, OLD, "lower", "true or false"),
        ("score", {"alpha": "two"}, OLD, "alpha", "--help"),
        ("score", {"missing": "drop"}, OLD, "missing", "--help"),
        ("gate", {"plan": "9d0f"}, OLD, "plan", "gate takes margin"),
        ("gate", {"series": "../x"}, OLD, "series", "gate takes"),
        ("gate", {"markdown": "/tmp/x"}, OLD, "markdown", "gate takes"),
        ("gate", {"svg": "/tmp/x"}, OLD, "svg", "gate takes"),
        ("gate", {"url": "http://127.0.0.1:1"}, OLD, "url", "gate takes"),
        ("gate", {"key-file": "/etc/passwd"}, OLD, "key-file", "gate takes"),
        ("gate", {"items": "/tmp/x"}, OLD, "items", "true or false"),
        ("gate", {"suite": "task", "weights": "/etc/passwd"}, OLD, "weights", "equal or items"),
        ("score", {"set": ["item_id"]}, OLD, None, "item_id"),
        ("score", {}, "item_id,value\nq1,maybe\n", None, "what each counts as"),
        ("score", {}, "", None, "0.csv"),
        ("score", {}, "\0\1", None, "0.csv"),
        ("score", {}, "PK\3\4" + "x" * 50, None, "0.csv"),
        ("score", {}, "[" * 5000, None, "0.csv"),
        ("rank", {}, OLD, None, "two systems"),
    ]),
)  # fmt: skip
def test_what_cannot_be_answered_is_refused_with_a_way_out(client, question, options, content, path, said):
    problem = asked(client, question, [("0.csv", content)], status=422, **options)
    assert path is None or problem["errors"][0]["path"] == path
    assert said in json.dumps(problem)
    assert "scratch" not in json.dumps(problem)
    assert "Traceback" not in json.dumps(problem)


def test_an_unknown_question_names_those_there_are(client):
    problem = asked(client, "dance", [("a.csv", OLD)], status=404)
    assert all(question in problem["detail"] for question in OPTIONS)


def test_a_question_without_files_asks_for_one(client):
    body = '--b\r\nContent-Disposition: form-data; name="cluster"\r\n\r\nrepo\r\n--b--'
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    problem = client.post("/v1/questions/score", content=body, headers=headers).json()
    assert (problem["status"], problem["errors"][0]["path"]) == (422, "file")


def test_a_file_under_another_name_is_told_where_it_belongs(client):
    got = client.post("/v1/questions/score", files={"upload": ("a.csv", OLD)})
    assert (got.status_code, got.json()["errors"][0]["path"]) == (422, "upload")
    assert "'file'" in got.json()["errors"][0]["fix"]


@pytest.mark.parametrize("content", [b"", b"{}", b"--b--", b"--b\r\n\r\n", b"--b\r\nx\r\n\r\ny\r\n--b--"])
def test_what_is_no_form_is_no_body(client, content):
    got = client.post(
        "/v1/questions/score", content=content, headers={"Content-Type": "multipart/form-data; boundary=b"}
    )
    assert got.status_code in (400, 422)
    assert "file" in got.json()["detail"]


def test_a_body_of_another_kind_is_told_which_is_read(client):
    got = client.post("/v1/questions/score", json={"item_ids": ["a"], "values": [1]})
    assert (got.status_code, "multipart/form-data" in got.json()["detail"]) == (415, True)


def test_more_bytes_than_are_read_are_refused_before_they_are(client):
    headers = {
        "Content-Type": "multipart/form-data; boundary=b",
        "Content-Length": str(MOST_BYTES + 1),
    }
    got = client.post("/v1/questions/score", content=iter([b"x"]), headers=headers)
    assert (got.status_code, got.json()["code"]) == (413, "body_too_large")


def test_it_takes_the_scope_of_tests(client, new_key):
    _key, secret = new_key("read")
    got = client.post(
        "/v1/questions/score",
        files={"file": ("a.csv", OLD)},
        headers={"Authorization": f"Bearer {secret}"},
    )
    assert got.status_code == 403
    assert client.post("/v1/questions/score", headers={"Authorization": ""}).status_code == 401


def test_files_leave_nothing_behind(client, tmp_path):
    asked(client, "score", [("../../etc/old.csv", OLD)])
    assert not list((tmp_path / "scratch").iterdir())


def test_the_example_of_the_document_is_answered(client):
    options = {name: value for name, value in FORM.items() if name != "file"}
    answer = client.post(
        "/v1/questions/score", data=options, files=[("file", ("results.csv", FORM["file"][0]))]
    )
    assert answer.json()["answer"]["outcome"] == "cannot_tell"


@pytest.mark.parametrize("question", OPTIONS)
def test_every_option_is_the_commands_and_names_no_place(question):
    actions = {option: action for action in _parser(question)._actions for option in action.option_strings}
    for name in OPTIONS[question]:
        action = actions[f"--{name}"]
        assert action.metavar not in ("FILE", "ID", "URL") or name in FLAGS
        assert (name in REPEATED) == isinstance(action, argparse._AppendAction)
        assert (name in FLAGS) == (action.nargs in (0, "?"))


def _parser(question):
    parser = cli._parser([question])
    (commands,) = (each for each in parser._actions if isinstance(each, argparse._SubParsersAction))
    return commands.choices[question]


def test_values_cannot_become_options():
    asked_of = make_command("score", ["--x.csv"], {"cluster": ["--markdown=/tmp/x"], "set": ["--svg=/tmp/x"]})
    assert asked_of == ["score", "--x.csv", "--cluster=--markdown=/tmp/x", "--set=--svg=/tmp/x"]
