"""What the register says of a test: a line in the catalogue, and its whole description."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from service.records import Record
from service.stats.shared.declaring import registry
from service.stats.shared.declaring.registry import StatTest


class TestSummary(Record):
    """A statistical test in the catalogue."""

    __test__ = False

    name: str
    version: int = Field(description="The newest version, which POST runs.")
    title: str
    summary: str = Field(description="What it tests, in one sentence.")
    path: str = Field(description="GET describes the test, POST runs it.")


class TestDescription(TestSummary):
    """A statistical test: its words, schemas and an example."""

    versions: list[int] = Field(description="Every version that a locked plan may name.")
    model: str = Field(description="The statistical model, H0, and what the test assumes.")
    returns: str
    raises: str
    edge_cases: str
    sources: list[str] = Field(description="Where the method and its examples are published.")
    example: dict[str, Any] = Field(description="A request that can be sent as it is.")
    example_source: str = Field(description="Where the example's answer can be checked.")
    request_schema: dict[str, Any] = Field(description="JSON Schema of the request.")
    analysis_schema: dict[str, Any] = Field(description="JSON Schema of `analysis` in the answer.")
    endpoints: list[Literal["binary", "continuous"]] = Field(
        description="Kinds of endpoint it judges in a plan; empty: not for plans."
    )
    clusters: Literal["never", "required", "when_planned"] | None = Field(
        description="What it does with a population's clusters; null: not for plans."
    )


def describe(test: StatTest[Any, Any]) -> TestDescription:
    """Return the registry's words on one test."""
    return TestDescription(
        **words(test),
        request_schema=test.request.model_json_schema(),
        analysis_schema=test.analysis.model_json_schema(mode="serialization"),
    )


def words(test: StatTest[Any, Any]) -> dict[str, Any]:
    """Return the description of a test without the schemas of its request and answer."""
    return summary(test).model_dump() | {
        "versions": [other.version for other in registry.every() if other.name == test.name],
        "model": test.words.split("\n\nReturns:")[0].partition("\n\n")[2],
        "returns": test.section("Returns"),
        "raises": test.section("Raises"),
        "edge_cases": test.section("Edge cases"),
        "sources": [line for line in test.section("Sources").splitlines() if line],
        "example": dict(test.example),
        "example_source": test.section("Example"),
        "endpoints": sorted(test.plan.endpoints) if test.plan else [],
        "clusters": test.plan.clusters if test.plan else None,
    }


def summary(test: StatTest[Any, Any]) -> TestSummary:
    """Return one test's line in the list of tests."""
    return TestSummary(
        name=test.name,
        version=test.version,
        title=test.title,
        summary=test.summary,
        path=f"/v1/tests/{test.name}",
    )
