"""A preregistration as Markdown: every plan reads back, prose becomes a draft, nothing is passed over."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.domain.plans.plan import Plan
from service.reports.prereg.gaps import Gap
from service.reports.prereg.labels import FIELDS
from service.reports.prereg.markdown import parse_plan
from service.reports.prereg.print import print_plan
from service.reports.prereg.read import read_plan
from tests.drawing import draws
from tests.reports.prereg.files import CHINESE, FILLED, TEMPLATE
from tests.strategies import names as any_names
from tests.strategies import tokens as any_tokens

PAGE = Path(__file__).parents[3] / "docs" / "prereg-markdown.md"
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=draws(60))

ODD = st.sampled_from(
    [
        "|",
        "`",
        "``",
        "*",
        "**",
        "\\",
        "_",
        "#",
        "-",
        "1.",
        ">",
        "<!--",
        "-->",
        "<b>",
        "&amp;",
        "[x](y)",
        "~~",
        "---",
        "===",
        "```",
        '"',
        "\\n",
        "τ",
        "检验：",
        "无。",
        "None.",
        "n:3",
        ":",
        "：",
        "，",
        "±2",
        "$",
        "(",
        ")",
        "# ",
        "- ",
        "1. ",
        "> ",
        "n: 3",
        " ",
        "\u3000",
        "±2 pp",
    ]
)
CHARACTERS = st.characters(exclude_categories=("Cc", "Cs"))


def texts(*, paragraph: bool, most: int) -> st.SearchStrategy[str]:
    """Lines or paragraphs with every mark that Markdown, or this format, could take for its own."""
    whitespace = st.sampled_from(["\n", "\n\n", "\t", "\r", "\r\n", "\u2028", "\n- ", "\n## Sample size\n"])
    pieces = ODD | st.text(
        CHARACTERS.filter(lambda each: paragraph or each not in "\u2028\u2029"), max_size=6
    )
    return (
        st.lists(pieces | whitespace if paragraph else pieces, min_size=1, max_size=8)
        .map("".join)
        .map(lambda text: text[:most])
        .filter(bool)
    )


LIKE_OTHERS = st.sampled_from(
    ["H1", "H1a", "none", "n", "secondary", "McNemar", "TOST", "accuracy", "Claim", "Value"]
)
"""Ids that prose would take for something else."""


def names() -> st.SearchStrategy[str]:
    return any_names() | LIKE_OTHERS


def tokens() -> st.SearchStrategy[str]:
    return any_tokens() | LIKE_OTHERS | st.sampled_from(["5", "-", "1.", "_a_", "..."])


LINE = texts(paragraph=False, most=60)
PARAGRAPH = texts(paragraph=True, most=120)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e6, 1e6) | LINE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(LINE, inner, max_size=3),
    max_leaves=5,
)


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects of these members; those whose name ends in `_` are optional."""
    required = {name: each for name, each in fields.items() if not name.endswith("_")}
    optional = {name[:-1]: each for name, each in fields.items() if name.endswith("_")}
    return st.fixed_dictionaries(required, optional=optional)


def listed(entry: st.SearchStrategy[Any], by: tuple[str, ...] = ("id",)) -> st.SearchStrategy[list[Any]]:
    return st.lists(entry, max_size=3, unique_by=lambda each: tuple(each.get(name) for name in by))


STOPPING = (
    st.just({"kind": "fixed_n"})
    | some(
        kind=st.just("group_sequential"),
        looks_=st.integers(2, 100),
        spending_=st.sampled_from(["obrien_fleming", "pocock"]),
    )
    | st.just({"kind": "anytime_valid"})
)


