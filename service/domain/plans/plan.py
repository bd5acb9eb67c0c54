"""The plan: what a researcher locks. Typed sections, each optional until lint asks for it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, Field, JsonValue
from pydantic_core import PydanticCustomError

from service.domain.canonical import canonical, sha256_hex
from service.domain.plans.importing.imports import ImportMapping
from service.domain.plans.manifest import ManifestFacts
from service.domain.plans.sections.arms import ArmCard
from service.domain.plans.sections.assumptions import Assumptions
from service.domain.plans.sections.authors import Authors
from service.domain.plans.sections.endpoint import MAX_LIST, Endpoint
from service.domain.plans.sections.hypothesis import Hypothesis
from service.domain.plans.sections.population import Population
from service.domain.plans.sections.slices import Slices
from service.domain.plans.sections.suites import Suite
from service.domain.plans.sections.tried import Tried
from service.domain.plans.strings import Line, Name, Paragraph, Token
from service.errors import InvalidData
from service.records import StrictRecord
from service.stats.shared.declaring.common import Finite, Margin

MissingPolicy = Literal["fail", "exclude_pair", "worst_case"]
MultiplicityPolicy = Literal[
    "none", "bonferroni", "holm", "hochberg", "hommel", "bh", "by", "fixed_sequence", "max_t"
]
MAX_ENVIRONMENT = 50
"""Entries that a run tells of its environment, or of its models."""


def _exact_json(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Refuse what the canonical text could not give back, such as 1e20, which it writes as an integer."""
    try:
        canonical(json.loads(canonical(value)))
    except InvalidData as fault:
        raise PydanticCustomError(
            "no_canonical_form",
            "{fault}",
            {"fault": fault.detail, "fix": "write numbers that JSON keeps: below 2^53, or as text"},
        ) from None
    return value


class TestUse(StrictRecord):
    """A statistical test with its pinned version and parameters, under the name that rules use."""

    __test__ = False

    id: Name = Field(description="What rules call it.")
    test: Token = Field(description="Name of the statistical test.")
    version: int = Field(ge=1, le=10_000, description="Version of the test, pinned.")
    endpoint: Token | None = Field(
        None, description="`id` of the endpoint it reads; null: that of the hypothesis whose rule names it."
    )
    parameters: Annotated[dict[str, JsonValue], AfterValidator(_exact_json)] = Field(
        default_factory=dict,
        description="Settings of the test, as its page lists them; what is left out has the default there.",
    )
    margin_reason: Paragraph | None = Field(
        None,
        description="Why its margin is not the SESOI, or not the number that a statement names. Every sentence of the "
        "verdict repeats it.",
    )


class Threshold(StrictRecord):
    """A tuned number such as a confidence cut-off, and how it was chosen."""

    name: Line = Field(description="What it is called.")
    population: Token | None = Field(None, description="`id` of the population it is for; null: all.")
    value: Finite = Field(description="The number.")
    chosen_by: Line = Field(description="How it was chosen.")
    split: Line | None = Field(None, description="The data it was chosen on.")
    split_sha256: Line | None = Field(None, description="SHA-256 of that data.")
    sweep: tuple[Finite, ...] | None = Field(
        None, min_length=1, max_length=MAX_LIST, description="Every value that was tried."
    )


class FixedN(StrictRecord):
    """One look, when every planned result is in."""

    kind: Literal["fixed_n"] = Field(description="Names this rule.")


class GroupSequential(StrictRecord):
    """Planned looks with an error-spending function."""

    kind: Literal["group_sequential"] = Field(description="Names this rule.")
    looks: int | None = Field(None, ge=2, le=100, description="How many, the last one included.")
    spending: Literal["obrien_fleming", "pocock"] | None = Field(
        None, description="How alpha is spent over them."
    )


class AnytimeValid(StrictRecord):
    """An e-process that may be read after every item."""

    kind: Literal["anytime_valid"] = Field(description="Names this rule.")


Stopping = Annotated[FixedN | GroupSequential | AnytimeValid, Field(discriminator="kind")]


