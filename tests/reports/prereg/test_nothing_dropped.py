"""Whatever stands in a preregistration is in the draft, or is said to be in none of its parts: no word goes unsaid."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.domain.plans.plan import Plan
from service.reports.prereg.blocks import Item, blocks
from service.reports.prereg.gaps import MAX_GAPS, Gap
from service.reports.prereg.labels import FIELDS, SECTIONS, field_of, section_of
from service.reports.prereg.markdown import parse_plan
from service.reports.prereg.print import print_plan
from service.reports.prereg.read import read_plan
from tests.drawing import draws
from tests.reports.prereg.files import CHINESE, FILLED, TEMPLATE

WORD = "zqv7"
PRINTED = print_plan(parse_plan(FILLED)[0])
JUDGED = FILLED.replace("(per-question 0/1)", "(per-question 0/1, judge gpt-4o-2024-08-06)")
FILES = (TEMPLATE, FILLED, CHINESE, PRINTED, print_plan(parse_plan(FILLED)[0], "zh"), JUDGED)


def gaps_of(text: str) -> tuple[Plan, list[Gap]]:
    plan, value, notes = read_plan(text)
    return plan, list(notes.gaps(value))


def around(text: str, line: int) -> set[int]:
    """The lines on which the items begin that a line belongs to, and its heading."""

    def begun(items: list[Item]) -> Iterator[int]:
        before = [each for each in items if each.line <= line]
        if before:
            yield before[-1].line
            yield from begun(before[-1].children)

    block = [each for each in blocks(text) if each.line <= line][-1]
    return {line, block.line if line == block.line else line, *begun(block.items)}


def unsaid(text: str, word: str) -> bool:
    """Whether a word of a file is neither in the draft nor in what is said to be left out."""
    plan, gaps = gaps_of(text)
    if word in plan.canonical_text() or any(word in gap.message for gap in gaps):
        return False
    lines = around(text, next(at for at, line in enumerate(text.split("\n"), start=1) if word in line))
    return not any(
        gap.line in lines and gap.code in ("UNREAD", "INVALID", "INCOMPLETE") and "“" not in gap.message
        for gap in gaps
    )


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=draws(250))
@given(
    st.sampled_from(FILES), st.integers(0, 10**6), st.sampled_from([" ", ", ", "; ", " (", ") ", ": ", " `"])
)
def test_every_word_of_a_line_that_is_read_is_in_the_draft_or_among_the_gaps(
    text: str, at: int, before: str
) -> None:
    places = [place for place, letter in enumerate(text) if letter in " \n" and text[:place].strip()]
    place = places[at % len(places)]
    written = f"{text[:place]}{before}{WORD}{text[place:]}"
    assert not unsaid(written, WORD), written


@pytest.mark.parametrize(
    ("section", "line"),
    [
        ("Primary endpoint", "- **accuracy** (0/1, graded by our zqv7 panel)"),
        ("Primary endpoint", "- zqv7: accuracy"),
        ("Primary endpoint", "- **accuracy**\n  - Role: `primary` (zqv7)\n  - Kind: `binary`"),
        ("Primary endpoint", "- **accuracy**\n  - Role: primary (zqv7)\n  - Kind: `binary`"),
        ("Primary endpoint", "- **accuracy**\n  - Role: `primary`\n  - Role: zqv7\n  - Kind: `binary`"),
        ("Primary endpoint", "- **accuracy**\n  - Role: `primary`\n  - Kind: `binary`\n  - Replicates: `2` zqv7"),
        ("Sample size", "- H1: n=50 (D, zqv7)"),
        ("Sample size", "- **D**: n=50 (E)\n  - n: 60\n  - Dataset: zqv7"),
        ("Sample size", "- H1: n=50 (D)\n- H2: n=50 (D)\n  - Independence: zqv7"),
        ("Sample size (zqv7)", "- H1: n=50 (D)"),
        ("SESOI", "- **accuracy**: ±2 pp, but zqv7"),
        ("SESOI", "- **accuracy**: ±2 pp\n  - Label: zqv7"),
        ("SESOI", "- **accuracy**: ±2 pp\n  - `value`: \"zqv7\""),
        ("Statistical tests", "- McNemar, zqv7"),
        ("Statistical tests", "- no test\n  - Parameters: `{\"a\": \"zqv7\"}`"),
        ("Statistical tests", "- zqv7\n  - Test: `mcnemar`\n  - Version: 1"),
        ("τ choice", "- D: τ = 0.4 (p30 on dev split) unless zqv7"),
        ("τ choice", "- zqv7: τ = 0.4 (p30 on dev split)"),
        ("Stopping rule", "- No interim analysis, unless zqv7"),
        ("Stopping rule", "- Kind: `fixed_n`\n\n## Stopping rules\n- zqv7"),
        ("Stopping rule", "- None.\n  - zqv7"),
        ("Multiple comparisons", "- Policy: `holm` zqv7\n- Family: `H1`, zqv7"),
        ("Missing results", "- exclude pairs that zqv7"),
        ("Missing results", "<!-- a note --> zqv7"),
        ("Missing results", "``` zqv7 ```"),
        ("Thoughts on zqv7", "- exclude pairs"),
        ("Thoughts", "### zqv7\n- exclude pairs"),
        ("Import mapping", "- `lm-eval`, scored by zqv7"),
    ],
)  # fmt: skip
def test_no_place_of_a_line_is_dropped(section: str, line: str) -> None:
    text = f"# T\n\n## {section}\n\n{line}\n"
    assert not unsaid(text, WORD), gaps_of(text)


HYPOTHESIS = (
    "# T\n\n## Hypotheses\n\n- **H1**: the synthesis (B) improves over retrieval (A)\n\n## Decision rules\n\n"
)


@pytest.mark.parametrize(
    "line",
    [
        "- **H1**: `delta > 0` unless zqv7",
        "- **H1**: `delta > 0`\n  - zqv7",
        "- **H1**: `delta > 0`\n  - `zqv7`: 1",
        "- zqv7 permitting, pass H1 iff Δ(B-A) > 0",
        "- Pass H1 iff Δ(B-A) > 0\n- Pass H1 iff Δ(B-A) > zqv7",
        "- Pass H1 iff Δ(zqv7) > 0",
        "- Pass H1 iff zqv7 McNemar p < 0.05",
        "- Pass H1 iff Δ(B-A) > 0 AND the zqv7 CI excludes 0",
    ],
)
def test_no_word_of_a_decision_rule_is_dropped(line: str) -> None:
    assert not unsaid(HYPOTHESIS + line + "\n", WORD), gaps_of(HYPOTHESIS + line)


@pytest.mark.parametrize(
    "sentence",
    [
        "one-sided McNemar p < 0.05",
        "mid-p McNemar p < 0.05",
        "90% CI excludes 0",
        "Δ(A-B) ≥ 2 pp",  # the other way round than the statement
    ],
)
def test_a_clause_that_says_more_than_the_rule_language_took_of_it_stands_as_written(sentence: str) -> None:
    text = HYPOTHESIS.replace("(A)\n", "(A)\n  - Baseline: `A`\n  - Candidate: `B`\n")
    entry = "  - Claim: `superiority`\n  - Population: `D`\n  - Endpoint: `accuracy`\n"
    text = text.replace("  - Candidate: `B`\n", "  - Candidate: `B`\n" + entry)
    (hypothesis,) = gaps_of(f"{text}- Pass H1 iff {sentence}\n")[0].hypotheses or ()
    assert hypothesis.rule == f"Pass H1 iff {sentence}"
    (exact,) = gaps_of(f"{text}- Pass H1 iff two-sided exact McNemar p < 0.05\n")[0].hypotheses or ()
    assert exact.rule == "mcnemar.p_value < 0.05"


@pytest.mark.parametrize(
    ("line", "model", "endpoint"),
    [
        ("- **accuracy** (0/1), judge gpt-4o-2024-08-06", "gpt-4o-2024-08-06", "accuracy"),
        ("- **accuracy** (per-question 0/1, judged by gpt-4o-2024-08-06)", "gpt-4o-2024-08-06", "accuracy"),
        ("- accuracy, graded by Claude 3.5 Sonnet", "Claude 3.5 Sonnet", "accuracy"),
        ("- accuracy (0/1; judge model: claude-3-opus)", "claude-3-opus", "accuracy"),
        ("- binary accuracy with gpt-4.1 as judge", "gpt-4.1", "accuracy"),
        ("- **准确率**(每题 0/1,由 gpt-4o-mini 评判)", "gpt-4o-mini", "accuracy"),
        ("- 准确率(0/1;评审模型:qwen2.5-72b)", "qwen2.5-72b", "accuracy"),
    ],
)
def test_a_judge_that_an_endpoint_line_names_is_the_endpoints_judge(
    line: str, model: str, endpoint: str
) -> None:
    plan, gaps = gaps_of(f"## Primary endpoint\n\n{line}\n")
    (found,) = plan.endpoints or ()
    assert (found.id, found.judge and found.judge.model) == (endpoint, model)
    assert [gap.code for gap in gaps] == ["ASSUMED"], gaps


@pytest.mark.parametrize(
    ("heading", "section"),
    [
        ("SESOI", "sesoi"),
        ("5. SESOI", "sesoi"),
        ("5) SESOI:", "sesoi"),
        ("**SESOI**", "sesoi"),
        ("🎯 SESOI", "sesoi"),
        ("Smallest effect size of interest", "sesoi"),
        ("Smallest effect size of interest (SESOI)", "sesoi"),
        ("最小关注效应量", "sesoi"),
        ("五、最小关注效应量", "sesoi"),
        ("五、最小关注效应量(SESOI)", "sesoi"),
        ("（五）最小关注效应量（SESOI）", "sesoi"),
        ("第五节 最小关注效应量", "sesoi"),
        ("τ choice", "thresholds"),
        ("7.1 τ 的选择", "thresholds"),
        ("阈值", "thresholds"),
        ("IV. Decision rules", "rules"),
        ("a) Hypotheses", "hypotheses"),
        ("样本量", "populations"),
        ("停止规则", "stopping"),
        ("Stopping rules", "stopping"),
        ("Multiple testing", "multiplicity"),
        ("多重比较校正", "multiplicity"),
        ("Missing data", "missing"),
        ("缺失数据", "missing"),
        ("主要终点", "endpoints"),
        ("假设检验的背景", None),
        ("Testing ground", None),
        ("Multiplex", None),
        ("Background", None),
    ],
)
def test_a_heading_opens_its_section_whatever_its_number_and_language(
    heading: str, section: str | None
) -> None:
    assert section_of(heading) == section
    if section is not None:
        _, gaps = gaps_of(f"## {heading}\n")
        assert not [gap for gap in gaps if gap.code == "UNREAD"], gaps


def test_each_name_of_a_section_opens_it_and_no_other() -> None:
    names = [(name, key) for key, section in SECTIONS.items() for name in section.names()]
    assert {name: section_of(f"3. {name}") for name, _ in names} == dict(names)


@pytest.mark.parametrize("heading", ["SESOI", "5. SESOI", "最小关注效应量", "五、最小关注效应量"])
def test_the_margin_under_any_such_heading_is_in_the_draft(heading: str) -> None:
    text = FILLED.replace("## SESOI (smallest effect size of interest)", f"## {heading}")
    plan, _ = gaps_of(text)
    assert plan.sesoi == gaps_of(FILLED)[0].sesoi
    assert plan.sesoi


def test_underlined_headings_are_headings() -> None:
    text = "My study\n========\n\nSESOI\n-----\n\n- **accuracy**: ±2 pp\n"
    plan, gaps = gaps_of(text)
    assert (plan.title, list(plan.sesoi or {})) == ("My study", ["accuracy"])
    assert gaps == []


def test_a_comment_without_an_end_is_told_where_it_begins() -> None:
    plan, gaps = gaps_of("## Hypotheses\n\n<!-- later\n\n- **H1**: better\n")
    assert plan.hypotheses == ()
    assert [(gap.code, gap.line) for gap in gaps] == [("UNREAD", 3)]


def test_only_the_first_title_and_margin_count_and_the_others_are_told() -> None:
    plan, gaps = gaps_of(
        "# One\n\n# Two\n\n- Title: Three\n\n### Four\n\n## SESOI\n- **a**: ±2 pp\n- **a**: ±3 pp\n"
    )
    assert plan.title == "One"
    assert (plan.sesoi or {})["a"].value == 2
    assert {gap.line for gap in gaps} == {3, 5, 7, 11}


def test_gaps_beyond_the_most_are_counted() -> None:
    _, gaps = parse_plan("## Thoughts\n" + "- zqv7\n" * (2 * MAX_GAPS))
    assert len(gaps) == MAX_GAPS
    # every line, its heading, and what an empty plan lacks
    listed = 2 * MAX_GAPS + 1 + len(parse_plan("")[1])
    assert gaps[-1].message.startswith(f"{listed - MAX_GAPS + 1} more are not listed")


@pytest.mark.parametrize(
    ("section", "label", "field"),
    [
        ("populations", "样本数", "n"),
        ("tests", "界限不同的原因", "margin_reason"),
        ("stopping", "误差分配函数", "spending"),
    ],
)
def test_a_field_is_read_by_the_name_it_had_before(section, label, field):
    now = FIELDS[section][field]
    assert now.of("zh") != label
    assert field_of(section, label) == field_of(section, now.of("zh")) == (field, now.kind)


def test_a_file_that_was_printed_with_half_width_marks_is_read_as_it_was():
    """Chinese files of before have other marks, and other words behind two values."""
    plan, _ = parse_plan(FILLED)
    now = print_plan(plan, "zh")
    before = now.translate(str.maketrans({"：": ":", "；": ";", "（": "(", "）": ")"}))
    for value, former in (("exclude_pair", "该题在两臂中一并剔除"), ("fixed_n", "计划结果到齐后只看一次")):
        before = re.sub(rf"(?<=`{value}`)\([^)]*\)", f"({former})", before)
    assert len({now, before}) == 2
    for text in (now, before):
        again, gaps = parse_plan(text)
        assert again == plan
        assert {gap.code for gap in gaps} == {"MISSING_MANIFEST"}