@st.composite
def any_plan(draw: st.DrawFn) -> Plan:
    """Plans of every shape the schema allows, whether or not their names resolve."""
    fields = some(
        title_=LINE,
        populations_=listed(
            some(
                id=tokens(),
                dataset=LINE,
                n=st.integers(1, 10**6),
                items_sha256_=st.just("ab" * 32),
                clusters_=some(key=LINE, n=st.integers(1, 10**7)),
                independence_=PARAGRAPH,
                order_seed_=st.integers(0, 2**53 - 1),
                strata_=LINE,
            )
        ),
        hypotheses_=listed(
            some(
                id=names(),
                claim=st.sampled_from(["superiority", "non_inferiority", "equivalence", "minimum_effect"]),
                statement=PARAGRAPH,
                population=tokens(),
                baseline=tokens(),
                candidate=tokens(),
                endpoint=tokens(),
                rule=PARAGRAPH,
                equivalence_=names(),
                falsified_if_=PARAGRAPH,
            )
        ),
        endpoints_=listed(
            some(
                id=tokens(),
                kind=st.sampled_from(["binary", "continuous", "counts"]),
                role=st.sampled_from(["primary", "secondary"]),
                judge_=some(model=LINE, version_=LINE, prompt_sha256_=LINE),
                populations_=st.lists(tokens(), min_size=1, max_size=3),
                replicates_=st.integers(1, 1000),
                collapse_=st.sampled_from(["mean", "majority", "first"]),
                bounds_=some(low=st.floats(-1e6, 0), high=st.floats(0.5, 1e6)),
            )
        ),
        tests_=listed(
            some(
                id=names(),
                test=tokens(),
                version=st.integers(1, 10_000),
                parameters_=st.dictionaries(LINE, JSON, max_size=3),
            )
        ),
        sesoi_=st.dictionaries(
            tokens(),
            some(
                value=st.floats(1e-9, 1e9) | st.integers(1, 50),
                unit=st.sampled_from(["pp", "proportion", "score"]),
            ),
            max_size=3,
        ),
        thresholds_=listed(
            some(
                name=LINE,
                population_=tokens(),
                value=NUMBER,
                chosen_by=LINE,
                split_=LINE,
                split_sha256_=LINE,
                sweep_=st.lists(NUMBER, min_size=1, max_size=4),
            ),
            ("name", "population"),
        ),
        stopping_=STOPPING,
        missing_=st.sampled_from(["fail", "exclude_pair", "worst_case"]),
        multiplicity_=some(
            policy=st.sampled_from(["none", "holm", "bh", "fixed_sequence"]),
            family_=st.lists(names(), max_size=3),
        ),
        import_=some(format=tokens(), scorer_=LINE, cluster_key_=LINE),
        results_due_=st.dates().map(str),
        visibility_=st.sampled_from(["private", "link", "public"]),
    )
    value = draw(fields)
    try:
        return Plan.from_dict(value)
    except ValueError:  # a parameter without a canonical form
        value.pop("tests")
        return Plan.from_dict(value)


@PATIENT
@given(any_plan(), st.sampled_from(["en", "zh"]))
def test_every_plan_reads_back_as_it_was_and_nothing_is_assumed(plan: Plan, language: Any) -> None:
    text = print_plan(plan, language)
    found, value, notes = read_plan(text)
    assert found == plan, text
    assert found.canonical_text() == plan.canonical_text()
    assert list(notes.gaps(value)) == [], text


@PATIENT
@given(
    st.lists(
        ODD
        | st.sampled_from(["\n", "\n\n", "\n- ", "\n  - ", "\n## Sample size\n", "H1: n=5", "**H1**"])
        | st.text(max_size=5),
        max_size=30,
    ).map("".join)
)
def test_any_text_is_a_draft_that_a_plan_can_hold(text: str) -> None:
    plan, gaps = parse_plan(text.replace("\0", ""))
    assert Plan.from_dict(plan.as_dict()) == plan
    assert all(gap.line is None or gap.line >= 1 for gap in gaps)


def by_path(gaps: tuple[Gap, ...]) -> dict[tuple[str, str], int | None]:
    """The first line of every gap."""
    return {(gap.code, gap.path): gap.line for gap in reversed(gaps)}


@given(
    st.lists(
        st.sampled_from(["- a thought", "another thought", "1. a third", "| a | table |"]),
        min_size=1,
        max_size=9,
    )
)
def test_every_line_that_nothing_holds_is_named(lines: list[str]) -> None:
    text = "# T\n\n## Thoughts\n\n" + "\n\n".join(lines) + "\n\n## Stopping rule\n\n" + "\n\n".join(lines)
    _, gaps = parse_plan(text)
    written = [
        number
        for number, line in enumerate(text.split("\n"), start=1)
        if "t" in line.strip("#") and number > 2
    ]
    heading = text.split("\n").index("## Stopping rule") + 1
    assert [gap.line for gap in gaps if gap.code == "UNREAD"] == [each for each in written if each != heading]


