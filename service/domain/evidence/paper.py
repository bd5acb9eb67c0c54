"""The five pieces of evidence of a paper without a record, from somebody's answers to ten questions."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, get_args

from pydantic import Field

from service.domain.evidence.evidence import TITLES, Check, Piece, PieceId, Score, total
from service.domain.notes.notes import Words
from service.domain.plans.strings import Line
from service.records import Record, StrictRecord

Answer = Literal["checkable", "stated", "absent", "not_applicable"]
_SCORES: Mapping[str, Score] = MappingProxyType({"checkable": 2, "stated": 1, "absent": 0})

QUESTIONS: Mapping[str, tuple[PieceId, Words]] = MappingProxyType(
    {
        "plan_timestamped": (
            "preregistration",
            Words(
                en="Hypotheses, sample size and decision rule carry a time stamp from before the results",
                zh="假设、样本量与决策规则有早于结果的时间戳",
            ),
        ),
        "primary_endpoint_named": (
            "preregistration",
            Words(
                en="One primary endpoint is named there, and abstract and main table use it",
                zh="其中指定了主端点,且摘要与主表均使用它",
            ),
        ),
        "paired_test": (
            "paired_test",
            Words(
                en="The arms are compared item by item, with a test for paired outcomes",
                zh="逐题配对比较,并使用配对检验",
            ),
        ),
        "p_and_counts_reported": (
            "paired_test",
            Words(
                en="Exact p-values and the discordant counts are reported",
                zh="报告了精确的 p 值与不一致题数",
            ),
        ),
        "margin_set_beforehand": (
            "equivalence",
            Words(
                en="The smallest effect of interest was set before the results",
                zh="最小关注效应量在结果之前设定",
            ),
        ),
        "equivalence_tested": (
            "equivalence",
            Words(
                en="A finding of no relevant difference rests on an equivalence test against it",
                zh="“无实质差异”的结论建立在针对该界限的等价性检验之上",
            ),
        ),
        "clusters_named": (
            "clustered_interval",
            Words(
                en="It is said which items belong together, or why they are independent",
                zh="说明了哪些题目属于同一聚类,或为何相互独立",
            ),
        ),
        "interval_respects_clusters": (
            "clustered_interval",
            Words(
                en="The interval of the difference is computed over those clusters",
                zh="差异的区间按这些聚类计算",
            ),
        ),
        "run_to_planned_n": (
            "no_optional_stopping",
            Words(
                en="The planned n was reached, or a cumulative-effect plot shows the whole course",
                zh="达到了计划样本量,或以累积效应图展示全过程",
            ),
        ),
        "deviations_listed": (
            "no_optional_stopping",
            Words(
                en="Deviations are listed with reason, impact and direction",
                zh="逐条列出偏离及其原因、影响与方向",
            ),
        ),
    }
)


class PaperChecklist(StrictRecord):
    """What a reader finds in a paper. Leave out what you did not look for: it counts as absent."""

    title: Line | None = None
    plan_timestamped: Answer = Field("absent", description=QUESTIONS["plan_timestamped"][1].en)
    primary_endpoint_named: Answer = Field("absent", description=QUESTIONS["primary_endpoint_named"][1].en)
    paired_test: Answer = Field("absent", description=QUESTIONS["paired_test"][1].en)
    p_and_counts_reported: Answer = Field("absent", description=QUESTIONS["p_and_counts_reported"][1].en)
    margin_set_beforehand: Answer = Field("absent", description=QUESTIONS["margin_set_beforehand"][1].en)
    equivalence_tested: Answer = Field(
        "absent",
        description=QUESTIONS["equivalence_tested"][1].en + " (`not_applicable`: no such finding is claimed)",
    )
    clusters_named: Answer = Field("absent", description=QUESTIONS["clusters_named"][1].en)
    interval_respects_clusters: Answer = Field(
        "absent",
        description=QUESTIONS["interval_respects_clusters"][1].en
        + " (`not_applicable`: items are independent)",
    )
    run_to_planned_n: Answer = Field("absent", description=QUESTIONS["run_to_planned_n"][1].en)
    deviations_listed: Answer = Field("absent", description=QUESTIONS["deviations_listed"][1].en)


class PaperCard(Record):
    """The five pieces of evidence of a paper."""

    title: str | None
    score: int
    most: int = Field(description="What the pieces that apply could reach.")
    pieces: tuple[Piece, ...]
    limits: Words = Field(description="What the card cannot know.")


def of_paper(answers: PaperChecklist) -> PaperCard:
    """Score a paper: each piece is as good as the weaker of its two answers."""
    pieces = tuple(_piece(get_arg, answers) for get_arg in get_args(PieceId))
    score, most = total(pieces)
    return PaperCard(
        title=answers.title,
        score=score,
        most=most,
        pieces=pieces,
        limits=Words(
            en="Scored from the answers that were sent. `checkable` means that a reader can follow it to data, code "
            "or a time stamp; the service has checked none of it.",
            zh="按所提交的回答评分。`checkable` 表示读者可据数据、代码或时间戳核对;本服务未作核对。",
        ),
    )


def _piece(of: PieceId, answers: PaperChecklist) -> Piece:
    asked = {name: getattr(answers, name) for name, (belongs, _) in QUESTIONS.items() if belongs == of}
    counted = [_SCORES[answer] for answer in asked.values() if answer != "not_applicable"]
    return Piece(
        id=of,
        title=TITLES[of],
        score=min(counted) if counted else None,
        checks=tuple(
            Check(
                says=QUESTIONS[name][1],
                holds=None if answer == "not_applicable" else answer != "absent",
                by="author",
            )
            for name, answer in asked.items()
        ),
    )
