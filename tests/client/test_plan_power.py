"""`forelock plan power`: what a pilot tells, printed, and the section to paste."""

from __future__ import annotations

import json
import re

import pytest

from forelock.problem import FileFault
from service.offline.local import say_refusal

RECORD = {"id": "p1", "state": "draft", "version": 1, "plan": {"title": "A plan"}, "plan_sha256": None}
POWER = {
    "findings": [],
    "power": [
        {
            "hypothesis": "H1", "method": "simulated", "n": 500, "n_clusters": 20, "reason": None, "cut": None,
            "reference": {
                "discordance": 0.12, "truth": 0.04, "power": 0.61, "standard_error": 0.015, "icc": 0.1,
                "missing": 0.02, "others": "not_true", "equivalent": 0.01, "invalid": None, "expected_n": 412.4,
            },
            "lead": {
                "effect": "sesoi", "low": None, "high": None, "asks_observed": 0.02,
                "reference": {"discordance": 0.12, "truth": 0.02, "power": 0.21, "standard_error": 0.02},
                "curve": [{"discordance": 0.12, "truth": 0.0, "power": 0.02, "standard_error": 0.01}],
            },
            "low": None, "high": None, "assumptions": "items of a cluster correlate by 0.1",
            "detectable": [{"discordance": 0.12, "target": 0.8, "effect": 0.051}],
            "required": [
                {"discordance": 0.12, "target": 0.8, "truth": 0.04, "n": 900, "n_clusters": 36},
                {"discordance": 0.12, "target": 0.9, "truth": 0.04, "n": None, "reason": "too long"},
            ],
        }
    ],
    "pilot": [
        {
            "hypotheses": ["H1"], "n": 40, "n_pairs": 38, "n_clusters": 4,
            "discordance": {"estimate": 0.1, "upper": 0.12}, "sd": {"estimate": 0.3, "upper": None}, "icc": None,
            "missing": {"baseline": 0.05, "candidate": 0.0},
        }
    ],
    "assumptions": {"discordance": 0.12},
}  # fmt: skip


def test_plan_power_prints_what_the_pilot_says_and_the_section_to_paste(service, command, tmp_path):
    (tmp_path / "pilot.csv").write_text("baseline,candidate,cluster\n1,0,a\n,1,b\n")
    service.will_answer(200, POWER)
    status, output, _ = command("plan", "power", "p1", "--pilot", str(tmp_path / "pilot.csv"))
    assert status == 0
    assert json.loads(service.requests[0].content) == {
        "pilot": [{"baseline": [1.0, None], "candidate": [0.0, 1.0], "clusters": ["a", "b"]}]
    }
    assert "discordant 0.1 (upper 80 % bound 0.12)" in output
    assert "power at the SESOI: 0.210 ± 0.02 at +2.00 pp, 12 % discordant" in output
    assert (
        "asks for an observed +2.00 pp or beyond: about half of all studies or more miss that there" in output
    )
    assert "else 0.020 ± 0.01 at +0.00 pp" in output
    assumed = (
        "power under the plan's assumptions 0.610 ± 0.015 at +4.00 pp, 12 % discordant, ICC 0.1, 2.0% missing"
    )
    assert assumed in output
    assert "ends after 412 items on average" in output
    assert "needs for 80% at +4.00 pp (12 % discordant): 900 items in 36 clusters" in output
    assert '"discordance": 0.12' in output


def test_plan_power_of_a_file_keeps_no_draft(service, command, tmp_path):
    (tmp_path / "plan.json").write_text(json.dumps(RECORD["plan"]))
    service.will_answer(201, RECORD)
    service.will_answer(422, {"code": "invalid", "detail": "no"})
    service.will_answer(200, RECORD, ETag='"1"')
    service.will_answer(204, None)
    status, _, errors = command("plan", "power", str(tmp_path / "plan.json"))
    assert (status, errors) == (1, "invalid: no\n")
    assert [each.method for each in service.requests] == ["POST", "POST", "GET", "DELETE"]
    assert service.requests[-1].headers["If-Match"] == '"1"'


def test_pilot_files_say_what_they_are_for(tmp_path):
    from forelock.pilot_files import read_pilot

    (tmp_path / "a.ndjson").write_text(
        '{"baseline": 1, "candidate": null, "hypothesis": "H1"}\n{"baseline": 0, "candidate": 1, "hypothesis": "H2"}\n'
    )
    assert read_pilot(str(tmp_path / "a.ndjson")) == [
        {"baseline": [1.0], "candidate": [None], "hypothesis": "H1"},
        {"baseline": [0.0], "candidate": [1.0], "hypothesis": "H2"},
    ]
    (tmp_path / "b.json").write_text('{"pilot": [{"baseline": [1], "candidate": [0]}]}')
    assert read_pilot(str(tmp_path / "b.json")) == [{"baseline": [1], "candidate": [0]}]
    (tmp_path / "c.csv").write_text("baseline,candidate\n1,secret\n")
    with pytest.raises(FileFault, match="line 2: candidate is no number") as fault:
        read_pilot(str(tmp_path / "c.csv"))
    assert "secret" not in str(fault.value)


def test_plan_power_is_chinese_in_a_chinese_terminal(service, command, monkeypatch):
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    service.will_answer(200, POWER)
    status, output, _ = command("plan", "power", "p1")
    assert status == 0
    assert "真实差异为 SESOI 时的功效：0.210 ± 0.02（+2.00 个百分点，12% 的题目不一致）" in output
    assert "同一聚类的题目之间的相关系数为 0.1" in output
    prose = output.partition("可粘贴到计划中：")[0]
    assert not re.search(r"[a-z]{3,} [a-z]{2,}", prose.replace("too long", "")), prose
    service.will_answer(200, POWER)
    assert "power at the SESOI" in command("--lang", "en", "plan", "power", "p1")[1]


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        (
            "items are independent; all of them are in; 100 data sets per entry",
            "各题目相互独立；全部结果都已收到；每项模拟 100 个数据集",
        ),
        (
            "items are independent; the number that is right is binomial",
            "各题目相互独立；答对的题数服从二项分布",
        ),
        ("no strata of ours, 2 pp", "no strata of ours, 2 pp"),
    ],
)
def test_what_power_takes_for_granted_is_read_back(english, chinese):
    assert say_refusal(english, "zh") == chinese
    assert say_refusal(english, "en") == english


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_language_before_the_command_counts_as_behind_it(service, command, monkeypatch, language):
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    said = {"zh": "用法：forelock", "en": "usage: forelock"}[language]
    assert command("--lang", language, "help")[1].startswith(said)
    assert command(f"--lang={language}", "help")[1].startswith(said)
    assert command("--lang", language, "plan", "power", "--help")[1].startswith(said)
    assert command("--lang", "en", "plan", "power", "--help", "--lang", language)[1].startswith(said)
    service.will_answer(200, POWER)
    before = command("--lang", language, "plan", "power", "p1")
    service.will_answer(200, POWER)
    assert before == command("plan", "power", "p1", "--lang", language)
    assert before[0] == 0
    assert command("--lang", language, "nosuch")[0] == 2


def test_a_malformed_key_of_a_ledger_is_refused_in_chinese(command, monkeypatch):
    for argument, said in (
        ("abc", "密钥不是“名称+编号+base64”的形式"),
        ("a+b+ä", "密钥不是 base64"),
        ("a+b+AAAA", "密钥不是 Ed25519 密钥"),
    ):
        status, _, shown = command("--lang", "zh", "checkpoint", "x", "--key", argument)
        assert status == 2
        assert f"参数 --key：{said}" in shown