def test_the_template_becomes_a_draft_of_everything_it_says() -> None:
    plan, _ = parse_plan(TEMPLATE)
    h1a, h1b = plan.hypotheses or ()
    assert (h1a.id, h1a.claim, h1a.population, h1a.baseline, h1a.candidate, h1a.endpoint) == (
        "H1a", "superiority", "LongMemEval-S", "C1", "C3", "accuracy",
    )  # fmt: skip
    assert h1a.rule == "delta >= 2.0 pp and mcnemar.p_value < 0.05 and bootstrap.ci excludes 0"
    assert (h1b.population, h1b.baseline, h1b.candidate) == ("LoCoMo", "C3", "C4")
    assert h1b.rule == "delta >= 2.0 pp and clustered.p_value < 0.05 and clustered_bootstrap.ci excludes 0"
    assert [(each.id, each.n) for each in plan.populations or ()] == [("LongMemEval-S", 500), ("LoCoMo", 764)]
    locomo = plan.population("LoCoMo")
    assert locomo is not None
    assert locomo.clusters is not None
    assert (locomo.clusters.key, locomo.clusters.n) == ("conversation", 5)
    assert [(each.id, each.kind, each.role) for each in plan.endpoints or ()] == [
        ("accuracy", "binary", "primary"), ("token-F1", "continuous", "secondary"),
    ]  # fmt: skip
    assert [(each.test, each.parameters) for each in plan.tests or ()] == [
        ("mcnemar", {"method": "exact"}), ("paired-bootstrap", {"level": 0.95}),
        ("cluster-bootstrap", {"level": 0.95}), ("equivalence", {}), ("clustered-mcnemar", {}),
    ]  # fmt: skip
    assert (plan.sesoi or {})["accuracy"].exact() * 100 == 2
    assert [(each.name, each.population, each.value, each.split) for each in plan.thresholds or ()] == [
        ("τ", "LongMemEval-S", 0.40, "dev"), ("τ", "LoCoMo", 0.47, "dev"),
    ]  # fmt: skip
    assert plan.stopping is not None
    assert plan.stopping.kind == "fixed_n"
    assert plan.multiplicity is not None
    assert (plan.multiplicity.policy, plan.multiplicity.family) == ("none", ("H1a", "H1b"))
    assert (plan.title, plan.missing) == (None, None)


def test_the_gaps_of_the_template_are_listed_with_their_lines() -> None:
    _, gaps = parse_plan(TEMPLATE)
    lines = TEMPLATE.split("\n")
    found = by_path(gaps)
    assert found["MISSING_SECTION", "title"] is None
    assert found["MISSING_SECTION", "missing"] is None
    for (code, path), text in {
        ("INDEPENDENCE_NOT_STATED", "populations[0].independence"): "H1a: n=500",
        ("MISSING_MANIFEST", "populations[1]"): "H1b: n=764",
        ("RULE_NEVER_PASSES", "hypotheses[1].rule"): "Pass H1b",
        ("UNREAD", "stopping"): "If a sanity replicate",
        ("ASSUMED", "hypotheses[0]"): "**H1a**",
        ("ASSUMED", "sesoi.accuracy"): "±2 pp on binary accuracy",
        ("ASSUMED", "thresholds[1]"): "LoCoMo:        τ",
    }.items():
        line = found[code, path]
        assert line is not None
        assert text in lines[line - 1], (code, path, line)


def test_a_filled_template_leaves_only_what_was_read_from_prose_and_the_items() -> None:
    plan, gaps = parse_plan(FILLED)
    assert plan.title == "Synthesis and caching"
    assert {gap.code for gap in gaps} == {"ASSUMED", "UNREAD", "MISSING_MANIFEST"}
    unread = [gap.message for gap in gaps if gap.code == "UNREAD"]
    assert "no part of a plan holds this; it will not be locked" in unread  # the line on replicates
    assert "no part of a plan holds “drawn at random”, “paired against C1”; it will not be locked" in unread
    assert not any(
        word in message for message in unread for word in ("n=60", "LoCoMo", "McNemar", "accuracy")
    )


