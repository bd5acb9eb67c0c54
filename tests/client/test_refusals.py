from __future__ import annotations

import pytest

from service.actions.plans.preregistrations import accept_warnings
from service.domain.plans.findings import warning
from service.errors import InvalidData


@pytest.mark.parametrize(("name", "value"), [("arm", "nwe"), ("endpoint", "acuracy")])
def test_a_name_that_the_plan_has_not_is_told_with_its_line_and_once(service, command, tmp_path, name, value):
    row = {"arm": "new", "endpoint": "accuracy", name: value}
    (tmp_path / "a.csv").write_text(f"arm,endpoint,item_id,value\n{row['arm']},{row['endpoint']},i1,1\n")
    errors = [{"path": name, "message": "is not one of the plan's", "fix": "the plan has old, new"}]
    detail = f"{name}: is not one of the plan's"
    service.will_answer(422, {"status": 422, "code": "invalid_data", "detail": detail, "errors": errors})
    status, _, shown = command("submit", "p1", str(tmp_path / "a.csv"))
    assert status == 1
    place = f"{tmp_path / 'a.csv'} line 2 (arm '{row['arm']}')"
    assert shown == (
        f"invalid_data: {name}: {place}: '{value}' is not one of the plan's; the plan has old, new\n"
    )


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"title": NaN}', "holds NaN, which is no JSON number"),
        ('{"n": 1e999}', "holds 1e999, which is too large for a number"),
        ('{"title": "\\ud800"}', "holds half of a surrogate pair"),
    ],
)
def test_a_plan_that_cannot_be_sent_says_why(service, command, tmp_path, content, says):
    (tmp_path / "plan.json").write_text(content)
    status, _, shown = command("plan", "create", str(tmp_path / "plan.json"))
    assert (status, service.requests) == (2, [])
    assert says in shown


def test_a_command_without_a_key_says_how_to_give_one(service, command, monkeypatch):
    monkeypatch.delenv("FORELOCK_API_KEY", raising=False)
    service.will_refuse(401, "unauthorized")
    status, _, shown = command("plan", "list")
    assert status == 1
    assert "set FORELOCK_API_KEY, or name the key's file with --key-file" in shown


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (("lock", "p1"), "--acknowledge FEW_CLUSTERS,NO_SUCH_RISK"),
        (("plan", "lock", "p1", "--acknowledge", "OTHER"), "--acknowledge OTHER,FEW_CLUSTERS,NO_SUCH_RISK"),
        (("amend", "p1", "changes.json", "--reason", "r"), "--acknowledge FEW_CLUSTERS,NO_SUCH_RISK"),
    ],
)
def test_open_warnings_are_told_with_the_option_that_acknowledges_them(
    service, command, tmp_path, monkeypatch, arguments, option
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "changes.json").write_text("{}")
    found = [warning(code, "tests[0]", "mend it") for code in ("FEW_CLUSTERS", "NO_SUCH_RISK")]
    with pytest.raises(InvalidData) as refused:  # as the service words it
        accept_warnings(found, ["OTHER"])
    service.will_answer(200, {"id": "p1"}, ETag='"2"')
    service.will_answer(422, refused.value.document())
    status, _, shown = command(*arguments)
    assert status == 1
    assert shown.splitlines()[0].endswith(f"; to lock with them, add {option}")
    assert "tests[0]: NO_SUCH_RISK: mend it; acknowledge 'NO_SUCH_RISK'" in shown