class Multiplicity(StrictRecord):
    """How many hypotheses are tested together and what is done about it."""

    policy: MultiplicityPolicy = Field(
        description="The correction; `none`: each hypothesis at its own alpha."
    )
    family: tuple[Name, ...] = Field((), max_length=MAX_LIST, description="Hypotheses of the family.")


class Runs(StrictRecord):
    """What results have to say of the runs that made them, and what it does to the verdict where they do not."""

    required: bool = Field(True, description="Every batch that counts names a run that was bound before it.")
    on_violation: Literal["invalid", "flag"] = Field(
        description="What a violation does to the outcomes of the hypotheses whose results it concerns."
    )
    environment: dict[Token, Line] | None = Field(
        None,
        min_length=1,
        max_length=MAX_ENVIRONMENT,
        description="What every run's environment must say: names and values.",
    )


T = TypeVar("T")
E = TypeVar("E", Population, Hypothesis, Endpoint, TestUse, ArmCard, Suite)


def _unique(values: tuple[T, ...]) -> tuple[T, ...]:
    """Refuse a second entry of the same id (of the same name and population, for thresholds)."""
    first: dict[object, int] = {}
    for index, value in enumerate(values):
        identity = (value.name, value.population) if isinstance(value, Threshold) else getattr(value, "id")  # noqa: B009
        earlier = first.setdefault(identity, index)
        if earlier != index:
            raise PydanticCustomError(
                "duplicate_id",
                "entry {index} has the name of entry {earlier}",
                {"index": index, "earlier": earlier, "fix": "name every entry once"},
            )
    return values


_Listed = Annotated[tuple[T, ...], Field(max_length=MAX_LIST), AfterValidator(_unique)]


