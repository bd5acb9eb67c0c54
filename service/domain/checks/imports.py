"""Lint of the `import` section: a plan whose mapping cannot be applied does not lock."""

from __future__ import annotations

from collections.abc import Iterator

from service.domain.plans.findings import Finding, error
from service.domain.plans.imports import FORMATS, PromptfooImport, Readable, UnreadImport
from service.domain.plans.plan import Endpoint, Plan

CODE = "IMPORT_MAPPING"


def import_findings(plan: Plan) -> Iterator[Finding]:
    """What keeps the mapping from being applied, each with the line to write."""
    mapping = plan.import_mapping
    if mapping is None:
        return
    if isinstance(mapping, UnreadImport):
        known = mapping.format in FORMATS
        message = (
            f"`scorer` and `cluster_key` mean nothing to files of '{mapping.format}': write `metric` and `cluster`"
            if known
            else f"files of '{mapping.format}' are not read: write one of {', '.join(FORMATS)}, or leave `import` out"
        )
        yield error(CODE, "import.format", message)
        return
    yield from _arms(plan, mapping)
    yield from _measures(plan, mapping)


def _arms(plan: Plan, mapping: Readable) -> Iterator[Finding]:
    arms = {arm for population in plan.populations or () for arm in plan.arms(population.id)}
    for name, arm in (mapping.arms or {}).items():
        if arm not in arms:
            known = ", ".join(f"'{arm}'" for arm in sorted(arms)) or "none"
            yield error("UNKNOWN_NAME", f"import.arms.{name}", f"the plan has no arm '{arm}'; it has {known}")
    if mapping.arms and mapping.arm is None:
        yield error(
            CODE, "import.arm", "`arms` names what stands in files: write where it stands there, as `arm`"
        )


def _measures(plan: Plan, mapping: Readable) -> Iterator[Finding]:
    primary = [endpoint for endpoint in plan.endpoints or () if endpoint.role == "primary"]
    seen = set()
    for name, line, measure in mapping.measures():
        for field in mapping.NEEDS:
            if getattr(measure, field) is None:
                yield error(CODE, f"{line}.{field}", f"write which {field} of the files is read")
        for field in ("scorer", "metric", "filter"):
            if field not in type(mapping).model_fields and getattr(measure, field) is not None:
                yield error(CODE, f"{line}.{field}", f"files of this format have no {field}: leave it out")
        if name is None and len(primary) != 1:
            yield error(CODE, "import.endpoint", "write which endpoint the values are of")
            continue
        wanted = name or primary[0].id
        path = "import.endpoint" if line == "import" else line
        endpoint = plan.endpoint(wanted)
        if endpoint is None:
            yield error("UNKNOWN_NAME", path, f"the plan has no endpoint '{wanted}'")
            continue
        if wanted in seen:
            yield error(CODE, path, f"the values of '{wanted}' are read twice: write one place")
        seen.add(wanted)
        yield from _values(endpoint, mapping, {**mapping.VALUES, **(measure.values or {})}, line)


def _values(
    endpoint: Endpoint, mapping: Readable, values: dict[str, float | str], line: str
) -> Iterator[Finding]:
    if endpoint.kind == "counts":
        yield error(CODE, line, f"'{endpoint.id}' is of kind counts, which no import fills yet")
    numbers = {text: said for text, said in values.items() if not isinstance(said, str)}
    for text, number in numbers.items():
        if endpoint.kind == "binary" and number not in (0, 1):
            message = f"'{endpoint.id}' is binary: write 0, 1, \"missing\" or \"error\" for '{text}'"
            yield error(CODE, f"{line}.values.{text}", message)
        elif endpoint.bounds is not None and not endpoint.bounds.low <= number <= endpoint.bounds.high:
            if text in (mapping.VALUES.keys() - (mapping.values or {}).keys()):
                continue  # said by the format alone: it is refused where a file has it
            yield error(CODE, f"{line}.values.{text}", f"is outside the bounds of '{endpoint.id}'")
    if (
        endpoint.replicates > 1
        and mapping.place("replicate") is None
        and not isinstance(mapping, PromptfooImport)
    ):
        message = f"'{endpoint.id}' has {endpoint.replicates} replicates: write where files number them, or \"order\""
        yield error(CODE, "import.replicate", message)
