"""Attacks on jobs, looks and texts that once worked: each has its test."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from service.domain.wording.wording import Shown, lint_wording
from service.reports.prereg.markdown import parse_plan

from .conftest import Service
from .test_looks import ask, locked, order, path, plan, run

ALLOWED_SECONDS = 30
"""Far above what a linear parse takes, and far below what a quadratic one took."""

HUGE: dict[str, str] = {
    "blanks in a heading": "'## x' + ' ' * 500_000 + 'y'",
    "backquotes that nothing closes": "H + '- **a**\\n    - `n`: ' + '`' * 50_000 + 'a' * 50_000",
    "runs of every length": "H + '- **a**\\n    - Claim: ' + 'a'.join('`' * i for i in range(1, 440))",
    "blanks in a value": "H + '- **a**\\n    - Claim: a' + ' ' * 500_000 + 'b'",
}


@pytest.mark.parametrize("text", HUGE.values(), ids=HUGE)
def test_no_file_keeps_the_parser_busy(text: str) -> None:
    parsing = (
        "from service.reports.prereg.markdown import parse_plan\n"
        f"H = '# Preregistration\\n\\n## Hypotheses\\n\\n'\nparse_plan({text})"
    )
    _within_time(parsing)


@pytest.mark.parametrize("text", ["'\\n ' * 100_000", "'。' * 200_000", "'\\n' + '- ' * 99_999"])
def test_no_text_keeps_the_wording_lint_busy(text: str) -> None:
    _within_time(f"from service.domain.wording.wording import lint_wording\nlint_wording({text})")


@pytest.mark.parametrize("section", ["Missing", "Hypotheses", "Stopping rule", "Thresholds"])
def test_a_member_that_no_plan_has_is_left_out_whatever_its_value(section: str) -> None:
    names = ("claim", "hypotheses", "id", "sesoi", "stopping", "endpoints", "x")
    program = "from service.reports.prereg.markdown import parse_plan\n"
    for value in ("null", "[]", "{}", "[null]", "[[1]]", '[{"id": "a"}]', '{"id": null}'):
        lines = "".join(f"- `{name}`: `{value}`\n" for name in names)
        program += f"parse_plan({f'# P{chr(10)}{chr(10)}## {section}{chr(10)}{chr(10)}{lines}'!r})\n"
    _within_time(program)


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


def _within_time(program: str) -> None:
    """Run it in a process of its own: a pattern that backtracks holds the interpreter and cannot be stopped."""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=ALLOWED_SECONDS)


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
    shown = Shown(outcomes={"H1": "not_supported"}, sentences={"H1": "H1 is not supported."})
    (found,) = lint_wording("So H1 is supported.\n   \n - and more", shown)
    assert (found.code, found.line) == ("OUTCOME_CONTRADICTED", 1)


def test_a_look_that_fails_does_not_say_how(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    prereg_id = locked(service.client, plan())
    sequence = order(service, prereg_id)
    run(service, prereg_id, sequence[:20], set(sequence[:8]))

    def broken(_inputs: object) -> Any:
        raise ZeroDivisionError("0.4 / 0")

    job_id = ask(service, prereg_id).json()["id"]
    monkeypatch.setattr("service.actions.looks.compute", broken)
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
