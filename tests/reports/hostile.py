"""Records whose every text is hostile."""

from __future__ import annotations

import json
from typing import Any

from service.api.examples.made import read_json
from service.reports.verdict.content import Report
from service.words.catalogue import LANGUAGES
from tests.reports.sentences import in_languages

CORPUS = (
    "<script>alert(1)</script><img src=x onerror=alert(2)>",
    "</title></svg><svg onload=alert(3)><a href='javascript:alert(4)'>x</a>",
    "]]><!ENTITY x SYSTEM 'file:///etc/passwd'>&x;&#x3c;script&#x3e;",
    "[click](javascript:alert(5)) ![x](http://127.0.0.1/x) <http://127.0.0.1/>",
    "# heading\n- list\n| cell | cell |\n```\ncode\n```",
    r"\input{/etc/passwd}\write18{id} % comment $x_1^2$ {\bf & # ~ `''",
    "=cmd|' /C calc'!A0",
    '#panic("typst") #read("/etc/passwd") #import "@preview/x:1.0.0" $ x $ `raw` *bold* @label',
    "{{ 7 * 7 }} {% raw %} ${7*7} datum.value signal(x)",
    "\x00\x1b[2J\u202egnirts\u2028line\ufffe \U000e0041",
    "假设 <b>粗体</b> 🙂 " + "x" * 300,
)


PROSE = (
    "title",
    "statement",
    "multiplicity",
    "sentence",
    *LANGUAGES,
    "arm",
    "baseline",
    "candidate",
    "id",
    "method",
)


SLICES = {
    "by": "stratum", "of": "topic", "no_worse_than": 0.05, "alpha": 0.05, "level": 0.9, "method": "tango",
    "outcome": "cannot_tell",
    "slices": [
        {"slice": "", "outcome": outcome, "n": 40, "n_clusters": None, "delta": 0.02, "ci": {"low": low, "high": high},
         "p_value": 0.01, "p_holm": 0.02, "p_loss": 0.9, "p_loss_holm": 1.0, "reason": None}
        for outcome, low, high in (("pass", -0.01, 0.05), ("fail", -0.2, -0.1), ("cannot_tell", None, 0.3))
    ],
    "reversal": {"p_value": 0.01, "shown": True, "gains": 9.0, "losses": 8.0, "slices": 3, "reason": None},
    "reason": None,
}  # fmt: skip


def hostile(text: str) -> Report:
    """The example report with this text wherever words of others stand."""
    text = text.replace("\x00", "")

    def spoiled(value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {key: spoiled(each, key) for key, each in value.items()}
        if isinstance(value, list):
            return [spoiled(each, name) for each in value]
        return (
            f"{text}"
            if isinstance(value, str) and name in PROSE and value not in ("clopper_pearson",)
            else value
        )

    found = spoiled(read_json("report"))
    found["hypotheses"][0]["slices"] = SLICES | {
        "slices": [each | {"slice": text} for each in SLICES["slices"]]
    }
    found["deviations"] = [
        {
            "number": 1,
            "title": text,
            "reason": text,
            "standing": "accept",
            "classification": "reject",
            "rule": {"ruleset": 1, "id": "otherwise", "says": "Nobody knows."},
            "decided_by": text,
        }
    ]
    found["warnings"] = [{"code": "CAUTION", "path": "", "says": in_languages(text)}]
    return Report.model_validate_json(json.dumps(found))
