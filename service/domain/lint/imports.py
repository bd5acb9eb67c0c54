"""Lint of the `import` section: a plan whose mapping cannot be applied does not lock."""

from __future__ import annotations

from collections.abc import Iterator

from service.domain.plans.findings import Finding, error
from service.domain.plans.importing.imports import FORMATS, PromptfooImport, UnreadImport
from service.domain.plans.importing.mapping import Readable
from service.domain.plans.plan import Plan
from service.domain.plans.sections.endpoint import Endpoint
from service.words import say

CODE = "IMPORT_MAPPING"


def import_findings(plan: Plan) -> Iterator[Finding]:
    """Yield errors that keep the import mapping from being applied, with the line to write for it."""
    mapping = plan.import_mapping
    if mapping is None:
        return
    if isinstance(mapping, UnreadImport):
        known = mapping.format in FORMATS
        message = (
            say("findings.scorer_unread", format=mapping.format)
            if known
            else say("findings.unknown_format", format=mapping.format, known=", ".join(FORMATS))
        )
        yield error(CODE, "import.format", message)
        return
    yield from _check_arms(plan, mapping)
    yield from _check_measures(plan, mapping)


def _check_arms(plan: Plan, mapping: Readable) -> Iterator[Finding]:
    """Yield errors of the arms that the mapping names and the plan does not have."""
    arms = {arm for population in plan.populations or () for arm in plan.arms(population.id)}
    for name, arm in (mapping.arms or {}).items():
        if arm not in arms:
            known = ", ".join(f"'{arm}'" for arm in sorted(arms)) or "none"
            yield error(
                "UNKNOWN_NAME",
                f"import.arms.{name}",
                say("findings.unknown_name", noun=say("findings.arm"), name=arm, known=known),
            )
    if mapping.arms and mapping.arm is None:
        yield error(CODE, "import.arm", say("findings.arms_at_place"))


def _check_measures(plan: Plan, mapping: Readable) -> Iterator[Finding]:
    """Errors of measures that lack a field, have one of another format, fill no endpoint of the plan, or one twice."""
    primary = [endpoint for endpoint in plan.endpoints or () if endpoint.role == "primary"]
    seen = set()
    for name, line, measure in mapping.measures():
        for field in mapping.NEEDS:
            if getattr(measure, field) is None:
                yield error(CODE, f"{line}.{field}", say("findings.import_field_missing", field=field))
        for field in ("scorer", "metric", "filter"):
            if field not in type(mapping).model_fields and getattr(measure, field) is not None:
                yield error(CODE, f"{line}.{field}", say("findings.import_field_unknown", field=field))
        if name is None and len(primary) != 1:
            yield error(CODE, "import.endpoint", say("findings.import_endpoint_missing"))
            continue
        wanted = name or primary[0].id
        path = "import.endpoint" if line == "import" else line
        endpoint = plan.endpoint(wanted)
        if endpoint is None:
            yield error("UNKNOWN_NAME", path, say("findings.unknown_endpoint", name=wanted))
            continue
        if wanted in seen:
            yield error(CODE, path, say("findings.import_endpoint_twice", name=wanted))
        seen.add(wanted)
        yield from _check_values(endpoint, mapping, {**mapping.VALUES, **(measure.values or {})}, line)


def _check_values(
    endpoint: Endpoint, mapping: Readable, values: dict[str, float | str], line: str
) -> Iterator[Finding]:
    """Yield errors of what values count as: nothing that the endpoint can have, or runs without a place."""
    if endpoint.kind == "counts":
        yield error(CODE, line, say("findings.counts_not_filled", endpoint=endpoint.id))
    numbers = {text: meaning for text, meaning in values.items() if not isinstance(meaning, str)}
    for text, number in numbers.items():
        if endpoint.kind == "binary" and number not in (0, 1):
            message = say("findings.value_not_binary", endpoint=endpoint.id, text=text)
            yield error(CODE, f"{line}.values.{text}", message)
        elif endpoint.bounds is not None and not endpoint.bounds.low <= number <= endpoint.bounds.high:
            if text in (mapping.VALUES.keys() - (mapping.values or {}).keys()):
                continue  # said by the format alone: it is refused where a file has it
            yield error(CODE, f"{line}.values.{text}", say("findings.outside_bounds", endpoint=endpoint.id))
    if (
        endpoint.replicates > 1
        and mapping.place("replicate") is None
        and not isinstance(mapping, PromptfooImport)
    ):
        message = say(
            "findings.replicates_without_place", endpoint=endpoint.id, replicates=endpoint.replicates
        )
        yield error(CODE, "import.replicate", message)