class Plan(StrictRecord):
    """A preregistration's content. A draft may lack sections; what is present is of the right type."""

    title: Line | None = Field(None, description="One line.")
    authors: Authors | None = Field(None, description="Who wrote it, in order; null: not said.")
    populations: _Listed[Population] | None = Field(None, description="The items the hypotheses speak of.")
    suites: _Listed[Suite] | None = Field(
        None, description="Populations that are tasks of one benchmark, under locked weights."
    )
    hypotheses: _Listed[Hypothesis] | None = Field(None, description="The claims and their rules.")
    arm_cards: _Listed[ArmCard] | None = Field(
        None, alias="arms", description="What stands behind the arms: model, prompt, decoding, harness."
    )
    endpoints: _Listed[Endpoint] | None = Field(None, description="What is measured.")
    tests: _Listed[TestUse] | None = Field(None, description="Statistical tests that rules ask.")
    sesoi: dict[Token, Margin] | None = Field(
        None, max_length=MAX_LIST, description="Smallest effect size of interest, by endpoint."
    )
    thresholds: _Listed[Threshold] | None = Field(
        None, description="Tuned numbers; an empty list says there are none."
    )
    stopping: Stopping | None = Field(None, description="When results are looked at.")
    missing: MissingPolicy | None = Field(None, description="What a result that is not `ok` does.")
    multiplicity: Multiplicity | None = Field(None, description="What several hypotheses cost.")
    assumptions: Assumptions | None = Field(
        None, description="What power rests on: spread, correlation, missing results, true differences."
    )
    import_mapping: ImportMapping | None = Field(
        None, alias="import", description="How result files of an eval harness are read."
    )
    slices: Slices | None = Field(
        None, description="What every slice of the items is to show; null: nothing is asked of them."
    )
    tried: Tried | None = Field(
        None,
        description="What the candidates were chosen from, before this plan; null: nothing is said of it.",
    )
    runs: Runs | None = Field(
        None, description="What is asked of the runs behind the results; null: nothing, and `run` is a label."
    )
    results_due: date | None = Field(
        None, description="Day by which results are expected, such as 2027-03-31."
    )
    embargo_until: date | None = Field(
        None,
        description="Day at whose beginning, in UTC, the record becomes public by itself; before it nobody outside the "
        "project reads it. Null: who reads it is set by hand.",
    )
    visibility: Literal["private", "link", "public"] = Field(
        "private",
        description="Who is meant to read the record. It opens nothing: who may is set beside the plan.",
    )

    @classmethod
    def from_json(cls, text: str | bytes) -> Plan:
        """Read a plan strictly; raises pydantic's ValidationError."""
        return cls.model_validate_json(text, strict=True)

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Plan:
        """Read a plan from decoded JSON, as strictly as from text; raises pydantic's ValidationError."""
        return cls.from_json(json.dumps(value))

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as JSON: absent sections left out, defaults written out."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    def canonical_text(self) -> str:
        """Return the RFC 8785 text of `as_dict`: equal plans have equal text, whatever was left to its default."""
        return canonical(self.as_dict()).decode()

    def sha256(self) -> str:
        """Return the SHA-256 of the canonical text."""
        return sha256_hex(self.canonical_text().encode())

    def population(self, population_id: str) -> Population | None:
        """Return the population of that id."""
        return _by_id(self.populations, population_id)

    def suite(self, suite_id: str) -> Suite | None:
        """Return the suite of that id."""
        return _by_id(self.suites, suite_id)

    def tasks(self, name: str) -> tuple[str, ...]:
        """Return the populations that a name stands for: the tasks of a suite, or the one population."""
        suite = self.suite(name)
        return (name,) if suite is None else suite.populations

    def measures(self, endpoint: Endpoint, name: str) -> bool:
        """Tell whether items of that population, or of every task of that suite, have the endpoint."""
        return all(endpoint.measured_on(task) for task in self.tasks(name))

    def tried_on_own(self) -> tuple[Population, ...]:
        """Return the populations on whose items the candidates were chosen, as the plan says."""
        tried = self.tried
        if tried is None:
            return ()
        return tuple(
            population
            for population in self.populations or ()
            if tried.is_on(population.dataset, population.items_sha256)
        )

    def endpoint(self, endpoint_id: str) -> Endpoint | None:
        """Return the endpoint of that id."""
        return _by_id(self.endpoints, endpoint_id)

    def test(self, test_id: str) -> TestUse | None:
        """Return the statistical test of that id."""
        return _by_id(self.tests, test_id)

    def hypothesis(self, hypothesis_id: str) -> Hypothesis | None:
        """Return the hypothesis of that id."""
        return _by_id(self.hypotheses, hypothesis_id)

    def arms(self, population_id: str) -> tuple[str, ...]:
        """Return the arms that hypotheses compare on a population, or on a suite that it is in, in order of mention."""
        arm_ids = (
            arm
            for hypothesis in self.hypotheses or ()
            if population_id in self.tasks(hypothesis.population)
            for arm in hypothesis.arms
        )
        return tuple(dict.fromkeys(arm_ids))

    def endpoints_asked(self, hypothesis: Hypothesis) -> tuple[str, ...]:
        """Return the endpoints that a hypothesis rests on: its own, and those that the tests of its rule read."""
        test_ids = set(_TESTS_OF_RULE.findall(hypothesis.rule))
        others = (use.endpoint for use in self.tests or () if use.id in test_ids and use.endpoint is not None)
        return tuple(dict.fromkeys((hypothesis.endpoint, *others)))

    def reads(self, test_id: str, hypothesis_endpoint: str) -> str:
        """Return the endpoint that a test reads where a hypothesis on that one asks it."""
        use = self.test(test_id)
        return hypothesis_endpoint if use is None or use.endpoint is None else use.endpoint

    def endpoints_of(self, population_id: str) -> tuple[Endpoint, ...]:
        """Return the endpoints measured on a population, or on every task of a suite."""
        return tuple(endpoint for endpoint in self.endpoints or () if self.measures(endpoint, population_id))

    def with_items(self, facts: Mapping[str, ManifestFacts]) -> Plan:
        """Return the plan with the hash of every population's manifest filled in, as the lock stores it."""
        populations = tuple(
            population.model_copy(update={"items_sha256": facts[population.id].items_sha256})
            if population.id in facts
            else population
            for population in self.populations or ()
        )
        return self.model_copy(update={"populations": populations or self.populations})


_TESTS_OF_RULE = re.compile(r"(?<![\w.])[A-Za-z]\w*(?=\.)")
"""Ids of tests in a rule: what stands before the first point of a field."""


def _by_id(values: Iterable[E] | None, wanted: str) -> E | None:
    return next((value for value in values or () if value.id == wanted), None)
