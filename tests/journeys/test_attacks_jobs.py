"""Attacks on jobs, looks and texts that once worked: each has its test."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from service.domain.wording.wording import Support, lint_wording
from service.reports.prereg.markdown import parse_plan
from tests.journeys.plans import locked
from tests.journeys.sequential import ask, order, path, plan, run

from .conftest import Service

ALLOWED_SECONDS = 30
"""Far above what a linear parse takes, and far below what a quadratic one took."""

HUGE: dict[str, str] = {
    "blanks in a heading": "'## x' + ' ' * 500_000 + 'y'",
    "backquotes that nothing closes": "H + '- **a**\\n    - `n`: ' + '`' * 50_000 + 'a' * 50_000",
    "runs of every length": "H + '- **a**\\n    - Claim: ' + 'a'.join('`' * i for i in range(1, 440))",
    "blanks in a value": "H + '- **a**\\n    - Claim: a' + ' ' * 500_000 + 'b'",
}


def test_no_file_keeps_the_parser_busy() -> None:
    parsing = "from service.reports.prereg.markdown import parse_plan\n"
    parsing += "H = '# Preregistration\\n\\n## Hypotheses\\n\\n'\n"
    _within_time(parsing, {name: f"parse_plan({text})" for name, text in HUGE.items()})


def test_no_text_keeps_the_wording_lint_busy() -> None:
    texts = ["'\\n ' * 100_000", "'。' * 200_000", "'\\n' + '- ' * 99_999"]
    linting = "from service.domain.wording.wording import lint_wording\n"
    _within_time(linting, {text: f"lint_wording({text})" for text in texts})


def test_a_member_that_no_plan_has_is_left_out_whatever_its_value() -> None:
    names = ("claim", "hypotheses", "id", "sesoi", "stopping", "endpoints", "x")
    programs = {}
    for section in ("Missing", "Hypotheses", "Stopping rule", "Thresholds"):
        for value in ("null", "[]", "{}", "[null]", "[[1]]", '[{"id": "a"}]', '{"id": null}'):
            lines = "".join(f"- `{name}`: `{value}`\n" for name in names)
            text = f"# P\n\n## {section}\n\n{lines}"
            programs[f"{section}: {value}"] = f"parse_plan({text!r})"
    _within_time("from service.reports.prereg.markdown import parse_plan\n", programs)


def test_a_null_member_posted_as_a_file_is_answered(service: Service) -> None:
    answer = service.client.post(
        "/v1/preregistrations",
        content="# P\n\n## Missing data\n\n- `claim`: `null`\n",
        headers={"Content-Type": "text/markdown"},
    )
    assert answer.status_code == 201
    assert "claim" in answer.text


def test_sections_given_as_json_are_answered() -> None:
    endpoint = '{"id":"a","kind":"binary","role":"primary"}'
    for entries in (f"[{endpoint}]", f"[{endpoint},{endpoint}]"):
        plan, gaps = parse_plan(f"# P\n\n## Missing data\n\n- `endpoints`: `{entries}`\n")
        assert gaps
        assert (plan.endpoints is None) == (entries.count("id") == 2)


def _within_time(opening: str, programs: dict[str, str]) -> None:
    """Run them in a process of its own: a pattern that backtracks holds the interpreter and cannot be stopped."""
    program = opening + "".join(f"print({name!r}, flush=True)\n{each}\n" for name, each in programs.items())
    try:
        subprocess.run(
            [sys.executable, "-c", program], check=True, timeout=ALLOWED_SECONDS, stdout=subprocess.PIPE
        )
    except subprocess.TimeoutExpired as late:
        pytest.fail(f"it is busy with {(late.stdout or b'nothing').splitlines()[-1]!r}")


def test_code_spans_are_read_as_before() -> None:
    from service.reports.prereg.text import raw_spans

    assert raw_spans("`a` and ``b ` c`` and `d") == ["a", "b ` c"]
    assert raw_spans("\\`a` b `c`") == ["b"]
    assert raw_spans("`a\nb `c`") == ["c"], "no span goes over a line end"
    assert (
        parse_plan("## Primary endpoint ##  \n")[0].as_dict()
        == parse_plan("## Primary endpoint\n")[0].as_dict()
    )


def test_a_sentence_about_a_hypothesis_is_still_held_against_its_verdict() -> None:
    shown = Support(outcomes={"H1": "not_supported"}, sentences={"H1": "H1 is not supported."})
    (found,) = lint_wording("So H1 is supported.\n   \n - and more", shown)
    assert (found.code, found.line) == ("OUTCOME_CONTRADICTED", 1)


def test_a_look_that_fails_does_not_say_how(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    prereg_id = locked(service.client, plan())
    sequence = order(service, prereg_id)
    run(service, prereg_id, sequence[:20], set(sequence[:8]))

    def broken(_inputs: object) -> Any:
        raise ZeroDivisionError("0.4 / 0")

    job_id = ask(service, prereg_id).json()["id"]
    monkeypatch.setattr("service.actions.verdicts.looks.compute", broken)
    service.run_jobs()
    shown = service.client.get(f"/v1/jobs/{job_id}")
    assert shown.json()["state"] == "failed"
    assert shown.json()["error"]["detail"] == "the computation failed"
    assert "ZeroDivision" not in shown.text
    assert "0.4" not in service.client.get(path(prereg_id, "/looks")).text


def test_a_look_is_read_by_those_who_may_and_called_off_by_nobody(service: Service) -> None:
    prereg_id = locked(service.client, plan())
    sequence = order(service, prereg_id)
    run(service, prereg_id, sequence[:20], set(sequence[:8]))
    job = f"/v1/jobs/{ask(service, prereg_id).json()['id']}"
    other = service.project("other")

    def by(*scopes: str, project_id: str | None = None) -> dict[str, str]:
        return {"Authorization": f"Bearer {service.key(*scopes, project_id=project_id)}"}

    for part in ("", "/events"):
        assert service.client.get(job + part, headers=by("tests:run")).status_code == 403
        assert service.client.get(job + part, headers=by("plans:lock")).status_code == 403
        assert service.client.get(job + part, headers=by(project_id=other)).status_code == 404
    assert service.client.delete(job, headers=by("tests:run")).json()["code"] == "not_cancellable"
    assert service.client.delete(job, headers=by(project_id=other)).status_code == 404
    assert ask(service, prereg_id).json()["id"] == job.rsplit("/", 1)[1]
    assert service.run_jobs() == 1
    result = service.client.get(job).json()["result"]
    assert result == {
        "preregistration_id": prereg_id,
        "stop": False,
        "looks": [{"look": 1, "decision": "continue"}],
    }