def test_the_same_in_chinese_is_the_same_plan() -> None:
    english, _ = parse_plan(TEMPLATE)
    chinese, gaps = parse_plan(CHINESE)
    assert not [gap for gap in gaps if gap.code in ("INVALID", "INCOMPLETE")]
    assert {gap.line: gap.message.split("“")[1].split("”")[0] for gap in gaps if gap.code == "UNREAD"} == {
        13: "官方", 17: "全量", 18: "全部 QA 配对", 32: "H1b", 33: "界限为", 46: "2 个假设 × 1 个主端点",
        50: "任一臂缺失的题在两臂中一并",
    }  # fmt: skip
    assert chinese.missing == "exclude_pair"
    for name in ("populations", "endpoints", "sesoi", "stopping", "multiplicity"):
        assert getattr(chinese, name) == getattr(english, name), name
    assert [each.rule for each in chinese.hypotheses or ()] == [
        each.rule for each in english.hypotheses or ()
    ]
    assert [(t.name, t.population, t.value) for t in chinese.thresholds or ()] == [
        (t.name, t.population, t.value) for t in english.thresholds or ()
    ]
    assert {t.test for t in chinese.tests or ()} == {t.test for t in english.tests or ()}


def test_the_chinese_print_has_chinese_headings_and_labels() -> None:
    text = print_plan(parse_plan(FILLED)[0], "zh")
    for expected in (
        "# 实验预注册",
        "## 假设",
        "## 主端点",
        "## 样本量",
        "## 决策规则",
        "## 停止规则",
        "## 多重比较",
    ):
        assert f"{expected}\n" in text
    assert "主张：`superiority`（优效）" in text
    assert "Hypotheses" not in text


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("- **H1**: better", "INCOMPLETE"),
        ("- **not a name**: better", "INCOMPLETE"),
        ("just a thought", "UNREAD"),
    ],
)
def test_what_cannot_be_held_is_left_out_and_named(line: str, code: str) -> None:
    plan, gaps = parse_plan(f"## Hypotheses\n\n{line}\n")
    assert plan.hypotheses == ()
    assert (code, 3) in [(gap.code, gap.line) for gap in gaps]


def test_a_value_of_the_wrong_kind_is_left_out_and_named() -> None:
    entry = "- **p**\n  - Dataset: D\n  - n: 5\n  - Order seed: -1\n  - Strata: difficulty\n"
    plan, gaps = parse_plan(f"- Visibility: `secret`\n\n## Sample size\n{entry}")
    (population,) = plan.populations or ()
    assert (population.order_seed, population.strata) == (None, "difficulty")
    found = by_path(gaps)
    assert found["INVALID", "visibility"] == 1
    assert found["INVALID", "populations[0].order_seed"] == 7


def test_a_second_entry_of_a_name_is_named_and_the_first_is_kept() -> None:
    entry = "- **acc**\n  - Role: `{}`\n  - Kind: `binary`\n"
    plan, gaps = parse_plan("## Endpoints\n" + entry.format("primary") + entry.format("secondary"))
    assert [(each.id, each.role) for each in plan.endpoints or ()] == [("acc", "primary")]
    assert ("INVALID", 5) in [(gap.code, gap.line) for gap in gaps]


def test_a_rule_nobody_can_translate_stands_as_written_and_lint_says_so() -> None:
    text = FILLED.replace("95% CI excludes 0.", "the reviewers like it.", 1)
    plan, gaps = parse_plan(text)
    assert "reviewers like it" in (plan.hypotheses or ())[0].rule
    assert by_path(gaps)["RULE_INVALID", "hypotheses[0].rule"] is not None


@pytest.mark.parametrize("text", ["", "\n\n", "# Experiments Pre-Registration\n"])
def test_an_empty_file_is_an_empty_draft(text: str) -> None:
    plan, gaps = parse_plan(text)
    assert plan == Plan()
    assert {gap.code for gap in gaps} == {"MISSING_SECTION"}


@pytest.mark.parametrize(
    "value", ["[" * 50_000, "[" * 500 + "]" * 500, "NaN", "1e999", "1" * 5000, "[1", '{"a": 1e400}']
)
def test_json_that_no_plan_can_hold_is_left_out_and_named(value: str) -> None:
    text = f"## Tests\n- **t**\n  - Test: `mcnemar`\n  - Version: 1\n  - Parameters: `{value}`\n"
    plan, gaps = parse_plan(text)
    (test,) = plan.tests or ()
    assert test.parameters == {}
    assert ("INVALID", 5) in [(gap.code, gap.line) for gap in gaps]


@pytest.mark.parametrize("value", ["\u0000", "\ud800"])
def test_json_in_a_code_span_cannot_smuggle_in_what_no_database_keeps(value: str) -> None:
    title = parse_plan(f"- Title: `{json.dumps(value)}`\n")[0].title
    assert title == json.dumps(value), "the spelling stays, what it spells does not come in"
    spelt = f'{{"a": {json.dumps(value)}}}'
    parameters = f"## Tests\n- **t**\n  - Test: `mcnemar`\n  - Version: 1\n  - Parameters: `{spelt}`\n"
    (test,) = parse_plan(parameters)[0].tests or ()
    assert test.parameters == {}


def test_the_page_shows_the_template_its_gaps_and_the_filled_file_as_they_are() -> None:
    page = PAGE.read_text("utf-8")
    assert f"```markdown\n{TEMPLATE}```" in page
    rows = [
        f"| {gap.line or '-'} | `{gap.code}` | `{gap.path}` | {gap.message} |"
        for gap in parse_plan(TEMPLATE)[1]
    ]
    assert "\n".join(["|---|---|---|---|", *rows, ""]) in page
    plan, _ = parse_plan(FILLED)
    assert f"```markdown\n{print_plan(plan)}```" in page
    assert print_plan(plan, "zh").split("\n## ")[1].rstrip() in page
    (diff,) = re.findall(r"```diff\n(.*?)```", page, re.DOTALL)
    added = [line[1:] for line in diff.splitlines() if line.startswith("+")]
    assert set(added) == set(FILLED.splitlines()) - set(TEMPLATE.splitlines()) | ({""} & set(added))


def test_the_page_names_every_label_in_both_languages() -> None:
    page = PAGE.read_text("utf-8")
    for fields in FIELDS.values():
        for label in fields.values():
            assert f"{label.of('en')} {label.of('zh')}" in page


@pytest.mark.parametrize(
    "text",
    [
        "a\n" * 200_000,
        "a\\\n" * 100_000,
        "".join(f"{' ' * depth}- a\n" for depth in range(900)),
        "## Sample size\n" + "1" * 400_000,
        "## Sample size\n" + "".join(f"- P{n}: n=5 (D{n}, 5 conv)\n" for n in range(15_000)),
        "## Hypotheses\n" + "".join(f"- H{n}: (A) improves over (B) on D\n" for n in range(12_000)),
        "## Sample size\n- p: " + " ".join("`" * run for run in range(900)),
        "## Tests\n- **t**\n  - Parameters: " + "`" + "[" * 200_000 + "`",
        "## SESOI\n- " + "± " * 200_000,
        "- **" + "\\*" * 200_000,
        "## Decision rules\n- H1 iff " + "p < " * 100_000,
    ],
    ids=range(11),
)
def test_hostile_files_take_little_time(text: str) -> None:
    before = time.process_time()
    read_plan(text)
    assert time.process_time() - before < 5


@pytest.mark.parametrize("heading", ["SESOI", "最小关注效应量"])
def test_a_sesoi_of_no_endpoint_says_what_to_write(heading: str) -> None:
    _, gaps = parse_plan(f"# A plan\n\n## {heading}\n2 pp\n")
    (gap,) = [gap for gap in gaps if gap.line == 4]
    assert (gap.code, gap.path) == ("UNREAD", "sesoi")
    assert "describe it under `Primary endpoint`" in gap.message
    _, gaps = parse_plan(
        f"# A plan\n\n## Primary endpoint\n- **acc**\n  - Kind: `binary`\n\n## {heading}\n2 pp\n"
    )
    assert [gap.code for gap in gaps if gap.path == "sesoi.acc"] == ["ASSUMED"]
